#include "netio/frame.h"

#include "base/bytes.h"
#include "netio/seal.h"

#include <string.h>

#define MAGIC 0x46455254u /* "TREF" */
#define SESSION_OFFSET 8

void frame_encode(const struct frame_header *h, uint8_t out[FRAME_HEADER])
{
    uint8_t *at = integer_put(out, MAGIC, 4);
    at = integer_put(at, FRAME_VERSION, 2);
    at = integer_put(at, h->kind, 2);
    memcpy(at, h->session, FRAME_SESSION);
    at = integer_put(at + FRAME_SESSION, h->sender, 2);
    at = integer_put(at, h->receiver, 2);
    at = integer_put(at, h->lane, 4);
    at = integer_put(at, h->sequence, 8);
    at = integer_put(at, h->exchange, 8);
    at = integer_put(at, h->total, 8);
    at = integer_put(at, h->length, 4);
    integer_put(at, 0, 4);
}

bool frame_is_foreign(const void *message, size_t n, const uint8_t session[FRAME_SESSION])
{
    const uint8_t *p = message;
    return n >= SESSION_OFFSET + FRAME_SESSION &&
           memcmp(p + SESSION_OFFSET, session, FRAME_SESSION) != 0;
}

unsigned frame_version(const void *message, size_t n)
{
    struct reader r = reader_of(message, n);
    uint32_t magic = reader_u32(&r);
    unsigned version = reader_u16(&r);
    return r.failed || magic != MAGIC ? 0 : version;
}

enum err frame_parse(struct frame_header *h, const void *message, size_t n)
{
    struct reader r = reader_of(message, n);
    uint32_t magic = reader_u32(&r);
    uint16_t version = reader_u16(&r);
    uint16_t kind = reader_u16(&r);
    uint32_t zero;
    reader_copy(&r, h->session, FRAME_SESSION);
    h->sender = reader_u16(&r);
    h->receiver = reader_u16(&r);
    h->lane = reader_u32(&r);
    h->sequence = reader_u64(&r);
    h->exchange = reader_u64(&r);
    h->total = reader_u64(&r);
    h->length = reader_u32(&r);
    zero = reader_u32(&r);
    if (r.failed || magic != MAGIC || version != FRAME_VERSION || zero != 0 ||
        (kind != FRAME_DATA && kind != FRAME_ABORT) || r.left < SEAL_TAG ||
        r.left - SEAL_TAG != h->length)
        return ERR_FORMAT;
    h->kind = kind == FRAME_DATA ? FRAME_DATA : FRAME_ABORT;
    return ERR_OK;
}
