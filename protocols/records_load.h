/* protocols/records_load.h - loads a batch's vectors into blocks. */
#ifndef TREFOIL_PROTOCOLS_RECORDS_LOAD_H
#define TREFOIL_PROTOCOLS_RECORDS_LOAD_H

#include "protocols/records_block.h"

struct records_source {
    const struct records_batch *batch;
    struct records_stream *stream; /* of each part */
    size_t taken;                  /* records loaded */
};

/* In the party's scratch. ERR_RANGE as for records_count(). */
enum err records_source_open(struct party *p, struct records_source *s,
                             const struct records_shape *shape,
                             const struct records_batch *b) MUST_CHECK;

/*
 * Loads what fits after what the block holds; false if nothing does. Each batch begins at a
 * multiple of 64, so small ones share a block.
 */
bool records_load(const struct party *p, struct records_block *b, struct records_source *s);

#endif
