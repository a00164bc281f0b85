/*
 * netio/gate.h - where owners, analysts and neighbours knock (netio/dial.h is their side).
 *
 * The gate is a CURVE ROUTER socket owned by one thread, the front. Only keys admitted to the
 * domain "gate" (netio_allow) get through; every message carries the `user` number of its key, so
 * that a sender cannot claim to be another. A message is one frame; requests and replies are
 * matched by the programs above. The gate cuts whoever sends an empty message, one in several
 * frames, or one longer than max_message. At most two messages of a connection wait, and 64 of its
 * answers. The number of connections and the memory of all that waits are bounded too
 * (netio/porter.h). A second thread, the worker, has the gate's port: the front passes messages to
 * it, and its replies go out through the front.
 */
#pragma once

#include "base/bytes.h"
#include "netio/context.h"

#include <stdbool.h>

#define GATE_ROUTE 5
#define GATE_BACKLOG 64         /* messages that wait for the worker */
#define GATE_WAITING_OF_A_KEY 2 /* of those, from one key */
/* Unless gate_options says otherwise. Anything longer than a message goes in parts. */
#define GATE_MESSAGE ((size_t)264 << 10)
#define GATE_CONNECTIONS 1000          /* at a time, if the process may open as many */
#define GATE_OF_A_KEY 16               /* of those, with one key */
#define GATE_MEMORY ((size_t)32 << 20) /* for what they have sent and nobody has taken */

/* Guests (netio_allow_guests()) have numbers from here on, others below. */
#define GATE_GUEST UINT32_C(0x80000000)

/* Who sent a message: enough to answer. A plain value. */
struct gate_client {
    uint32_t user;
    bool guest;      /* `user` is GATE_GUEST and a hash of the key under a secret of the gate */
    uint8_t key[32]; /* CURVE key of a guest */
    int fd;          /* of its connection */
    uint8_t route[GATE_ROUTE];
};

/* Of its connection: each has one more than the one that came before it, modulo 2^32. */
static inline uint32_t gate_number(const struct gate_client *c)
{
    const uint8_t *r = c->route + 1;
    return (uint32_t)r[0] << 24 | (uint32_t)r[1] << 16 | (uint32_t)r[2] << 8 | r[3];
}

/* Whether its connection came before the one of this number. */
static inline bool gate_is_earlier(const struct gate_client *c, uint32_t number)
{
    return gate_number(c) - number > INT32_MAX;
}

/*
 * Answers that may wait for a client; more are dropped. ZeroMQ learns what was read in steps of
 * half as many: a client with more than GATE_REPLIES / 2 messages under way may lose an answer.
 */
#define GATE_REPLIES 64

struct gate;
struct gate_port;

struct gate_options {
    struct netio *netio;
    const char *listen; /* "tcp://0.0.0.0:7100" */
    const uint8_t *curve_public, *curve_secret;
    /* 0: as above; see netio/porter.h */
    size_t max_message, max_connections, max_of_a_key, max_memory;
    int64_t message_ms;
    struct log *log;
};

enum err gate_new(struct gate **gate, const struct gate_options *o) MUST_CHECK;
void gate_free(struct gate **gate);

/*
 * The worker's end, or NULL when memory is short. Make it once, before the worker starts; use it in
 * the worker's thread alone, and free it there or once that thread has ended.
 */
struct gate_port *gate_port(struct gate *gate);
void gate_port_free(struct gate_port **port);

/*
 * Front: the next message of a client, ERR_TIMEOUT if none comes; meanwhile forwards the worker's
 * replies. ERR_NOMEM: a message from `from` was lost.
 */
enum err gate_receive(struct gate *gate, struct gate_client *from, struct bytes *message,
                      int64_t deadline) MUST_CHECK;
/* Front: answers a client. One that has gone, or does not read, loses the answer: no error. */
enum err gate_reply(struct gate *gate, const struct gate_client *to, const void *p,
                    size_t n) MUST_CHECK;
/* Front: ends the connection that a message came on; whatever else it has sent is dropped. */
void gate_cut(struct gate *gate, const struct gate_client *who);
/*
 * Front: hands a client's message to the worker. ERR_AGAIN: GATE_WAITING_OF_A_KEY messages of this
 * key wait already, or GATE_BACKLOG of all, or there is no worker; the client should be told to try
 * later.
 */
enum err gate_pass(struct gate *gate, const struct gate_client *from, const void *p,
                   size_t n) MUST_CHECK;

/*
 * Like their namesakes at the front, but ERR_AGAIN once `other`, a ZeroMQ socket or NULL, is
 * readable. A reply that the front does not take within ten seconds is ERR_TIMEOUT.
 */
enum err gate_port_receive(struct gate_port *port, struct gate_client *from, struct bytes *message,
                           void *other, int64_t deadline) MUST_CHECK;
enum err gate_port_reply(struct gate_port *port, const struct gate_client *to, const void *p,
                         size_t n) MUST_CHECK;
