#include "parties/server/intake.h"

#include "base/date.h"
#include "base/memory.h"
#include "parties/server/order.h"
#include "parties/store/store_ahead.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Notes whether the store succeeded. */
static enum err stored(struct intake *in, enum err e)
{
    if (e == ERR_SYSTEM || e == ERR_NOMEM)
        in->failure = e;
    in->wrote = in->wrote || e == ERR_OK;
    return e;
}

/* --- answers ---------------------------------------------------------------------------------- */

static const char acknowledged[] = "stored";
static const char not_stored[] =
    "the server could not store the upload; its operator should look at its log";
static const char not_withdrawn[] =
    "the server could not withdraw the upload; its operator should look at its log";

static enum err refuse(const struct intake *in, const struct intake_message *m, enum err status,
                       const char *text)
{
    return outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), status, text, NULL);
}

/* A session counts the upload, and its run has not paid: it ends, and the owner tries again. */
static enum err have_session_end(const struct intake *in, const struct intake_message *m)
{
    atomic_store(&in->site->status.give_way, true);
    return refuse(in, m, ERR_AGAIN,
                  "a session counts the upload; its run has not paid, so the session ends now");
}

/* Answers with what was found and the words `good` or, after a failure, with `bad`. */
static enum err answer(const struct intake *in, const struct intake_message *m, enum err e,
                       const char *good, const char *bad, const struct bytes *found)
{
    e = e == ERR_OK ? bytes_ok(found) : e;
    return e == ERR_OK ? outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), e, good, found)
                       : refuse(in, m, e, bad);
}

/* Signs and appends what we say of an owner's upload. */
static enum err put_statement(const struct intake *in, enum receipt_state state, uint32_t owner,
                              const uint8_t digest[32], struct bytes *out)
{
    struct receipt r = {.state = state, .owner = owner};
    struct receipt_part part;
    memcpy(r.digest, digest, sizeof r.digest);
    TRY(receipt_sign(in->site->study, in->site->me, &r, &part));
    receipt_part_write(&part, out);
    return bytes_ok(out);
}

static enum err put_held(const struct intake *in, uint32_t owner, struct bytes *out)
{
    struct upload_entry entry;
    TRY(store_upload_entry(in->site->store, owner, &entry));
    bytes_put_u8(out, entry.state == UPLOAD_COMPLETE);
    bytes_put_u64(out, entry.bytes);
    return entry.state == UPLOAD_COMPLETE
               ? put_statement(in, RECEIPT_HELD, owner, entry.digest, out)
               : ERR_OK;
}

/* How far an owner's upload has come. */
static enum err tell_held(const struct intake *in, const struct intake_message *m, const char *text)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    return answer(in, m, put_held(in, m->who, &out), text, INTAKE_NOT_KNOWN, &out);
}

/* Whether p has the study's terms; else answers with the names and digests of our parts. */
static enum err check_terms(const struct intake *in, const struct intake_message *m, bool *same)
{
    const struct terms *t = &in->site->study->terms;
    struct bytes out CLEAN(bytes_clear) = {0};
    *same = memcmp(m->p, t->digest, sizeof t->digest) == 0;
    if (*same)
        return ERR_OK;
    for (size_t i = 0; i < t->parts; i++) {
        bytes_put_string(&out, t->part[i].name);
        bytes_put(&out, t->part[i].digest, 32);
    }
    TRY(bytes_ok(&out));
    return outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), ERR_MISMATCH,
                      "the owner's study file has other terms than this server's", &out);
}

/* The only decision of a server that depends on the wall clock. */
static bool is_over(const struct intake *in)
{
    return in->site->study->uploads_until != 0 && date_now() > in->site->study->uploads_until;
}

static enum err tell_over(const struct intake *in, const struct intake_message *m)
{
    char text[256];
    const struct words_text until = date_text(in->site->study->uploads_until);
    snprintf(text, sizeof text,
             "uploads were taken until %s; whoever keeps the study file may set another "
             "deadlines.uploads",
             until.text);
    return refuse(in, m, ERR_REFUSED, text);
}

/* --- in one message --------------------------------------------------------------------------- */

static const char *upload_words(enum err e)
{
    switch (e) {
    case ERR_OK:
        return acknowledged;
    case ERR_FORMAT:
        return "the upload does not have a form that the study takes; compare study files";
    case ERR_DATA:
        return "the upload does not fit its commitments, is malformed, or is made for another "
               "owner; compare study files, and share with the version that the servers run";
    case ERR_REFUSED:
        return "this server holds another upload of this owner: of other data, or made with "
               "another secret (the .secret file beside the owner's key; trefoil 0.1 had none). To "
               "replace that with this one: share --replace";
    case ERR_MISUSE:
        return "the run has begun: the upload was counted, and stays";
    default:
        return not_stored;
    }
}

static enum err tell_version(const struct intake *in, const struct intake_message *m,
                             unsigned version)
{
    char text[256];
    snprintf(text, sizeof text,
             "the upload is of version %u, and this server (trefoil %s) takes version %u; share "
             "with the version that the servers run",
             version, TREFOIL_VERSION, UPLOAD_VERSION);
    log_warn(in->site->log, "refused a message: %s", text);
    return refuse(in, m, ERR_MISMATCH, text);
}

/* The study's bounds must permit its form, its id be of this owner, and it fit its commitments. */
static enum err read_upload(const struct intake *in, uint32_t owner, const uint8_t *p, size_t n,
                            struct upload *u)
{
    unsigned form = upload_form(p, n);
    uint64_t bytes = in->site->split->bytes(in->site->study, owner, form);
    if (bytes == 0)
        return ERR_FORMAT;
    TRY(upload_read(u, in->site->split, in->site->index, form, (size_t)bytes, p, n));
    u->owner = owner;
    if (!upload_id_fits(u))
        return ERR_DATA;
    return upload_check(u, in->site->index, in->site->study->terms.digest);
}

/* An owner that asks again waits only once. One that is forgotten asks again. */
static enum err let_wait(struct intake *in, const struct intake_message *m,
                         const uint8_t id[UPLOAD_ID_SIZE])
{
    size_t i = 0;
    while (i < in->waiters && in->waiting[i].owner != m->who)
        i++;
    if (i == INTAKE_WAITING) {
        memmove(in->waiting, in->waiting + 1, --in->waiters * sizeof *in->waiting);
        i--;
    }
    if (i == in->waiters) {
        TRY(memory_room(&in->waiting, &in->room, in->waiters + 1));
        in->waiters++;
    }
    in->waiting[i] = (struct intake_waiting){
        .client = *m->from, .owner = m->who, .sealed = m->seal != NULL};
    if (m->seal != NULL)
        in->waiting[i].seal = *m->seal;
    memcpy(in->waiting[i].id, id, UPLOAD_ID_SIZE);
    return ERR_OK;
}

/* At once if parts follow; not until another server has sent the vector, if it comes from there. */
static enum err answer_upload(struct intake *in, const struct intake_message *m,
                              const uint8_t id[UPLOAD_ID_SIZE], bool complete)
{
    if (!complete && in->site->index == in->site->split->passed)
        return let_wait(in, m, id);
    log_info(in->site->log, "upload of %s: %s", study_owner_name(in->site->study, m->who).text,
             complete ? acknowledged : "its vector comes in parts");
    return tell_held(in, m, complete ? acknowledged : "");
}

static enum err refuse_upload(const struct intake *in, const struct intake_message *m, enum err e)
{
    if (e == ERR_BUSY)
        return have_session_end(in, m);
    log_warn(in->site->log, "upload of %s: %s", study_owner_name(in->site->study, m->who).text,
             upload_words(e));
    return refuse(in, m, e == ERR_MISUSE ? ERR_REFUSED : e, upload_words(e));
}

enum err intake_upload(struct intake *in, const struct intake_message *m)
{
    struct upload u CLEAN(upload_clear) = {0};
    uint8_t digest[32];
    const uint8_t *p;
    size_t n;
    bool complete = false, same, good;
    enum err e;
    if (m->n <= 32)
        return refuse_upload(in, m, ERR_FORMAT);
    TRY(check_terms(in, m, &same));
    if (!same)
        return ERR_OK;
    if (is_over(in))
        return tell_over(in, m);
    p = m->p + 32;
    n = m->n - 32;
    if (upload_version(p, n) != UPLOAD_VERSION)
        return tell_version(in, m, upload_version(p, n));
    e = read_upload(in, m->who, p, n, &u);
    if (e != ERR_OK)
        return refuse_upload(in, m, e);
    upload_digest(&u, in->site->study->terms.digest, digest);
    TRY(order_check(in, m, digest, &good));
    if (!good)
        return ERR_OK;
    e = stored(in, store_put(in->site->store, &u, m->kind == MESSAGE_REPLACE, &complete));
    if (e == ERR_OK)
        e = stored(in, order_note(in, m, digest));
    return e == ERR_OK ? answer_upload(in, m, u.id, complete) : refuse_upload(in, m, e);
}

/* --- the vector ------------------------------------------------------------------------------- */

static const char *part_words(enum err e)
{
    switch (e) {
    case ERR_AGAIN:
        return "the part does not follow what this server has of the upload";
    case ERR_DATA:
        return "the parts do not make up what the upload committed to, or are malformed; they "
               "begin anew";
    case ERR_FORMAT:
        return "the part is empty, or longer than the upload";
    default:
        return not_stored;
    }
}

enum err intake_part(struct intake *in, const struct intake_message *m)
{
    struct reader r = reader_of(m->p, m->n);
    const uint8_t *id = reader_bytes(&r, UPLOAD_ID_SIZE);
    uint64_t first = reader_u64(&r), held;
    struct bytes out CLEAN(bytes_clear) = {0};
    bool complete, good;
    enum err e;
    if (is_over(in))
        return tell_over(in, m);
    if (r.failed)
        return refuse(in, m, ERR_FORMAT, "a part is cut");
    TRY(order_check(in, m, NULL, &good));
    if (!good)
        return ERR_OK;
    e = stored(in,
               store_put_part(in->site->store, m->who, id, first, r.p, r.left, &held, &complete));
    if (complete)
        log_info(in->site->log, "upload of %s: all of its parts are here",
                 study_owner_name(in->site->study, m->who).text);
    if (e == ERR_OK)
        return tell_held(in, m, "");
    if (e == ERR_DATA)
        log_warn(in->site->log, "upload of %s: %s", study_owner_name(in->site->study, m->who).text,
                 part_words(e));
    /* so that the owner can go on from where we are */
    bytes_put_u8(&out, 0);
    bytes_put_u64(&out, held);
    TRY(bytes_ok(&out));
    return outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), e, part_words(e), &out);
}

/* Answers an owner who waited for the vector. */
static enum err answer_one(const struct intake *in, const struct intake_waiting *w, enum err status)
{
    const struct intake_message m = {.from = &w->client,
                                     .kind = MESSAGE_UPLOAD,
                                     .who = w->owner,
                                     .seal = w->sealed ? &w->seal : NULL};
    char text[128];
    if (status == ERR_OK)
        return tell_held(in, &m, acknowledged);
    snprintf(text, sizeof text, "the vector from server %u does not fit what came to this server",
             in->site->split->given);
    return refuse(in, &m, status, status == ERR_DATA || status == ERR_FORMAT ? text : not_stored);
}

enum err intake_answer_waiting(struct intake *in, const uint8_t *id, enum err status)
{
    size_t left = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < in->waiters; i++) {
        const struct intake_waiting w = in->waiting[i];
        if (id == NULL || memcmp(w.id, id, UPLOAD_ID_SIZE) == 0)
            e = e == ERR_OK ? answer_one(in, &w, status) : e;
        else
            in->waiting[left++] = w;
    }
    in->waiters = left;
    return e;
}

enum err intake_vector(struct intake *in, const struct intake_message *m)
{
    struct reader r = reader_of(m->p, m->n);
    const uint8_t *id = reader_bytes(&r, UPLOAD_ID_SIZE);
    uint64_t whole = reader_u64(&r), first = reader_u64(&r), held;
    struct bytes out CLEAN(bytes_clear) = {0};
    bool complete;
    enum err e;
    if (r.failed || whole == 0)
        return refuse(in, m, ERR_FORMAT, "");
    e = stored(in,
               store_pass_part(in->site->store, id, whole, first, r.p, r.left, &held, &complete));
    if (e == ERR_OK && complete)
        log_info(in->site->log, "an upload is complete: its vector has come from server %u",
                 m->who);
    else if (e != ERR_OK && e != ERR_AGAIN)
        log_error(in->site->log, "a vector from server %u was not accepted: %s", m->who,
                  error_text(e));
    /* if a whole batch fails, front.c tells all who wait */
    if ((e == ERR_OK ? complete : e != ERR_AGAIN) && in->failure == ERR_OK)
        TRY(intake_answer_waiting(in, id, e));
    bytes_put(&out, id, UPLOAD_ID_SIZE);
    bytes_put_u64(&out, held);
    bytes_put_u8(&out, complete);
    TRY(bytes_ok(&out));
    return outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), e, "", &out);
}

/* --- noise ------------------------------------------------------------------------------------ */

/* Kind and size are public, and follow from the study. */
enum err intake_noise(struct intake *in, const struct intake_message *m)
{
    const struct study *study = in->site->study;
    const struct price_ahead sizes = price_ahead(study);
    struct bytes share CLEAN(bytes_clear) = {0};
    struct reader r = reader_of(m->p, m->n);
    const uint8_t *const head = reader_bytes(&r, 32 + 1 + AHEAD_NAME);
    const unsigned kind = r.failed ? 0 : head[32];
    bool same, good;
    if (r.failed)
        return refuse(in, m, ERR_FORMAT, "a block of noise is cut");
    TRY(check_terms(in, m, &same));
    if (!same)
        return ERR_OK;
    TRY(order_check(in, m, NULL, &good));
    if (!good)
        return ERR_OK;
    if (study->noise_by != NOISE_BY_OWNER)
        return refuse(in, m, ERR_REFUSED, "in this study servers make the noise");
    if (kind >= NOISE_LAWS || sodium_is_zero(head + 33, AHEAD_NAME) ||
        r.left != in->site->split->noise_bytes(in->site->index, sizes.samples[kind]))
        return refuse(in, m, ERR_FORMAT,
                      "a block of noise has another size than in this study, or no name or kind");
    bytes_put(&share, r.p, r.left);
    TRY(bytes_ok(&share));
    return answer(in, m, stored(in, store_ahead_push(in->site->store, kind, head + 33, &share)), "",
                  not_stored, &(struct bytes){0});
}

/* --- withdrawing, and what is here ------------------------------------------------------------ */

/* The answer to a withdrawal. Withdrawing nothing is fine. */
static enum err put_withdrawal(const struct intake *in, uint32_t owner, struct bytes *out)
{
    struct upload_entry entry;
    TRY(store_upload_entry(in->site->store, owner, &entry));
    if (entry.state == UPLOAD_WITHDRAWN)
        log_info(in->site->log, "%s has withdrawn its upload",
                 study_owner_name(in->site->study, owner).text);
    bytes_put_u8(out, entry.state == UPLOAD_WITHDRAWN);
    bytes_put(out, entry.digest, sizeof entry.digest);
    return put_statement(in, RECEIPT_WITHDRAWN, owner, entry.digest, out);
}

enum err intake_withdraw(struct intake *in, const struct intake_message *m)
{
    static const uint8_t none[32];
    struct bytes out CLEAN(bytes_clear) = {0};
    bool same, good;
    enum err e;
    if (m->n != 32)
        return refuse(in, m, ERR_FORMAT, "a withdrawal is cut");
    TRY(check_terms(in, m, &same));
    if (!same)
        return ERR_OK;
    TRY(order_check(in, m, none, &good));
    if (!good)
        return ERR_OK;
    e = stored(in, store_withdraw(in->site->store, m->who));
    if (e == ERR_OK)
        e = stored(in, order_note(in, m, none));
    if (e == ERR_BUSY)
        return have_session_end(in, m);
    if (e == ERR_MISUSE)
        return refuse(in, m, ERR_REFUSED, "the run has begun: the upload was counted");
    if (e == ERR_OK)
        e = put_withdrawal(in, m->who, &out);
    return answer(in, m, e, "", not_withdrawn, &out);
}

/* --- the ledger ------------------------------------------------------------------------------- */

enum err intake_head(struct intake *in, const struct intake_message *m)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    struct head head;
    bool same;
    enum err e;
    if (m->n != 32 + 8)
        return refuse(in, m, ERR_FORMAT, "a question about the ledger is cut");
    TRY(check_terms(in, m, &same));
    if (!same)
        return ERR_OK;
    e = site_head(in->site, integer_get(m->p + 32, 8), &head);
    if (e == ERR_OK)
        head_put(&out, &head);
    return answer(in, m, e, "", INTAKE_NOT_KNOWN, &out);
}
