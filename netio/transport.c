#include "netio/transport.h"

#include "base/clock.h"
#include "base/memory.h"

enum err transport_send(struct transport *t, enum net_peer to, const void *head, size_t head_size,
                        const void *body, size_t body_size)
{
    return t->ops->send(t->self, to, head, head_size, body, body_size);
}

enum err transport_receive(struct transport *t, enum net_peer from, struct bytes *message)
{
    return t->ops->receive(t->self, from, message);
}

enum err transport_wait(struct transport *t, unsigned readable, unsigned writable, int64_t deadline)
{
    return t->ops->wait(t->self, readable, writable, deadline);
}

enum err transport_send_by(struct transport *t, enum net_peer to, const void *p, size_t n,
                           int64_t deadline)
{
    for (;;) {
        enum err e = transport_send(t, to, p, n, NULL, 0);
        if (e != ERR_AGAIN)
            return e;
        TRY(transport_wait(t, 0, 1u << to, deadline));
    }
}

enum err transport_receive_by(struct transport *t, enum net_peer from, struct bytes *message,
                              int64_t deadline)
{
    for (;;) {
        enum err e = transport_receive(t, from, message);
        if (e != ERR_AGAIN)
            return e;
        TRY(transport_wait(t, 1u << from, 0, deadline));
    }
}

void transport_free(struct transport **t)
{
    if (*t == NULL)
        return;
    (*t)->ops->free((*t)->self);
    memory_free(t);
}
