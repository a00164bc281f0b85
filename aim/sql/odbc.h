/*
 * aim/sql/odbc.h - a connection to a database through ODBC, which runs one statement at a time.
 *
 * All text is UTF-8 in both directions, whatever the locale and the driver. A driver's message
 * about an error is logged after the connection's `name`, without control characters. A build
 * without unixODBC has no_odbc.c instead of odbc.c: odbc_connect() then says so.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>

#define ODBC_NAME 256
#define ODBC_FIELD_MAX (1 << 20) /* bytes */

struct odbc;

/* `text`: connection_text(). `name` says in messages what is read, and is borrowed. ERR_SYSTEM. */
enum err odbc_connect(struct odbc **o, const char *text, const char *name,
                      struct log *log) MUST_CHECK;
void odbc_close(struct odbc **o);

/* The driver's name for the engine, such as "PostgreSQL"; and the quote around names in its SQL. */
const char *odbc_engine(const struct odbc *o);
const char *odbc_quote(const struct odbc *o);

/*
 * From here on, statements are one transaction, which only odbc_close() ends. If *able is false,
 * the engine has no transactions.
 */
enum err odbc_begin(struct odbc *o, bool *able) MUST_CHECK;

/* Runs a statement; the one before ends. ERR_DATA if the database refuses it. */
enum err odbc_run(struct odbc *o, const char *sql) MUST_CHECK;

/* A date may have a time, but no zone: that is a text. */
enum odbc_type {
    ODBC_TEXT,
    ODBC_WHOLE,
    ODBC_DOUBLE,
    ODBC_SINGLE,
    ODBC_DECIMAL,
    ODBC_TRUTH,
    ODBC_DATE
};
struct odbc_column {
    char name[ODBC_NAME];
    enum odbc_type type;
    size_t digits; /* of ODBC_DECIMAL: all of them */
    int scale;     /* and those after the point */
};
/* The columns of the statement's result; none if it has no result. */
size_t odbc_columns(const struct odbc *o);
enum err odbc_column(struct odbc *o, size_t i, struct odbc_column *column) MUST_CHECK;

/* The next row. */
enum err odbc_next(struct odbc *o, bool *more) MUST_CHECK;
/*
 * Its field i, NUL-ended and `*size` bytes; NULL for SQL's NULL. Take fields in order. The text is
 * the caller's to change until the next field.
 */
enum err odbc_field(struct odbc *o, size_t i, char **text, size_t *size) MUST_CHECK;
