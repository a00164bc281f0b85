/*
 * aim/evaluate.h - how far two tables, or a model and a table, are apart on the workload.
 *
 * The error of a marginal is sum |p - q| over its cells, p and q being the shares of rows in the
 * cell: 0 if they agree, 2 if they never meet. The mean is over the workload's cliques as given.
 * Computed from real rows, it is not private.
 */
#ifndef TREFOIL_AIM_EVALUATE_H
#define TREFOIL_AIM_EVALUATE_H

#include "aim/model.h"
#include "aim/table.h"

/* `each` (may be NULL) has room for w->cliques errors. */
enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean) MUST_CHECK;
enum err evaluate_model(const struct workload *w, const struct model *m, const struct table *t,
                        double *each, double *mean, struct log *log) MUST_CHECK;

#endif
