/*
 * mpc/pair/garbled.h - a garbled computation of two messages, in portions that fit memory.
 *
 *   K -> P   matrix   for each portion: the keeper's input bits (labels.h)
 *   P -> K   tables   for each portion: key, seed, two rows an AND, and for each output bit the
 *                     lowest bit of its zero label
 * The keeper learns the outputs. A portion's key, seed and labels are its own. Both messages are
 * streams: functions to make and to take their bytes in order, as a net_flow calls them, or all at
 * once. Nothing of the second exists before its first byte is asked for.
 *
 * Cost of a portion: 16 bytes for each of the keeper's bits, rounded up to 128 of them; 32 for each
 * AND, an eighth for each output, and 32.
 * LEAKS: the outputs, to the keeper; sizes, which both know beforehand.
 */
#pragma once

#include "mpc/pair/pair.h"

#include <stddef.h>

struct pair_run;

/* Before its pair is freed. If a matrix has begun and not ended, the pair is of no more use. */
void pair_run_free(struct pair_run **run);

/* What a computation takes: bytes of its messages, and ANDs. It follows from sizes alone. */
struct pair_cost {
    size_t matrix, tables;
    uint64_t ands; /* four words that bits choose (squares.h) count as one */
};
struct pair_cost pair_run_cost(const struct pair_run *run);
size_t pair_run_matrix(const struct pair_run *run);
size_t pair_run_tables(const struct pair_run *run);

/*
 * The next n bytes, at `offset`: callbacks of a struct net_flow, whose `self` is the run. The
 * keeper sends a matrix and takes tables. ERR_MISUSE: at the wrong end, out of order, or again.
 */
enum err pair_send_matrix(void *run, size_t offset, uint8_t *out, size_t n) MUST_CHECK;
enum err pair_take_matrix(void *run, size_t offset, const uint8_t *in, size_t n) MUST_CHECK;
enum err pair_send_tables(void *run, size_t offset, uint8_t *out, size_t n) MUST_CHECK;
enum err pair_take_tables(void *run, size_t offset, const uint8_t *in, size_t n) MUST_CHECK;
