/*
 * parties/server/bell.h - how a request ends at once what a server does while it is idle.
 *
 * The front rings when it has passed a request to the worker, and so does the end of the server.
 * While the worker has armed the bell, that sets the flag which ends all lanes of its session at
 * their next step (netio/net.h); else it is only noted. So what must not be cut short, like a
 * check whose tries are counted, is done with the bell disarmed.
 */
#ifndef TREFOIL_PARTIES_SERVER_BELL_H
#define TREFOIL_PARTIES_SERVER_BELL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct bell {
    pthread_mutex_t lock;
    bool rung;
    atomic_bool *ends; /* set when it rings; NULL: it is not armed */
};

void bell_new(struct bell *bell);
void bell_free(struct bell *bell);
void bell_ring(struct bell *bell);
/* Sets the flag at once if it has rung already. */
void bell_arm(struct bell *bell, atomic_bool *ends);
void bell_disarm(struct bell *bell);
bool bell_has_rung(struct bell *bell);
/* Before the worker looks whether anything waits for it. */
void bell_forget(struct bell *bell);

#endif
