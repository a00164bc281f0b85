/*
 * parties/server/intake.h - what a server answers owners about their uploads: how far one has come, with the server's
 * signature once it is here; later parts of it; its withdrawal; what is here of everybody.
 *
 * Payloads of replies:
 *   upload    complete (u8), bytes of the vector held (u64, server 1), then a receipt_part if complete
 *   withdraw  whether there was anything (u8), then the digest of it (32) and a receipt_part
 *   status    number of the roster (u32), whether the run has begun (u8), number of owners (u32), then a struct
 *             held for each
 */
#ifndef TREFOIL_PARTIES_SERVER_INTAKE_H
#define TREFOIL_PARTIES_SERVER_INTAKE_H

#include "parties/exchange/receipt.h"
#include "parties/exchange/request.h"
#include "parties/server/outbox.h"
#include "parties/store/store.h"

/* All borrowed from the server. */
struct intake {
    const struct study *study;
    const struct identity *me;
    struct store *store;
    struct outbox *outbox;
    struct log *log;
};

/*
 * Each answers `to`, and returns ERR_OK unless the store failed (which fails the whole batch, `*stored`) or
 * memory is short.
 */

/* How far an owner's upload has come. */
enum err intake_answer(const struct intake *in, const struct gate_client *to, uint8_t kind,
                       uint32_t owner, const char *text) MUST_CHECK;
/* MESSAGE_PART: id, first (u64), bytes. */
enum err intake_part(const struct intake *in, const struct gate_client *from, uint32_t owner,
                     const uint8_t *p, size_t n, bool *complete, enum err *stored) MUST_CHECK;
/* MESSAGE_WITHDRAW: terms digest. */
enum err intake_withdraw(const struct intake *in, const struct gate_client *from, uint32_t owner,
                         const uint8_t *p, size_t n, enum err *stored) MUST_CHECK;
enum err intake_status(const struct intake *in, const struct gate_client *from) MUST_CHECK;
/* For one whose terms are others: ERR_MISMATCH with the digests of our parts, names as strings. */
enum err intake_other_terms(const struct intake *in, const struct gate_client *from,
                            uint8_t kind) MUST_CHECK;

#endif
