/*
 * The lanes of a session: for each a bulk link, its frames and its party. Lane 0 is the worker's
 * own; the others work while mpc/crew.h gives them tiles, in threads that log into words of their
 * own.
 */
#include "parties/server/worker_private.h"

#include <string.h>

enum err worker_admit_lanes(struct worker *w, const uint8_t expect[2][TRANSPORT_PASS_SIZE])
{
    for (unsigned k = 0; k < w->site->lanes; k++)
        TRY(transport_zmq_admit(w->site->bulk[k], expect));
    return ERR_OK;
}

enum err worker_dial_lanes(struct worker *w, unsigned lanes,
                           const uint8_t show[2][TRANSPORT_PASS_SIZE])
{
    w->lanes = lanes;
    for (unsigned k = 0; k < w->site->lanes; k++)
        if (k < lanes)
            TRY(transport_zmq_dial(w->site->bulk[k], show));
        else
            transport_zmq_close(w->site->bulk[k]);
    return ERR_OK;
}

static enum err open_nets(struct worker *w)
{
    atomic_store(&w->ended, false);
    for (unsigned k = 0; k < w->lanes; k++) {
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

/* A byte each way by each lane: a port that nobody lets through is found before there is work. */
static enum err greet(void *self, struct party *lane, size_t tile)
{
    static const uint8_t byte = 0;
    struct worker *w = self;
    uint8_t answer[2];
    enum err e;
    if (tile == 0)
        return ERR_OK;
    e = net_exchange(lane->net, &(struct net_round){.send = {&byte, &byte},
                                                    .send_size = {1, 1},
                                                    .receive = {&answer[0], &answer[1]},
                                                    .receive_size = {1, 1}});
    if (e == ERR_TIMEOUT)
        log_error(&w->lane[tile].log,
                  "lane %zu does not get through: open the ports + %u and + %u of each server to "
                  "the other two, or start one of them with --lanes %zu",
                  tile, study_bulk(STUDY_BULK_PREV, (unsigned)tile),
                  study_bulk(STUDY_BULK_NEXT, (unsigned)tile), tile);
    return e;
}

enum err worker_open_lanes(struct worker *w)
{
    struct net *nets[SESSION_LANES_MAX];
    TRY(open_nets(w));
    for (unsigned k = 0; k < w->lanes; k++)
        nets[k] = w->lane[k].net;
    TRY(party_new(&w->party, w->net, w->session, 0, &w->log));
    if (w->lanes == 1)
        return ERR_OK;
    TRY(crew_new(&w->crew, w->party, nets, w->lanes, w->session));
    return crew_run(w->party, w->lanes, greet, w);
}

enum err worker_listen(struct worker *w)
{
    for (unsigned k = 0; k < w->lanes; k++)
        TRY(net_listen(w->lane[k].net));
    return ERR_OK;
}

/* Where lane 0 has said nothing, another lane's failure has ended it: takes that one's words. */
static void pass_on_words(struct worker *w)
{
    for (unsigned k = 1; k < w->lanes && w->words[0] == '\0'; k++)
        memcpy(w->words, w->lane[k].words, sizeof w->lane[k].words);
}

void worker_close_lanes(struct worker *w)
{
    pass_on_words(w);
    for (unsigned k = 0; k < w->lanes; k++)
        net_abort(w->lane[k].net);
    crew_free(&w->crew);
    party_free(&w->party);
    for (unsigned k = 0; k < w->lanes; k++)
        net_free(&w->lane[k].net);
    for (unsigned k = 0; k < w->site->lanes; k++)
        transport_zmq_close(w->site->bulk[k]);
    w->net = NULL;
    w->lanes = 0;
}
