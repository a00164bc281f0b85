#include "parties/worker.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/engine.h"
#include "parties/round.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define POLL_MS 200
/* A session without requests is closed after this, so that another analyst can begin. */
#define IDLE_MS (30 * 60 * 1000)
#define DIGESTS 16
#define RELAY_MAGIC UINT32_C(0x59414c52) /* "RLAY" */

struct digest_note { /* an analyst's digest that has come, and whom to answer */
    uint8_t digest[REQUEST_DIGEST_SIZE];
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
    uint8_t run[REQUEST_RUN_SIZE];
    uint32_t user, next_sequence;
    uint8_t uploads_digest[32];
    int64_t last_request;
    /* the ledger, for as long as the process lives */
    struct ledger *ledger;
    uint8_t head[32];
    /* the request in hand, for the audit hook */
    uint32_t round;
    uint8_t request[32];
    struct digest_note notes[DIGESTS]; /* servers 1 and 2 */
    unsigned next_note;
};

/* --- sessions ------------------------------------------------------------------------------------ */

static void close_session(struct worker *w)
{
    net_abort(w->net);
    engine_free(&w->engine);
    party_free(&w->party);
    net_free(&w->net);
    session_free(&w->session);
}

static enum err audit_hook(void *self, enum open_reason reason, size_t values)
{
    struct worker *w = self;
    return audit_write(w->o.audit, w->round, open_reason_name(reason), values, w->request,
                       ledger_spent(w->ledger));
}

/* propose: the message that called us, NULL at server 0 */
static enum err open_session(struct worker *w, const struct bytes *propose)
{
    struct net_options options = {
        .transport = w->o.bulk, .deadline_ms = (int64_t)w->o.study->round_s * 1000, .log = &w->log};
    enum err e;
    close_session(w);
    e = session_open(&w->session, w->o.control, w->o.index, &w->o.study->terms, propose,
                     clock_now_ms() + (int64_t)w->o.study->connect_s * 1000, &w->log);
    options.session = w->session;
    if (e == ERR_OK)
        e = net_new(&w->net, &options);
    if (e == ERR_OK)
        e = party_new(&w->party, w->net, w->session, 0, &w->log);
    if (e == ERR_OK) {
        w->party->audit = audit_hook;
        w->party->audit_self = w;
        w->last_request = clock_now_ms();
    } else
        close_session(w);
    return e;
}

/* --- a request at every server alike ------------------------------------------------------------- */

static const char *owner_name(const void *self, uint32_t owner)
{
    const struct study *study = self;
    return study->owner[owner].name;
}

/* Whether a run may begin with these; says who is missing. */
static enum err enough_have_uploaded(struct worker *w, const struct upload *uploads, size_t count)
{
    const struct study *study = w->o.study;
    bool *has = memory_array(study->owners, sizeof *has);
    enum err e = ERR_OK;
    size_t enough;
    if (has == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < count; k++)
        has[uploads[k].owner] = true;
    enough = study_taking_part(study, has);
    if (enough < study->min_owners) {
        log_error(&w->log, "%zu of %zu owners' rows are here; a run needs %u", enough,
                  study->owners, study->min_owners);
        e = ERR_AGAIN;
    }
    for (size_t k = 0; k < count; k++)
        if (!has[uploads[k].owner])
            log_warn(&w->log, "the columns of %s wait for those of the others of its batch",
                     study->owner[uploads[k].owner].name);
    for (size_t k = 0; k < count; k++)
        has[uploads[k].owner] = true;
    for (size_t i = 0; i < study->owners; i++)
        if (!has[i])
            log_warn(&w->log, "%s has not uploaded yet; it should run trefoil share",
                     study->owner[i].name);
    memory_free(&has);
    return e;
}

static enum err load_uploads(struct worker *w)
{
    struct upload *uploads = NULL;
    size_t count = 0, held;
    enum err e = store_uploads(w->o.store, &uploads, &count);
    held = count;
    if (e == ERR_OK)
        e = round_uploads(w->net, w->o.study->terms.digest, uploads, &count, owner_name, w->o.study,
                          w->uploads_digest, &w->log);
    if (e == ERR_OK)
        e = enough_have_uploaded(w, uploads, count);
    if (e == ERR_OK) {
        net_enter(w->net, NET_COMPUTE);
        e = engine_add(w->engine, uploads, count);
        net_enter(w->net, NET_OTHER);
    }
    for (size_t i = 0; i < held; i++)
        upload_clear(&uploads[i]);
    memory_free(&uploads);
    return e;
}

/* A round that one server debited is debited at all: takes over the debit that this server lacks. */
static enum err agree_on_ledger(struct worker *w)
{
    struct round_ledger own;
    struct bytes last = {0}, entry = {0};
    struct ledger *ledger = NULL;
    uint8_t next[32];
    bool lacking = false;
    enum err e = store_last_debit(w->o.store, &own.number, &last);
    memcpy(own.head, w->head, sizeof own.head);
    if (e == ERR_OK)
        e = round_ledger(w->net, &own, &last, &lacking, &entry, next, &w->log);
    if (e == ERR_OK && lacking)
        e = store_adopt(w->o.store, &entry, w->head, next, w->ledger, &ledger);
    if (e == ERR_OK && lacking) {
        memcpy(w->head, next, sizeof w->head);
        log_warn(w->o.log, "took over a debit that the others made when this server was stopped");
        ledger_free(&w->ledger);
        w->ledger = ledger;
    }
    bytes_clear(&last);
    bytes_clear(&entry);
    return e;
}

static enum err handle_open(struct worker *w)
{
    static const char label[] = "trefoil-tape-1";
    uint8_t id[TAPE_ID_SIZE];
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, (const uint8_t *)label, sizeof label);
    crypto_hash_sha256_update(&hash, w->session->id, SESSION_ID_SIZE);
    crypto_hash_sha256_final(&hash, id);
    if (w->engine != NULL) {
        log_error(&w->log, "this session is open already");
        return ERR_MISUSE;
    }
    TRY(agree_on_ledger(w));
    TRY(engine_new(&w->engine, w->party, w->o.study, w->o.bounds, id, &w->log));
    return load_uploads(w);
}

static void tape_digest(const struct worker *w, const struct engine_step *step, uint8_t out[32])
{
    const struct tape *tape = &w->engine->tape;
    uint64_t position[4] = {tape_position(tape, TAPE_GAUSS), step->gauss,
                            tape_position(tape, TAPE_GUMBEL), step->gumbel};
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, w->engine->tape.id, TAPE_ID_SIZE);
    crypto_hash_sha256_update(&hash, (const uint8_t *)position, sizeof position);
    crypto_hash_sha256_final(&hash, out);
}

/* The ledger as it would be after this step; ERR_BUDGET, logged, if that is not allowed. */
static enum err ledger_after(struct worker *w, const struct engine_step *step,
                             struct ledger **after)
{
    char *text = NULL;
    enum err e = ledger_text(w->ledger, &text);
    if (e == ERR_OK)
        e = ledger_parse(after, text, &w->log);
    if (e == ERR_OK)
        e = ledger_debit(*after, step->cost, &w->log);
    if (e == ERR_OK)
        e = ledger_slack(*after, step->epsilon_slack, step->delta_slack, &w->log);
    memory_free(&text);
    return e;
}

/* On disk first, then in memory. */
static enum err debit(struct worker *w, const struct engine_step *step, struct ledger **after)
{
    const struct tape *tape = &w->engine->tape;
    struct store_debit d = {
        .gauss_from = tape_position(tape, TAPE_GAUSS),
        .gauss_count = step->gauss,
        .gumbel_from = tape_position(tape, TAPE_GUMBEL),
        .gumbel_count = step->gumbel,
    };
    memcpy(d.request, w->request, sizeof d.request);
    memcpy(d.tape, tape->id, sizeof d.tape);
    TRY(store_debit(w->o.store, &d, *after, w->head));
    ledger_free(&w->ledger);
    w->ledger = *after;
    *after = NULL;
    return ERR_OK;
}

/* The four steps of a round: agree, reserve, debit and confirm, perform. */
static enum err play_round(struct worker *w, struct engine_step *step, enum err verdict,
                           struct ledger **after, size_t *selected, int64_t *values,
                           size_t *measured)
{
    struct round_statement own = {.verdict = (uint8_t)verdict};
    uint8_t seed[32];
    enum net_phase phase = step->request != NULL && step->request->kind == REQUEST_SELECT
                               ? NET_SELECT
                               : NET_MEASURE;
    enum err e;
    memcpy(own.request, w->request, 32);
    memcpy(own.uploads, w->uploads_digest, 32);
    memcpy(own.roster, w->o.study->roster, 32);
    memcpy(own.ledger, w->head, 32);
    if (verdict == ERR_OK)
        tape_digest(w, step, own.tape);
    net_enter(w->net, phase);
    TRY(round_agree(w->net, &own, &w->log));
    net_enter(w->net, NET_NOISE);
    TRY(engine_reserve(w->engine, step));
    net_enter(w->net, phase);
    e = debit(w, step, after);
    TRY(round_confirm(w->net, e, seed, &w->log));
    TRY(engine_perform(w->engine, step, seed, selected, values, measured));
    net_enter(w->net, NET_OTHER);
    return ERR_OK;
}

static enum err handle_round(struct worker *w, struct request *r, struct bytes *result)
{
    struct engine_step step = {0};
    size_t selected = 0, measured = 0;
    int64_t *values = NULL;
    struct ledger *after = NULL;
    enum err e = w->engine == NULL ? ERR_MISUSE : engine_prepare(w->engine, r, &step);
    if (e == ERR_OK)
        e = ledger_after(w, &step, &after);
    if (e == ERR_OK && (values = memory_array(step.cells, sizeof *values)) == NULL)
        e = ERR_NOMEM;
    e = play_round(w, &step, e, &after, &selected, values, &measured);
    if (e == ERR_OK && r->kind == REQUEST_SELECT)
        bytes_put_u64(result, selected);
    for (size_t i = 0; e == ERR_OK && i < measured; i++)
        bytes_put_u64(result, (uint64_t)values[i]);
    memory_free(&values);
    ledger_free(&after);
    engine_step_clear(&step);
    return e == ERR_OK ? bytes_ok(result) : e;
}

static enum err handle_close(struct worker *w, struct bytes *result)
{
    for (unsigned k = 0; k < NET_PHASES; k++) {
        const struct net_counters *c = net_counters(w->net, (enum net_phase)k);
        bytes_put_u64(result, c->rounds);
        bytes_put_u64(result, c->payload_sent);
        bytes_put_u64(result, c->payload_received);
        bytes_put_u64(result, c->wire_sent);
        bytes_put_u64(result, c->wire_received);
        bytes_put_double(result, c->seconds);
    }
    return bytes_ok(result);
}

enum err worker_stats_read(struct worker_stats stats[NET_PHASES], const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    for (unsigned k = 0; k < NET_PHASES; k++) {
        stats[k].rounds = reader_u64(&in);
        stats[k].payload_sent = reader_u64(&in);
        stats[k].payload_received = reader_u64(&in);
        stats[k].wire_sent = reader_u64(&in);
        stats[k].wire_received = reader_u64(&in);
        stats[k].seconds = reader_double(&in);
    }
    return reader_done(&in);
}

static enum err dispatch(struct worker *w, struct request *r, struct bytes *result)
{
    switch (r->kind) {
    case REQUEST_OPEN:
        memcpy(w->run, r->run, sizeof w->run);
        w->next_sequence = 1;
        TRY(handle_open(w));
        bytes_put_double(result, ledger_remaining(w->ledger));
        return bytes_ok(result);
    case REQUEST_MEASURE:
    case REQUEST_SELECT:
        return handle_round(w, r, result);
    default:
        return handle_close(w, result);
    }
}

/* Handles the bytes of a request; a failure ends the session. */
static enum err handle(struct worker *w, const void *p, size_t n, struct bytes *result)
{
    struct request r;
    enum err e;
    TRY(request_read(&r, w->o.study->workload, p, n));
    request_digest(p, n, w->request);
    w->round = r.sequence;
    w->last_request = clock_now_ms();
    if (r.kind != REQUEST_OPEN &&
        (memcmp(r.run, w->run, sizeof r.run) != 0 || r.sequence != w->next_sequence)) {
        log_error(&w->log, "request %u does not follow in this session", r.sequence);
        e = ERR_MISUSE;
    } else {
        w->next_sequence = r.sequence + 1;
        e = dispatch(w, &r, result);
    }
    if (e != ERR_OK || r.kind == REQUEST_CLOSE)
        close_session(w);
    request_clear(&r);
    return e;
}

static void answer(struct worker *w, const struct gate_client *to, uint8_t kind, enum err status,
                   const void *payload, size_t n)
{
    struct bytes out = {0};
    size_t length = strlen(w->words);
    if (length > 0 && w->words[length - 1] == '\n')
        w->words[length - 1] = '\0';
    enum err e = reply_write(kind, status, status == ERR_OK ? "" : w->words, payload, n, &out);
    if (e == ERR_OK)
        e = gate_port_reply(w->o.port, to, out.data, out.size);
    if (e != ERR_OK)
        log_warn(w->o.log, "an answer to the analyst was lost: %s", error_text(e));
    bytes_clear(&out);
}

/* --- server 0 ------------------------------------------------------------------------------------ */

static enum err relay(struct worker *w, const void *p, size_t n)
{
    struct bytes out = {0};
    int64_t deadline = clock_now_ms() + (int64_t)w->o.study->connect_s * 1000;
    enum err e;
    bytes_put_u32(&out, RELAY_MAGIC);
    bytes_put(&out, w->session->id, SESSION_ID_SIZE);
    bytes_put(&out, p, n);
    e = bytes_ok(&out);
    for (unsigned peer = 0; e == ERR_OK && peer < 2; peer++)
        e = transport_send_by(w->o.control, (enum net_peer)peer, out.data, out.size, deadline);
    bytes_clear(&out);
    return e;
}

static bool busy_with_another(const struct worker *w, const struct gate_client *from)
{
    return w->session != NULL && w->user != from->user &&
           clock_now_ms() - w->last_request < IDLE_MS;
}

static enum err lead(struct worker *w, const struct gate_client *from, const uint8_t *p, size_t n,
                     struct bytes *result)
{
    struct request r;
    enum request_kind kind;
    enum err e = request_read(&r, w->o.study->workload, p, n);
    if (e != ERR_OK) {
        log_error(&w->log, "the request does not parse; do analyst and servers run one version?");
        return e;
    }
    kind = r.kind;
    request_clear(&r);
    if (busy_with_another(w, from)) {
        log_error(&w->log, "another analyst's run is in progress");
        return ERR_REFUSED;
    }
    if (kind == REQUEST_OPEN) {
        TRY(open_session(w, NULL));
        w->user = from->user;
    } else if (w->session == NULL) {
        log_error(&w->log, "there is no session: it ended, or this server was restarted");
        return ERR_MISUSE;
    }
    e = relay(w, p, n);
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
    if (e == ERR_TIMEOUT)
        return ERR_OK;
    TRY(e);
    w->words[0] = '\0';
    if (message->size < 1 || message->data[0] != MESSAGE_REQUEST)
        e = ERR_FORMAT;
    else
        e = lead(w, &from, message->data + 1, message->size - 1, &result);
    answer(w, &from, MESSAGE_REQUEST, e, result.data, e == ERR_OK ? result.size : 0);
    bytes_clear(&result);
    return ERR_OK;
}

/* --- servers 1 and 2 ----------------------------------------------------------------------------- */

/* Takes what has come to the port: analysts' digests. */
static enum err take_notes(struct worker *w, int64_t deadline)
{
    struct bytes message = {0};
    struct digest_note note = {.since = clock_now_ms(), .used = true};
    enum err e = gate_port_receive(w->o.port, &note.client, &message, deadline);
    if (e == ERR_OK && message.size == 1 + REQUEST_DIGEST_SIZE &&
        message.data[0] == MESSAGE_DIGEST) {
        memcpy(note.digest, message.data + 1, REQUEST_DIGEST_SIZE);
        w->notes[w->next_note++ % DIGESTS] = note;
    }
    bytes_clear(&message);
    return e;
}

static enum err wait_for_digest(struct worker *w, const uint8_t digest[32],
                                struct gate_client *client)
{
    int64_t deadline = clock_now_ms() + (int64_t)w->o.study->connect_s * 1000;
    for (;;) {
        enum err e;
        for (unsigned i = 0; i < DIGESTS; i++)
            if (w->notes[i].used && memcmp(w->notes[i].digest, digest, 32) == 0) {
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

static void follow(struct worker *w, const uint8_t *p, size_t n)
{
    struct gate_client client;
    struct bytes result = {0};
    uint8_t digest[32], of_result[32];
    enum err e;
    request_digest(p, n, digest);
    e = wait_for_digest(w, digest, &client);
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
}

/* Answers analysts whose digest has waited for `age` ms for a request that does not come. */
static void tell_waiting(struct worker *w, enum err e, int64_t age)
{
    for (unsigned i = 0; i < DIGESTS; i++)
        if (w->notes[i].used && clock_now_ms() - w->notes[i].since >= age) {
            answer(w, &w->notes[i].client, MESSAGE_DIGEST, e, NULL, 0);
            w->notes[i].used = false;
        }
}

static enum err follow_once(struct worker *w, struct bytes *message)
{
    enum net_peer leader = w->o.index == 1 ? NET_PREV : NET_NEXT;
    struct reader in;
    uint32_t magic;
    const uint8_t *id;
    enum err e = take_notes(w, clock_now_ms());
    if (e != ERR_OK && e != ERR_TIMEOUT)
        return e;
    e = transport_receive_by(w->o.control, leader, message, clock_now_ms() + POLL_MS);
    if (e == ERR_TIMEOUT) {
        snprintf(w->words, sizeof w->words, "server 0 has not passed the request on");
        tell_waiting(w, ERR_TIMEOUT, (int64_t)w->o.study->connect_s * 1000);
        return ERR_OK;
    }
    TRY(e);
    w->words[0] = '\0';
    if (session_is_propose(message)) {
        e = open_session(w, message);
        if (e != ERR_OK) {
            while (take_notes(w, clock_now_ms()) == ERR_OK)
                ;
            tell_waiting(w, e, 0);
        }
        return ERR_OK;
    }
    in = reader_of(message->data, message->size);
    magic = reader_u32(&in);
    id = reader_bytes(&in, SESSION_ID_SIZE);
    if (magic == RELAY_MAGIC && id != NULL && w->session != NULL &&
        memcmp(id, w->session->id, SESSION_ID_SIZE) == 0)
        follow(w, in.p, in.left);
    /* anything else is left over from an earlier session */
    return ERR_OK;
}

/* ------------------------------------------------------------------------------------------------- */

enum err worker_run(const struct worker_options *options)
{
    struct worker *w = memory_array(1, sizeof *w);
    struct bytes message = {0};
    struct ledger_limits limits;
    enum err e = ERR_OK;
    if (w == NULL)
        return ERR_NOMEM;
    w->o = *options;
    w->log = *options->log;
    w->log.buffer = w->words;
    w->log.buffer_size = sizeof w->words;
    e = engine_limits(options->study, &limits, options->log);
    if (e == ERR_OK)
        e = store_ledger(options->store, &limits, &w->ledger, w->head);
    while (e == ERR_OK && !atomic_load(options->stop)) {
        e = options->index == 0 ? lead_once(w, &message) : follow_once(w, &message);
        if (w->session != NULL && clock_now_ms() - w->last_request > IDLE_MS) {
            log_warn(options->log, "the session was idle for too long and is closed");
            close_session(w);
        }
    }
    close_session(w);
    gate_port_free(&w->o.port);
    ledger_free(&w->ledger);
    bytes_clear(&message);
    secret_wipe(w, sizeof *w);
    memory_free(&w);
    return e;
}
