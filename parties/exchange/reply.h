/* parties/exchange/reply.h - what a gate answers to a message. docs/formats.md has the bytes. */
#pragma once

#include "base/bytes.h"

/* Every answer from a gate: a status, words for people, then a payload. */
struct reply {
    uint8_t kind; /* of the message that it answers */
    enum err status;
    char text[512];         /* after reading, without anything that could control a terminal */
    const uint8_t *payload; /* within the message that was read */
    size_t size;
    const uint8_t *signature; /* of an answer to MESSAGE_PARCEL, 64 bytes; or NULL */
};
enum err reply_write(uint8_t kind, enum err status, const char *text, const void *payload, size_t n,
                     struct bytes *out) MUST_CHECK;
/* ERR_MISMATCH, with words in r->text, for an answer in another version. */
enum err reply_read(struct reply *r, const struct bytes *message) MUST_CHECK;
