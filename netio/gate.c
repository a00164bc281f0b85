/*
 * A client is known by the key that CURVE proved, never by what it writes. Routes are the ones that
 * the ROUTER makes (five bytes, the first zero): a client that chose its own could take the place
 * of one that has gone and get its answers.
 */
#include "netio/gate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "netio/porter.h"
#include "netio/socket.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

#define RECEIVE_DEPTH 2 /* messages of one client that wait; each may be max_message long */
#define REPLIES 16      /* of the worker, that wait for the front */
#define REPLY_MS 10000

/* Whose messages wait for the worker. Front and worker share it. */
struct gate_queue {
    pthread_mutex_t mutex;
    uint32_t user[GATE_BACKLOG];
    size_t count;
};

struct gate {
    struct netio *netio;
    struct log *log;
    void *router;
    struct porter *porter;
    void *hub; /* PAIR: the front's end of the port */
    char hub_name[40];
    uint8_t secret[crypto_shorthash_KEYBYTES]; /* so that no guest can choose another's number */
    struct gate_queue queue;
};

struct gate_port {
    struct log *log;
    void *pair;
    struct gate_queue *queue; /* the gate's, which outlives the port's use of it */
};

/* --- who waits for the worker ----------------------------------------------------------------- */

static bool queue_enter(struct gate_queue *q, uint32_t user)
{
    size_t mine = 0;
    bool room;
    pthread_mutex_lock(&q->mutex);
    for (size_t i = 0; i < q->count; i++)
        mine += q->user[i] == user;
    room = mine < GATE_WAITING_OF_A_KEY && q->count < GATE_BACKLOG;
    if (room)
        q->user[q->count++] = user;
    pthread_mutex_unlock(&q->mutex);
    return room;
}

static void queue_leave(struct gate_queue *q, uint32_t user)
{
    size_t i = 0;
    pthread_mutex_lock(&q->mutex);
    while (i < q->count && q->user[i] != user)
        i++;
    if (i < q->count)
        q->user[i] = q->user[--q->count];
    pthread_mutex_unlock(&q->mutex);
}

/* --- messages of several frames --------------------------------------------------------------- */

static enum err fill(struct bytes *message, zmq_msg_t *m)
{
    bytes_set(message, zmq_msg_data(m), zmq_msg_size(m));
    return bytes_ok(message);
}

/*
 * The user number that admission (context.c) gave to the connection: false if it was never asked.
 */
static bool user_of(const struct gate *g, zmq_msg_t *m, struct gate_client *from)
{
    static const char guest[] = NETIO_GUEST;
    uint8_t hash[crypto_shorthash_BYTES];
    const char *text = zmq_msg_gets(m, "User-Id");
    if (text == NULL)
        return false;
    from->guest = strncmp(text, guest, sizeof guest - 1) == 0;
    if (!from->guest) {
        from->user = (uint32_t)strtoul(text, NULL, 10);
        return true;
    }
    if (!text_hex(text + sizeof guest - 1, from->key, sizeof from->key))
        return false;
    crypto_shorthash(hash, from->key, sizeof from->key, g->secret);
    from->user = GATE_GUEST | (uint32_t)integer_get(hash, 4);
    return true;
}

/* A client's route is a number that the ROUTER gave it; 0 where the client chose its own. */
static struct porter_line line_of(const struct gate_client *c)
{
    return (struct porter_line){c->fd, gate_number(c)};
}

static bool take_route(struct gate_client *from, zmq_msg_t *m)
{
    const uint8_t *route = zmq_msg_data(m);
    memset(from, 0, sizeof *from);
    if (zmq_msg_size(m) != GATE_ROUTE || route[0] != 0)
        return false;
    memcpy(from->route, route, GATE_ROUTE);
    return true;
}

/*
 * Between front and worker, which are one program: the client as it stands in memory, then the
 * message.
 */
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

/*
 * Half of the descriptors are for other uses: the links, the store, connections that have just been
 * cut.
 */
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
        .max_message = o->max_message != 0 ? o->max_message : GATE_MESSAGE,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .zap_domain = "gate",
    };
    struct porter_options po = {
        .context = netio_zmq(o->netio),
        .connections = most_connections(o),
        .of_a_key = o->max_of_a_key != 0 ? o->max_of_a_key : GATE_OF_A_KEY,
        .memory = o->max_memory != 0 ? o->max_memory : GATE_MEMORY,
        .message_ms = o->message_ms,
        .log = o->log,
    };
    /*
     * A ROUTER numbers its routes from rand() on, which ZeroMQ never seeds. A client that knew the
     * next number could name it as its own, and then ZeroMQ would end the program.
     */
    srand(randombytes_random());
    TRY(socket_new(&g->router, netio_zmq(o->netio), &so, o->log));
    TRY(socket_option(g->router, ZMQ_ROUTER_HANDOVER, 0, o->log));
    TRY(socket_option(g->router, ZMQ_ROUTER_MANDATORY, 0, o->log));
    po.socket = g->router;
    TRY(porter_new(&g->porter, &po));
    return socket_bind(g->router, o->listen, o->log);
}

static enum err open_hub(struct gate *g)
{
    struct socket_options so = {
        .type = ZMQ_PAIR, .send_depth = 2 * GATE_BACKLOG, .receive_depth = REPLIES};
    TRY(socket_new(&g->hub, netio_zmq(g->netio), &so, g->log));
    snprintf(g->hub_name, sizeof g->hub_name, "inproc://gate-%p", (void *)g);
    return socket_bind(g->hub, g->hub_name, g->log);
}

enum err gate_new(struct gate **gate, const struct gate_options *o)
{
    struct gate *g CLEAN(gate_free) = NULL;
    *gate = NULL;
    TRY(memory_new(&g, 1));
    g->netio = o->netio;
    g->log = o->log;
    pthread_mutex_init(&g->queue.mutex, NULL);
    crypto_shorthash_keygen(g->secret);
    TRY(open_hub(g));
    TRY(open_router(g, o));
    return memory_hand_over(gate, &g);
}

void gate_free(struct gate **gate)
{
    if (*gate == NULL)
        return;
    porter_free(&(*gate)->porter);
    if ((*gate)->router != NULL)
        zmq_close((*gate)->router);
    if ((*gate)->hub != NULL) {
        zmq_unbind((*gate)->hub, (*gate)->hub_name); /* closing alone frees the name only later */
        zmq_close((*gate)->hub);
    }
    pthread_mutex_destroy(&(*gate)->queue.mutex);
    memory_free(gate);
}

/* What is wrong with a message, or NULL. */
static const char *fault(bool routed, bool admitted, zmq_msg_t *m)
{
    return !routed                ? "whose client names its own route"
           : !admitted            ? "that nobody has admitted"
           : zmq_msg_more(m)      ? "in several frames"
           : zmq_msg_size(m) == 0 ? "that is empty"
                                  : NULL;
}

/*
 * Takes one message of a client; ERR_AGAIN: there is none. A message that no program of ours would
 * send ends its connection.
 */
static enum err take_message(struct gate *g, struct gate_client *from, struct bytes *message,
                             bool *dropped)
{
    const char *why = NULL;
    bool routed = false;
    zmq_msg_t m;
    enum err e;
    zmq_msg_init(&m);
    e = socket_part(g->router, &m);
    if (e == ERR_OK) {
        routed = take_route(from, &m);
        e = socket_part(g->router, &m); /* a route is never the whole of a message */
    }
    if (e == ERR_OK) {
        from->fd = zmq_msg_get(&m, ZMQ_SRCFD);
        why = fault(routed, user_of(g, &m, from), &m);
    }
    if (why != NULL) {
        const size_t bytes = zmq_msg_size(&m);
        socket_skip(g->router, &m);
        log_debug(g->log, "dropped a message %s", why);
        porter_cut(g->porter, line_of(from), bytes + 1); /* an empty one has a frame, too */
        e = ERR_AGAIN;
    } else if (e == ERR_OK) {
        porter_took(g->porter, line_of(from), from->user, zmq_msg_size(&m));
        e = fill(message, &m);
    }
    *dropped = why != NULL;
    zmq_msg_close(&m);
    return e;
}

/* Sends the worker's replies that wait, a bounded number so that clients are heard too. */
static enum err forward_replies(struct gate *g)
{
    enum err e = ERR_OK;
    for (int i = 0; i < 64 && e == ERR_OK; i++) {
        struct gate_client to;
        zmq_msg_t m CLEAN(zmq_msg_close);
        zmq_msg_init(&m);
        e = pair_receive(g->hub, &to, &m);
        if (e == ERR_OK)
            e = gate_reply(g, &to, zmq_msg_data(&m), zmq_msg_size(&m));
    }
    return e == ERR_AGAIN ? ERR_OK : e;
}

enum err gate_receive(struct gate *g, struct gate_client *from, struct bytes *message,
                      int64_t deadline)
{
    const struct socket_wait w[] = {{.socket = g->router, .readable = true},
                                    {.socket = g->hub, .readable = true}};
    for (;;) {
        bool dropped;
        enum err e;
        TRY(forward_replies(g));
        e = take_message(g, from, message, &dropped);
        if (e != ERR_AGAIN)
            return e;
        if (!dropped)
            porter_idle(g->porter);
        /* checked here too, since dropped messages could keep the sockets ready forever */
        e = clock_left_ms(deadline) > 0 ? socket_wait(w, 2, deadline) : ERR_TIMEOUT;
        TRY(e);
    }
}

enum err gate_reply(struct gate *g, const struct gate_client *to, const void *p, size_t n)
{
    /* not mandatory: the ROUTER drops what has no route or no room, and never waits */
    enum err e = socket_send_two(g->router, to->route, GATE_ROUTE, p, n);
    if (e != ERR_OK && e != ERR_AGAIN) {
        log_error(g->log, "cannot answer user %u: %s", to->user, error_text(e));
        return e;
    }
    return ERR_OK;
}

void gate_cut(struct gate *g, const struct gate_client *who)
{
    porter_cut(g->porter, line_of(who), 0);
}

enum err gate_pass(struct gate *g, const struct gate_client *from, const void *p, size_t n)
{
    enum err e = ERR_AGAIN;
    if (queue_enter(&g->queue, from->user)) {
        e = pair_send(g->hub, from, p, n);
        if (e != ERR_OK)
            queue_leave(&g->queue, from->user);
    }
    if (e == ERR_AGAIN)
        log_warn(g->log, "a message of user %u was not passed on: the worker is busy or has gone",
                 from->user);
    return e;
}

/* --- the worker's end ------------------------------------------------------------------------- */

struct gate_port *gate_port(struct gate *g)
{
    struct socket_options so = {
        .type = ZMQ_PAIR, .send_depth = REPLIES, .receive_depth = GATE_BACKLOG};
    struct gate_port *port = memory_array(1, sizeof *port);
    if (port == NULL)
        return NULL;
    port->log = g->log;
    port->queue = &g->queue;
    if (socket_new(&port->pair, netio_zmq(g->netio), &so, g->log) != ERR_OK ||
        socket_dial(port->pair, g->hub_name, g->log) != ERR_OK)
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
                           void *other, int64_t deadline)
{
    const struct socket_wait w[] = {{.socket = port->pair, .readable = true},
                                    {.socket = other, .readable = true}};
    bool waited = false;
    zmq_msg_t m CLEAN(zmq_msg_close);
    enum err e;
    zmq_msg_init(&m);
    while ((e = pair_receive(port->pair, from, &m)) == ERR_AGAIN) {
        if (waited && other != NULL)
            break;
        TRY(socket_wait(w, other != NULL ? 2 : 1, deadline));
        waited = true;
    }
    TRY(e);
    queue_leave(port->queue, from->user);
    return fill(message, &m);
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
