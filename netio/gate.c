/*
 * A client is known by the key that CURVE proved, never by what it writes. Routes are the ones that
 * the ROUTER makes (five bytes, the first zero): a client that chose its own could take the place
 * of one that has gone and get its answers.
 */
#include "netio/gate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/porter.h"
#include "netio/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

#define ROUTE_MADE 5
#define RECEIVE_DEPTH 2 /* messages of one client that wait; each may be max_message long */
#define REPLY_MS 10000

struct gate {
    struct netio *netio;
    struct log *log;
    void *router;
    struct porter *porter;
    void *hub; /* PAIR: the front's end of the port */
    char hub_name[40];
};

struct gate_port {
    struct log *log;
    void *pair;
};

/* --- messages of several frames --------------------------------------------------------------- */

static enum err fill(struct bytes *message, zmq_msg_t *m)
{
    bytes_set(message, zmq_msg_data(m), zmq_msg_size(m));
    return bytes_ok(message);
}

/* The user number that admission (context.c) gave to the connection: false if it was never asked. */
static bool user_of(zmq_msg_t *m, uint32_t *user)
{
    const char *text = zmq_msg_gets(m, "User-Id");

    if (text == NULL)
        return false;
    *user = (uint32_t)strtoul(text, NULL, 10);
    return true;
}

static bool take_route(struct gate_client *from, zmq_msg_t *m)
{
    const uint8_t *route = zmq_msg_data(m);
    if (zmq_msg_size(m) != ROUTE_MADE || route[0] != 0)
        return false;
    memset(from, 0, sizeof *from);
    from->route_size = ROUTE_MADE;
    memcpy(from->route, route, ROUTE_MADE);
    return true;
}

/* Between front and worker, which are one program: the client as it stands in memory, then the message. */
static enum err pair_send(void *pair, const struct gate_client *client, const void *p, size_t n)
{
    return socket_send_two(pair, client, sizeof *client, p, n);
}

/* One message in `m`, its client in `client`; ERR_AGAIN: none. */
static enum err pair_receive(void *pair, struct gate_client *client, zmq_msg_t *m)
{
    TRY(socket_part(pair, m));
    memcpy(client, zmq_msg_data(m), sizeof *client);
    return socket_part(pair, m);
}

/* --- the front -------------------------------------------------------------------------------- */

/* Half of the descriptors are for others: the links, the store, connections that have just been cut. */
static size_t most_connections(const struct gate_options *o)
{
    struct rlimit files;
    size_t most = o->max_connections != 0 ? o->max_connections : GATE_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 < most)
        most = (size_t)(files.rlim_cur / 2);
    return most > 0 ? most : 1;
}

static enum err open_router(struct gate *g, const struct gate_options *o)
{
    struct socket_options so = {
        .type = ZMQ_ROUTER,
        .receive_depth = RECEIVE_DEPTH,
        .send_depth = GATE_REPLIES,
        .max_message = o->max_message,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .zap_domain = "gate",
    };
    enum err e;

    g->router = socket_new(netio_zmq(o->netio), &so, o->log, &e);
    TRY(e);
    TRY(socket_option(g->router, ZMQ_ROUTER_HANDOVER, 0, o->log));
    TRY(socket_option(g->router, ZMQ_ROUTER_MANDATORY, 0, o->log));
    TRY(porter_new(&g->porter, netio_zmq(o->netio), g->router, most_connections(o), o->log));
    return socket_bind(g->router, o->listen, o->log);
}

static enum err open_hub(struct gate *g)
{
    struct socket_options so = {
        .type = ZMQ_PAIR, .send_depth = GATE_BACKLOG, .receive_depth = GATE_BACKLOG};
    enum err e;

    g->hub = socket_new(netio_zmq(g->netio), &so, g->log, &e);
    TRY(e);
    snprintf(g->hub_name, sizeof g->hub_name, "inproc://gate-%p", (void *)g);
    return socket_bind(g->hub, g->hub_name, g->log);
}

enum err gate_new(struct gate **gate, const struct gate_options *o)
{
    struct gate *g = memory_array(1, sizeof *g);
    enum err e;

    *gate = NULL;
    if (g == NULL)
        return ERR_NOMEM;
    g->netio = o->netio;
    g->log = o->log;
    e = open_hub(g);
    if (e == ERR_OK)
        e = open_router(g, o);
    if (e != ERR_OK)
        gate_free(&g);
    *gate = g;
    return e;
}

void gate_free(struct gate **gate)
{
    if (*gate == NULL)
        return;
    porter_free(&(*gate)->porter, (*gate)->router);
    if ((*gate)->router != NULL)
        zmq_close((*gate)->router);
    if ((*gate)->hub != NULL)
        zmq_close((*gate)->hub);
    memory_free(gate);
}

/* One message of a client; ERR_AGAIN: none, or one that was dropped. */
static enum err take_message(struct gate *g, struct gate_client *from, struct bytes *message)
{
    const char *dropped = NULL;
    bool routed = false;
    zmq_msg_t m;
    enum err e;

    zmq_msg_init(&m);
    e = socket_part(g->router, &m);
    if (e == ERR_OK) {
        routed = take_route(from, &m);
        e = socket_part(g->router, &m); /* a route is never the whole of a message */
    }
    if (e == ERR_OK && !routed)
        dropped = "whose client names its own route";
    else if (e == ERR_OK && !user_of(&m, &from->user))
        dropped = "that nobody has admitted";
    else if (e == ERR_OK && (zmq_msg_more(&m) || zmq_msg_size(&m) == 0))
        dropped = "that is empty or in parts";
    if (dropped != NULL) {
        socket_skip(g->router, &m);
        log_debug(g->log, "dropped a message %s", dropped);
        e = ERR_AGAIN;
    } else if (e == ERR_OK) {
        e = fill(message, &m);
    }
    zmq_msg_close(&m);
    return e;
}

/* Sends the worker's replies that wait, a bounded number so that clients are heard too. */
static enum err forward_replies(struct gate *g)
{
    enum err e = ERR_OK;

    for (int i = 0; i < 64 && e == ERR_OK; i++) {
        struct gate_client to;
        zmq_msg_t m;
        zmq_msg_init(&m);
        e = pair_receive(g->hub, &to, &m);
        if (e == ERR_OK)
            e = gate_reply(g, &to, zmq_msg_data(&m), zmq_msg_size(&m));
        zmq_msg_close(&m);
    }
    return e == ERR_AGAIN ? ERR_OK : e;
}

enum err gate_receive(struct gate *g, struct gate_client *from, struct bytes *message,
                      int64_t deadline)
{
    const struct socket_wait w[] = {{.socket = g->router, .readable = true},
                                    {.socket = g->hub, .readable = true},
                                    {.socket = porter_socket(g->porter), .readable = true}};
    for (;;) {
        enum err e;
        porter_look(g->porter);
        TRY(forward_replies(g));
        e = take_message(g, from, message);
        if (e != ERR_AGAIN)
            return e;
        /* checked here too, since dropped messages could keep the sockets ready for ever */
        e = clock_left_ms(deadline) > 0 ? socket_wait(w, 3, deadline) : ERR_TIMEOUT;
        TRY(e);
    }
}

enum err gate_reply(struct gate *g, const struct gate_client *to, const void *p, size_t n)
{
    /* not mandatory: the ROUTER drops what has no route or no room, and never waits */
    enum err e = socket_send_two(g->router, to->route, to->route_size, p, n);
    if (e != ERR_OK && e != ERR_AGAIN) {
        log_error(g->log, "cannot answer user %u: %s", to->user, error_text(e));
        return e;
    }
    return ERR_OK;
}

enum err gate_pass(struct gate *g, const struct gate_client *from, const void *p, size_t n)
{
    enum err e = pair_send(g->hub, from, p, n);
    if (e != ERR_AGAIN)
        return e;
    log_warn(g->log, "a message of user %u was not passed on: the worker is busy or has gone",
             from->user);
    return ERR_NOMEM;
}

/* --- the worker's end ------------------------------------------------------------------------- */

struct gate_port *gate_port(struct gate *g)
{
    struct socket_options so = {
        .type = ZMQ_PAIR, .send_depth = GATE_BACKLOG, .receive_depth = GATE_BACKLOG};
    struct gate_port *port = memory_array(1, sizeof *port);
    enum err e;

    if (port == NULL)
        return NULL;
    port->log = g->log;
    port->pair = socket_new(netio_zmq(g->netio), &so, g->log, &e);
    if (port->pair == NULL || socket_dial(port->pair, g->hub_name, g->log) != ERR_OK)
        gate_port_free(&port);
    return port;
}

void gate_port_free(struct gate_port **port)
{
    if (*port == NULL)
        return;
    if ((*port)->pair != NULL)
        zmq_close((*port)->pair);
    memory_free(port);
}

enum err gate_port_receive(struct gate_port *port, struct gate_client *from, struct bytes *message,
                           int64_t deadline)
{
    const struct socket_wait w = {.socket = port->pair, .readable = true};
    zmq_msg_t m;
    enum err e;

    zmq_msg_init(&m);
    while ((e = pair_receive(port->pair, from, &m)) == ERR_AGAIN) {
        e = socket_wait(&w, 1, deadline);
        if (e != ERR_OK)
            break;
    }
    if (e == ERR_OK)
        e = fill(message, &m);
    zmq_msg_close(&m);
    return e;
}

enum err gate_port_reply(struct gate_port *port, const struct gate_client *to, const void *p,
                         size_t n)
{
    const struct socket_wait w = {.socket = port->pair, .writable = true};
    int64_t deadline = clock_now_ms() + REPLY_MS;
    enum err e;

    while ((e = pair_send(port->pair, to, p, n)) == ERR_AGAIN) {
        e = socket_wait(&w, 1, deadline);
        if (e != ERR_OK)
            break;
    }
    if (e != ERR_OK)
        log_error(port->log, "the gate's front did not take an answer to user %u: %s", to->user,
                  error_text(e));
    return e;
}
