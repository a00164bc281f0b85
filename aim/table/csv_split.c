#include "aim/table/csv.h"
#include "base/encoding.h"
#include "base/file.h"

#include <csv.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD_MAX (1 << 20) /* bytes */

struct csv_splitting {
    const char *path;
    const struct csv_sink *sink;
    struct csv_place *place;
    struct log *log;
    enum err fatal;
    size_t from; /* the line in which the field in hand begins, blank ones aside */
};

static bool is_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *table_csv_name(const char *path)
{
    return is_input(path) ? "standard input" : path;
}

static void on_field(void *text, size_t length, void *splitting)
{
    struct csv_splitting *s = splitting;
    if (s->fatal == ERR_OK)
        s->fatal = s->sink->field(s->sink->self, text, length);
    s->place->field++;
    s->from = s->place->line;
}

static void on_row(int terminator, void *splitting)
{
    struct csv_splitting *s = splitting;
    (void)terminator;
    if (s->fatal == ERR_OK)
        s->fatal = s->sink->row(s->sink->self);
    s->place->field = 0;
    s->from = s->place->line + 1;
}

static enum err parse_failed(struct csv_splitting *s, struct csv_parser *parser)
{
    if (csv_error(parser) != CSV_EPARSE)
        return ERR_NOMEM;
    return log_fail(
        s->log, ERR_DATA,
        "%s:%zu:%zu: a quote stands where none may be, or is not closed; put the field in quotes "
        "and double those inside",
        s->path, s->from, s->place->field + 1);
}

/* libcsv does not say where it is, so it is fed one line at a time. */
static enum err split_block(struct csv_splitting *s, struct csv_parser *parser, const char *p,
                            size_t n)
{
    while (n > 0 && s->fatal == ERR_OK) {
        const char *end = memchr(p, '\n', n);
        size_t part = end != NULL ? (size_t)(end - p) + 1 : n;
        if (csv_parse(parser, p, part, on_field, on_row, s) != part)
            return parse_failed(s, parser);
        if (csv_get_buffer_size(parser) > FIELD_MAX)
            return log_fail(s->log, ERR_DATA,
                            "%s:%zu: a field has more than %d bytes; is this a CSV file?", s->path,
                            s->place->line, FIELD_MAX);
        s->place->line += end != NULL;
        p += part;
        n -= part;
    }
    return s->fatal;
}

/* Finds how many bytes to skip at the start; refuses what cannot be UTF-8 text. */
static enum err check_mark(struct csv_splitting *s, const char *p, size_t n, size_t *skip)
{
    const char *name = encoding_foreign(p, n);
    *skip = encoding_mark(p, n);
    if (name == NULL)
        return ERR_OK;
    return log_fail(s->log, ERR_DATA, "%s is %s; save it as CSV in UTF-8", s->path, name);
}

static enum err split_stream(struct csv_splitting *s, struct csv_parser *parser, FILE *f)
{
    char block[65536];
    size_t n = fread(block, 1, sizeof block, f), skip;
    enum err e = check_mark(s, block, n, &skip);
    struct stat about;
    if (fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode))
        s->place->size = (double)about.st_size;
    while (e == ERR_OK && n > 0) {
        s->place->done += (double)n;
        e = split_block(s, parser, block + skip, n - skip);
        skip = 0;
        n = fread(block, 1, sizeof block, f);
    }
    explicit_bzero(block, sizeof block);
    if (e == ERR_OK && ferror(f))
        return log_fail(s->log, ERR_SYSTEM, "cannot read %s: %s", s->path, strerror(errno));
    if (e == ERR_OK && csv_fini(parser, on_field, on_row, s) != 0)
        e = parse_failed(s, parser);
    return e == ERR_OK ? s->fatal : e;
}

static enum err split_open(struct csv_splitting *s, char delimiter, FILE *f)
{
    struct csv_parser parser;
    enum err e;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return ERR_NOMEM;
    csv_set_delim(&parser, (unsigned char)delimiter);
    e = split_stream(s, &parser, f);
    csv_free(&parser);
    return e;
}

enum err csv_split(const char *path, char delimiter, const struct csv_sink *sink,
                   struct csv_place *place, struct log *log)
{
    struct csv_splitting s = {
        .path = table_csv_name(path), .sink = sink, .place = place, .log = log, .from = 1};
    FILE *f;
    enum err e;
    *place = (struct csv_place){.line = 1};
    if (is_input(path))
        return split_open(&s, delimiter, stdin);
    TRY(file_open(&f, path, log));
    e = split_open(&s, delimiter, f);
    fclose(f);
    return e;
}
