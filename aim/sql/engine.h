/*
 * aim/sql/engine.h - what each database engine does in its own way.
 *
 * A value's text is what the engine itself writes to CSV: COPY of PostgreSQL, sqlite3 -csv. Texts
 * are told apart by their bytes, whatever a column's collation treats as equal.
 */
#pragma once

#include "aim/sql/odbc.h"
#include "base/bytes.h"

enum engine_kind {
    ENGINE_POSTGRESQL,
    ENGINE_SQLITE,
    ENGINE_MARIADB,
    ENGINE_BINARY, /* texts are equal where their bytes are: Spark, Trino, Impala, Snowflake .. */
    ENGINE_OTHER   /* unknown: rows are read, and counted here */
};

struct sql_engine {
    enum engine_kind kind;
    const char *name; /* as ODBC has it, or its beginning */
    const char *begin[2];
    const char *options; /* to connect with when rows are read, or NULL */
    const char *text;    /* the type that texts are cast to */
};

/* The engine of a name from odbc_engine(). */
const struct sql_engine *engine_find(const char *name);

/* How SQL refers to a column: q and its name in quotes. */
void engine_column(struct bytes *sql, const char *name, const char *quote);
/* The text of a column (`column` as engine_column() made it), for reading. */
void engine_text(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                 struct bytes *sql);
/* The same, for GROUP BY. */
void engine_group(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                  struct bytes *sql);
/* The same without spaces around it, and "" for NULL. */
void engine_trimmed(const struct sql_engine *e, const struct odbc_column *c, const char *column,
                    struct bytes *sql);
