/*
 * netio/pool.h - frame buffers that circulate: the last one returned is the next one given,
 * still warm in the cache, and nothing is allocated or cleared once the sizes have settled.
 *
 * Safe for several threads. A buffer may outlive its pool's owner: libzmq returns the last ones
 * from its own thread after the sockets are closed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool;

/* Keeps at most `spare` unused buffers. NULL when memory is short. */
struct pool *pool_new(uint8_t spare);
/* Frees the unused buffers now and every other one when it is returned. */
void pool_close(struct pool **pool);

/* At least `size` bytes, aligned to 64, not cleared; NULL when memory is short. */
void *pool_get(struct pool *pool, size_t size);
/* Returns a buffer to the pool that it came from. */
void pool_put(void *buffer);
