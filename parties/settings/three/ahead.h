/*
 * parties/settings/three/ahead.h - noise that idle servers make before a run, for a run to take.
 *
 * Idle servers open a session for noise alone (worker_ahead.c). They make as many blocks of it as
 * the study's plan may take (price_ahead()), prove them where the study has security: abort, and
 * keep them sealed (parties/store/store_ahead.h). When a session opens, the three compare which
 * blocks they have (parties/settings/ahead_talk.h), and use only those that all three have. A
 * request that needs more noise than the tape has takes these blocks before new noise is made: each
 * is deleted from the disk and put at the end of the session's tape. From there on the rules of a
 * tape hold: a round's range is staged, compared and bound. Noise that a session took and did not
 * use is lost with the session.
 *
 * The tape's id follows from the blocks that the three have agreed on, so servers who heard
 * different lists have different tapes, and open nothing.
 *
 * LEAKS: nothing secret; names are digests of public values.
 */
#pragma once

#include "parties/settings/ahead_talk.h"
#include "protocols/tape.h"

/*
 * Moves blocks to the tape until it has `count` more samples of each kind, or no blocks are left.
 * ERR_AGAIN, logged, if a block cannot be used: all blocks are deleted, and the session should end.
 */
enum err ahead_take(struct ahead *ahead, struct store *store, const struct study *study,
                    struct tape *tape, const size_t count[NOISE_LAWS], struct log *log) MUST_CHECK;

/* The name of the i-th block of a kind that a session made. */
void ahead_name(const uint8_t session[32], enum noise_law kind, size_t i, uint8_t name[AHEAD_NAME]);
