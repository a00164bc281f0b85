/*
 * protocols/train_gradient.h - the gradient of a linear classifier, summed over shared rows
 * (protocols/train_rows.h), for public weights w:
 *
 *   z_k  = z0 + sum of w_kf u_f               mod 2^16, signed; z0 = 512 if K = 2, else 128
 *   p_k  = clamp(floor(z_k / 2^5), 0, t_k)    t_k = 31 if y = k or K = 2, else 2^j - 1
 *   G_kf = sum over rows of v (p_k - 31 [y = k]) u_f
 *
 * A lane is a row and an output k. Over all servers, with 8/3 bytes for an element and an eighth
 * for a bit of each lane and server:
 *
 *   1  z                                                        local
 *   2  its 16 bits                                              6 exchanges
 *   3  e_0 .. e_4, the bits of v p_k: see train_clamp()      4
 *   4  e as numbers in Z_2^16, 5 elements                       1
 *   5  sums of e_i,k u_f (protocols/train_sums.h)               3
 *   6  G = sum of 2^i (5) - 31 sum of v [y = k] u_f             local
 *
 * Blocks of rows go together as far as memory and a check's log allow, so that exchanges do not
 * depend on them; each lane of a crew has some. m G + noise is then opened by measure_open_sums().
 * LEAKS: nothing but sizes.
 */
#pragma once

#include "protocols/train_rows.h"

#define TRAIN_BITS 16  /* of z */
#define TRAIN_SHIFT 5  /* p is z over 2^5 */
#define TRAIN_PLANES 5 /* bits of p */

/*
 * The bits of v p, one plane each, from 16 planes of z, which are used up. `own` is v and y, where
 * y is set only if v is: it is read only if j < 5. With a_b = !z_b and w = v & !y
 *
 *   B  = a_(5+j) .. a_9 w       w where no bit of z says that p is 2^j or more
 *   R  = a_10 a_11 a_12 a_13 (y ^ B), if i < j, or a_10 a_11 a_12 a_13 y
 *   e_i = a_15 (v if i < j, else y) ^ a_(5+i) a_14 a_15 R
 *
 * that is: v p has bit i if z is not negative, unless z has neither that bit nor one above 2^9,
 * which would make p 31; and for w every bit below j if a bit from 5 + j on is set, and none from j
 * on. 16 to 21 bits a server and lane, 4 exchanges. LEAKS: nothing.
 */
enum err train_clamp(struct party *p, const struct planes *e, struct planes *z, struct bits v,
                     struct bits y, unsigned j) MUST_CHECK;

/*
 * Adds to out the C tables of a test: of the rows that are kept back, by the three highest bits of
 * p_k, with t_k = 31 whatever y is, and by [y = k]; TRAIN_CELLS_TEST cells each, row-major. Steps 1
 * to 3, and then 1 bit of validity, 3 and 1 of codes are counted as records are
 * (protocols/records.h), output after output. LEAKS: nothing but sizes.
 */
#define TRAIN_CELLS_TEST 16
enum err train_test(struct party *p, const struct train_rows *rows, const int64_t *weight,
                    struct share64 out) MUST_CHECK;

/* out = G, C F numbers, for C F weights: one output after the other, the bias last. */
enum err train_gradient(struct party *p, const struct train_rows *rows, const int64_t *weight,
                        struct share64 out) MUST_CHECK;
