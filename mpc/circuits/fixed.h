/*
 * mpc/circuits/fixed.h - fixed-point numbers on shares: x stands for x / 2^f.
 *
 * A product of two numbers of f fraction bits is truncated back (mpc/circuits/truncate.h): the
 * result is off by less than one unit of 2^-f, whatever the masks. LEAKS: nothing.
 */
#pragma once

#include "mpc/party/party.h"

#define FIXED_DEGREE_MAX 16

/*
 * out = sum over k = 0 .. degree of c[k] x^k, NOT truncated: it has f more fraction bits than the
 * coefficients. Powers come from x^(m+j) = x^m x^j, so ceil(log2 degree) layers of 2 exchanges; the
 * power k is off by less than k units of 2^-f for 0 <= x <= 1, the result by less than sum k |c[k]|
 * units times the coefficients' scale.
 */
enum err fixed_polynomial64(struct party *p, struct share64 out, struct share64 x, unsigned f,
                            const int64_t *c, unsigned degree) MUST_CHECK;

/*
 * The same, NOT truncated, where each lane has chosen one of several polynomials: row s of
 * `coefficient`, of degree + 1 numbers, where chosen[s x.n + lane] is 1; the others are 0. One
 * exchange more, for a sum of products.
 */
enum err fixed_chosen_polynomial128(struct party *p, struct share128 out, struct share128 x,
                                    unsigned f, const int64_t *coefficient, unsigned degree,
                                    struct share128 chosen) MUST_CHECK;
