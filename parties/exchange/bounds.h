/*
 * parties/exchange/bounds.h - how large counts can be, whatever owners send: so sums do not wrap,
 * and no round of a run is refused because of its scores.
 *
 * An owner of counts bounds cells, not totals: each cell of a maximal marginal is at most 2^b - 1,
 * and a marginal below it sums several of its cells. A batch of records bounds totals: pad_to in
 * each marginal, however many owners hold its columns. Scores grow with these bounds and with the
 * codes that a run merges (aim/workload/merge.h): merges that would need more than counts.room are
 * refused. All these numbers are public and come from the study.
 */
#pragma once

#include "parties/study/study.h"

struct bounds {
    unsigned cell_bits; /* the sum of the owners' cells of maximal marginals is below 2^this */
    struct score_bounds counts; /* of every marginal of the closure; `total` is owned here */
};

/* ERR_RANGE, logged with what to change, if a bound is more than the arithmetic can hold. */
enum err bounds_new(struct bounds **bounds, const struct study *study, struct log *log) MUST_CHECK;
void bounds_free(struct bounds **bounds);
