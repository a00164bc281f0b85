/*
 * aim/sql/database.h - rows in a database, read from there or counted there.
 *
 * A database is opened for one domain. Reading gives what the same rows give as CSV. Counting gives
 * the cells of the marginals of that table, with one GROUP BY each; rows stay where they are:
 *
 *     database_open  database_snapshot  { database_count }  database_check
 *
 * Values are coded as rows.h says. Problems are reported as there, with the number of rows instead
 * of the row.
 */
#ifndef TREFOIL_AIM_SQL_DATABASE_H
#define TREFOIL_AIM_SQL_DATABASE_H

#include "aim/table/rows.h"

/* One of `table` and `query`. */
struct database_source {
    const char *connection; /* aim/sql/connection.h */
    const char *table;      /* as SQL has it, such as clinic.visits; quoted if it has to be */
    const char *query;      /* a SELECT */
    bool ordered;           /* the order of rows matters: only a query can set it */
    const char *rows;       /* NULL, or what the rows are, where another query gives others */
};

struct database;

/* The source's texts are borrowed. ERR_USAGE, ERR_SYSTEM, ERR_DATA, ERR_REFUSED; all logged. */
enum err database_open(struct database **db, const struct domain *d,
                       const struct database_source *source, const struct rows_options *options,
                       struct log *log) MUST_CHECK;
void database_close(struct database **db);

/* Whether a query has an ORDER BY. */
bool database_orders(const char *query);

/* What messages call it: "table visits", "the query". Valid while the source is. */
const char *database_name(const struct database *db);

/* Reads all rows, one after the other. */
enum err database_read(struct database *db, struct table **t) MUST_CHECK;

/* Whether enough is known of the engine to count there; if not, read. */
bool database_counts(const struct database *db);
/* From here on, all counts see one state of the data; warns if the engine cannot promise that. */
enum err database_snapshot(struct database *db) MUST_CHECK;
/*
 * The cells of a marginal, as tabulate_marginal() has them. database_check() reports values that do
 * not fit.
 */
enum err database_count(struct database *db, const uint16_t *attribute, unsigned n,
                        int64_t *cells) MUST_CHECK;
/*
 * To be called after all counts. Reports values that did not fit, and persons with too many rows;
 * ERR_DATA and ERR_RANGE as in rows_finish(). *rows: how many there are.
 */
enum err database_check(struct database *db, size_t *rows) MUST_CHECK;
/*
 * Puts the least and the largest number of each column of numbers into the options' moments, with
 * one query. database_check() adds to these what does not fit. Numbers that the database holds as
 * texts are left out.
 */
enum err database_extremes(struct database *db) MUST_CHECK;

#endif
