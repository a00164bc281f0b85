/*
 * netio/transport.h - ordered, bounded message queues to one or two neighbours.
 *
 * A transport moves whole messages; it knows nothing of their contents. Two kinds exist: ZeroMQ
 * with CURVE (control links) and ZeroMQ bare (bulk links, sealed one layer up). Tests have a third,
 * in-process queues (harness/transport.h). Each direction of each link is a queue of bounded
 * length: a full one gives ERR_AGAIN, so that memory is bounded and the caller can receive
 * meanwhile.
 *
 * Only one thread uses a transport at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Server i's neighbours, modulo their number: NET_PREV is server i-1, NET_NEXT is server i+1. Of
 * two servers, each has one neighbour, NET_PREV.
 */
enum net_peer { NET_PREV = 0, NET_NEXT = 1 };

static inline unsigned net_neighbour_of(unsigned servers, unsigned own, enum net_peer peer)
{
    return (own + (peer == NET_NEXT ? 1 : servers - 1)) % servers;
}

/* What a server is to its neighbour `peer`. */
static inline enum net_peer net_back(unsigned servers, enum net_peer peer)
{
    return servers > 2 && peer == NET_PREV ? NET_NEXT : NET_PREV;
}

/* For what only three servers do. */
static inline unsigned net_index_of(unsigned own, enum net_peer peer)
{
    return net_neighbour_of(3, own, peer);
}

#define TRANSPORT_NEWS (1u << 2) /* beside the bits of both peers */

struct transport {
    const struct transport_ops *ops;
    void *self;
};

/*
 * A message in a buffer of the transport, so that a frame is sealed where ZeroMQ sends it from and
 * opened where ZeroMQ received it. Whoever holds one sends it or drops it, with the transport that
 * it came from; it stays at its address meanwhile. All zeros: no message.
 */
struct transport_message {
    uint8_t *data; /* may be written; aligned to 16 bytes where it is long */
    size_t size;
    bool held;
    union {
        void *pointer[8]; /* the transport's own */
    } own;
};

struct transport_ops {
    /* A message of `size` bytes for the caller to fill; they are not cleared. */
    enum err (*make)(void *self, size_t size, struct transport_message *m);
    /* Queues a message; m holds none then. ERR_AGAIN: the queue is full; m stays as it is. */
    enum err (*send)(void *self, enum net_peer to, struct transport_message *m);
    /* The next message from a neighbour, for an m that holds none. ERR_AGAIN: nothing came. */
    enum err (*receive)(void *self, enum net_peer from, struct transport_message *m);
    void (*drop)(void *self, struct transport_message *m);
    /*
     * Waits until one of `readable` (bit 1 << peer) has a message or one of `writable` has room, or
     * until the deadline (clock_now_ms() time): then ERR_TIMEOUT. With TRANSPORT_NEWS in
     * `readable`, also until something has happened to a connection.
     */
    enum err (*wait)(void *self, unsigned readable, unsigned writable, int64_t deadline);
    /* May be NULL, where no connection can break: see transport_broken() and transport_forget(). */
    unsigned (*broken)(void *self);
    void (*forget)(void *self);
    unsigned (*standing)(void *self); /* may be NULL; see transport_standing() */
    void (*free)(void *self);         /* with the transport */
};

enum err transport_make(struct transport *t, size_t size, struct transport_message *m) MUST_CHECK;
enum err transport_push(struct transport *t, enum net_peer to,
                        struct transport_message *m) MUST_CHECK;
enum err transport_pull(struct transport *t, enum net_peer from,
                        struct transport_message *m) MUST_CHECK;
/* Does nothing to a message that holds none. */
void transport_drop(struct transport *t, struct transport_message *m);
enum err transport_wait(struct transport *t, unsigned readable, unsigned writable,
                        int64_t deadline) MUST_CHECK;

/*
 * The neighbours (bit 1 << peer) to whom our connection has broken since transport_forget(): such a
 * server has ended, or the network has cut it off. What it sent before may still wait to be read.
 */
unsigned transport_broken(struct transport *t);
void transport_forget(struct transport *t);
/* The neighbours (bit 1 << peer) to whom our connection stands. */
unsigned transport_standing(struct transport *t);

/* For short messages, with a copy: bytes as one message; a message into bytes. */
enum err transport_send(struct transport *t, enum net_peer to, const void *p, size_t n) MUST_CHECK;
enum err transport_receive(struct transport *t, enum net_peer from,
                           struct bytes *message) MUST_CHECK;
/* Waits until the deadline for room. */
enum err transport_send_by(struct transport *t, enum net_peer to, const void *p, size_t n,
                           int64_t deadline) MUST_CHECK;
void transport_free(struct transport **t);

/* --- ZeroMQ ----------------------------------------------------------------------------------- */

struct netio; /* netio/context.h: one per process */

struct transport_zmq_options {
    struct netio *netio;
    unsigned servers, index;
    /* Where this server listens for each neighbour, and where it dials each: "tcp://host:port". */
    const char *listen[2];
    const char *dial[2];
    /*
     * NULL for bare links, which have to be opened. Otherwise CURVE: own key pair and each
     * neighbour's public key, 32 bytes.
     */
    const uint8_t *curve_public, *curve_secret;
    const uint8_t *peer_public[2];
    size_t max_message; /* bytes; a longer message is refused by the library */
    /*
     * Messages per queue (high-water mark). On a stream 2 to 8 long frames are as fast as more; 16
     * of 512 KiB fall out of the cache (0.88 CPU seconds a GB instead of 0.67). The kernel's own
     * socket buffers stay as they are: 128 KiB to 4 MiB made no difference beyond noise, and a
     * fixed size cannot grow with delay.
     */
    int depth;
    struct log *log;
};

/*
 * For each neighbour, a PULL socket that it dials and a PUSH socket to it: what we send goes only
 * where we dialled. With CURVE, only the neighbour's key may dial in. Bare links dial nobody, and
 * nobody gets in, until they are opened.
 */
enum err transport_zmq_new(struct transport **t, const struct transport_zmq_options *o) MUST_CHECK;

#define TRANSPORT_PASS_SIZE 32
/*
 * What the dialling end of a bare link shows and the other expects: a secret of the two. Indexed by
 * neighbour.
 */
struct transport_passes {
    uint8_t show[2][TRANSPORT_PASS_SIZE], expect[2][TRANSPORT_PASS_SIZE];
};
/* Bare links are opened for a session. First, this lets in whoever shows the expected pass. */
enum err transport_zmq_admit(struct transport *t,
                             const uint8_t expect[2][TRANSPORT_PASS_SIZE]) MUST_CHECK;
/* Says where to dial them from now on, if that is known only once there is a session. */
enum err transport_zmq_aim(struct transport *t, const char *const dial[2]) MUST_CHECK;
/* Then, when all neighbours have done the same, this dials them. */
enum err transport_zmq_dial(struct transport *t,
                            const uint8_t show[2][TRANSPORT_PASS_SIZE]) MUST_CHECK;
/* The socket that a neighbour's messages come on, to wait for it beside others. */
void *transport_zmq_socket(struct transport *t, enum net_peer from);
/* Disconnects from all, lets nobody in, and drops what has come. The links need not be open. */
void transport_zmq_close(struct transport *t);
