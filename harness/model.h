/*
 * harness/model.h - what only tests and measurements ask of a model.
 *
 * mirror_fit() is the reference's mirror descent, an oracle for model_fit(): theta moves by -step
 * dL(mu). The step starts at 1 / total^2, each iteration tries twice the last accepted one, and
 * halves it (25 times at most) until the loss falls by at least step/2 <dL, mu_old - mu_new>: about
 * two belief propagations an iteration.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/table.h"
#include "aim/workload/workload.h"

/* A model without structural zeros. */
enum err model_plain(struct model **m, const struct domain *d, const struct clique *cliques,
                     size_t count, uint64_t limit_cells, struct log *log) MUST_CHECK;
/* Another limit for model_marginal() than the model was made with. */
void model_set_limit(struct model *m, uint64_t limit_cells);

/* The mean over the workload's cliques of sum |p - q|, p the model's shares, q the table's. */
enum err model_error(const struct model *m, const struct workload *w, const struct table *t,
                     double *mean, struct log *log) MUST_CHECK;

/* As model_fit(). Every clique is one of the model's. */
enum err mirror_fit(struct model *m, const struct measurement *measurements, size_t count,
                    unsigned iterations, struct model_fitted *result) MUST_CHECK;
