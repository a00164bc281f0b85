/*
 * mpc/circuits/leading.h - the leading one of a bit-sliced number, and the digits below it.
 *
 *   none_i   = AND over k >= i of the complements of digits k: prefixes from the top, Sklansky's
 *              tree
 *   place_i  = none_(i+1) ^ none_i: whether the leading one is at i
 *   digit j below it = XOR over i of place_i digit_(i-j), in two steps, with i = 8 a + b:
 *     group_a = XOR over b of place_i, within_b = XOR over a of place_i, of which one each is 1
 *     shifted_k = XOR over a of group_a digit_(8a+k),  digit j = XOR over b of within_b
 *     shifted_(b-j): a quarter of the products of one step
 *
 * LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define LEADING_WIDTH 128 /* most digits */
#define LEADING_GROUP 8

/*
 * Plane i of place = whether x's leading one is at i; plane x.width: whether x is 0.
 * ceil(log2 x.width) exchanges; 309 ANDs for 98 digits.
 */
enum err leading_places(struct party *p, struct planes *place, const struct planes *x) MUST_CHECK;

/*
 * out = the out.width digits that follow the leading one, the next one on top; zeros where x has no
 * more. 2 ANDs a digit and LEADING_GROUP - 1 more, 2 exchanges.
 */
enum err leading_digits(struct party *p, struct planes *out, const struct planes *place,
                        const struct planes *x) MUST_CHECK;

/* out = constant[i] modulo 2^out.width for the place i. Local. */
void leading_choose(struct planes *out, const struct planes *place, const uint64_t *constant);
