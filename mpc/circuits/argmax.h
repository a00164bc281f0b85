/*
 * mpc/circuits/argmax.h - the index of the largest of m shared values, and nothing else.
 *
 * All pairs a < b are compared in one layer: a loses iff v_a < v_b, b loses otherwise; so the
 * lowest index wins a tie, and exactly one value never loses. The losses of q are packed into W_q
 * in GF(2^64) by public random coefficients (local), and W_q R_q is opened for a shared random R_q:
 *   each i -> both   summand of W_q R_q, masked               2 m elements a server
 * It is 0 for the winner and uniform for the others. It fails with probability at most 2 m 2^-64:
 * a loser's W_q or R_q is 0 by chance. The winner's product is always 0, so several indices are
 * left then and the result is ERR_RANGE, or ERR_CHEAT under a check, never another index. The same
 * if none is left.
 *
 * Exchanges: those of compare_top_bit(), at most 5, and 1 to open. Pairs are compared 2^20 at a
 * time, so that memory stays below 150 MiB; above 1448 values the comparisons' exchanges repeat.
 * LEAKS: the index.
 */
#pragma once

#include "mpc/party/party.h"

#define ARGMAX_SEED_SIZE 32
/*
 * The most values: more would weaken what a check promises (docs/proofs.md), or take too long.
 */
#define ARGMAX_MOST 65536
#define ARGMAX_MOST_CHECKED 16384
#define ARGMAX_TAU (2 * 0x1p-64) /* what each value adds to the chance that the call fails */

/*
 * Differences of any two values must fit in `width` bits, signed; width <= 64. `seed` is the same
 * at all three, from fresh bytes of each server that were fixed after everything else was. It is
 * read once the first pairs have been compared: it may arrive as late as that.
 */
enum err argmax_open(struct party *p, struct share64 values, unsigned width,
                     const uint8_t seed[ARGMAX_SEED_SIZE], size_t *index) MUST_CHECK;
