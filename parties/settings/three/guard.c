#include "parties/settings/three/guard.h"

#include <unistd.h>

void guard_start(struct guard *g, struct store *store, struct log *log)
{
    g->store = store;
    g->log = log;
    atomic_init(&g->failed, false);
    g->running = 0;
    atomic_init(&g->unheard, false);
    atomic_init(&g->unsure, false);
    guard_asks(g, NULL, NULL);
    pthread_mutex_init(&g->lock, NULL);
}

void guard_expects(struct guard *g, const atomic_bool *ended)
{
    g->first = pthread_self();
    g->ended = ended;
    atomic_store(&g->unheard, true);
}

void guard_hears(struct guard *g)
{
    atomic_store(&g->unheard, false);
}

void guard_asks(struct guard *g, enum err (*ready)(void *self), void *self)
{
    g->ready = ready;
    g->asked = self;
}

static enum err ready(void *self)
{
    const struct guard *g = self;
    return g->ready != NULL ? g->ready(g->asked) : ERR_OK;
}

#define PATIENCE_MS 10000

/* The first lane hears of the agreement in its next exchange, if any, or the session ends. */
static enum err wait_for_agreement(const struct guard *g)
{
    for (unsigned ms = 0; ms < PATIENCE_MS && atomic_load(&g->unheard); ms++) {
        if (pthread_equal(g->first, pthread_self()))
            break;
        if (atomic_load(g->ended))
            return ERR_PEER;
        usleep(1000);
    }
    return ERR_OK;
}

/* No lane goes on before it is on disk that one of them has begun. */
static enum err begin(void *self)
{
    struct guard *g = self;
    enum err e = ERR_REFUSED;
    TRY(wait_for_agreement(g));
    pthread_mutex_lock(&g->lock);
    if (!atomic_load(&g->failed))
        e = g->running > 0 ? ERR_OK : store_guard_begin(g->store);
    g->running += e == ERR_OK;
    pthread_mutex_unlock(&g->lock);
    return e;
}

static enum err end(void *self)
{
    struct guard *g = self;
    enum err e = ERR_OK;
    pthread_mutex_lock(&g->lock);
    if (--g->running == 0)
        e = store_guard_end(g->store);
    pthread_mutex_unlock(&g->lock);
    return e;
}

static void fail(void *self)
{
    struct guard *g = self;
    if (atomic_load(&g->unheard)) {
        log_warn(g->log, "the servers had not agreed yet on what they compute, so no check failed");
        atomic_store(&g->unsure, true);
        return;
    }
    atomic_store(&g->failed, true);
    if (store_guard_fail(g->store) != ERR_OK)
        log_error(g->log, "cannot write to the disk that a check failed: look into it before this "
                          "server is started again");
}

void guard_catches(struct guard *g)
{
    if (!atomic_load(&g->failed) && !atomic_load(&g->unsure))
        fail(g);
}

struct check_guard guard_of(struct guard *g)
{
    g->running = 0;
    atomic_store(&g->unsure, false);
    return (struct check_guard){
        .begin = begin, .end = end, .failed = fail, .self = g, .ready = ready};
}

enum err guard_verdict(struct guard *g)
{
    struct store_guard found;
    if (atomic_load(&g->failed)) /* whether or not its disk can be read */
        return ERR_CHEAT;
    TRY(store_guard(g->store, &found));
    if (found.failed)
        return ERR_CHEAT;
    return store_guard_refuses(&found) ? ERR_REFUSED : ERR_OK;
}

enum err guard_allows(struct guard *g, struct log *log)
{
    const enum err e = guard_verdict(g);
    if (e == ERR_CHEAT || e == ERR_REFUSED)
        log_error(
            log,
            "this server no longer takes part in the study, because %s. Its operator should find "
            "out why, then stop it and run trefoil recover STUDY --key KEY --folder FOLDER "
            "--resume",
            e == ERR_CHEAT
                ? "a check failed: another server departs from the protocol, or a memory is faulty"
                : "too many checks were broken off before they ended: a server or a link keeps "
                  "failing, or a server is trying out what it can send");
    return e;
}

enum err guard_lift(struct store *store, struct audit *audit, struct store_guard *before)
{
    TRY(store_guard(store, before));
    if (!store_guard_refuses(before))
        return ERR_OK;
    TRY(audit_note(audit, &(const struct audit_entry){.kind = AUDIT_RESUMED,
                                                      .checks = {.begun = before->begun,
                                                                 .left = before->tries,
                                                                 .failed = before->failed}}));
    return store_guard_lift(store);
}
