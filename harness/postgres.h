/* harness/postgres.h - a PostgreSQL of the test's own, in a temporary folder, as nobody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct support_postgres {
    char folder[64]; /* of the data and the socket */
    char bin[256];   /* of its programs */
    pid_t pid;
};

/* Starts it; false, with a message, where it is not installed. It ends with this process. */
bool support_postgres_start(struct support_postgres *p);
void support_postgres_stop(struct support_postgres *p);

/* Whether a file of SQL runs without an error, and a SELECT is written to a file as CSV. */
bool support_postgres_run(const struct support_postgres *p, const char *path);
bool support_postgres_csv(const struct support_postgres *p, const char *select, const char *path);

/* For ODBC. */
void support_postgres_connection(const struct support_postgres *p, char *text, size_t size);

/* Whether ODBC has the driver, and trefoil has SQL; says what is missing. */
bool support_odbc(const char *driver);
