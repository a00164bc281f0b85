/* aim/model/measurement.h - the noisy counts of a marginal, which a model is fitted to. */
#pragma once

#include "aim/workload/merge.h"

struct measurement {
    struct clique clique;
    double sigma;
    double *y; /* noisy counts, row-major */
    /* NULL, or y is over merged cells, not the domain's; the model has the same. Borrowed. */
    const struct merges *merges;
    /*
     * 0 or, where people have joined since, the noisy number of rows of the population that was
     * measured: y and sigma are then scaled by the model's total / total.
     */
    double total;
};

static inline uint64_t measurement_cells(const struct measurement *x, const struct domain *d)
{
    return x->merges != NULL ? merges_cells(x->merges, &x->clique) : clique_cells(&x->clique, d);
}

/* The sum of its counts. */
static inline double measurement_sum(const struct measurement *x, const struct domain *d)
{
    double sum = 0;
    for (uint64_t i = measurement_cells(x, d); i-- > 0;)
        sum += x->y[i];
    return sum;
}
