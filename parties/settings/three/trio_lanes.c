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
#include "parties/settings/three/trio.h"

#include "base/memory.h"
#include "base/secret.h"
#include "parties/settings/three/ranks.h"
#include "parties/study/study_ports.h"

#include <stdio.h>
#include <string.h>

enum err trio_admit_lanes(struct trio *t, const uint8_t expect[2][TRANSPORT_PASS_SIZE])
{
    for (unsigned k = 0; k < t->site->lanes; k++)
        TRY(transport_zmq_admit(t->site->bulk[k], expect));
    return ranks_admit(t->site->ranks, t->site->index, expect,
                       (int64_t)t->site->study->round_s * 1000);
}

struct session_offer trio_offer(const struct trio *t)
{
    const size_t all = t->site->lanes + ranks_lanes(t->site->ranks);
    return (struct session_offer){.lanes = t->site->lanes,
                                  .all = all < SESSION_ALL_MAX ? (unsigned)all : SESSION_ALL_MAX};
}

/* Aims a lane where the study says: an earlier session may have had it elsewhere. */
static enum err aim(struct trio *t, unsigned k)
{
    const struct study *study = t->site->study;
    char text[2][STUDY_ENDPOINT_SIZE];
    study_endpoint(study, (t->site->index + 2) % 3, study_bulk(STUDY_BULK_NEXT, k), text[NET_PREV]);
    study_endpoint(study, (t->site->index + 1) % 3, study_bulk(STUDY_BULK_PREV, k), text[NET_NEXT]);
    return transport_zmq_aim(t->site->bulk[k], (const char *const[2]){text[0], text[1]});
}

/* Lanes of the session that this process has. */
static unsigned lanes_here(const struct trio *t)
{
    return t->all < t->site->lanes ? t->all : t->site->lanes;
}

enum err trio_dial_lanes(struct trio *t, const struct session_offer *offer)
{
    t->lanes = offer->lanes;
    t->all = offer->all;
    t->most = offer->most < offer->all ? offer->most : offer->all;
    t->passes = offer->passes;
    for (unsigned k = 0; k < offer->lanes; k++)
        TRY(aim(t, k));
    for (unsigned k = 0; k < t->site->lanes; k++)
        if (k < offer->lanes)
            TRY(transport_zmq_dial(t->site->bulk[k],
                                   (const uint8_t(*)[TRANSPORT_PASS_SIZE])offer->passes.show));
        else if (k >= lanes_here(t))
            transport_zmq_close(t->site->bulk[k]);
    return ERR_OK;
}

/* Opens the nets of the lanes from t->here on. */
static enum err open_nets(struct trio *t, unsigned end)
{
    for (; t->here < end; t->here++) {
        const unsigned k = t->here;
        struct trio_lane *lane = &t->lane[k];
        const struct net_options options = {.transport = t->site->bulk[k],
                                            .control = k == 0 ? t->site->control : NULL,
                                            .session = t->session,
                                            .lane = k,
                                            .ended = &t->ended,
                                            .deadline_ms = (int64_t)t->site->study->round_s * 1000,
                                            .log = &lane->log};
        lane->log = *t->log;
        if (k > 0) {
            lane->words[0] = '\0';
            lane->log.buffer = lane->words;
            lane->log.buffer_size = sizeof lane->words;
        }
        TRY(net_new(&lane->net, &options));
    }
    t->net = t->lane[0].net;
    return ERR_OK;
}

/* --- lanes that do jobs alone ----------------------------------------------------------------- */

/* The places of every lane from t->lanes on: ours, the previous server's and the next one's. */
struct places {
    struct ranks_place *own, *of[2];
};

static void places_free(struct places *x)
{
    memory_free_all(&x->own, &x->of[NET_PREV], &x->of[NET_NEXT]);
}

/* Lanes of this process listen where the study says, as do all lanes of a server without ranks. */
static void own_places(const struct trio *t, struct ranks_place *own)
{
    const struct study_server *me = &t->site->study->server[t->site->index];
    for (unsigned k = t->lanes; k < t->all; k++) {
        struct ranks_place *to = &own[k - t->lanes];
        if (k >= t->site->lanes) {
            *to = *ranks_place(t->site->ranks, k - t->site->lanes);
            continue;
        }
        memcpy(to->host, me->host, sizeof to->host);
        to->port[NET_PREV] = (uint16_t)(me->port + study_bulk(STUDY_BULK_PREV, k));
        to->port[NET_NEXT] = (uint16_t)(me->port + study_bulk(STUDY_BULK_NEXT, k));
    }
}

/* A server may send others only to hosts that the study lists for it. */
static enum err check_place(struct trio *t, unsigned server, size_t lane, struct ranks_place *place)
{
    place->host[sizeof place->host - 1] = '\0';
    if (study_has_host(t->site->study, server, place->host))
        return ERR_OK;
    return log_fail(t->log, ERR_MISMATCH,
                    "server %u says that its lane %zu listens on %s, a host that the study does "
                    "not have for it: nobody connects there. If that is a machine of its, it "
                    "belongs among the server's ranks in the study",
                    server, lane, place->host);
}

static enum err tell_places(struct trio *t, struct places *x)
{
    const size_t count = t->all - t->lanes, bytes = count * sizeof *x->own;
    TRY(memory_new(&x->own, count));
    TRY(memory_new(&x->of[NET_PREV], count));
    TRY(memory_new(&x->of[NET_NEXT], count));
    own_places(t, x->own);
    TRY(net_exchange(t->net, &(struct net_exchange){.send = {x->own, x->own},
                                                    .send_size = {bytes, bytes},
                                                    .receive = {x->of[NET_PREV], x->of[NET_NEXT]},
                                                    .receive_size = {bytes, bytes}}));
    for (size_t i = 0; i < count; i++)
        for (unsigned p = 0; p < 2; p++)
            TRY(check_place(t, net_index_of(t->site->index, (enum net_peer)p), t->lanes + i,
                            &x->of[p][i]));
    return ERR_OK;
}

static enum err dial_near(struct trio *t, const struct places *x, unsigned k)
{
    char text[2][STUDY_ENDPOINT_SIZE];
    for (unsigned p = 0; p < 2; p++) {
        const struct ranks_place *at = &x->of[p][k - t->lanes];
        /* to the previous server we are its next one, and the other way round */
        snprintf(text[p], sizeof text[p], "tcp://%s:%u", at->host, at->port[1 - p]);
    }
    TRY(transport_zmq_aim(t->site->bulk[k], (const char *const[2]){text[0], text[1]}));
    return transport_zmq_dial(t->site->bulk[k],
                              (const uint8_t(*)[TRANSPORT_PASS_SIZE])t->passes.show);
}

/* Opens the lanes of this process, then the other ranks'. */
static enum err open_more(struct trio *t)
{
    struct places x CLEAN(places_free) = {0};
    const unsigned here = lanes_here(t);
    TRY(tell_places(t, &x));
    for (unsigned k = t->lanes; k < here; k++)
        TRY(dial_near(t, &x, k));
    TRY(open_nets(t, here));
    if (t->all == here)
        return ERR_OK;
    return ranks_open(
        t->site->ranks,
        &(const struct ranks_session){
            .session = t->session,
            .first = here,
            .lanes = t->all - here,
            .dial = {x.of[0] + (here - t->lanes), x.of[1] + (here - t->lanes)},
            .show = (const uint8_t(*)[TRANSPORT_PASS_SIZE])t->passes.show,
            .deadline_ms = (int64_t)t->site->study->round_s * 1000,
            .log = t->site->study->security == STUDY_ABORT ? check_log_share(t->most) : 0});
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

enum err trio_open_lanes(struct trio *t)
{
    const struct crew_job greeting = {.number = CREW_GREET, .put = put_nothing, .work = greet};
    struct net *nets[SESSION_LANES_MAX];
    atomic_store(&t->ended, false);
    TRY(open_nets(t, t->lanes));
    if (t->all > t->lanes)
        TRY(open_more(t));
    for (unsigned k = 0; k < t->here; k++)
        nets[k] = t->lane[k].net;
    TRY(party_new(&t->party, t->net, t->session, 0, t->log));
    if (t->all == 1)
        return ERR_OK;
    TRY(crew_new(&t->crew, t->party, nets, t->here, t->session));
    crew_extend(t->crew, t->lanes, t->all, t->most, ranks_far(t->site->ranks));
    return crew_jobs(t->party, &greeting);
}

enum err trio_listen(void *self)
{
    const struct trio *t = self;
    for (unsigned k = 0; k < t->here; k++)
        TRY(net_listen(t->lane[k].net));
    return ERR_OK;
}

/* If lane 0 has said nothing, another lane's failure has ended it: takes that lane's words. */
static void pass_on_words(struct trio *t)
{
    char *words = t->log->buffer;
    for (unsigned k = 1; k < t->here && words[0] == '\0'; k++)
        snprintf(words, t->log->buffer_size, "%s", t->lane[k].words);
}

void trio_close_lanes(struct trio *t)
{
    pass_on_words(t);
    for (unsigned k = 0; k < t->here; k++)
        net_abort(t->lane[k].net);
    crew_free(&t->crew);
    party_free(&t->party);
    for (unsigned k = 0; k < t->here; k++)
        net_free(&t->lane[k].net);
    for (unsigned k = 0; k < t->site->lanes; k++)
        transport_zmq_close(t->site->bulk[k]);
    ranks_close(t->site->ranks);
    secret_wipe(&t->passes, sizeof t->passes);
    t->net = NULL;
    t->lanes = t->here = t->all = 0;
}

/*
 * Where nothing is proved, no statement is a failure: a server may have come to it through a lie.
 */
struct setting_failure trio_failed(void *self, enum err e)
{
    struct trio *t = self;
    struct check_failure failure = {0};
    if (e == ERR_CHEAT && t->site->study->security == STUDY_ABORT)
        guard_catches(&t->guard);
    if (t->party != NULL)
        failure = check_failure(t->party);
    return (struct setting_failure){failure.failed ? net_phase_name(failure.phase) : NULL,
                                    failure.check};
}
