/*
 * protocols/score.h - how badly the model fits each candidate: the L1 norm, or the squared L2 norm,
 * on shares.
 *
 * With integer counts 0 <= x_j < 2^l and public estimates c_j on a grid 1 / u, C_j = ceil(c_j),
 * s_j = [x_j < C_j]: sum |x_j - c_j| = sum (x_j - c_j) + 2 sum s_j (c_j - x_j). Only
 * integers are compared, so the sensitivity to one row is exactly 1 in the arithmetic that runs.
 * Everything except s_j and its products is local, in Z_2^64, where numbers are u times as large.
 * Scores that are compared have u = 2^10, scores that are opened the multiplier of their noise.
 *
 * Cost and exchanges: those of cached_distance() in mpc/circuits/cached.h. LEAKS: nothing.
 *
 * Squares, with the integers C_j nearest to c_j: sum (x_j - C_j)^2 = sum x_j^2 - 2 sum C_j x_j +
 * sum C_j^2. The first sum is kept (counts_finish_squares()), the others are linear in what is
 * shared: no message at all.
 */
#pragma once

#include "protocols/counts.h"

#define SCORE_BITS CACHED_GRID /* fraction bits of estimates and scores that are compared */
#define SCORE_UNIT ((uint64_t)1 << SCORE_BITS)

struct score_candidate {
    size_t query;
    const uint64_t *estimate; /* u c_j of each cell */
};

/*
 * out[k] = u times candidate k's norm. ERR_REFUSED, logged, for an estimate above 2^l or a
 * candidate whose estimates sum above 2^(l+1): these bounds keep the sums from wrapping.
 */
enum err score_l1(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates, uint64_t unit) MUST_CHECK;

/*
 * out[k] = candidate k's squared norm, an integer; local. Refusals as above. ERR_MISUSE without
 * squares.
 */
enum err score_l2(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates) MUST_CHECK;
