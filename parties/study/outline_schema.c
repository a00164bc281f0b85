/*
 * Columns from the schema of a table in a database. Its rows are not read: what may be known of the
 * columns is in their types and constraints.
 */
#include "aim/sql/bins.h"
#include "aim/sql/connection.h"
#include "aim/sql/engine.h"
#include "base/text.h"
#include "parties/study/outline.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define LOOKUP_MOST 1000

struct schema {
    struct outline *outline;
    const struct database_source *source;
    const char *lookup; /* tables whose values may be read, with commas between them; or NULL */
    struct bytes connection;
    struct odbc *odbc;
    const struct sql_engine *engine;
    struct log *log;
};

static void schema_clear(struct schema *s)
{
    odbc_close(&s->odbc);
    bytes_clear(&s->connection);
}

static enum err run_sql(struct schema *s, struct bytes *sql)
{
    bytes_put_u8(sql, 0);
    TRY(bytes_ok(sql));
    return odbc_run(s->odbc, (const char *)sql->data);
}

/* --- what engines say ------------------------------------------------------------------------- */

static enum err take_answers(struct schema *s, struct bytes *sql, size_t field, bool whole)
{
    bool more = true;
    TRY(run_sql(s, sql));
    for (;;) {
        char *text;
        size_t size;
        TRY(odbc_next(s->odbc, &more));
        if (!more)
            return ERR_OK;
        for (size_t i = 0; i <= field; i++)
            TRY(odbc_field(s->odbc, i, &text, &size));
        if (text != NULL && whole)
            outline_definition(s->outline, text);
        else if (text != NULL)
            outline_clause(s->outline, text);
    }
}

static void put_quoted(struct bytes *sql, const char *text)
{
    bytes_put_u8(sql, '\'');
    for (; *text != '\0'; text++)
        text_put(sql, *text == '\'' ? "''" : "%c", *text);
    bytes_put_u8(sql, '\'');
}

static enum err read_constraints(struct schema *s)
{
    struct bytes sql CLEAN(bytes_clear) = {0}, table CLEAN(bytes_clear) = {0};
    const char *name;
    put_quoted(&table, s->source->table);
    bytes_put_u8(&table, 0);
    TRY(bytes_ok(&table));
    name = (const char *)table.data;
    switch (s->engine->kind) {
    case ENGINE_POSTGRESQL:
        text_put(&sql,
                 "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = "
                 "%s::regclass UNION ALL SELECT quote_ident(attname) || ' NOT NULL' FROM "
                 "pg_attribute WHERE attrelid = %s::regclass AND attnotnull AND attnum > 0 UNION "
                 "ALL (SELECT quote_ident(attname) || ' IN (' || string_agg(quote_literal("
                 "enumlabel), ', ' ORDER BY enumsortorder) || ')' FROM pg_attribute JOIN pg_enum "
                 "ON enumtypid = atttypid WHERE attrelid = %s::regclass GROUP BY attname)",
                 name, name, name);
        return take_answers(s, &sql, 0, false);
    case ENGINE_SQLITE:
        text_put(&sql,
                 "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = "
                 "lower(trim(%s, '\"'))",
                 name);
        return take_answers(s, &sql, 0, true);
    case ENGINE_MARIADB:
        text_put(&sql, "SHOW CREATE TABLE %s", s->source->table);
        return take_answers(s, &sql, 1, true);
    case ENGINE_BINARY:
    case ENGINE_OTHER:
        break;
    }
    log_warn(s->log, "%s: only the types of its columns are known of this database",
             odbc_engine(s->odbc));
    return ERR_OK;
}

static void take_type(struct schema *s, struct outline_column *c, const struct odbc_column *type)
{
    switch (type->type) {
    case ODBC_WHOLE:
        c->kind = OUTLINE_WHOLE;
        break;
    case ODBC_DECIMAL:
        c->kind = type->scale == 0 ? OUTLINE_WHOLE : OUTLINE_NUMBER;
        if (type->digits <= BINS_DIGITS) /* what is said of a type without a size means nothing */
            c->step = pow(10, -type->scale);
        break;
    case ODBC_DOUBLE:
    case ODBC_SINGLE:
        c->kind = OUTLINE_NUMBER;
        break;
    case ODBC_TRUTH:
        c->kind = OUTLINE_LABELS;
        outline_add(&c->values, s->engine->kind == ENGINE_POSTGRESQL ? "t" : "1");
        outline_add(&c->values, s->engine->kind == ENGINE_POSTGRESQL ? "f" : "0");
        break;
    case ODBC_DATE:
        c->kind = OUTLINE_DATE;
        break;
    case ODBC_TEXT:
        break;
    }
    outline_add(&c->missing, ""); /* NULL is read as an empty cell */
}

static enum err read_columns(struct schema *s)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    text_put(&sql, "SELECT * FROM %s WHERE 1 = 0", s->source->table);
    TRY(run_sql(s, &sql));
    for (size_t i = 0; i < odbc_columns(s->odbc); i++) {
        struct odbc_column type;
        struct outline_column *c;
        TRY(odbc_column(s->odbc, i, &type));
        TRY(outline_next(s->outline, type.name, &c));
        take_type(s, c, &type);
    }
    return ERR_OK;
}

/* --- tables of codes -------------------------------------------------------------------------- */

/* Whether `name` is one of the words in a list with commas. */
static bool listed(const char *list, const char *name, size_t n)
{
    while (list != NULL && *list != '\0') {
        const size_t word = strcspn(list, ",");
        if (word == n && strncasecmp(list, name, n) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

static enum err read_lookup(struct schema *s, struct outline_column *c)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    const size_t n = strcspn(c->note, "(");
    const int key = (int)strlen(c->note) - (int)n - 2;
    text_put(&sql, "SELECT %.*s FROM %.*s ORDER BY 1", key, c->note + n + 1, (int)n, c->note);
    TRY(run_sql(s, &sql));
    for (bool more;;) {
        char *text;
        size_t size;
        TRY(odbc_next(s->odbc, &more));
        if (!more)
            break;
        TRY(odbc_field(s->odbc, 0, &text, &size));
        if (text != NULL)
            outline_add(&c->values, text);
        if (c->values.count > LOOKUP_MOST)
            return log_fail(s->log, ERR_DATA,
                            "%.*s has more than %d values; is it a table of codes?", (int)n,
                            c->note, LOOKUP_MOST);
    }
    return bytes_ok(&c->values.text);
}

static enum err settle(struct schema *s, struct outline_column *c)
{
    char note[sizeof c->note];
    const char *bracket = strchr(c->note, '(');
    if (bracket != NULL && listed(s->lookup, c->note, (size_t)(bracket - c->note)))
        TRY(read_lookup(s, c));
    else if (bracket != NULL) {
        snprintf(note, sizeof note, "it refers to %.100s; if that has public codes: --lookup",
                 c->note);
        snprintf(c->note, sizeof c->note, "%s", note);
        c->kind = OUTLINE_UNKNOWN;
    }
    if (c->values.count > 0)
        c->kind = OUTLINE_LABELS;
    else if (c->kind == OUTLINE_UNKNOWN && !(isnan(c->min) && isnan(c->max)))
        c->kind = OUTLINE_NUMBER;
    else if (c->kind == OUTLINE_UNKNOWN && bracket == NULL) {
        c->kind = OUTLINE_NONE;
        snprintf(c->note, sizeof c->note, "text or a time, without CHECK or ENUM");
    } else if (strcmp(c->note, "a primary key") == 0)
        c->kind = OUTLINE_NONE;
    TRY(bytes_ok(&c->values.text));
    return bytes_ok(&c->missing.text);
}

enum err outline_schema(struct outline *o, const struct database_source *source, const char *lookup,
                        struct log *log)
{
    struct schema s CLEAN(schema_clear) = {
        .outline = o, .source = source, .lookup = lookup, .log = log};
    if (source->table == NULL)
        return log_fail(log, ERR_USAGE, "a schema is that of a table; give --table");
    TRY(connection_text(source->connection, &s.connection, log));
    TRY(odbc_connect(&s.odbc, (const char *)s.connection.data, source->table, log));
    s.engine = engine_find(odbc_engine(s.odbc));
    TRY(read_columns(&s));
    TRY(read_constraints(&s));
    for (size_t i = 0; i < o->count; i++)
        TRY(settle(&s, &o->column[i]));
    outline_came(o, "the schema of the table", source->table);
    return ERR_OK;
}
