/*
 * parties/server/worker.h - the thread of a server that computes: sessions with the two others,
 * rounds for an analyst.
 *
 * An analyst sends each request to all servers, and each worker takes it from its gate's port.
 * Server 0's worker opens the sessions: for each OPEN that it takes up it proposes one, and the
 * workers of servers 1 and 2 join it. Any other request goes to the open session, or is refused.
 * Any failure ends the session at all servers; what was debited stays debited.
 */
#pragma once

#include "parties/server/site.h"
#include "parties/setting/setting.h"

/* The longest message of a control link, which carries handshakes. */
#define WORKER_CONTROL_MAX ((size_t)40 << 10)

struct worker;

/* Starts a thread that works until *stop, or until the store or the links fail. */
enum err worker_start(struct worker **worker, struct site *site,
                      const struct setting *setting) MUST_CHECK;
/* After *stop; returns what the worker ended with. */
enum err worker_stop(struct worker **worker);
