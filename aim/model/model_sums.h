/*
 * aim/model/model_sums.h - a model that is asked often: sums of its cliques' tables are kept once
 * made.
 *
 * Many questions are about the same few columns. What a clique of the junction tree says of them is
 * summed once, from its largest table or from a smaller one that is kept already.
 *
 * A copula has no such tables. It is asked through rows that are drawn from it.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/table.h"

struct model_sums;

/* For a model that stays as it is; borrowed. */
enum err model_sums_new(struct model_sums **s, const struct model *m) MUST_CHECK;
/* For rows that stand for `total` others. It takes over the table and frees it at the end. */
enum err model_sums_drawn(struct model_sums **s, struct table **drawn, double total) MUST_CHECK;
void model_sums_free(struct model_sums **s);

const struct model *model_sums_of(const struct model_sums *s);   /* or NULL */
const struct table *model_sums_rows(const struct model_sums *s); /* or NULL */
double model_sums_total(const struct model_sums *s);

/* Probabilities of a tree clique's cells, summed onto a part of it; valid until the next call. */
enum err model_sums_get(struct model_sums *s, size_t clique, const struct scope *part,
                        const double **cells) MUST_CHECK;
