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
 * out = bit width-1 of x modulo 2^width: the sign of a difference that fits in `width` bits, signed. Server j knows u =
 * x_j + x_(j+1), the two others t = x_(j+2). What a carry needs of positions 2k and 2k + 1 is a sum of products of what
 * one side knows with what the other does, u_2k u_(2k+1) among it:
 *
 *   G = u1 t1 ^ (u1 u0) t0 ^ u0 (t1 t0)        P = (u1 u0) ^ u1 t0 ^ u0 t1 ^ (t1 t0)
 *
 * So one layer does what two would. With k = ceil((w-1)/2) such groups: w + floor((w-1)/2) bits input over all, 2k - 1 ANDs
 * and a carry's 2(k-1) - ceil(log2 k) a lane, one less where w is even; 2 + ceil(log2 k) rounds.
 */
enum err compare_top_bit(struct party *p, struct bits out, struct share64 x,
                         unsigned width) MUST_CHECK;

/*
 * out = [x < y] for shared bits of the same width, unsigned. w + 2(w-1) - ceil(log2 w) ANDs a lane,
 * 1 + ceil(log2 w) rounds.
 */
enum err compare_planes(struct party *p, struct bits out, const struct planes *x,
                        const struct planes *y) MUST_CHECK;

/*
 * out = [x < y] for shared numbers whose difference fits in `width` bits, signed: its top bit, at
 * the cost of compare_top_bit(). Lower words of a sum do not depend on higher ones, so the narrow
 * rings are extended with zeros for it.
 */
enum err compare_less16(struct party *p, struct bits out, struct share16 x, struct share16 y,
                        unsigned width) MUST_CHECK;
enum err compare_less32(struct party *p, struct bits out, struct share32 x, struct share32 y,
                        unsigned width) MUST_CHECK;
enum err compare_less64(struct party *p, struct bits out, struct share64 x, struct share64 y,
                        unsigned width) MUST_CHECK;

#endif
