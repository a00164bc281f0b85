/*
 * mpc/lattice/lattice_ring.h - the ring Z_q[X] / (X^N + 1) that ciphertexts live in.
 *
 * q is the product of four primes of 53 bits, 1 modulo 2 N: 212 bits. A polynomial is kept as its
 * remainders modulo each, either as coefficients or as values at the 2 N-th roots of unity that are
 * no N-th roots. In the latter a product of polynomials is one of words. All loops are of public
 * lengths, and nothing here branches on a word.
 */
#pragma once

#include "base/lattice_plan.h"
#include "mpc/kernel/prime.h"

#include <stdbool.h>

struct lattice_poly {
    uint64_t w[LATTICE_PRIMES][LATTICE_N]; /* each below its prime */
};

struct lattice_ring;

enum err lattice_ring_new(struct lattice_ring **ring) MUST_CHECK;
void lattice_ring_free(struct lattice_ring **ring);
const struct prime *lattice_prime(const struct lattice_ring *ring, unsigned k);

/* Coefficients to values, and back. */
void lattice_values(const struct lattice_ring *ring, struct lattice_poly *x);
void lattice_coefficients(const struct lattice_ring *ring, struct lattice_poly *x);

/* sum += x y, of values. */
void lattice_add_product(const struct lattice_ring *ring, struct lattice_poly *sum,
                         const struct lattice_poly *x, const struct lattice_poly *y);
/* sum += x y + u v: reduced once. */
void lattice_add_products(const struct lattice_ring *ring, struct lattice_poly *sum,
                          const struct lattice_poly *x, const struct lattice_poly *y,
                          const struct lattice_poly *u, const struct lattice_poly *v);
void lattice_add(const struct lattice_ring *ring, struct lattice_poly *sum,
                 const struct lattice_poly *x);
/* x = -x */
void lattice_negate(const struct lattice_ring *ring, struct lattice_poly *x);

/*
 * Coefficients that are integers of a few bits, a and b: a + 2^64 b modulo q. Either may be NULL.
 */
void lattice_small(const struct lattice_ring *ring, struct lattice_poly *x, const int8_t *a,
                   const int8_t *b);
/*
 * Of coefficients modulo q, between -q/4 and q/4: the integers modulo 2^64. Whether all are between
 * these (docs/protocols.md).
 */
bool lattice_low(const struct lattice_ring *ring, const struct lattice_poly *x,
                 uint64_t low[LATTICE_N]);

/*
 * Words to LATTICE_POLY_SIZE bytes, 53 bits each, and back: ERR_DATA if one is not below its
 * prime.
 */
void lattice_pack(const struct lattice_poly *x, uint8_t out[LATTICE_POLY_SIZE]);
enum err lattice_unpack(const struct lattice_ring *ring, const uint8_t in[LATTICE_POLY_SIZE],
                        struct lattice_poly *x) MUST_CHECK;
