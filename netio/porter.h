/*
 * netio/porter.h - who may stay connected to a socket, and how much memory all of them may take.
 *
 * ZeroMQ accepts every connection and reads what it sends before we can see a message. The porter
 * has a thread of its own. It hears of each connection and asks the kernel how much has come. It
 * cuts
 *
 *   - above `connections`: among those of the busiest address, the one that was silent longest;
 *   - above `of_a_key` for one key: among those of that key, the one that was silent longest;
 *   - above `memory` bytes that wait, in whole messages or parts: the connection with the most, of
 *     whoever has the most in all;
 *   - one whose message is not complete after PORTER_MESSAGE_MS.
 *
 * So a client that opens many connections or fills memory harms only itself. An honest client that
 * is cut dials again.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

/* The longest that a message may take to arrive: 35 kbit/s for one of 256 KiB. */
#define PORTER_MESSAGE_MS 60000

struct porter;

struct porter_options {
    void *context, *socket; /* ZeroMQ's; a CURVE server */
    size_t connections;
    int64_t settled_ms; /* an older connection is not cut to make room; 0: it may be */
    size_t memory;      /* 0: no bound, and what follows has no effect */
    size_t of_a_key;
    int64_t message_ms; /* 0: PORTER_MESSAGE_MS */
    struct log *log;
};

/* Before the socket is bound. This and all below are for the thread that has the socket. */
enum err porter_new(struct porter **porter, const struct porter_options *o) MUST_CHECK;
/* Before the socket is closed. */
void porter_free(struct porter **porter);

/*
 * A connection that messages came on: its descriptor (ZMQ_SRCFD), which may be another's by the
 * time its messages are taken, and its own number, as a ROUTER gives them; 0: not known.
 */
struct porter_line {
    int fd;
    uint32_t number;
};

/*
 * Reports that a message was taken: the line that it came on, whose key that is, and its bytes.
 */
void porter_took(struct porter *porter, struct porter_line line, uint32_t user, size_t bytes);
/* Reports that nothing is left to take. */
void porter_idle(struct porter *porter);
/*
 * Cuts a connection that breaks the protocol, with a message of so many bytes, or 0 where
 * porter_took() had it. One that has its descriptor by now, and was not heard yet, stays.
 */
void porter_cut(struct porter *porter, struct porter_line line, size_t bytes);
