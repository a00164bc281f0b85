#include "parties/analyst/known.h"

#include "aim/table/csv.h"
#include "aim/table/number.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <string.h>
#include <strings.h>

#define FIELDS (CLIQUE_MAX + 1)
#define ROWS_MOST 1e12

/* --- the file --------------------------------------------------------------------------------- */

struct known_reading {
    struct known *known;
    const struct domain *domain;
    const char *path;
    struct log *log;
    struct csv_place place;
    size_t fields;
    char *field[FIELDS];         /* of the current line */
    uint16_t column[CLIQUE_MAX]; /* of each field; of the current margin */
    bool *seen;                  /* by cell of the current margin */
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
                    r->place.line, field + 1, r->field[field],
                    near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                    near != NULL ? "\"?" : "");
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
        if (r->domain->series != NULL && !series_counts_persons(r->domain->series, r->column[i]))
            return log_fail(r->log, ERR_DATA,
                            "%s:%zu:%zu: counts by %s are not of persons; only those can be known",
                            r->path, r->place.line, i + 1, r->field[i]);
        if (!domain_insert(c.attribute, c.n++, r->column[i]))
            return log_fail(r->log, ERR_DATA, "%s:%zu:%zu: %s is there twice", r->path,
                            r->place.line, i + 1, r->field[i]);
    }
    if (c.n == 0 || r->known->count == KNOWN_MAX)
        return log_fail(r->log, ERR_DATA,
                        c.n == 0 ? "%s:%zu: columns should stand before `count`"
                                 : "%s:%zu: there are too many margins; at most 256 are taken",
                        r->path, r->place.line);
    cells = clique_cells(&c, r->domain);
    if (cells > UINT32_MAX)
        return log_fail(r->log, ERR_DATA, "%s:%zu: these columns have too many combinations",
                        r->path, r->place.line);
    m = &r->known->margin[r->known->count];
    *m = (struct measurement){.clique = c};
    r->known->line[r->known->count++] = r->place.line;
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
                            r->place.line, field + 1, a->name, shown, hint, allowed);
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
                        r->place.line, r->fields, m->clique.n + 1u);
    TRY(find_cell(r, &cell, &binned));
    if (!number_double(r->field[last], &rows) || !(rows >= 0 && rows <= ROWS_MOST))
        return log_fail(r->log, ERR_DATA,
                        "%s:%zu:%zu: the count is '%.80s'; it must be a number from 0 on", r->path,
                        r->place.line, r->fields, r->field[last]);
    if (r->seen[cell] && !binned)
        return log_fail(r->log, ERR_DATA, "%s:%zu: this combination has had its count; add them up",
                        r->path, r->place.line);
    r->seen[cell] = true;
    m->y[cell] += rows;
    return ERR_OK;
}

static enum err take_field(void *reading, char *text, size_t length)
{
    struct known_reading *r = reading;
    if (r->fields == FIELDS)
        return log_fail(r->log, ERR_DATA, "%s:%zu: a line has at most %d columns and a count",
                        r->path, r->place.line, CLIQUE_MAX);
    r->field[r->fields] = memory_string(rows_trim(text, &length));
    return r->field[r->fields++] == NULL ? ERR_NOMEM : ERR_OK;
}

static enum err take_line(void *reading)
{
    struct known_reading *r = reading;
    enum err e = ERR_OK;
    if (r->fields > 0 && strcasecmp(r->field[r->fields - 1], "count") == 0)
        e = begin_margin(r);
    else if (r->fields > 0 && r->seen == NULL)
        e = log_fail(r->log, ERR_DATA,
                     "%s:%zu: the first line should name columns and end with `count`, such as "
                     "sex,count",
                     r->path, r->place.line);
    else if (r->fields > 0)
        e = add_count(r);
    forget_fields(r);
    return e;
}

enum err known_read(struct known *k, const struct domain *d, const char *path, struct log *log)
{
    struct known_reading r CLEAN(reading_clear) = {
        .known = k, .domain = d, .path = table_csv_name(path), .log = log};
    const struct csv_sink sink = {take_field, take_line, &r};
    const size_t before = k->count;
    TRY(csv_split(path, ',', &sink, &r.place, log));
    TRY(finish_margin(&r));
    return k->count > before ? ERR_OK : log_fail(log, ERR_DATA, "there is no margin in %s", r.path);
}

void known_clear(struct known *k)
{
    for (size_t i = 0; i < k->count; i++)
        memory_free(&k->margin[i].y);
    k->count = 0;
}
