/*
 * parties/server/forward.h - server 1 passes owners' vectors (component 2) on to server 2, so that
 * an owner sends the long part once.
 *
 * Its thread sends what is on disk and not yet acknowledged by server 2, many at a time. If server
 * 2 is down, or has not heard of the owner yet, the thread tries again, less and less often unless
 * something new comes. Server 1 forgets nothing when it is restarted.
 */
#ifndef TREFOIL_PARTIES_SERVER_FORWARD_H
#define TREFOIL_PARTIES_SERVER_FORWARD_H

#include "parties/server/site.h"

enum err forward_start(struct forward **forward, const struct site *site) MUST_CHECK;
/* Something new may be there: look at once. NULL is fine. */
void forward_wake(struct forward *forward);
void forward_stop(struct forward **forward);

#endif
