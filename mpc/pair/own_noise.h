/*
 * mpc/pair/own_noise.h - noise that one of two servers makes alone: discrete Gaussians and Gumbels.
 *
 * Gaussians are exact (Canonne, Kamath, Steinke 2020), from coins alone. |Y| is geometric, a whole
 * number of t plus U < t; a sign, redrawn with |Y| if that is 0 and the sign is set; accepted with
 * probability exp(-(|Y| - sigma^2 / t)^2 / (2 sigma^2)). Each coin of exp(-a / b) counts how often
 * in a row an event of probability a / (b k), k = 1, 2, .. happens: whole numbers below random
 * numbers, nothing rounded. So they cost exactly what a discrete Gaussian of this parameter costs.
 *
 * A Gumbel is -ln v to the nearest 2^-24, v = -ln(1 - u), u = (U + 1/2) / 2^128 with U of 128 bits,
 * from whichever of u and 1 - u is below 1/2. With the exact u* in the cell of U it differs from
 * the exact Gumbel by less than OWN_GUMBEL_ERROR: 2^-25 for the last rounding, below 2^-26 for the
 * cell and below 2^-40 for the logarithms, unless U < 2^25 or 2^128 - U <= 2^19; that
 * has a probability below OWN_GUMBEL_TAU. |g| < 96 always.
 *
 * LEAKS: nothing is sent. How long it takes depends on what is drawn, so it is called for many
 * words at once, and not for those of one round. Secret words live in `out` alone, and in the
 * generator, which its owner wipes.
 */
#pragma once

#include "base/random.h"

#define OWN_GUMBEL_ERROR 0x1p-24
#define OWN_GUMBEL_TAU 0x1p-101
#define OWN_GUMBEL_MAX 96

/* sigma = 2^grid / divisor; t = 2^scale is near it. The divisor is odd, the grid at most 20. */
struct own_sigma {
    unsigned grid, divisor, scale;
};
extern const struct own_sigma own_sigma_whole; /* 2^20: noise that protects by itself */
extern const struct own_sigma own_sigma_fifth; /* 2^20 / 5: what is added to joint noise */

/* n samples, as words mod 2^64. `r` is from random_fresh(), except in tests. */
void own_gauss(struct random *r, const struct own_sigma *sigma, uint64_t *out, size_t n);
/* n samples as multiples of 2^-24, as words mod 2^64. */
void own_gumbel(struct random *r, uint64_t *out, size_t n);

/* The Gumbel of one U = high 2^64 + low: for tests. */
int64_t own_gumbel_of(uint64_t high, uint64_t low);
