/*
 * protocols/exponential.h - a shared Exp(1) variable, digit by digit.
 *
 * The binary digits of an Exp(1) variable are independent, P(digit of weight 2^i is 1) = 1/(1 +
 * e^(2^i)), for i of either sign. Digits 2^5 .. 2^-62 are biased coins [u < p 2^64] on 64 shared
 * random bits each, digits 2^-63 .. 2^-92 fair random bits (for those p differs from 1/2 by less
 * than 2^-64).
 *
 * No server knows any of it. Costs: EXPONENTIAL_ANDS a sample, 6 exchanges. LEAKS: nothing. ERROR,
 * in total variation a sample: rounding of the 68 coin constants; the 30 fair digits together less
 * than a quarter of the lowest coin's weight; digits above 2^5 left out, P(E >= 64) = e^-64:
 * exponential_tau(). What the missing digits below 2^-92 add is an error of the value, not of the
 * distribution: users bound it.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define EXPONENTIAL_TOP 5    /* weight of the highest digit: 2^5 */
#define EXPONENTIAL_COINS 68 /* 2^5 .. 2^-62 */
#define EXPONENTIAL_ANDS 3662
#define EXPONENTIAL_LOWEST 92 /* the lowest digit weighs 2^-92 */
#define EXPONENTIAL_DIGITS 98

/* out: EXPONENTIAL_DIGITS planes; plane k is the digit of weight 2^(k - EXPONENTIAL_LOWEST). */
enum err exponential_sample(struct party *p, struct planes *out) MUST_CHECK;

double exponential_tau(void);

/*
 * The same as ratios, for proofs in which a total variation is too costly. With digits above weight
 * 2^top all 0, the probability of any digits is within e^(+-exponential_ratio(top)) of that of
 * Exp(1) variables below 64 that have them; exponential_tail(): that of all not below 64.
 */
double exponential_ratio(int top);
double exponential_tail(void);

/* round(2^64 / (1 + e^(2^i))) for the digits of weight 2^i, i = -62 .. 5 in this order. */
extern const uint64_t exponential_coin[EXPONENTIAL_COINS];
