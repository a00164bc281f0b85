/*
 * parties/store/store_guard.h - how often a server has let others try a check (mpc/check/check.h).
 *
 * A server that has seen the coin of a check may hang up and try again in another session. So a
 * check that has begun but not ended is a try. After STORE_GUARD_TRIES of them, or one failed
 * check, none begins any more until the server's operator lifts the guard. Each call except the
 * last is one transaction, on disk when it returns.
 */
#pragma once

#include "parties/store/store.h"

#define STORE_GUARD_TRIES 256

struct store_guard {
    uint64_t begun, tries; /* all checks ever; those not ended since the guard was lifted */
    bool failed;           /* whether one has failed since then */
};

/* ERR_REFUSED, not logged, if none may begin. */
enum err store_guard_begin(struct store *store) MUST_CHECK;
enum err store_guard_end(struct store *store) MUST_CHECK;
enum err store_guard_fail(struct store *store) MUST_CHECK;
enum err store_guard_lift(struct store *store) MUST_CHECK;
enum err store_guard(struct store *store, struct store_guard *guard) MUST_CHECK;
bool store_guard_refuses(const struct store_guard *guard);
