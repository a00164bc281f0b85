#include "aim/sql/keys.h"

#include "aim/sql/bins.h"
#include "aim/table/rows.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 0x1p53 /* up to here, doubles hold whole numbers exactly */

/* --- columns of one type: a code -------------------------------------------------------------- */

/* The nearest number from `x` on, upwards or downwards, that does not stand for a missing value. */
static long outside(const struct domain_attribute *a, int64_t x, int64_t step)
{
    char text[32];
    while (domain_missing_number(a, (double)x))
        x += step;
    snprintf(text, sizeof text, "%" PRId64, x);
    return bins_marked(a, text);
}

/* Whole numbers for an attribute of whole numbers. */
static void whole_difference(struct key *k, const char *column)
{
    const struct domain_attribute *a = k->attribute;
    bytes_put_text(&k->sql, "CASE");
    for (uint32_t i = 0; i < a->missing_numbers; i++)
        if (a->missing_number[i] == floor(a->missing_number[i]))
            text_put(&k->sql, " WHEN %s = (%.0f) THEN %" PRIu32, column, a->missing_number[i],
                     a->values);
    text_put(&k->sql, " WHEN %s < (%" PRId64 ") THEN ", column, a->min);
    bins_put_code(&k->sql, false, outside(a, a->min - 1, -1));
    text_put(&k->sql, " WHEN %s > (%" PRId64 ") THEN ", column, a->max);
    bins_put_code(&k->sql, false, outside(a, a->max + 1, 1));
    text_put(&k->sql, " ELSE %s - (%" PRId64 ") END", column, a->min);
}

static enum err whole_bins(struct key *k, const char *column)
{
    text_put(&k->sql, "CASE WHEN %s IS NOT NULL THEN ", column);
    TRY(bins_put(k->attribute, BINS_OF_WHOLE, column, &k->sql));
    bytes_put_text(&k->sql, " END");
    return ERR_OK;
}

/* Anything beyond `most` is not a number. */
static enum err plain_bins(struct key *k, const struct sql_engine *e, const char *column,
                           const char *most)
{
    const struct domain_attribute *a = k->attribute;
    text_put(&k->sql, "CASE WHEN %s >= (-%s) AND %s <= %s THEN ", column, most, column, most);
    if (a->whole) {
        text_put(&k->sql, "CASE WHEN %s <> floor(%s) THEN ", column, column);
        bins_put_code(&k->sql, false, bins_marked(a, "0.5"));
        bytes_put_text(&k->sql, " ELSE ");
    }
    TRY(bins_put(a, k->column.type == ODBC_DOUBLE ? BINS_OF_DOUBLE : BINS_OF_DECIMAL, column,
                 &k->sql));
    text_put(&k->sql, "%s WHEN %s IS NOT NULL THEN ", a->whole ? " END" : "", column);
    if (e->kind == ENGINE_POSTGRESQL) {
        text_put(&k->sql, "CASE WHEN %s = 'NaN' THEN ", column);
        bins_put_code(&k->sql, false, bins_marked(a, "NaN"));
        text_put(&k->sql, " WHEN %s > 0 THEN ", column);
        bins_put_code(&k->sql, false, bins_marked(a, "Infinity"));
        bytes_put_text(&k->sql, " ELSE ");
        bins_put_code(&k->sql, false, bins_marked(a, "-Infinity"));
        bytes_put_text(&k->sql, " END");
    } else {
        bins_put_code(&k->sql, false, bins_marked(a, "NaN"));
    }
    bytes_put_text(&k->sql, " END");
    return ERR_OK;
}

/* --- columns of several kinds of values: a code as text, or a text behind '=' ----------------- */

static void begin_either(struct key *k)
{
    k->form = KEY_EITHER;
    bytes_put_text(&k->sql, "(CASE WHEN ");
}

static void end_either(struct key *k, const struct sql_engine *e, const char *column)
{
    bytes_put_text(&k->sql, " ELSE '=' || ");
    engine_text(e, &k->column, column, &k->sql);
    bytes_put_text(&k->sql, e->kind == ENGINE_POSTGRESQL ? " END) COLLATE \"C\"" : " END)");
}

/* Whole numbers within the attribute's range; everything else by its text. */
static void either_difference(struct key *k, const struct sql_engine *e, const char *column)
{
    const struct domain_attribute *a = k->attribute;
    bool sqlite = e->kind == ENGINE_SQLITE;
    begin_either(k);
    if (sqlite)
        text_put(&k->sql, "typeof(%s) IN ('integer', 'real') AND ", column);
    text_put(&k->sql, "%s >= (%" PRId64 ") AND %s <= (%" PRId64 ") AND ", column, a->min, column,
             a->max);
    text_put(&k->sql, sqlite ? "%s = CAST(%s AS INTEGER)" : "%s = floor(%s)", column, column);
    text_put(&k->sql,
             sqlite ? " THEN CAST(CAST(%s AS INTEGER) - (%" PRId64 ") AS TEXT)"
                    : " THEN CAST(CAST(%s AS bigint) - (%" PRId64 ") AS text)",
             column, a->min);
    end_either(k, e, column);
}

/* The database refuses to cast a number that is not near any double. */
static enum err either_numeric(struct key *k, const struct sql_engine *e, const char *column)
{
    char value[2 * ODBC_NAME + 64];
    begin_either(k);
    if (k->column.type == ODBC_SINGLE) {
        snprintf(value, sizeof value, "CAST(CAST(%s AS text) AS float8)", column);
        text_put(&k->sql, "%s >= (-3.5e38) AND %s <= 3.5e38", column, column);
    } else {
        snprintf(value, sizeof value, "CAST(%s AS float8)", column);
        text_put(&k->sql, "(%s = 0 OR abs(%s) BETWEEN 1e-300 AND 1e300)", column, column);
    }
    if (k->attribute->whole)
        text_put(&k->sql, " AND %s = floor(%s)", column, column);
    bytes_put_text(&k->sql, " THEN ");
    TRY(bins_put(k->attribute, BINS_AS_TEXT, value, &k->sql));
    end_either(k, e, column);
    return ERR_OK;
}

/* Each value has a type of its own. The text of a real number has fewer digits than the number. */
static enum err either_dynamic(struct key *k, const struct sql_engine *e, const char *column)
{
    char value[2 * ODBC_NAME + 64];
    begin_either(k);
    text_put(&k->sql, "typeof(%s) = 'integer' THEN ", column);
    snprintf(value, sizeof value, "CAST(%s AS REAL)", column);
    TRY(bins_put(k->attribute, BINS_AS_TEXT, value, &k->sql));
    text_put(&k->sql, " WHEN typeof(%s) = 'real' AND abs(%s) <= 1.79e308", column, column);
    if (k->attribute->whole)
        text_put(&k->sql, " AND %s = CAST(%s AS INTEGER)", column, column);
    bytes_put_text(&k->sql, " THEN ");
    snprintf(value, sizeof value, "CAST(CAST(%s AS TEXT) AS REAL)", column);
    TRY(bins_put(k->attribute, BINS_AS_TEXT, value, &k->sql));
    end_either(k, e, column);
    return ERR_OK;
}

/* --- which one -------------------------------------------------------------------------------- */

static bool all_good(const double *x, size_t n, bool (*good)(double x))
{
    for (size_t i = 0; i < n; i++)
        if (!good(x[i]))
            return false;
    return true;
}

/* Tests all numbers that values are compared with. */
static bool all_numbers(const struct domain_attribute *a, bool (*good)(double x))
{
    size_t edges = domain_has_bins(a) ? (size_t)a->values + 1 : 0;
    return all_good(a->edges, edges, good) && all_good(a->missing_number, a->missing_numbers, good);
}

static bool whole(double x)
{
    return x == floor(x);
}

static bool exact(double x)
{
    return fabs(x) < EXACT;
}

static void by_text(struct key *k, const struct sql_engine *e, const char *column)
{
    k->form = KEY_TEXT;
    engine_group(e, &k->column, column, &k->sql);
}

static enum err integer_key(struct key *k, const struct sql_engine *e, const char *column)
{
    const struct domain_attribute *a = k->attribute;
    enum odbc_type type = k->column.type;
    bool bounded = a->min >= -(INT64_C(1) << 53) && a->max <= INT64_C(1) << 53 &&
                   all_numbers(a, exact);
    if (bounded && e->kind == ENGINE_SQLITE)
        either_difference(k, e, column);
    else if (bounded && type == ODBC_WHOLE)
        whole_difference(k, column);
    else if (bounded && e->kind == ENGINE_POSTGRESQL &&
             (type == ODBC_DOUBLE || type == ODBC_DECIMAL))
        either_difference(k, e, column);
    else
        by_text(k, e, column);
    return ERR_OK;
}

static enum err numeric_key(struct key *k, const struct sql_engine *e, const char *column)
{
    const struct domain_attribute *a = k->attribute;
    enum odbc_type type = k->column.type;
    bool fine = !a->whole || all_good(a->missing_number, a->missing_numbers, whole);
    if (fine && e->kind == ENGINE_SQLITE)
        return either_dynamic(k, e, column);
    if (type == ODBC_WHOLE && e->kind != ENGINE_SQLITE && all_numbers(a, exact))
        return whole_bins(k, column);
    if (fine && type == ODBC_DOUBLE)
        return plain_bins(k, e, column, "1.7976931348623157e308");
    if (fine && type == ODBC_DECIMAL && k->column.digits <= BINS_DIGITS &&
        all_numbers(a, bins_short))
        return plain_bins(k, e, column, "1000000000000000");
    if (fine && e->kind == ENGINE_POSTGRESQL && (type == ODBC_DECIMAL || type == ODBC_SINGLE))
        return either_numeric(k, e, column);
    by_text(k, e, column);
    return ERR_OK;
}

/*
 * Of a date or a timestamp, the code. Infinite ones and those before the year 1 or after 9999 are
 * no dates here.
 */
static enum err date_key(struct key *k, const struct sql_engine *e, const char *column)
{
    if (k->column.type != ODBC_DATE || e->kind == ENGINE_OTHER) {
        by_text(k, e, column);
        return ERR_OK;
    }
    text_put(&k->sql, "CASE WHEN %s >= " KEY_DATES_FROM " AND %s <= " KEY_DATES_TO " THEN ", column,
             column);
    TRY(bins_put(k->attribute, BINS_OF_DATE, column, &k->sql));
    text_put(&k->sql, " WHEN %s IS NOT NULL THEN ", column);
    bins_put_code(&k->sql, false, bins_marked(k->attribute, "infinity"));
    bytes_put_text(&k->sql, " END");
    return ERR_OK;
}

static enum err find_key(struct key *k, const struct sql_engine *e, const char *column)
{
    if (domain_has_numbers(k->attribute))
        return domain_has_bins(k->attribute) ? numeric_key(k, e, column)
                                             : integer_key(k, e, column);
    if (k->attribute->calendar != NULL)
        return date_key(k, e, column);
    by_text(k, e, column);
    return ERR_OK;
}

enum err key_make(struct key *k, const struct sql_engine *e, const char *quote,
                  const struct domain_attribute *a, const struct odbc_column *column)
{
    struct bytes name CLEAN(bytes_clear) = {0};
    *k = (struct key){.attribute = a, .column = *column, .form = KEY_CODE};
    engine_column(&name, column->name, quote);
    bytes_put_u8(&name, 0);
    TRY(bytes_ok(&name));
    TRY(find_key(k, e, (const char *)name.data));
    bytes_put_u8(&k->sql, 0);
    return bytes_ok(&k->sql);
}

void key_clear(struct key *k)
{
    bytes_clear(&k->sql);
}

/* --- groups ----------------------------------------------------------------------------------- */

char *key_date(const struct calendar *c, char *text, size_t *size, char room[COLUMN_TEXT])
{
    int64_t number, high;
    if (c == NULL || strlen(text) != *size || !calendar_read(text, c->unit, false, &number, &high))
        return text;
    calendar_print(c, number, room);
    *size = strlen(room);
    return room;
}

static uint32_t text_code(const struct key *k, char *text, size_t size, bool *fits)
{
    char date[COLUMN_TEXT];
    uint32_t code;
    text = rows_trim(text, &size);
    if (k->column.type == ODBC_DATE)
        text = key_date(k->attribute->calendar, text, &size, date);
    *fits = strlen(text) == size; /* a text with a NUL inside is not a value */
    code = *fits ? domain_code(k->attribute, text) : DOMAIN_NO_CODE;
    *fits = code != DOMAIN_NO_CODE && domain_fits(k->attribute, text);
    return code;
}

uint32_t key_code(const struct key *k, char *field, size_t size, bool *fits)
{
    char none[1] = "";
    long code;
    if (field == NULL)
        return text_code(k, none, 0, fits);
    if (k->form == KEY_TEXT)
        return text_code(k, field, size, fits);
    if (k->form == KEY_EITHER && field[0] == '=')
        return text_code(k, field + 1, size - 1, fits);
    code = strtol(field, NULL, 10);
    *fits = code >= 0;
    code = code >= 0 ? code : -(code + 1);
    return code < (long)k->attribute->size ? (uint32_t)code : DOMAIN_NO_CODE;
}

void key_misfits(const struct key *k, struct bytes *sql)
{
    const char *key = (const char *)k->sql.data;
    switch (k->form) {
    case KEY_TEXT:
        break;
    case KEY_CODE:
        text_put(sql, " WHERE %s IS NULL OR %s < 0", key, key);
        break;
    case KEY_EITHER:
        text_put(sql, " WHERE %s IS NULL OR %s < '0' OR %s > ':'", key, key, key);
        break;
    }
}
