#include "parties/command/evaluating_events.h"

#include "aim/table/lists.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>

static const char *const sides[EVENTS_SIDES] = {"synthetic", "resample", "dealt"};

/* Which rows of the flat table a kind of pairs is over: those of some stages. */
enum event_pair { NUMBER, PERSONS, EVENTS, INTER, ORDER };
static const struct {
    const char *words;
    enum series_stage first, last;
} kinds[EVENTS_KINDS] = {
    [NUMBER] = {"how many events", SERIES_NONE, SERIES_FIRST}, /* a row of each person */
    [PERSONS] = {"two columns of persons", SERIES_NONE, SERIES_FIRST},
    [EVENTS] = {"two columns of events", SERIES_ONLY, SERIES_LAST},
    [INTER] = {"persons x events", SERIES_ONLY, SERIES_LAST},
    [ORDER] = {"the event before x events", SERIES_MIDDLE, SERIES_LAST},
};
const char *const events_kinds[EVENTS_KINDS] = {"number", "person", "events", "inter", "order"};

/* Rows, and how often each counts; NULL: once. */
struct event_tables {
    const struct table *flat;
    const uint32_t *times;
};

/* Shares of the cells of a marginal, among the rows of a kind. */
static void count(const struct event_tables *s, enum event_pair kind, const struct clique *c,
                  double *share)
{
    const struct table *t = s->flat;
    const uint64_t cells = clique_cells(c, t->domain);
    double rows = 0;
    for (uint64_t i = 0; i < cells; i++)
        share[i] = 0;
    for (size_t row = 0; row < t->rows; row++) {
        const uint16_t stage = t->column[t->domain->series->stage][row];
        const double times = s->times != NULL ? s->times[row] : 1;
        if (stage < kinds[kind].first || stage > kinds[kind].last)
            continue;
        share[table_cell(t, c->attribute, c->n, row)] += times;
        rows += times;
    }
    for (uint64_t i = 0; rows > 0 && i < cells; i++)
        share[i] /= rows;
}

/* A pair's cells from its two columns alone. */
static void deal(const struct domain *d, const struct clique *c, const double *share, double *dealt)
{
    const uint32_t columns = c->n > 1 ? d->attribute[c->attribute[1]].size : 1;
    const uint64_t cells = clique_cells(c, d);
    for (uint64_t i = 0; i < cells; i++) {
        double row = 0, column = 0;
        for (uint64_t k = 0; k < cells; k++) {
            row += k / columns == i / columns ? share[k] : 0;
            column += k % columns == i % columns ? share[k] : 0;
        }
        dealt[i] = row * column;
    }
}

static enum err compare(struct events_compared *all, const struct event_tables side[2],
                        const struct event_tables *real, enum event_pair kind, uint16_t a,
                        uint16_t b)
{
    const struct domain *d = real->flat->domain;
    const struct clique c = {a == b ? 1 : 2, {a < b ? a : b, a < b ? b : a}};
    const uint64_t cells = clique_cells(&c, d);
    double *share CLEAN(memory_release) = NULL, *other CLEAN(memory_release) = NULL;
    TRY(memory_new(&share, cells));
    TRY(memory_new(&other, cells));
    count(real, kind, &c, share);
    all->pairs[kind]++;
    for (size_t i = 0; i < EVENTS_SIDES; i++) {
        if (i < 2)
            count(&side[i], kind, &c, other);
        else
            deal(d, &c, share, other);
        for (uint64_t k = 0; k < cells; k++)
            all->error[kind][i] += fabs(share[k] - other[k]);
    }
    return ERR_OK;
}

/* Every pair of columns belongs to a kind, or to none. */
static bool kind_of(const struct series *s, uint16_t a, uint16_t b, enum event_pair *kind)
{
    const bool pa = series_counts_persons(s, a), pb = series_counts_persons(s, b);
    const bool ea = series_has(s, a) || a == s->gap, eb = series_has(s, b) || b == s->gap;
    const bool before = !pa && !ea && a != s->stage, behind = !pb && !eb && b != s->stage;
    *kind = pa && pb ? PERSONS : ea && eb ? EVENTS : (pa && eb) || (ea && pb) ? INTER : ORDER;
    return *kind != ORDER || (before && eb) || (ea && behind);
}

static enum err compare_all(struct events_compared *all, const struct event_tables side[2],
                            const struct event_tables *real)
{
    const struct domain *d = real->flat->domain;
    enum event_pair kind;
    TRY(compare(all, side, real, NUMBER, d->series->number, d->series->number));
    for (uint16_t a = 0; a < d->attributes; a++)
        for (uint16_t b = (uint16_t)(a + 1); b < d->attributes; b++)
            if (kind_of(d->series, a, b, &kind))
                TRY(compare(all, side, real, kind, a, b));
    return ERR_OK;
}

/* As many persons, drawn with all of their rows: how often each row counts. */
static enum err resample(const struct table *flat, uint32_t **times)
{
    struct random r = random_of(1);
    size_t *first CLEAN(memory_release) = NULL, persons = 0;
    TRY(memory_new(times, flat->rows));
    TRY(memory_new(&first, flat->rows + 1));
    for (size_t row = 0; row < flat->rows; row++)
        if (row == 0 || flat->key[row] != flat->key[row - 1])
            first[persons++] = row;
    first[persons] = flat->rows;
    for (size_t i = 0; i < persons; i++) {
        const size_t person = (size_t)random_below(&r, persons);
        for (size_t row = first[person]; row < first[person + 1]; row++)
            (*times)[row]++;
    }
    return ERR_OK;
}

static void print(const struct events_compared *all, const struct source *real,
                  const struct source *made)
{
    printf("%zu real persons, %zu synthetic ones\n\n"
           "Mean L1 error of tables of         pairs  synthetic  resample     dealt\n",
           real->rows, made->rows);
    for (size_t k = 0; k < EVENTS_KINDS; k++) {
        printf("%-33s %7zu", kinds[k].words, all->pairs[k]);
        for (size_t i = 0; i < EVENTS_SIDES; i++)
            printf("  %8.4f", all->error[k][i]);
        putchar('\n');
    }
    puts("\nresample: as many of the real persons, drawn once more with their events, which is as\n"
         "near as another sample would be; dealt: the two columns dealt at random.");
}

static enum err print_json(const struct events_compared *all, const struct source *real,
                           const struct source *made)
{
    json_auto_t *o = json_pack("{s:I, s:I}", "persons", (json_int_t)real->rows, "synthetic_persons",
                               (json_int_t)made->rows);
    struct bytes text CLEAN(bytes_clear) = {0};
    for (size_t i = 0; i < EVENTS_SIDES; i++) {
        json_t *side = json_object();
        for (size_t k = 0; k < EVENTS_KINDS; k++)
            json_object_set_new(side, events_kinds[k], json_real(all->error[k][i]));
        json_object_set_new(o, sides[i], side);
    }
    TRY(list_print(o, JSON_INDENT(2), &text));
    return fwrite(text.data, 1, text.size, stdout) == text.size ? ERR_OK : ERR_SYSTEM;
}

enum err events_compare(struct events_compared *c, const struct table *real,
                        const struct table *synthetic)
{
    uint32_t *times CLEAN(memory_release) = NULL;
    struct event_tables side[2] = {{synthetic, NULL}, {real, NULL}};
    *c = (struct events_compared){.pairs = {0}};
    TRY(resample(real, &times));
    side[1].times = times;
    TRY(compare_all(c, side, &(const struct event_tables){real, NULL}));
    for (size_t k = 0; k < EVENTS_KINDS; k++)
        for (size_t i = 0; i < EVENTS_SIDES; i++)
            c->error[k][i] /= fmax(1, (double)c->pairs[k]);
    return ERR_OK;
}

enum err evaluating_events(const struct evaluating_events *e, struct log *log)
{
    struct source real CLEAN(source_clear) = {0}, made CLEAN(source_clear) = {0};
    char persons[FILE_PATH], events[FILE_PATH];
    const struct source_options options = {.csv = persons, .events = events};
    struct events_compared all;
    TRY(source_suits(&e->real, e->study, log));
    TRY(source_load_events(&real, e->study, &e->real, log));
    TRY(file_path(persons, log, "%s/persons.csv", e->synthetic));
    TRY(file_path(events, log, "%s/%s.csv", e->synthetic, e->study->domain->series->name));
    TRY(source_load_events(&made, e->study, &options, log));
    TRY(events_compare(&all, real.table, made.table));
    if (e->json)
        return print_json(&all, &real, &made);
    print(&all, &real, &made);
    return ERR_OK;
}
