/*
 * aim/answer/evaluate.h - how far apart two tables are, and how well a model fits one.
 *
 * The error of a marginal is sum |p - q| over its cells, where p and q are the shares of rows in
 * the cell: 0 if they agree, 2 if they never meet. The mean is over the workload's cliques as
 * given. Computed from real rows, neither is private.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/density.h"
#include "aim/table/table.h"

/* `each` (may be NULL) has room for w->cliques errors. */
enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean) MUST_CHECK;

/*
 * Mean over the table's rows of -ln p(row) under the model. With rows that the model has not seen,
 * it says how well the model describes the population. A row that the model considers impossible
 * adds EVALUATE_IMPOSSIBLE and is counted in *impossible (may be NULL). An empty table gives 0.
 */
#define EVALUATE_IMPOSSIBLE 745.0 /* -ln of the least positive double */
enum err evaluate_likelihood(const struct model *m, const struct table *t, double *mean,
                             size_t *impossible) MUST_CHECK;

/* ln p(row) of each, which may be -INFINITY. */
enum err evaluate_rows(const struct model *m, const struct table *t, double *each) MUST_CHECK;

/* The mean for independent columns, with each code's share in the table itself. */
enum err evaluate_alone(const struct table *t, double *mean) MUST_CHECK;

/*
 * What numbers add: the mean over rows of the logarithm of the density inside bins, of all columns
 * of numbers together, each in units of its standard deviation in the table. Subtracting the mean
 * of -ln p(row) gives the mean log-likelihood of rows as they are written. A number with a bin of
 * its own and no step adds nothing, and neither does a missing one. The table must have kept its
 * numbers.
 */
double evaluate_inside(const struct table *t, const struct densities *inside);
/* Densities from the counts of the table itself. */
enum err evaluate_densities(const struct table *t, struct densities *inside) MUST_CHECK;

/* --- numbers as they were written, of tables that kept them ----------------------------------- */

/* Over the rows that have the column; NAN if there are none. */
struct evaluate_column {
    double mean, deviation;
};
struct evaluate_column evaluate_column(const struct table *t, uint16_t attribute);
/* Over the rows that have both; NAN if one does not vary. */
double evaluate_correlation(const struct table *t, uint16_t a, uint16_t b);

/* --- tables to compare with ------------------------------------------------------------------- */

/*
 * Draws rows from a table with replacement, which are as near to it as another sample of the
 * population may be. Or draws each column by itself: what is left if columns are unrelated.
 */
enum evaluate_draw { EVALUATE_ROWS, EVALUATE_COLUMNS };
enum err evaluate_draw(struct table **out, const struct table *t, enum evaluate_draw what,
                       size_t rows, uint64_t seed) MUST_CHECK;
