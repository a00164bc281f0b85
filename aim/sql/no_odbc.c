/* Replaces odbc.c where unixODBC is absent. Nothing connects, so nothing else is ever called. */
#include "aim/sql/odbc.h"

enum err odbc_connect(struct odbc **o, const char *text, const char *name, struct log *log)
{
    (void)text;
    *o = NULL;
    return log_fail(log, ERR_SYSTEM,
                    "%s: this build of trefoil has no SQL; install unixODBC (on Debian: apt-get "
                    "install unixodbc-dev, and your database's ODBC driver) and build it again, or "
                    "have the database write CSV, which trefoil reads from standard input as -",
                    name);
}

void odbc_close(struct odbc **o)
{
    *o = NULL;
}

const char *odbc_engine(const struct odbc *o)
{
    (void)o;
    return "";
}

const char *odbc_quote(const struct odbc *o)
{
    (void)o;
    return "";
}

enum err odbc_begin(struct odbc *o, bool *able)
{
    (void)o;
    *able = false;
    return ERR_MISUSE;
}

enum err odbc_run(struct odbc *o, const char *sql)
{
    (void)o;
    (void)sql;
    return ERR_MISUSE;
}

size_t odbc_columns(const struct odbc *o)
{
    (void)o;
    return 0;
}

enum err odbc_column(struct odbc *o, size_t i, struct odbc_column *column)
{
    (void)o;
    (void)i;
    (void)column;
    return ERR_MISUSE;
}

enum err odbc_next(struct odbc *o, bool *more)
{
    (void)o;
    *more = false;
    return ERR_MISUSE;
}

enum err odbc_field(struct odbc *o, size_t i, char **text, size_t *size)
{
    (void)o;
    (void)i;
    *text = NULL;
    *size = 0;
    return ERR_MISUSE;
}
