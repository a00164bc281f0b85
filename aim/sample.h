/*
 * aim/sample.h - synthetic rows from a model.
 *
 * Private-PGM's rounding method: attribute by attribute down the tree, the rows are grouped by
 * what is already set in the attribute's clique, and each group gets its conditional
 * distribution's expected counts rounded down; the rows left over go to different values, drawn by
 * the fractions that were cut off. So n rows are as close to the model as n rows can be, which
 * independent draws are not. The same seed gives the same rows.
 */
#ifndef TREFOIL_AIM_SAMPLE_H
#define TREFOIL_AIM_SAMPLE_H

#include "aim/model.h"
#include "aim/table.h"

/* The table borrows the model's domain, not the model. */
enum err sample_rows(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                     struct log *log) MUST_CHECK;

#endif
