/*
 * bench/work.h - operations of the engine on inputs of one size: inputs are made once, operations
 * run as often as they are measured.
 */
#pragma once

#include "mpc/circuits/cached.h"
#include "mpc/party/party.h"

struct work {
    size_t n;
    struct bits bits[3];
    struct share64 x, y, z;
    struct share16 a, b, c;
    struct planes planes;
    struct planes *table; /* of each owner */
    size_t tables;
    struct cached *cached;
    struct cached_span *spans;
    uint64_t *estimates, *opened;
    size_t index;
};

void work_free(struct work *w);

/* n random bits; words; n x n matrices; counts, and their cache; values to compare. */
enum err work_prepare_and(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_words(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_matrix(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_counts(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_cached(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_values(struct party *p, struct work *w) MUST_CHECK;
/* n rows with 64 bits of columns, at two owners, or at a hundred. */
enum err work_prepare_two_owners(struct party *p, struct work *w) MUST_CHECK;
enum err work_prepare_many_owners(struct party *p, struct work *w) MUST_CHECK;

enum err work_run_and(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_multiply(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_open(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_less(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_bit_to_ring(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_matrix(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_distances(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_caching_and_distances(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_argmax(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_link(struct party *p, struct work *w) MUST_CHECK;
enum err work_run_bound(struct party *p, struct work *w) MUST_CHECK;
