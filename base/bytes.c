#include "base/bytes.h"

#include "base/memory.h"

#include <string.h>

uint8_t *bytes_extend(struct bytes *b, size_t n)
{
    uint8_t *at;
    if (b->failed || n > SIZE_MAX / 2 - b->size) {
        b->failed = true;
        return NULL;
    }
    if (b->size + n > b->capacity) {
        size_t wanted = 2 * b->capacity > b->size + n ? 2 * b->capacity : b->size + n + 64;
        /* not realloc: the old block may hold secrets and must be wiped */
        uint8_t *grown = memory_array(wanted, 1);
        if (grown == NULL) {
            b->failed = true;
            return NULL;
        }
        if (b->size > 0)
            memcpy(grown, b->data, b->size);
        memory_wipe_free(&b->data, b->capacity);
        b->data = grown;
        b->capacity = wanted;
    }
    at = b->data + b->size;
    b->size += n;
    return at;
}

void bytes_put(struct bytes *b, const void *p, size_t n)
{
    uint8_t *at = n > 0 ? bytes_extend(b, n) : NULL;
    if (at != NULL)
        memcpy(at, p, n);
}

void bytes_set(struct bytes *b, const void *p, size_t n)
{
    b->size = 0;
    b->failed = false;
    bytes_put(b, p, n);
}

static void put_integer(struct bytes *b, uint64_t v, size_t n)
{
    uint8_t *at = bytes_extend(b, n);
    if (at != NULL)
        integer_put(at, v, n);
}

void bytes_put_u8(struct bytes *b, uint8_t v)
{
    put_integer(b, v, 1);
}

void bytes_put_u16(struct bytes *b, uint16_t v)
{
    put_integer(b, v, 2);
}

void bytes_put_u32(struct bytes *b, uint32_t v)
{
    put_integer(b, v, 4);
}

void bytes_put_u64(struct bytes *b, uint64_t v)
{
    put_integer(b, v, 8);
}

void bytes_put_small(struct bytes *b, uint64_t v)
{
    uint8_t text[SMALL_MOST];
    size_t n = 0;
    for (; v > 0x7f; v >>= 7)
        text[n++] = (uint8_t)(v | 0x80);
    text[n++] = (uint8_t)v;
    bytes_put(b, text, n);
}

void bytes_put_double(struct bytes *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bytes_put_u64(b, bits);
}

void bytes_put_block(struct bytes *b, const void *p, size_t n)
{
    if (n > UINT32_MAX) {
        b->failed = true;
        return;
    }
    bytes_put_u32(b, (uint32_t)n);
    bytes_put(b, p, n);
}

void bytes_put_string(struct bytes *b, const char *s)
{
    bytes_put_block(b, s, strlen(s));
}

void bytes_put_text(struct bytes *b, const char *s)
{
    bytes_put(b, s, strlen(s));
}

enum err bytes_ok(const struct bytes *b)
{
    return b->failed ? ERR_NOMEM : ERR_OK;
}

void bytes_clear(struct bytes *b)
{
    memory_wipe_free(&b->data, b->capacity);
    *b = (struct bytes){0};
}
