#include "netio/transport.h"

#include "base/memory.h"
#include "netio/context.h"
#include "netio/pool.h"
#include "netio/porter.h"
#include "netio/socket.h"
#include "netio/watch.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

/*
 * Messages from this size on are sent from buffers of a pool: allocated by ZeroMQ, they came from
 * cold or new pages, and a stream of 1 MiB frames cost 0.82 CPU seconds a GB instead of 0.64.
 */
#define POOLED ((size_t)16 << 10)
#define SPARE_MOST 12 /* unused buffers that are kept: 4 more than a queue is long, up to this */

/*
 * Connections to a port that a neighbour dials. The neighbour has one, and a second after a break
 * of the network, before the first is known to be dead. Whoever has not proved what it must by
 * SOCKET_HANDSHAKE_MS is cut, so one that stays longer is a neighbour.
 */
#define CONNECTIONS 8

_Static_assert(TRANSPORT_PASS_SIZE == NETIO_PASS_SIZE, "a pass is what admission knows as one");

struct links {
    struct transport transport;
    struct netio *netio;
    struct log *log;
    unsigned servers, index;
    int depth;
    struct pool *pool; /* of long messages to be sent */
    char *dial[2];
    void *pull[2], *push[2];  /* push is NULL where links are not open */
    struct porter *porter[2]; /* of pull */
    void *parked[2];          /* push of the session before: an ABORT may be on its way there */
    struct watch *watch[2];   /* of push */
    bool curve, admitted[2];
    char domain[2][40]; /* allow-list and name of each PULL socket */
    uint8_t key[2][32]; /* who is admitted: a CURVE key, or a pass */
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
    unsigned broken = 0;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        if (l->watch[p] == NULL)
            continue;
        watch_redial(l->watch[p]);
        if (watch_broke(l->watch[p]))
            broken |= 1u << p;
    }
    return broken;
}

static unsigned zmq_transport_standing(void *self)
{
    struct links *l = self;
    unsigned standing = 0;
    for (unsigned p = 0; p + 1 < l->servers; p++)
        if (l->watch[p] != NULL && watch_is_up(l->watch[p]))
            standing |= 1u << p;
    return standing;
}

static void zmq_transport_forget(void *self)
{
    struct links *l = self;
    for (unsigned p = 0; p + 1 < l->servers; p++)
        if (l->watch[p] != NULL)
            watch_forget(l->watch[p]);
}

/*
 * A bare link refuses nobody who should be there. So its watch is not asked while frames come: each
 * look takes 0.5 us.
 */
static enum err zmq_transport_wait(void *self, unsigned readable, unsigned writable,
                                   int64_t deadline)
{
    struct links *l = self;
    struct socket_wait w[SOCKET_WAIT_MAX];
    bool news = (readable & TRANSPORT_NEWS) != 0;
    size_t count = 0;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        if (l->curve)
            watch_tend(l->watch[p]);
        if (readable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->pull[p], .readable = true};
        if (writable >> p & 1)
            w[count++] = (struct socket_wait){.socket = l->push[p], .writable = true};
        if (news && l->watch[p] != NULL)
            w[count++] = (struct socket_wait){.socket = watch_socket(l->watch[p]),
                                              .readable = true};
    }
    return socket_wait(w, count, deadline);
}

/* --- to one neighbour, and from it ------------------------------------------------------------ */

static enum err admit(struct links *l, unsigned p, const uint8_t key[32])
{
    memcpy(l->key[p], key, 32);
    TRY(l->curve ? netio_allow(l->netio, l->domain[p], key,
                               net_neighbour_of(l->servers, l->index, (enum net_peer)p))
                 : netio_allow_pass(l->netio, l->domain[p], key));
    l->admitted[p] = true;
    return ERR_OK;
}

static void turn_away(struct links *l, unsigned p)
{
    if (l->admitted[p])
        netio_disallow(l->netio, l->domain[p], l->key[p]);
    l->admitted[p] = false;
}

static enum err listen_to(struct links *l, const struct transport_zmq_options *o, unsigned p)
{
    struct socket_options so = {
        .type = ZMQ_PULL,
        .receive_depth = o->depth,
        .max_message = o->max_message,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .wants_pass = !l->curve,
        .zap_domain = l->domain[p],
    };
    struct porter_options po = {.context = netio_zmq(l->netio),
                                .connections = CONNECTIONS,
                                .settled_ms = SOCKET_HANDSHAKE_MS,
                                .log = l->log};
    /* a list of its own for each socket: no other link's key opens this one */
    snprintf(l->domain[p], sizeof l->domain[p], "link %u from %u at %p", l->index,
             net_neighbour_of(l->servers, l->index, (enum net_peer)p), (void *)l);
    if (l->curve)
        TRY(admit(l, p, o->peer_public[p]));
    TRY(socket_new(&l->pull[p], netio_zmq(l->netio), &so, l->log));
    po.socket = l->pull[p];
    TRY(porter_new(&l->porter[p], &po));
    return socket_bind(l->pull[p], o->listen[p], l->log);
}

static enum err dial(struct links *l, unsigned p, const struct socket_options *so)
{
    TRY(socket_new(&l->push[p], netio_zmq(l->netio), so, l->log));
    /* Frames queued before the neighbour admits us would be lost if it turned us away at first. */
    if (!l->curve)
        TRY(socket_option(l->push[p], ZMQ_IMMEDIATE, 1, l->log));
    TRY(watch_new(&l->watch[p], netio_zmq(l->netio), l->push[p], l->dial[p], l->log));
    return socket_dial(l->push[p], l->dial[p], l->log);
}

static void let_go(void **socket)
{
    if (*socket != NULL)
        zmq_close(*socket);
    *socket = NULL;
}

/* What was sent arrives, however long the neighbour takes to read it. */
static void park(struct links *l, unsigned p)
{
    watch_free(&l->watch[p]);
    if (l->push[p] == NULL)
        return;
    let_go(&l->parked[p]);
    l->parked[p] = l->push[p];
    l->push[p] = NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void zmq_transport_free(void *self)
{
    struct links *l = self;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        park(l, p);
        let_go(&l->parked[p]);
        porter_free(&l->porter[p]);
        let_go(&l->pull[p]);
        turn_away(l, p);
        memory_free(&l->dial[p]);
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
    .standing = zmq_transport_standing,
    .free = zmq_transport_free,
};

/* A CURVE link stands from the first; a bare one is opened for each session. */
static enum err set_up(struct links *l, const struct transport_zmq_options *o, unsigned p)
{
    const struct socket_options so = {
        .type = ZMQ_PUSH,
        .send_depth = o->depth,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .server_public = o->peer_public[p],
    };
    l->dial[p] = memory_string(o->dial[p]);
    if (l->dial[p] == NULL)
        return ERR_NOMEM;
    TRY(listen_to(l, o, p));
    return l->curve ? dial(l, p, &so) : ERR_OK;
}

enum err transport_zmq_new(struct transport **t, const struct transport_zmq_options *o)
{
    struct links *l;
    enum err e;
    *t = NULL;
    TRY(memory_new(&l, 1));
    l->transport = (struct transport){.ops = &zmq_ops, .self = l};
    *t = &l->transport;
    l->netio = o->netio;
    l->log = o->log;
    l->servers = o->servers;
    l->index = o->index;
    l->depth = o->depth;
    l->curve = o->curve_public != NULL;
    l->pool = pool_new((uint8_t)(o->depth + 4 < SPARE_MOST ? o->depth + 4 : SPARE_MOST));
    e = l->pool != NULL ? ERR_OK : ERR_NOMEM;
    for (unsigned p = 0; p + 1 < l->servers && e == ERR_OK; p++)
        e = set_up(l, o, p);
    if (e != ERR_OK)
        transport_free(t);
    return e;
}

enum err transport_zmq_admit(struct transport *t, const uint8_t expect[2][TRANSPORT_PASS_SIZE])
{
    struct links *l = t->self;
    transport_zmq_close(t);
    for (unsigned p = 0; p + 1 < l->servers; p++)
        TRY(admit(l, p, expect[p]));
    return ERR_OK;
}

enum err transport_zmq_aim(struct transport *t, const char *const dial[2])
{
    struct links *l = t->self;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        memory_free(&l->dial[p]);
        l->dial[p] = memory_string(dial[p]);
        if (l->dial[p] == NULL)
            return ERR_NOMEM;
    }
    return ERR_OK;
}

enum err transport_zmq_dial(struct transport *t, const uint8_t show[2][TRANSPORT_PASS_SIZE])
{
    struct links *l = t->self;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        const struct socket_options so = {
            .type = ZMQ_PUSH, .send_depth = l->depth, .pass = show[p]};
        let_go(&l->parked[p]); /* a neighbour that gave us this pass has left the session before */
        TRY(dial(l, p, &so));
    }
    return ERR_OK;
}

void *transport_zmq_socket(struct transport *t, enum net_peer from)
{
    const struct links *l = t->self;
    return l->pull[from];
}

void transport_zmq_close(struct transport *t)
{
    struct links *l = t->self;
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        struct transport_message m = {0};
        park(l, p);
        turn_away(l, p);
        while (zmq_transport_receive(l, (enum net_peer)p, &m) == ERR_OK)
            zmq_transport_drop(l, &m);
    }
}
