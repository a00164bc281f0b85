/*
 * mpc/elementary.h - elementary functions of shared fixed-point numbers, with their absolute
 * errors.
 *
 * Polynomials by interpolation at Chebyshev nodes; the errors are the worst over all arguments and
 * all masks, and count the polynomial, the rounding of its coefficients, the powers and every
 * truncation. LEAKS: nothing.
 */
#ifndef TREFOIL_MPC_ELEMENTARY_H
#define TREFOIL_MPC_ELEMENTARY_H

#include "mpc/party.h"

/*
 * cos(pi u / 2) and sin(pi u / 2) for 0 <= u <= 1, all at 52 fraction bits: a quarter turn.
 * In units of 2^-52: 1 (polynomial) + 2.4 (coefficients) + 1.9 (powers; u^2 itself is off by 1) + 1
 * (truncation), and for the sine 1 more.
 */
#define ELEMENTARY_ANGLE_BITS 52
#define ELEMENTARY_CIRCLE_ERROR (9 * 0x1p-52)
enum err elementary_circle(struct party *p, struct share128 cosine, struct share128 sine,
                           struct share128 u) MUST_CHECK;

/*
 * ln(1 + t) for 0 <= t < 1 at 30 fraction bits, the result at 36: the logarithm of a normalised
 * number. 7.6 * 2^-30 (powers) + 2^-33 (polynomial and its coefficients) + 2^-36 (truncation)
 */
#define ELEMENTARY_ARGUMENT_BITS 30
#define ELEMENTARY_LOGARITHM_BITS 36
#define ELEMENTARY_LOGARITHM_ERROR 0x1p-27
enum err elementary_logarithm(struct party *p, struct share64 out, struct share64 t) MUST_CHECK;

#endif
