/*
 * parties/server/intake.h - how a server takes uploads, in one message or in parts, withdraws them,
 * reports on them, and signs its ledger's head. docs/formats.md has the answers' payloads.
 *
 * A server says `stored`, and signs it, when all that it holds of the upload is on disk: one to
 * which the vector is passed on answers an owner when that has come.
 */
#pragma once

#include "parties/exchange/message.h"
#include "parties/exchange/receipt.h"
#include "parties/server/outbox.h"
#include "parties/server/site.h"

/* A block in which a message came (parties/exchange/sealed.h). */
struct intake_seal {
    uint8_t digest[32];
    uint64_t serial;
};

/* An owner whose answer waits for the vector from another server. */
struct intake_waiting {
    uint8_t id[UPLOAD_ID_SIZE];
    struct gate_client client;
    uint32_t owner;
    bool sealed;
    struct intake_seal seal; /* in which it asked, if it did */
};

#define INTAKE_WAITING 4096

struct intake {
    struct site *site; /* borrowed, as is the outbox */
    struct outbox *outbox;
    struct intake_waiting *waiting; /* at most INTAKE_WAITING; then the earliest is forgotten */
    size_t waiters, room;
    uint64_t *line; /* of each owner, on which it acted last: 2^32 + its number, or 0 */
    /* For the batch in hand. A failed write may undo those before it, so the batch fails. */
    enum err failure;
    bool wrote;
};

/* A message to the gate, and its sender. */
struct intake_message {
    const struct gate_client *from;
    uint8_t kind;
    uint32_t who;     /* index of the owner or server */
    const uint8_t *p; /* what follows the kind */
    size_t n;
    const struct bytes *whole;      /* the message as it came */
    const struct intake_seal *seal; /* or NULL, if it came bare; then `from` is its owner */
};

/* The words for a store that fails. */
#define INTAKE_NOT_KNOWN                                                                           \
    "the server could not look up what it has; its operator should look at its log"
/* The digest of the block in which a message came, for outbox_put(). */
static inline const uint8_t *intake_sealed(const struct intake_message *m)
{
    return m->seal != NULL ? m->seal->digest : NULL;
}

/* Tells all who wait for the vector `id` what became of it; NULL: all who wait for any vector. */
enum err intake_answer_waiting(struct intake *in, const uint8_t *id, enum err status) MUST_CHECK;

/* Each of these answers through the outbox, and returns only the outbox's failures. */

/* MESSAGE_UPLOAD or MESSAGE_REPLACE: terms digest, then the upload as upload_write() makes it. */
enum err intake_upload(struct intake *in, const struct intake_message *m) MUST_CHECK;
/* MESSAGE_PART: id, first (u64), bytes. */
enum err intake_part(struct intake *in, const struct intake_message *m) MUST_CHECK;
/*
 * MESSAGE_FORWARD: id, size (u64), first (u64), bytes. Answers with id,
 * bytes held (u64), complete (u8); once complete, it also answers an owner who waits.
 */
enum err intake_vector(struct intake *in, const struct intake_message *m) MUST_CHECK;
/* MESSAGE_NOISE: terms digest, kind (u8), name, share (parties/setting/split.h). */
enum err intake_noise(struct intake *in, const struct intake_message *m) MUST_CHECK;
/* MESSAGE_WITHDRAW: terms digest. */
enum err intake_withdraw(struct intake *in, const struct intake_message *m) MUST_CHECK;
/* MESSAGE_STATUS */
enum err intake_status(struct intake *in, const struct intake_message *m) MUST_CHECK;
/* MESSAGE_HEAD: terms digest, debits that the client has seen (u64). */
enum err intake_head(struct intake *in, const struct intake_message *m) MUST_CHECK;
