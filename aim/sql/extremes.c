/* The least and the largest number of each column. */
#include "aim/sql/database.h"

#include "aim/sql/database_private.h"
#include "aim/table/number.h"
#include "base/text.h"

#include <math.h>

/* Whether a column's numbers compare in the database as they do here, read from text. */
static bool has_numbers(const struct domain_attribute *a, const struct odbc_column *c)
{
    bool whole = true;
    for (uint32_t i = 0; i < a->missing_numbers; i++)
        whole &= a->missing_number[i] == floor(a->missing_number[i]);
    switch (c->type) {
    case ODBC_TEXT:
    case ODBC_TRUTH:
        return false;
    case ODBC_DATE:
        return a->calendar != NULL && a->missing_numbers == 0;
    case ODBC_SINGLE:
        return domain_has_numbers(a) && whole;
    case ODBC_WHOLE:
    case ODBC_DOUBLE:
    case ODBC_DECIMAL:
        return domain_has_numbers(a);
    }
    return false;
}

/* MIN or MAX of the finite numbers that do not stand for a missing value. */
static enum err put_extreme(const struct database *db, size_t attribute, const char *which,
                            struct bytes *sql)
{
    static const char least[] = "(-1.7976931348623157e308)", most[] = "1.7976931348623157e308";
    const struct domain_attribute *a = &db->domain->attribute[attribute];
    const struct odbc_column *c = &db->column[db->of[attribute]];
    struct bytes name CLEAN(bytes_clear) = {0}, value CLEAN(bytes_clear) = {0};
    TRY(database_column(db, db->of[attribute], &name));
    text_put(&value, "%s(CASE WHEN %s >= %s AND %s <= %s", which, (const char *)name.data,
             a->calendar != NULL ? KEY_DATES_FROM : least, (const char *)name.data,
             a->calendar != NULL ? KEY_DATES_TO : most);
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

static enum err take_extreme(struct database *db, size_t field, size_t attribute)
{
    const struct domain_attribute *a = &db->domain->attribute[attribute];
    char *text, date[COLUMN_TEXT];
    size_t size;
    double x;
    TRY(odbc_field(db->odbc, field, &text, &size));
    if (text == NULL)
        return ERR_OK;
    text = rows_trim(text, &size);
    if (domain_parse(a, key_date(a->calendar, text, &size, date), &x))
        rows_extend(&db->o.moments[attribute], x);
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
            TRY(take_extreme(db, fields++, a));
            TRY(take_extreme(db, fields++, a));
        }
    return ERR_OK;
}
