#include "aim/sql/engine.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

static const struct sql_engine engines[] = {
    {.kind = ENGINE_POSTGRESQL,
     .name = "PostgreSQL",
     .begin = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
               "SET LOCAL DateStyle = 'ISO'"},
     .text = "text"},
    /* the driver holds the whole result in memory unless told to step */
    {.kind = ENGINE_SQLITE, .name = "SQLite", .options = ";StepAPI=1", .text = "TEXT"},
    {.kind = ENGINE_MARIADB,
     .name = "MariaDB",
     .begin = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
               "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
     .text = "CHAR"},
    {.kind = ENGINE_MARIADB,
     .name = "MySQL",
     .begin = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
               "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
     .text = "CHAR"},
    {.kind = ENGINE_BINARY, .name = "Spark", .text = "STRING"},
    {.kind = ENGINE_BINARY, .name = "Hive", .text = "STRING"},
    {.kind = ENGINE_BINARY, .name = "Impala", .text = "STRING"},
    {.kind = ENGINE_BINARY, .name = "Trino", .text = "VARCHAR"},
    {.kind = ENGINE_BINARY, .name = "Presto", .text = "VARCHAR"},
    {.kind = ENGINE_BINARY, .name = "Snowflake", .text = "VARCHAR"},
    {.kind = ENGINE_BINARY, .name = "DuckDB", .text = "VARCHAR"},
    {.kind = ENGINE_OTHER, .name = ""},
};

const struct sql_engine *engine_find(const char *name)
{
    const struct sql_engine *e = engines;
    while (strncasecmp(e->name, name, strlen(e->name)) != 0)
        e++;
    return e;
}

void engine_column(struct bytes *sql, const char *name, const char *quote)
{
    text_put(sql, "q.%s", quote);
    for (; *name != '\0'; name++) {
        bytes_put(sql, name, 1);
        if (*name == *quote)
            bytes_put(sql, name, 1);
    }
    bytes_put_text(sql, quote);
}

void engine_text(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                 struct bytes *sql)
{
    switch (e->kind) {
    case ENGINE_POSTGRESQL:
        if (c->type == ODBC_TRUTH) /* as COPY writes them; a cast would give true and false */
            text_put(sql, "CASE %s WHEN true THEN 't' WHEN false THEN 'f' END", column);
        else
            text_put(sql, "CAST(%s AS text)", column);
        break;
    case ENGINE_SQLITE:
    case ENGINE_BINARY:
        text_put(sql, "CAST(%s AS %s)", column, e->text);
        break;
    case ENGINE_MARIADB:
        text_put(sql, "CONVERT(%s USING utf8mb4)", column);
        break;
    case ENGINE_OTHER:
        bytes_put_text(sql, column);
        break;
    }
}

void engine_group(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                  struct bytes *sql)
{
    bytes_put_text(sql, "(");
    engine_text(e, c, column, sql);
    switch (e->kind) {
    case ENGINE_POSTGRESQL:
        bytes_put_text(sql, ") COLLATE \"C\"");
        break;
    case ENGINE_SQLITE:
        bytes_put_text(sql, ") COLLATE BINARY");
        break;
    case ENGINE_MARIADB: /* ignores spaces at the end, which are taken off anyway */
        bytes_put_text(sql, ") COLLATE utf8mb4_bin");
        break;
    case ENGINE_BINARY:
    case ENGINE_OTHER:
        bytes_put_text(sql, ")");
        break;
    }
}

void engine_trimmed(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                    struct bytes *sql)
{
    bytes_put_text(sql, "COALESCE(");
    switch (e->kind) {
    case ENGINE_POSTGRESQL:
        bytes_put_text(sql, "btrim(");
        engine_group(e, c, column, sql);
        bytes_put_text(sql, ", E' \\t')");
        break;
    case ENGINE_SQLITE:
        bytes_put_text(sql, "trim(");
        engine_group(e, c, column, sql);
        bytes_put_text(sql, ", ' ' || char(9))");
        break;
    case ENGINE_MARIADB:
    case ENGINE_BINARY:
    case ENGINE_OTHER:
        bytes_put_text(sql, "TRIM(");
        engine_group(e, c, column, sql);
        bytes_put_text(sql, ")");
        break;
    }
    bytes_put_text(sql, ", '')");
}
