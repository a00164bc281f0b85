/*
 * parties/server/ahead.h - noise made before a run, while the servers are idle, and taken by one.
 *
 * Servers that nobody asks for anything open a session for noise alone (worker_ahead.c). They make
 * blocks of it, as many as the study's plan may take (price_ahead()), prove them where the study
 * has security: abort, and keep them sealed (parties/store/store_ahead.h). When a run's session
 * opens, the three compare which blocks they have (parties/server/round_ahead.h). A request that
 * needs more noise than the tape has takes blocks before any is made: each is deleted from the disk
 * and put at the end of the session's tape. From there on the rules of a tape hold: a round's range
 * is staged, compared and bound. What a session took and did not use is lost with it.
 *
 * The tape's id follows from the blocks that the three have agreed on, so servers who heard
 * different lists have different tapes, and open nothing.
 */
#ifndef TREFOIL_PARTIES_SERVER_AHEAD_H
#define TREFOIL_PARTIES_SERVER_AHEAD_H

#include "parties/store/store_ahead.h"

/* The blocks that a session may still take. */
struct ahead {
    struct ahead_blocks blocks;
    size_t next[TAPE_KINDS];
};

/*
 * Moves blocks to the tape until it has `count` more samples of each kind, or there are no blocks.
 * ERR_AGAIN, logged, where one cannot be used: all are gone, and so should the session be.
 */
enum err ahead_take(struct ahead *ahead, struct store *store, const struct study *study,
                    struct tape *tape, const size_t count[TAPE_KINDS], struct log *log) MUST_CHECK;

/* A block's name: of the session that made it, the i-th of its kind there. */
void ahead_name(const uint8_t session[32], enum tape_kind kind, size_t i, uint8_t name[AHEAD_NAME]);

#endif
