#include "parties/server/worker.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/exchange/cost.h"
#include "parties/server/collect.h"
#include "parties/server/engine.h"
#include "parties/server/play.h"
#include "parties/server/round.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define POLL_MS 200
/* A session whose run is not heard of is closed after this, also when nobody else wants its place. */
#define IDLE_MS (30 * 60 * 1000)
#define DIGESTS 16
/* Rounds, after some rows could not join a run, until servers look for such again. */
#define PATIENCE 10
#define RELAY_MAGIC UINT32_C(0x59414c52) /* "RLAY" */
#define RELAY_HEAD (4 + SESSION_ID_SIZE + REQUEST_ATTEMPT_SIZE + 8)
#define RELAY_PART ((size_t)32 << 10)
#define HEAD_SIZE (1 + REQUEST_ATTEMPT_SIZE) /* kind and attempt, before a request or a digest */

_Static_assert(RELAY_HEAD + RELAY_PART <= WORKER_CONTROL_MAX, "a part fits a message");
_Static_assert(REQUEST_ATTEMPT_SIZE == SESSION_ABOUT_SIZE, "a session is about an attempt");

struct digest_note { /* an analyst's digest that has come, and whom to answer */
    uint8_t attempt[REQUEST_ATTEMPT_SIZE], digest[REQUEST_DIGEST_SIZE];
    struct gate_client client;
    int64_t since;
    bool used;
};

struct worker {
    struct worker_options o;
    struct log log;  /* as the options' log, and also into `words` */
    char words[512]; /* what is logged while a request is handled: told to the analyst */
    /* the session, if any */
    struct session *session;
    struct net *net;
    struct party *party;
    struct engine *engine;
    struct play play;
    uint8_t run[REQUEST_RUN_SIZE];
    uint32_t user;
    int64_t began;                       /* the run, by the wall clock */
    uint64_t shown_sent, shown_received; /* of this session's links, in the status */
    struct digest_note notes[DIGESTS];   /* servers 1 and 2 */
    unsigned next_note;
    struct bytes relayed; /* servers 1 and 2: a request of which more is to come */
    uint8_t relayed_attempt[REQUEST_ATTEMPT_SIZE];
};

/* --- what the operator may see ---------------------------------------------------------------------- */

/* What the links carried since the last time. */
static void show_bytes(struct worker *w)
{
    struct net_counters all = {0};
    if (w->net != NULL) {
        all = net_total(w->net);
        atomic_fetch_add(&w->o.status->peer_sent, all.wire_sent - w->shown_sent);
        atomic_fetch_add(&w->o.status->peer_received, all.wire_received - w->shown_received);
    }
    w->shown_sent = all.wire_sent;
    w->shown_received = all.wire_received;
}

/* --- sessions ------------------------------------------------------------------------------------ */

static void close_session(struct worker *w)
{
    show_bytes(w);
    atomic_store(&w->o.status->session, false);
    net_abort(w->net);
    engine_free(&w->engine);
    party_free(&w->party);
    net_free(&w->net);
    session_free(&w->session);
    bytes_clear(&w->play.upload_ids);
    bytes_clear(&w->play.what);
    store_use(w->o.store, false);
}

/* The run in progress was heard of; the front notes the same (MESSAGE_ALIVE). */
static void hear(struct worker *w)
{
    atomic_store(&w->o.status->run, status_run_word(w->run));
    atomic_store(&w->o.status->heard_ms, clock_now_ms());
}

static int64_t silent_ms(const struct worker *w)
{
    return clock_now_ms() - atomic_load(&w->o.status->heard_ms);
}

static int64_t connect_ms(const struct worker *w)
{
    return (int64_t)w->o.study->connect_s * 1000;
}

/* propose: the message that called us, NULL at server 0; attempt: of the analyst who is to have the session */
static enum err open_session(struct worker *w, const struct bytes *propose,
                             uint8_t attempt[REQUEST_ATTEMPT_SIZE])
{
    struct net_options options = {
        .transport = w->o.bulk, .deadline_ms = (int64_t)w->o.study->round_s * 1000, .log = &w->log};
    enum err e;
    close_session(w);
    e = session_open(&w->session, w->o.control, w->o.index, &w->o.study->terms, propose, attempt,
                     connect_ms(w), &w->log);
    options.session = w->session;
    if (e == ERR_OK)
        e = net_new(&w->net, &options);
    if (e == ERR_OK)
        e = party_new(&w->party, w->net, w->session, 0, &w->log);
    if (e == ERR_OK) {
        w->party->audit = play_audit;
        w->party->audit_self = &w->play;
        hear(w);
        w->shown_sent = w->shown_received = 0;
        atomic_store(&w->o.status->session, true);
    } else
        close_session(w);
    return e;
}

/* --- a request at every server alike ------------------------------------------------------------- */

/* Counts the uploads that a run begins or goes on with; or, between its rounds, those that have come. */
static enum err load_uploads(struct worker *w, bool late)
{
    const struct collector g = {.study = w->o.study,
                                .store = w->o.store,
                                .net = w->net,
                                .engine = w->engine,
                                .log = &w->log};
    store_use(w->o.store, true); /* until the session ends nothing is withdrawn or replaced */
    return collect_uploads(&g, w->run, late, &w->play.upload_ids, w->play.uploads);
}

/* Exchanges heads; takes over the debit that this server lacks, if it is the last one. */
static enum err adopt_last(struct worker *w, const struct store_head *head,
                           const struct ledger *ledger)
{
    struct bytes last = {0}, entry = {0};
    uint8_t next[32], ignored[32];
    bool lacking = false;
    enum err e = ERR_OK;
    if (head->number > 0)
        e = store_entry(w->o.store, head->number, &last, ignored);
    if (e == ERR_OK)
        e = round_ledger(w->net, head, &last, &lacking, &entry, next, &w->log);
    if (e == ERR_OK && lacking)
        e = store_adopt(w->o.store, &entry, head, next, ledger);
    if (e == ERR_OK && lacking)
        log_warn(w->o.log, "took over a debit that the others made when this server was stopped");
    bytes_clear(&last);
    bytes_clear(&entry);
    return e;
}

static enum err show_budget(struct worker *w)
{
    struct ledger *ledger = NULL;
    struct store_head head;
    double spent;
    TRY(store_ledger(w->o.store, w->o.limits, &ledger, &head));
    spent = ledger_spent(ledger);
    atomic_store(&w->o.status->rho_spent, spent);
    atomic_store(&w->o.status->rho_limit, spent + ledger_remaining(ledger));
    ledger_free(&ledger);
    return ERR_OK;
}

/* A round that one server debited is debited at all; what nobody debited is forgotten. */
static enum err agree_on_ledger(struct worker *w)
{
    struct ledger *ledger = NULL;
    struct store_head head;
    enum err e = store_ledger(w->o.store, w->o.limits, &ledger, &head);
    if (e == ERR_OK)
        e = adopt_last(w, &head, ledger);
    ledger_free(&ledger);
    return e == ERR_OK ? store_unstage(w->o.store) : e;
}

static enum err new_engine(struct worker *w)
{
    static const char label[] = "trefoil-tape-1";
    uint8_t id[TAPE_ID_SIZE];
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, (const uint8_t *)label, sizeof label);
    crypto_hash_sha256_update(&hash, w->session->id, SESSION_ID_SIZE);
    crypto_hash_sha256_final(&hash, id);
    TRY(engine_new(&w->engine, w->party, w->o.study, w->o.bounds, id, &w->log));
    w->play.study = w->o.study;
    w->play.limits = w->o.limits;
    w->play.store = w->o.store;
    w->play.audit = w->o.audit;
    w->play.net = w->net;
    w->play.session = w->session;
    w->play.engine = w->engine;
    w->play.late = false;
    w->play.patience = 0;
    w->play.log = &w->log;
    return ERR_OK;
}

/* What is left, and who has spent the rest: an analyst whose folder is lost needs the number of its run. */
static enum err tell_budget(struct worker *w, struct bytes *result)
{
    struct ledger *ledger = NULL;
    struct store_head head;
    struct store_found last = {0};
    uint32_t rounds = 0;
    enum err e = store_ledger(w->o.store, w->o.limits, &ledger, &head);
    if (e == ERR_OK)
        e = store_run(w->o.store, w->run, &rounds, NULL);
    if (e == ERR_OK && head.number > 0)
        e = store_round_of(w->o.store, head.number, &last);
    if (e == ERR_OK) {
        bytes_put_double(result, ledger_remaining(ledger));
        bytes_put(result, w->o.study->terms.digest, sizeof w->o.study->terms.digest);
        bytes_put_u32(result, rounds);
        bytes_put(result, last.round.run, sizeof last.round.run);
        e = bytes_ok(result);
    }
    ledger_free(&ledger);
    return e;
}

static enum err handle_open(struct worker *w, struct bytes *result)
{
    if (w->engine != NULL) {
        log_error(&w->log, "this session is open already");
        return ERR_MISUSE;
    }
    TRY(agree_on_ledger(w));
    TRY(new_engine(w));
    TRY(load_uploads(w, false));
    return tell_budget(w, result);
}

static enum err handle_close(struct worker *w, struct bytes *result)
{
    TRY(play_sign_logs(&w->play));
    TRY(store_end_run(w->o.store, w->run));
    cost_put(result, w->net);
    return bytes_ok(result);
}

static enum err dispatch(struct worker *w, struct request *r, const uint8_t digest[32],
                         struct bytes *result)
{
    if (r->kind == REQUEST_OPEN) {
        memcpy(w->run, r->run, sizeof w->run);
        return handle_open(w, result);
    }
    if (w->engine == NULL || memcmp(r->run, w->run, sizeof r->run) != 0) {
        log_error(&w->log, "the session is not open, or is that of another run");
        return ERR_MISUSE;
    }
    return r->kind == REQUEST_CLOSE ? handle_close(w, result)
                                    : play_round(&w->play, r, digest, result);
}

/* Handles the bytes of a request; a failure ends the session. */
static enum err handle(struct worker *w, const void *p, size_t n, struct bytes *result)
{
    struct request r;
    uint8_t digest[REQUEST_DIGEST_SIZE];
    enum err e;
    TRY(request_read(&r, w->o.study->workload, p, n));
    request_digest(p, n, digest);
    hear(w);
    atomic_store(&w->o.status->round, r.sequence);
    e = dispatch(w, &r, digest, result);
    hear(w);
    if (show_budget(w) != ERR_OK)
        log_warn(w->o.log, "the status shows an old budget: the ledger cannot be read");
    show_bytes(w);
    atomic_fetch_add(&w->o.status->requests, 1);
    atomic_fetch_add(&w->o.status->requests_failed, e != ERR_OK);
    if (e != ERR_OK || r.kind == REQUEST_CLOSE)
        close_session(w);
    request_clear(&r);
    return e;
}

/*
 * After a round is answered, while the estimator works: counts the rows that have come, if all three said in the
 * round that they have some. A failure ends the session; the run goes on in another, with the rows of its last round.
 */
static void let_late_join(struct worker *w)
{
    size_t before;
    enum err e;
    if (w->session == NULL || w->engine == NULL || !w->play.late)
        return;
    w->play.late = false;
    before = w->engine->tally.owners;
    w->words[0] = '\0';
    e = load_uploads(w, true);
    if (e == ERR_OK && w->engine->tally.owners > before)
        log_info(w->o.log, "the rows of %zu owners more are counted from now on",
                 w->engine->tally.owners - before);
    if (e == ERR_OK && w->play.here > w->engine->tally.owners)
        w->play.patience = PATIENCE; /* others do not hold them, or not alike */
    if (e != ERR_OK) {
        log_warn(w->o.log, "rows that came during the run could not be counted: %s", error_text(e));
        close_session(w);
    }
}

static void answer(struct worker *w, const struct gate_client *to, uint8_t kind, enum err status,
                   const void *payload, size_t n)
{
    struct bytes out = {0};
    size_t length = strlen(w->words);
    if (length > 0 && w->words[length - 1] == '\n')
        w->words[length - 1] = '\0';
    enum err e = reply_write(kind, status, status == ERR_OK ? "" : w->words, payload, n, &out);
    if (e == ERR_NOMEM) { /* what is short may do */
        log_error(w->o.log, "memory is too short for an answer to the analyst, who is told so");
        bytes_clear(&out);
        e = reply_write(kind, ERR_NOMEM, "", NULL, 0, &out);
    }
    if (e == ERR_OK)
        e = gate_port_reply(w->o.port, to, out.data, out.size);
    if (e != ERR_OK)
        log_warn(w->o.log, "an answer to the analyst was lost: %s", error_text(e));
    bytes_clear(&out);
}

/* --- server 0 ------------------------------------------------------------------------------------ */

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
                                  clock_now_ms() + connect_ms(w));
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
           silent_ms(w) < connect_ms(w) && (has_paid(w, w->run) || !has_paid(w, r->run));
}

static enum err refuse_second(struct worker *w)
{
    char since[DATE_SIZE];
    date_text(w->began, since);
    log_error(&w->log,
              "another run, of analyst %s, is in progress since %s; its program was last heard of "
              "%lld s ago. Wait for it to end, or continue that one: trefoil run with its --out. "
              "Should its program have died, its place is free after %u s of silence",
              w->o.study->analyst[w->user & 0xffffff].name, since, (long long)silent_ms(w) / 1000,
              (unsigned)w->o.study->connect_s);
    return ERR_REFUSED;
}

/* Makes the session that the request needs. */
static enum err session_for(struct worker *w, const struct gate_client *from,
                            const uint8_t attempt[REQUEST_ATTEMPT_SIZE], const struct request *r)
{
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    if (busy_with_another(w, r))
        return refuse_second(w);
    if (r->kind == REQUEST_OPEN) {
        if (w->session == NULL || memcmp(w->run, r->run, sizeof w->run) != 0)
            w->began = date_now();
        w->user = from->user;
        memcpy(w->run, r->run, sizeof w->run);
        memcpy(about, attempt, sizeof about);
        return open_session(w, NULL, about);
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
        close_session(w);
        return e;
    }
    return handle(w, p, n, result);
}

static enum err lead_once(struct worker *w, struct bytes *message)
{
    struct gate_client from;
    struct bytes result = {0};
    enum err e = gate_port_receive(w->o.port, &from, message, clock_now_ms() + POLL_MS);
    if (e == ERR_TIMEOUT) {
        e = transport_wait(w->o.control, 0, 0, clock_now_ms()); /* tends the links */
        return e == ERR_TIMEOUT ? ERR_OK : e;
    }
    w->words[0] = '\0';
    if (e == ERR_NOMEM) {
        answer(w, &from, MESSAGE_REQUEST, e, NULL, 0);
        return ERR_OK;
    }
    TRY(e);
    if (message->size < HEAD_SIZE || message->data[0] != MESSAGE_REQUEST)
        e = ERR_FORMAT;
    else
        e = lead(w, &from, message->data + 1, message->data + HEAD_SIZE, message->size - HEAD_SIZE,
                 &result);
    answer(w, &from, MESSAGE_REQUEST, e, result.data, e == ERR_OK ? result.size : 0);
    bytes_clear(&result);
    let_late_join(w);
    return ERR_OK;
}

/* --- servers 1 and 2 ----------------------------------------------------------------------------- */

/* Takes what has come to the port: analysts' digests. */
static enum err take_notes(struct worker *w, int64_t deadline)
{
    struct bytes message = {0};
    struct digest_note note = {.since = clock_now_ms(), .used = true};
    enum err e = gate_port_receive(w->o.port, &note.client, &message, deadline);
    if (e == ERR_OK && message.size == HEAD_SIZE + REQUEST_DIGEST_SIZE &&
        message.data[0] == MESSAGE_DIGEST) {
        memcpy(note.attempt, message.data + 1, REQUEST_ATTEMPT_SIZE);
        memcpy(note.digest, message.data + HEAD_SIZE, REQUEST_DIGEST_SIZE);
        w->notes[w->next_note++ % DIGESTS] = note;
    }
    bytes_clear(&message);
    if (e == ERR_NOMEM) {
        answer(w, &note.client, MESSAGE_DIGEST, e, NULL, 0);
        e = ERR_OK;
    }
    return e;
}

/* The same request may come more than once: every attempt has its own digest and its own answer. */
static enum err wait_for_digest(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE],
                                const uint8_t digest[REQUEST_DIGEST_SIZE],
                                struct gate_client *client)
{
    int64_t deadline = clock_now_ms() + connect_ms(w);
    for (;;) {
        enum err e;
        for (unsigned i = 0; i < DIGESTS; i++)
            if (w->notes[i].used &&
                memcmp(w->notes[i].attempt, attempt, REQUEST_ATTEMPT_SIZE) == 0 &&
                memcmp(w->notes[i].digest, digest, REQUEST_DIGEST_SIZE) == 0) {
                *client = w->notes[i].client;
                w->notes[i].used = false;
                return ERR_OK;
            }
        e = take_notes(w, deadline);
        if (e != ERR_OK) {
            if (e == ERR_TIMEOUT)
                log_error(&w->log, "server 0 relayed a request whose digest no analyst sent here");
            return e;
        }
    }
}

static void follow(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE], const uint8_t *p,
                   size_t n)
{
    struct gate_client client;
    struct bytes result = {0};
    uint8_t digest[32], of_result[32];
    enum err e;
    request_digest(p, n, digest);
    e = wait_for_digest(w, attempt, digest, &client);
    if (e != ERR_OK) {
        close_session(w);
        return;
    }
    e = handle(w, p, n, &result);
    request_digest(result.data, result.size, of_result);
    if (w->session == NULL && e == ERR_OK) /* CLOSE: this server's own counters */
        answer(w, &client, MESSAGE_DIGEST, e, result.data, result.size);
    else
        answer(w, &client, MESSAGE_DIGEST, e, of_result, e == ERR_OK ? sizeof of_result : 0);
    bytes_clear(&result);
    let_late_join(w);
}

static void tell(struct worker *w, struct digest_note *note, enum err e)
{
    answer(w, &note->client, MESSAGE_DIGEST, e, NULL, 0);
    note->used = false;
}

/* Answers analysts whose digest has waited for too long for a request that does not come. */
static void tell_waiting(struct worker *w)
{
    snprintf(w->words, sizeof w->words, "server 0 has not passed the request on");
    for (unsigned i = 0; i < DIGESTS; i++)
        if (w->notes[i].used && clock_now_ms() - w->notes[i].since >= connect_ms(w))
            tell(w, &w->notes[i], ERR_TIMEOUT);
}

/* Joins the session that server 0 proposes. If that fails, the analyst for whom it was is told, and nobody else. */
static void join(struct worker *w, const struct bytes *propose)
{
    uint8_t attempt[REQUEST_ATTEMPT_SIZE] = {0};
    enum err e = open_session(w, propose, attempt);
    bytes_clear(&w->relayed); /* of the session before */
    if (e == ERR_OK)
        return;
    while (take_notes(w, clock_now_ms()) == ERR_OK)
        ;
    for (unsigned i = 0; i < DIGESTS; i++)
        if (w->notes[i].used && memcmp(w->notes[i].attempt, attempt, sizeof attempt) == 0)
            tell(w, &w->notes[i], e);
}

/* A part of a request. Anything that is none of this session's is left over from an earlier one. */
static void take_part(struct worker *w, const struct bytes *message)
{
    struct reader in = reader_of(message->data, message->size);
    uint32_t magic = reader_u32(&in);
    const uint8_t *id = reader_bytes(&in, SESSION_ID_SIZE),
                  *attempt = reader_bytes(&in, REQUEST_ATTEMPT_SIZE);
    uint64_t size = reader_u64(&in);
    if (in.failed || magic != RELAY_MAGIC || w->session == NULL ||
        memcmp(id, w->session->id, SESSION_ID_SIZE) != 0 ||
        size > request_longest(w->o.study->workload))
        return;
    if (memcmp(attempt, w->relayed_attempt, REQUEST_ATTEMPT_SIZE) != 0)
        bytes_clear(&w->relayed);
    memcpy(w->relayed_attempt, attempt, REQUEST_ATTEMPT_SIZE);
    bytes_put(&w->relayed, in.p, in.left);
    if (w->relayed.size < size)
        return;
    if (w->relayed.size == size && bytes_ok(&w->relayed) == ERR_OK)
        follow(w, w->relayed_attempt, w->relayed.data, w->relayed.size);
    bytes_clear(&w->relayed);
}

static enum err follow_once(struct worker *w, struct bytes *message)
{
    enum net_peer leader = w->o.index == 1 ? NET_PREV : NET_NEXT;
    enum err e = take_notes(w, clock_now_ms());
    if (e != ERR_OK && e != ERR_TIMEOUT)
        return e;
    e = transport_receive_by(w->o.control, leader, message, clock_now_ms() + POLL_MS);
    if (e == ERR_TIMEOUT) {
        tell_waiting(w);
        return ERR_OK;
    }
    w->words[0] = '\0';
    if (e == ERR_NOMEM) {
        close_session(
            w); /* a message is lost, and the session with it; who waits is told in time */
        return ERR_OK;
    }
    TRY(e);
    if (session_is_propose(message))
        join(w, message);
    else
        take_part(w, message);
    return ERR_OK;
}

/* ------------------------------------------------------------------------------------------------- */

enum err worker_run(const struct worker_options *options)
{
    struct worker *w = memory_array(1, sizeof *w);
    struct bytes message = {0};
    enum err e = ERR_OK;
    if (w == NULL) {
        struct gate_port *port = options->port; /* ours to close: the context waits for it */
        gate_port_free(&port);
        return ERR_NOMEM;
    }
    w->o = *options;
    w->log = *options->log;
    w->log.buffer = w->words;
    w->log.buffer_size = sizeof w->words;
    e = show_budget(w);
    while (e == ERR_OK && !atomic_load(options->stop)) {
        e = options->index == 0 ? lead_once(w, &message) : follow_once(w, &message);
        if (w->session != NULL && silent_ms(w) > IDLE_MS) {
            log_warn(options->log, "the run was not heard of for too long; its session is closed");
            close_session(w);
        }
    }
    close_session(w);
    bytes_clear(&w->relayed);
    gate_port_free(&w->o.port);
    bytes_clear(&message);
    secret_wipe(w, sizeof *w);
    memory_free(&w);
    return e;
}
