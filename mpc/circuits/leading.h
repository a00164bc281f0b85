/*
 * mpc/circuits/leading.h - the leading one of a bit-sliced number, and the digits below it.
 *
 *   none_i   = AND over k >= i of the complements of digits k: prefixes from the top, Sklansky's
 *              tree
 *   place_i  = none_(i+1) ^ none_i: whether the leading one is at i
 *   digit j below it = XOR over i of place_i digit_(i-j): a sum of products, which costs one
 *
 * LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define LEADING_WIDTH 128 /* most digits */

/*
 * Plane i of place = whether x's leading one is at i; plane x.width: whether x is 0.
 * ceil(log2 x.width) exchanges; 309 ANDs for 98 digits.
 */
enum err leading_places(struct party *p, struct planes *place, const struct planes *x) MUST_CHECK;

/*
 * out = the out.width digits that follow the leading one, the next one on top; zeros where x has no
 * more. 1 AND a digit, 1 exchange.
 */
enum err leading_digits(struct party *p, struct planes *out, const struct planes *place,
                        const struct planes *x) MUST_CHECK;

/* out = constant[i] modulo 2^out.width for the place i. Local. */
void leading_choose(struct planes *out, const struct planes *place, const uint64_t *constant);
