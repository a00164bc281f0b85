#include "aim/sql/database.h"

#include "aim/sql/database_private.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

#define LONG_RESULT 100000 /* above so many cells, groups come through a cursor */

static enum err make_keys(struct database *db)
{
    const struct domain *d = db->domain;
    TRY(memory_new(&db->key, d->attributes));
    for (size_t a = 0; a < d->attributes; a++)
        TRY(key_make(&db->key[a], db->engine, odbc_quote(db->odbc), &d->attribute[a],
                     &db->column[db->of[a]]));
    return ERR_OK;
}

/* Numbers stored as text have as many groups as there are different texts. */
static void tell_texts(const struct database *db)
{
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (db->key[a].form == KEY_TEXT && domain_has_numbers(&db->domain->attribute[a]))
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

/* Numbers as text may have many groups; otherwise there is one for each cell, and few more. */
static bool is_long(const struct database *db, const uint16_t *attribute, unsigned n)
{
    uint64_t cells = 1;
    bool texts = false;
    for (unsigned i = 0; i < n; i++) {
        const struct domain_attribute *a = &db->domain->attribute[attribute[i]];
        cells *= a->size;
        texts |= domain_has_numbers(a) && db->key[attribute[i]].form == KEY_TEXT;
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
    TRY(database_integer(db, n, &rows));
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
