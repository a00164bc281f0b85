/* aim/model/factor.h - tables of numbers over a scope: products, sums and quotients. */
#pragma once

#include "aim/workload/scope.h"

struct factor {
    struct scope scope;
    uint64_t cells;
    double *value;
};

enum err factor_new(struct factor *f, const struct scope *scope,
                    const struct domain *d) MUST_CHECK; /* zeros */
void factor_clear(struct factor *f);
/* out = the sum of `cells` over all attributes of `scope` that are not in `keep`. */
void factor_sum(const struct scope *scope, const double *cells, const struct scope *keep,
                const struct domain *d, double *out);
/*
 * f becomes f times g, summed onto the part of their scopes that is in `keep`; the product is never
 * held. Attributes of g alone that are not in `keep` are summed out of g.
 */
enum err factor_contract(struct factor *f, const struct factor *g, const struct scope *keep,
                         const struct domain *d) MUST_CHECK;
/* Divides each cell by that of `by`, whose scope is part of f's; 0 where that is 0. */
void factor_divide(struct factor *f, const struct factor *by, const struct domain *d);
/* f becomes p(rest | given): each cell divided by the sum of its `given`, or 0 where that is 0. */
enum err factor_condition(struct factor *f, const struct scope *given,
                          const struct domain *d) MUST_CHECK;
