/*
 * netio/dial.h - the side that knocks at a server's gate: a CURVE DEALER socket that knows the
 * server's key.
 *
 * Only one thread uses a dial.
 */
#pragma once

#include "base/bytes.h"
#include "netio/context.h"

#include <stdatomic.h>

struct dial;

struct dial_options {
    struct netio *netio;
    const char *endpoint;
    const char *name;             /* the server's, for messages; may be NULL */
    const uint8_t *server_public; /* CURVE key that the server must hold */
    const uint8_t *curve_public, *curve_secret;
    size_t max_message;
    bool impatient; /* if watched: does not wait if nobody listens or our key is turned away */
    const atomic_bool *stop; /* waiting ends with ERR_PEER once it is set; NULL: never */
    struct log *log;
};

enum err dial_new(struct dial **dial, const struct dial_options *o) MUST_CHECK;
void dial_free(struct dial **dial);
/*
 * From now on dial_receive() is ERR_PEER if the connection broke after the last dial_send() began
 * and no message is left to read. Then our message or its answer is lost, and there is nothing to
 * wait for. (ZeroMQ connects again by itself, but sends nothing twice, and drops what it had not
 * read.) If the server has refused us, the next dial_send() also dials it again. Call this right
 * after dial_new().
 */
enum err dial_watch(struct dial *dial) MUST_CHECK;
/* Takes in what the watch has seen: call it now and then while nothing is sent. */
void dial_tend(struct dial *dial);
/*
 * Waits until the server has admitted us. ERR_TIMEOUT, logged: it is silent, unreachable or refuses
 * our key. An impatient, watched dial reports the last two at once: ERR_TIMEOUT and ERR_AUTH.
 */
enum err dial_reach(struct dial *dial, int64_t deadline) MUST_CHECK;
/*
 * The server was there and will be back: from now on an impatient dial waits until it listens
 * again.
 */
void dial_expect(struct dial *dial);
/*
 * Reaches it, then sends. `more`: this belongs to the previous message; then the dial must be
 * watched, and ERR_PEER says that its connection has broken since that message.
 */
enum err dial_send(struct dial *dial, bool more, const void *p, size_t n,
                   int64_t deadline) MUST_CHECK;
enum err dial_receive(struct dial *dial, struct bytes *message, int64_t deadline) MUST_CHECK;
/* Adds the bytes of messages so far (without the transport's own framing). */
void dial_traffic(const struct dial *dial, uint64_t *sent, uint64_t *received);
