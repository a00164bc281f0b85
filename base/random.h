/*
 * base/random.h - a seeded generator: ChaCha20 (libsodium) run as a stream.
 *
 * The same seed gives the same numbers on every machine, up to the last bit of logl() and cosl() in
 * the two lattice samplers, and of log(), sin() and cos() in random_normals(). random_fresh() makes
 * it a cryptographic generator. With a seed from a person it serves synthetic rows and tests, never
 * noise that has to protect anyone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANDOM_SEED_BYTES 32
#define RANDOM_GAUSS_BITS 20  /* lattice of unit Gaussians: 2^-20 */
#define RANDOM_GUMBEL_BITS 24 /* lattice of Gumbels: 2^-24 */

struct random {
    uint8_t key[RANDOM_SEED_BYTES];
    uint64_t block; /* the nonce of the next block of the stream */
    uint8_t stream[1024];
    size_t used; /* of `stream` */
    bool has_spare;
    int64_t spare; /* Box-Muller makes two */
};

struct random random_of(uint64_t seed);
void random_fresh(struct random *r); /* seeded by the operating system */
void random_wipe(struct random *r);

uint64_t random_u64(struct random *r);
uint64_t random_below(struct random *r, uint64_t n); /* 0 .. n-1, unbiased; n > 0 */
double random_double(struct random *r);              /* [0, 1), a multiple of 2^-53 */

/*
 * n unit Gaussians, none beyond 8.7, for synthetic rows: several times as fast as random_gauss(),
 * which has the tails and rounding that noise needs.
 */
void random_normals(struct random *r, double *z, size_t n);
/* A unit Gaussian rounded to the lattice, as the multiple of 2^-20. */
int64_t random_gauss(struct random *r);
/* A standard Gumbel rounded to the lattice, as the multiple of 2^-24. */
int64_t random_gumbel(struct random *r);
