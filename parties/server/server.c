#include "parties/server/server.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rate.h"
#include "netio/gate.h"
#include "parties/exchange/request.h"
#include "parties/server/forward.h"
#include "parties/server/http.h"
#include "parties/server/intake.h"
#include "parties/server/outbox.h"
#include "parties/server/recover.h"
#include "parties/server/worker.h"
#include "parties/study/bounds.h"
#include "parties/study/price.h"
#include "parties/study/roster.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define POLL_MS 200
/* Messages that are taken in one transaction, at most. */
#define BATCH_MESSAGES 256
#define BATCH_BYTES ((size_t)16 << 20)

/* Of one key; a long upload in parts stays below. */
#define MESSAGES_AT_ONCE 2000
#define MESSAGES_PER_SECOND 100

struct waiting { /* an owner whose answer waits for server 1's vector */
    uint8_t id[UPLOAD_ID_SIZE];
    struct gate_client client;
    bool used;
};

struct server {
    struct server_options o;
    unsigned index;
    struct bounds *bounds;
    struct ledger_limits limits;
    struct store *store;
    struct audit *audit;
    struct netio *netio;
    struct transport *control, *bulk;
    struct gate *gate;
    struct forward *forward;
    struct status status;
    struct http *http;
    struct worker_options worker;
    pthread_t thread;
    bool thread_started;
    enum err worker_result;
    struct waiting *waiting; /* one for each owner */
    struct rate *rate;       /* of messages: of each owner, then of each analyst */
    struct outbox outbox;
    struct intake intake;
    int64_t told_due;       /* the operator was told that uploads are due to be purged since then */
    enum err store_failure; /* of the batch in hand */
    bool wrote;
};

/* --- links --------------------------------------------------------------------------------------- */

static enum err make_links(struct server *s, bool bulk, struct transport **t)
{
    const struct study *study = s->o.study;
    unsigned prev = (s->index + 2) % 3, next = (s->index + 1) % 3;
    enum study_port from_prev = bulk ? STUDY_BULK_PREV : STUDY_CONTROL_PREV;
    enum study_port from_next = bulk ? STUDY_BULK_NEXT : STUDY_CONTROL_NEXT;
    char listen[2][STUDY_ENDPOINT_SIZE], dial[2][STUDY_ENDPOINT_SIZE];
    struct transport_zmq_options o = {
        .netio = s->netio,
        .index = s->index,
        .listen = {listen[0], listen[1]},
        .dial = {dial[0], dial[1]},
        .max_message = bulk ? (size_t)2 << 20 : WORKER_CONTROL_MAX,
        .depth = bulk ? 8 : 64,
        .log = s->o.log,
    };
    study_listen(study, s->index, from_prev, s->o.listen, s->o.listen_port, listen[NET_PREV]);
    study_listen(study, s->index, from_next, s->o.listen, s->o.listen_port, listen[NET_NEXT]);
    /* to the previous server we are its next one, and the other way round */
    study_endpoint(study, prev, from_next, dial[NET_PREV]);
    study_endpoint(study, next, from_prev, dial[NET_NEXT]);
    if (!bulk) {
        o.curve_public = s->o.me->public.curve;
        o.curve_secret = s->o.me->curve_secret;
        o.peer_public[NET_PREV] = study->server[prev].key.curve;
        o.peer_public[NET_NEXT] = study->server[next].key.curve;
    }
    return transport_zmq_new(t, &o);
}

/* Everybody on the roster whose key is not revoked. One that has expired gets in, to be told so. */
static enum err admit(struct server *s)
{
    const struct study *study = s->o.study;
    for (enum role role = ROLE_SERVER; role <= ROLE_ANALYST; role++) {
        const struct public_identity *key;
        const char *name;
        for (size_t i = 0; (key = roster_key(study, role, i, &name)) != NULL; i++) {
            if (study_revoked(study, key))
                log_warn(s->o.log, "the key of %s is revoked: it is turned away", name);
            else if (role != ROLE_SERVER || i != s->index)
                TRY(netio_allow(s->netio, "gate", key->curve, role_user(role, i)));
        }
    }
    return ERR_OK;
}

/* What an owner's upload takes at most in one message: a whole vector comes to server 2 alone, from server 1. */
static size_t longest_upload(const struct study *study, unsigned index)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < study->owners; i++) {
        uint64_t n = study_upload_bytes(study, i),
                 records = study_form_bytes(study, i, UPLOAD_RECORDS);
        longest = n > longest ? n : longest;
        longest = records > longest ? records : longest;
    }
    return index != 2 && longest > MESSAGE_PART_MAX ? MESSAGE_PART_MAX : (size_t)longest;
}

/* The longest message that anybody may send: an upload, or a request with all estimates. */
static size_t longest_message(const struct study *study, unsigned index)
{
    size_t request = request_longest(study->workload), upload = longest_upload(study, index) + 4096;
    return request > upload ? request : upload;
}

/* --- answers ------------------------------------------------------------------------------------- */

/* Nobody is told anything before the batch is on disk. */
static enum err tell(struct server *s, const struct gate_client *to, uint8_t kind, enum err status,
                     const char *text, const void *payload, size_t n)
{
    atomic_fetch_add(&s->status.refused, status != ERR_OK);
    return outbox_put(&s->outbox, to, kind, status, text, payload, n);
}

static void remember(struct server *s, const struct upload *u, const struct gate_client *client)
{
    struct waiting *w = &s->waiting[u->owner];
    memcpy(w->id, u->id, UPLOAD_ID_SIZE);
    w->client = *client;
    w->used = true;
}

static const char acknowledged[] = "stored";

/* To an owner who waited for the vector. */
static enum err answer_one(struct server *s, size_t owner, enum err status)
{
    const struct gate_client *to = &s->waiting[owner].client;
    if (status == ERR_OK)
        return intake_answer(&s->intake, to, MESSAGE_UPLOAD, (uint32_t)owner, acknowledged);
    return tell(s, to, MESSAGE_UPLOAD, status, "the vector from server 1 does not fit", NULL, 0);
}

static enum err answer_waiting(struct server *s, const uint8_t id[UPLOAD_ID_SIZE], enum err status)
{
    for (size_t i = 0; i < s->o.study->owners; i++) {
        struct waiting *w = &s->waiting[i];
        if (!w->used || memcmp(w->id, id, UPLOAD_ID_SIZE) != 0)
            continue;
        w->used = false;
        TRY(answer_one(s, i, status));
    }
    return ERR_OK;
}

/* The part of one who waits may be among what was lost. */
static enum err give_up_waiting(struct server *s, enum err status)
{
    for (size_t i = 0; i < s->o.study->owners; i++) {
        struct waiting *w = &s->waiting[i];
        if (!w->used)
            continue;
        w->used = false;
        TRY(tell(s, &w->client, MESSAGE_UPLOAD, status,
                 "the server could not store the upload; its operator should see its log", NULL,
                 0));
    }
    return ERR_OK;
}

/* What memory is too short for is not done, and its sender is told so; the server goes on. */
static enum err out_of_memory_for(struct server *s, const struct gate_client *from,
                                  const struct bytes *message)
{
    log_error(s->o.log, "memory is too short for a message; its sender is to try again later");
    return tell(s, from, message->size > 0 ? message->data[0] : 0, ERR_NOMEM,
                "the server is short of memory", NULL, 0);
}

/* A failing disk fails the whole batch: SQLite may have undone what came before. */
static enum err stored(struct server *s, enum err e)
{
    if (e == ERR_SYSTEM || e == ERR_NOMEM)
        s->store_failure = e;
    s->wrote = s->wrote || e == ERR_OK;
    return e;
}

/* --- messages ------------------------------------------------------------------------------------ */

static const char *upload_words(enum err e)
{
    switch (e) {
    case ERR_OK:
        return acknowledged;
    case ERR_FORMAT:
        return "the upload does not have a form that the study takes; compare study files";
    case ERR_DATA:
        return "the upload does not fit its commitments";
    case ERR_REFUSED:
        return "this owner has already uploaded other data for this study; to put these in their "
               "place: share --replace";
    case ERR_MISUSE:
        return "the run has begun, or begins: the upload may have been counted, and stays";
    default:
        return "the server could not store the upload; its operator should see its log";
    }
}

/* The one decision of a server that follows the wall clock. */
static enum err too_late(struct server *s, const struct gate_client *from, uint8_t kind)
{
    char until[DATE_SIZE], text[256];
    date_text(s->o.study->uploads_until, until);
    snprintf(text, sizeof text,
             "uploads were taken until %s; whoever keeps the study file may set another "
             "deadlines.uploads",
             until);
    return tell(s, from, kind, ERR_REFUSED, text, NULL, 0);
}

static enum err other_version(struct server *s, const struct gate_client *from, uint8_t kind,
                              unsigned version)
{
    char text[256];
    snprintf(text, sizeof text,
             "the upload is of version %u, and this server (trefoil %s) takes version %u; share "
             "with the version that the servers run",
             version, TREFOIL_VERSION, UPLOAD_VERSION);
    log_warn(s->o.log, "refused a message: %s", text);
    return tell(s, from, kind, ERR_MISMATCH, text, NULL, 0);
}

/* Of any form that the study's bounds carry. */
static enum err read_upload(const struct server *s, uint32_t owner, const uint8_t *p, size_t n,
                            struct upload *u)
{
    unsigned form = upload_form(p, n);
    uint64_t bytes = study_form_bytes(s->o.study, owner, form);
    return bytes == 0 ? ERR_FORMAT : upload_read(u, s->index, form, (size_t)bytes, p, n);
}

/* Server 2 answers when the vector has come from server 1; server 1 at once, since the owner sends the parts. */
static enum err answer_upload(struct server *s, const struct gate_client *from, uint8_t kind,
                              const struct upload *u, bool complete, enum err e)
{
    if (e == ERR_OK && !complete && s->index == 2) {
        remember(s, u, from);
        return ERR_OK;
    }
    log_info(s->o.log, "upload of %s: %s", s->o.study->owner[u->owner].name,
             e == ERR_OK && !complete ? "its vector comes in parts" : upload_words(e));
    if (e != ERR_OK)
        return tell(s, from, kind, e == ERR_MISUSE ? ERR_REFUSED : e, upload_words(e), NULL, 0);
    return intake_answer(&s->intake, from, kind, u->owner, complete ? acknowledged : "");
}

/* MESSAGE_UPLOAD or MESSAGE_REPLACE */
static enum err take_upload(struct server *s, const struct gate_client *from, uint8_t kind,
                            uint32_t owner, const uint8_t *p, size_t n)
{
    const struct study *study = s->o.study;
    struct upload u;
    bool complete = false;
    enum err e = n < 32 ? ERR_FORMAT : ERR_OK;
    if (e == ERR_OK && memcmp(p, study->terms.digest, 32) != 0)
        return intake_other_terms(&s->intake, from, kind);
    if (e == ERR_OK && study->uploads_until != 0 && date_now() > study->uploads_until)
        return too_late(s, from, kind);
    if (n > 32 && upload_version(p + 32, n - 32) != UPLOAD_VERSION)
        return other_version(s, from, kind, upload_version(p + 32, n - 32));
    if (e == ERR_OK)
        e = read_upload(s, owner, p + 32, n - 32, &u);
    if (e != ERR_OK) {
        log_warn(s->o.log, "upload of %s: %s", study->owner[owner].name, upload_words(e));
        return tell(s, from, kind, e, upload_words(e), NULL, 0);
    }
    u.owner = owner;
    e = upload_check(&u, s->index, study->terms.digest);
    if (e == ERR_OK)
        e = stored(s, store_put(s->store, &u, kind == MESSAGE_REPLACE, &complete));
    e = answer_upload(s, from, kind, &u, complete, e);
    upload_clear(&u);
    return e;
}

static enum err take_part(struct server *s, const struct gate_client *from, uint32_t owner,
                          const uint8_t *p, size_t n)
{
    bool complete;
    enum err failure = ERR_OK, e;
    if (s->o.study->uploads_until != 0 && date_now() > s->o.study->uploads_until)
        return too_late(s, from, MESSAGE_PART);
    e = intake_part(&s->intake, from, owner, p, n, &complete, &failure);
    if (complete)
        log_info(s->o.log, "upload of %s: all of its parts are here",
                 s->o.study->owner[owner].name);
    (void)stored(s, failure);
    return e;
}

static enum err take_forward(struct server *s, const struct gate_client *from, const uint8_t *p,
                             size_t n)
{
    bool complete = false;
    enum err e = n < UPLOAD_ID_SIZE ? ERR_FORMAT
                                    : stored(s, store_put_vector(s->store, p, p + UPLOAD_ID_SIZE,
                                                                 n - UPLOAD_ID_SIZE, &complete));
    if (e != ERR_FORMAT && e != ERR_AGAIN) {
        if (complete)
            log_info(s->o.log, "an upload is complete: its vector has come from server 1");
        else
            log_error(s->o.log, "a vector from server 1 was not accepted: %s", error_text(e));
        TRY(answer_waiting(s, p, e));
    }
    return tell(s, from, MESSAGE_FORWARD, e, "", p, n < UPLOAD_ID_SIZE ? 0 : UPLOAD_ID_SIZE);
}

static enum err take_withdrawal(struct server *s, const struct gate_client *from, uint32_t owner,
                                const uint8_t *p, size_t n)
{
    enum err failure = ERR_OK;
    enum err e = intake_withdraw(&s->intake, from, owner, p, n, &failure);
    (void)stored(s, failure);
    return e;
}

/* Tells one whose key, or a server's, has expired while servers and links went on. */
static enum err check_dates(struct server *s, const struct gate_client *from, enum role role,
                            uint32_t who, uint8_t kind, bool *refused)
{
    char words[512] = "";
    const char *text;
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    enum err e = roster_current(s->o.study, role, who, &log);
    if (e == ERR_OK)
        e = roster_servers_current(s->o.study, &log);
    *refused = e != ERR_OK;
    if (!*refused)
        return ERR_OK;
    text = log_first(words);
    log_warn(s->o.log, "refused a message: %s", text);
    return tell(s, from, kind, e, text, NULL, 0);
}

/* A neighbour brings its ledger up to date. */
static enum err tell_debit(struct server *s, const struct gate_client *from, const uint8_t *p,
                           size_t n)
{
    struct bytes answer = {0};
    enum err e = recover_answer(s->store, p, n, &answer);
    e = tell(s, from, MESSAGE_LEDGER, e, "", answer.data, e == ERR_OK ? answer.size : 0);
    bytes_clear(&answer);
    return e;
}

/* Whether an owner or analyst sends faster than any program of ours. */
static bool too_fast(struct server *s, enum role role, uint32_t who)
{
    size_t i = role == ROLE_OWNER ? who : s->o.study->owners + who;
    return role != ROLE_SERVER &&
           !rate_take(&s->rate[i], MESSAGES_PER_SECOND, MESSAGES_AT_ONCE, clock_now_ms());
}

/* The program of a run lives. That of another than the one in progress says nothing to us. */
static void note_alive(struct server *s, const uint8_t *run, size_t n)
{
    if (n == REQUEST_RUN_SIZE && status_run_word(run) == atomic_load(&s->status.run))
        atomic_store(&s->status.heard_ms, clock_now_ms());
}

static enum err take(struct server *s, const struct gate_client *from, const struct bytes *message)
{
    enum role role = (enum role)(from->user >> 24);
    uint32_t who = from->user & 0xffffff;
    uint8_t kind = message->size > 0 ? message->data[0] : 0;
    bool to_worker = kind == MESSAGE_REQUEST || kind == MESSAGE_DIGEST;
    bool refused;
    enum err e;
    if (too_fast(s, role, who))
        return tell(s, from, kind, ERR_AGAIN, "too many messages from this key", NULL, 0);
    e = check_dates(s, from, role, who, kind, &refused);
    if (e != ERR_OK || refused)
        return e;
    if (kind == MESSAGE_STATUS)
        return intake_status(&s->intake, from);
    if (kind == MESSAGE_ALIVE && role == ROLE_ANALYST) {
        note_alive(s, message->data + 1, message->size - 1);
        return ERR_OK;
    }
    if ((kind == MESSAGE_UPLOAD || kind == MESSAGE_REPLACE) && role == ROLE_OWNER)
        return take_upload(s, from, kind, who, message->data + 1, message->size - 1);
    if (kind == MESSAGE_PART && role == ROLE_OWNER && s->index == 1)
        return take_part(s, from, who, message->data + 1, message->size - 1);
    if (kind == MESSAGE_WITHDRAW && role == ROLE_OWNER)
        return take_withdrawal(s, from, who, message->data + 1, message->size - 1);
    if (kind == MESSAGE_FORWARD && role == ROLE_SERVER && who == 1 && s->index == 2)
        return take_forward(s, from, message->data + 1, message->size - 1);
    if (kind == MESSAGE_LEDGER && role == ROLE_SERVER)
        return tell_debit(s, from, message->data + 1, message->size - 1);
    if (to_worker && role == ROLE_ANALYST) {
        e = gate_pass(s->gate, from, message->data, message->size);
        return e != ERR_NOMEM ? e
                              : tell(s, from, kind, ERR_TIMEOUT,
                                     "this server is busy, or about to end", NULL, 0);
    }
    log_warn(s->o.log, "a message of kind %u from user %u:%u is not for this server", kind,
             (unsigned)role, who);
    return tell(s, from, kind, ERR_REFUSED, "this key may not ask that of this server", NULL, 0);
}

/* --- what the operator may see ------------------------------------------------------------------- */

static void show_uploads(struct server *s)
{
    uint64_t whole, part;
    int64_t due;
    if (store_count(s->store, &whole, &part) != ERR_OK || store_due(s->store, &due) != ERR_OK)
        return; /* logged; the figures are the last known */
    atomic_store(&s->status.purge_due, due);
    atomic_store(&s->status.uploads, whole);
    atomic_store(&s->status.uploads_partial, part);
}

/* Once for each time that it becomes due: a later upload puts it off. */
static void tell_due(struct server *s)
{
    int64_t due = atomic_load(&s->status.purge_due);
    char date[DATE_SIZE];
    if (due == 0 || due == s->told_due || date_now() < due)
        return;
    s->told_due = due;
    date_text(due, date);
    log_warn(s->o.log,
             "the study has uploads kept for %u days, which were over on %s: they are due to be "
             "purged. Stop this server and run it with --purge",
             s->o.study->retain_days, date);
}

static void show_message(struct server *s, size_t bytes)
{
    atomic_fetch_add(&s->status.messages, 1);
    atomic_fetch_add(&s->status.message_bytes, bytes);
}

/* --- running ------------------------------------------------------------------------------------- */

static void *work(void *arg)
{
    struct server *s = arg;
    s->worker_result = worker_run(&s->worker);
    atomic_store(&s->status.worker_ended, true);
    atomic_store(s->o.stop, true);
    return NULL;
}

/* What is in memory and on disk. */
static enum err open_folder(struct server *s)
{
    const struct study *study = s->o.study;
    s->waiting = memory_array(study->owners, sizeof *s->waiting);
    s->rate = memory_array(study->owners + study->analysts, sizeof *s->rate);
    if (s->waiting == NULL || s->rate == NULL)
        return ERR_NOMEM;
    TRY(bounds_new(&s->bounds, study, s->o.log));
    TRY(price_limits(study, &s->limits, s->o.log)); /* a study that cannot run takes no data */
    TRY(store_open(&s->store, s->o.folder, study, s->o.me, s->index, s->o.log));
    TRY(store_check_purged(s->store));
    show_uploads(s);
    s->intake = (struct intake){
        .study = study, .me = s->o.me, .store = s->store, .outbox = &s->outbox, .log = s->o.log};
    return audit_open(&s->audit, s->o.folder, study, s->o.me, s->index, s->o.log);
}

static enum err open_links(struct server *s)
{
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options gate = {
        .listen = listen,
        .curve_public = s->o.me->public.curve,
        .curve_secret = s->o.me->curve_secret,
        .max_message = longest_message(s->o.study, s->index),
        .log = s->o.log,
    };
    TRY(netio_new(&s->netio, s->o.log));
    TRY(admit(s));
    TRY(make_links(s, false, &s->control));
    TRY(make_links(s, true, &s->bulk));
    study_listen(s->o.study, s->index, STUDY_GATE, s->o.listen, s->o.listen_port, listen);
    gate.netio = s->netio;
    return gate_new(&s->gate, &gate);
}

static enum err start_worker(struct server *s)
{
    s->worker = (struct worker_options){
        .study = s->o.study,
        .bounds = s->bounds,
        .limits = &s->limits,
        .index = s->index,
        .store = s->store,
        .audit = s->audit,
        .status = &s->status,
        .control = s->control,
        .bulk = s->bulk,
        .port = gate_port(s->gate),
        .stop = s->o.stop,
        .log = s->o.log,
    };
    if (s->worker.port == NULL)
        return ERR_NOMEM;
    if (pthread_create(&s->thread, NULL, work, s) != 0)
        return ERR_SYSTEM;
    s->thread_started = true;
    return ERR_OK;
}

static enum err start(struct server *s)
{
    TRY(open_folder(s));
    TRY(open_links(s));
    if (s->index == 1)
        TRY(forward_start(&s->forward, s->netio, s->store, s->o.study, s->o.me, s->o.log));
    TRY(start_worker(s));
    return s->o.status != NULL ? http_start(&s->http, s->o.status, &s->status, s->o.log) : ERR_OK;
}

static void end(struct server *s)
{
    atomic_store(s->o.stop, true);
    http_stop(&s->http);
    if (s->thread_started)
        pthread_join(s->thread, NULL);
    forward_stop(&s->forward);
    gate_free(&s->gate);
    transport_free(&s->control);
    transport_free(&s->bulk);
    netio_free(&s->netio);
    audit_close(&s->audit);
    store_close(&s->store);
    bounds_free(&s->bounds);
    outbox_clear(&s->outbox);
    memory_free(&s->waiting);
    memory_free(&s->rate);
}

/*
 * Group commit: takes what has come, and what comes at once, in one transaction, and answers when that is on
 * disk. So a hundred owners who send at the same time cost one wait for the disk.
 */
static enum err take_batch(struct server *s, struct gate_client *from, struct bytes *message)
{
    size_t bytes = 0;
    enum err e, stored = store_batch(s->store);
    if (stored != ERR_OK) {
        TRY(tell(s, from, message->data[0], ERR_OK, "", NULL, 0));
        return outbox_send(&s->outbox, s->gate, stored);
    }
    s->store_failure = ERR_OK;
    s->wrote = false;
    for (unsigned i = 1;; i++) {
        bytes += message->size;
        show_message(s, message->size);
        e = take(s, from, message);
        if (e != ERR_OK || i == BATCH_MESSAGES || bytes >= BATCH_BYTES)
            break;
        e = gate_receive(s->gate, from, message, clock_now_ms());
        if (e != ERR_OK)
            break;
    }
    if (e == ERR_TIMEOUT)
        e = ERR_OK;
    if (e == ERR_NOMEM) {
        s->store_failure = e;
        e = out_of_memory_for(s, from, message);
    }
    stored = store_batch_end(s->store, e == ERR_OK ? s->store_failure : e);
    if (stored != ERR_OK || s->wrote)
        atomic_store(&s->status.store_fails, stored != ERR_OK);
    if (e == ERR_OK && stored == ERR_OK)
        show_uploads(s);
    if (e == ERR_OK && stored != ERR_OK)
        e = give_up_waiting(s, stored);
    forward_wake(s->forward);
    return e == ERR_OK ? outbox_send(&s->outbox, s->gate, stored) : e;
}

/* There was no memory even to take it. */
static enum err turn_away(struct server *s, const struct gate_client *from,
                          const struct bytes *message)
{
    TRY(out_of_memory_for(s, from, message));
    return outbox_send(&s->outbox, s->gate, ERR_OK);
}

static enum err serve(struct server *s)
{
    struct bytes message = {0};
    enum err e = ERR_OK;
    while (e == ERR_OK && !atomic_load(s->o.stop)) {
        struct gate_client from = {0};
        atomic_store(&s->status.front_ms, clock_now_ms());
        tell_due(s);
        e = gate_receive(s->gate, &from, &message, clock_now_ms() + POLL_MS);
        if (e == ERR_OK)
            e = take_batch(s, &from, &message);
        else if (e == ERR_NOMEM)
            e = turn_away(s, &from, &message);
        else if (e == ERR_TIMEOUT)
            e = ERR_OK;
    }
    bytes_clear(&message);
    return e;
}

static enum err check_place(struct server *s)
{
    size_t index = 0;
    TRY(roster_find(s->o.study, &s->o.me->public, ROLE_SERVER, &index, s->o.log));
    s->index = (unsigned)index;
    s->status.study = s->o.study;
    s->status.index = s->index;
    s->status.started_ms = clock_now_ms();
    s->status.front_ms = s->status.started_ms;
    roster_warn(s->o.study, s->o.log);
    return roster_servers_current(s->o.study, s->o.log);
}

enum err server_run(const struct server_options *options)
{
    struct server *s = memory_array(1, sizeof *s);
    enum err e;
    if (s == NULL)
        return ERR_NOMEM;
    s->o = *options;
    e = check_place(s);
    if (e == ERR_OK) {
        e = start(s);
        if (e == ERR_OK) {
            log_info(options->log, "server %u (%s) of study %s is ready, with roster %u", s->index,
                     options->study->server[s->index].name, options->study->name,
                     options->study->roster_version);
            e = serve(s);
        }
        end(s);
        if (e == ERR_OK)
            e = s->worker_result;
    }
    memory_free(&s);
    return e;
}

enum err server_purge(const struct server_options *options)
{
    struct server s = {.o = *options};
    struct bytes statement = {0};
    char path[FILE_PATH];
    size_t index = 0;
    enum err e = roster_find(options->study, &options->me->public, ROLE_SERVER, &index,
                             options->log);
    if (e == ERR_OK)
        e = store_open(&s.store, options->folder, options->study, options->me, (unsigned)index,
                       options->log);
    if (e == ERR_OK)
        e = store_purge(s.store, options->me, &statement);
    if (e == ERR_OK)
        e = file_path(path, options->log, "%s/purge.txt", options->folder);
    if (e == ERR_OK)
        e = file_write(path, 0644, statement.data, statement.size, options->log);
    if (e == ERR_OK)
        log_info(options->log, "purged; the signed statement for the owners is %s", path);
    store_close(&s.store);
    bytes_clear(&statement);
    return e;
}
