#include "netio/watch.h"

#include "base/memory.h"
#include "netio/events.h"

#include <stdint.h>
#include <zmq.h>

#define REFUSED                                                                                    \
    (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                  \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
#define DENIED 400 /* ZAP's status for a key that is not admitted; others say: not now */
/*
 * Attempts that ended: ZeroMQ reports each that a port refused, and each that it will make later.
 */
#define IN_VAIN 2

struct watch {
    void *socket; /* borrowed */
    void *events; /* PAIR */
    char *endpoint;
    bool stands, broke, refused, denied, closed;
    unsigned put_off; /* attempts */
};

enum err watch_new(struct watch **watch, void *context, void *socket, const char *endpoint,
                   struct log *log)
{
    struct watch *w CLEAN(watch_free) = NULL;
    *watch = NULL;
    TRY(memory_new(&w, 1));
    w->socket = socket;
    w->endpoint = memory_string(endpoint);
    if (w->endpoint == NULL)
        return ERR_NOMEM;
    TRY(events_new(&w->events, context, socket,
                   ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                       ZMQ_EVENT_CONNECT_RETRIED | REFUSED,
                   log));
    return memory_hand_over(watch, &w);
}

void watch_free(struct watch **watch)
{
    struct watch *w = *watch;
    if (w == NULL)
        return;
    events_free(w->events, w->socket);
    memory_free(&w->endpoint);
    memory_free(watch);
}

void watch_tend(struct watch *w)
{
    uint16_t kind;
    int32_t value;
    while (events_take(w->events, &kind, &value)) {
        /* one that is cut before it is admitted never stood: ZeroMQ dials again */
        w->broke = w->broke || (w->stands && kind == ZMQ_EVENT_DISCONNECTED);
        w->stands = kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ||
                    (w->stands && kind != ZMQ_EVENT_DISCONNECTED);
        w->refused = w->refused || (kind & REFUSED) != 0;
        w->denied = w->denied || (kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == DENIED);
        w->closed = w->closed || kind == ZMQ_EVENT_CLOSED;
        w->put_off += kind == ZMQ_EVENT_CONNECT_RETRIED;
    }
}

void watch_redial(struct watch *w)
{
    watch_tend(w);
    w->denied = w->closed = false;
    w->put_off = 0;
    if (!w->refused)
        return;
    w->refused = false;
    /*
     * fails where ZeroMQ has forgotten the endpoint with the connection: then there is nothing to
     * undo
     */
    (void)zmq_disconnect(w->socket, w->endpoint);
    (void)zmq_connect(w->socket, w->endpoint);
}

enum watch_end watch_attempts(struct watch *w)
{
    watch_tend(w);
    return w->denied                            ? WATCH_DENIED
           : w->closed || w->put_off >= IN_VAIN ? WATCH_NOBODY
                                                : WATCH_NO_END;
}

void watch_stands(struct watch *w)
{
    w->stands = true;
}

bool watch_is_up(struct watch *w)
{
    watch_tend(w);
    return w->stands;
}

bool watch_broke(struct watch *w)
{
    watch_tend(w);
    return w->broke;
}

void watch_forget(struct watch *w)
{
    watch_tend(w);
    w->broke = false;
}

void *watch_socket(struct watch *w)
{
    return w->events;
}
