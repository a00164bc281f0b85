/*
 * mpc/circuits/order.h - which of two bit-sliced numbers is larger, and whether they are equal.
 *
 * Positions join in pairs into groups, starting from single ones. A group knows V = the bit of x in
 * its highest position where x and y differ, and E = [x = y on it]:
 *
 *   V = V_high ^ E_high (V_high ^ V_low)        E = E_high E_low
 *
 * A single position has them for free: its bit of x, and 1 ^ x ^ y. Below all of them is one more
 * with V = 0, so that of equal numbers neither is larger; the lowest group's E is not needed. A
 * carry would take half as many ANDs again. LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/bits.h"

/*
 * out = [x > y], unsigned; `differ` is x ^ y. For w planes 2 w - ceil(log2(w + 1)) ANDs,
 * ceil(log2(w + 1)) exchanges.
 */
enum err order_above(struct party *p, struct bits out, const struct planes *x,
                     const struct planes *differ) MUST_CHECK;

/* out = [x = y], destroying `differ` = x ^ y: w - 1 ANDs, ceil(log2 w) exchanges. */
enum err order_equal(struct party *p, struct bits out, struct planes *differ) MUST_CHECK;
