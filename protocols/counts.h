/*
 * protocols/counts.h - the shared counts of every marginal of a study, ready for rounds.
 *
 * Counts of all queries are in one vector, each query from a multiple of 64 on (`start`), so that
 * bit planes can be gathered by words; the lanes between are zero. For each count: the ring share,
 * and what scores are made from, once the counts are complete. LEAKS: nothing.
 */
#pragma once

#include "mpc/circuits/cached.h"

struct counts {
    size_t queries;
    size_t *start; /* queries + 1 */
    size_t *cells;
    unsigned bits; /* every count is below 2^bits */
    struct share64 x;
    struct cached *kept;    /* for scores; see mpc/circuits/cached.h */
    struct share64 squares; /* of each query the sum of its counts' squares: for squared scores */
};

/* Zero counts; `bits` < 62. */
enum err counts_new(struct counts **counts, const uint64_t *cells, size_t queries,
                    unsigned bits) MUST_CHECK;
void counts_free(struct counts **counts);

static inline struct share64 counts_query(const struct counts *c, size_t query)
{
    return share64_view(c->x, c->start[query], c->cells[query]);
}

/* Adds cell i of `from` to cell index[i] of `to`. Local. */
void counts_sum_down(struct share64 to, struct share64 from, const uint32_t *index);

/* Whether counts have what such scores are made from. */
static inline bool counts_finished(const struct counts *c, bool squared)
{
    return squared ? c->squares.n > 0 : c->kept != NULL;
}

/*
 * Makes what scores keep of the counts, from their bits. 2 + ceil(log2(bits - 1)) exchanges a tile
 * of 2^19 counts, then those of cached_new().
 */
enum err counts_finish(struct party *p, struct counts *c) MUST_CHECK;

/* Drops what was made for scores, until it is made again. */
void counts_unfinish(struct counts *c);

/* For squared scores, which need no bits: only the squares. One element a query, 1 exchange. */
enum err counts_finish_squares(struct party *p, struct counts *c) MUST_CHECK;
