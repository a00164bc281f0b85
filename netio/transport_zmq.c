#include "netio/transport.h"

#include "base/memory.h"
#include "netio/context.h"
#include "netio/socket.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

struct links {
    struct netio *netio;
    struct log *log;
    unsigned index;
    void *pull[2], *push[2];
    bool admitted[2];
    char domain[2][40]; /* allow-list and name of each PULL socket */
    uint8_t peer_public[2][32];
};

static enum err zmq_transport_send(void *self, enum net_peer to, const void *head, size_t head_size,
                                   const void *body, size_t body_size)
{
    struct links *l = self;
    /* asked first, so that a full queue costs no copy */
    if (!socket_writable(l->push[to]))
        return ERR_AGAIN;
    return socket_send(l->push[to], head, head_size, body, body_size, false);
}

static enum err zmq_transport_receive(void *self, enum net_peer from, struct bytes *message)
{
    struct links *l = self;
    return socket_receive(l->pull[from], message, l->domain[from], l->log);
}

static enum err zmq_transport_wait(void *self, unsigned readable, unsigned writable,
                                   int64_t deadline)
{
    struct links *l = self;
    struct socket_wait w[SOCKET_WAIT_MAX];
    size_t count = 0;

    for (unsigned p = 0; p < 2; p++) {
        if (readable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->pull[p], .readable = true};
        if (writable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->push[p], .writable = true};
    }
    return socket_wait(w, count, deadline);
}

static void zmq_transport_free(void *self)
{
    struct links *l = self;
    for (int p = 0; p < 2; p++) {
        if (l->push[p] != NULL)
            zmq_close(l->push[p]);
        if (l->pull[p] != NULL)
            zmq_close(l->pull[p]);
        if (l->admitted[p])
            netio_disallow(l->netio, l->domain[p], l->peer_public[p]);
    }
    memory_free(&l);
}

static const struct transport_ops zmq_ops = {
    .send = zmq_transport_send,
    .receive = zmq_transport_receive,
    .wait = zmq_transport_wait,
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
    return socket_dial(l->push[p], o->dial[p], o->log);
}

enum err transport_zmq_new(struct transport **t, const struct transport_zmq_options *o)
{
    struct links *l = memory_array(1, sizeof *l);
    enum err e = ERR_NOMEM;

    *t = memory_array(1, sizeof **t);
    if (l == NULL || *t == NULL) {
        memory_free(&l);
        memory_free(t);
        return ERR_NOMEM;
    }
    **t = (struct transport){.ops = &zmq_ops, .self = l};
    l->netio = o->netio;
    l->log = o->log;
    l->index = o->index;
    for (unsigned p = 0; p < 2; p++) {
        /* a list of its own for each socket: no other link's key opens this one */
        snprintf(l->domain[p], sizeof l->domain[p], "link %u from %u at %p", o->index,
                 net_index_of(o->index, (enum net_peer)p), (void *)l);
        e = open_pull(l, o, p);
        if (e == ERR_OK)
            e = open_push(l, o, p);
        if (e != ERR_OK)
            break;
    }
    if (e != ERR_OK)
        transport_free(t);
    return e;
}
