/* Reads analysts' requests, and admits them to a session, at every server alike. */
#include "base/clock.h"
#include "base/date.h"
#include "base/hash.h"
#include "parties/server/worker_private.h"

#include <string.h>

/* --- who may ask ------------------------------------------------------------------------------ */

/* ERR_REFUSED or ERR_BUSY, logged, unless a request may be asked and no run is in its way. */
static enum err may_have(struct worker *w, const struct worker_ask *ask)
{
    TRY(worker_may_ask(w, ask));
    return worker_turn_is_taken(w, ask);
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
    if (e != ERR_OK)
        worker_answer(w, &ask, e, NULL, 0);
    else if (r.kind != REQUEST_OPEN)
        worker_serve(w, &ask, goes_to_session(w, &ask));
    else if (w->site->index == 0)
        lead(w, &ask);
    else
        worker_follow(w, &ask);
}

enum err worker_once(struct worker *w, struct bytes *message)
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
