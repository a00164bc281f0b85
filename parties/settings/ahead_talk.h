/*
 * parties/settings/ahead_talk.h - which blocks of noise (parties/store/store_ahead.h) all servers
 * of a session have: only these does it use.
 *
 *   all -> all   names of the blocks: 2 kB, which ride on the session's first exchange
 *
 * Each server deletes a block before using it. So a block that any one of them has used is not used
 * again, whatever backups the others were restored from.
 *
 * LEAKS: nothing secret; names are digests of public values, or random.
 */
#pragma once

#include "netio/net.h"
#include "parties/server/site.h"
#include "parties/store/store_ahead.h"

struct ahead_talk {
    struct ahead_blocks common; /* once heard: what all have, in order */
    unsigned servers;
    /* as in struct ahead_blocks; zeros where there are fewer */
    uint8_t sent[NOISE_LAWS][AHEAD_BLOCKS][AHEAD_NAME],
        came[2][NOISE_LAWS][AHEAD_BLOCKS][AHEAD_NAME];
};

/* The blocks that a session may still take. */
struct ahead {
    struct ahead_blocks blocks;
    size_t next[NOISE_LAWS];
};

/* Lets the names ride on the next exchange; `talk` must not move until then. */
void ahead_talk(struct ahead_talk *talk, struct net *net, const struct ahead_blocks *own);
/* A digest of the common blocks, for what has to differ if they do. */
void ahead_digest(const struct ahead_talk *talk, uint8_t digest[32]);

/* Shows in a server's status how much is here; deletes all of it if the budget is spent. */
void ahead_show(struct site *site);
void ahead_drop(struct site *site);
