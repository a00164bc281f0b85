#include "base/bytes.h"
#include "base/memory.h"

#include <string.h>

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
