/*
 * protocols/gauss.h - unit Gaussians by Box-Muller, on the lattice 2^-20.
 *
 *   r = sqrt(2E), E ~ Exp(1) (protocols/exponential.h); U of 52 random bits; signs b, b'
 *   z = (-1)^b r cos(pi U / 2),   z' = (-1)^b' r sin(pi U / 2)
 *
 *   r         floor of the root of 2E at 45 fraction bits, exact on bits (mpc/root.h), then to the
 *             ring
 *   cos, sin  mpc/elementary.h, at 52 fraction bits, in Z_2^128
 *   z         the product is exact at 97 fraction bits, the sign is applied, and one truncation
 *             rounds to 2^-20: a floor whose offset is, in each server's view, fixed or uniform and
 *             independent of z (mpc/truncate.h)
 *
 * ERROR of the value before rounding, the worst over all coins and masks, as gauss_error() adds it
 * up:
 *   r         2^-45 (floor) + 2^-45 (digits of E below 2^-91: sqrt(2 * 2^-91))   = 2^-44
 *   cos, sin  ELEMENTARY_CIRCLE_ERROR + pi/2 * 2^-52 (digits of U below 2^-52)   < 11 * 2^-52
 *   z         2^-44 + 11.4 * 11 * 2^-52                                          < 2^-43
 * In total variation a pair differs from this by exponential_tau().
 * LEAKS: nothing. Rounds: GAUSS_ROUNDS, whatever the number of pairs.
 */
#ifndef TREFOIL_PROTOCOLS_GAUSS_H
#define TREFOIL_PROTOCOLS_GAUSS_H

#include "mpc/elementary.h"
#include "protocols/exponential.h"

#define GAUSS_BITS 20
#define GAUSS_ROUNDS 328
#define GAUSS_RADIUS_BITS 45
#define GAUSS_ANGLE_BITS ELEMENTARY_ANGLE_BITS
#define GAUSS_PRODUCT_BITS (GAUSS_RADIUS_BITS + GAUSS_ANGLE_BITS)

double gauss_error(void);
/*
 * What it adds to the epsilon of a measured marginal: at least 2 ln((1 + d) / (1 - d)), d = (2 e /
 * h) e^(12 h) for the error e, charged twice, and the lattice h.
 */
double gauss_epsilon(void);

/* out.n is even; lanes 2i and 2i + 1 are a pair. */
enum err gauss_sample(struct party *p, struct share64 out) MUST_CHECK;

/*
 * The steps of gauss_sample, apart so that tests can see each; here lanes i and pairs + i are a
 * pair.
 */
struct gauss_coins {
    struct planes e;    /* EXPONENTIAL_DIGITS planes of `pairs` lanes */
    struct planes u;    /* GAUSS_ANGLE_BITS planes */
    struct planes sign; /* one plane of 2 * pairs lanes */
};
/* From the party's scratch. */
enum err gauss_draw(struct party *p, struct gauss_coins *coins, size_t pairs) MUST_CHECK;
/* out: 2 * pairs lanes at GAUSS_PRODUCT_BITS fraction bits. */
enum err gauss_evaluate(struct party *p, struct share128 out,
                        const struct gauss_coins *coins) MUST_CHECK;
enum err gauss_round(struct party *p, struct share64 out, struct share128 z) MUST_CHECK;

#endif
