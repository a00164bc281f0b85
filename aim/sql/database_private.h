/* aim/sql/database_private.h - what reading, counting and checking share. */
#pragma once

#include "aim/sql/database.h"
#include "aim/sql/engine.h"
#include "aim/sql/keys.h"

#define DATABASE_NAME 128

struct derive;

struct database {
    const struct domain *domain;
    struct database_source source;
    struct rows_options o;
    struct log *log;
    char name[DATABASE_NAME];
    struct bytes connection;
    struct odbc *odbc;
    const struct sql_engine *engine;
    struct bytes from; /* "FROM .." with the rows as q; NUL-ended */

    size_t columns; /* of the source */
    struct odbc_column *column;
    size_t *of; /* attribute -> column */
    size_t person;
    size_t of_key[PERSON_COLUMNS_MAX]; /* column of the key's rule -> column */

    struct key *key; /* of each attribute, when counting */
    bool *misfit;    /* an attribute has values that do not fit */
    bool counted;
    size_t rows;
    size_t row;     /* the current one, when reading */
    bool cursor;    /* the statement's result comes through a cursor */
    size_t fetched; /* its rows that are at hand */
};

/* The column of this name that is read for others alone, or NULL (aim/sql/reads.c). */
const struct derive *database_reads(const struct database *db, const char *name);
/* The text of a date as the study writes those of the column that it calls so. */
char *database_date(const struct database *db, const char *name, char *text, size_t *size,
                    char room[COLUMN_TEXT]);

/* Runs a SELECT; the rows of a long result come piece by piece where the engine can. */
enum err database_select(struct database *db, struct bytes *sql, bool long_result) MUST_CHECK;
enum err database_next(struct database *db, bool *more) MUST_CHECK;
/* A field of the current row that is a whole number; 0 for NULL. */
enum err database_integer(struct database *db, size_t field, int64_t *n) MUST_CHECK;
/* Whether the columns are those of the domain, as reading rows would find. */
enum err database_check_columns(struct database *db) MUST_CHECK;
/* Begins one transaction that only reads, if the engine is able. */
enum err database_begin(struct database *db, bool *able) MUST_CHECK;
/* " FROM .." with the source's rows as q. */
void database_put_from(const struct database *db, struct bytes *sql);
/* The column of this number as SQL, NUL-ended. */
enum err database_column(const struct database *db, size_t column, struct bytes *sql) MUST_CHECK;
