#include "netio/pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define ALIGNMENT ((size_t)64)

/* Stands before each buffer's bytes. */
struct pool_head {
    struct pool *pool;
    size_t capacity;
};

_Static_assert(sizeof(struct pool_head) <= ALIGNMENT, "the head fits before an aligned buffer");

struct pool {
    pthread_mutex_t mutex;
    size_t users; /* the owner and every buffer that is out */
    bool closed;
    size_t count, spare;
    struct pool_head *unused[]; /* oldest first */
};

struct pool *pool_new(uint8_t spare)
{
    struct pool *pool = memory_array(1, sizeof *pool + spare * sizeof pool->unused[0]);
    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pool->users = 1;
    pool->spare = spare;
    return pool;
}

/* Gives up one use, under the mutex; the last one frees the pool. */
static void leave(struct pool *pool)
{
    bool last = --pool->users == 0;
    pthread_mutex_unlock(&pool->mutex);
    if (last) {
        pthread_mutex_destroy(&pool->mutex);
        memory_free(&pool);
    }
}

void pool_close(struct pool **address)
{
    struct pool *pool = *address;
    *address = NULL;
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closed = true;
    while (pool->count > 0)
        memory_free(&pool->unused[--pool->count]);
    leave(pool);
}

static void take_out(struct pool *pool, size_t i)
{
    pool->count--;
    memmove(&pool->unused[i], &pool->unused[i + 1], (pool->count - i) * sizeof pool->unused[0]);
}

void *pool_get(struct pool *pool, size_t size)
{
    struct pool_head *head = NULL;
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    pthread_mutex_lock(&pool->mutex);
    for (size_t i = pool->count; i-- > 0 && head == NULL;) {
        if (pool->unused[i]->capacity >= size) {
            head = pool->unused[i];
            take_out(pool, i);
        }
    }
    pool->users++;
    pthread_mutex_unlock(&pool->mutex);
    if (head == NULL) {
        head = memory_words(ALIGNMENT + size, 1);
        if (head == NULL) {
            pthread_mutex_lock(&pool->mutex);
            leave(pool);
            return NULL;
        }
        *head = (struct pool_head){.pool = pool, .capacity = size};
    }
    return (unsigned char *)head + ALIGNMENT;
}

void pool_put(void *buffer)
{
    struct pool_head *head = (void *)((unsigned char *)buffer - ALIGNMENT), *surplus = head;
    struct pool *pool = head->pool;
    pthread_mutex_lock(&pool->mutex);
    if (!pool->closed && pool->spare > 0) {
        surplus = NULL;
        if (pool->count == pool->spare) {
            /* the one that was unused for longest: sizes change */
            surplus = pool->unused[0];
            take_out(pool, 0);
        }
        pool->unused[pool->count++] = head;
    }
    leave(pool);
    memory_free(&surplus);
}
