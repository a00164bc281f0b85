/*
 * aim/model/model_weigh.h - marginals of weighted rows: what a model says of the rows that meet
 * conditions.
 *
 * Each row counts by the product of weights, one for each of some attributes, and the counts of a
 * few others are asked for. Rows that stand in for a model are gone through one by one. Otherwise
 * cliques of the junction tree are summed onto the attributes that matter (aim/model/model_sums.h),
 * weighted, and reduced to codes that do not weigh 0. A marginal of them follows as any other does
 * (aim/model/model_marginal.c).
 */
#pragma once

#include "aim/model/model_sums.h"

/* The largest table: half a GiB. */
#define MODEL_WEIGH_CELLS (UINT64_C(1) << 26)

struct model_weight {
    uint16_t attribute;
    const double *of; /* each code: 0 to 1 */
};

/*
 * counts[cell of `asked`] = the expected number of rows, each counting by the weights, at most one
 * for each attribute. `asked` may be empty, and its attributes may have weights. ERR_RANGE, logged
 * with the number of cells, if a product would be too large.
 */
enum err model_weigh(struct model_sums *sums, const struct clique *asked,
                     const struct model_weight *weight, size_t weights, double *counts,
                     struct log *log) MUST_CHECK;
