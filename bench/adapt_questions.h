/*
 * bench/adapt_questions.h - questions of ADAPT's experiment (bench/adapt.h): ranges between values
 * of two rows, and what the rows answer.
 */
#pragma once

#include "aim/table/density.h"
#include "aim/table/table.h"
#include "base/random.h"

#include <stdbool.h>

#define ADAPT_RANGES_MAX 5
#define ADAPT_CODES_MAX 64 /* of a column */

enum { ADAPT_COUNT, ADAPT_SUM, ADAPT_AVG, ADAPT_VARIANCE, ADAPT_KINDS };

/* Of a column over the rows that meet a condition. */
struct adapt_moments {
    double rows, sum, squares;
};

struct adapt_question {
    char sql[512];
    double truth[ADAPT_KINDS], binned[ADAPT_KINDS]; /* as exact counts of bins would answer it */
};

struct adapt_rows {
    const struct table *table;
    const struct densities *inside; /* of these rows' bins */
};

void adapt_values(const struct adapt_moments *m, double value[ADAPT_KINDS]);
double adapt_error(double answer, double truth); /* relative */
/* A question of one range, or of several, whose answers say something in relative terms. */
void adapt_draw(const struct adapt_rows *a, struct random *r, bool several,
                struct adapt_question *q);
