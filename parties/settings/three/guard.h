/*
 * parties/settings/three/guard.h - whether this server still lets the others try a check
 * (mpc/check/check.h).
 *
 * Checks that begin, end and fail are noted on disk (parties/store/store_guard.h). When a check has
 * failed, or too many were broken off, the server no longer takes part in the study. Its operator
 * must find out why and run trefoil recover --resume. So a single lying server has a bounded number
 * of tries, however often it hangs up or this server is restarted.
 *
 * Checks that run at the same time in several lanes count as one: it begins with the first and ends
 * with the last. A server that leaves them has lost its session, and so has used one try.
 *
 * Before the three have agreed on a round, lanes other than the first may compute what an analyst
 * asked of this server alone. None of their checks begins then, and a mismatch is not a failure.
 *
 * A statement that no server can make (parties/server/round.h) counts as a check that failed.
 */
#pragma once

#include "mpc/check/check.h"
#include "parties/audit/audit.h"
#include "parties/store/store_guard.h"

#include <pthread.h>
#include <stdatomic.h>

struct guard {
    struct store *store; /* borrowed, as is the log */
    struct log *log;
    atomic_bool failed; /* a check has failed, whether or not that is on disk */
    pthread_mutex_t lock;
    unsigned running;              /* checks of this session's lanes */
    atomic_bool unheard;           /* the three have not agreed yet on what is computed */
    atomic_bool unsure;            /* something did not fit in this session before they had */
    pthread_t first;               /* the thread of lane 0, which will hear that they have */
    const atomic_bool *ended;      /* or that the session has ended */
    enum err (*ready)(void *self); /* NULL: nobody is asked */
    void *asked;
};

void guard_start(struct guard *guard, struct store *store, struct log *log);
/* The calling thread waits for the others' agreement, until it has come or the round is over. */
void guard_expects(struct guard *guard, const atomic_bool *ended);
void guard_hears(struct guard *guard);
/* From now on `ready` is asked before lane 0 begins a check (mpc/check/check.h); NULL: nobody. */
void guard_asks(struct guard *guard, enum err (*ready)(void *self), void *self);

/* For the checks of all lanes of a session; those of the session before no longer run. */
struct check_guard guard_of(struct guard *guard);
/*
 * Something in this session ended with ERR_CHEAT: a check, or what a server stated. The guard
 * already knows of a check, and of one that is no failure.
 */
void guard_catches(struct guard *guard);
/* ERR_CHEAT once a check has failed, ERR_REFUSED if too many were broken off, else ERR_OK. */
enum err guard_verdict(struct guard *guard) MUST_CHECK;
/* The same; if the server no longer takes part, logs why and what to do. */
enum err guard_allows(struct guard *guard, struct log *log) MUST_CHECK;
/* The operator lets it go on, once that is in the audit log. `before`: what was noted until now. */
enum err guard_lift(struct store *store, struct audit *audit,
                    struct store_guard *before) MUST_CHECK;
