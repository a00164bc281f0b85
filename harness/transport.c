/*
 * In-process queues: six of them, one for each direction of each link, under one mutex.
 *
 * Queues hold buffers from one pool: nothing is copied from sender to receiver.
 */
#include "harness/transport.h"

#include "base/memory.h"
#include "netio/pool.h"

#include <pthread.h>
#include <time.h>

#define SPARE 24 /* unused buffers that are kept: four for each direction of each link */

struct slot {
    void *buffer;
    size_t size;
};

struct hub;

struct queue {
    struct slot *slot; /* `depth` of them */
    size_t first, count;
};

/* What one server has of it. */
struct end {
    struct transport transport;
    struct hub *hub;
    unsigned index;
    bool hurry;
};

struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned servers;
    struct end end[3];
    unsigned users; /* ends that are not freed yet */
    size_t depth;
    struct pool *pool;
    struct slot *slots;       /* of all queues */
    struct queue queue[3][2]; /* [sender][which neighbour of the sender] */
};

static struct queue *outgoing(struct end *end, enum net_peer to)
{
    return &end->hub->queue[end->index][to];
}

static struct queue *incoming(struct end *end, enum net_peer from)
{
    const unsigned servers = end->hub->servers;
    return &end->hub->queue[net_neighbour_of(servers, end->index, from)][net_back(servers, from)];
}

static enum err memory_make(void *self, size_t size, struct transport_message *m)
{
    struct end *end = self;
    void *buffer = pool_get(end->hub->pool, size);
    if (buffer == NULL)
        return ERR_NOMEM;
    *m = (struct transport_message){.data = buffer, .size = size, .held = true};
    return ERR_OK;
}

static void memory_drop(void *self, struct transport_message *m)
{
    pool_put(m->data);
    *m = (struct transport_message){0};
}

static enum err memory_send(void *self, enum net_peer to, struct transport_message *m)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    struct queue *q = outgoing(end, to);
    enum err e = ERR_AGAIN;
    pthread_mutex_lock(&hub->mutex);
    if (q->count < hub->depth) {
        q->slot[(q->first + q->count) % hub->depth] = (struct slot){m->data, m->size};
        if (q->count++ == 0) /* otherwise its reader does not wait for it */
            pthread_cond_broadcast(&hub->changed);
        *m = (struct transport_message){0};
        e = ERR_OK;
    }
    pthread_mutex_unlock(&hub->mutex);
    return e;
}

static enum err memory_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    struct queue *q = incoming(end, from);
    enum err e = ERR_AGAIN;
    pthread_mutex_lock(&hub->mutex);
    if (q->count > 0) {
        struct slot slot = q->slot[q->first];
        *m = (struct transport_message){.data = slot.buffer, .size = slot.size, .held = true};
        q->first = (q->first + 1) % hub->depth;
        if (q->count-- == hub->depth) /* otherwise its writer does not wait for room */
            pthread_cond_broadcast(&hub->changed);
        e = ERR_OK;
    }
    pthread_mutex_unlock(&hub->mutex);
    return e;
}

static bool ready(struct end *end, unsigned readable, unsigned writable)
{
    for (unsigned p = 0; p < 2; p++) {
        if ((readable >> p & 1) && incoming(end, (enum net_peer)p)->count > 0)
            return true;
        if ((writable >> p & 1) && outgoing(end, (enum net_peer)p)->count < end->hub->depth)
            return true;
    }
    return false;
}

static enum err memory_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000),
                             .tv_nsec = (long)(deadline % 1000) * 1000000};
    bool is_ready;
    int code = 0;
    pthread_mutex_lock(&hub->mutex);
    while (!(is_ready = ready(end, readable, writable)) && code == 0 && !end->hurry)
        code = pthread_cond_timedwait(&hub->changed, &hub->mutex, &until);
    pthread_mutex_unlock(&hub->mutex);
    return is_ready ? ERR_OK : ERR_TIMEOUT;
}

static void hub_free(struct hub *hub)
{
    for (unsigned i = 0; i < 6; i++) {
        struct queue *q = &hub->queue[i / 2][i % 2];
        for (size_t j = 0; j < q->count; j++)
            pool_put(q->slot[(q->first + j) % hub->depth].buffer);
    }
    memory_free(&hub->slots);
    pool_close(&hub->pool);
    pthread_cond_destroy(&hub->changed);
    pthread_mutex_destroy(&hub->mutex);
    memory_free(&hub);
}

static void memory_end(void *self)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    pthread_mutex_lock(&hub->mutex);
    bool last = --hub->users == 0;
    pthread_mutex_unlock(&hub->mutex);
    if (last)
        hub_free(hub);
}

static const struct transport_ops memory_ops = {
    .make = memory_make,
    .send = memory_send,
    .receive = memory_receive,
    .drop = memory_drop,
    .wait = memory_wait,
    .free = memory_end,
};

static struct hub *hub_new(unsigned servers, size_t depth)
{
    struct hub *hub = memory_array(1, sizeof *hub);
    pthread_condattr_t monotonic;
    if (hub == NULL)
        return NULL;
    hub->depth = depth;
    hub->users = hub->servers = servers;
    pthread_mutex_init(&hub->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    hub->pool = pool_new(SPARE);
    hub->slots = memory_array(depth, 6 * sizeof *hub->slots);
    if (hub->pool == NULL || hub->slots == NULL) {
        hub_free(hub);
        return NULL;
    }
    for (size_t i = 0; i < 6; i++)
        hub->queue[i / 2][i % 2].slot = hub->slots + i * depth;
    return hub;
}

static enum err connect(struct transport **t, unsigned servers, size_t depth)
{
    for (unsigned i = 0; i < servers; i++)
        t[i] = NULL;
    if (depth == 0)
        return ERR_RANGE;
    struct hub *hub = hub_new(servers, depth);
    if (hub == NULL)
        return ERR_NOMEM;
    for (unsigned i = 0; i < servers; i++) {
        struct end *end = &hub->end[i];
        *end = (struct end){.transport = {&memory_ops, end}, .hub = hub, .index = i};
        t[i] = &end->transport;
    }
    return ERR_OK;
}

enum err transport_memory_new(struct transport *three[3], size_t depth)
{
    return connect(three, 3, depth);
}

enum err transport_memory_pair(struct transport *two[2], size_t depth)
{
    return connect(two, 2, depth);
}

void transport_memory_hurry(struct transport *t)
{
    struct end *end = t->self;
    end->hurry = true;
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
