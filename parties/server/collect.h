/*
 * parties/server/collect.h - the uploads that a session counts: the three servers agree on a list
 * of them, then add them up a group at a time, so that memory follows from the largest uploads and
 * not from how many there are.
 */
#ifndef TREFOIL_PARTIES_SERVER_COLLECT_H
#define TREFOIL_PARTIES_SERVER_COLLECT_H

#include "netio/net.h"
#include "parties/exchange/request.h"
#include "parties/server/engine.h"
#include "parties/store/store_rounds.h"

#include <stdatomic.h>

struct collector {
    const struct study *study;
    struct store *store;
    struct net *net;
    const struct session *session;
    struct engine *engine;
    atomic_uint *adding; /* how far it is: status.h */
    struct log *log;
};

/*
 * Counts the uploads that a run begins or goes on with; ERR_AGAIN, logged, if fewer owners than the
 * study wants are here. `late`: those that have come between its rounds. `ids` and `digest` become
 * those of what is counted.
 */
enum err collect_uploads(const struct collector *g, const uint8_t run[REQUEST_RUN_SIZE], bool late,
                         struct bytes *ids, uint8_t digest[32]) MUST_CHECK;

#endif
