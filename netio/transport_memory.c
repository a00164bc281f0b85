/*
 * In-process queues: six of them, one for each direction of each link, under one mutex.
 *
 * Each queue has one writer and one reader, so the slot past the last message belongs to the writer
 * until it raises `count`: bytes are copied in outside the lock. A reader swaps its old buffer for
 * the full one, so that buffers circulate and nothing is allocated once the sizes have settled.
 */
#include "netio/transport.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

struct queue {
    struct bytes *slot;
    size_t first, count;
};

struct hub {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned users;
    size_t depth;
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

static enum err memory_send(void *self, enum net_peer to, const void *head, size_t head_size,
                            const void *body, size_t body_size)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    struct queue *q = outgoing(end, to);
    struct bytes *slot;

    pthread_mutex_lock(&hub->mutex);
    slot = q->count < hub->depth ? &q->slot[(q->first + q->count) % hub->depth] : NULL;
    pthread_mutex_unlock(&hub->mutex);
    if (slot == NULL)
        return ERR_AGAIN;

    slot->size = 0;
    slot->failed = false;
    bytes_put(slot, head, head_size);
    bytes_put(slot, body, body_size);
    TRY(bytes_ok(slot));

    pthread_mutex_lock(&hub->mutex);
    q->count++;
    pthread_cond_broadcast(&hub->changed);
    pthread_mutex_unlock(&hub->mutex);
    return ERR_OK;
}

static enum err memory_receive(void *self, enum net_peer from, struct bytes *message)
{
    struct end *end = self;
    struct hub *hub = end->hub;
    struct queue *q = incoming(end, from);
    enum err e = ERR_AGAIN;

    pthread_mutex_lock(&hub->mutex);
    if (q->count > 0) {
        struct bytes full = q->slot[q->first];
        q->slot[q->first] = *message;
        *message = full;
        q->first = (q->first + 1) % hub->depth;
        q->count--;
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
        for (size_t j = 0; q->slot != NULL && j < hub->depth; j++)
            bytes_clear(&q->slot[j]);
        memory_free(&q->slot);
    }
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
    .send = memory_send,
    .receive = memory_receive,
    .wait = memory_wait,
    .free = memory_end,
};

static struct hub *hub_new(size_t depth)
{
    struct hub *hub = memory_array(1, sizeof *hub);
    pthread_condattr_t monotonic;
    bool complete = true;

    if (hub == NULL)
        return NULL;
    hub->depth = depth;
    pthread_mutex_init(&hub->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (unsigned i = 0; i < 6; i++) {
        hub->queue[i / 2][i % 2].slot = memory_array(depth, sizeof(struct bytes));
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
