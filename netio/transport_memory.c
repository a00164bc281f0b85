/*
 * In-process queues: six of them, one for each direction of each link, under one mutex.
 *
 * What is queued is buffers of one pool: nothing is copied from sender to receiver.
 */
#include "netio/transport.h"

#include "base/memory.h"
#include "netio/pool.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define SPARE 24 /* unused buffers that are kept: four for each direction of each link */

struct slot {
    void *buffer;
    size_t size;
};

struct queue {
    struct slot *slot;
    size_t first, count;
};

struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned users;
    size_t depth;
    struct pool *pool;
    struct queue queue[3][2]; /* [sender][which neighbour of the sender] */
};

struct end {
    struct hub *hub;
    unsigned index;
};

static struct queue *outgoing(struct end *end, enum net_peer to)
{
    return &end->hub->queue[end->index][to];
}

static struct queue *incoming(struct end *end, enum net_peer from)
{
    return &end->hub->queue[net_index_of(end->index, from)][from == NET_PREV ? NET_NEXT : NET_PREV];
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
    (void)self;
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
        if (q->count++ == 0) /* else its reader does not wait for it */
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
        if (q->count-- == hub->depth) /* else its writer does not wait for room */
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

    if (deadline < 0)
        until = (struct timespec){0};
    pthread_mutex_lock(&hub->mutex);
    while (!(is_ready = ready(end, readable, writable)) && code != ETIMEDOUT)
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
        memory_free(&q->slot);
    }
    pool_close(&hub->pool);
    pthread_cond_destroy(&hub->changed);
    pthread_mutex_destroy(&hub->mutex);
    memory_free(&hub);
}

static void memory_end(void *self)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    bool last;

    pthread_mutex_lock(&hub->mutex);
    last = --hub->users == 0;
    pthread_mutex_unlock(&hub->mutex);
    if (last)
        hub_free(hub);
    memory_free(&end);
}

static const struct transport_ops memory_ops = {
    .make = memory_make,
    .send = memory_send,
    .receive = memory_receive,
    .drop = memory_drop,
    .wait = memory_wait,
    .free = memory_end,
};

static struct hub *hub_new(size_t depth)
{
    struct hub *hub = memory_array(1, sizeof *hub);
    pthread_condattr_t monotonic;
    bool complete;

    if (hub == NULL)
        return NULL;
    hub->depth = depth;
    hub->pool = pool_new(SPARE);
    complete = hub->pool != NULL;
    pthread_mutex_init(&hub->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (unsigned i = 0; i < 6; i++) {
        hub->queue[i / 2][i % 2].slot = memory_array(depth, sizeof(struct slot));
        complete = complete && hub->queue[i / 2][i % 2].slot != NULL;
    }
    if (!complete) {
        hub_free(hub);
        return NULL;
    }
    return hub;
}

enum err transport_memory_new(struct transport *three[3], size_t depth)
{
    struct hub *hub;

    three[0] = three[1] = three[2] = NULL;
    if (depth == 0)
        return ERR_RANGE;
    hub = hub_new(depth);
    if (hub == NULL)
        return ERR_NOMEM;
    hub->users = 1; /* held here, so that a failure half way frees the hub once */
    for (unsigned i = 0; i < 3; i++) {
        struct transport *t = memory_array(1, sizeof *t);
        struct end *end = memory_array(1, sizeof *end);
        if (t == NULL || end == NULL) {
            memory_free(&t);
            memory_free(&end);
            break;
        }
        *end = (struct end){.hub = hub, .index = i};
        *t = (struct transport){.ops = &memory_ops, .self = end};
        hub->users++;
        three[i] = t;
    }
    if (three[2] == NULL) {
        transport_free(&three[0]);
        transport_free(&three[1]);
        hub_free(hub);
        return ERR_NOMEM;
    }
    hub->users--;
    return ERR_OK;
}
