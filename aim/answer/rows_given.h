/*
 * aim/answer/rows_given.h - rows of a released model for which a condition holds, or of which some
 * columns are known.
 *
 * Each row is drawn by itself. The cases of a condition do not overlap, so a row's case is drawn by
 * the mass of the cases; the model's rows are then weighed by the share of each bin that the case
 * leaves (aim/model/given.h), and numbers come from that part. Columns that are tied to others
 * (aim/table/derive.h) are drawn with all their bins and then again, until their numbers fit: this
 * weighs a cell by the share of its solutions. A copula knows of no other way: its rows are drawn
 * until enough of them fit.
 *
 * The table keeps the numbers that are known or had to fit; who writes it draws the others.
 */
#pragma once

#include "aim/answer/released.h"

/*
 * 0 rows: as many as there are in the model. ERR_QUESTION, logged, for less than half of one. Of a
 * model with events: rows for series_draw_of(), on what is of persons.
 */
enum err rows_where(struct table **t, const struct released *r, const char *condition, size_t rows,
                    uint64_t seed, struct log *log) MUST_CHECK;

/*
 * Draws the codes of `known` that are ROWS_ANY; a number that it keeps stays. ERR_DATA, not logged:
 * row *never cannot occur. ERR_USAGE, logged, for a copula.
 */
enum err rows_complete(struct table **t, const struct released *r, const struct table *known,
                       uint64_t seed, size_t *never, struct log *log) MUST_CHECK;
