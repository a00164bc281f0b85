#include "aim/model/series_draw.h"

#include "aim/model/given.h"
#include "aim/model/sample.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define LEVELS 32 /* of the time that is left, for the weights of gaps */

struct drawing {
    const struct model *model;
    const struct domain *domain;
    const struct series *series;
    const struct densities *inside;
    struct given *given;
    struct random random;
    struct log *log;

    const struct table *flat; /* a row of each person */
    size_t *number;           /* of events, by person */
    uint16_t *last;           /* previous[c * persons + person]: what the event before has */
    double *date;             /* of the event before */
    double *weight;           /* of the gap's codes at each level */
    size_t forgotten;

    size_t knowns; /* columns that events are drawn given, the least important last */
    struct given_column *known;
    uint32_t **code;
    size_t previous; /* how many of these are of the event before */

    size_t rows; /* of the events that are drawn now: */
    size_t *person;
    struct table *events; /* and their codes, by person */
};

static void clear(struct drawing *d)
{
    memory_free_each(&d->code, d->knowns);
    memory_free_all(&d->known, &d->number, &d->last, &d->date, &d->weight, &d->person);
    given_free(&d->given);
}

/* --- columns to be written -------------------------------------------------------------------- */

static enum err add(struct domain *to, struct densities *of, const struct domain_attribute *a,
                    struct density *density)
{
    TRY(domain_add_copy(to, a, NULL));
    TRY(memory_extend(&of->of, to->attributes));
    of->of[to->attributes - 1] = density;
    of->attributes = to->attributes;
    return ERR_OK;
}

/* The column `by`, whose numbers a table keeps. */
static enum err add_by(struct domain *to, struct densities *of, const struct series *s)
{
    const double edges[] = {1, (double)TABLE_ROWS_MAX};
    TRY(domain_add_numeric(to, s->by, edges, 2, NULL, DOMAIN_REJECT, NULL));
    TRY(domain_set_step(to, 1, true, NULL));
    return memory_new(&of->of, 1);
}

static enum err make_domains(struct series_drawn *out, const struct domain *d,
                             const struct densities *inside)
{
    const struct series *s = d->series;
    TRY(domain_new(&out->of_persons));
    TRY(domain_new(&out->of_events));
    TRY(add_by(out->of_persons, &out->inside_persons, s));
    TRY(add_by(out->of_events, &out->inside_events, s));
    for (uint16_t a = 0; a < d->attributes; a++)
        if (series_of_person(s, a))
            TRY(add(out->of_persons, &out->inside_persons, &d->attribute[a], inside->of[a]));
    if (s->when != SERIES_NO)
        TRY(add(out->of_events, &out->inside_events, &d->attribute[s->when], inside->of[s->when]));
    for (size_t i = 0; i < s->columns; i++) {
        const uint16_t a = s->column[i].column;
        TRY(add(out->of_events, &out->inside_events, &d->attribute[a], inside->of[a]));
    }
    TRY(table_new(&out->persons, out->of_persons, 0));
    TRY(table_keep_numbers(out->persons));
    TRY(table_new(&out->events, out->of_events, 0));
    return table_keep_numbers(out->events);
}

/* --- persons ---------------------------------------------------------------------------------- */

/* A number inside a bin, at most `limit`; NAN if the bin has none such. */
static double number_in(struct drawing *d, uint16_t attribute, uint32_t code, double limit)
{
    const struct density *density = d->inside->of[attribute];
    const double end = nextafter(limit, INFINITY), u = random_double(&d->random);
    if (code >= d->domain->attribute[attribute].values ||
        !(density_part(density, code, -INFINITY, end).share > 0))
        return NAN;
    return density_quantile(density, code, -INFINITY, end, u);
}

/* A number that is known of a person, or one inside its bin. */
static double person_number(struct drawing *d, uint16_t attribute, size_t person)
{
    const double x = table_number(d->flat, attribute, person);
    return isnan(x) ? number_in(d, attribute, d->flat->column[attribute][person], INFINITY) : x;
}

static enum err draw_persons(struct drawing *d, struct series_drawn *out)
{
    const struct series *s = d->series;
    const size_t persons = d->flat->rows;
    uint16_t own[DOMAIN_ATTRIBUTES_MAX], code[DOMAIN_ATTRIBUTES_MAX + 1] = {0};
    size_t owns = 0;
    TRY(memory_new(&d->number, persons));
    TRY(memory_new(&d->date, persons));
    TRY(memory_new(&d->last, persons * s->columns));
    for (uint16_t a = 0; a < d->domain->attributes; a++)
        if (series_of_person(s, a))
            own[owns++] = a;
    for (size_t i = 0; i < persons; i++) {
        for (size_t k = 0; k < owns; k++)
            code[k + 1] = d->flat->column[own[k]][i];
        TRY(table_append(out->persons, code));
        for (size_t k = 0; k < owns; k++)
            if (out->persons->number[k + 1] != NULL)
                out->persons->number[k + 1][i] = table_number(d->flat, own[k], i);
        out->persons->number[0][i] = (double)i + 1;
        d->number[i] = (size_t)fmin(person_number(d, s->number, i), (double)TABLE_ROWS_MAX);
    }
    return ERR_OK;
}

/* --- what is known ---------------------------------------------------------------------------- */

static enum err know(struct drawing *d, uint16_t attribute)
{
    TRY(memory_new(&d->code[d->knowns], d->flat->rows));
    d->known[d->knowns] = (struct given_column){attribute, d->code[d->knowns], d->weight};
    d->knowns++;
    return ERR_OK;
}

/* Number, stage and gap first; then columns of persons; then those of the event before. */
static enum err prepare(struct drawing *d)
{
    const struct series *s = d->series;
    TRY(memory_new(&d->known, d->domain->attributes));
    TRY(memory_new(&d->code, d->domain->attributes));
    TRY(know(d, s->number));
    TRY(know(d, s->stage));
    if (s->gap != SERIES_NO)
        TRY(know(d, s->gap));
    for (uint16_t a = 0; a < d->domain->attributes; a++)
        if (series_of_person(s, a) || a == s->when)
            TRY(know(d, a));
    for (size_t i = 0; i < s->columns; i++)
        if (s->column[i].previous != SERIES_NO) {
            TRY(know(d, s->column[i].previous));
            d->previous++;
        }
    TRY(memory_new(&d->person, d->flat->rows));
    return given_new(&d->given, d->model);
}

static double range(const struct drawing *d)
{
    const struct domain_attribute *when = &d->domain->attribute[d->series->when];
    return domain_last(when) - domain_number(when, 0);
}

/* Of each level of time that is left, the part of each bin of the gap that fits into it. */
static enum err weigh_gaps(struct drawing *d)
{
    const uint16_t gap = d->series->gap;
    uint32_t size;
    if (gap == SERIES_NO)
        return ERR_OK;
    size = d->domain->attribute[gap].size;
    TRY(memory_new(&d->weight, (size_t)(LEVELS + 1) * size));
    for (size_t k = 0; k <= LEVELS; k++)
        for (uint32_t c = 0; c < size; c++) {
            const double left = floor(range(d) * (double)k / LEVELS);
            d->weight[k * size + c] = c < d->domain->attribute[gap].values
                                          ? density_part(d->inside->of[gap], c, -INFINITY,
                                                         nextafter(left, INFINITY))
                                                .share
                                          : 1;
        }
    return ERR_OK;
}

static uint32_t stage_of(size_t j, size_t n)
{
    return n == 1 ? SERIES_ONLY : j == 0 ? SERIES_FIRST : j + 1 == n ? SERIES_LAST : SERIES_MIDDLE;
}

/* What is known of a person's next event, j. */
static void fill(struct drawing *d, size_t row, size_t j)
{
    const struct series *s = d->series;
    const size_t person = d->person[row];
    size_t at = 0;
    d->code[at++][row] = d->flat->column[s->number][person];
    d->code[at++][row] = stage_of(j, d->number[person]);
    if (s->gap != SERIES_NO) {
        const struct domain_attribute *when = &d->domain->attribute[s->when];
        const double left = domain_last(when) - d->date[person];
        const uint32_t level = (uint32_t)fmax(0, ceil(left * LEVELS / fmax(1, range(d))));
        d->code[at++][row] = j == 0 ? GIVEN_ANY : d->domain->attribute[s->gap].size + level;
    }
    for (; at < d->knowns - d->previous; at++)
        d->code[at][row] = d->flat->column[d->known[at].attribute][person];
    for (size_t i = 0; i < s->columns; i++)
        if (s->column[i].previous != SERIES_NO)
            d->code[at++][row] = j == 0 ? d->domain->attribute[s->column[i].previous].values
                                        : d->last[person * s->columns + i];
}

/* --- events ----------------------------------------------------------------------------------- */

/*
 * Draws rows given all columns but the last `less`, and keeps those that can be. The others are put
 * first, to be drawn again: how many.
 */
static enum err draw_rows(struct drawing *d, size_t less, size_t *left)
{
    const struct series *s = d->series;
    struct table *drawn CLEAN(table_free) = NULL;
    double *chance CLEAN(memory_release) = NULL;
    const size_t rows = *left;
    TRY(memory_new(&chance, rows));
    TRY(given_rows(&drawn, d->given, d->known, d->knowns - less, rows, random_u64(&d->random),
                   chance, d->log));
    *left = 0;
    for (size_t i = 0; i < rows; i++) {
        if (isinf(chance[i]) && d->knowns > less) {
            for (size_t k = 0; k < d->knowns; k++)
                d->code[k][*left] = d->code[k][i];
            d->person[(*left)++] = d->person[i];
            continue;
        }
        d->forgotten += less > 0;
        for (size_t k = 0; k <= s->columns; k++) {
            const uint16_t a = k < s->columns ? s->column[k].column : s->gap;
            if (a != SERIES_NO)
                d->events->column[a][d->person[i]] = drawn->column[a][i];
        }
    }
    return ERR_OK;
}

/* The next event of each: without more and more of the event before; then of the person. */
static enum err draw_all(struct drawing *d, size_t rows)
{
    for (size_t less = 0; rows > 0 && less <= d->knowns; less++)
        TRY(draw_rows(d, less, &rows));
    return ERR_OK;
}

/* The first date, or a later one. */
static double next_date(struct drawing *d, size_t person, size_t j)
{
    const struct series *s = d->series;
    const struct domain_attribute *when = &d->domain->attribute[s->when];
    const double left = domain_last(when) - d->date[person];
    double x;
    if (j == 0) {
        x = person_number(d, s->when, person);
        return isnan(x) ? domain_number(when, 0) : x;
    }
    x = number_in(d, s->gap, d->events->column[s->gap][person], left);
    return d->date[person] + (isnan(x) ? floor(left * random_double(&d->random)) : x);
}

/* Keeps the event that was drawn, and what the next one has to know of it. */
static void keep(struct drawing *d, size_t person, size_t j, uint16_t *code, double *date)
{
    const struct series *s = d->series;
    for (size_t i = 0; i < s->columns; i++)
        code[i] = d->last[person * s->columns + i] = d->events->column[s->column[i].column][person];
    if (s->when != SERIES_NO)
        *date = d->date[person] = next_date(d, person, j);
}

static enum err append(struct series_drawn *out, const struct drawing *d, size_t person,
                       const uint16_t *codes, double date)
{
    const struct series *s = d->series;
    uint16_t code[DOMAIN_ATTRIBUTES_MAX] = {0};
    const bool dated = s->when != SERIES_NO;
    if (dated)
        code[1] = (uint16_t)domain_bin(&d->domain->attribute[s->when], date);
    memcpy(code + 1 + dated, codes, s->columns * sizeof *codes);
    TRY(table_append(out->events, code));
    out->events->number[0][out->events->rows - 1] = (double)person + 1;
    if (dated)
        out->events->number[1][out->events->rows - 1] = date;
    return ERR_OK;
}

/* All events, those of a person together: event j of everybody who has one is drawn at once. */
static enum err draw_events(struct drawing *d, struct series_drawn *out)
{
    const size_t persons = d->flat->rows, columns = d->series->columns;
    size_t *first CLEAN(memory_release) = NULL, *has CLEAN(memory_release) = NULL, rows = 0;
    uint16_t *code CLEAN(memory_release) = NULL;
    double *date CLEAN(memory_release) = NULL;
    TRY(memory_new(&first, persons + 1));
    TRY(memory_new(&has, persons)); /* who has an event j */
    for (size_t i = 0; i < persons; i++) {
        first[i + 1] = first[i] + d->number[i];
        if ((uint64_t)first[i + 1] >= TABLE_ROWS_MAX)
            return ERR_NOMEM;
        if (d->number[i] > 0)
            has[rows++] = i;
    }
    TRY(memory_new(&code, first[persons] * columns));
    TRY(memory_new(&date, first[persons]));
    for (size_t j = 0, more; rows > 0; j++, rows = more) {
        memcpy(d->person, has, rows * sizeof *has);
        for (size_t row = 0; row < rows; row++)
            fill(d, row, j);
        TRY(draw_all(d, rows));
        more = 0;
        for (size_t k = 0, i; k < rows; k++) {
            i = has[k];
            keep(d, i, j, code + (first[i] + j) * columns, &date[first[i] + j]);
            if (d->number[i] > j + 1)
                has[more++] = i;
        }
    }
    for (size_t i = 0; i < persons; i++)
        for (size_t k = first[i]; k < first[i + 1]; k++)
            TRY(append(out, d, i, code + k * columns, date[k]));
    return ERR_OK;
}

enum err series_draw(struct series_drawn *out, const struct model *m,
                     const struct densities *inside, size_t persons, uint64_t seed, struct log *log)
{
    struct table *flat CLEAN(table_free) = NULL;
    if (model_domain(m)->series == NULL)
        return ERR_MISUSE;
    TRY(sample_rows(&flat, m, persons, seed, log));
    return series_draw_of(out, m, inside, flat, seed, log);
}

enum err series_draw_of(struct series_drawn *out, const struct model *m,
                        const struct densities *inside, struct table *flat, uint64_t seed,
                        struct log *log)
{
    struct drawing d CLEAN(clear) = {.model = m,
                                     .domain = model_domain(m),
                                     .series = model_domain(m)->series,
                                     .inside = inside,
                                     .random = random_of(seed),
                                     .flat = flat,
                                     .events = flat,
                                     .log = log};
    TRY(make_domains(out, d.domain, inside));
    TRY(draw_persons(&d, out));
    TRY(weigh_gaps(&d));
    TRY(prepare(&d));
    TRY(draw_events(&d, out));
    out->forgotten = d.forgotten;
    return ERR_OK;
}

void series_drawn_clear(struct series_drawn *d)
{
    table_free(&d->persons);
    table_free(&d->events);
    memory_free_all(&d->inside_persons.of, &d->inside_events.of);
    domain_free(&d->of_persons);
    domain_free(&d->of_events);
}

enum err series_write_csv(const char *folder, const struct series_drawn *d, const char *name,
                          uint64_t seed, const struct csv_form *form, struct log *log)
{
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/persons.csv", folder));
    TRY(table_write_csv(path, d->persons, &d->inside_persons, seed, form, log));
    TRY(file_path(path, log, "%s/%s.csv", folder, name));
    return table_write_csv(path, d->events, &d->inside_events, seed, form, log);
}
