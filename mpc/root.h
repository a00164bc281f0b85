/*
 * mpc/root.h - the integer square root of a bit-sliced number: exact, floor(sqrt(x)).
 *
 * Non-restoring digit recurrence, most significant pair first: with remainder r and root q,
 *   r' = 4r + pair + (r >= 0 ? -(4q + 1) : 4q + 3),     q' = 2q + [r' >= 0].
 * The addend's bits are q's XORed with the sign, so each of the out.width steps is one adder.
 * Cost for w result bits: w adders of widths 3 .. w + 2. LEAKS: nothing.
 */
#ifndef TREFOIL_MPC_ROOT_H
#define TREFOIL_MPC_ROOT_H

#include "mpc/adder.h"

/* x.width = 2 * out.width. */
enum err root_floor(struct party *p, struct planes *out, const struct planes *x) MUST_CHECK;

#endif
