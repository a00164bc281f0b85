/*
 * bench/data_sql.h - counting where the rows are, in a PostgreSQL of the bench's own: against the
 * same GROUP BYs typed by hand, and against reading the rows.
 */
#ifndef TREFOIL_BENCH_DATA_SQL_H
#define TREFOIL_BENCH_DATA_SQL_H

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints what it finds, and writes it to `json`, unless NULL, as members that follow others. Where
 * PostgreSQL or its driver is absent that is said, and no members are written.
 */
enum err data_sql(bool smoke, FILE *json, struct log *log) MUST_CHECK;

#endif
