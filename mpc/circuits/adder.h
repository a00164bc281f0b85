/*
 * mpc/circuits/adder.h - sums and carries of bit-sliced numbers by parallel prefix.
 *
 * Position i generates a carry (g = x & y) or propagates one (p = x ^ y); two neighbouring groups
 * combine as (g, p)_high o (g, p)_low = (g_high ^ p_high g_low, p_high p_low). Costs, for width w:
 * one exchange for g, then ceil(log2 w) exchanges. LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/bits.h"

/* out = x + y + carry_in modulo 2^width, all of the same width and length; carry_in is public. */
enum err adder_add(struct party *p, struct planes out, const struct planes *x,
                   const struct planes *y, bool carry_in) MUST_CHECK;

/*
 * sum + carry = x + y + z modulo 2^width, one exchange, one AND a bit. Outputs must not be inputs.
 */
enum err adder_save(struct party *p, struct planes *sum, struct planes *carry,
                    const struct planes *x, const struct planes *y,
                    const struct planes *z) MUST_CHECK;

/*
 * out = the generate bit of all of g, p (plane 0 lowest), which are destroyed: the carry out of
 * that many positions. 2(w-1) - ceil(log2 w) ANDs, ceil(log2 w) exchanges.
 */
enum err adder_carry(struct party *p, struct bits out, struct planes *g,
                     struct planes *propagate) MUST_CHECK;
