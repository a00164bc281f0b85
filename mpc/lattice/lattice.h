/*
 * mpc/lattice/lattice.h - counts of pairs of columns on encrypted rows, for two servers: a
 * provider, which computes, and a keeper, which has each owner's key. BGV of depth one with a
 * secret key, in the ring of lattice_ring.h, N = 8192; a plaintext is modulo t = 2^64, so that
 * what comes out are shares already.
 *
 *   owner -> provider    seed, pk, c0 of each tile        16 bytes and 217 kB a polynomial
 *   owner -> keeper      key                              16 bytes
 *   provider -> keeper   results, hidden                  3 polynomials each
 *
 * A key s has coefficients -1, 0, 1. A ciphertext of m is c1, uniform, of the public seed, used
 * for this one alone, and c0 = m + t e - c1 s. Products have three parts, d0 + d1 s + d2 s^2 = m
 * m' and t times a noise. The provider adds pk r + (M, t f) to each result, pk an encryption of 0,
 * r ternary, f an error, and M uniform from -2^209 to 2^209 in each coefficient: its low 64 bits
 * mask the result, the rest of it the noise. So the keeper decrypts uniform words, and the
 * provider's share is less M. Masking d0 alone would not do: d1 + 2 d2 s = a_B x_A + a_A x_B, x =
 * m + t e, has no noise, so with the key one column gives the other.
 *
 * ERROR: none. A coefficient of a product is, for all blocks, below 2^128 (21 + 1/2^64)^2 N
 * blocks, and M with it below 2^210, which is q / 4 (docs/protocols.md). LEAKS: to the keeper, how
 * many tiles there are. To the provider, nothing: it holds ciphertexts.
 */
#pragma once

#include "mpc/lattice/lattice_ring.h"

/* What one upload is encrypted with. Each is used for one table, and for nothing else. */
struct lattice_seeds {
    uint8_t key[LATTICE_SEED];    /* the keeper gets it */
    uint8_t errors[LATTICE_SEED]; /* nobody does */
    uint8_t shown[LATTICE_SEED];  /* the provider gets it */
};

/*
 * The owner's part. codes: rows by attributes, row after row; a code that is none of its
 * attribute's is in no column. Writes lattice_upload_size() bytes.
 */
enum err lattice_encrypt(const struct lattice_ring *ring, const struct lattice_plan *plan,
                         const uint16_t *codes, const struct lattice_seeds *seeds,
                         uint8_t *upload) MUST_CHECK;

/* ERR_DATA unless all words of an upload of so many bytes are below their primes. */
enum err lattice_upload_check(const struct lattice_ring *ring, const uint8_t *upload,
                              size_t size) MUST_CHECK;

/* The provider's part: sums of products over all blocks. */
struct lattice_products;
enum err lattice_multiply(struct lattice_products **products, const struct lattice_ring *ring,
                          const struct lattice_plan *plan, const uint8_t *upload) MUST_CHECK;
void lattice_products_free(struct lattice_products **products);

/*
 * One result for the keeper, hidden by fresh words of `prg`, and this server's share of it, N
 * words. Each call hides afresh.
 */
enum err lattice_hide(const struct lattice_products *products, size_t result, struct prg *prg,
                      uint8_t out[LATTICE_RESULT_SIZE], uint64_t *share) MUST_CHECK;

/* The keeper's part. */
struct lattice_key;
enum err lattice_key_new(struct lattice_key **key, const struct lattice_ring *ring,
                         const uint8_t seed[LATTICE_SEED]) MUST_CHECK;
void lattice_key_free(struct lattice_key **key);
/*
 * Its share of a result, N words. ERR_FORMAT for words that are not below their primes, which the
 * provider does not send; ERR_DATA for a result of q / 4 or more: the owner did not encrypt under
 * this key.
 */
enum err lattice_open(const struct lattice_key *key, const uint8_t in[LATTICE_RESULT_SIZE],
                      uint64_t *share) MUST_CHECK;
