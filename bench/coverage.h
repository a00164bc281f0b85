/*
 * bench/coverage.h - how often intervals of answers hold the truth, and how wide they are, on
 * tables that are drawn.
 *
 * A table has 8 columns, of labels and of whole numbers, with 3 to 80 values, common ones and rare
 * ones, and 1000 to 16,000 rows. Columns follow one of two hidden causes, some of them closely,
 * some hardly. A run at epsilon 1 over all pairs or triples is annealed, of fixed rounds or in
 * sweeps, by turns. Questions are drawn as well: COUNT, SUM, AVG, MEDIAN and VARIANCE, with
 * conditions. Each is of the kind that its columns are of in this run:
 *
 *   together      one measured marginal holds them; of these are COUNTs of less than 30 rows:
 *   near_nothing
 *   joined        measured marginals link them
 *   independent   some of them are linked to no other
 *
 * The JSON has of each kind _items, _coverage and _width, the median of half the intervals' lengths
 * as shares of the truth, and _coverage_refits and _width_refits: those of the same answers where
 * counts are not looked at.
 *
 * The same seed gives the same figures.
 */
#pragma once

#include "base/log.h"

#include <jansson.h>

/* Prints coverage and widths by kind, and puts them into `out`. */
enum err coverage_measure(json_t *out, unsigned tables, unsigned questions,
                          struct log *log) MUST_CHECK;
