/*
 * parties/setting/setting.h - what a server does in its study's setting (how many servers there
 * are, and how they compute together), as a table of functions over a state that only the setting
 * knows. Sessions come from here, and the engine of each (parties/setting/engine.h).
 *
 * Functions with LEAKS are protocols: all servers call them alike. The others send nothing.
 */
#pragma once

#include "netio/net.h"
#include "parties/setting/engine.h"
#include "parties/setting/split.h"

struct audit;
struct openings;
struct site;
struct store;

/* What a server lends its setting for as long as it runs. */
struct setting_host {
    struct site *site;         /* parties/server/site.h */
    struct openings *openings; /* who is asked before an opening: parties/server/openings.h */
    struct log *log;           /* its buffer gets the words that an analyst is told */
};

/* Where the first failure of a proof was. */
struct setting_failure {
    const char *phase; /* NULL: nothing failed */
    uint64_t check;
};

/* `self` is what `start` has made; one thread calls all others. */
struct setting {
    const struct split *split; /* how owners' data are split */
    unsigned lanes;            /* the most that a session has */
    /*
     * Before anything is made: ERR_USAGE, logged, if this server of the study cannot have that.
     * NULL: any can.
     */
    enum err (*check)(const struct site *site);
    /* If it fails, `stop` cleans up. */
    enum err (*start)(void **self, const struct setting_host *host);
    void (*stop)(void **self);
    /*
     * Of a server that does not run: lets it take part again. `stopped`: it took no part. NULL:
     * nothing is proved, so nothing stops a server.
     */
    enum err (*resume)(struct store *store, struct audit *audit, bool *stopped);

    /*
     * Opens a session; `propose`: the message that called us, or NULL at the server that calls;
     * `about`: what the session is about, of REQUEST_ATTEMPT_SIZE bytes. `net` is what statements
     * go over until `close`, which is called also if this fails. LEAKS: nothing.
     */
    enum err (*open)(void *self, const struct bytes *propose, uint8_t *about, struct net **net);
    void (*close)(void *self);
    /* Like net_listen(), for all links of the session. */
    enum err (*listen)(void *self);

    /*
     * `greet` lets what servers have to compare ride on the next exchange; after that, `begin`
     * gives the session's engine. LEAKS: names of blocks of noise, which are public.
     */
    enum err (*greet)(void *self);
    enum err (*begin)(void *self, const struct engine_uploads *uploads, struct engine *engine);

    /* Whether statements are waited for, or all servers have been heard; NULL: no matter. */
    void (*expects)(void *self, bool heard);
    /*
     * ERR_CHEAT once a proof has failed, ERR_REFUSED if too many were broken off: this server takes
     * no part any more, and that is logged, unless `log` is NULL. Else ERR_OK.
     */
    enum err (*verdict)(void *self, struct log *log);
    /* What the session did has ended with `e`, which may be such a failure; NULL: it is none. */
    struct setting_failure (*failed)(void *self, enum err e);

    /*
     * Makes noise for later runs in a session that is about nothing else, until somebody asks for
     * something; `done`: there is no reason for another session of this kind until something
     * changes. LEAKS: how much there is.
     */
    enum err (*idle)(void *self, bool *done);
    /* Shows in the status how much there is; `drop` deletes it first if the budget is spent. */
    void (*show)(void *self);
    void (*drop)(void *self);
};
