/*
 * mpc/circuits/below.h - [u < t] for bit-sliced u against public constants t, one constant for each
 * plane of results.
 *
 * Positions join in pairs into groups, starting from single ones. A group knows G = [u < t on it]
 * and L = [u <= t on it]:
 *
 *   G = G_high ^ (G_high ^ L_high) G_low        L = G_high ^ (G_high ^ L_high) L_low
 *
 * On a group where t has only zeros G is 0, and where it has only ones L is 1, so that a lower
 * group of that kind takes one product, not two. Positions below t's lowest one decide nothing and
 * are not looked at. Constants with few runs of equal digits cost about one AND a position, others
 * 1.3; a carry takes 1.9 for any.
 *
 * Exchanges: ceil(log2) of the most positions of any constant. LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define BELOW_BITS 64

/* Positions of a constant that are looked at: from its lowest one up to `width`. */
unsigned below_positions(uint64_t constant, unsigned width);
/* ANDs a lane. */
unsigned below_ands(uint64_t constant, unsigned width);

/*
 * Plane c of out = [u_c < constant[c]]; constants are below 2^width. `complement` holds the
 * complements of the positions that are looked at, for one constant after another, from the lowest
 * up.
 */
enum err below_constants(struct party *p, struct planes *out, const struct planes *complement,
                         unsigned width, const uint64_t *constant) MUST_CHECK;
