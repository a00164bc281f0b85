#include "parties/settings/three/trio.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/settings/three/ranks.h"
#include "parties/settings/three/split.h"

#include <string.h>

/* --- a server's life -------------------------------------------------------------------------- */

/* The others connect only to hosts that the study has for this server. */
static enum err trio_check(const struct site *site)
{
    for (size_t j = 0; j < ranks_lanes(site->ranks); j++) {
        const char *host = ranks_place(site->ranks, j)->host;
        if (!study_has_host(site->study, site->index, host))
            return log_fail(site->log, ERR_USAGE,
                            "--ranks has the host %s, which the study does not have for this "
                            "server: add it to `ranks` of %s in the study, in all copies",
                            host, site->study->server[site->index].name);
    }
    return ERR_OK;
}

static enum err start(void **self, const struct setting_host *host)
{
    struct trio *t;
    TRY(memory_new(&t, 1));
    *self = t;
    t->site = host->site;
    t->log = host->log;
    t->openings = host->openings;
    guard_start(&t->guard, t->site->store, t->site->log);
    return ERR_OK;
}

static void stop(void **self)
{
    struct trio *t = *self;
    if (t != NULL)
        secret_wipe(t, sizeof *t);
    memory_free(&t);
    *self = NULL;
}

static enum err resume(struct store *store, struct audit *audit, bool *stopped)
{
    struct store_guard found;
    TRY(guard_lift(store, audit, &found));
    *stopped = store_guard_refuses(&found);
    return ERR_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

/*
 * The handshake. Bulk links are open to this session's neighbours from now on, and to nobody else.
 */
static enum err meet(struct trio *t, const struct bytes *propose, uint8_t *about)
{
    const int64_t deadline_ms = (int64_t)t->site->study->connect_s * 1000;
    struct session_offer offer = trio_offer(t);
    enum err e;
    memcpy(offer.about, about, sizeof offer.about);
    secret_random(&offer.passes, sizeof offer.passes);
    e = trio_admit_lanes(t, (const uint8_t(*)[TRANSPORT_PASS_SIZE])offer.passes.expect);
    if (e == ERR_OK)
        e = session_open(&t->session, t->site->control, 3, t->site->index, &t->site->study->terms,
                         propose, &offer, deadline_ms, t->log);
    if (e == ERR_OK)
        e = trio_dial_lanes(t, &offer);
    memcpy(about, offer.about, sizeof offer.about);
    secret_wipe(&offer, sizeof offer);
    return e;
}

static enum err open_session(void *self, const struct bytes *propose, uint8_t *about,
                             struct net **net)
{
    struct trio *t = self;
    const struct check_guard guard = guard_of(&t->guard);
    enum err e = meet(t, propose, about);
    if (e == ERR_OK)
        e = trio_open_lanes(t);
    *net = t->net;
    TRY(e);
    TRY(three_check(t->party, t->site->study, &guard));
    t->party->audit = three_audit;
    t->party->audit_self = t->openings;
    return ERR_OK;
}

static void close_session(void *self)
{
    struct trio *t = self;
    three_free(&t->engine);
    trio_close_lanes(t);
    session_free(&t->session);
}

static enum err begin(void *self, const struct engine_uploads *uploads, struct engine *engine)
{
    struct trio *t = self;
    uint8_t id[TAPE_ID_SIZE], ahead[32];
    TRY(store_ahead_keep(t->site->store, &t->ahead.common));
    ahead_digest(&t->ahead, ahead);
    hash_labelled(id, "trefoil-tape-2", t->session->id, SESSION_ID_SIZE, ahead, sizeof ahead);
    TRY(three_new(&t->engine, t->party, t->site->study, t->site->bounds, id, t->log));
    t->engine->uploads = *uploads;
    t->engine->ahead = (struct ahead){.blocks = t->ahead.common};
    t->engine->store = t->site->store;
    t->engine->session = t->session;
    *engine = three_table(t->engine);
    return ERR_OK;
}

/* --- security --------------------------------------------------------------------------------- */

/* Tells the guard whether a round's statements have been heard. */
static void expects(void *self, bool heard)
{
    struct trio *t = self;
    if (heard)
        guard_hears(&t->guard);
    else
        guard_expects(&t->guard, &t->ended);
}

static enum err verdict(void *self, struct log *log)
{
    struct trio *t = self;
    return log != NULL ? guard_allows(&t->guard, log) : guard_verdict(&t->guard);
}

const struct setting trio_setting = {.split = &three_split,
                                     .lanes = SESSION_LANES_MAX,
                                     .check = trio_check,
                                     .start = start,
                                     .stop = stop,
                                     .resume = resume,
                                     .open = open_session,
                                     .close = close_session,
                                     .listen = trio_listen,
                                     .greet = trio_greet,
                                     .begin = begin,
                                     .expects = expects,
                                     .verdict = verdict,
                                     .failed = trio_failed,
                                     .idle = trio_idle,
                                     .show = trio_show,
                                     .drop = trio_drop};
