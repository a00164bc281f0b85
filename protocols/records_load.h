/* protocols/records_load.h - loads a batch's vectors into blocks. */
#pragma once

#include "protocols/records_block.h"

/*
 * A block for these batches, of at most `most` lanes and no more than they need; from the party's
 * scratch.
 */
enum err records_block_for(struct party *p, struct records_block *b,
                           const struct records_shape *shape, const struct records_scores *scores,
                           const struct records_batch *batches, size_t count,
                           size_t most) MUST_CHECK;

/*
 * Loads batches into a block, and calls `take` whenever it is full, and with what is left. Each
 * batch begins at a multiple of 64, so small ones share a block. ERR_RANGE as for records_count().
 */
enum err records_each_block(struct party *p, struct records_block *b,
                            const struct records_batch *batches, size_t count,
                            enum err (*take)(struct party *p, struct records_block *b, void *self),
                            void *self) MUST_CHECK;
