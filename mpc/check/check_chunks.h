/*
 * mpc/check/check_chunks.h - the memory of a check's log; for mpc/check/ alone.
 *
 * Bits and numbers share chunks of 1.6 MiB: pages are what noting costs most, and a log of either
 * kind takes those that the other one has left. Chunks are kept for later, and wiped at the end.
 */
#pragma once

#include "mpc/check/check.h"
#include "mpc/kernel/kernel.h"

/* One group of the longest relations. */
#define CHECK_CHUNK ((4 * RECORD_PRODUCTS + 2) * KERNEL_GROUP * sizeof(uint64_t)) /* bytes */

struct check_chunks {
    void **spare;
    size_t spares, room, all; /* all: those in use too */
};

/* What is taken can always be given back. ERR_NOMEM. */
enum err check_chunks_take(struct check_chunks *chunks, void **chunk) MUST_CHECK;
void check_chunks_give(struct check_chunks *chunks, void *chunk);
void check_chunks_free(struct check_chunks *chunks);
