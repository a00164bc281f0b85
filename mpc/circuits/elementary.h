/*
 * mpc/circuits/elementary.h - elementary functions of shared fixed-point numbers, with their
 * absolute errors.
 *
 * Polynomials by interpolation at Chebyshev nodes; the errors are the worst over all arguments and
 * all masks, and include the polynomial, the rounding of its coefficients, the powers and every
 * truncation. LEAKS: nothing.
 */
#pragma once

#include "mpc/party/party.h"

/*
 * (cos, sin) of the angle 2 pi (u + 3/2) / 2^64, for any u of Z_2^64: its components are angles
 * that add up, and each is known to two servers (mpc/circuits/point.h). So points are multiplied:
 * server 0 knows components 0 and 1, and shares the product of their points; that and the last
 * one's are multiplied on shares. At 120 fraction bits, NOT truncated: |cos|, |sin| < 1 + 2^-56. 2
 * exchanges. Under a check server 0's product is made on shares too, and truncated: 4 exchanges. In
 * units of 2^-60: a point is off by sqrt(2) 1.5, three of them by sqrt(2) 4.5, the floors of server
 * 0's product, or its truncation, by sqrt(2).
 */
#define ELEMENTARY_CIRCLE_BITS 120
#define ELEMENTARY_CIRCLE_ERROR (8 * 0x1p-60)
enum err elementary_circle(struct party *p, struct share128 cosine, struct share128 sine,
                           struct share64 u) MUST_CHECK;

/*
 * sqrt(1 + s/8 + 1/16 + x) for |x| <= 1/16 at 60 fraction bits, like the result; s has the three
 * planes `segment`. A polynomial for each segment, from Chebyshev nodes; they are evaluated as one,
 * whose coefficients the segment chooses. Error: 2.8 * 2^-52 (polynomial) and, in units of 2^-60,
 * 0.54 (coefficients) + 0.33 (powers) + 1 (truncation). 11 exchanges.
 */
#define ELEMENTARY_ROOT_BITS 60
#define ELEMENTARY_ROOT_SEGMENTS 8
#define ELEMENTARY_ROOT_DEGREE 8
#define ELEMENTARY_ROOT_ERROR (2.8 * 0x1p-52 + 2 * 0x1p-60)
enum err elementary_root(struct party *p, struct share128 out, struct share128 x,
                         const struct planes *segment) MUST_CHECK;
extern const int64_t elementary_root_of[ELEMENTARY_ROOT_SEGMENTS][ELEMENTARY_ROOT_DEGREE + 1];

/*
 * ln(1 + t) for 0 <= t < 1 at 30 fraction bits, the result at 36: the logarithm of a normalised
 * number. Error: 7.6 * 2^-30 (powers) + 2^-33 (polynomial and its coefficients) + 2^-36
 * (truncation).
 */
#define ELEMENTARY_ARGUMENT_BITS 30
#define ELEMENTARY_LOGARITHM_BITS 36
#define ELEMENTARY_LOGARITHM_ERROR 0x1p-27
enum err elementary_logarithm(struct party *p, struct share64 out, struct share64 t) MUST_CHECK;
