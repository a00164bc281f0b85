/* Finds what does not fit in a table that was counted: values, and persons with too many rows. */
#include "aim/sql/database.h"

#include "aim/sql/database_private.h"
#include "aim/table/persons.h"
#include "base/text.h"

#include <inttypes.h>

/* --- values ----------------------------------------------------------------------------------- */

/* What may be wrong with a value. */
enum { CHECK_WRONG, CHECK_MISSING, CHECK_NEAREST, CHECK_KINDS };

/* The most frequent value of a kind in a column, its rows, and those of all such values. */
struct check_misfit {
    int64_t rows, all;
    char shown[ROWS_SHOWN], hint[ROWS_HINT];
};

static const char *plural(int64_t n)
{
    return n == 1 ? "row" : "rows";
}

/* One line for each column and kind, as for rows that are read. */
static void tell_misfit(const struct database *db, const struct domain_attribute *a, unsigned kind,
                        const struct check_misfit *m)
{
    char allowed[300], all[64] = "";
    if (m->rows == 0)
        return;
    if (m->all > m->rows)
        snprintf(all, sizeof all, " (%" PRId64 " rows with others like it)", m->all);
    rows_allowed(a, allowed, sizeof allowed);
    if (kind == CHECK_WRONG)
        log_error(db->log, "%s: %s is '%s'%s in %" PRId64 " %s; it must be %s%s", db->name, a->name,
                  m->shown, m->hint, m->rows, plural(m->rows), allowed, all);
    else
        log_warn(db->log,
                 "%s: %s is '%s'%s in %" PRId64 " %s, which does not fit the study; it counts as "
                 "%s%s",
                 db->name, a->name, m->shown, m->hint, m->rows, plural(m->rows),
                 kind == CHECK_MISSING ? "missing" : "the nearest", all);
}

static void add_misfit(const struct database *db, size_t attribute, struct check_misfit *misfit,
                       const char *text, uint32_t code, int64_t rows)
{
    const struct domain_attribute *a = &db->domain->attribute[attribute];
    struct rows_moments *moments = db->o.moments != NULL ? &db->o.moments[attribute] : NULL;
    const unsigned kind = code == DOMAIN_NO_CODE ? CHECK_WRONG
                          : code == a->values    ? CHECK_MISSING
                                                 : CHECK_NEAREST;
    struct check_misfit *m = &misfit[kind];
    m->all += rows;
    if (moments != NULL && kind == CHECK_MISSING)
        moments->outside += (size_t)rows;
    if (moments != NULL && kind == CHECK_NEAREST)
        moments->clipped += (size_t)rows;
    if (m->rows > 0)
        return;
    m->rows = rows;
    rows_shown(a, db->o.decimal, text, m->shown, m->hint);
    if (moments != NULL && m->hint[0] != '\0')
        moments->strange = true;
}

static enum err take_misfit(struct database *db, size_t attribute, struct check_misfit *misfit)
{
    const struct key texts = {.attribute = &db->domain->attribute[attribute],
                              .column = db->column[db->of[attribute]],
                              .form = KEY_TEXT};
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
    TRY(database_integer(db, 1, &rows));
    if (fits)
        return ERR_OK;
    add_misfit(db, attribute, misfit, (const char *)copy.data, code, rows);
    return ERR_OK;
}

/* The values of one attribute that do not fit, the most frequent ones first. */
static enum err tell_misfits(struct database *db, size_t attribute, bool *wrong)
{
    struct check_misfit misfit[CHECK_KINDS] = {{0}};
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
    TRY(database_next(db, &more));
    while (more) {
        TRY(take_misfit(db, attribute, misfit));
        TRY(database_next(db, &more));
    }
    for (unsigned kind = 0; kind < CHECK_KINDS; kind++)
        tell_misfit(db, &db->domain->attribute[attribute], kind, &misfit[kind]);
    *wrong |= misfit[CHECK_WRONG].rows > 0;
    return ERR_OK;
}

static enum err check_values(struct database *db)
{
    bool wrong = false;
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (db->misfit[a])
            TRY(tell_misfits(db, a, &wrong));
    return wrong ? ERR_DATA : ERR_OK;
}

/* --- persons ---------------------------------------------------------------------------------- */

/* A line for each number of rows above the limit that a person has, the largest first. */
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
        TRY(database_integer(db, 0, &unnamed));
        TRY(database_integer(db, 1, &rows));
        TRY(database_integer(db, 2, &persons));
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
