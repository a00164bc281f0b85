/*
 * bench/flaim/flaim_gather.h - one secure aggregation of FLAIM: a crowd of clients, the marginals
 * that are summed, and who of the crowd adds to each.
 *
 * A client's words are m times its counts, plus its part of the noise: if n add, a Gaussian of
 * variance 1/n in units of 2^-lattice. Noise is drawn for each marginal in turn, for each of its
 * clients in turn.
 */
#pragma once

#include "bench/flaim/flaim.h"

#define FLAIM_LATTICE_MOST 20
#define FLAIM_ELEMENT 8 /* bytes, as the paper counts */

struct flaim_crowd {
    size_t clients;
    size_t *client;
};

struct flaim_gathering {
    const struct flaim_crowd *crowd;
    size_t queries;
    uint32_t *query;
    uint8_t *member; /* [query * clients + client of the crowd] */
};

struct flaim_gathering_terms {
    const struct flaim_options *options;
    uint64_t multiplier; /* m */
    unsigned lattice;
    struct flaim_traffic *paper, *wire; /* of each client: what this costs is added */
};

/* Room for `most` marginals. */
enum err gathering_new(struct flaim_gathering *g, const struct flaim_crowd *crowd,
                       size_t most) MUST_CHECK;
void gathering_clear(struct flaim_gathering *g);
/* Adds a marginal; the caller sets which of the crowd add to it, all 0 before. */
uint8_t *gathering_add(struct flaim_gathering *g, uint32_t query);
size_t gathering_members(const struct flaim_gathering *g, size_t i);

/* The words of all sums, one marginal after the other, modulo 2^32; the caller frees them. */
enum err gathering_sum(const struct flaim_gathering *g, const struct flaim_gathering_terms *terms,
                       uint32_t **sum, struct log *log) MUST_CHECK;
