/*
 * mpc/check/check_claims.h - what a flush claims about the numbers noted; for mpc/check/ alone.
 *
 * A relation has the weight theta(Y), 64 coefficients 0 or 1. W_i(Y), this server's summand of all
 * relations so weighed, products and -z, is computed over the integers, as if components were
 * numbers below 2^K:
 *
 *   i -> i-1   W_i + m_i - m_(i+1), each coefficient in `words` words, two's complement
 *
 * m_k, of key_k, is below 2^(64 words - 2). Nothing larger than an honest claim may be fits, and a
 * claim that is off is off modulo most primes.
 */
#pragma once

#include "mpc/check/check_matrix.h"
#include "mpc/check/check_private.h"
#include "mpc/kernel/prime.h"

#define CLAIMS 64

/* Those of each ring, and of matrices: of the sums of their pairs, and of sides that are made. */
#define CLAIMS_PAIRS NUMBERS_RINGS
#define CLAIMS_MADE (NUMBERS_RINGS + 1)
#define CLAIMS_KINDS (NUMBERS_RINGS + 2)

struct claims {
    size_t count, words; /* of a claim; 0: nothing is noted */
    unsigned bits;       /* K */
    size_t relations;
    uint64_t *weight;   /* theta of each relation; then its value at y times kappa */
    uint64_t *claim[2]; /* own, and the next server's */
    word128 remainder[2][MATRIX_CLAIMS]; /* by component, modulo 2^K; of matrices first -z */
    uint64_t at[2][KERNEL_ROWS]; /* of matrices: weights of rows of f and g, modulo the prime */
};

/* Gives the words that all claims have; in the party's scratch, one after the other. */
enum err claims_new(struct party *p, struct claims claims[CLAIMS_KINDS], bool matrices,
                    size_t *words) MUST_CHECK;

enum err claims_weigh(struct claims claims[NUMBERS_RINGS], struct prg *weights) MUST_CHECK;

/* Sets this server's claims to W_i of all relations of a ring (mpc/check/check_summands.c). */
enum err claims_sum(struct party *p, enum share_ring ring, struct claims *c) MUST_CHECK;

/* Fill in this server's claims, masked: of rings; of one kind of matrices. */
enum err claims_make(struct party *p, struct claims claims[NUMBERS_RINGS]) MUST_CHECK;
enum err claims_of_matrices(struct party *p, struct claims *c,
                            const struct check_folded *folded) MUST_CHECK;

/* Adds a number of n words to one of `words`, modulo 2^(64 words). */
static inline void claims_add(uint64_t *sum, size_t words, const uint64_t *x, size_t n)
{
    uint64_t carry = 0;
    for (size_t k = 0; k < words; k++) {
        const word128 t = (word128)sum[k] + (k < n ? x[k] : 0) + carry;
        sum[k] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
}

/* The low K bits. */
word128 claims_modulo(const struct claims *c, word128 x);

/* Once the others' have come: adds all claims to `remainder`, modulo 2^K. */
void claims_settle(struct claims claims[CLAIMS_KINDS]);

/* Weights become numbers modulo a prime; the sum of all claims, by component, is added to z. */
void claims_at(struct claims *c, const struct prime *f, uint64_t y, uint64_t kappa, uint64_t z[2]);

/*
 * When weights are numbers modulo a prime: subtracts -z of all relations, so weighed, from z, so
 * that only products are left to be proved.
 */
void claims_less_z(const struct claims claims[NUMBERS_RINGS], const struct check_numbers *log,
                   const struct prime *f, uint64_t z[2]);
