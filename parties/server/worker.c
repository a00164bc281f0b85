#include "parties/server/worker.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/server/worker_private.h"

#include <string.h>

/* --- who may ask ------------------------------------------------------------------------------ */

/* ERR_REFUSED or ERR_BUSY, logged, unless a request may be asked and no run is in its way. */
static enum err may_have(struct worker *w, const struct worker_ask *ask)
{
    TRY(worker_may_ask(w, ask));
    return worker_turn_is_taken(w, ask);
}

/*
 * A program that gets no answer dials again and asks again. A network may have held back what it
 * asked first, and bring it in the middle of the next round, in which this server would be alone.
 */
static enum err is_not_late(struct worker *w, const struct worker_ask *ask)
{
    if (!worker_has_run(w) || ask->client.user != w->user ||
        memcmp(w->run, ask->request.run, sizeof w->run) != 0 ||
        !gate_is_earlier(&ask->client, w->line))
        return ERR_OK;
    return log_fail(&w->log, ERR_AGAIN, "this run's program has asked on a later connection since");
}

/* Whether the open session is the right one for a request that is not an OPEN. */
static enum err goes_to_session(struct worker *w, const struct worker_ask *ask)
{
    TRY(may_have(w, ask));
    if (!worker_has_run(w))
        return log_fail(&w->log, ERR_PEER,
                        "there is no session: it ended, or this server was restarted");
    if (memcmp(w->run, ask->request.run, sizeof w->run) != 0)
        return log_fail(&w->log, ERR_MISUSE, "the session is that of another run");
    return ERR_OK;
}

/* --- one request ------------------------------------------------------------------------------ */

static enum err read(struct worker *w, struct request *r, const uint8_t *p, size_t n)
{
    const struct study *study = w->site->study;
    enum err e = request_read(r, study->domain, study->workload, p, n);
    if (e != ERR_OK && request_version(p, n) != REQUEST_VERSION)
        log_error(&w->log,
                  "the request is of version %u, and this server (trefoil %s) takes version %u; "
                  "run with the version that the servers run",
                  request_version(p, n), TREFOIL_VERSION, REQUEST_VERSION);
    else if (e == ERR_REFUSED)
        log_error(&w->log, "the request merges values that the study does not permit: numbers may "
                           "be merged only with their neighbours, a missing value never, and only "
                           "where marginals are measured or selected");
    else if (e == ERR_MISMATCH)
        log_error(
            &w->log,
            "the warrant is of a later trefoil than this server's, %s; have the approvers sign "
            "with the version that the servers run",
            TREFOIL_VERSION);
    else if (e != ERR_OK)
        log_error(&w->log, "the request is damaged");
    return e;
}

/* What server 0 does with an OPEN: it makes the session. */
static void lead(struct worker *w, const struct worker_ask *ask)
{
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    enum err e = may_have(w, ask);
    if (e == ERR_OK) {
        if (w->net == NULL || memcmp(w->run, ask->request.run, sizeof w->run) != 0)
            w->began = date_now();
        w->user = ask->client.user;
        memcpy(w->run, ask->request.run, sizeof w->run);
        memcpy(about, ask->attempt, sizeof about);
        e = worker_open_session(w, NULL, about);
    }
    worker_serve(w, ask, e);
}

static void take(struct worker *w, const struct gate_client *from, const struct bytes *message)
{
    struct reader in = reader_of(message->data + 1, message->size - 1);
    struct request r CLEAN(request_clear) = {0};
    struct worker_ask ask = {.client = *from};
    enum err e;
    reader_copy(&in, ask.attempt, sizeof ask.attempt);
    ask.seen = reader_u64(&in);
    hash_bytes(in.p, in.left, ask.digest);
    w->words[0] = '\0';
    e = read(w, &r, in.p, in.left);
    ask.request = r;
    if (e == ERR_OK)
        e = is_not_late(w, &ask);
    if (e != ERR_OK)
        worker_answer(w, &ask, e, NULL, 0);
    else if (r.kind != REQUEST_OPEN)
        worker_serve(w, &ask, goes_to_session(w, &ask));
    else if (w->site->index == 0)
        lead(w, &ask);
    else
        worker_follow(w, &ask);
}

/* Handles one message, or waits a while for one: ERR_OK unless the worker cannot go on. */
static enum err once(struct worker *w, struct bytes *message)
{
    void *const leader = w->site->index == 0
                             ? NULL
                             : transport_zmq_socket(w->site->control,
                                                    w->site->index == 1 ? NET_PREV : NET_NEXT);
    struct gate_client from;
    enum err e;
    if (w->site->index == 0) {
        worker_tend_ahead(w);
        e = transport_wait(w->site->control, 0, 0, clock_now_ms()); /* tends the links */
        if (e != ERR_OK && e != ERR_TIMEOUT)
            return e;
    } else {
        TRY(worker_tend(w, message));
    }
    bell_forget(&w->site->bell);
    e = gate_port_receive(w->port, &from, message, leader, clock_now_ms() + WORKER_POLL_MS);
    if (e == ERR_TIMEOUT || e == ERR_AGAIN)
        return ERR_OK;
    if (e == ERR_NOMEM) {
        w->words[0] = '\0';
        worker_answer(w, &(const struct worker_ask){.client = from}, e, NULL, 0);
        return ERR_OK;
    }
    TRY(e);
    bell_ring(&w->site->bell); /* more may wait */
    take(w, &from, message);
    worker_idle_from_now(w);
    return ERR_OK;
}

/*
 * A session whose run is not heard of for this many times deadlines.connect is closed, even if
 * nobody else wants its place: while it is open no owner can withdraw or replace an upload.
 */
#define SILENT_TIMES 2

/* Closes the session, if there is a reason. */
static void end_turn(struct worker *w, const char *why)
{
    if (why == NULL)
        return;
    log_warn(w->site->log, "%s: the session, whose run has not paid, is closed", why);
    worker_close_session(w);
}

static enum err work(struct worker *w)
{
    struct bytes message = {0};
    enum err e = ERR_OK;
    while (e == ERR_OK && !atomic_load(w->site->stop)) {
        const int64_t before = clock_now_ms();
        e = once(w, &message);
        worker_heed_neighbours(w);
        end_turn(w, worker_turn_passes(w, clock_now_ms() - before));
        worker_show_neighbours(w);
        if (w->net != NULL && worker_silent_ms(w) > SILENT_TIMES * worker_connect_ms(w)) {
            log_warn(
                w->site->log,
                "nothing was heard from the run's program for too long; its session is closed");
            worker_close_session(w);
        }
    }
    worker_close_session(w);
    bytes_clear(&message);
    return e;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    w->result = work(w);
    atomic_store(&w->site->status.worker_ended, true);
    atomic_store(w->site->stop, true);
    return NULL;
}

enum err worker_start(struct worker **worker, struct site *site, const struct setting *setting)
{
    struct worker *w;
    TRY(memory_new(worker, 1));
    w = *worker;
    w->site = site;
    w->play = (struct play){.study = site->study,
                            .split = site->split,
                            .me = site->me,
                            .limits = &site->limits,
                            .store = site->store,
                            .openings = {.audit = site->audit, .log = &w->log},
                            .adding = &site->status.adding,
                            .log = &w->log};
    w->log = *site->log;
    w->log.buffer = w->words;
    w->log.buffer_size = sizeof w->words;
    w->setting = setting;
    TRY(setting->start(&w->part, &(const struct setting_host){site, &w->play.openings, &w->log}));
    w->port = gate_port(site->gate);
    worker_show_guard(w);
    TRY(w->port != NULL ? worker_show_budget(w) : ERR_NOMEM);
    setting->drop(w->part);
    setting->show(w->part);
    worker_idle_from_now(w);
    return thread_start(&w->thread, run_worker, w, site->log);
}

enum err worker_stop(struct worker **worker)
{
    struct worker *w = *worker;
    enum err e;
    if (w == NULL)
        return ERR_OK;
    thread_join(&w->thread);
    e = w->result;
    gate_port_free(&w->port);
    w->setting->stop(&w->part);
    secret_wipe(w, sizeof *w);
    memory_free(worker);
    return e;
}
