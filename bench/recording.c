#include "bench/recording.h"

#include "base/memory.h"
#include "netio/pool.h"

#include <string.h>

#define SPARE 8

struct recording_kept {
    uint8_t *bytes;
    size_t size;
};

struct recording {
    struct transport *inner; /* while recording */
    struct pool *pool;       /* of what is sent, while playing */
    struct {
        struct recording_kept *message;
        size_t count, room, next;
    } from[2];
};

enum err recording_new(struct recording **r)
{
    *r = memory_array(1, sizeof **r);
    if (*r != NULL)
        (*r)->pool = pool_new(SPARE);
    if (*r != NULL && (*r)->pool == NULL)
        memory_free(r);
    return *r != NULL ? ERR_OK : ERR_NOMEM;
}

void recording_free(struct recording **r)
{
    if (*r == NULL)
        return;
    for (unsigned p = 0; p < 2; p++) {
        for (size_t i = 0; i < (*r)->from[p].count; i++)
            memory_free(&(*r)->from[p].message[i].bytes);
        memory_free(&(*r)->from[p].message);
    }
    pool_close(&(*r)->pool);
    memory_free(r);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static enum err grow(struct recording *r, enum net_peer from)
{
    const size_t room = 2 * r->from[from].room + 64;
    struct recording_kept *longer;
    if (r->from[from].count < r->from[from].room)
        return ERR_OK;
    longer = memory_array(room, sizeof *longer);
    if (longer == NULL)
        return ERR_NOMEM;
    if (r->from[from].count > 0)
        memcpy(longer, r->from[from].message, r->from[from].count * sizeof *longer);
    memory_free(&r->from[from].message);
    r->from[from].message = longer;
    r->from[from].room = room;
    return ERR_OK;
}

static enum err keep_make(void *self, size_t size, struct transport_message *m)
{
    return transport_make(((struct recording *)self)->inner, size, m);
}

static enum err keep_send(void *self, enum net_peer to, struct transport_message *m)
{
    return transport_push(((struct recording *)self)->inner, to, m);
}

static enum err keep_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct recording *r = self;
    struct recording_kept *k;
    TRY(transport_pull(r->inner, from, m));
    TRY(grow(r, from));
    k = &r->from[from].message[r->from[from].count];
    k->bytes = memory_array(m->size, 1);
    k->size = m->size;
    if (k->bytes == NULL)
        return ERR_NOMEM;
    memcpy(k->bytes, m->data, m->size);
    r->from[from].count++;
    return ERR_OK;
}

static void keep_drop(void *self, struct transport_message *m)
{
    transport_drop(((struct recording *)self)->inner, m);
}

static enum err keep_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    return transport_wait(((struct recording *)self)->inner, readable, writable, deadline);
}

static void let_be(void *self)
{
    (void)self;
}

struct transport recording_keep(struct recording *r, struct transport *inner)
{
    static const struct transport_ops ops = {.make = keep_make,
                                             .send = keep_send,
                                             .receive = keep_receive,
                                             .drop = keep_drop,
                                             .wait = keep_wait,
                                             .free = let_be};
    r->inner = inner;
    return (struct transport){&ops, r};
}

/* --- playing ---------------------------------------------------------------------------------- */

static enum err play_make(void *self, size_t size, struct transport_message *m)
{
    struct recording *r = self;
    void *buffer = pool_get(r->pool, size);
    if (buffer == NULL)
        return ERR_NOMEM;
    *m = (struct transport_message){.data = buffer, .size = size, .held = true};
    m->own.pointer[0] = buffer;
    return ERR_OK;
}

static void play_drop(void *self, struct transport_message *m)
{
    (void)self;
    if (m->own.pointer[0] != NULL)
        pool_put(m->own.pointer[0]);
    *m = (struct transport_message){0};
}

static enum err play_send(void *self, enum net_peer to, struct transport_message *m)
{
    (void)to;
    play_drop(self, m);
    return ERR_OK;
}

/* Gives out the recorded bytes themselves: whoever opens them does not write there. */
static enum err play_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct recording *r = self;
    struct recording_kept *k;
    if (r->from[from].next == r->from[from].count)
        return ERR_AGAIN;
    k = &r->from[from].message[r->from[from].next++];
    *m = (struct transport_message){.data = k->bytes, .size = k->size, .held = true};
    return ERR_OK;
}

/* Asked for more than was recorded: this server does something else than it did then. */
static enum err play_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    const struct recording *r = self;
    (void)deadline;
    for (unsigned p = 0; p < 2; p++)
        if ((readable >> p & 1) && r->from[p].next < r->from[p].count)
            return ERR_OK;
    return writable != 0 ? ERR_OK : ERR_MISMATCH;
}

struct transport recording_play(struct recording *r)
{
    static const struct transport_ops ops = {.make = play_make,
                                             .send = play_send,
                                             .receive = play_receive,
                                             .drop = play_drop,
                                             .wait = play_wait,
                                             .free = let_be};
    r->from[0].next = r->from[1].next = 0;
    return (struct transport){&ops, r};
}
