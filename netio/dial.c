#include "netio/dial.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/socket.h"
#include "netio/watch.h"

#include <stdio.h>
#include <zmq.h>

#define DEPTH 16
#define PATIENCE_MS 2000 /* before it says what it is waiting for */
#define STOP_MS 100      /* between looks at whether to stop */

struct dial {
    struct log *log;
    void *socket;
    const atomic_bool *stop;
    void *context;       /* ZeroMQ's */
    struct watch *watch; /* NULL unless it was asked for */
    char *endpoint;
    char label[400]; /* name and endpoint */
    bool impatient;
    bool expected; /* dial_expect() */
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
    struct dial *d CLEAN(dial_free) = NULL;
    *dial = NULL;
    TRY(memory_new(&d, 1));
    d->log = o->log;
    d->stop = o->stop;
    d->impatient = o->impatient;
    d->context = netio_zmq(o->netio);
    d->endpoint = memory_string(o->endpoint);
    snprintf(d->label, sizeof d->label, "%s%s%s", o->name != NULL ? o->name : "",
             o->name != NULL ? " at " : "", o->endpoint);
    TRY(socket_new(&d->socket, d->context, &so, o->log));
    if (d->endpoint == NULL)
        return ERR_NOMEM;
    /* a message is queued only once the server has proved its key and admitted ours */
    TRY(socket_option(d->socket, ZMQ_IMMEDIATE, 1, o->log));
    TRY(socket_dial(d->socket, o->endpoint, o->log));
    return memory_hand_over(dial, &d);
}

void dial_free(struct dial **dial)
{
    if (*dial == NULL)
        return;
    watch_free(&(*dial)->watch);
    if ((*dial)->socket != NULL)
        zmq_close((*dial)->socket);
    memory_free(&(*dial)->endpoint);
    memory_free(dial);
}

enum err dial_watch(struct dial *d)
{
    return watch_new(&d->watch, d->context, d->socket, d->endpoint, d->log);
}

static enum err wait_on(const struct dial *d, const struct socket_wait *w, size_t n,
                        int64_t deadline)
{
    enum err e;
    if (d->stop == NULL)
        return socket_wait(w, n, deadline);
    do {
        int64_t soon = clock_now_ms() + STOP_MS;
        if (atomic_load(d->stop))
            return ERR_PEER;
        e = socket_wait(w, n, soon < deadline ? soon : deadline);
    } while (e == ERR_TIMEOUT && clock_left_ms(deadline) > 0);
    return e;
}

void dial_tend(struct dial *d)
{
    if (d->watch != NULL)
        watch_tend(d->watch);
}

void dial_expect(struct dial *d)
{
    d->expected = true;
}

/* ERR_OK while waiting may help, else why it cannot. */
static enum err in_vain(struct dial *d)
{
    switch (d->impatient && d->watch != NULL ? watch_attempts(d->watch) : WATCH_NO_END) {
    case WATCH_DENIED:
        return log_fail(
            d->log, ERR_AUTH,
            "%s does not admit this key: it is revoked, or not in the study file that the "
            "server runs with",
            d->label);
    case WATCH_NOBODY:
        if (d->expected)
            return ERR_OK;
        return log_fail(
            d->log, ERR_TIMEOUT,
            "%s: nobody listens there; see that the server runs, and that the study has its "
            "address",
            d->label);
    default:
        return ERR_OK;
    }
}

/*
 * Waits until the socket takes a message or the deadline passes, or logs why waiting cannot help.
 */
static enum err wait_writable(struct dial *d, int64_t deadline, bool *told)
{
    struct socket_wait w[2] = {{.socket = d->socket, .writable = true}};
    size_t n = 1;
    enum err e = ERR_OK;
    if (d->watch != NULL)
        w[n++] = (struct socket_wait){.socket = watch_socket(d->watch), .readable = true};
    while (e == ERR_OK && !socket_writable(d->socket)) {
        dial_tend(d);
        e = in_vain(d);
        *told = e != ERR_OK;
        if (e == ERR_OK)
            e = wait_on(d, w, n, deadline);
    }
    return e;
}

enum err dial_reach(struct dial *d, int64_t deadline)
{
    int64_t soon = clock_now_ms() + PATIENCE_MS;
    bool told = false;
    enum err e;
    if (d->watch != NULL)
        watch_redial(d->watch);
    e = wait_writable(d, soon < deadline ? soon : deadline, &told);
    if (e == ERR_TIMEOUT && !told && soon < deadline) {
        log_info(d->log, "waiting for %s to answer", d->label);
        e = wait_writable(d, deadline, &told);
    }
    if (e == ERR_TIMEOUT && !told)
        log_error(
            d->log,
            "%s does not answer: see that the server runs, that the study has its address and "
            "key, and that the server's study has our key",
            d->label);
    return e;
}

static enum err broken(const struct dial *d)
{
    return log_fail(d->log, ERR_PEER, "the connection to %s broke", d->label);
}

enum err dial_send(struct dial *d, bool more, const void *p, size_t n, int64_t deadline)
{
    enum err e = ERR_AGAIN;
    while (e == ERR_AGAIN) {
        /* an earlier break does not matter, but one from here on may lose the message */
        if (d->watch != NULL && !more)
            watch_forget(d->watch);
        TRY(dial_reach(d, deadline));
        if (d->watch != NULL && more && watch_broke(d->watch))
            return broken(d);
        if (d->watch != NULL)
            watch_stands(d->watch);
        e = socket_send(d->socket, p, n);
    }
    if (e == ERR_OK)
        d->sent += n;
    return e;
}

/* Waits until there may be a message, or news of the connection. */
static enum err wait_for_news(struct dial *d, int64_t deadline)
{
    struct socket_wait w[2] = {{.socket = d->socket, .readable = true}};
    if (d->watch == NULL)
        return wait_on(d, w, 1, deadline);
    w[1] = (struct socket_wait){.socket = watch_socket(d->watch), .readable = true};
    return wait_on(d, w, 2, deadline);
}

enum err dial_receive(struct dial *d, struct bytes *message, int64_t deadline)
{
    for (;;) {
        /* asked before looking for a message that came before the break */
        bool broke = d->watch != NULL && watch_broke(d->watch);
        enum err e = socket_receive(d->socket, message, d->label, d->log);
        if (e == ERR_OK)
            d->received += message->size;
        if (e != ERR_AGAIN)
            return e;
        if (broke)
            return broken(d);
        TRY(wait_for_news(d, deadline));
    }
}

void dial_traffic(const struct dial *d, uint64_t *sent, uint64_t *received)
{
    *sent += d->sent;
    *received += d->received;
}
