#include "parties/server/intake.h"

#include "base/memory.h"

#include <string.h>

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

enum err intake_answer(const struct intake *in, const struct gate_client *to, uint8_t kind,
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
    e = tell(in, to, kind, e, e == ERR_OK ? text : error_text(e), e == ERR_OK ? &out : NULL);
    bytes_clear(&out);
    return e;
}

static const char *part_words(enum err e)
{
    switch (e) {
    case ERR_AGAIN:
        return "the part does not follow what this server has of the upload";
    case ERR_DATA:
        return "the parts do not make up what the upload committed to; they begin anew";
    case ERR_FORMAT:
        return "the part is longer than the upload";
    default:
        return "the server could not store the part; its operator should see its log";
    }
}

enum err intake_part(const struct intake *in, const struct gate_client *from, uint32_t owner,
                     const uint8_t *p, size_t n, bool *complete, enum err *stored)
{
    struct reader r = reader_of(p, n);
    const uint8_t *id = reader_bytes(&r, UPLOAD_ID_SIZE);
    uint64_t first = reader_u64(&r), held;
    struct bytes out = {0};
    enum err e;
    *complete = false;
    if (r.failed)
        return tell(in, from, MESSAGE_PART, ERR_FORMAT, "a part is cut", NULL);
    e = store_put_part(in->store, owner, id, first, r.p, r.left, &held, complete);
    *stored = e == ERR_SYSTEM || e == ERR_NOMEM ? e : ERR_OK;
    if (e == ERR_OK)
        return intake_answer(in, from, MESSAGE_PART, owner, "");
    /* so that the owner can go on from where we are */
    bytes_put_u8(&out, 0);
    bytes_put_u64(&out, held);
    e = tell(in, from, MESSAGE_PART, e, part_words(e), &out);
    bytes_clear(&out);
    return e;
}

static bool same_terms(const struct intake *in, const uint8_t *p, size_t n)
{
    return n == 32 && memcmp(p, in->study->terms.digest, 32) == 0;
}

enum err intake_withdraw(const struct intake *in, const struct gate_client *from, uint32_t owner,
                         const uint8_t *p, size_t n, enum err *stored)
{
    struct held entry;
    struct bytes out = {0};
    enum err e;
    if (!same_terms(in, p, n))
        return intake_other_terms(in, from, MESSAGE_WITHDRAW);
    e = store_withdraw(in->store, owner);
    *stored = e == ERR_SYSTEM || e == ERR_NOMEM ? e : ERR_OK;
    if (e == ERR_MISUSE)
        return tell(in, from, MESSAGE_WITHDRAW, ERR_REFUSED,
                    "the run has begun, or begins: the upload may have been counted", NULL);
    if (e == ERR_OK)
        e = store_hold_of(in->store, owner, &entry);
    if (e == ERR_OK) {
        bytes_put_u8(&out, entry.state == HELD_WITHDRAWN);
        bytes_put(&out, entry.digest, sizeof entry.digest);
        e = put_statement(in, RECEIPT_WITHDRAWN, owner, entry.digest, &out);
    }
    if (e == ERR_OK && entry.state == HELD_WITHDRAWN)
        log_info(in->log, "%s has withdrawn its upload", in->study->owner[owner].name);
    e = tell(in, from, MESSAGE_WITHDRAW, e, e == ERR_OK ? "" : error_text(e),
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
    e = tell(in, from, MESSAGE_STATUS, e, "", e == ERR_OK ? &out : NULL);
    memory_free(&entry);
    bytes_clear(&out);
    return e;
}

enum err intake_other_terms(const struct intake *in, const struct gate_client *from, uint8_t kind)
{
    const struct session_terms *t = &in->study->terms;
    struct bytes out = {0};
    enum err e;
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
