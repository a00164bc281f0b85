#include "aim/table/csv.h"
#include "base/encoding.h"
#include "base/file.h"

#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FIELDS_MAX 65536
#define FIELD_MAX (1 << 20) /* bytes */

struct csv_reading {
    struct rows *rows;
    struct rows_source source;
    const struct domain *domain;
    const char *path;
    struct log *log;
    char delimiter;
    size_t line;       /* of the bytes being parsed, from 1 */
    size_t field;      /* of the row being parsed, from 0 */
    double done, size; /* bytes; size 0: not known */
    bool header;       /* has been read */
    const char *seems; /* what the delimiter seems to be, for messages, or "" */
    char correct[60];  /* what to correct if a column is missing */
    enum err fatal;
};

static bool is_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *table_csv_name(const char *path)
{
    return is_input(path) ? "standard input" : path;
}

static size_t line_of(const void *reading)
{
    return ((const struct csv_reading *)reading)->line;
}

static double part_of(const void *reading)
{
    const struct csv_reading *r = reading;
    return r->size > 0 ? fmin(1, r->done / r->size) : NAN;
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
    if (r->field >= FIELDS_MAX)
        return log_fail(r->log, ERR_DATA,
                        "%s: the header has more than %d columns; is the delimiter right?", r->path,
                        FIELDS_MAX);
    TRY(rows_column(r->rows, text, length));
    r->seems = r->field == 0 && !rows_known(r->rows) ? delimiter_hint(text) : "";
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
        r->path, r->line, d->attribute[0].name, d->attribute[1].name, r->seems);
}

static void on_field(void *text, size_t length, void *reading)
{
    struct csv_reading *r = reading;
    if (r->fatal == ERR_OK)
        r->fatal = r->header ? rows_field(r->rows, text, length) : header_field(r, text, length);
    r->field++;
}

static void on_row(int terminator, void *reading)
{
    struct csv_reading *r = reading;
    (void)terminator;
    if (r->fatal == ERR_OK && !r->header)
        r->fatal = header_end(r);
    if (r->fatal == ERR_OK)
        r->fatal = rows_end(r->rows);
    r->field = 0;
}

static enum err parse_failed(struct csv_reading *r, struct csv_parser *parser)
{
    if (csv_error(parser) != CSV_EPARSE)
        return ERR_NOMEM;
    return log_fail(
        r->log, ERR_DATA,
        "%s:%zu:%zu: a quote stands where none may be; put the field in quotes and double "
        "those inside",
        r->path, r->line, r->field + 1);
}

/* libcsv does not say where it is, so it is fed one line at a time. */
static enum err parse_block(struct csv_reading *r, struct csv_parser *parser, const char *p,
                            size_t n)
{
    while (n > 0 && r->fatal == ERR_OK) {
        const char *end = memchr(p, '\n', n);
        size_t part = end != NULL ? (size_t)(end - p) + 1 : n;
        if (csv_parse(parser, p, part, on_field, on_row, r) != part)
            return parse_failed(r, parser);
        if (csv_get_buffer_size(parser) > FIELD_MAX)
            return log_fail(r->log, ERR_DATA,
                            "%s:%zu: a field has more than %d bytes; is this a CSV file?", r->path,
                            r->line, FIELD_MAX);
        r->line += end != NULL;
        p += part;
        n -= part;
    }
    return r->fatal;
}

/* Finds how many bytes to skip at the start; refuses what cannot be UTF-8 text. */
static enum err check_mark(struct csv_reading *r, const char *p, size_t n, size_t *skip)
{
    const char *name = encoding_foreign(p, n);
    *skip = encoding_mark(p, n);
    if (name == NULL)
        return ERR_OK;
    return log_fail(r->log, ERR_DATA, "%s is %s; save it as CSV in UTF-8", r->path, name);
}

static enum err read_stream(struct csv_reading *r, struct csv_parser *parser, FILE *f)
{
    char block[65536];
    size_t n = fread(block, 1, sizeof block, f), skip;
    enum err e = check_mark(r, block, n, &skip);
    struct stat about;
    if (fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode))
        r->size = (double)about.st_size;
    while (e == ERR_OK && n > 0) {
        r->done += (double)n;
        e = parse_block(r, parser, block + skip, n - skip);
        skip = 0;
        n = fread(block, 1, sizeof block, f);
    }
    explicit_bzero(block, sizeof block);
    if (e == ERR_OK && ferror(f))
        return log_fail(r->log, ERR_SYSTEM, "cannot read %s: %s", r->path, strerror(errno));
    if (e == ERR_OK && csv_fini(parser, on_field, on_row, r) != 0)
        e = parse_failed(r, parser);
    return e == ERR_OK ? r->fatal : e;
}

static enum err read_open(struct csv_reading *r, FILE *f)
{
    struct csv_parser parser;
    enum err e;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return ERR_NOMEM;
    csv_set_delim(&parser, (unsigned char)r->delimiter);
    e = read_stream(r, &parser, f);
    csv_free(&parser);
    if (e == ERR_OK && !r->header)
        e = log_fail(r->log, ERR_DATA, "%s is empty; it needs a header line", r->path);
    return e;
}

static enum err read_file(struct csv_reading *r, const char *path)
{
    FILE *f;
    enum err e;
    if (is_input(path))
        return read_open(r, stdin);
    TRY(file_open(&f, path, r->log));
    e = read_open(r, f);
    fclose(f);
    return e;
}

static enum err check_options(const struct csv_reading *r, char decimal)
{
    if (strchr("\"'\r\n.+-_", r->delimiter) != NULL || isalnum((unsigned char)r->delimiter))
        return log_fail(r->log, ERR_USAGE, "%s: '%c' cannot be the delimiter of a CSV file",
                        r->path, isprint((unsigned char)r->delimiter) ? r->delimiter : '?');
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
    struct csv_reading r = {
        .domain = d, .path = table_csv_name(path), .log = log, .line = 1, .seems = ""};
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
    return rows_finish(&r.rows, read_file(&r, path), t);
}
