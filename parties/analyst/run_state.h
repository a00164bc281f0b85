/*
 * parties/analyst/run_state.h - what a run keeps in its folder so that it can go on after any
 * crash: which run it is, and its last two requests, as bytes.
 *
 * A request is on disk before it is sent. When the loop goes on, it computes the request again, but
 * sends the stored bytes, since servers answer a round's one request and no other. With
 * aim/run/loop.h's state file beside it, that is all that a run needs. The loop writes that file
 * while the servers work on the next round: after a crash it may lack the round before. That
 * round's request is therefore kept as well. It is sent again, and answered at no cost.
 *
 *   DIR/run.state   "trefoil-run-4\n"; terms digest (32); run (16); f64 the budget that earlier
 *                   runs left it, 0: all; for the last request and the one before: u32 round of
 *                   the loop, u32 how often the servers have lost that round, block request, empty
 *                   where there is none; u32 sequence of the last; u8 whether the run was ended at
 *                   the servers; 32 bytes, BLAKE2b-256 of all before. A run that trefoil 0.2 began
 *                   keeps version 3, which lacks the f64
 *   DIR/loop.state  aim/run/loop.h
 *   DIR/look.state  what a look opened, as parties/analyst/replies.h
 *   DIR/run.lock    locked while a run works here
 */
#pragma once

#include "base/file.h"
#include "parties/exchange/request.h"
#include "parties/study/study.h"

struct run_state_asked {
    uint32_t round;
    uint32_t skipped;     /* sequence numbers at which the servers have lost it */
    struct bytes request; /* empty: nothing was asked */
};

struct run_state {
    char path[FILE_PATH], loop_path[FILE_PATH], look_path[FILE_PATH];
    int lock;
    const struct study *study; /* borrowed */
    uint8_t run[REQUEST_RUN_SIZE];
    double left; /* the budget rho that earlier runs left it; 0: it has all */
    struct run_state_asked last, before;
    struct run_state_asked *asked; /* the one of these that is asked now */
    uint32_t sequence;             /* of the last */
    bool ended;                    /* the servers know that the run has ended */
    bool earlier;                  /* trefoil 0.2 began it, whose limits counted one-ways once */
    const uint8_t *lost; /* borrowed; NULL unless it is a lost run that is asked for again */
    struct log *log;
};

/*
 * Takes the folder, which must exist, for this process: ERR_REFUSED, logged, while another one has
 * it. Goes on with the run that is there, or begins one: a new run or, if `lost` is not NULL, that
 * run from its first round on, since its folder is lost. ERR_MISMATCH, logged, if the run there
 * belongs to another study, or is not `lost`.
 */
enum err run_state_open(struct run_state **state, const char *folder, const struct study *study,
                        const uint8_t *lost, struct log *log) MUST_CHECK;
void run_state_close(struct run_state **state);

/* Whether a request may have been sent. */
bool run_state_begun(const struct run_state *state);
/* Notes that the servers know that the run has ended. */
enum err run_state_end(struct run_state *state) MUST_CHECK;

#define RUN_STATE_LOOK UINT32_MAX /* instead of a round: the look before the loop */

/*
 * The bytes to send for a round, valid until the next call: those kept if it was asked before, else
 * those of `ask`, kept from now on. A look has RUN_STATE_LOOK instead of its round. ERR_MISMATCH,
 * logged, if other marginals were asked for before; ERR_DATA for a round before those kept.
 */
enum err run_state_request(struct run_state *state, const struct ask *ask,
                           const struct bytes **bytes) MUST_CHECK;
/*
 * The servers have lost this round: it is asked again as the next one, unless another was asked
 * after it.
 */
enum err run_state_skip(struct run_state *state, const struct ask *ask,
                        const struct bytes **bytes) MUST_CHECK;
