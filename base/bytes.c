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

struct reader reader_of(const void *p, size_t n)
{
    return (struct reader){.p = p, .left = n};
}

const uint8_t *reader_bytes(struct reader *r, size_t n)
{
    const uint8_t *at = r->p;
    if (r->failed || n > r->left) {
        r->failed = true;
        return NULL;
    }
    r->p += n;
    r->left -= n;
    return at;
}

static uint64_t read_integer(struct reader *r, size_t n)
{
    const uint8_t *at = reader_bytes(r, n);
    return at != NULL ? integer_get(at, n) : 0;
}

uint8_t reader_u8(struct reader *r)
{
    return (uint8_t)read_integer(r, 1);
}

uint16_t reader_u16(struct reader *r)
{
    return (uint16_t)read_integer(r, 2);
}

uint32_t reader_u32(struct reader *r)
{
    return (uint32_t)read_integer(r, 4);
}

uint64_t reader_u64(struct reader *r)
{
    return read_integer(r, 8);
}

uint64_t reader_small(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = reader_u8(r), last = shift == 63 ? 1 : 0x7f;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x7f) > last || (byte == 0 && shift > 0))
            break;
        if (byte <= 0x7f)
            return v;
    }
    r->failed = true;
    return 0;
}

double reader_double(struct reader *r)
{
    uint64_t bits = reader_u64(r);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

void reader_copy(struct reader *r, void *to, size_t n)
{
    const uint8_t *at = reader_bytes(r, n);
    if (n == 0) /* `to` may be NULL then */
        return;
    if (at != NULL)
        memcpy(to, at, n);
    else
        memset(to, 0, n);
}

const uint8_t *reader_block(struct reader *r, size_t *n)
{
    *n = reader_u32(r);
    return reader_bytes(r, *n);
}

void reader_string(struct reader *r, char *to, size_t size)
{
    size_t n;
    const uint8_t *at = reader_block(r, &n);
    to[0] = '\0';
    if (at == NULL)
        return;
    if (n >= size || memchr(at, 0, n) != NULL) {
        r->failed = true;
        return;
    }
    memcpy(to, at, n);
    to[n] = '\0';
}

enum err reader_text(struct reader *r, char **text)
{
    size_t n;
    const uint8_t *at = reader_block(r, &n);
    *text = NULL;
    if (at == NULL || memchr(at, 0, n) != NULL)
        return ERR_FORMAT;
    *text = memory_array(n + 1, 1);
    if (*text == NULL)
        return ERR_NOMEM;
    memcpy(*text, at, n);
    return ERR_OK;
}

enum err reader_done(const struct reader *r)
{
    return r->failed || r->left != 0 ? ERR_FORMAT : ERR_OK;
}
