/*
 * tests/support_wire.h - what the three servers of one process say to each other, as digests.
 *
 * Keys are fixed, so that the same protocol sends the same words each time. A digest is over all
 * that a server sends, in clear: each round's number, to whom, and the bytes, in order. How they
 * are cut into frames is not in it.
 */
#ifndef TREFOIL_TESTS_SUPPORT_WIRE_H
#define TREFOIL_TESTS_SUPPORT_WIRE_H

#include "tests/support_three.h"

/*
 * Runs the job as three_run(); digest[i]: the first 4 bytes of server i's. Not in two threads at
 * once.
 */
enum err wire_run(uint64_t seed, three_job job, void *shared, uint32_t digest[3]);

#endif
