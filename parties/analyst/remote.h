/*
 * parties/analyst/remote.h - the backend that is three servers, with patience.
 *
 * The first request opens the session. A run that has begun outlives its servers: while one is away
 * it tries again, less and less often, says so, and asks the interrupted round once more, which
 * servers answer from their store for nothing. A round that they have lost stays paid for, and is
 * asked anew as the next; after a few in a row the run stops, and after lost forms at once, which
 * took all that was left. A run that has not begun fails at once.
 */
#ifndef TREFOIL_PARTIES_ANALYST_REMOTE_H
#define TREFOIL_PARTIES_ANALYST_REMOTE_H

#include "aim/backend.h"
#include "aim/look.h"
#include "parties/analyst/replies.h"
#include "parties/analyst/run_state.h"
#include "parties/exchange/client.h"

struct remote {
    const struct study *study; /* all borrowed */
    struct client *client;
    struct run_state *state;
    struct replies *replies; /* where a run keeps them whose loop has no state; or NULL */
    double rho;              /* the study's budget: what a run that begins must find whole */
    struct look look;        /* but for those that other runs took */
    int64_t wait_ms;         /* how long a server may be away */
    struct log *log;
    void (*wait)(void *self, const char *what); /* told what is waited for; NULL: nobody is */
    void *self;
    unsigned looks; /* of LOOK_TRIES, with this run's; 0, as it begins: the run took it before */
    double seconds; /* that servers took to answer; begin with 0 */
    bool open;      /* there is a session; begin with false */
};

struct aim_backend remote_backend(struct remote *remote);

/*
 * Takes remote->look: what the servers open. The answer is kept in the file `path`, from which a
 * run that goes on has it.
 */
enum err remote_look(struct remote *remote, const char *path, int64_t *value) MUST_CHECK;

/*
 * Ends the run at the servers, which wipe what they kept for its last round, and brings their
 * counters. Does nothing if they were told before.
 */
enum err remote_close(struct remote *remote,
                      struct net_counters stats[STUDY_SERVERS][NET_PHASES]) MUST_CHECK;

#endif
