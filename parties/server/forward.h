/*
 * parties/server/forward.h - server 1 passes owners' vectors (component 2) on to server 2, so that
 * an owner sends the long part once.
 *
 * Its thread sends what is on disk and not yet acknowledged by server 2, many at a time. A server 2
 * that is down, or has not heard of the owner yet, is tried again, less and less often unless
 * something new comes. A restart of server 1 forgets nothing.
 */
#ifndef TREFOIL_PARTIES_SERVER_FORWARD_H
#define TREFOIL_PARTIES_SERVER_FORWARD_H

#include "netio/context.h"
#include "parties/store/store.h"

struct forward;

enum err forward_start(struct forward **forward, struct netio *netio, struct store *store,
                       const struct study *study, const struct identity *me,
                       struct log *log) MUST_CHECK;
/* Something new may be there: look at once. NULL is fine. */
void forward_wake(struct forward *forward);
void forward_stop(struct forward **forward);

#endif
