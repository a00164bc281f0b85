/*
 * netio/transport.h - ordered, bounded message queues to the two neighbours.
 *
 * A transport moves whole messages; it knows nothing of what is in them. Three kinds exist: ZeroMQ
 * with CURVE (control links), ZeroMQ bare (bulk links, sealed one layer up) and in-process queues
 * (three parties as threads of one test). Each direction of each link is a queue of bounded length:
 * a full one gives ERR_AGAIN, so that memory is bounded and the caller can receive meanwhile.
 *
 * One thread uses a transport at a time.
 */
#ifndef TREFOIL_NETIO_TRANSPORT_H
#define TREFOIL_NETIO_TRANSPORT_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

/* Server i's neighbours: NET_PREV is server i-1, NET_NEXT is server i+1, modulo 3. */
enum net_peer { NET_PREV = 0, NET_NEXT = 1 };

static inline unsigned net_index_of(unsigned own, enum net_peer peer)
{
    return (own + (peer == NET_NEXT ? 1 : 2)) % 3;
}

struct transport {
    const struct transport_ops *ops;
    void *self;
};

struct transport_ops {
    /* Queues a copy of head followed by body as one message. ERR_AGAIN: the queue is full. */
    enum err (*send)(void *self, enum net_peer to, const void *head, size_t head_size,
                     const void *body, size_t body_size);
    /* The next whole message from a neighbour, replacing what `message` held. ERR_AGAIN: none. */
    enum err (*receive)(void *self, enum net_peer from, struct bytes *message);
    /*
     * Waits until one of `readable` (bit 1 << peer) has a message or one of `writable` has room, or
     * until the deadline (clock_now_ms() time): then ERR_TIMEOUT.
     */
    enum err (*wait)(void *self, unsigned readable, unsigned writable, int64_t deadline);
    void (*free)(void *self);
};

enum err transport_send(struct transport *t, enum net_peer to, const void *head, size_t head_size,
                        const void *body, size_t body_size) MUST_CHECK;
enum err transport_receive(struct transport *t, enum net_peer from,
                           struct bytes *message) MUST_CHECK;
enum err transport_wait(struct transport *t, unsigned readable, unsigned writable,
                        int64_t deadline) MUST_CHECK;
/* Send and receive that wait until the deadline: for handshakes and tests. */
enum err transport_send_by(struct transport *t, enum net_peer to, const void *p, size_t n,
                           int64_t deadline) MUST_CHECK;
enum err transport_receive_by(struct transport *t, enum net_peer from, struct bytes *message,
                              int64_t deadline) MUST_CHECK;
void transport_free(struct transport **t);

/*
 * Three connected transports, one for each server of one process; `depth` messages a queue. A freed
 * one is a silent neighbour to the others, as a dead server is over a network.
 */
enum err transport_memory_new(struct transport *three[3], size_t depth) MUST_CHECK;

/* --- ZeroMQ ------------------------------------------------------------------------------------
 */

struct netio; /* netio/context.h: one a process */

struct transport_zmq_options {
    struct netio *netio;
    unsigned index;
    /* Where this server listens for each neighbour, and where it dials each: "tcp://host:port". */
    const char *listen[2];
    const char *dial[2];
    /* NULL for bare links. Otherwise CURVE: own key pair and each neighbour's public key, 32 bytes.
     */
    const uint8_t *curve_public, *curve_secret;
    const uint8_t *peer_public[2];
    size_t max_message; /* bytes; a longer message is refused by the library */
    int depth;          /* messages a queue (high-water mark) */
    struct log *log;
};

/*
 * One PULL socket a neighbour that it dials, one PUSH socket to it: what we send goes nowhere but
 * where we dialled. With CURVE, only the neighbour's key may dial in.
 */
enum err transport_zmq_new(struct transport **t, const struct transport_zmq_options *o) MUST_CHECK;

#endif
