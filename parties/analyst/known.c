#include "parties/analyst/known.h"

#include "aim/table/number.h"
#include "aim/table/rows.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/memory.h"

#include <csv.h>
#include <string.h>
#include <strings.h>

#define FILE_MOST ((size_t)256 << 20)
#define FIELDS (CLIQUE_MAX + 1)
#define ROWS_MOST 1e12

/* --- the file --------------------------------------------------------------------------------- */

struct known_reading {
    struct known *known;
    const struct domain *domain;
    const char *path;
    struct log *log;
    size_t line;
    size_t fields;
    char *field[FIELDS];         /* of the current line */
    uint16_t column[CLIQUE_MAX]; /* of each field; of the current margin */
    bool *seen;                  /* by cell of the current margin */
    enum err failed;
};

static void forget_fields(struct known_reading *r)
{
    for (size_t i = 0; i < r->fields && i < FIELDS; i++)
        memory_free(&r->field[i]);
    r->fields = 0;
}

static void reading_clear(struct known_reading *r)
{
    forget_fields(r);
    memory_free(&r->seen);
}

static struct measurement *margin(const struct known_reading *r)
{
    return &r->known->margin[r->known->count - 1];
}

void known_cell(const struct domain *d, const struct clique *c, uint64_t cell, char *text,
                size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < c->n && n < size; i++) {
        const struct domain_attribute *a = &d->attribute[c->attribute[i]];
        uint64_t rest = cell;
        uint32_t code;
        char room[COLUMN_TEXT];
        for (unsigned k = c->n; k-- > i + 1;)
            rest /= d->attribute[c->attribute[k]].size;
        code = (uint32_t)(rest % a->size);
        n += (size_t)snprintf(text + n, size - n, "%s%.40s=", i > 0 ? ", " : "", a->name);
        if (n >= size)
            return;
        if (code >= a->values)
            n += (size_t)snprintf(text + n, size - n, "%.40s",
                                  a->missing[0] != '\0' ? a->missing : "(empty)");
        else
            n += (size_t)snprintf(text + n, size - n, "%.40s", domain_text(a, code, 10, room));
    }
}

/* No cell of the current margin may be left out. */
static enum err finish_margin(struct known_reading *r)
{
    const struct measurement *m;
    uint64_t cells;
    char name[300];
    if (r->seen == NULL)
        return ERR_OK;
    m = margin(r);
    cells = clique_cells(&m->clique, r->domain);
    for (uint64_t i = 0; i < cells; i++) {
        if (r->seen[i])
            continue;
        known_cell(r->domain, &m->clique, i, name, sizeof name);
        return log_fail(r->log, ERR_DATA,
                        "%s:%zu: the margin that begins here has no line for %s; write 0 if there "
                        "are none",
                        r->path, r->known->line[r->known->count - 1], name);
    }
    memory_free(&r->seen);
    return ERR_OK;
}

static enum err unknown_column(const struct known_reading *r, size_t field)
{
    const char *near = domain_nearest(r->domain, r->field[field]);
    return log_fail(r->log, ERR_DATA, "%s:%zu:%zu: no column is called \"%.80s\"%s%s%s", r->path,
                    r->line, field + 1, r->field[field], near != NULL ? "; did you mean \"" : "",
                    near != NULL ? near : "", near != NULL ? "\"?" : "");
}

/* A line of names. Columns may come in any order. */
static enum err begin_margin(struct known_reading *r)
{
    struct clique c = {.n = 0};
    uint64_t cells;
    struct measurement *m;
    TRY(finish_margin(r));
    for (size_t i = 0; i + 1 < r->fields; i++) {
        uint32_t a = domain_find(r->domain, r->field[i]);
        if (a == DOMAIN_NO_CODE)
            return unknown_column(r, i);
        r->column[i] = (uint16_t)a;
        if (!domain_insert(c.attribute, c.n++, r->column[i]))
            return log_fail(r->log, ERR_DATA, "%s:%zu:%zu: %s is there twice", r->path, r->line,
                            i + 1, r->field[i]);
    }
    if (c.n == 0 || r->known->count == KNOWN_MAX)
        return log_fail(r->log, ERR_DATA,
                        c.n == 0 ? "%s:%zu: columns should stand before `count`"
                                 : "%s:%zu: there are too many margins; at most 256 are taken",
                        r->path, r->line);
    cells = clique_cells(&c, r->domain);
    if (cells > UINT32_MAX)
        return log_fail(r->log, ERR_DATA, "%s:%zu: these columns have too many combinations",
                        r->path, r->line);
    m = &r->known->margin[r->known->count];
    *m = (struct measurement){.clique = c};
    r->known->line[r->known->count++] = r->line;
    TRY(memory_new(&m->y, cells));
    return memory_new(&r->seen, cells);
}

static enum err find_cell(const struct known_reading *r, uint64_t *cell, bool *binned)
{
    const struct clique *c = &margin(r)->clique;
    *cell = 0;
    *binned = false;
    for (unsigned i = 0; i < c->n; i++) {
        const struct domain_attribute *a = &r->domain->attribute[c->attribute[i]];
        size_t field = 0;
        char allowed[300], shown[ROWS_SHOWN], hint[ROWS_HINT];
        while (r->column[field] != c->attribute[i])
            field++;
        *binned |= domain_has_bins(a);
        if (!domain_fits(a, r->field[field])) {
            rows_allowed(a, allowed, sizeof allowed);
            rows_shown(a, '.', r->field[field], shown, hint);
            return log_fail(r->log, ERR_DATA, "%s:%zu:%zu: %s is '%s'%s; it must be %s", r->path,
                            r->line, field + 1, a->name, shown, hint, allowed);
        }
        *cell = *cell * a->size + domain_code(a, r->field[field]);
    }
    return ERR_OK;
}

static enum err add_count(struct known_reading *r)
{
    const size_t last = r->fields - 1;
    struct measurement *m = margin(r);
    uint64_t cell;
    double rows;
    bool binned;
    if (r->fields != (size_t)m->clique.n + 1)
        return log_fail(r->log, ERR_DATA, "%s:%zu: the line has %zu fields, its header %u", r->path,
                        r->line, r->fields, m->clique.n + 1u);
    TRY(find_cell(r, &cell, &binned));
    if (!number_double(r->field[last], &rows) || !(rows >= 0 && rows <= ROWS_MOST))
        return log_fail(r->log, ERR_DATA,
                        "%s:%zu:%zu: the count is '%.80s'; it must be a number from 0 on", r->path,
                        r->line, r->fields, r->field[last]);
    if (r->seen[cell] && !binned)
        return log_fail(r->log, ERR_DATA, "%s:%zu: this combination has had its count; add them up",
                        r->path, r->line);
    r->seen[cell] = true;
    m->y[cell] += rows;
    return ERR_OK;
}

static void on_field(void *text, size_t length, void *reading)
{
    struct known_reading *r = reading;
    if (r->failed != ERR_OK)
        return;
    if (r->fields == FIELDS) {
        r->failed = log_fail(r->log, ERR_DATA, "%s:%zu: a line has at most %d columns and a count",
                             r->path, r->line, CLIQUE_MAX);
        return;
    }
    text = rows_trim(text, &length);
    r->field[r->fields] = memory_string(text);
    if (r->field[r->fields] == NULL)
        r->failed = ERR_NOMEM;
    else
        r->fields++;
}

static void on_line(int terminator, void *reading)
{
    struct known_reading *r = reading;
    (void)terminator;
    if (r->failed == ERR_OK && r->fields > 0) {
        if (strcasecmp(r->field[r->fields - 1], "count") == 0)
            r->failed = begin_margin(r);
        else if (r->seen == NULL)
            r->failed = log_fail(r->log, ERR_DATA,
                                 "%s:%zu: the first line should name columns and end with `count`, "
                                 "such as sex,count",
                                 r->path, r->line);
        else
            r->failed = add_count(r);
    }
    forget_fields(r);
}

/* libcsv does not say where it is, so it is fed one line at a time. */
static enum err parse(struct known_reading *r, struct csv_parser *parser, const char *p, size_t n)
{
    while (n > 0 && r->failed == ERR_OK) {
        const char *end = memchr(p, '\n', n);
        size_t part = end != NULL ? (size_t)(end - p) + 1 : n;
        if (csv_parse(parser, p, part, on_field, on_line, r) != part)
            return log_fail(r->log, ERR_DATA, "%s:%zu: a quote stands where none may be", r->path,
                            r->line);
        r->line++;
        p += part;
        n -= part;
    }
    if (r->failed == ERR_OK && csv_fini(parser, on_field, on_line, r) != 0)
        return log_fail(r->log, ERR_DATA, "%s: quotes that begin do not end", r->path);
    TRY(r->failed);
    return finish_margin(r);
}

enum err known_read(struct known *k, const struct domain *d, const char *path, struct log *log)
{
    struct known_reading r CLEAN(reading_clear) = {
        .known = k, .domain = d, .path = path, .log = log, .line = 1};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct csv_parser parser;
    const size_t before = k->count;
    const char *p;
    size_t skip;
    enum err e;
    TRY(file_read(path, FILE_MOST, &text, log));
    p = (const char *)text.data;
    if (encoding_foreign(p, text.size) != NULL)
        return log_fail(log, ERR_DATA, "%s is %s; save it as CSV in UTF-8", path,
                        encoding_foreign(p, text.size));
    skip = encoding_mark(p, text.size);
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return ERR_NOMEM;
    e = parse(&r, &parser, p + skip, text.size - skip);
    csv_free(&parser);
    if (e == ERR_OK && k->count == before)
        return log_fail(log, ERR_DATA, "there is no margin in %s", path);
    return e;
}

void known_clear(struct known *k)
{
    for (size_t i = 0; i < k->count; i++)
        memory_free(&k->margin[i].y);
    k->count = 0;
}
