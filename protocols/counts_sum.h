/*
 * protocols/counts_sum.h - counts that owners send: from uploaded components to one shared sum.
 *
 * An owner's upload is a vector of counts of b bits each, XOR-shared: component 0 and component 1
 * are PRG seeds, component 2 is a bit-packed vector. The uploads are added as bits, by carry-save
 * adders (three numbers become two in one exchange) and one prefix adder, and the sum is converted
 * to the ring once.
 *
 * An owner's cell cannot exceed 2^b - 1, whatever the owner sends: only b planes are read.
 * LEAKS: nothing. The sum of the owners' 2^b - 1 must be below 2^bits (ERR_RANGE).
 */
#pragma once

#include "mpc/party/party.h"
#include "protocols/counts_pack.h"

/* One upload as a server holds it: its two components, each a seed or the vector. */
struct counts_upload {
    unsigned bits;
    const uint8_t *seed[2]; /* of components index and index + 1, or NULL */
    const uint8_t *vector;  /* where the seed is NULL */
    uint64_t skip;          /* bytes of the seeds' streams to skip: those of other cells */
};

enum err counts_sum(struct party *p, struct share64 out, const struct counts_upload *uploads,
                    size_t count, unsigned bits) MUST_CHECK;
