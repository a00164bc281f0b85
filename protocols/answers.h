/*
 * protocols/answers.h - owners' answers: from uploaded components to one shared sum.
 *
 * An owner's answer is a vector of counts of b bits each, XOR-shared: component 0 and component 1
 * are PRG seeds, component 2 is a bit-packed vector. The uploads are added as bits, by carry-save
 * adders (three numbers become two in one round) and one prefix adder, and the sum is converted to
 * the ring once.
 *
 * An owner's cell cannot exceed 2^b - 1, whatever the owner sends: only b planes are read.
 * LEAKS: nothing. The sum of the owners' 2^b - 1 must be below 2^bits (ERR_RANGE).
 */
#ifndef TREFOIL_PROTOCOLS_ANSWERS_H
#define TREFOIL_PROTOCOLS_ANSWERS_H

#include "mpc/party.h"

#define ANSWERS_SEED_SIZE 16

/* Bytes of a packed vector of `cells` counts of `bits` bits: bit k of cell i is bit i * bits + k.
 */
size_t answers_bytes(uint64_t cells, unsigned bits);

/*
 * The owner's side. answers_pack: the packed counts, in answers_bytes(); ERR_DATA if a count is
 * negative or needs more than `bits` bits. answers_mask: vector ^= the streams of the seeds of
 * components 0 and 1, which makes it component 2; the seeds must be used for nothing else.
 */
enum err answers_pack(const int64_t *counts, uint64_t cells, unsigned bits,
                      uint8_t *vector) MUST_CHECK;
enum err answers_mask(const uint8_t seed[2][ANSWERS_SEED_SIZE], uint8_t *vector,
                      size_t bytes) MUST_CHECK;

/* One upload as a server holds it: its two components, a seed where that component is one, else the
 * vector. */
struct answers_upload {
    unsigned bits;
    const uint8_t *seed[2]; /* of components index and index + 1, or NULL */
    const uint8_t *vector;  /* where the seed is NULL */
};

/* A component whole, in the party's scratch if it has to be expanded from a seed. */
enum err answers_component(struct party *p, const uint8_t *seed, const uint8_t *vector,
                           size_t bytes, const uint8_t **component) MUST_CHECK;

enum err answers_sum(struct party *p, struct share64 out, const struct answers_upload *uploads,
                     size_t count, unsigned bits) MUST_CHECK;

#endif
