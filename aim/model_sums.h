/*
 * aim/model_sums.h - a model that is asked often: sums of its cliques' tables, kept once made.
 *
 * Many questions are about the same few columns. What a clique of the junction tree says of them is
 * summed from its largest table once, or from a smaller one that is kept already.
 *
 * A model that has no such tables, a copula, is asked by rows that are drawn from it.
 */
#ifndef TREFOIL_AIM_MODEL_SUMS_H
#define TREFOIL_AIM_MODEL_SUMS_H

#include "aim/model.h"
#include "aim/table/table.h"

struct model_sums;

/* Of a model that stays as it is; borrowed. */
enum err model_sums_new(struct model_sums **s, const struct model *m) MUST_CHECK;
/* Of rows that stand for `total` others; the table is taken over, and freed with it. */
enum err model_sums_drawn(struct model_sums **s, struct table **drawn, double total) MUST_CHECK;
void model_sums_free(struct model_sums **s);

const struct model *model_sums_of(const struct model_sums *s);   /* or NULL */
const struct table *model_sums_rows(const struct model_sums *s); /* or NULL */
double model_sums_total(const struct model_sums *s);

/* Probabilities of a tree clique's cells, summed onto a part of it; valid until the next call. */
enum err model_sums_get(struct model_sums *s, size_t clique, const struct scope *part,
                        const double **cells) MUST_CHECK;

#endif
