#include "parties/owner/columns.h"

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"

#include <inttypes.h>
#include <unistd.h>

#define NAME 16 /* columns of the terminal */
#define MANY (1.0 / 3)
#define FEW_ROWS 20 /* of which shares say nothing */
#define NEARLY 0.99
#define MISFITS 0.01 /* of dates: their format is then a likely cause */

struct columns_column {
    const struct domain_attribute *attribute;
    const struct rows_moments *moments;
    size_t rows;      /* of the table */
    size_t has;       /* rows with a value, as it is or clipped */
    size_t missing;   /* by their own text, unlike moments->outside */
    uint32_t unseen;  /* values of the study that no row has */
    uint32_t most;    /* the value that most rows have, */
    size_t most_rows; /* and how many these are */
};

/* --- counting --------------------------------------------------------------------------------- */

/* From the counts of any maximal marginal with the attribute; there always is one. */
static void count_of_counts(const struct source *s, const struct workload *w, size_t attribute,
                            int64_t *rows)
{
    const int64_t *cells = s->counts;
    for (size_t q = 0; q < w->queries; q++) {
        const struct clique *c = &w->query[q].clique;
        unsigned place = clique_place(c, (uint32_t)attribute);
        size_t stride = 1;
        if (!w->query[q].maximal)
            continue;
        if (place == c->n) {
            cells += w->query[q].cells;
            continue;
        }
        for (unsigned i = place + 1; i < c->n; i++)
            stride *= s->columns->attribute[c->attribute[i]].size;
        for (size_t cell = 0; cell < w->query[q].cells; cell++)
            rows[cell / stride % s->columns->attribute[attribute].size] += cells[cell];
        return;
    }
}

static enum err look_at_column(const struct source *s, const struct workload *w, size_t attribute,
                               struct columns_column *c)
{
    const struct domain_attribute *a = &s->columns->attribute[attribute];
    int64_t *rows;
    *c = (struct columns_column){
        .attribute = a, .moments = &s->moments[attribute], .rows = s->rows};
    TRY(memory_new(&rows, a->size));
    for (size_t i = 0; s->table != NULL && i < s->rows; i++)
        rows[s->table->column[attribute][i]]++;
    if (s->table == NULL)
        count_of_counts(s, w, attribute, rows);
    for (uint32_t code = 0; code < a->values; code++) {
        c->has += (size_t)rows[code];
        c->unseen += rows[code] == 0;
        if ((size_t)rows[code] > c->most_rows) {
            c->most = code;
            c->most_rows = (size_t)rows[code];
        }
    }
    c->missing = s->rows - c->has - c->moments->outside;
    memory_wipe_free(&rows, a->size * sizeof *rows);
    return ERR_OK;
}

/* --- a line for each -------------------------------------------------------------------------- */

static void print_name(FILE *out, const char *name)
{
    char shown[4 * NAME + 8], fitted[sizeof shown + NAME];
    encoding_printable(name, shown, sizeof shown);
    words_fit(fitted, sizeof fitted, shown, NAME);
    fputs(fitted, out);
}

static void print_column(FILE *out, const struct columns_column *c)
{
    char unseen[32];
    const struct rows_moments *m = c->moments;
    snprintf(unseen, sizeof unseen, "%" PRIu32 "/%" PRIu32, c->unseen, c->attribute->values);
    print_name(out, c->attribute->name);
    fprintf(out, " %9zu %8zu %8zu %8zu %8s", c->has, c->missing, m->clipped, m->outside, unseen);
    if (m->numbers && !domain_is_quoted(c->attribute))
        fprintf(out, " %8.6g %8.6g\n", m->least, m->largest);
    else
        fprintf(out, " %8s %8s\n", "-", "-");
}

/* In words, since 04/03/2021 does not show which is the month. */
static void print_dates(FILE *out, const struct columns_column *c)
{
    const struct rows_moments *m = c->moments;
    const struct calendar *calendar = c->attribute->calendar;
    char words[CALENDAR_FORMAT];
    if (calendar == NULL || !m->numbers)
        return;
    calendar_words(calendar, (int64_t)m->least, words);
    fprintf(out, "%s: from %s", c->attribute->name, words);
    calendar_words(calendar, (int64_t)m->largest, words);
    fprintf(out, " to %s", words);
    for (size_t i = 0; i < m->samples; i++) {
        calendar_words(calendar, (int64_t)m->sample[i].number, words);
        fprintf(out, "\n  %s is %s", m->sample[i].text, words);
    }
    fputc('\n', out);
}

static const char heading[] =
    "\n"
    "What each column holds. This is exact and for you alone: it is never sent.\n"
    "column                rows  missing  clipped  outside   unseen    least  largest\n";
static const char legend[] =
    "rows: with a value; clipped: of these, do not fit and count as the nearest;\n"
    "outside: do not fit and count as missing; unseen: values or bins of the study\n"
    "that no row has; least, largest: of the numbers as the table has them.\n";

/* Names columns of numbers that the database can compare only as texts. */
static void print_unknown(FILE *out, const struct columns_column *c, size_t count)
{
    const char *before = "Least and largest are not known where the database holds numbers as "
                         "texts:\n";
    for (size_t i = 0; i < count; i++)
        if (domain_has_numbers(c[i].attribute) && !c[i].moments->numbers && c[i].has > 0) {
            fprintf(out, "%s%s", before, c[i].attribute->name);
            before = ", ";
        }
    if (*before == ',')
        fputs(".\n", out);
}

/* --- warnings --------------------------------------------------------------------------------- */

static double percent(size_t part, size_t of)
{
    return 100.0 * (double)part / (double)of;
}

static enum err put_value(const struct domain_attribute *a, uint32_t code, struct bytes *text)
{
    char from[COLUMN_TEXT], to[COLUMN_TEXT];
    if (domain_has_bins(a))
        text_put(text, "lies from %s to %s", domain_text(a, code, 6, from),
                 domain_text(a, code + 1, 6, to));
    else
        text_put(text, domain_has_numbers(a) ? "is %s" : "is '%s'", domain_text(a, code, 6, from));
    bytes_put_u8(text, 0);
    return bytes_ok(text);
}

static bool many(const struct columns_column *c, size_t part)
{
    return c->rows >= FEW_ROWS && (double)part >= MANY * (double)c->rows;
}

static enum err warn(const struct columns_column *c, const char *source, size_t *doubts,
                     struct log *log)
{
    struct bytes value CLEAN(bytes_clear) = {0};
    const char *name = c->attribute->name;
    size_t without = c->rows - c->has;
    *doubts += many(c, without) || many(c, c->moments->clipped) || c->moments->strange;
    if (many(c, without))
        log_warn(log,
                 "%s: %s counts as missing in %.1f %% of the rows; is it the right column, and are "
                 "its values written as in the study?",
                 source, name, percent(without, c->rows));
    if (many(c, c->moments->clipped))
        log_warn(log,
                 "%s: %s is clipped in %.1f %% of the rows; does the study give it in the same "
                 "units?",
                 source, name, percent(c->moments->clipped, c->rows));
    if (c->attribute->calendar != NULL && c->rows >= FEW_ROWS &&
        (double)(c->moments->outside + c->moments->clipped) > MISFITS * (double)c->rows)
        log_warn(log,
                 "%s: %s is no date of the study in %.1f %% of the rows; does its `format` fit how "
                 "this table writes dates?",
                 source, name, percent(c->moments->outside + c->moments->clipped, c->rows));
    if (c->rows < FEW_ROWS || c->has == 0 || c->attribute->values < 2 ||
        (double)c->most_rows < NEARLY * (double)c->has)
        return ERR_OK;
    TRY(put_value(c->attribute, c->most, &value));
    log_warn(log, "%s: %s %s in %.1f %% of the rows that have a value: it is nearly constant",
             source, name, (const char *)value.data, percent(c->most_rows, c->has));
    return ERR_OK;
}

static enum err print_table(FILE *out, struct source *s, const struct workload *w, struct log *log)
{
    size_t n = s->columns->attributes;
    struct columns_column *c CLEAN(memory_release) = NULL;
    TRY(memory_new(&c, n));
    fputs(heading, out);
    for (size_t a = 0; a < n; a++) {
        TRY(look_at_column(s, w, a, &c[a]));
        print_column(out, &c[a]);
    }
    fputs(legend, out);
    for (size_t a = 0; a < n; a++)
        print_dates(out, &c[a]);
    print_unknown(out, c, n);
    fputc('\n', out);
    fflush(out);
    for (size_t a = 0; s->rows > 0 && a < n; a++)
        TRY(warn(&c[a], s->name, &s->doubts, log));
    return ERR_OK;
}

enum err columns_print(FILE *out, struct source *s, const struct workload *w, struct log *log)
{
    if (s->persons == NULL)
        return print_table(out, s, w, log);
    TRY(print_table(out, s->persons, w, log));
    TRY(print_table(out, s->events, w, log));
    s->doubts += s->persons->doubts + s->events->doubts;
    return ERR_OK;
}

enum err columns_accept(const struct source *s, bool accepted, struct log *log)
{
    char answer[8] = "";
    if (s->doubts == 0 || accepted)
        return ERR_OK;
    if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) {
        fputs("Send this table all the same? [y/N] ", stderr);
        if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
            return ERR_OK;
    }
    return log_fail(log, ERR_DATA,
                    "nothing was sent: correct what the warnings above name, or give "
                    "--accept-warnings if the table is right as it is");
}
