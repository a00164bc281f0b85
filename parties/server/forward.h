/*
 * parties/server/forward.h - where a setting has the server that owners give their vectors pass
 * them on to another (parties/setting/split.h), so that an owner sends the long part once.
 *
 * Its thread sends what is on disk and not yet acknowledged by the other server, many at a time. If
 * that one is down, or has not heard of the owner yet, the thread tries again, less and less often
 * unless something new comes. It forgets nothing when it is restarted.
 */
#pragma once

#include "parties/server/site.h"

enum err forward_start(struct forward **forward, const struct site *site) MUST_CHECK;
/* Something new may be there: look at once. NULL is fine. */
void forward_wake(struct forward *forward);
void forward_stop(struct forward **forward);
