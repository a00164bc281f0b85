/*
 * tests/support/wire.h - what the three servers of one process say to each other, as digests.
 *
 * Keys are fixed, so that the same protocol sends the same words each time. A digest covers all
 * that a server sends, in the clear: each round's number, to whom, and the bytes, in order. It does
 * not depend on how they are cut into frames.
 */
#pragma once

#include "harness/three.h"

/*
 * Runs the job as three_run(); digest[i]: the first 4 bytes of server i's. Not in two threads at
 * once.
 */
enum err wire_run(uint64_t seed, three_job job, void *shared, uint32_t digest[3]);
