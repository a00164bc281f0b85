#include "netio/events.h"

#include "base/secret.h"
#include "netio/socket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static enum err connect_to(void *events, void *socket, int kinds, struct log *log)
{
    char name[40];
    uint64_t number;
    TRY(socket_option(events, ZMQ_RCVHWM, 0, log));
    /* not an address: ZeroMQ keeps the name of one that was freed for a while */
    secret_random(&number, sizeof number);
    snprintf(name, sizeof name, "inproc://events-%016" PRIx64, number);
    /* first: if a monitor has no listener, ZeroMQ waits for ever to say that it ends */
    TRY(socket_dial(events, name, log));
    if (zmq_socket_monitor(socket, name, kinds) == 0)
        return ERR_OK;
    log_error(log, "cannot watch the connections of a socket: %s", zmq_strerror(zmq_errno()));
    /* to itself: ZeroMQ keeps a socket until all peers that it dialled are there */
    (void)zmq_bind(events, name);
    return ERR_SYSTEM;
}

enum err events_new(void **events, void *context, void *socket, int kinds, struct log *log)
{
    const struct socket_options o = {.type = ZMQ_PAIR};
    enum err e = socket_new(events, context, &o, log);
    if (e == ERR_OK)
        e = connect_to(*events, socket, kinds, log);
    if (e != ERR_OK) {
        events_free(*events, socket);
        *events = NULL;
    }
    return e;
}

void events_free(void *events, void *socket)
{
    (void)zmq_socket_monitor(socket, NULL, 0);
    if (events != NULL)
        zmq_close(events);
}

/* Two frames: kind (u16) and value (i32), then the endpoint. */
bool events_take(void *events, uint16_t *kind, int32_t *value)
{
    zmq_msg_t m CLEAN(zmq_msg_close);
    const uint8_t *event;
    zmq_msg_init(&m);
    if (socket_part(events, &m) != ERR_OK || zmq_msg_size(&m) != sizeof *kind + sizeof *value)
        return false;
    event = zmq_msg_data(&m);
    memcpy(kind, event, sizeof *kind);
    memcpy(value, event + sizeof *kind, sizeof *value);
    socket_skip(events, &m);
    return true;
}
