#include "aim/sql/database.h"

#include "aim/sql/database_private.h"
#include "aim/table/number.h"
#include "aim/table/persons.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_RESULT 100000 /* cells, from which on groups come by a cursor */

static enum err make_keys(struct database *db)
{
    const struct domain *d = db->domain;
    TRY(memory_new(&db->key, d->attributes));
    for (size_t a = 0; a < d->attributes; a++)
        TRY(key_make(&db->key[a], db->engine, odbc_quote(db->odbc), &d->attribute[a],
                     &db->column[db->of[a]]));
    return ERR_OK;
}

/* Numbers that are text in the database have as many groups as there are texts. */
static void tell_texts(const struct database *db)
{
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (db->key[a].form == KEY_TEXT && db->domain->attribute[a].kind != DOMAIN_CATEGORICAL)
            log_info(db->log,
                     "%s: %s is no number in the database, so it is grouped by its text; a --query "
                     "that casts it to one may be faster",
                     db->name, db->domain->attribute[a].name);
}

enum err database_snapshot(struct database *db)
{
    bool able;
    TRY(database_check_columns(db));
    TRY(make_keys(db));
    tell_texts(db);
    TRY(database_begin(db, &able));
    if (!able)
        log_warn(db->log,
                 "%s: %s has no transactions: nothing may change in these rows while they are "
                 "counted. If their number changes, that is noticed; other changes are not",
                 db->name, odbc_engine(db->odbc));
    return ERR_OK;
}

static enum err read_number(struct database *db, size_t field, int64_t *n)
{
    char *text;
    size_t size;
    TRY(odbc_field(db->odbc, field, &text, &size));
    *n = text != NULL ? strtoll(text, NULL, 10) : 0;
    return ERR_OK;
}

/* --- a marginal ------------------------------------------------------------------------------- */

static enum err put_groups(const struct database *db, const uint16_t *attribute, unsigned n,
                           struct bytes *sql)
{
    bytes_put_text(sql, "SELECT ");
    for (unsigned i = 0; i < n; i++)
        text_put(sql, "%s, ", (const char *)db->key[attribute[i]].sql.data);
    bytes_put_text(sql, "COUNT(*)");
    database_put_from(db, sql);
    for (unsigned i = 0; i < n; i++)
        text_put(sql, "%s%u", i == 0 ? " GROUP BY " : ", ", i + 1);
    return bytes_ok(sql);
}

/* Texts of numbers may be many; else there is a group for each cell, and few more. */
static bool is_long(const struct database *db, const uint16_t *attribute, unsigned n)
{
    uint64_t cells = 1;
    bool texts = false;
    for (unsigned i = 0; i < n; i++) {
        const struct domain_attribute *a = &db->domain->attribute[attribute[i]];
        cells *= a->size;
        texts |= a->kind != DOMAIN_CATEGORICAL && db->key[attribute[i]].form == KEY_TEXT;
    }
    return texts || cells > LONG_RESULT;
}

static enum err take_group(struct database *db, const uint16_t *attribute, unsigned n,
                           int64_t *cells, size_t *total)
{
    size_t cell = 0;
    bool whole = true;
    int64_t rows;
    for (unsigned i = 0; i < n; i++) {
        char *text;
        size_t size;
        bool fits;
        uint32_t code;
        TRY(odbc_field(db->odbc, i, &text, &size));
        code = key_code(&db->key[attribute[i]], text, size, &fits);
        db->misfit[attribute[i]] |= !fits;
        whole &= code != DOMAIN_NO_CODE;
        cell = cell * db->domain->attribute[attribute[i]].size + (whole ? code : 0);
    }
    TRY(read_number(db, n, &rows));
    if (whole)
        cells[cell] += rows;
    *total += (size_t)rows;
    return ERR_OK;
}

enum err database_count(struct database *db, const uint16_t *attribute, unsigned n, int64_t *cells)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    size_t total = 0, size = 1;
    bool more;
    for (unsigned i = 0; i < n; i++)
        size *= db->domain->attribute[attribute[i]].size;
    memset(cells, 0, size * sizeof *cells);
    TRY(put_groups(db, attribute, n, &sql));
    TRY(database_select(db, &sql, is_long(db, attribute, n)));
    TRY(database_next(db, &more));
    while (more) {
        TRY(take_group(db, attribute, n, cells, &total));
        TRY(database_next(db, &more));
    }
    if (db->counted && total != db->rows)
        return log_fail(db->log, ERR_DATA,
                        "%s had %zu rows and then %zu: it changed while it was counted; try again "
                        "when nobody writes to it",
                        db->name, db->rows, total);
    db->counted = true;
    db->rows = total;
    return ERR_OK;
}

/* --- what does not fit ------------------------------------------------------------------------ */

struct telling {
    size_t problems;
    int64_t changed; /* of the attribute at hand */
};

static const char *plural(int64_t n)
{
    return n == 1 ? "row" : "rows";
}

static void tell_value(const struct database *db, const struct domain_attribute *a,
                       struct telling *t, const char *text, uint32_t code, int64_t rows)
{
    char allowed[300], shown[ROWS_SHOWN], hint[ROWS_HINT];
    bool wrong = code == DOMAIN_NO_CODE;
    if (wrong ? ++t->problems > ROWS_ERRORS_SHOWN : (t->changed += rows) > rows)
        return;
    rows_allowed(a, allowed, sizeof allowed);
    rows_shown(a, db->o.decimal, text, shown, hint);
    if (wrong)
        log_error(db->log, "%s: %s is '%s'%s in %" PRId64 " %s; it must be %s", db->name, a->name,
                  shown, hint, rows, plural(rows), allowed);
    else
        log_warn(db->log,
                 "%s: %s is '%s'%s in %" PRId64 " %s, which does not fit the study; it counts as "
                 "%s",
                 db->name, a->name, shown, hint, rows, plural(rows),
                 code == a->values ? "missing" : "the nearest");
}

static void sum_misfits(struct rows_moments *m, const struct domain_attribute *a, uint32_t code,
                        int64_t rows)
{
    if (code == a->values)
        m->outside += (size_t)rows;
    else if (code != DOMAIN_NO_CODE)
        m->clipped += (size_t)rows;
}

/* The values of one attribute that do not fit, the most frequent ones first. */
static enum err tell_misfits(struct database *db, size_t attribute, struct telling *t)
{
    const struct key texts = {.attribute = &db->domain->attribute[attribute], .form = KEY_TEXT};
    struct bytes sql CLEAN(bytes_clear) = {0}, column CLEAN(bytes_clear) = {0};
    bool more;
    TRY(database_column(db, db->of[attribute], &column));
    bytes_put_text(&sql, "SELECT ");
    engine_group(db->engine, &db->column[db->of[attribute]], (const char *)column.data, &sql);
    bytes_put_text(&sql, ", COUNT(*)");
    database_put_from(db, &sql);
    key_misfits(&db->key[attribute], &sql);
    bytes_put_text(&sql, " GROUP BY 1 ORDER BY 2 DESC, 1");
    TRY(database_select(db, &sql, true));
    t->changed = 0;
    TRY(database_next(db, &more));
    while (more) {
        struct bytes copy CLEAN(bytes_clear) = {0};
        char *text;
        size_t size;
        bool fits;
        int64_t rows;
        uint32_t code;
        TRY(odbc_field(db->odbc, 0, &text, &size));
        bytes_put(&copy, text != NULL ? text : "", size + 1);
        code = key_code(&texts, text, size, &fits);
        TRY(bytes_ok(&copy));
        TRY(read_number(db, 1, &rows));
        if (!fits)
            tell_value(db, texts.attribute, t, (const char *)copy.data, code, rows);
        if (!fits && db->o.moments != NULL)
            sum_misfits(&db->o.moments[attribute], texts.attribute, code, rows);
        TRY(database_next(db, &more));
    }
    if (t->changed > 1)
        log_warn(db->log, "%s: %" PRId64 " values of %s do not fit, and count so", db->name,
                 t->changed, texts.attribute->name);
    return ERR_OK;
}

static enum err check_values(struct database *db)
{
    struct telling t = {0};
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (db->misfit[a])
            TRY(tell_misfits(db, a, &t));
    if (t.problems > ROWS_ERRORS_SHOWN)
        log_error(db->log, "%s: %zu more problems like these", db->name,
                  t.problems - ROWS_ERRORS_SHOWN);
    return t.problems > 0 ? ERR_DATA : ERR_OK;
}

/* --- persons ---------------------------------------------------------------------------------- */

/* A line for each number of rows that somebody has and nobody may, the largest first. */
static enum err put_persons(const struct database *db, struct bytes *sql)
{
    struct bytes column CLEAN(bytes_clear) = {0}, person CLEAN(bytes_clear) = {0};
    TRY(database_column(db, db->person, &column));
    engine_trimmed(db->engine, &db->column[db->person], (const char *)column.data, &person);
    bytes_put_u8(&person, 0);
    TRY(bytes_ok(&person));
    text_put(sql,
             "SELECT g.nobody, g.n, COUNT(*) FROM (SELECT %s AS p, MAX(CASE WHEN %s = '' THEN 1 "
             "ELSE 0 END) AS nobody, COUNT(*) AS n",
             (const char *)person.data, (const char *)person.data);
    database_put_from(db, sql);
    text_put(sql,
             " GROUP BY 1 HAVING COUNT(*) > %zu OR MAX(CASE WHEN %s = '' THEN 1 ELSE 0 END) = 1"
             ") AS g GROUP BY 1, 2 ORDER BY 1 DESC, 2 DESC",
             db->o.per_person, (const char *)person.data);
    return bytes_ok(sql);
}

static enum err take_persons(struct database *db, size_t *found, bool *nobody)
{
    bool more;
    TRY(database_next(db, &more));
    while (more) {
        int64_t unnamed, rows, persons;
        TRY(read_number(db, 0, &unnamed));
        TRY(read_number(db, 1, &rows));
        TRY(read_number(db, 2, &persons));
        if (unnamed != 0) {
            *nobody = true;
            log_error(db->log,
                      "%s: %s is empty in %" PRId64 " %s; every row needs it where persons are "
                      "counted",
                      db->name, db->o.person, rows, plural(rows));
        } else {
            if (*found < PERSONS_SHOWN)
                log_error(db->log, "%s: %" PRId64 " %s %" PRId64 " rows", db->name, persons,
                          persons == 1 ? "person has" : "persons have", rows);
            *found += (size_t)persons;
        }
        TRY(database_next(db, &more));
    }
    return ERR_OK;
}

static enum err check_persons(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    size_t found = 0;
    bool nobody = false;
    if (db->o.person == NULL)
        return ERR_OK;
    TRY(put_persons(db, &sql));
    TRY(database_select(db, &sql, false));
    TRY(take_persons(db, &found, &nobody));
    TRY(persons_found(found, db->o.per_person, db->name, db->log));
    return nobody ? ERR_DATA : ERR_OK;
}

enum err database_check(struct database *db, size_t *rows)
{
    *rows = db->rows;
    if (db->o.max > 0 && db->rows > db->o.max)
        return log_fail(db->log, ERR_RANGE, "%s has %zu rows, more than the %zu allowed", db->name,
                        db->rows, db->o.max);
    TRY(check_values(db));
    return check_persons(db);
}

/* --- the least and the largest ---------------------------------------------------------------- */

/* Whether a column's numbers compare in the database as their texts do here. */
static bool has_numbers(const struct domain_attribute *a, const struct odbc_column *c)
{
    bool whole = true;
    for (uint32_t i = 0; i < a->missing_numbers; i++)
        whole &= a->missing_number[i] == floor(a->missing_number[i]);
    switch (c->type) {
    case ODBC_TEXT:
    case ODBC_TRUTH:
        return false;
    case ODBC_SINGLE:
        return a->kind != DOMAIN_CATEGORICAL && whole;
    case ODBC_WHOLE:
    case ODBC_DOUBLE:
    case ODBC_DECIMAL:
        return a->kind != DOMAIN_CATEGORICAL;
    }
    return false;
}

/* MIN or MAX of the finite numbers that do not stand for a missing value. */
static enum err put_extreme(const struct database *db, size_t attribute, const char *which,
                            struct bytes *sql)
{
    static const char most[] = "1.7976931348623157e308";
    const struct domain_attribute *a = &db->domain->attribute[attribute];
    const struct odbc_column *c = &db->column[db->of[attribute]];
    struct bytes name CLEAN(bytes_clear) = {0}, value CLEAN(bytes_clear) = {0};
    TRY(database_column(db, db->of[attribute], &name));
    text_put(&value, "%s(CASE WHEN %s >= (-%s) AND %s <= %s", which, (const char *)name.data, most,
             (const char *)name.data, most);
    if (db->engine->kind == ENGINE_SQLITE)
        text_put(&value, " AND typeof(%s) IN ('integer', 'real')", (const char *)name.data);
    for (uint32_t i = 0; i < a->missing_numbers; i++) {
        char number[40];
        number_print(number, sizeof number, a->missing_number[i], -1);
        text_put(&value, " AND %s <> (%s)", (const char *)name.data, number);
    }
    text_put(&value, " THEN %s END)", (const char *)name.data);
    bytes_put_u8(&value, 0);
    TRY(bytes_ok(&value));
    engine_text(db->engine, c, (const char *)value.data, sql);
    return bytes_ok(sql);
}

static enum err take_extreme(struct database *db, size_t field, struct rows_moments *m)
{
    char *text;
    size_t size;
    double x;
    TRY(odbc_field(db->odbc, field, &text, &size));
    if (text != NULL && number_double(rows_trim(text, &size), &x))
        rows_extend(m, x);
    return ERR_OK;
}

enum err database_extremes(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    size_t fields = 0;
    bool more;
    bytes_put_text(&sql, "SELECT ");
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (has_numbers(&db->domain->attribute[a], &db->column[db->of[a]])) {
            bytes_put_text(&sql, fields > 0 ? ", " : "");
            TRY(put_extreme(db, a, "MIN", &sql));
            bytes_put_text(&sql, ", ");
            TRY(put_extreme(db, a, "MAX", &sql));
            fields += 2;
        }
    if (fields == 0)
        return ERR_OK;
    database_put_from(db, &sql);
    TRY(database_select(db, &sql, false));
    TRY(database_next(db, &more));
    fields = 0;
    for (size_t a = 0; more && a < db->domain->attributes; a++)
        if (has_numbers(&db->domain->attribute[a], &db->column[db->of[a]])) {
            TRY(take_extreme(db, fields++, &db->o.moments[a]));
            TRY(take_extreme(db, fields++, &db->o.moments[a]));
        }
    return ERR_OK;
}
