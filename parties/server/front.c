#include "parties/server/front.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "base/rate.h"
#include "parties/exchange/request.h"
#include "parties/exchange/sealed.h"
#include "parties/server/assembly.h"
#include "parties/server/forward.h"
#include "parties/server/parcels.h"
#include "parties/server/recover.h"
#include "parties/study/roster.h"

_Static_assert(MESSAGE_PART_MAX + 4096 <= GATE_MESSAGE, "a part fits a message");

#define POLL_MS 200
#define SHOW_MS 1000 /* how often owners are shown */
/* The most messages that are taken in one transaction. */
#define BATCH_MESSAGES 256
#define BATCH_BYTES ((size_t)16 << 20)

/* For one key. A long upload in parts stays below this. */
#define MESSAGES_AT_ONCE 2000
#define MESSAGES_PER_SECOND 100

struct front {
    struct site *site;
    struct outbox outbox;
    struct intake intake;
    struct assembly assembly;
    struct seats *seats;
    struct parcels *parcels;   /* NULL: the study has no sealing keys */
    struct rate *rate;         /* of messages: for each owner, then for each analyst */
    struct upload_entry *held; /* of each owner, to be shown */
    bool changed;              /* since they were last shown .. */
    int64_t shown_ms;          /* .. at this time */
    int64_t told_due; /* since when uploads are due to be purged, as the operator was told */
};

/* --- what a message says ---------------------------------------------------------------------- */

static enum err tell(struct front *f, const struct intake_message *m, enum err status,
                     const char *text)
{
    return outbox_put(&f->outbox, m->from, m->kind, intake_sealed(m), status, text, NULL);
}

/* Answers a neighbour that brings its ledger up to date. */
static enum err tell_debit(struct front *f, const struct intake_message *m)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    enum err e = recover_answer(f->site->store, m->p, m->n, &answer);
    return outbox_put(&f->outbox, m->from, m->kind, NULL, e, "", e == ERR_OK ? &answer : NULL);
}

/*
 * The program of a run lives. While uploads are added up it is told how far that is. Another
 * analyst's program, or that of a run that is not in progress, is ignored.
 */
static enum err take_alive(struct front *f, const struct intake_message *m)
{
    struct status *status = &f->site->status;
    const uint32_t adding = atomic_load(&status->adding);
    struct bytes out CLEAN(bytes_clear) = {0};
    if (m->n != REQUEST_RUN_SIZE || status_run_word(m->p) != atomic_load(&status->run) ||
        m->from->user != atomic_load(&status->user))
        return ERR_OK;
    atomic_store(&status->heard_ms, clock_now_ms());
    if (adding == 0 || f->site->index != 0)
        return ERR_OK;
    bytes_put_u32(&out, adding - 1);
    TRY(bytes_ok(&out));
    return outbox_put(&f->outbox, m->from, m->kind, NULL, ERR_OK, "", &out);
}

/* Passes a request to the worker once it is whole. */
static enum err take_request(struct front *f, const struct intake_message *m)
{
    const struct bytes *whole;
    enum err e;
    if (m->whole->size < REQUEST_HEAD_SIZE)
        return tell(f, m, ERR_FORMAT, "the request is cut");
    e = assembly_add(&f->assembly, m->who, m->from, m->whole);
    if (e == ERR_RANGE)
        return tell(f, m, ERR_FORMAT, "the request is longer than any of this study");
    if (e != ERR_OK || m->kind == MESSAGE_PIECE)
        return e;
    whole = &f->assembly.of[m->who].message;
    e = gate_pass(f->site->gate, m->from, whole->data, whole->size);
    assembly_drop(&f->assembly, m->who);
    bell_ring(&f->site->bell);
    /* it is not the sender's fault, and the sender tries again */
    return e != ERR_AGAIN
               ? e
               : tell(f, m, e, "this server is busy with other requests, or about to end");
}

enum {
    FROM_SERVERS = 1 << ROLE_SERVER,
    FROM_OWNERS = 1 << ROLE_OWNER,
    FROM_ANALYSTS = 1 << ROLE_ANALYST,
    FROM_ALL = FROM_SERVERS | FROM_OWNERS | FROM_ANALYSTS
};

/* Which vectors a server takes that gets a message: from owners; from the server that sends it. */
enum { GIVEN = 1, PASSED = 2 };

/* For each kind, from whom it is taken, by which server, and what is done with it, and where. */
static const struct {
    uint8_t from, ways;
    enum err (*front)(struct front *f, const struct intake_message *m);
    enum err (*intake)(struct intake *in, const struct intake_message *m);
} handlers[] = {
    [MESSAGE_UPLOAD] = {FROM_OWNERS, .intake = intake_upload},
    [MESSAGE_FORWARD] = {FROM_SERVERS, PASSED, .intake = intake_vector},
    [MESSAGE_STATUS] = {FROM_ALL, .intake = intake_status},
    [MESSAGE_REQUEST] = {FROM_ANALYSTS, .front = take_request},
    [MESSAGE_REPLACE] = {FROM_OWNERS, .intake = intake_upload},
    [MESSAGE_PART] = {FROM_OWNERS, GIVEN, .intake = intake_part},
    [MESSAGE_WITHDRAW] = {FROM_OWNERS, .intake = intake_withdraw},
    [MESSAGE_LEDGER] = {FROM_SERVERS, .front = tell_debit},
    [MESSAGE_ALIVE] = {FROM_ANALYSTS, .front = take_alive},
    [MESSAGE_HEAD] = {FROM_ALL, .intake = intake_head},
    [MESSAGE_PIECE] = {FROM_ANALYSTS, .front = take_request},
    [MESSAGE_NOISE] = {FROM_OWNERS, .intake = intake_noise},
};
_Static_assert(sizeof handlers / sizeof *handlers == MESSAGE_KINDS, "the last kind has a line");

/* A token has no line: it only makes its sender an owner. Nor has a block: what is in it does. */
static bool is_taken(uint8_t kind, enum study_role role, unsigned ways)
{
    return kind < MESSAGE_KINDS && (handlers[kind].from >> role & 1) != 0 &&
           (handlers[kind].ways & ~ways) == 0 &&
           (handlers[kind].front != NULL || handlers[kind].intake != NULL);
}

static enum err handle(struct front *f, const struct intake_message *m, enum study_role role)
{
    const struct split *split = f->site->split;
    const bool giver = role == ROLE_SERVER && m->who == split->given;
    const unsigned ways = (f->site->index == split->given ? GIVEN : 0) |
                          (giver && f->site->index == split->passed ? PASSED : 0);
    if (!is_taken(m->kind, role, ways)) {
        log_warn(f->site->log, "a message of kind %u from user %u:%u is not for this server",
                 m->kind, (unsigned)role, m->who);
        return tell(f, m, ERR_REFUSED, "this key may not ask that of this server");
    }
    if (f->parcels != NULL && m->seal == NULL && sealed_has_serial(m->kind))
        return tell(f, m, ERR_REFUSED,
                    "this study has sealing keys: uploads and withdrawals come sealed");
    return handlers[m->kind].front != NULL ? handlers[m->kind].front(f, m)
                                           : handlers[m->kind].intake(&f->intake, m);
}

/* --- what the operator may see ---------------------------------------------------------------- */

static void show_uploads(struct front *f)
{
    uint64_t whole, part;
    int64_t due;
    if (store_count(f->site->store, &whole, &part) != ERR_OK ||
        store_due(f->site->store, &due) != ERR_OK)
        return; /* logged; the figures are the last known */
    atomic_store(&f->site->status.purge_due, due);
    atomic_store(&f->site->status.uploads, whole);
    atomic_store(&f->site->status.uploads_partial, part);
}

/* All owners' entries, perhaps ten thousand: once a second, and only if any may have changed. */
static void show_owners(struct front *f)
{
    if (!f->changed || clock_now_ms() - f->shown_ms < SHOW_MS)
        return;
    f->shown_ms = clock_now_ms();
    if (store_upload_entries(f->site->store, f->held) != ERR_OK)
        return; /* logged */
    f->changed = false;
    status_note_owners(&f->site->status, f->held);
}

/* Once for each time that it becomes due: a later upload puts it off. */
static void tell_due(struct front *f)
{
    int64_t due = atomic_load(&f->site->status.purge_due);
    if (due == 0 || due == f->told_due || date_now() < due)
        return;
    f->told_due = due;
    log_warn(f->site->log,
             "the study's retain_days (%u) were over on %s: the uploads are due to be purged. Stop "
             "this server and run it with --purge",
             f->site->study->retain_days, date_text(due).text);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Refuses a sender whose key, or a server's, has expired while servers and links went on. */
static enum err check_dates(struct front *f, const struct intake_message *m, enum study_role role,
                            bool *refused)
{
    char words[512] = "";
    const char *text;
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    const bool open = role == ROLE_OWNER && m->who >= f->site->study->owners;
    enum err e = open ? ERR_OK : roster_current(f->site->study, role, m->who, &log);
    if (e == ERR_OK)
        e = roster_servers_current(f->site->study, &log);
    *refused = e != ERR_OK;
    if (!*refused)
        return ERR_OK;
    text = log_first(words);
    log_warn(f->site->log, "refused a message: %s", text);
    return tell(f, m, e, text);
}

/* Whether an owner or analyst sends faster than any program of ours. */
static bool too_fast(struct front *f, enum study_role role, const struct intake_message *m)
{
    size_t i = role == ROLE_OWNER ? m->who : f->site->study->owners + m->who;
    if (m->from->guest)
        return !seats_rate(f->seats, m->from, MESSAGES_PER_SECOND, MESSAGES_AT_ONCE);
    return role != ROLE_SERVER &&
           !rate_take(&f->rate[i], MESSAGES_PER_SECOND, MESSAGES_AT_ONCE, clock_now_ms());
}

/* A guest shows the token that makes it an owner. What follows it is then the message. */
static enum err take_token(struct front *f, struct intake_message *m, bool *goes_on)
{
    struct reader in = reader_of(m->p, m->n);
    const char *words = "the message with the token is too long";
    const enum err e = m->n > MESSAGE_TOKEN_MOST
                           ? ERR_FORMAT
                           : seats_take(f->seats, m->from, &in, &m->who, &words);
    if (e == ERR_SYSTEM || e == ERR_NOMEM)
        f->intake.failure = e;
    f->intake.wrote = f->intake.wrote || e == ERR_OK;
    if (e != ERR_OK)
        log_warn(f->site->log, "a token was refused: %s", words);
    *goes_on = e == ERR_OK && in.left > 0;
    if (!*goes_on)
        return tell(f, m, e, words);
    m->kind = reader_u8(&in);
    m->p = in.p;
    m->n = in.left;
    return ERR_OK;
}

/* Finds who a guest is, once it has shown a token. One that talks on without is cut, unanswered. */
static enum err know_guest(struct front *f, struct intake_message *m, bool *known)
{
    *known = m->kind != MESSAGE_TOKEN && seats_find(f->seats, m->from, &m->who);
    if (*known)
        return ERR_OK;
    if (!seats_hear(f->seats, m->from)) {
        log_warn(f->site->log, "disconnected a key that the study does not list: too many messages "
                               "without a good token");
        gate_cut(f->site->gate, m->from);
        return ERR_OK;
    }
    return m->kind == MESSAGE_TOKEN
               ? take_token(f, m, known)
               : tell(f, m, ERR_AGAIN, "this key is not on the study's list: show its token first");
}

/* Opens a block; one that is bad cuts its connection, unanswered. `own`: the sender's, or none. */
static enum err take_block(struct front *f, struct intake_message *m, uint32_t own)
{
    struct bytes plain CLEAN(bytes_clear) = {0};
    struct intake_seal seal;
    const char *words;
    bool refused;
    const enum err e = parcels_open(f->parcels, m, &plain, &seal, &words);
    if (e == ERR_AUTH || e == ERR_FORMAT || e == ERR_MISMATCH) {
        log_warn(f->site->log, "disconnected a key: no owner has sealed what it sent");
        gate_cut(f->site->gate, m->from);
        return ERR_OK;
    }
    if (e == ERR_SYSTEM || e == ERR_NOMEM)
        f->intake.failure = e;
    if (e != ERR_OK)
        return tell(f, m, e, words);
    if (m->who != own && !parcels_rate(f->parcels, m->who, MESSAGES_PER_SECOND, MESSAGES_AT_ONCE))
        return tell(f, m, ERR_AGAIN, "too many blocks of this owner");
    TRY(check_dates(f, m, ROLE_OWNER, &refused));
    return refused ? ERR_OK : handle(f, m, ROLE_OWNER);
}

/* Anybody may bring a block. Those whom the study does not know share half of the time. */
static enum err take_parcel(struct front *f, struct intake_message *m, enum study_role role)
{
    const bool stranger = m->from->guest && !seats_find(f->seats, m->from, &m->who);
    const double begun_s = clock_now_s();
    if (stranger ? !parcels_may(f->parcels) : too_fast(f, role, m))
        return tell(f, m, ERR_AGAIN, "too many blocks come at the same time");
    TRY(take_block(f, m, stranger || role != ROLE_OWNER ? UINT32_MAX : m->who));
    if (stranger)
        parcels_spent(f->parcels, clock_now_s() - begun_s);
    return ERR_OK;
}

static enum err take(struct front *f, const struct gate_client *from, const struct bytes *message)
{
    struct intake_message m = {.from = from,
                               .kind = message->data[0],
                               .who = from->user & 0xffffff,
                               .p = message->data + 1,
                               .n = message->size - 1,
                               .whole = message};
    enum study_role role = from->guest ? ROLE_OWNER : (enum study_role)(from->user >> 24);
    bool refused, known = true;
    if (m.kind == MESSAGE_PARCEL && f->parcels != NULL)
        return take_parcel(f, &m, role);
    if (from->guest)
        TRY(know_guest(f, &m, &known));
    if (!known)
        return ERR_OK;
    if (too_fast(f, role, &m))
        return tell(f, &m, ERR_AGAIN, "too many messages from this key");
    TRY(check_dates(f, &m, role, &refused));
    return refused ? ERR_OK : handle(f, &m, role);
}

/* --- batches of them -------------------------------------------------------------------------- */

/* Drops a message for which there is not enough memory. Its sender is told; the server goes on. */
static enum err out_of_memory_for(struct front *f, const struct gate_client *from,
                                  const struct bytes *message)
{
    const struct intake_message m = {.from = from,
                                     .kind = message->size > 0 ? message->data[0] : 0};
    log_error(f->site->log, "not enough memory for a message; its sender should try again later");
    return tell(f, &m, ERR_NOMEM, "the server does not have enough memory");
}

/* `stored`: how the transaction that the answers are about ended. */
static enum err send_answers(struct front *f, enum err stored)
{
    atomic_fetch_add(&f->site->status.refused, outbox_refusals(&f->outbox, stored));
    return outbox_send(&f->outbox, f->site->gate, stored);
}

/* Takes the message that has come, and those that follow without a wait. */
static enum err take_all(struct front *f, struct gate_client *from, struct bytes *message)
{
    size_t bytes = 0;
    enum err e = ERR_OK;
    for (unsigned i = 1; e == ERR_OK; i++) {
        bytes += message->size;
        atomic_fetch_add(&f->site->status.messages, 1);
        atomic_fetch_add(&f->site->status.message_bytes, message->size);
        e = take(f, from, message);
        if (e != ERR_OK || i == BATCH_MESSAGES || bytes >= BATCH_BYTES)
            break;
        e = gate_receive(f->site->gate, from, message, clock_now_ms());
    }
    if (e == ERR_NOMEM) {
        f->intake.failure = e;
        e = out_of_memory_for(f, from, message);
    }
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

/* One transaction, and then the answers: a hundred owners at once cost one wait for the disk. */
static enum err take_batch(struct front *f, struct gate_client *from, struct bytes *message)
{
    enum err e, stored = store_batch(f->site->store);
    if (stored != ERR_OK) {
        atomic_store(&f->site->status.store_fails, true);
        TRY(tell(f, &(const struct intake_message){.from = from, .kind = message->data[0]}, ERR_OK,
                 ""));
        return send_answers(f, stored);
    }
    f->intake.failure = ERR_OK;
    f->intake.wrote = false;
    e = take_all(f, from, message);
    stored = store_batch_end(f->site->store, e == ERR_OK ? f->intake.failure : e);
    if (stored != ERR_OK || f->intake.wrote)
        atomic_store(&f->site->status.store_fails, stored == ERR_SYSTEM);
    if (e == ERR_OK && stored == ERR_OK)
        show_uploads(f);
    f->changed = f->changed || f->intake.wrote;
    if (stored != ERR_OK)
        seats_forget(f->seats);
    if (e == ERR_OK && stored != ERR_OK)
        e = intake_answer_waiting(&f->intake, NULL, stored);
    forward_wake(f->site->forward);
    return e == ERR_OK ? send_answers(f, stored) : e;
}

enum err front_run(struct front *f)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    while (e == ERR_OK && !atomic_load(f->site->stop)) {
        struct gate_client from = {0};
        atomic_store(&f->site->status.front_ms, clock_now_ms());
        tell_due(f);
        show_owners(f);
        log_tend(f->site->log);
        assembly_tend(&f->assembly);
        e = gate_receive(f->site->gate, &from, &message, clock_now_ms() + POLL_MS);
        if (e == ERR_OK)
            e = take_batch(f, &from, &message);
        else if (e == ERR_NOMEM) { /* not enough even to take it */
            TRY(out_of_memory_for(f, &from, &message));
            e = send_answers(f, ERR_OK);
        } else if (e == ERR_TIMEOUT) {
            show_uploads(f); /* the current numbers: the last were counted a while ago */
            e = ERR_OK;
        }
    }
    return e;
}

enum err front_new(struct front **front, struct site *site)
{
    const struct study *study = site->study;
    struct front *f;
    TRY(memory_new(front, 1));
    f = *front;
    f->site = site;
    f->outbox.me = site->me;
    f->intake = (struct intake){.site = site, .outbox = &f->outbox};
    TRY(memory_new(&f->rate, study->owners + study->analysts));
    TRY(assembly_start(&f->assembly, study));
    TRY(seats_new(&f->seats, study, site->store));
    if (site->sealing != NULL)
        TRY(parcels_new(&f->parcels, site, f->seats));
    TRY(memory_new(&f->held, study->owners));
    TRY(memory_new(&f->intake.line, study_owners_most(study)));
    TRY(memory_new(&site->status.owner, study->owners));
    f->changed = true;
    f->shown_ms = -SHOW_MS;
    show_uploads(f);
    show_owners(f);
    return ERR_OK;
}

void front_free(struct front **front)
{
    if (*front == NULL)
        return;
    memory_free_all(&(*front)->intake.waiting, &(*front)->intake.line, &(*front)->rate);
    memory_free_all(&(*front)->held, &(*front)->site->status.owner);
    assembly_clear(&(*front)->assembly);
    parcels_free(&(*front)->parcels);
    seats_free(&(*front)->seats);
    outbox_clear(&(*front)->outbox);
    memory_free(front);
}
