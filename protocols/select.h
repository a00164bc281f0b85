/*
 * protocols/select.h - the secure exponential mechanism: report-noisy-max with Gumbel noise.
 *
 *   index = lowest argmax over q of  m_q (score_q - penalty_q) + 2^(f-24) g_q
 *
 * score_q is one of protocols/score.h, g_q are the next Gumbels of the tape (one a candidate, in
 * their order), m_q and penalty_q public integers. LEAKS: the index, through mpc/circuits/argmax.h,
 * with reason SELECTED_INDEX. Exchanges: those of the score, then those of argmax_open().
 */
#pragma once

#include "mpc/circuits/argmax.h"
#include "protocols/score.h"
#include "protocols/tape.h"

struct select_request {
    size_t candidates;
    struct score_candidate *candidate;
    uint64_t *multiplier; /* m_q */
    uint64_t *penalty;    /* on the score's grid */
    unsigned shift;       /* f, 24 .. 40 */
    unsigned width;       /* bits that any difference of two values needs, signed; at most 64 */
    bool squared;         /* scores are score_l2(), and penalties integers; else score_l1() */
    const uint8_t *seed;  /* ARGMAX_SEED_SIZE bytes, may arrive meanwhile: mpc/circuits/argmax.h */
};

/* The Gumbels must have been reserved. */
enum err select_index(struct party *p, const struct counts *counts, struct tape *tape,
                      const struct select_request *request, size_t *index) MUST_CHECK;
