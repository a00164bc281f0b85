/*
 * aim/evaluate.h - how far apart two tables are on the workload, and how well a model fits one.
 *
 * The error of a marginal is sum |p - q| over its cells, p and q being the shares of rows in the
 * cell: 0 if they agree, 2 if they never meet. The mean is over the workload's cliques as given.
 * Computed from real rows, neither is private.
 */
#ifndef TREFOIL_AIM_EVALUATE_H
#define TREFOIL_AIM_EVALUATE_H

#include "aim/model.h"
#include "aim/table/table.h"

/* `each` (may be NULL) has room for w->cliques errors. */
enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean) MUST_CHECK;

/*
 * Mean over the table's rows of -ln p(row) under the model: with rows that the model has not seen,
 * how well it describes the population. A row that the model holds impossible counts as
 * EVALUATE_IMPOSSIBLE and is counted in *impossible (may be NULL). An empty table gives 0.
 */
#define EVALUATE_IMPOSSIBLE 745.0 /* -ln of the least positive double */
enum err evaluate_likelihood(const struct model *m, const struct table *t, double *mean,
                             size_t *impossible) MUST_CHECK;

#endif
