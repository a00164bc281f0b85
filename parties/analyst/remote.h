/*
 * parties/analyst/remote.h - a backend that asks the servers, with patience.
 *
 * The first request opens the session. A run that has begun outlives its servers: while one is away
 * it tries again, less and less often, and says so. Then it asks for the interrupted round again,
 * which the servers answer from their store at no cost. A round that they have lost stays paid for,
 * and is asked again as the next one. After a few in a row the run stops; if forms are lost it
 * stops at once, since they took all that was left. A gradient that is lost is told as one without
 * values, and is not asked again. A run that has not begun fails at once if a
 * server is not there.
 */
#pragma once

#include "aim/run/backend.h"
#include "aim/run/look.h"
#include "parties/analyst/replies.h"
#include "parties/analyst/run_state.h"
#include "parties/exchange/client.h"

struct remote {
    const struct study *study; /* all borrowed */
    struct client *client;
    struct run_state *state;
    struct replies *replies; /* where a run whose loop has no state keeps its replies; or NULL */
    struct look look;
    int64_t wait_ms; /* how long a server may be away */
    struct log *log;
    void (*wait)(void *self, const char *what); /* told what is waited for; may be NULL */
    void *self;
    /* looks taken of LOOK_TRIES, this run's included; begin with 0, which stays if it had begun */
    unsigned looks;
    unsigned lost_steps; /* gradients lost in a row; begin with 0 */
    double seconds;      /* that servers took to answer; begin with 0 */
    bool open;           /* there is a session; begin with false */
};

/*
 * Opens the session of a run that begins: the servers then say with which budget, which
 * the state keeps as `left`. A run that has begun knows.
 */
enum err remote_begin(struct remote *remote) MUST_CHECK;

struct aim_backend remote_backend(struct remote *remote);

/*
 * Takes remote->look: *value is what the servers open. The answer is kept in the file `path`, where
 * a run that goes on finds it.
 */
enum err remote_look(struct remote *remote, const char *path, int64_t *value) MUST_CHECK;

/*
 * Ends the run at the servers, which wipe what they kept for its last round, and returns their
 * counters. Does nothing if they were told before.
 */
enum err remote_close(struct remote *remote, struct net_counters stats[][NET_PHASES]) MUST_CHECK;
