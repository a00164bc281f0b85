/* The worker of server 0: takes requests from the gate's port, makes their sessions, relays them, handles them. */
#include "base/clock.h"
#include "base/date.h"
#include "parties/server/worker_private.h"

#include <string.h>

static enum err relay(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE],
                      const uint8_t *p, size_t n)
{
    struct bytes out = {0};
    enum err e = ERR_OK;
    for (size_t at = 0; e == ERR_OK && at < n; at += RELAY_PART) {
        bytes_clear(&out);
        bytes_put_u32(&out, RELAY_MAGIC);
        bytes_put(&out, w->session->id, SESSION_ID_SIZE);
        bytes_put(&out, attempt, REQUEST_ATTEMPT_SIZE);
        bytes_put_u64(&out, n);
        bytes_put(&out, p + at, n - at < RELAY_PART ? n - at : RELAY_PART);
        e = bytes_ok(&out);
        for (unsigned peer = 0; e == ERR_OK && peer < 2; peer++)
            e = transport_send_by(w->o.control, (enum net_peer)peer, out.data, out.size,
                                  clock_now_ms() + worker_connect_ms(w));
    }
    bytes_clear(&out);
    return e;
}

static bool has_paid(const struct worker *w, const uint8_t run[REQUEST_RUN_SIZE])
{
    uint32_t rounds = 0;
    return store_run(w->o.store, run, &rounds, NULL) == ERR_OK && rounds > 0;
}

/*
 * A run keeps the session until it ends it, or its program is not heard of for as long as one may take to connect. One
 * that has paid goes before one that has not, and that only finds the budget gone.
 */
static bool busy_with_another(const struct worker *w, const struct request *r)
{
    return w->session != NULL && memcmp(w->run, r->run, sizeof w->run) != 0 &&
           worker_silent_ms(w) < worker_connect_ms(w) &&
           (has_paid(w, w->run) || !has_paid(w, r->run));
}

static enum err refuse_second(struct worker *w)
{
    char since[DATE_SIZE];
    date_text(w->began, since);
    log_error(&w->log,
              "another run, of analyst %s, is in progress since %s; its program was last heard of "
              "%lld s ago. Wait for it to end, or continue that one: trefoil run with its --out. "
              "Should its program have died, its place is free after %u s of silence",
              w->o.study->analyst[w->user & 0xffffff].name, since,
              (long long)worker_silent_ms(w) / 1000, (unsigned)w->o.study->connect_s);
    return ERR_REFUSED;
}

/* Makes the session that the request needs. */
static enum err session_for(struct worker *w, const struct gate_client *from,
                            const uint8_t attempt[REQUEST_ATTEMPT_SIZE], const struct request *r)
{
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    TRY(worker_may_ask(w, r, from->user));
    if (busy_with_another(w, r))
        return refuse_second(w);
    if (r->kind == REQUEST_OPEN) {
        if (w->session == NULL || memcmp(w->run, r->run, sizeof w->run) != 0)
            w->began = date_now();
        w->user = from->user;
        memcpy(w->run, r->run, sizeof w->run);
        memcpy(about, attempt, sizeof about);
        return worker_open_session(w, NULL, about);
    }
    if (w->session == NULL) {
        log_error(&w->log, "there is no session: it ended, or this server was restarted");
        return ERR_PEER;
    }
    return ERR_OK;
}

static enum err lead(struct worker *w, const struct gate_client *from,
                     const uint8_t attempt[REQUEST_ATTEMPT_SIZE], const uint8_t *p, size_t n,
                     struct bytes *result)
{
    struct request r;
    enum err e = request_read(&r, w->o.study->workload, p, n);
    if (e != ERR_OK && request_version(p, n) != REQUEST_VERSION)
        log_error(&w->log,
                  "the request is of version %u, and this server (trefoil %s) takes version %u; "
                  "run with the version that the servers run",
                  request_version(p, n), TREFOIL_VERSION, REQUEST_VERSION);
    else if (e != ERR_OK)
        log_error(&w->log, "the request does not parse");
    TRY(e);
    e = session_for(w, from, attempt, &r);
    request_clear(&r);
    TRY(e);
    e = relay(w, attempt, p, n);
    if (e != ERR_OK) {
        log_error(&w->log, "the request could not be passed on to servers 1 and 2: %s",
                  error_text(e));
        worker_close_session(w);
        return e;
    }
    return worker_handle(w, from->user, p, n, result);
}

enum err worker_lead_once(struct worker *w, struct bytes *message)
{
    struct gate_client from;
    struct bytes result = {0};
    enum err e = gate_port_receive(w->port, &from, message, clock_now_ms() + WORKER_POLL_MS);
    if (e == ERR_TIMEOUT) {
        e = transport_wait(w->o.control, 0, 0, clock_now_ms()); /* tends the links */
        return e == ERR_TIMEOUT ? ERR_OK : e;
    }
    w->words[0] = '\0';
    if (e == ERR_NOMEM) {
        worker_answer(w, &from, MESSAGE_REQUEST, e, NULL, 0);
        return ERR_OK;
    }
    TRY(e);
    e = lead(w, &from, message->data + 1, message->data + REQUEST_HEAD_SIZE,
             message->size - REQUEST_HEAD_SIZE, &result);
    worker_answer(w, &from, MESSAGE_REQUEST, e, result.data, e == ERR_OK ? result.size : 0);
    bytes_clear(&result);
    worker_let_late_join(w);
    return ERR_OK;
}
