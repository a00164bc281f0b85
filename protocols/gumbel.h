/*
 * protocols/gumbel.h - Gumbel variables g = -ln E, on the grid 2^-24.
 *
 *   E ~ Exp(1) (protocols/exponential.h) is 2^(5 - k) (1 + t): the place of its leading one tells
 *   k ln 2, bit by bit, and t's 30 bits (mpc/circuits/leading.h); then g = (k - 5) ln 2 -
 *   ln(1 + t), the logarithm by mpc/circuits/elementary.h
 *
 * ERROR of g, the worst over all coins and masks, for E >= 2^-68, as gumbel_error() adds it up:
 *   2^-24 (digits of E below 2^-92) + 2^-24 (the last rounding) + 2^-30 (t)
 *   + ELEMENTARY_LOGARITHM_ERROR + 2.5 * 2^-35 (rounding of ln 2)               = 2.143 * 2^-24
 * In total variation a sample differs by exponential_tau() + P(E < 2^-68) = gumbel_tau(). By
 * coupling, every selection probability is within e^(+-2 error) of the exact softmax, so a
 * selection at eps is charged as (eps + gumbel_epsilon())^2 / 8, which is 8 errors more.
 * LEAKS: nothing. Exchanges: GUMBEL_EXCHANGES, whatever their number.
 */
#pragma once

#include "protocols/exponential.h"

#define GUMBEL_BITS 24
#define GUMBEL_EXCHANGES 34
#define GUMBEL_LEAST 68 /* exponential variables below 2^-68 are left to the total variation */
/* |g| is below this for every output that the error bound covers: -ln 64 .. 68 ln 2 */
#define GUMBEL_MAX 48

double gumbel_error(void);
double gumbel_epsilon(void);
double gumbel_tau(void);

#define GUMBEL_CANDIDATES_MAX 0x1p22 /* of a selection that is compared by ratios */

/*
 * The same as ratios, for a selection among so many candidates. The probability of each whose exact
 * one is at least 2^-78 is within e^(+-(2 error + gumbel_ratio())) of that. gumbel_missed(): the
 * largest probability of a candidate that is less likely than 2^-78 under one of two tables that a
 * selection at epsilon may tell apart.
 */
double gumbel_ratio(double candidates);
double gumbel_missed(double candidates, double epsilon);

enum err gumbel_sample(struct party *p, struct share64 out) MUST_CHECK;

/* Only the evaluation, of EXPONENTIAL_DIGITS planes: for tests. */
enum err gumbel_evaluate(struct party *p, struct share64 out, const struct planes *e) MUST_CHECK;
