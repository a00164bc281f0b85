/*
 * parties/server/guard.h - whether this server still lets the others try a check (mpc/check.h).
 *
 * Checks that begin, end and fail are noted on disk (parties/store/store_guard.h). When one has
 * failed, or too many were left, the server takes no part in the study any more. Its operator finds
 * out why, and runs trefoil recover --resume. So one server that lies has a bounded number of
 * tries, however often it hangs up or this server is started again.
 *
 * Checks of several lanes that run at the same time are one: it begins with the first and ends with
 * the last. Who leaves them has lost its session, and so has used one try.
 *
 * Before the three have agreed on a round, other lanes than the first may compute what an analyst
 * asked of this server alone. No check of theirs begins then, and what does not fit is no failure.
 */
#ifndef TREFOIL_PARTIES_SERVER_GUARD_H
#define TREFOIL_PARTIES_SERVER_GUARD_H

#include "mpc/check.h"
#include "parties/audit/audit.h"
#include "parties/store/store_guard.h"

#include <pthread.h>
#include <stdatomic.h>

struct guard {
    struct store *store; /* borrowed, as is the log */
    struct log *log;
    atomic_bool failed; /* a check has, whether or not the disk has it */
    pthread_mutex_t lock;
    unsigned running;              /* checks of this session's lanes */
    atomic_bool unheard;           /* nobody has agreed yet on what is computed, */
    pthread_t first;               /* as the thread will hear that computes on lane 0 */
    const atomic_bool *ended;      /* or the session has */
    enum err (*ready)(void *self); /* NULL: nobody is asked */
    void *asked;
};

void guard_start(struct guard *guard, struct store *store, struct log *log);
/* The calling thread waits for the others' agreement; it has heard it, or the round is over. */
void guard_expects(struct guard *guard, const atomic_bool *ended);
void guard_hears(struct guard *guard);
/* From now on `ready` is asked before lane 0 begins a check (mpc/check.h); NULL: nobody. */
void guard_asks(struct guard *guard, enum err (*ready)(void *self), void *self);

/* For the checks of all lanes of a session; those of the one before run no more. */
struct check_guard guard_of(struct guard *guard);
/* ERR_CHEAT once a check has failed, ERR_REFUSED where too many were left, else ERR_OK. */
enum err guard_verdict(struct guard *guard) MUST_CHECK;
/* The same; where the server takes part no more, logs why and what to do. */
enum err guard_allows(struct guard *guard, struct log *log) MUST_CHECK;
/* Its operator lets it go on: once that is in the audit log. `before`: what there was. */
enum err guard_lift(struct store *store, struct audit *audit,
                    struct store_guard *before) MUST_CHECK;

#endif
