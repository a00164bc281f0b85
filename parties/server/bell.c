#include "parties/server/bell.h"

#include <stddef.h>

void bell_new(struct bell *bell)
{
    pthread_mutex_init(&bell->lock, NULL);
    bell->rung = false;
    bell->ends = NULL;
}

void bell_free(struct bell *bell)
{
    pthread_mutex_destroy(&bell->lock);
}

/* A bell that has rung ends whatever it is armed with. */
static void set(struct bell *bell, bool rung, atomic_bool *ends)
{
    bell->rung = rung;
    bell->ends = ends;
    if (rung && ends != NULL)
        atomic_store(ends, true);
}

void bell_ring(struct bell *bell)
{
    pthread_mutex_lock(&bell->lock);
    set(bell, true, bell->ends);
    pthread_mutex_unlock(&bell->lock);
}

void bell_arm(struct bell *bell, atomic_bool *ends)
{
    pthread_mutex_lock(&bell->lock);
    set(bell, bell->rung, ends);
    pthread_mutex_unlock(&bell->lock);
}

void bell_disarm(struct bell *bell)
{
    bell_arm(bell, NULL);
}

bool bell_has_rung(struct bell *bell)
{
    bool rung;
    pthread_mutex_lock(&bell->lock);
    rung = bell->rung;
    pthread_mutex_unlock(&bell->lock);
    return rung;
}

void bell_forget(struct bell *bell)
{
    pthread_mutex_lock(&bell->lock);
    set(bell, false, bell->ends);
    pthread_mutex_unlock(&bell->lock);
}
