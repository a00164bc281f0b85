/*
 * parties/server/bell.h - how a request interrupts what a server does while it is idle.
 *
 * The front rings the bell when it has passed a request to the worker, and the server rings it when
 * it ends. If the worker has armed the bell, ringing sets the flag that ends all lanes of its
 * session at their next step (netio/net.h); otherwise it is only noted. Work that must not be cut
 * short, like a check whose tries are counted, is done with the bell disarmed.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct bell {
    pthread_mutex_t lock;
    bool rung;
    atomic_bool *ends; /* set when it rings; NULL: not armed */
};

void bell_new(struct bell *bell);
void bell_free(struct bell *bell);
void bell_ring(struct bell *bell);
/* If the bell has rung already, sets the flag at once. */
void bell_arm(struct bell *bell, atomic_bool *ends);
void bell_disarm(struct bell *bell);
bool bell_has_rung(struct bell *bell);
/* To be called before the worker checks whether anything waits for it. */
void bell_forget(struct bell *bell);
