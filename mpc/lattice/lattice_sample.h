/*
 * mpc/lattice/lattice_sample.h - the random polynomials of the scheme. Their streams are keys,
 * errors and masks, so nothing here takes time that depends on them; but a uniform word is drawn
 * again where it is not below its prime (once in 2^33), and a third of a byte where it is 255.
 */
#pragma once

#include "mpc/lattice/lattice_ring.h"

#define LATTICE_COINS 21 /* pairs of an error, which is at most that */

/* Coefficients -1, 0, 1, each as likely. */
enum err lattice_ternary(struct prg *prg, int8_t x[LATTICE_N]) MUST_CHECK;
/* Heads of 21 coins less those of 21 others: a deviation of 3.24. */
enum err lattice_errors(struct prg *prg, int8_t x[LATTICE_N]) MUST_CHECK;
/* Uniform, as values. */
enum err lattice_uniform(const struct lattice_ring *ring, struct prg *prg,
                         struct lattice_poly *x) MUST_CHECK;
/* Coefficients from -2^209 up to 2^209, all alike; low: the same modulo 2^64. */
enum err lattice_flood(const struct lattice_ring *ring, struct prg *prg, struct lattice_poly *x,
                       uint64_t low[LATTICE_N]) MUST_CHECK;
