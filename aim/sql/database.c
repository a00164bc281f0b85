#include "aim/sql/database.h"

#include "aim/sql/connection.h"
#include "aim/sql/database_private.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FETCH_ROWS 10000 /* rows that a cursor returns at a time */
#define CURSOR "trefoil_rows"

/* --- statements ------------------------------------------------------------------------------- */

static enum err run_statement(struct database *db, struct bytes *sql)
{
    bytes_put_u8(sql, 0);
    TRY(bytes_ok(sql));
    return odbc_run(db->odbc, (const char *)sql->data);
}

enum err database_column(const struct database *db, size_t column, struct bytes *sql)
{
    engine_column(sql, db->column[column].name, odbc_quote(db->odbc));
    bytes_put_u8(sql, 0);
    return bytes_ok(sql);
}

static enum err fetch_more(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    text_put(&sql, "FETCH FORWARD %d FROM " CURSOR, FETCH_ROWS);
    db->fetched = 0;
    return run_statement(db, &sql);
}

enum err database_select(struct database *db, struct bytes *sql, bool long_result)
{
    struct bytes declared CLEAN(bytes_clear) = {0};
    db->cursor = long_result && db->engine->kind == ENGINE_POSTGRESQL;
    if (!db->cursor)
        return run_statement(db, sql);
    bytes_put_text(&declared, "DECLARE " CURSOR " NO SCROLL CURSOR FOR ");
    bytes_put(&declared, sql->data, sql->size);
    TRY(run_statement(db, &declared));
    return fetch_more(db);
}

enum err database_next(struct database *db, bool *more)
{
    TRY(odbc_next(db->odbc, more));
    if (db->cursor && !*more && db->fetched > 0) {
        TRY(fetch_more(db));
        TRY(odbc_next(db->odbc, more));
    }
    db->fetched += *more;
    return !db->cursor || *more ? ERR_OK : odbc_run(db->odbc, "CLOSE " CURSOR);
}

enum err database_integer(struct database *db, size_t field, int64_t *n)
{
    char *text;
    size_t size;
    TRY(odbc_field(db->odbc, field, &text, &size));
    *n = text != NULL ? strtoll(text, NULL, 10) : 0;
    return ERR_OK;
}

enum err database_begin(struct database *db, bool *able)
{
    TRY(odbc_begin(db->odbc, able));
    for (size_t i = 0; *able && i < 2 && db->engine->begin[i] != NULL; i++)
        TRY(odbc_run(db->odbc, db->engine->begin[i]));
    return ERR_OK;
}

/* --- the source ------------------------------------------------------------------------------- */

/* Looks for the words ORDER BY; only the database knows where they belong. */
bool database_orders(const char *query)
{
    for (const char *p = query; (p = strcasestr(p, "order")) != NULL; p += 5) {
        const char *by = p + 5 + strspn(p + 5, " \t\r\n");
        if ((p == query || !isalnum((unsigned char)p[-1])) && by > p + 5 &&
            strncasecmp(by, "by", 2) == 0 && !isalnum((unsigned char)by[2]) && by[2] != '_')
            return true;
    }
    return false;
}

static enum err check_source(const struct database_source *s, struct log *log)
{
    if (s->ordered && (s->query == NULL || !database_orders(s->query)))
        return log_fail(log, ERR_USAGE,
                        s->rows != NULL ? "%s without dates follow each other as their rows come: "
                                          "give a SELECT with an ORDER BY"
                                        : "%s belongs to row i of the batch's other owners, so the "
                                          "rows need an order on which all of them agree: give "
                                          "--query with an ORDER BY",
                        s->rows != NULL ? s->rows : "row i");
    return ERR_OK;
}

/* The query without the semicolons and spaces at its end. */
static size_t query_length(const char *query)
{
    size_t n = strlen(query);
    while (n > 0 && (isspace((unsigned char)query[n - 1]) || query[n - 1] == ';'))
        n--;
    return n;
}

/*
 * SQLite's driver 0.99991 drops the line break that ends a comment, and so makes the next line a
 * part of it: each is there twice, also at the query's end.
 */
static void put_commented(struct bytes *sql, const char *query, size_t n)
{
    char quote = '\0';
    bool line = false, block = false;
    for (size_t i = 0; i < n; i++) {
        const char c = query[i], next = i + 1 < n ? query[i + 1] : '\0';
        bytes_put_u8(sql, (uint8_t)c);
        if (line && c == '\n')
            bytes_put_text(sql, "\n");
        if (line)
            line = c != '\n';
        else if (block)
            block = c != '*' || next != '/';
        else if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"' || c == '`')
            quote = c;
        else {
            line = c == '-' && next == '-';
            block = c == '/' && next == '*';
        }
    }
    bytes_put_text(sql, "\n");
}

static enum err put_from(struct database *db)
{
    const struct database_source *s = &db->source;
    if (s->table != NULL)
        text_put(&db->from, " FROM %s AS q", s->table);
    else {
        const size_t n = query_length(s->query);
        bytes_put_text(&db->from, " FROM (");
        if (db->engine->kind == ENGINE_SQLITE)
            put_commented(&db->from, s->query, n);
        else
            bytes_put(&db->from, s->query, n);
        bytes_put_text(&db->from, "\n) AS q"); /* ends a comment at the query's end */
    }
    bytes_put_u8(&db->from, 0);
    return bytes_ok(&db->from);
}

void database_put_from(const struct database *db, struct bytes *sql)
{
    bytes_put_text(sql, (const char *)db->from.data);
}

/* Whether the statement runs as given, not wrapped in another one. */
static bool runs_bare(const struct database *db)
{
    return db->engine->kind == ENGINE_OTHER ||
           (db->source.ordered && db->engine->kind != ENGINE_POSTGRESQL &&
            db->engine->kind != ENGINE_SQLITE);
}

static enum err run_bare(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    if (db->source.table != NULL)
        text_put(&sql, "SELECT * FROM %s", db->source.table);
    else
        bytes_put(&sql, db->source.query, query_length(db->source.query));
    return run_statement(db, &sql);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* As in headers, spaces around a name are not part of it. */
static bool is_name(const struct odbc_column *c, const char *name,
                    int (*compare)(const char *a, const char *b))
{
    char own[ODBC_NAME];
    size_t n = strlen(c->name);
    memcpy(own, c->name, n + 1);
    return compare(rows_trim(own, &n), name) == 0;
}

/* The column with this name, or else the single one that differs only in case. */
static size_t find_column(const struct database *db, const char *name)
{
    size_t found = SIZE_MAX, hits = 0;
    for (size_t i = 0; i < db->columns; i++)
        if (is_name(&db->column[i], name, strcmp))
            return i;
    for (size_t i = 0; i < db->columns; i++)
        if (is_name(&db->column[i], name, strcasecmp)) {
            found = i;
            hits++;
        }
    return hits == 1 ? found : SIZE_MAX;
}

static enum err describe(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    bytes_put_text(&sql, "SELECT q.*");
    database_put_from(db, &sql);
    bytes_put_text(&sql, " WHERE 1 = 0");
    TRY(runs_bare(db) ? run_bare(db) : run_statement(db, &sql));
    db->columns = odbc_columns(db->odbc);
    TRY(memory_new(&db->column, db->columns));
    for (size_t i = 0; i < db->columns; i++)
        TRY(odbc_column(db->odbc, i, &db->column[i]));
    for (size_t i = 0; i < db->columns && db->engine->kind == ENGINE_SQLITE; i++)
        if (db->column[i].type == ODBC_DATE) /* it is a text, whatever is declared */
            db->column[i].type = ODBC_TEXT;
    for (size_t a = 0; a < db->domain->attributes; a++)
        db->of[a] = find_column(db, db->domain->attribute[a].name);
    db->person = db->o.person != NULL ? find_column(db, db->o.person) : SIZE_MAX;
    for (size_t k = 0; db->o.key != NULL && k < db->o.key->columns; k++)
        db->of_key[k] = find_column(db, db->o.key->column[k]);
    return ERR_OK;
}

/* What the study calls the column, or its own name. */
static const char *known_as(const struct database *db, size_t column)
{
    if (column == db->person)
        return db->o.person;
    for (size_t a = 0; a < db->domain->attributes; a++)
        if (db->of[a] == column)
            return db->domain->attribute[a].name;
    for (size_t k = 0; db->o.key != NULL && k < db->o.key->columns; k++)
        if (db->of_key[k] == column)
            return db->o.key->column[k];
    return db->column[column].name;
}

static bool is_wanted(const struct database *db, size_t column)
{
    bool wanted = column == db->person;
    for (size_t a = 0; a < db->domain->attributes; a++)
        wanted |= db->of[a] == column;
    for (size_t k = 0; db->o.key != NULL && k < db->o.key->columns; k++)
        wanted |= db->of_key[k] == column;
    return wanted || database_reads(db, db->column[column].name) != NULL;
}

static enum err name_columns(const struct database *db, struct rows *rows)
{
    for (size_t i = 0; i < db->columns; i++) {
        char name[ODBC_NAME];
        snprintf(name, sizeof name, "%s", known_as(db, i));
        TRY(rows_column(rows, name, strlen(name)));
    }
    return rows_end(rows);
}

/* --- rows ------------------------------------------------------------------------------------- */

static size_t row_of(const void *database)
{
    return ((const struct database *)database)->row;
}

static struct rows_source source_of(const struct database *db)
{
    return (struct rows_source){.name = db->name,
                                .places = "rows",
                                .place = row_of,
                                .of = db,
                                .correct = db->source.table != NULL ? "the table" : "the query"};
}

enum err database_check_columns(struct database *db)
{
    struct rows_source source = source_of(db);
    struct table *none CLEAN(table_free) = NULL;
    struct rows *rows;
    TRY(rows_begin(&rows, db->domain, &db->o, &source, db->log));
    return rows_finish(&rows, name_columns(db, rows), &none);
}

static enum err select_texts(struct database *db)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    const char *before = "SELECT ";
    for (size_t i = 0; i < db->columns; i++) {
        struct bytes column CLEAN(bytes_clear) = {0};
        if (!is_wanted(db, i))
            continue;
        TRY(database_column(db, i, &column));
        bytes_put_text(&sql, before);
        engine_text(db->engine, &db->column[i], (const char *)column.data, &sql);
        before = ", ";
    }
    database_put_from(db, &sql);
    return database_select(db, &sql, true);
}

static enum err take_row(struct database *db, struct rows *rows)
{
    bool all = runs_bare(db);
    db->row++;
    for (size_t i = 0, at = 0; i < db->columns; i++) {
        char none[1] = "", date[COLUMN_TEXT], *text = NULL;
        size_t size = 0;
        bool wanted = is_wanted(db, i);
        if (wanted)
            TRY(odbc_field(db->odbc, at, &text, &size));
        at += all || wanted;
        if (text != NULL && db->column[i].type == ODBC_DATE)
            text = database_date(db, known_as(db, i), text, &size, date);
        TRY(rows_field(rows, text != NULL ? text : none, size));
    }
    return rows_end(rows);
}

static enum err take_rows(struct database *db, struct rows *rows)
{
    bool more;
    TRY(name_columns(db, rows));
    TRY(runs_bare(db) ? run_bare(db) : select_texts(db));
    TRY(database_next(db, &more));
    while (more) {
        TRY(take_row(db, rows));
        TRY(database_next(db, &more));
    }
    return ERR_OK;
}

/* Connects again, with the options that the engine needs to return rows one by one. */
static enum err reconnect(struct database *db)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    if (db->engine->options == NULL)
        return ERR_OK;
    bytes_put_text(&text, (const char *)db->connection.data);
    bytes_put_text(&text, db->engine->options);
    bytes_put_u8(&text, 0);
    TRY(bytes_ok(&text));
    odbc_close(&db->odbc);
    return odbc_connect(&db->odbc, (const char *)text.data, db->name, db->log);
}

enum err database_read(struct database *db, struct table **t)
{
    struct rows_source source = source_of(db);
    struct rows *rows;
    bool able;
    *t = NULL;
    db->row = 0;
    TRY(reconnect(db));
    if (db->engine->kind == ENGINE_POSTGRESQL) /* a cursor lives in a transaction */
        TRY(database_begin(db, &able));
    TRY(rows_begin(&rows, db->domain, &db->o, &source, db->log));
    return rows_finish(&rows, take_rows(db, rows), t);
}

/* --- opening ---------------------------------------------------------------------------------- */

void database_close(struct database **db)
{
    struct database *d = *db;
    if (d == NULL)
        return;
    odbc_close(&d->odbc);
    for (size_t a = 0; d->key != NULL && a < d->domain->attributes; a++)
        key_clear(&d->key[a]);
    memory_free(&d->key);
    memory_free(&d->misfit);
    memory_free(&d->column);
    memory_free(&d->of);
    bytes_clear(&d->connection);
    bytes_clear(&d->from);
    memory_free(db);
}

/* Its driver would create an empty file for a mistyped name, and wait 100 s for a lock. */
static enum err restrain_sqlite(struct bytes *connection)
{
    const char *driver = strcasestr((const char *)connection->data, "driver=");
    const char *name = driver != NULL ? strcasestr(driver, "sqlite") : NULL;
    if (name == NULL || name > driver + strcspn(driver, ";"))
        return ERR_OK;
    connection->size--; /* the NUL */
    bytes_put_text(connection, ";NoCreat=1;Timeout=5000");
    bytes_put_u8(connection, 0);
    return bytes_ok(connection);
}

static enum err start(struct database *db)
{
    const char *table = db->source.table;
    char shown[DATABASE_NAME - 16];
    TRY(check_source(&db->source, db->log));
    encoding_printable(table != NULL ? table : "", shown, sizeof shown);
    if (table == NULL && db->source.rows != NULL)
        encoding_printable(db->source.rows, shown, sizeof shown);
    snprintf(db->name, sizeof db->name, "%s%s",
             table != NULL             ? "table "
             : db->source.rows != NULL ? "the query of "
                                       : "the query",
             shown);
    TRY(connection_text(db->source.connection, &db->connection, db->log));
    TRY(restrain_sqlite(&db->connection));
    TRY(memory_new(&db->of, db->domain->attributes));
    TRY(memory_new(&db->misfit, db->domain->attributes));
    TRY(odbc_connect(&db->odbc, (const char *)db->connection.data, db->name, db->log));
    db->engine = engine_find(odbc_engine(db->odbc));
    TRY(put_from(db));
    return describe(db);
}

enum err database_open(struct database **out, const struct domain *d,
                       const struct database_source *source, const struct rows_options *options,
                       struct log *log)
{
    struct database *db CLEAN(database_close) = NULL;
    *out = NULL;
    TRY(memory_new(&db, 1));
    *db = (struct database){.domain = d, .source = *source, .o = *options, .log = log};
    db->o.decimal = 0; /* numbers as text have a point, whatever CSV files have */
    TRY(start(db));
    return memory_hand_over(out, &db);
}

const char *database_name(const struct database *db)
{
    return db->name;
}

bool database_counts(const struct database *db)
{
    return db->engine->kind != ENGINE_OTHER;
}
