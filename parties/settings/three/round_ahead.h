/*
 * parties/settings/three/round_ahead.h - which blocks of noise made ahead all three servers have
 * when a session opens.
 *
 *   all -> all   names of the blocks: 2 kB, which ride on the session's first exchange
 *
 * A session uses only what all three have named, and each server deletes a block before using it.
 * So a block that any one of them has used is not used again, whatever backups the two others were
 * restored from. LEAKS: nothing secret; names are digests of public values.
 */
#ifndef TREFOIL_PARTIES_SETTINGS_THREE_ROUND_AHEAD_H
#define TREFOIL_PARTIES_SETTINGS_THREE_ROUND_AHEAD_H

#include "netio/net.h"
#include "parties/store/store_ahead.h"

#define ROUND_AHEAD_SIZE (TAPE_KINDS * AHEAD_BLOCKS * AHEAD_NAME)

struct round_ahead {
    struct ahead_blocks common; /* once heard: what all three have, in order */
    uint8_t sent[ROUND_AHEAD_SIZE], came[2][ROUND_AHEAD_SIZE];
};

/* Lets the names ride on the next exchange; `talk` must not move until then. */
void round_ahead(struct round_ahead *talk, struct net *net, const struct ahead_blocks *own);

/* A digest of the common blocks, for what has to differ if they do. */
void round_ahead_digest(const struct round_ahead *talk, uint8_t digest[32]);

#endif
