#include "netio/watch.h"

#include "base/memory.h"
#include "base/secret.h"
#include "netio/socket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define REFUSED                                                                                    \
    (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                  \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

struct watch {
    void *socket; /* borrowed */
    void *events; /* PAIR */
    char *endpoint;
    bool broke, refused;
};

enum err watch_new(struct watch **watch, void *context, void *socket, const char *endpoint,
                   struct log *log)
{
    struct socket_options so = {.type = ZMQ_PAIR};
    struct watch *w = memory_array(1, sizeof *w);
    char name[40];
    uint64_t number;
    enum err e;

    *watch = w;
    if (w == NULL)
        return ERR_NOMEM;
    w->socket = socket;
    w->endpoint = memory_string(endpoint);
    /* not an address: ZeroMQ keeps the name of one that was freed for a while */
    secret_random(&number, sizeof number);
    snprintf(name, sizeof name, "inproc://watch-%016" PRIx64, number);
    e = w->endpoint == NULL ? ERR_NOMEM : ERR_OK;
    if (e == ERR_OK && zmq_socket_monitor(socket, name, ZMQ_EVENT_DISCONNECTED | REFUSED) != 0)
        e = ERR_SYSTEM;
    if (e == ERR_OK)
        w->events = socket_new(context, &so, log, &e);
    /* no bound: where one is reached ZeroMQ's thread waits for us, and with it every connection of the program */
    if (e == ERR_OK)
        e = socket_option(w->events, ZMQ_RCVHWM, 0, log);
    if (e == ERR_OK)
        e = socket_dial(w->events, name, log);
    if (e != ERR_OK)
        watch_free(watch);
    return e;
}

void watch_free(struct watch **watch)
{
    struct watch *w = *watch;
    if (w == NULL)
        return;
    zmq_socket_monitor(w->socket, NULL, 0);
    if (w->events != NULL)
        zmq_close(w->events);
    memory_free(&w->endpoint);
    memory_free(watch);
}

/* Takes what has happened. An event is two frames: its number (u16) and a value (u32), then the endpoint. */
void watch_tend(struct watch *w)
{
    uint8_t frame[256];
    int n;
    while ((n = zmq_recv(w->events, frame, sizeof frame, ZMQ_DONTWAIT)) >= 0) {
        uint16_t event = 0;
        if (n >= (int)sizeof event)
            memcpy(&event, frame, sizeof event);
        w->broke = w->broke || (event & ZMQ_EVENT_DISCONNECTED) != 0;
        w->refused = w->refused || (event & REFUSED) != 0;
        (void)zmq_recv(w->events, frame, sizeof frame, ZMQ_DONTWAIT);
    }
}

void watch_redial(struct watch *w)
{
    watch_tend(w);
    if (!w->refused)
        return;
    w->refused = false;
    /* fails where ZeroMQ has forgotten the endpoint with the connection: then there is nothing to undo */
    (void)zmq_disconnect(w->socket, w->endpoint);
    (void)zmq_connect(w->socket, w->endpoint);
}

bool watch_broke(struct watch *w)
{
    bool broke;
    watch_tend(w);
    broke = w->broke;
    w->broke = false;
    return broke;
}

void *watch_socket(struct watch *w)
{
    return w->events;
}
