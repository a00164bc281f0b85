/*
 * mpc/compare.h - the sign of a shared number, as a shared bit.
 *
 * LEAKS: nothing.
 */
#ifndef TREFOIL_MPC_COMPARE_H
#define TREFOIL_MPC_COMPARE_H

#include "mpc/adder.h"

/*
 * out = bit width-1 of x modulo 2^width: the sign of a difference that fits in `width` bits,
 * signed. Server j knows u = x_j + x_(j+1), the two others t = x_(j+2). What a carry needs of
 * positions 2k and 2k + 1 is a sum of products of what one side knows with what the other does,
 * u_2k u_(2k+1) among it:
 *
 *   G = u1 t1 ^ (u1 u0) t0 ^ u0 (t1 t0)        P = (u1 u0) ^ u1 t0 ^ u0 t1 ^ (t1 t0)
 *
 * So one layer does what two would. With k = floor(width/2) groups, of which the last may be a
 * single position: w + floor((w-1)/2) bits input over all, 2k - 1 ANDs and a carry's 2(k-1) -
 * ceil(log2 k) a lane, one less where w is even; 2 + ceil(log2 k) rounds.
 */
enum err compare_top_bit(struct party *p, struct bits out, struct share64 x,
                         unsigned width) MUST_CHECK;

#endif
