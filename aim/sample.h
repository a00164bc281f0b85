/*
 * aim/sample.h - synthetic rows from a model.
 *
 * Both ways go attribute by attribute down the tree: the rows are grouped by what is already set in
 * the attribute's clique, and each group gets the attribute's conditional distribution.
 *
 * sample_rows(), Private-PGM's rounding method: a group's expected counts are rounded down, and the
 * rows left over go to different values, each met with the fraction that was cut off (exactly so,
 * which drawing without replacement would not be). So n rows are as close to the model as n rows
 * can be, and any few of many tables are unbiased.
 *
 * sample_independent(): each row is drawn by itself, as if it were one more person. Frequencies then
 * scatter as those of a real sample do.
 *
 * The same seed gives the same rows.
 */
#ifndef TREFOIL_AIM_SAMPLE_H
#define TREFOIL_AIM_SAMPLE_H

#include "aim/model.h"
#include "aim/table/table.h"

/* The table borrows the model's domain, not the model. */
enum err sample_rows(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                     struct log *log) MUST_CHECK;
enum err sample_independent(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                            struct log *log) MUST_CHECK;

#endif
