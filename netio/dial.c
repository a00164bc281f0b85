#include "netio/gate.h"

#include "base/memory.h"
#include "netio/socket.h"

#include <zmq.h>

#define DEPTH 16

struct dial {
    struct log *log;
    void *socket;
    char *endpoint;
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
    d->endpoint = memory_string(o->endpoint);
    d->socket = socket_new(netio_zmq(o->netio), &so, o->log, &e);
    if (e == ERR_OK && d->endpoint == NULL)
        e = ERR_NOMEM;
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
    if ((*dial)->socket != NULL)
        zmq_close((*dial)->socket);
    memory_free(&(*dial)->endpoint);
    memory_free(dial);
}

enum err dial_send(struct dial *d, const void *p, size_t n, int64_t deadline)
{
    const struct socket_wait w = {.socket = d->socket, .writable = true};
    enum err e = ERR_AGAIN;

    while (e == ERR_AGAIN) {
        if (socket_writable(d->socket))
            e = socket_send(d->socket, p, n, NULL, 0, false);
        else if ((e = socket_wait(&w, 1, deadline)) == ERR_OK)
            e = ERR_AGAIN;
    }
    if (e == ERR_OK)
        d->sent += n;
    else
        log_error(d->log,
                  "%s cannot be reached: %s; see that the server runs, that the study has its key "
                  "and address, and that the server's study has our key",
                  d->endpoint, error_text(e));
    return e;
}

enum err dial_receive(struct dial *d, struct bytes *message, int64_t deadline)
{
    const struct socket_wait w = {.socket = d->socket, .readable = true};
    enum err e;

    while ((e = socket_receive(d->socket, message, d->endpoint, d->log)) == ERR_AGAIN)
        TRY(socket_wait(&w, 1, deadline));
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
