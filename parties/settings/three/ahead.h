/*
 * parties/settings/three/ahead.h - noise that idle servers make before a run, for a run to take.
 *
 * Idle servers open a session for noise alone (worker_ahead.c). They make as many blocks of it as
 * the study's plan may take (price_ahead()), prove them where the study has security: abort, and
 * keep them sealed (parties/store/store_ahead.h). When a session opens, the three compare which
 * blocks they have:
 *
 *   all -> all   names of the blocks: 2 kB, which ride on the session's first exchange
 *
 * A session uses only what all three have named, and each server deletes a block before using it.
 * So a block that any one of them has used is not used again, whatever backups the two others were
 * restored from. A request that needs more noise than the tape has takes these blocks before new
 * noise is made: each is deleted from the disk and put at the end of the session's tape. From there
 * on the rules of a tape hold: a round's range is staged, compared and bound. Noise that a session
 * took and did not use is lost with the session.
 *
 * The tape's id follows from the blocks that the three have agreed on, so servers who heard
 * different lists have different tapes, and open nothing.
 *
 * LEAKS: nothing secret; names are digests of public values.
 */
#ifndef TREFOIL_PARTIES_SETTINGS_THREE_AHEAD_H
#define TREFOIL_PARTIES_SETTINGS_THREE_AHEAD_H

#include "netio/net.h"
#include "parties/store/store_ahead.h"
#include "protocols/tape.h"

struct ahead_talk {
    struct ahead_blocks common; /* once heard: what all three have, in order */
    /* as in struct ahead_blocks; zeros where there are fewer */
    uint8_t sent[NOISE_LAWS][AHEAD_BLOCKS][AHEAD_NAME],
        came[2][NOISE_LAWS][AHEAD_BLOCKS][AHEAD_NAME];
};

/* Lets the names ride on the next exchange; `talk` must not move until then. */
void ahead_talk(struct ahead_talk *talk, struct net *net, const struct ahead_blocks *own);
/* A digest of the common blocks, for what has to differ if they do. */
void ahead_digest(const struct ahead_talk *talk, uint8_t digest[32]);

/* The blocks that a session may still take. */
struct ahead {
    struct ahead_blocks blocks;
    size_t next[NOISE_LAWS];
};

/*
 * Moves blocks to the tape until it has `count` more samples of each kind, or no blocks are left.
 * ERR_AGAIN, logged, if a block cannot be used: all blocks are deleted, and the session should end.
 */
enum err ahead_take(struct ahead *ahead, struct store *store, const struct study *study,
                    struct tape *tape, const size_t count[NOISE_LAWS], struct log *log) MUST_CHECK;

/* The name of the i-th block of a kind that a session made. */
void ahead_name(const uint8_t session[32], enum noise_law kind, size_t i, uint8_t name[AHEAD_NAME]);

#endif
