/*
 * protocols/gumbel.h - Gumbel variables g = -ln E, on the grid 2^-24.
 *
 *   E ~ Exp(1) (protocols/exponential.h) is shifted left until its leading one is at the top, in seven
 *   steps of 64 .. 1 places, each on the AND of the top bits' complements: E = 2^(5 - k) (1 + t), t of
 *   30 bits; then g = (k - 5) ln 2 - ln(1 + t), the logarithm by mpc/elementary.h
 *
 * ERROR of g, the worst over all coins and masks, for E >= 2^-68:
 *   2^-24 (digits of E below 2^-92) + 2^-24 (the last rounding) + 2^-30 (t)
 *   + ELEMENTARY_LOGARITHM_ERROR + 2^-35 (rounding of ln 2)                   < GUMBEL_ERROR
 * In total variation a sample differs by EXPONENTIAL_TAU + P(E < 2^-68) < GUMBEL_TAU. By coupling
 * every selection probability is within e^(+-2 GUMBEL_ERROR) of the exact softmax, so a selection at
 * eps is charged as (eps + GUMBEL_SLACK)^2 / 8. LEAKS: nothing. Rounds: GUMBEL_ROUNDS, whatever their number.
 */
#ifndef TREFOIL_PROTOCOLS_GUMBEL_H
#define TREFOIL_PROTOCOLS_GUMBEL_H

#include "protocols/exponential.h"

#define GUMBEL_BITS 24
#define GUMBEL_ROUNDS 73
#define GUMBEL_ERROR 0x1.2p-23
#define GUMBEL_SLACK (8 * GUMBEL_ERROR)
#define GUMBEL_TAU 0x1.1p-58
/* |g| is below this for every output that the error bound covers: -ln 64 .. 68 ln 2 */
#define GUMBEL_MAX 48

enum err gumbel_sample(struct party *p, struct share64 out) MUST_CHECK;

/* The evaluation alone, of EXPONENTIAL_DIGITS planes, which it destroys: for tests. */
enum err gumbel_evaluate(struct party *p, struct share64 out, struct planes *e) MUST_CHECK;

#endif
