/*
 * bench/data_sql.h - counting where the rows are, in a PostgreSQL of the bench's own: against the
 * same GROUP BYs typed by hand, and against reading the rows.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Prints what it finds, and adds it to `out`. If PostgreSQL or its driver is absent, says so and
 * adds nothing.
 */
enum err data_sql(bool smoke, json_t *out, struct log *log) MUST_CHECK;
