/*
 * parties/server/worker.h - the thread of a server that computes: sessions with the two others,
 * rounds for an analyst.
 *
 * An analyst sends each request to all three, and each worker takes it from its gate's port. Server
 * 0's worker opens the sessions: for the OPEN that it takes up it proposes one, which those of 1
 * and 2 join. Whatever else is asked goes to the session that is open, or is refused. Any failure
 * ends the session at all three; what was debited stays debited.
 */
#ifndef TREFOIL_PARTIES_SERVER_WORKER_H
#define TREFOIL_PARTIES_SERVER_WORKER_H

#include "aim/ledger.h"
#include "netio/gate.h"
#include "netio/transport.h"
#include "parties/audit/audit.h"
#include "parties/server/status.h"
#include "parties/store/store.h"
#include "parties/study/bounds.h"

#include <stdatomic.h>

/* Who a gate's message comes from: its `user` number is role << 24 | index in the study. */
static inline uint32_t role_user(enum role role, size_t index)
{
    return (uint32_t)role << 24 | (uint32_t)index;
}

/* Of control links, which carry handshakes. */
#define WORKER_CONTROL_MAX ((size_t)40 << 10)

struct worker_options {
    const struct study *study;
    const struct identity *me;
    const struct bounds *bounds;
    const struct ledger_limits *limits; /* of a ledger without debits: price_limits() */
    unsigned index;
    struct store *store;
    struct audit *audit;
    struct status *status; /* of this server; the worker's fields of it */
    struct transport *control;
    struct transport *const *bulk; /* of each lane that this server can use */
    unsigned lanes;                /* so many */
    struct gate *gate;
    atomic_bool *stop; /* set by another thread: end soon; by the worker: it has ended */
    struct log *log;
};

struct worker;

/* Works in a thread of its own until *stop, or until the store or the links fail. */
enum err worker_start(struct worker **worker, const struct worker_options *options) MUST_CHECK;
/* After *stop; what the worker ended with. */
enum err worker_stop(struct worker **worker);

#endif
