/*
 * mpc/pair/distance.h - how far each candidate's estimates are from its counts: L1, shared.
 *
 * For counts x = p + k mod 2^64 (p at the provider, k at the keeper), a public unit u, and public
 * estimates c on the grid 1 / u: 0 <= x < 2^l, 0 <= u c <= u 2^l, B = l + ceil(log2 u) + 1.
 *   a cell   d = (u p - u c) + u k mod 2^B; s = its top bit; |d| = (d ^ s) + s
 *   a sum    a tree of adders in which nothing wraps; each takes one s as carry, one is left over
 *   D        the lesser of the sum and u `most`, so that no upload makes a score larger
 *   out      D + r mod 2^64, r fresh from the provider for each candidate
 * The keeper enters B - ctz(u) bits a cell, the provider B, and 64 for r. With u = 2^10 the ten
 * lowest bits are the provider's alone.
 *
 * WHO HOLDS WHAT: the provider gets -r, the keeper D + r: shares of D.
 * Between the messages either end holds 16 bytes for each of the keeper's bits.
 * COST in ANDs: B - ctz(u) - 1 and about B + 1 a cell; 2 W + 64 a candidate, W = B - 1 + ceil(log2
 * of the most cells of a candidate). Bytes: garbled.h.
 * LEAKS: nothing. Each output is uniform, because r is, and is used once.
 *
 * Whatever x is, x + 1 moves d by u on a circle of 2^B, and |d| by at most u: so does D.
 */
#pragma once

#include "mpc/pair/garbled.h"

struct pair_candidate {
    size_t cells;
    const uint64_t *share;    /* this end's, of each count */
    const uint64_t *estimate; /* u c of each; the keeper's end does not read them */
    uint64_t most; /* no sum of |x - c| of counts and estimates within bounds is larger */
};

struct pair_distance {
    const struct pair_candidate *candidate;
    size_t candidates;
    unsigned bits; /* l */
    uint64_t unit; /* u */
    uint64_t *out; /* this end's share of each D */
};

/*
 * All arrays are borrowed until the run is freed. `out` is complete once the tables have passed.
 * ERR_RANGE: u 2^l or u `most` is 2^63 or more, or there is nothing to sum.
 */
enum err pair_distance_new(struct pair_run **run, struct pair *pair,
                           const struct pair_distance *distance) MUST_CHECK;
