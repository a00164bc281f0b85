/*
 * mpc/circuits/compare.h - the sign of a shared number, as a shared bit.
 *
 * LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/adder.h"

/*
 * out = bit width-1 of x modulo 2^width: the sign of a difference that fits in `width` bits,
 * signed. Server j knows u = x_j + x_(j+1), the two others t = x_(j+2), and the top bit of u + t
 * follows from the carry out of their digits and both top bits: move_carries(), then a tree over
 * the digits.
 *
 * Up to 8192 lanes there are 8 digits of up to 6 bits, where that is enough, else 16 of up to 4.
 * With D digits, of N values each: 2 (N - 1) + 4 bits a digit over all servers, and a tree's 2(D-1)
 * - ceil(log2 D) ANDs; 1 + ceil(log2 D) exchanges. At width 46 that is 14.3 bytes a lane and
 * server, or 36.7 where there are few lanes; at 64 it is 25.3.
 *
 * Under a check (mpc/check/check.h) the same is sent. Above 8192 lanes up to 250 bytes a lane go
 * into its log, and up to 450 above width 49, where a relation has 15 products.
 */
enum err compare_top_bit(struct party *p, struct bits out, struct share64 x,
                         unsigned width) MUST_CHECK;
