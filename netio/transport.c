#include "netio/transport.h"

#include <string.h>

enum err transport_make(struct transport *t, size_t size, struct transport_message *m)
{
    return t->ops->make(t->self, size, m);
}

enum err transport_push(struct transport *t, enum net_peer to, struct transport_message *m)
{
    return t->ops->send(t->self, to, m);
}

enum err transport_pull(struct transport *t, enum net_peer from, struct transport_message *m)
{
    return t->ops->receive(t->self, from, m);
}

void transport_drop(struct transport *t, struct transport_message *m)
{
    if (m->held)
        t->ops->drop(t->self, m);
}

enum err transport_send(struct transport *t, enum net_peer to, const void *p, size_t n)
{
    struct transport_message m = {0};
    enum err e;
    TRY(transport_make(t, n, &m));
    if (n > 0)
        memcpy(m.data, p, n);
    e = transport_push(t, to, &m);
    transport_drop(t, &m);
    return e;
}

enum err transport_receive(struct transport *t, enum net_peer from, struct bytes *message)
{
    struct transport_message m = {0};
    TRY(transport_pull(t, from, &m));
    bytes_set(message, m.data, m.size);
    transport_drop(t, &m);
    return bytes_ok(message);
}

enum err transport_wait(struct transport *t, unsigned readable, unsigned writable, int64_t deadline)
{
    return t->ops->wait(t->self, readable, writable, deadline);
}

unsigned transport_broken(struct transport *t)
{
    return t->ops->broken != NULL ? t->ops->broken(t->self) : 0;
}

unsigned transport_standing(struct transport *t)
{
    return t->ops->standing != NULL ? t->ops->standing(t->self) : 0;
}

void transport_forget(struct transport *t)
{
    if (t->ops->forget != NULL)
        t->ops->forget(t->self);
}

enum err transport_send_by(struct transport *t, enum net_peer to, const void *p, size_t n,
                           int64_t deadline)
{
    for (;;) {
        enum err e = transport_send(t, to, p, n);
        if (e != ERR_AGAIN)
            return e;
        TRY(transport_wait(t, 0, 1u << to, deadline));
    }
}

void transport_free(struct transport **t)
{
    if (*t == NULL)
        return;
    (*t)->ops->free((*t)->self);
    *t = NULL;
}
