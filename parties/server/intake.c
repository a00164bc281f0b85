#include "parties/server/intake.h"

#include "base/date.h"
#include "base/memory.h"
#include "parties/server/own_head.h"
#include "parties/store/store_ledger.h"

#include <stdio.h>
#include <string.h>

struct intake_waiting {
    uint8_t id[UPLOAD_ID_SIZE];
    struct gate_client client;
    bool used;
};

enum err intake_start(struct intake *in)
{
    in->waiting = memory_array(in->study->owners, sizeof *in->waiting);
    return in->waiting != NULL ? ERR_OK : ERR_NOMEM;
}

void intake_stop(struct intake *in)
{
    memory_free(&in->waiting);
}

void intake_begin(struct intake *in)
{
    in->failure = ERR_OK;
    in->wrote = false;
}

/* Notes how the store did. */
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
    "the server could not store the upload; its operator should see its log";
static const char not_known[] =
    "the server could not look up what it has; its operator should see its log";
static const char not_withdrawn[] =
    "the server could not withdraw the upload; its operator should see its log";

static enum err tell(const struct intake *in, const struct gate_client *to, uint8_t kind,
                     enum err status, const char *text, const struct bytes *payload)
{
    return outbox_put(in->outbox, to, kind, status, text, payload != NULL ? payload->data : NULL,
                      payload != NULL ? payload->size : 0);
}

/* Signs and appends what we say of an owner's upload. */
static enum err put_statement(const struct intake *in, enum receipt_state state, uint32_t owner,
                              const uint8_t digest[32], struct bytes *out)
{
    struct receipt r = {.state = state, .owner = owner};
    struct receipt_part part;
    memcpy(r.digest, digest, sizeof r.digest);
    TRY(receipt_sign(in->study, in->me, &r, &part));
    receipt_part_write(&part, out);
    return bytes_ok(out);
}

/* How far an owner's upload has come. */
static enum err tell_held(const struct intake *in, const struct gate_client *to, uint8_t kind,
                          uint32_t owner, const char *text)
{
    struct held entry;
    struct bytes out = {0};
    enum err e = store_hold_of(in->store, owner, &entry);
    if (e == ERR_OK) {
        bytes_put_u8(&out, entry.state == HELD_COMPLETE);
        bytes_put_u64(&out, entry.bytes);
        e = bytes_ok(&out);
    }
    if (e == ERR_OK && entry.state == HELD_COMPLETE)
        e = put_statement(in, RECEIPT_HELD, owner, entry.digest, &out);
    e = tell(in, to, kind, e, e == ERR_OK ? text : not_known, e == ERR_OK ? &out : NULL);
    bytes_clear(&out);
    return e;
}

/*
 * Whether these are the study's terms; else tells them apart: digests of our parts, names as
 * strings.
 */
static enum err check_terms(const struct intake *in, const struct gate_client *from, uint8_t kind,
                            const uint8_t *p, bool *same)
{
    const struct terms *t = &in->study->terms;
    struct bytes out = {0};
    enum err e;
    *same = memcmp(p, t->digest, sizeof t->digest) == 0;
    if (*same)
        return ERR_OK;
    for (size_t i = 0; i < t->parts; i++) {
        bytes_put_string(&out, t->part[i].name);
        bytes_put(&out, t->part[i].digest, 32);
    }
    e = bytes_ok(&out);
    e = tell(in, from, kind, e == ERR_OK ? ERR_MISMATCH : e,
             "the owner's study file has other terms than this server's", &out);
    bytes_clear(&out);
    return e;
}

/* The one decision of a server that follows the wall clock. */
static bool is_over(const struct intake *in)
{
    return in->study->uploads_until != 0 && date_now() > in->study->uploads_until;
}

static enum err tell_over(const struct intake *in, const struct gate_client *from, uint8_t kind)
{
    char until[DATE_SIZE], text[256];
    date_text(in->study->uploads_until, until);
    snprintf(text, sizeof text,
             "uploads were taken until %s; whoever keeps the study file may set another "
             "deadlines.uploads",
             until);
    return tell(in, from, kind, ERR_REFUSED, text, NULL);
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
        return "the upload does not fit its commitments";
    case ERR_REFUSED:
        return "this server holds another upload of this owner: of other data, or made with "
               "another secret (the .secret file beside the owner's key). To put this one in its "
               "place: share --replace";
    case ERR_MISUSE:
        return "the run has begun, or begins: the upload may have been counted, and stays";
    default:
        return not_stored;
    }
}

static enum err tell_version(const struct intake *in, const struct gate_client *from, uint8_t kind,
                             unsigned version)
{
    char text[256];
    snprintf(text, sizeof text,
             "the upload is of version %u, and this server (trefoil %s) takes version %u; share "
             "with the version that the servers run",
             version, TREFOIL_VERSION, UPLOAD_VERSION);
    log_warn(in->log, "refused a message: %s", text);
    return tell(in, from, kind, ERR_MISMATCH, text, NULL);
}

/* Of any form that the study's bounds carry, and fitting its commitments. */
static enum err read_upload(const struct intake *in, uint32_t owner, const uint8_t *p, size_t n,
                            struct upload *u)
{
    unsigned form = upload_form(p, n);
    uint64_t bytes = study_form_bytes(in->study, owner, form);
    if (bytes == 0)
        return ERR_FORMAT;
    TRY(upload_read(u, in->index, form, (size_t)bytes, p, n));
    u->owner = owner;
    return upload_check(u, in->index, in->study->terms.digest);
}

static void wait_for_vector(struct intake *in, const struct upload *u,
                            const struct gate_client *client)
{
    struct intake_waiting *w = &in->waiting[u->owner];
    memcpy(w->id, u->id, UPLOAD_ID_SIZE);
    w->client = *client;
    w->used = true;
}

/*
 * Server 2 answers when the vector has come from server 1; server 1 at once, since the owner sends
 * the parts.
 */
static enum err answer_upload(struct intake *in, const struct gate_client *from, uint8_t kind,
                              const struct upload *u, bool complete)
{
    if (!complete && in->index == 2) {
        wait_for_vector(in, u, from);
        return ERR_OK;
    }
    log_info(in->log, "upload of %s: %s", in->study->owner[u->owner].name,
             complete ? acknowledged : "its vector comes in parts");
    return tell_held(in, from, kind, u->owner, complete ? acknowledged : "");
}

static enum err refuse_upload(const struct intake *in, const struct gate_client *from, uint8_t kind,
                              uint32_t owner, enum err e)
{
    log_warn(in->log, "upload of %s: %s", in->study->owner[owner].name, upload_words(e));
    return tell(in, from, kind, e == ERR_MISUSE ? ERR_REFUSED : e, upload_words(e), NULL);
}

enum err intake_upload(struct intake *in, const struct gate_client *from, uint8_t kind,
                       uint32_t owner, const uint8_t *p, size_t n)
{
    struct upload u = {0};
    bool complete = false, same;
    enum err e;
    if (n <= 32)
        return refuse_upload(in, from, kind, owner, ERR_FORMAT);
    TRY(check_terms(in, from, kind, p, &same));
    if (!same)
        return ERR_OK;
    if (is_over(in))
        return tell_over(in, from, kind);
    p += 32;
    n -= 32;
    if (upload_version(p, n) != UPLOAD_VERSION)
        return tell_version(in, from, kind, upload_version(p, n));
    e = read_upload(in, owner, p, n, &u);
    if (e == ERR_OK)
        e = stored(in, store_put(in->store, &u, kind == MESSAGE_REPLACE, &complete));
    e = e == ERR_OK ? answer_upload(in, from, kind, &u, complete)
                    : refuse_upload(in, from, kind, owner, e);
    upload_clear(&u);
    return e;
}

/* --- the vector ------------------------------------------------------------------------------- */

static const char *part_words(enum err e)
{
    switch (e) {
    case ERR_AGAIN:
        return "the part does not follow what this server has of the upload";
    case ERR_DATA:
        return "the parts do not make up what the upload committed to; they begin anew";
    case ERR_FORMAT:
        return "the part is empty, or longer than the upload";
    default:
        return not_stored;
    }
}

enum err intake_part(struct intake *in, const struct gate_client *from, uint32_t owner,
                     const uint8_t *p, size_t n)
{
    struct reader r = reader_of(p, n);
    const uint8_t *id = reader_bytes(&r, UPLOAD_ID_SIZE);
    uint64_t first = reader_u64(&r), held;
    struct bytes out = {0};
    bool complete;
    enum err e;
    if (is_over(in))
        return tell_over(in, from, MESSAGE_PART);
    if (r.failed)
        return tell(in, from, MESSAGE_PART, ERR_FORMAT, "a part is cut", NULL);
    e = stored(in, store_put_part(in->store, owner, id, first, r.p, r.left, &held, &complete));
    if (complete)
        log_info(in->log, "upload of %s: all of its parts are here", in->study->owner[owner].name);
    if (e == ERR_OK)
        return tell_held(in, from, MESSAGE_PART, owner, "");
    /* so that the owner can go on from where we are */
    bytes_put_u8(&out, 0);
    bytes_put_u64(&out, held);
    e = tell(in, from, MESSAGE_PART, e, part_words(e), &out);
    bytes_clear(&out);
    return e;
}

/* To an owner who waited for the vector. */
static enum err answer_one(const struct intake *in, uint32_t owner, enum err status)
{
    const struct gate_client *to = &in->waiting[owner].client;
    if (status == ERR_OK)
        return tell_held(in, to, MESSAGE_UPLOAD, owner, acknowledged);
    return tell(in, to, MESSAGE_UPLOAD, status,
                status == ERR_DATA || status == ERR_FORMAT
                    ? "the vector from server 1 does not fit what came to this server"
                    : not_stored,
                NULL);
}

static enum err answer_waiting(struct intake *in, const uint8_t id[UPLOAD_ID_SIZE], enum err status)
{
    for (uint32_t i = 0; i < in->study->owners; i++) {
        struct intake_waiting *w = &in->waiting[i];
        if (!w->used || memcmp(w->id, id, UPLOAD_ID_SIZE) != 0)
            continue;
        w->used = false;
        TRY(answer_one(in, i, status));
    }
    return ERR_OK;
}

enum err intake_give_up(struct intake *in, enum err status)
{
    for (uint32_t i = 0; i < in->study->owners; i++) {
        struct intake_waiting *w = &in->waiting[i];
        if (!w->used)
            continue;
        w->used = false;
        TRY(answer_one(in, i, status));
    }
    return ERR_OK;
}

enum err intake_vector(struct intake *in, const struct gate_client *from, const uint8_t *p,
                       size_t n)
{
    struct reader r = reader_of(p, n);
    const uint8_t *id = reader_bytes(&r, UPLOAD_ID_SIZE);
    uint64_t whole = reader_u64(&r), first = reader_u64(&r), held;
    struct bytes out = {0};
    bool complete;
    enum err e;
    if (r.failed || whole == 0)
        return tell(in, from, MESSAGE_FORWARD, ERR_FORMAT, "", NULL);
    e = stored(in, store_pass_part(in->store, id, whole, first, r.p, r.left, &held, &complete));
    if (e == ERR_OK && complete)
        log_info(in->log, "an upload is complete: its vector has come from server 1");
    else if (e != ERR_OK && e != ERR_AGAIN)
        log_error(in->log, "a vector from server 1 was not accepted: %s", error_text(e));
    /* of a batch that fails all who wait are told: intake_give_up() */
    if ((e == ERR_OK ? complete : e != ERR_AGAIN) && in->failure == ERR_OK)
        TRY(answer_waiting(in, id, e));
    bytes_put(&out, id, UPLOAD_ID_SIZE);
    bytes_put_u64(&out, held);
    bytes_put_u8(&out, complete);
    e = tell(in, from, MESSAGE_FORWARD, e, "", &out);
    bytes_clear(&out);
    return e;
}

/* --- withdrawing, and what is here ------------------------------------------------------------ */

/* What is told of a withdrawal: also one of nothing is one. */
static enum err put_withdrawal(const struct intake *in, uint32_t owner, struct bytes *out)
{
    struct held entry;
    TRY(store_hold_of(in->store, owner, &entry));
    if (entry.state == HELD_WITHDRAWN)
        log_info(in->log, "%s has withdrawn its upload", in->study->owner[owner].name);
    bytes_put_u8(out, entry.state == HELD_WITHDRAWN);
    bytes_put(out, entry.digest, sizeof entry.digest);
    return put_statement(in, RECEIPT_WITHDRAWN, owner, entry.digest, out);
}

enum err intake_withdraw(struct intake *in, const struct gate_client *from, uint32_t owner,
                         const uint8_t *p, size_t n)
{
    struct bytes out = {0};
    bool same;
    enum err e;
    if (n != 32)
        return tell(in, from, MESSAGE_WITHDRAW, ERR_FORMAT, "a withdrawal is cut", NULL);
    TRY(check_terms(in, from, MESSAGE_WITHDRAW, p, &same));
    if (!same)
        return ERR_OK;
    e = stored(in, store_withdraw(in->store, owner));
    if (e == ERR_MISUSE)
        return tell(in, from, MESSAGE_WITHDRAW, ERR_REFUSED,
                    "the run has begun, or begins: the upload may have been counted", NULL);
    if (e == ERR_OK)
        e = put_withdrawal(in, owner, &out);
    e = tell(in, from, MESSAGE_WITHDRAW, e, e == ERR_OK ? "" : not_withdrawn,
             e == ERR_OK ? &out : NULL);
    bytes_clear(&out);
    return e;
}

enum err intake_status(const struct intake *in, const struct gate_client *from)
{
    size_t owners = in->study->owners;
    struct held *entry = memory_array(owners, sizeof *entry);
    struct bytes out = {0};
    bool begun = false;
    enum err e = entry == NULL ? ERR_NOMEM : store_holds(in->store, entry);
    if (e == ERR_OK)
        e = store_begun(in->store, &begun);
    bytes_put_u32(&out, in->study->roster_version);
    bytes_put_u8(&out, begun);
    bytes_put_u32(&out, (uint32_t)owners);
    for (size_t i = 0; e == ERR_OK && i < owners; i++)
        held_put(&out, &entry[i]);
    if (e == ERR_OK)
        e = bytes_ok(&out);
    e = tell(in, from, MESSAGE_STATUS, e, e == ERR_OK ? "" : not_known, e == ERR_OK ? &out : NULL);
    memory_free(&entry);
    bytes_clear(&out);
    return e;
}

/* --- the ledger ------------------------------------------------------------------------------- */

enum err intake_head(const struct intake *in, const struct gate_client *from, const uint8_t *p,
                     size_t n)
{
    struct reader r = reader_of(p, n);
    const uint8_t *terms = reader_bytes(&r, 32);
    uint64_t seen = reader_u64(&r);
    const struct own_head own = {in->study, in->me, in->index, in->store, in->audit};
    struct bytes out = {0};
    struct head head;
    bool same;
    enum err e;
    if (reader_done(&r) != ERR_OK)
        return tell(in, from, MESSAGE_HEAD, ERR_FORMAT, "a question about the ledger is cut", NULL);
    TRY(check_terms(in, from, MESSAGE_HEAD, terms, &same));
    if (!same)
        return ERR_OK;
    e = own_head(&own, seen, &head);
    if (e == ERR_OK) {
        head_put(&out, &head);
        e = bytes_ok(&out);
    }
    e = tell(in, from, MESSAGE_HEAD, e, e == ERR_OK ? "" : not_known, e == ERR_OK ? &out : NULL);
    bytes_clear(&out);
    return e;
}
