/*
 * protocols/discrete.h - exact discrete Gaussians of deviation 2^20 (Canonne, Kamath, Steinke),
 * from coins alone.
 *
 *   |Y|     26 digits of a geometric variable, P(digit 2^i) = 1 / (1 + e^(2^i / s)), s = 2^20: the
 *           coins of protocols/exponential.h from weight 2^-20 on;  a fair sign bit
 *   accept  unless the sign is set and |Y| = 0, and with probability exp(-(|Y| - s)^2 / (2 s^2)):
 *           one coin of exp(-2^i / (2 s^2)) for each bit i of (|Y| - s)^2 that is set
 * The accept bit is opened (REJECT_BIT), P = 0.760; a kept sample is (-1)^sign |Y|.
 *
 * An integer query, multiplied by m, with one such sample added costs exactly m^2 / (2 s^2) zCDP:
 * no error of evaluation, no lattice. ERROR in total variation a kept sample: 78 coins and P(|Y| >=
 * 2^26) = e^-64, times 2 over the probability of acceptance, for conditioning on it:
 * discrete_tau().
 * LEAKS: how many candidates were rejected, and which; they depend on nothing that is kept, nor on
 * data.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define DISCRETE_DIGITS 26
#define DISCRETE_EXCHANGES 33 /* of a batch of candidates: usually one is enough */
#define DISCRETE_SQUARE_BITS 52
#define DISCRETE_SQUARE_COINS 48  /* those above have constants of 0 */
#define DISCRETE_ACCEPT_ANDS 2840 /* of the coins against (|Y| - s)^2 */

/* Fills out, with as many candidates as it takes. */
enum err discrete_sample(struct party *p, struct share64 out) MUST_CHECK;

/*
 * Its last step, for tests: whether each candidate is accepted, given the coins of the square's
 * lowest bits, the digits of |Y|, the sign, and the bits of the square. 7 exchanges.
 */
enum err discrete_judge(struct party *p, struct bits accept, const struct planes *coins,
                        const struct planes *digits, struct bits sign,
                        const struct planes *square) MUST_CHECK;

double discrete_tau(void);

/*
 * The same as ratios: the probability of any value that the circuit can give is within
 * e^(+-discrete_ratio()) of the exact one; discrete_tail(): that of all others together.
 */
double discrete_ratio(void);
double discrete_tail(void);

/* round(2^64 exp(-2^(i - 41))) for bit i of the square, at most 2^64 - 1. */
extern const uint64_t discrete_coin[DISCRETE_SQUARE_BITS];
