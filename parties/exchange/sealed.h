/*
 * parties/exchange/sealed.h - blocks: messages to a server's gate that their owner signs, and seals
 * to the server's sealing key, so that anybody may carry them (MESSAGE_PARCEL). docs/formats.md has
 * what is in them, and in answers.
 *
 * The owner's key is among what it signs: otherwise others could sign its seals as theirs, and rows
 * would count twice. The server signs the block with its answer: an old one is none to a new block.
 *
 * The serial orders what changes an owner's upload: UPLOAD, REPLACE, WITHDRAW. It is the owner's
 * clock in ms, but above its last. PARTs have their upload's; other messages have 0.
 */
#pragma once

#include "parties/exchange/message.h"
#include "parties/study/sealing.h"
#include "parties/study/token.h"

#define SEALED_VERSION 1u
#define SEALED_SIGNATURE IDENTITY_SIGNATURE_SIZE

/* Who seals. */
struct sealed_from {
    const struct study *study; /* study_seals() */
    const struct identity *me;
    const struct token *token; /* of an owner that the study does not list, or NULL */
    uint64_t serial;           /* for the kinds of sealed_has_serial() */
};

bool sealed_has_serial(uint8_t kind);

/* Appends a block with the message for a server. */
enum err sealed_make(const struct sealed_from *from, unsigned server, const struct bytes *message,
                     struct bytes *out) MUST_CHECK;
/* What names a block, to whom answers it. */
void sealed_digest(const void *block, size_t n, uint8_t digest[32]);

/* What a server finds in a block. */
struct sealed_found {
    uint8_t sign[32]; /* its owner's Ed25519 key, which has signed all */
    uint64_t serial;
    bool has_token;
    struct token token; /* as shown, unchecked */
    const uint8_t *message;
    size_t size; /* at least 1 */
};

/*
 * Opens a block with server's secret sealing key; `plain` gets what `open` points into. ERR_AUTH if
 * it is sealed to another key or not signed by the owner that it names, ERR_FORMAT for anything
 * malformed, ERR_MISMATCH for another server or study. Not logged.
 */
enum err sealed_open(const struct study *study, unsigned server, const uint8_t secret[32],
                     const void *block, size_t n, struct bytes *plain,
                     struct sealed_found *open) MUST_CHECK;

/* Appends a server's signature to its answer to a block. */
enum err sealed_answer(const struct identity *server, const uint8_t digest[32],
                       struct bytes *answer) MUST_CHECK;
/*
 * Whether `message`, read as `reply`, is the server's answer to that block: ERR_AUTH if a success
 * is not. A failure that the server did not sign loses its payload.
 */
enum err sealed_check_answer(const struct study *study, unsigned server, const uint8_t digest[32],
                             const struct bytes *message, struct reply *reply) MUST_CHECK;
