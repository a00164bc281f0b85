/*
 * What every rank except the first does: lanes with links of their own, and jobs on them. It has no
 * file, no key of its own and no store. When rank 0 closes a session, the session's secrets are
 * wiped.
 */
#include "base/memory.h"
#include "base/secret.h"
#include "base/thread.h"
#include "mpc/check/check.h"
#include "netio/context.h"
#include "netio/net.h"
#include "parties/settings/three/ranks_mpi.h"
#include "parties/study/study_ports.h"
#include "protocols/portion.h"
#include "protocols/tape.h"

#include <stdio.h>

struct lane {
    struct transport *transport; /* of all sessions */
    struct net *net;
    struct party *party;
    struct log log;
    char words[400];
    struct follower *of;
    struct reader argument;
    struct bytes result;
    struct thread thread;
    atomic_bool done;
    enum err error;
};

struct follower {
    struct ranks *ranks;
    struct netio *netio;
    struct session *session;
    struct lane lane[SESSION_LANES_MAX];
    size_t own, lanes; /* that it has; of the session */
    atomic_bool ended;
    unsigned job;
    enum net_phase phase;
    struct portion_sums sums;
};

/* --- links ------------------------------------------------------------------------------------ */

static enum err make_links(struct follower *f, unsigned index)
{
    if (f->netio == NULL)
        TRY(netio_new(&f->netio, f->ranks->log));
    for (size_t k = 0; k < f->own; k++) {
        char listen[2][40];
        const struct transport_zmq_options o = {.netio = f->netio,
                                                .servers = 3,
                                                .index = index,
                                                .listen = {listen[0], listen[1]},
                                                .dial = {"", ""},
                                                .max_message = NET_FRAME_BODY + NET_FRAME_OVERHEAD,
                                                .depth = 2 + 6 / (int)f->own,
                                                .log = f->ranks->log};
        for (unsigned p = 0; p < 2; p++)
            snprintf(listen[p], sizeof listen[p], "tcp://*:%u",
                     f->ranks->own_place.port[0] + 2 * (unsigned)k + p);
        if (f->lane[k].transport == NULL)
            TRY(transport_zmq_new(&f->lane[k].transport, &o));
    }
    return ERR_OK;
}

static enum err admit(struct follower *f, struct reader *r)
{
    uint8_t expect[2][TRANSPORT_PASS_SIZE];
    const unsigned index = reader_u8(r);
    reader_copy(r, expect, sizeof expect);
    TRY(reader_done(r));
    TRY(make_links(f, index));
    for (size_t k = 0; k < f->own; k++)
        TRY(transport_zmq_admit(f->lane[k].transport,
                                (const uint8_t(*)[TRANSPORT_PASS_SIZE])expect));
    return ERR_OK;
}

/* --- a session -------------------------------------------------------------------------------- */

static void close_session(struct follower *f)
{
    for (size_t k = 0; k < f->own; k++) {
        struct lane *l = &f->lane[k];
        if (l->net != NULL)
            net_abort(l->net);
        party_free(&l->party);
        net_free(&l->net);
        bytes_clear(&l->result);
        if (l->transport != NULL)
            transport_zmq_close(l->transport);
    }
    session_free(&f->session);
    portion_sums_free(&f->sums);
    portion_sums_new(&f->sums);
    f->lanes = 0;
}

/* What the lanes of a session have in common. */
struct opening {
    uint8_t show[2][TRANSPORT_PASS_SIZE];
    int64_t deadline_ms;
    uint64_t log; /* of a check, which proves what the lane does; 0: there is none */
};

static enum err open_lane(struct follower *f, struct lane *l, struct reader *r, uint32_t number,
                          const struct opening *of)
{
    const struct check_limits limits = {.log = of->log};
    const struct net_options o = {.transport = l->transport,
                                  .session = f->session,
                                  .lane = number,
                                  .ended = &f->ended,
                                  .deadline_ms = of->deadline_ms,
                                  .log = &l->log};
    char dial[2][STUDY_ENDPOINT_SIZE];
    for (unsigned p = 0; p < 2; p++)
        reader_string(r, dial[p], sizeof dial[p]);
    if (r->failed)
        return ERR_FORMAT;
    l->log = *f->ranks->log;
    l->log.buffer = l->words;
    l->log.buffer_size = sizeof l->words;
    TRY(transport_zmq_aim(l->transport, (const char *const[2]){dial[0], dial[1]}));
    TRY(transport_zmq_dial(l->transport, of->show));
    TRY(net_new(&l->net, &o));
    TRY(party_new(&l->party, l->net, f->session, number, &l->log));
    crew_never_opens(l->party);
    return of->log > 0 ? check_new(l->party, &limits) : ERR_OK;
}

static enum err open_session(struct follower *f, struct reader *r)
{
    uint8_t id[SESSION_ID_SIZE], terms[32];
    uint8_t(*secrets)[SESSION_SECRET_SIZE] CLEAN(secret_release) = secret_new(2 *
                                                                              SESSION_SECRET_SIZE);
    const unsigned index = reader_u8(r);
    struct opening of;
    uint32_t first;
    if (secrets == NULL)
        return ERR_NOMEM;
    reader_copy(r, id, sizeof id);
    reader_copy(r, terms, sizeof terms);
    reader_copy(r, secrets, 2 * SESSION_SECRET_SIZE);
    reader_copy(r, of.show, sizeof of.show);
    of.deadline_ms = (int64_t)reader_u64(r);
    of.log = reader_u64(r);
    first = reader_u32(r);
    f->lanes = reader_u32(r);
    if (r->failed || f->lanes > f->own)
        return ERR_FORMAT;
    atomic_store(&f->ended, false);
    (void)ranks_called_off(); /* of a job that had ended */
    TRY(session_make(&f->session, 3, index, id, terms,
                     (const uint8_t(*)[SESSION_SECRET_SIZE])secrets));
    for (size_t k = 0; k < f->lanes; k++)
        TRY(open_lane(f, &f->lane[k], r, first + (uint32_t)k, &of));
    return reader_done(r);
}

static enum err set_topic(struct follower *f, struct reader *r)
{
    uint8_t topic[SESSION_ID_SIZE];
    reader_copy(r, topic, sizeof topic);
    TRY(reader_done(r));
    for (size_t k = 0; k < f->lanes; k++)
        TRY(party_topic(f->lane[k].party, f->session, topic));
    return ERR_OK;
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Finds a port that is blocked before there is work. */
static enum err greet(struct party *p)
{
    const enum err e = net_greet(p->net);
    if (e == ERR_TIMEOUT)
        log_error(p->log,
                  "lane %u does not get through: let the other servers' lanes reach the ports "
                  "that --ranks names, and two more for each further lane of a rank",
                  p->lane);
    return e;
}

static enum err work(struct lane *l)
{
    switch ((enum crew_job_number)l->of->job) {
    case CREW_GREET:
        return greet(l->party);
    case CREW_COUNT:
        return portion_count(l->party, &l->argument, &l->of->sums);
    case CREW_NOISE:
        return tape_make_share(l->party, &l->argument, &l->result);
    }
    return ERR_FORMAT;
}

static void *go(void *arg)
{
    struct lane *l = arg;
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(l->party->scratch);
    l->error = work(l);
    if (l->error == ERR_OK) /* nothing goes back that is not proved */
        l->error = record_prove(l->party);
    if (l->error != ERR_OK)
        net_abort(l->net);
    atomic_store(&l->done, true);
    return NULL;
}

static bool all_done(const struct follower *f)
{
    bool done = true;
    for (size_t k = 0; k < f->lanes; k++)
        done = done && (!f->lane[k].thread.started || atomic_load(&f->lane[k].done));
    return done;
}

/* All lanes work side by side; this thread meanwhile hears whether the job is called off. */
static enum err follow_server(struct follower *f)
{
    unsigned turn = 0;
    enum err e = ERR_OK, started;
    for (size_t k = 0; k < f->lanes; k++) {
        struct lane *l = &f->lane[k];
        atomic_store(&l->done, false);
        l->words[0] = '\0';
        l->error = ERR_OK;
        started = thread_start(&l->thread, go, l, &l->log);
        if (started != ERR_OK) {
            l->error = started; /* else it is the thread's */
            net_abort(l->net);
        }
    }
    while (!all_done(f)) {
        if (ranks_called_off())
            atomic_store(&f->ended, true);
        ranks_show_life(f->ranks);
        ranks_nap(&turn);
    }
    for (size_t k = 0; k < f->lanes; k++) {
        thread_join(&f->lane[k].thread);
        e = crew_worse(e, f->lane[k].error);
    }
    return e;
}

static enum err do_job(struct follower *f, struct reader *r)
{
    f->job = reader_u8(r);
    f->phase = (enum net_phase)reader_u8(r);
    if (f->phase >= NET_PHASES)
        return ERR_FORMAT;
    for (size_t k = 0; k < f->lanes; k++) {
        struct lane *l = &f->lane[k];
        const uint64_t n = reader_u64(r);
        const uint8_t *arguments = reader_bytes(r, n);
        if (arguments == NULL)
            return ERR_FORMAT;
        l->of = f;
        l->argument = reader_of(arguments, n);
        bytes_clear(&l->result);
        net_begin(l->net, f->phase);
    }
    TRY(reader_done(r));
    return follow_server(f);
}

/* --- messages --------------------------------------------------------------------------------- */

static void put_results(struct follower *f, struct bytes *b)
{
    struct net_counters counted = {0};
    for (size_t k = 0; k < f->lanes; k++)
        net_counters_add(&counted, net_counters(f->lane[k].net, f->phase));
    bytes_put(b, &counted, sizeof counted);
    for (size_t k = 0; k < f->lanes; k++) {
        struct bytes *result = &f->lane[k].result;
        bytes_put_u64(b, result->size);
        bytes_put(b, result->data, result->size);
        bytes_clear(result);
    }
}

static enum err answer(struct follower *f, enum err e, bool results)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    char *words = NULL;
    for (size_t k = 0; k < f->lanes && words == NULL && e != ERR_OK; k++)
        if (f->lane[k].words[0] != '\0')
            words = f->lane[k].words;
    bytes_put_u8(&b, (uint8_t)e);
    bytes_put_string(&b, words != NULL ? log_first(words) : "");
    if (results && e == ERR_OK)
        put_results(f, &b);
    return ranks_send(f->ranks, f->ranks->end, &b);
}

static enum err send_sums(struct follower *f, struct reader *r)
{
    const uint64_t n = reader_u64(r);
    enum err e = reader_done(r);
    if (e == ERR_OK && f->sums.sums.a == NULL)
        e = share64_new(&f->sums.sums, n);
    if (e == ERR_OK && f->sums.sums.n != n)
        e = ERR_MISMATCH;
    TRY(answer(f, e, false));
    if (e == ERR_OK)
        e = ranks_reduce(f->ranks, f->sums.sums);
    portion_sums_free(&f->sums);
    portion_sums_new(&f->sums);
    return e;
}

/* Handles one message; *quit: it was the last. What fails here for good ends the job. */
static enum err obey(struct follower *f, struct reader *r, bool *quit)
{
    switch ((enum ranks_message)reader_u8(r)) {
    case RANKS_ADMIT:
        return answer(f, admit(f, r), false);
    case RANKS_OPEN:
        return answer(f, open_session(f, r), false);
    case RANKS_TOPIC:
        return set_topic(f, r);
    case RANKS_JOB:
        return answer(f, do_job(f, r), true);
    case RANKS_SUM:
        return send_sums(f, r);
    case RANKS_CLOSE:
        close_session(f);
        return ERR_OK;
    case RANKS_QUIT:
        *quit = true;
        return answer(f, ERR_OK, false);
    }
    return ERR_FORMAT;
}

enum err ranks_follow(struct ranks *ranks)
{
    struct follower *f CLEAN(memory_release) = NULL;
    struct bytes message CLEAN(bytes_clear) = {0};
    bool quit = false;
    enum err e = ERR_OK;
    TRY(memory_new(&f, 1));
    f->ranks = ranks;
    f->own = ranks->own;
    portion_sums_new(&f->sums);
    while (!quit && e == ERR_OK) {
        struct reader r;
        e = ranks_receive(ranks, ranks->end, &message);
        r = reader_of(message.data, message.size);
        if (e == ERR_OK)
            e = obey(f, &r, &quit);
    }
    close_session(f);
    for (size_t k = 0; k < f->own; k++)
        transport_free(&f->lane[k].transport);
    netio_free(&f->netio);
    portion_sums_free(&f->sums);
    if (e != ERR_OK)
        ranks_abort(ranks, e);
    return e;
}
