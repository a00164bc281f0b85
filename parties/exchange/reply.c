#include "parties/exchange/reply.h"

#include "base/text.h"
#include "parties/exchange/message.h"

#include <stdio.h>
#include <string.h>

#define REPLY_VERSION 1u

enum err reply_write(uint8_t kind, enum err status, const char *text, const void *payload, size_t n,
                     struct bytes *out)
{
    size_t length = strnlen(text, sizeof((struct reply *)0)->text - 1);
    bytes_put_u8(out, REPLY_VERSION);
    bytes_put_u8(out, kind);
    bytes_put_u8(out, (uint8_t)status);
    bytes_put_block(out, text, length);
    bytes_put_block(out, payload, n);
    return bytes_ok(out);
}

enum err reply_read(struct reply *r, const struct bytes *message)
{
    struct reader in = reader_of(message->data, message->size);
    uint8_t version = reader_u8(&in), status;
    *r = (struct reply){0};
    if (!in.failed && version != REPLY_VERSION) {
        snprintf(r->text, sizeof r->text,
                 "its answer is of version %u, and this trefoil (%s) reads version %u; install the "
                 "version that the servers run",
                 version, TREFOIL_VERSION, REPLY_VERSION);
        return ERR_MISMATCH;
    }
    r->kind = reader_u8(&in);
    status = reader_u8(&in);
    reader_string(&in, r->text, sizeof r->text);
    r->payload = reader_block(&in, &r->size);
    if (r->kind == MESSAGE_PARCEL && in.left > 0)
        r->signature = reader_bytes(&in, IDENTITY_SIGNATURE_SIZE);
    if (reader_done(&in) != ERR_OK || status >= ERR_COUNT) {
        r->text[0] = '\0';
        r->size = 0;
        return ERR_FORMAT;
    }
    text_tame(r->text);
    r->status = (enum err)status;
    return ERR_OK;
}
