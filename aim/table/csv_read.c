#include "aim/table/csv.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define FIELDS_MAX 65536

struct csv_reading {
    struct rows *rows;
    struct rows_source source;
    const struct domain *domain;
    const char *path;
    struct log *log;
    char delimiter;
    struct csv_place place;
    bool header;       /* has been read */
    const char *seems; /* what the delimiter seems to be, for messages, or "" */
    char correct[60];  /* what to correct if a column is missing */
};

static size_t line_of(const void *reading)
{
    return ((const struct csv_reading *)reading)->place.line;
}

static double part_of(const void *reading)
{
    const struct csv_reading *r = reading;
    return r->place.size > 0 ? fmin(1, r->place.done / r->place.size) : NAN;
}

/* The delimiter that a header of one field seems to have. */
static const char *delimiter_hint(const char *field)
{
    if (strchr(field, ';') != NULL)
        return " (it seems to be ';')";
    if (strchr(field, ',') != NULL)
        return " (it seems to be ',')";
    return strchr(field, '\t') != NULL ? " (it seems to be a tab)" : "";
}

static enum err header_field(struct csv_reading *r, char *text, size_t length)
{
    if (r->place.field >= FIELDS_MAX)
        return log_fail(r->log, ERR_DATA,
                        "%s: the header has more than %d columns; is the delimiter right?", r->path,
                        FIELDS_MAX);
    TRY(rows_column(r->rows, text, length));
    r->seems = r->place.field == 0 && !rows_known(r->rows) ? delimiter_hint(text) : "";
    return ERR_OK;
}

/* A first line without any column of the study is not a header, or is split in wrong places. */
static enum err header_end(struct csv_reading *r)
{
    const struct domain *d = r->domain;
    r->header = true;
    snprintf(r->correct, sizeof r->correct, "the header or delimiter%s", r->seems);
    if (rows_known(r->rows) || d->attributes < 2)
        return ERR_OK;
    return log_fail(
        r->log, ERR_DATA,
        "%s:%zu: the first line should name the columns (%s, %s ..) and names none of them; add a "
        "header, or correct it or the delimiter%s",
        r->path, r->place.line, d->attribute[0].name, d->attribute[1].name, r->seems);
}

static enum err take_field(void *reading, char *text, size_t length)
{
    struct csv_reading *r = reading;
    return r->header ? rows_field(r->rows, text, length) : header_field(r, text, length);
}

static enum err take_row(void *reading)
{
    struct csv_reading *r = reading;
    if (!r->header)
        TRY(header_end(r));
    return rows_end(r->rows);
}

enum err csv_check_delimiter(char delimiter, const char *of, struct log *log)
{
    if (strchr("\"'\r\n.+-_", delimiter) == NULL && !isalnum((unsigned char)delimiter))
        return ERR_OK;
    return log_fail(log, ERR_USAGE, "%s: '%c' cannot be the delimiter of a CSV file", of,
                    isprint((unsigned char)delimiter) ? delimiter : '?');
}

static enum err check_options(const struct csv_reading *r, char decimal)
{
    TRY(csv_check_delimiter(r->delimiter, r->path, r->log));
    if (strchr(".,", decimal) == NULL)
        return log_fail(r->log, ERR_USAGE,
                        "%s: decimals begin with a point or a comma, nothing else", r->path);
    return ERR_OK;
}

enum err table_read_csv(struct table **t, const struct domain *d, const char *path,
                        const struct table_csv_options *options, struct log *log)
{
    static const struct table_csv_options none;
    const struct table_csv_options *o = options != NULL ? options : &none;
    struct csv_reading r = {.domain = d, .path = table_csv_name(path), .log = log, .seems = ""};
    const struct csv_sink sink = {take_field, take_row, &r};
    enum err e;
    r.delimiter = o->delimiter != 0 ? o->delimiter : ',';
    r.source = (struct rows_source){.name = r.path,
                                    .places = "lines",
                                    .place = line_of,
                                    .part = part_of,
                                    .of = &r,
                                    .correct = r.correct};
    *t = NULL;
    TRY(check_options(&r, o->rows.decimal));
    TRY(rows_begin(&r.rows, d, &o->rows, &r.source, log));
    e = csv_split(path, r.delimiter, &sink, &r.place, log);
    if (e == ERR_OK && !r.header)
        e = log_fail(log, ERR_DATA, "%s is empty; it needs a header line", r.path);
    return rows_finish(&r.rows, e, t);
}
