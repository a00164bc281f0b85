#include "parties/settings/two/duo.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/exchange/request.h"
#include "parties/server/openings.h"
#include "parties/server/site.h"
#include "parties/settings/two/engine.h"

#include <string.h>

_Static_assert(REQUEST_ATTEMPT_SIZE == SESSION_ABOUT_SIZE, "a session is about an attempt");

struct duo {
    struct site *site; /* borrowed, as are log and openings */
    struct log *log;
    struct openings *openings;
    struct session *session; /* NULL: none, nor any of what follows */
    struct net *net;
    struct two *engine;
    struct ahead_talk ahead; /* of the owner's noise, if it makes that */
};

/* --- a server's life -------------------------------------------------------------------------- */

static enum err start(void **self, const struct setting_host *host)
{
    struct duo *d;
    TRY(memory_new(&d, 1));
    *d = (struct duo){.site = host->site, .log = host->log, .openings = host->openings};
    *self = d;
    return ERR_OK;
}

static void stop(void **self)
{
    memory_free(self);
}

/* --- sessions --------------------------------------------------------------------------------- */

static enum err open_net(struct duo *d)
{
    return net_new(
        &d->net, &(const struct net_options){.transport = d->site->bulk[0],
                                             .control = d->site->control,
                                             .session = d->session,
                                             .deadline_ms = (int64_t)d->site->study->round_s * 1000,
                                             .log = d->log});
}

/*
 * The handshake. The bulk link is open to this session's neighbour from now on, and to nobody else.
 */
static enum err open_session(void *self, const struct bytes *propose, uint8_t *about,
                             struct net **net)
{
    struct duo *d = self;
    const struct study *study = d->site->study;
    struct session_offer offer = {.lanes = 1};
    enum err e;
    memcpy(offer.about, about, sizeof offer.about);
    secret_random(&offer.passes, sizeof offer.passes);
    e = transport_zmq_admit(d->site->bulk[0],
                            (const uint8_t(*)[TRANSPORT_PASS_SIZE])offer.passes.expect);
    if (e == ERR_OK)
        e = session_open(&d->session, d->site->control, study->servers, d->site->index,
                         &study->terms, propose, &offer, (int64_t)study->connect_s * 1000, d->log);
    if (e == ERR_OK)
        e = transport_zmq_dial(d->site->bulk[0],
                               (const uint8_t(*)[TRANSPORT_PASS_SIZE])offer.passes.show);
    memcpy(about, offer.about, sizeof offer.about);
    secret_wipe(&offer, sizeof offer);
    if (e == ERR_OK)
        e = open_net(d);
    *net = d->net;
    return e;
}

static void close_session(void *self)
{
    struct duo *d = self;
    two_free(&d->engine);
    if (d->net != NULL)
        net_abort(d->net);
    net_free(&d->net);
    transport_zmq_close(d->site->bulk[0]);
    session_free(&d->session);
}

static enum err listen(void *self)
{
    const struct duo *d = self;
    return net_listen(d->net);
}

static enum err greet(void *self)
{
    struct duo *d = self;
    struct ahead_blocks own;
    if (d->site->study->noise_by != NOISE_BY_OWNER)
        return ERR_OK; /* there is nothing to compare */
    TRY(store_ahead(d->site->store, &own));
    ahead_talk(&d->ahead, d->net, &own);
    return ERR_OK;
}

static enum err begin(void *self, const struct engine_uploads *uploads, struct engine *engine)
{
    struct duo *d = self;
    struct two from = {.study = d->site->study,
                       .bounds = d->site->bounds,
                       .net = d->net,
                       .store = d->site->store,
                       .audit = openings_audit,
                       .audit_self = d->openings,
                       .log = d->log,
                       .ahead = {.blocks = d->ahead.common}};
    uint8_t ahead[32];
    (void)uploads; /* nothing is counted again */
    memcpy(from.session, d->session->id, sizeof from.session);
    ahead_digest(&d->ahead, ahead); /* who heard another list has another tape, and opens nothing */
    if (d->site->study->noise_by == NOISE_BY_OWNER)
        hash_labelled(from.session, "trefoil-two-1", d->session->id, sizeof d->session->id, ahead,
                      sizeof ahead);
    TRY(two_new(&d->engine, &from));
    *engine = two_table(d->engine);
    return ERR_OK;
}

static enum err verdict(void *self, struct log *log)
{
    (void)self;
    (void)log;
    return ERR_OK;
}

/* --- noise ------------------------------------------------------------------------------------ */

static enum err idle(void *self, bool *done)
{
    (void)self;
    *done = true; /* a session makes its own when it begins */
    return ERR_OK;
}

/* Of blocks, there are only the owner's. */
static void show(void *self)
{
    const struct duo *d = self;
    if (d->site->study->noise_by == NOISE_BY_OWNER)
        ahead_show(d->site);
}

static void drop(void *self)
{
    const struct duo *d = self;
    if (d->site->study->noise_by == NOISE_BY_OWNER)
        ahead_drop(d->site);
}

const struct setting duo_setting = {.split = &two_split,
                                    .lanes = 1,
                                    .start = start,
                                    .stop = stop,
                                    .open = open_session,
                                    .close = close_session,
                                    .listen = listen,
                                    .greet = greet,
                                    .begin = begin,
                                    .verdict = verdict,
                                    .idle = idle,
                                    .show = show,
                                    .drop = drop};
