#include "netio/gate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/socket.h"

#include <stdio.h>
#include <zmq.h>

#define DEPTH 16
#define PATIENCE_MS 2000 /* before it says what it waits for */

struct dial {
    struct log *log;
    void *socket;
    void *monitor;   /* PAIR: the breaks of the connection; NULL unless they are watched */
    char label[400]; /* name and endpoint */
    uint64_t sent, received;
};

enum err dial_new(struct dial **dial, const struct dial_options *o)
{
    struct socket_options so = {
        .type = ZMQ_DEALER,
        .send_depth = DEPTH,
        .receive_depth = DEPTH,
        .max_message = o->max_message,
        .own_public = o->curve_public,
        .own_secret = o->curve_secret,
        .server_public = o->server_public,
    };
    struct dial *d = memory_array(1, sizeof *d);
    enum err e;

    *dial = NULL;
    if (d == NULL)
        return ERR_NOMEM;
    d->log = o->log;
    snprintf(d->label, sizeof d->label, "%s%s%s", o->name != NULL ? o->name : "",
             o->name != NULL ? " at " : "", o->endpoint);
    d->socket = socket_new(netio_zmq(o->netio), &so, o->log, &e);
    /* a message is queued only once the server has proved its key and admitted ours */
    if (e == ERR_OK)
        e = socket_option(d->socket, ZMQ_IMMEDIATE, 1, o->log);
    if (e == ERR_OK)
        e = socket_dial(d->socket, o->endpoint, o->log);
    if (e != ERR_OK)
        dial_free(&d);
    *dial = d;
    return e;
}

void dial_free(struct dial **dial)
{
    if (*dial == NULL)
        return;
    if ((*dial)->monitor != NULL) {
        zmq_socket_monitor((*dial)->socket, NULL, 0);
        zmq_close((*dial)->monitor);
    }
    if ((*dial)->socket != NULL)
        zmq_close((*dial)->socket);
    memory_free(dial);
}

enum err dial_watch(struct dial *d, struct netio *netio)
{
    struct socket_options so = {.type = ZMQ_PAIR};
    char name[40];
    enum err e;

    snprintf(name, sizeof name, "inproc://dial-%p", (void *)d);
    if (zmq_socket_monitor(d->socket, name, ZMQ_EVENT_DISCONNECTED) != 0)
        return ERR_SYSTEM;
    d->monitor = socket_new(netio_zmq(netio), &so, d->log, &e);
    return e == ERR_OK ? socket_dial(d->monitor, name, d->log) : e;
}

/* Whether the connection broke since the last call. Events come in two frames; only breaks come at all. */
static bool broke(struct dial *d)
{
    bool any = false;
    char frame[256];
    while (d->monitor != NULL && zmq_recv(d->monitor, frame, sizeof frame, ZMQ_DONTWAIT) >= 0)
        any = true;
    return any;
}

/* Until the socket takes a message, or the deadline. */
static enum err wait_writable(struct dial *d, int64_t deadline)
{
    const struct socket_wait w = {.socket = d->socket, .writable = true};
    enum err e = ERR_OK;
    while (e == ERR_OK && !socket_writable(d->socket))
        e = socket_wait(&w, 1, deadline);
    return e;
}

enum err dial_reach(struct dial *d, int64_t deadline)
{
    int64_t soon = clock_now_ms() + PATIENCE_MS;
    enum err e = wait_writable(d, soon < deadline ? soon : deadline);
    if (e == ERR_TIMEOUT && soon < deadline) {
        log_info(d->log, "waiting for %s to answer", d->label);
        e = wait_writable(d, deadline);
    }
    if (e == ERR_TIMEOUT)
        log_error(
            d->log,
            "%s does not answer: see that the server runs, that the study has its address and "
            "key, and that the server's study has our key",
            d->label);
    return e;
}

enum err dial_send(struct dial *d, const void *p, size_t n, int64_t deadline)
{
    enum err e = ERR_AGAIN;
    while (e == ERR_AGAIN) {
        TRY(dial_reach(d, deadline));
        (void)broke(d); /* what broke before is no matter */
        e = socket_send(d->socket, p, n, NULL, 0, false);
    }
    if (e == ERR_OK)
        d->sent += n;
    return e;
}

enum err dial_receive(struct dial *d, struct bytes *message, int64_t deadline)
{
    const struct socket_wait w[] = {{.socket = d->socket, .readable = true},
                                    {.socket = d->monitor, .readable = true}};
    enum err e;

    while ((e = socket_receive(d->socket, message, d->label, d->log)) == ERR_AGAIN) {
        TRY(socket_wait(w, d->monitor != NULL ? 2 : 1, deadline));
        if (broke(d) && (e = socket_receive(d->socket, message, d->label, d->log)) == ERR_AGAIN) {
            log_error(d->log, "the connection to %s broke", d->label);
            return ERR_PEER;
        }
        if (e != ERR_AGAIN)
            break;
    }
    if (e == ERR_OK)
        d->received += message->size;
    return e;
}

uint64_t dial_sent(const struct dial *d)
{
    return d->sent;
}

uint64_t dial_received(const struct dial *d)
{
    return d->received;
}
