#include "parties/analyst/known.h"

#include "aim/model/factor.h"
#include "aim/table/csv.h"
#include "aim/table/number.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <math.h>
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

/* Describes a cell, as "age=30, sex=f", cut to fit. */
static void describe_cell(const struct domain *d, const struct clique *c, uint64_t cell, char *text,
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
        describe_cell(r->domain, &m->clique, i, name, sizeof name);
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

/* --- whether margins agree with each other, and with what was measured ------------------------ */

/* Counts of a marginal, summed onto what it shares with another. */
static enum err sum_onto(struct factor *f, const struct measurement *m, const struct scope *shared,
                         const struct domain *d)
{
    const struct scope s = scope_of(&m->clique);
    TRY(factor_new(f, shared, d));
    factor_sum(&s, m->y, shared, d, f->value);
    return ERR_OK;
}

static struct scope shared_by(const struct measurement *a, const struct measurement *b)
{
    const struct scope x = scope_of(&a->clique), y = scope_of(&b->clique);
    return scope_intersect(&x, &y);
}

/* Where a margin came from, for messages. */
static void place_of(const struct known *k, size_t i, const char *path, char *text, size_t size)
{
    if (k->line[i] > 0)
        snprintf(text, size, "%.200s:%zu", path, k->line[i]);
    else
        snprintf(text, size, "the result's known totals");
}

/* Compares two known margins: what they share may differ by as much as rounding explains. */
static enum err compare_known(const struct known *k, size_t i, size_t j, const struct domain *d,
                              const char *path, struct log *log)
{
    const struct scope shared = shared_by(&k->margin[i], &k->margin[j]);
    struct factor x CLEAN(factor_clear) = {0}, y CLEAN(factor_clear) = {0};
    double added;
    TRY(sum_onto(&x, &k->margin[i], &shared, d));
    TRY(sum_onto(&y, &k->margin[j], &shared, d));
    added = (double)(clique_cells(&k->margin[i].clique, d) +
                     clique_cells(&k->margin[j].clique, d)) /
            (double)x.cells;
    for (uint64_t cell = 0; cell < x.cells; cell++) {
        struct clique c = {.n = shared.n};
        char one[240], other[240], name[300];
        if (fabs(x.value[cell] - y.value[cell]) <= 1 + sqrt(added))
            continue;
        memcpy(c.attribute, shared.attribute, shared.n * sizeof *c.attribute);
        place_of(k, i, path, one, sizeof one);
        place_of(k, j, path, other, sizeof other);
        describe_cell(d, &c, cell, name, sizeof name);
        return log_fail(log, ERR_DATA,
                        "the known margins do not agree: %s has %.10g rows%s%s, %s has %.10g, and "
                        "rounding explains %.1f",
                        one, x.value[cell], shared.n > 0 ? " of " : " in all", name, other,
                        y.value[cell], 1 + sqrt(added));
    }
    return ERR_OK;
}

/* How unlikely a sum of n squared unit Gaussians is, as a z-score (Wilson and Hilferty). */
static double z_of(double squares, double n)
{
    return (cbrt(squares / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
}

/* The attributes that two margins share and that have all their codes in both. */
static struct scope shared_codes(const struct measurement *known, const struct measurement *noisy)
{
    const struct scope shared = shared_by(known, noisy);
    struct scope apart = {.n = 0};
    for (unsigned i = 0; i < shared.n; i++)
        if (noisy->merges == NULL || noisy->merges->group[shared.attribute[i]] == NULL)
            apart.attribute[apart.n++] = shared.attribute[i];
    return apart;
}

/* A noisy margin, whose cells may be merged, summed onto what it shares with a known one. */
static enum err sum_noisy(struct factor *f, const struct measurement *noisy,
                          const struct scope *shared, const struct domain *d)
{
    struct domain grouped;
    enum err e;
    if (noisy->merges == NULL)
        return sum_onto(f, noisy, shared, d);
    e = merges_domain(noisy->merges, d, &grouped);
    if (e == ERR_OK)
        e = sum_onto(f, noisy, shared, &grouped);
    memory_free(&grouped.attribute);
    return e;
}

/* Compares a known margin with a noisy one, over what they share. */
static enum err z_score(double *z, const struct measurement *known, const struct measurement *noisy,
                        const struct domain *d)
{
    const struct scope shared = shared_codes(known, noisy);
    struct factor x CLEAN(factor_clear) = {0}, y CLEAN(factor_clear) = {0};
    double squares = 0, variance;
    TRY(sum_onto(&x, known, &shared, d));
    TRY(sum_noisy(&y, noisy, &shared, d));
    variance = noisy->sigma * noisy->sigma * (double)measurement_cells(noisy, d) / (double)x.cells;
    for (uint64_t i = 0; i < x.cells; i++)
        squares += (x.value[i] - y.value[i]) * (x.value[i] - y.value[i]) / variance;
    *z = z_of(squares, (double)x.cells);
    return ERR_OK;
}

static enum err compare_noisy(const struct known *k, size_t i, const struct domain *d,
                              const char *path, const struct measurement *noisy, size_t count,
                              struct log *log)
{
    const struct measurement *worst = NULL;
    double most = -INFINITY;
    char place[240];
    for (size_t n = 0; n < count; n++) {
        double z;
        if (noisy[n].total > 0) /* of another population */
            continue;
        TRY(z_score(&z, &k->margin[i], &noisy[n], d));
        if (z > most) {
            most = z;
            worst = &noisy[n];
        }
    }
    place_of(k, i, path, place, sizeof place);
    if (most > KNOWN_REFUSED)
        return log_fail(log, ERR_DATA,
                        "%s: the known counts of %s do not fit what was measured of %s: z is %.1f, "
                        "and noise would leave it below %d. Are they of the same people?",
                        place, clique_name(&k->margin[i].clique, d).text,
                        clique_name(&worst->clique, d).text, most, KNOWN_REFUSED);
    if (most > KNOWN_DOUBTED)
        log_warn(log,
                 "%s: the known counts of %s hardly fit what was measured of %s: z is %.1f, and "
                 "noise would nearly always leave it below %d",
                 place, clique_name(&k->margin[i].clique, d).text,
                 clique_name(&worst->clique, d).text, most, KNOWN_DOUBTED);
    return ERR_OK;
}

enum err known_check(struct known *k, const struct domain *d, const char *path,
                     const struct measurement *noisy, size_t count, struct log *log)
{
    double rows = k->count > 0 ? measurement_sum(&k->margin[0], d) : 1;
    if (!(rows >= 1))
        return log_fail(log, ERR_DATA, "%s: the known counts add up to %g rows", path, rows);
    for (size_t i = 0; i < k->count; i++)
        for (size_t j = 0; j < i; j++)
            TRY(compare_known(k, i, j, d, path, log));
    for (size_t i = 0; i < k->count; i++) {
        double scale = rows / fmax(measurement_sum(&k->margin[i], d), 1);
        TRY(compare_noisy(k, i, d, path, noisy, count, log));
        for (uint64_t c = clique_cells(&k->margin[i].clique, d); c-- > 0;)
            k->margin[i].y[c] *= scale;
    }
    return ERR_OK;
}
