/*
 * protocols/gauss.h - unit Gaussians by Box-Muller, on the lattice 2^-20.
 *
 *   2 E = 2^e (1 + f), E ~ Exp(1) (protocols/exponential.h); an angle theta that nobody knows
 *   r = sqrt(2E) = 2^(e/2) sqrt(1 + f);  z = r cos theta,  z' = r sin theta
 *
 *   2^(e/2), f  from the place of E's leading one (mpc/circuits/leading.h), at 58 and 48 fraction
 *               bits
 *   root        mpc/circuits/elementary.h: a polynomial that f's top three bits choose
 *   cos, sin    mpc/circuits/elementary.h: a product of points that pairs of servers know
 *   z           products in Z_2^128 at 118 fraction bits; one truncation rounds to 2^-20: a floor
 *               whose offset is, in each server's view, fixed or uniform and independent of z
 *               (mpc/circuits/truncate.h)
 *
 * ERROR of the value before rounding, the worst over all coins and masks, as gauss_error() adds it
 * up in units of 2^-52; docs/proofs.md has the proof:
 *   r         91 (digits of E below 2^-92) + 8 (4 (digits of f) + 2.8 (root)) + 0.1
 *   cos, sin  ELEMENTARY_CIRCLE_ERROR, a truncation, half an arc: 0.036
 *   z         146 + 11.4 * 0.036                                                = 2^-44.8
 * In total variation a pair differs from this by exponential_tau().
 * LEAKS: nothing. Exchanges: GAUSS_EXCHANGES, whatever the number of pairs.
 */
#pragma once

#include "mpc/circuits/elementary.h"
#include "protocols/exponential.h"

#define GAUSS_BITS 20
#define GAUSS_EXCHANGES 42
#define GAUSS_FRACTION_BITS 48 /* of f, 2 E = 2^e (1 + f) */
#define GAUSS_RADIUS_BITS 58
#define GAUSS_PRODUCT_BITS (GAUSS_RADIUS_BITS + ELEMENTARY_ROOT_BITS)

/* round(2^60 sqrt(2)) */
extern const uint64_t gauss_root_of_two;

double gauss_error(void);
/*
 * What it adds to the epsilon of a measured marginal: at least 2 ln((1 + d) / (1 - d)), d = (2 e /
 * h) e^(12 h) for the error e, charged twice, and the lattice h.
 */
double gauss_epsilon(void);

/* out.n is even; lanes 2i and 2i + 1 are a pair. */
enum err gauss_sample(struct party *p, struct share64 out) MUST_CHECK;

/*
 * The steps of gauss_sample, separate so that tests can see each; here lanes i and pairs + i are a
 * pair.
 */
struct gauss_coins {
    struct planes e;  /* EXPONENTIAL_DIGITS planes of `pairs` lanes */
    struct share64 u; /* of each pair: the angle, in arcs of which the circle has 2^64 */
};
/* From the party's scratch. */
enum err gauss_draw(struct party *p, struct gauss_coins *coins, size_t pairs) MUST_CHECK;
/* out: 2 * pairs lanes at GAUSS_PRODUCT_BITS fraction bits. */
enum err gauss_evaluate(struct party *p, struct share128 out,
                        const struct gauss_coins *coins) MUST_CHECK;
enum err gauss_round(struct party *p, struct share64 out, struct share128 z) MUST_CHECK;
