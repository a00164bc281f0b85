/*
 * The lanes of a session: each has a bulk link, its frames and its party. Lane 0 is the worker's
 * own; the others work while mpc/move/crew.h gives them tiles, in threads that log into words of
 * their own. Lanes beyond what each of the three servers has in one process only do jobs. The
 * servers tell each other on lane 0 where these are, in this process or another rank's:
 *
 *   all -> all   places   host and two ports of each of these lanes
 *
 * and believe that only of hosts that the study has for the server that says so.
 */
#include "parties/server/worker_private.h"

#include "base/memory.h"
#include "base/secret.h"
#include "parties/server/ranks.h"
#include "parties/study/study_ports.h"

#include <stdio.h>
#include <string.h>

enum err worker_admit_lanes(struct worker *w, const uint8_t expect[2][TRANSPORT_PASS_SIZE])
{
    for (unsigned k = 0; k < w->site->lanes; k++)
        TRY(transport_zmq_admit(w->site->bulk[k], expect));
    return ranks_admit(w->site->ranks, w->site->index, expect,
                       (int64_t)w->site->study->round_s * 1000);
}

struct session_offer worker_offer(const struct worker *w)
{
    const size_t all = w->site->lanes + ranks_lanes(w->site->ranks);
    return (struct session_offer){.lanes = w->site->lanes,
                                  .all = all < SESSION_ALL_MAX ? (unsigned)all : SESSION_ALL_MAX};
}

/* Aims a lane where the study says: an earlier session may have had it elsewhere. */
static enum err aim(struct worker *w, unsigned k)
{
    const struct study *study = w->site->study;
    char text[2][STUDY_ENDPOINT_SIZE];
    study_endpoint(study, (w->site->index + 2) % 3, study_bulk(STUDY_BULK_NEXT, k), text[NET_PREV]);
    study_endpoint(study, (w->site->index + 1) % 3, study_bulk(STUDY_BULK_PREV, k), text[NET_NEXT]);
    return transport_zmq_aim(w->site->bulk[k], (const char *const[2]){text[0], text[1]});
}

/* Lanes of the session that this process has. */
static unsigned lanes_here(const struct worker *w)
{
    return w->all < w->site->lanes ? w->all : w->site->lanes;
}

enum err worker_dial_lanes(struct worker *w, const struct session_offer *offer)
{
    w->lanes = offer->lanes;
    w->all = offer->all;
    w->most = offer->most < offer->all ? offer->most : offer->all;
    w->passes = offer->passes;
    for (unsigned k = 0; k < offer->lanes; k++)
        TRY(aim(w, k));
    for (unsigned k = 0; k < w->site->lanes; k++)
        if (k < offer->lanes)
            TRY(transport_zmq_dial(w->site->bulk[k],
                                   (const uint8_t(*)[TRANSPORT_PASS_SIZE])offer->passes.show));
        else if (k >= lanes_here(w))
            transport_zmq_close(w->site->bulk[k]);
    return ERR_OK;
}

/* Opens the nets of the lanes from w->here on. */
static enum err open_nets(struct worker *w, unsigned end)
{
    for (; w->here < end; w->here++) {
        const unsigned k = w->here;
        struct worker_lane *lane = &w->lane[k];
        const struct net_options options = {.transport = w->site->bulk[k],
                                            .session = w->session,
                                            .lane = k,
                                            .ended = &w->ended,
                                            .deadline_ms = (int64_t)w->site->study->round_s * 1000,
                                            .log = &lane->log};
        lane->log = w->log;
        if (k > 0) {
            lane->words[0] = '\0';
            lane->log.buffer = lane->words;
            lane->log.buffer_size = sizeof lane->words;
        }
        TRY(net_new(&lane->net, &options));
    }
    w->net = w->lane[0].net;
    return ERR_OK;
}

/* --- lanes that do jobs alone ----------------------------------------------------------------- */

/* The places of every lane from w->lanes on: ours, the previous server's and the next one's. */
struct places {
    struct ranks_place *own, *of[2];
};

static void places_free(struct places *x)
{
    memory_free(&x->own);
    memory_free(&x->of[NET_PREV]);
    memory_free(&x->of[NET_NEXT]);
}

/* Lanes of this process listen where the study says, as do all lanes of a server without ranks. */
static void own_places(const struct worker *w, struct ranks_place *own)
{
    const struct study_server *me = &w->site->study->server[w->site->index];
    for (unsigned k = w->lanes; k < w->all; k++) {
        struct ranks_place *to = &own[k - w->lanes];
        if (k >= w->site->lanes) {
            *to = *ranks_place(w->site->ranks, k - w->site->lanes);
            continue;
        }
        memcpy(to->host, me->host, sizeof to->host);
        to->port[NET_PREV] = (uint16_t)(me->port + study_bulk(STUDY_BULK_PREV, k));
        to->port[NET_NEXT] = (uint16_t)(me->port + study_bulk(STUDY_BULK_NEXT, k));
    }
}

/* A server may send others only to hosts that the study lists for it. */
static enum err check_place(struct worker *w, unsigned server, size_t lane,
                            struct ranks_place *place)
{
    place->host[sizeof place->host - 1] = '\0';
    if (study_has_host(w->site->study, server, place->host))
        return ERR_OK;
    return log_fail(&w->log, ERR_MISMATCH,
                    "server %u says that its lane %zu listens on %s, a host that the study does "
                    "not have for it: nobody connects there. If that is a machine of its, it "
                    "belongs among the server's ranks in the study",
                    server, lane, place->host);
}

static enum err tell_places(struct worker *w, struct places *x)
{
    const size_t count = w->all - w->lanes, bytes = count * sizeof *x->own;
    TRY(memory_new(&x->own, count));
    TRY(memory_new(&x->of[NET_PREV], count));
    TRY(memory_new(&x->of[NET_NEXT], count));
    own_places(w, x->own);
    TRY(net_exchange(w->net, &(struct net_round){.send = {x->own, x->own},
                                                 .send_size = {bytes, bytes},
                                                 .receive = {x->of[NET_PREV], x->of[NET_NEXT]},
                                                 .receive_size = {bytes, bytes}}));
    for (size_t i = 0; i < count; i++)
        for (unsigned p = 0; p < 2; p++)
            TRY(check_place(w, net_index_of(w->site->index, (enum net_peer)p), w->lanes + i,
                            &x->of[p][i]));
    return ERR_OK;
}

static enum err dial_near(struct worker *w, const struct places *x, unsigned k)
{
    char text[2][STUDY_ENDPOINT_SIZE];
    for (unsigned p = 0; p < 2; p++) {
        const struct ranks_place *at = &x->of[p][k - w->lanes];
        /* to the previous server we are its next one, and the other way round */
        snprintf(text[p], sizeof text[p], "tcp://%s:%u", at->host, at->port[1 - p]);
    }
    TRY(transport_zmq_aim(w->site->bulk[k], (const char *const[2]){text[0], text[1]}));
    return transport_zmq_dial(w->site->bulk[k],
                              (const uint8_t(*)[TRANSPORT_PASS_SIZE])w->passes.show);
}

/* Opens the lanes of this process, then the other ranks'. */
static enum err open_more(struct worker *w)
{
    struct places x CLEAN(places_free) = {0};
    const unsigned here = lanes_here(w);
    TRY(tell_places(w, &x));
    for (unsigned k = w->lanes; k < here; k++)
        TRY(dial_near(w, &x, k));
    TRY(open_nets(w, here));
    if (w->all == here)
        return ERR_OK;
    return ranks_open(
        w->site->ranks,
        &(const struct ranks_session){
            .session = w->session,
            .first = here,
            .lanes = w->all - here,
            .dial = {x.of[0] + (here - w->lanes), x.of[1] + (here - w->lanes)},
            .show = (const uint8_t(*)[TRANSPORT_PASS_SIZE])w->passes.show,
            .deadline_ms = (int64_t)w->site->study->round_s * 1000,
            .log = w->site->study->security == STUDY_ABORT ? check_log_share(w->most) : 0});
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum err put_nothing(void *self, size_t lane, struct bytes *arguments)
{
    (void)self;
    (void)lane;
    return bytes_ok(arguments);
}

/* Finds a port that is blocked before there is work. */
static enum err greet(void *self, struct party *lane, struct reader *arguments,
                      struct bytes *result)
{
    const unsigned k = lane->lane;
    enum err e;
    (void)self;
    (void)arguments;
    if (k == 0)
        return bytes_ok(result);
    e = net_greet(lane->net);
    if (e == ERR_TIMEOUT)
        log_error(lane->log,
                  "lane %u does not get through: open the ports + %u and + %u of each server to "
                  "the other two, or start one of them with --lanes %u",
                  k, study_bulk(STUDY_BULK_PREV, k), study_bulk(STUDY_BULK_NEXT, k), k);
    return e;
}

enum err worker_open_lanes(struct worker *w)
{
    const struct crew_job greeting = {.number = CREW_GREET, .put = put_nothing, .work = greet};
    struct net *nets[SESSION_LANES_MAX];
    atomic_store(&w->ended, false);
    TRY(open_nets(w, w->lanes));
    if (w->all > w->lanes)
        TRY(open_more(w));
    for (unsigned k = 0; k < w->here; k++)
        nets[k] = w->lane[k].net;
    TRY(party_new(&w->party, w->net, w->session, 0, &w->log));
    if (w->all == 1)
        return ERR_OK;
    TRY(crew_new(&w->crew, w->party, nets, w->here, w->session));
    crew_extend(w->crew, w->lanes, w->all, w->most, ranks_far(w->site->ranks));
    return crew_jobs(w->party, &greeting);
}

enum err worker_listen(struct worker *w)
{
    for (unsigned k = 0; k < w->here; k++)
        TRY(net_listen(w->lane[k].net));
    return ERR_OK;
}

/* If lane 0 has said nothing, another lane's failure has ended it: takes that lane's words. */
static void pass_on_words(struct worker *w)
{
    for (unsigned k = 1; k < w->here && w->words[0] == '\0'; k++)
        memcpy(w->words, w->lane[k].words, sizeof w->lane[k].words);
}

void worker_close_lanes(struct worker *w)
{
    pass_on_words(w);
    for (unsigned k = 0; k < w->here; k++)
        net_abort(w->lane[k].net);
    crew_free(&w->crew);
    party_free(&w->party);
    for (unsigned k = 0; k < w->here; k++)
        net_free(&w->lane[k].net);
    for (unsigned k = 0; k < w->site->lanes; k++)
        transport_zmq_close(w->site->bulk[k]);
    ranks_close(w->site->ranks);
    secret_wipe(&w->passes, sizeof w->passes);
    w->net = NULL;
    w->lanes = w->here = w->all = 0;
}
