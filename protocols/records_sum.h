/* protocols/records_sum.h - what is summed over all records, block by block. */
#pragma once

#include "protocols/records_block.h"

/*
 * Sums over a block's records, each of which adds 0 or 1 to any of them. `add` adds this server's
 * parts of them, of `n` records of a block from `from` on; `settle` makes shares of
 * twice the sums, given the parts of a whole block; `take` adds sums of all blocks to the results,
 * those from the `from`-th on.
 */
struct records_sums {
    const struct records_shape *shape;
    const struct records_scores *scores; /* or NULL */
    size_t parts, cells, tile;
    enum err (*add)(struct party *lane, const struct records_sums *s, const struct records_block *b,
                    size_t from, size_t n, uint16_t *parts);
    enum err (*settle)(struct party *p, const struct records_sums *s, const struct records_block *b,
                       uint16_t *parts, struct share16 cells);
    void (*take)(const struct records_sums *s, size_t from, struct share64 sums);
    /* instead of `add` and `settle` under a check, or NULL */
    enum err (*checked)(struct party *p, const struct records_sums *s,
                        const struct records_block *b, struct share16 cells);
    const void *self;
};
enum err records_sum(struct party *p, const struct records_sums *s,
                     const struct records_batch *batches, size_t count) MUST_CHECK;
