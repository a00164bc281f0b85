/*
 * protocols/answers_pack.h - owners' answers as they travel: counts in a vector of bits, and the
 * mask over it.
 *
 * Owners pack and mask; protocols/answers.h adds up. Nothing here reaches mpc/.
 */
#ifndef TREFOIL_PROTOCOLS_ANSWERS_PACK_H
#define TREFOIL_PROTOCOLS_ANSWERS_PACK_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define ANSWERS_SEED_SIZE 16

/*
 * Bytes of a packed vector of `cells` counts of `bits` bits: bit k of cell i is bit i * bits + k.
 */
size_t answers_bytes(uint64_t cells, unsigned bits);

/* Into answers_bytes(). ERR_DATA if a count is negative or needs more than `bits` bits. */
enum err answers_pack(const int64_t *counts, uint64_t cells, unsigned bits,
                      uint8_t *vector) MUST_CHECK;
/*
 * vector ^= the streams of the seeds of components 0 and 1, which makes it component 2. The seeds
 * must be used for nothing else. Answers and records are masked alike.
 */
enum err answers_mask(const uint8_t seed[2][ANSWERS_SEED_SIZE], uint8_t *vector,
                      size_t bytes) MUST_CHECK;

#endif
