/*
 * aim/model/sample.h - synthetic rows from a model.
 *
 * sample_rows() goes down the tree attribute by attribute: rows are grouped by what is already set
 * in the attribute's clique, and each group gets the attribute's conditional distribution. It
 * rounds, as Private-PGM does: a group's expected counts are rounded down, and the rows left over
 * go to different values, each with a probability of exactly the fraction that was cut off. So n
 * rows are as close to the model as n rows can be, and unbiased.
 *
 * sample_independent() draws each row by itself, as if it were one more person, so frequencies
 * scatter as in a real sample. These are rows of which nothing is known (aim/model/given.h).
 *
 * The same seed gives the same rows.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/table.h"

/* The table borrows the model's domain, not the model. */
enum err sample_rows(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                     struct log *log) MUST_CHECK;
enum err sample_independent(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                            struct log *log) MUST_CHECK;
