#include "netio/transport.h"

#include "base/memory.h"
#include "netio/context.h"
#include "netio/pool.h"
#include "netio/socket.h"
#include "netio/watch.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

/*
 * Messages from this size on are sent from buffers of a pool: allocated by ZeroMQ, they came from
 * cold or new pages, and a stream of 1 MiB frames cost 0.82 CPU seconds a GB in place of 0.64.
 */
#define POOLED ((size_t)16 << 10)
#define SPARE 12 /* unused buffers that are kept */

struct links {
    struct transport transport;
    struct netio *netio;
    struct log *log;
    unsigned index;
    struct pool *pool; /* of long messages to be sent */
    void *pull[2], *push[2];
    struct watch *watch[2]; /* of push */
    bool curve, admitted[2];
    char domain[2][40]; /* allow-list and name of each PULL socket */
    uint8_t peer_public[2][32];
};

/* ZeroMQ's message, inside ours: it may lie within the message itself, so it is never moved. */
static zmq_msg_t *inner(struct transport_message *m)
{
    return (zmq_msg_t *)(void *)&m->own;
}

_Static_assert(sizeof(zmq_msg_t) <= sizeof((struct transport_message *)0)->own,
               "a transport's message holds a message of ZeroMQ");

static void show(struct transport_message *m)
{
    m->data = zmq_msg_data(inner(m));
    m->size = zmq_msg_size(inner(m));
    m->held = true;
}

static void give_back(void *data, void *hint)
{
    (void)hint;
    pool_put(data);
}

static enum err zmq_transport_make(void *self, size_t size, struct transport_message *m)
{
    struct links *l = self;
    void *buffer;

    if (size < POOLED) {
        if (zmq_msg_init_size(inner(m), size) != 0)
            return ERR_NOMEM;
    } else {
        buffer = pool_get(l->pool, size);
        if (buffer == NULL)
            return ERR_NOMEM;
        if (zmq_msg_init_data(inner(m), buffer, size, give_back, NULL) != 0) {
            pool_put(buffer);
            return ERR_NOMEM;
        }
    }
    show(m);
    return ERR_OK;
}

static void zmq_transport_drop(void *self, struct transport_message *m)
{
    (void)self;
    zmq_msg_close(inner(m));
    *m = (struct transport_message){0};
}

static enum err zmq_transport_send(void *self, enum net_peer to, struct transport_message *m)
{
    struct links *l = self;
    if (l->curve)
        watch_redial(l->watch[to]);
    TRY(socket_push(l->push[to], inner(m)));
    *m = (struct transport_message){0};
    return ERR_OK;
}

static enum err zmq_transport_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct links *l = self;
    TRY(socket_pull(l->pull[from], inner(m), l->domain[from], l->log));
    show(m);
    return ERR_OK;
}

static unsigned zmq_transport_broken(void *self)
{
    struct links *l = self;
    return (unsigned)watch_broke(l->watch[NET_PREV]) << NET_PREV |
           (unsigned)watch_broke(l->watch[NET_NEXT]) << NET_NEXT;
}

static void zmq_transport_forget(void *self)
{
    struct links *l = self;
    for (unsigned p = 0; p < 2; p++)
        watch_forget(l->watch[p]);
}

/* Bare links refuse nobody, so nothing but news is asked of their watches: each look would cost a round some 0.5 us. */
static enum err zmq_transport_wait(void *self, unsigned readable, unsigned writable,
                                   int64_t deadline)
{
    struct links *l = self;
    struct socket_wait w[SOCKET_WAIT_MAX];
    bool news = (readable & TRANSPORT_NEWS) != 0;
    size_t count = 0;

    for (unsigned p = 0; p < 2; p++) {
        if (l->curve)
            watch_tend(l->watch[p]);
        if (readable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->pull[p], .readable = true};
        if (writable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->push[p], .writable = true};
        if (news)
            w[count++] = (struct socket_wait){.socket = watch_socket(l->watch[p]),
                                              .readable = true};
    }
    return socket_wait(w, count, deadline);
}

static void zmq_transport_free(void *self)
{
    struct links *l = self;
    for (int p = 0; p < 2; p++) {
        watch_free(&l->watch[p]);
        if (l->push[p] != NULL)
            zmq_close(l->push[p]);
        if (l->pull[p] != NULL)
            zmq_close(l->pull[p]);
        if (l->admitted[p])
            netio_disallow(l->netio, l->domain[p], l->peer_public[p]);
    }
    pool_close(&l->pool);
    memory_free(&l);
}

static const struct transport_ops zmq_ops = {
    .make = zmq_transport_make,
    .send = zmq_transport_send,
    .receive = zmq_transport_receive,
    .drop = zmq_transport_drop,
    .wait = zmq_transport_wait,
    .broken = zmq_transport_broken,
    .forget = zmq_transport_forget,
    .free = zmq_transport_free,
};

static enum err open_pull(struct links *l, const struct transport_zmq_options *o, unsigned p)
{
    struct socket_options so = {
        .type = ZMQ_PULL,
        .receive_depth = o->depth,
        .max_message = o->max_message,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .zap_domain = l->domain[p],
    };
    enum err e;

    if (o->curve_public != NULL) {
        memcpy(l->peer_public[p], o->peer_public[p], 32);
        TRY(netio_allow(o->netio, l->domain[p], l->peer_public[p],
                        net_index_of(l->index, (enum net_peer)p)));
        l->admitted[p] = true;
    }
    l->pull[p] = socket_new(netio_zmq(o->netio), &so, o->log, &e);
    TRY(e);
    return socket_bind(l->pull[p], o->listen[p], o->log);
}

static enum err open_push(struct links *l, const struct transport_zmq_options *o, unsigned p)
{
    struct socket_options so = {
        .type = ZMQ_PUSH,
        .send_depth = o->depth,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .server_public = o->peer_public[p],
    };
    enum err e;

    l->push[p] = socket_new(netio_zmq(o->netio), &so, o->log, &e);
    TRY(e);
    TRY(watch_new(&l->watch[p], netio_zmq(o->netio), l->push[p], o->dial[p], o->log));
    return socket_dial(l->push[p], o->dial[p], o->log);
}

enum err transport_zmq_new(struct transport **t, const struct transport_zmq_options *o)
{
    struct links *l = memory_array(1, sizeof *l);
    enum err e;

    *t = NULL;
    if (l == NULL)
        return ERR_NOMEM;
    l->transport = (struct transport){.ops = &zmq_ops, .self = l};
    *t = &l->transport;
    l->netio = o->netio;
    l->log = o->log;
    l->index = o->index;
    l->curve = o->curve_public != NULL;
    l->pool = pool_new(SPARE);
    e = l->pool != NULL ? ERR_OK : ERR_NOMEM;
    for (unsigned p = 0; p < 2 && e == ERR_OK; p++) {
        /* a list of its own for each socket: no other link's key opens this one */
        snprintf(l->domain[p], sizeof l->domain[p], "link %u from %u at %p", o->index,
                 net_index_of(o->index, (enum net_peer)p), (void *)l);
        e = open_pull(l, o, p);
        if (e == ERR_OK)
            e = open_push(l, o, p);
    }
    if (e != ERR_OK)
        transport_free(t);
    return e;
}
