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

#include "parties/server/site.h"

/* The longest message of a control link, which carries handshakes. */
#define WORKER_CONTROL_MAX ((size_t)40 << 10)

struct worker;

/* Works in a thread of its own until *stop, or until the store or the links fail. */
enum err worker_start(struct worker **worker, struct site *site) MUST_CHECK;
/* After *stop; what the worker ended with. */
enum err worker_stop(struct worker **worker);

#endif
