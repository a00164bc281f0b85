/*
 * mpc/compare.h - comparisons, their results as shared bits.
 *
 * LEAKS: nothing.
 */
#ifndef TREFOIL_MPC_COMPARE_H
#define TREFOIL_MPC_COMPARE_H

#include "mpc/adder.h"

/*
 * out = [x < c] for unsigned x, against public numbers c of the same width, bit-sliced like x.
 * 2(w-1) - ceil(log2 w) ANDs a lane, ceil(log2 w) rounds.
 */
enum err compare_public(struct party *p, struct bits out, const struct planes *x,
                        const uint64_t *c) MUST_CHECK;

/*
 * out = bit width-1 of x modulo 2^width: the sign of a difference that fits in `width` bits,
 * signed. Server j inputs the bits of u = x_j + x_(j+1); t = x_(j+2) is known to the two others.
 * width bits input, then 2(width-1) ANDs about; 2 + ceil(log2 (width-1)) rounds.
 */
enum err compare_top_bit(struct party *p, struct bits out, struct share64 x,
                         unsigned width) MUST_CHECK;

#endif
