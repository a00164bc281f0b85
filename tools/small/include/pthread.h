/* A module of WebAssembly has one thread: locks hold, and no other thread starts. */
#ifndef SMALL_PTHREAD_H
#define SMALL_PTHREAD_H

#include <errno.h>

typedef int pthread_t, pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER 0

static inline int pthread_mutex_init(pthread_mutex_t *m, const void *how)
{
    (void)how;
    return *m = 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *m)
{
    return *m;
}
#define pthread_mutex_unlock pthread_mutex_lock
#define pthread_mutex_destroy pthread_mutex_lock

static inline int pthread_create(pthread_t *t, const void *how, void *(*go)(void *), void *self)
{
    (void)t, (void)how, (void)go, (void)self;
    return EAGAIN;
}
static inline int pthread_join(pthread_t t, void **result)
{
    (void)result;
    return t;
}

#endif
