/*
 * base/bytes.h - writing bytes, and reading them, without ever passing an end.
 *
 * Integers are little-endian. A `struct bytes` grows as it is written and remembers the first
 * failure, so that a run of writes is checked once, by bytes_ok(). A `struct reader`
 * (base/reader.h) walks bytes.
 */
#pragma once

#include "base/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write the low n bytes of v, lowest first, and return where the next go; read them back. */
static inline uint8_t *integer_put(uint8_t *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(v >> (8 * i));
    return to + n;
}

static inline uint64_t integer_get(const uint8_t *from, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)from[i] << (8 * i);
    return v;
}

struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void bytes_put(struct bytes *b, const void *p, size_t n);
void bytes_put_u8(struct bytes *b, uint8_t v);
void bytes_put_u16(struct bytes *b, uint16_t v);
void bytes_put_u32(struct bytes *b, uint32_t v);
void bytes_put_u64(struct bytes *b, uint64_t v);
/*
 * A number that is usually small: 7 bits a byte, lowest first; the top bit says that more follow.
 */
#define SMALL_MOST 10 /* bytes */
void bytes_put_small(struct bytes *b, uint64_t v);
void bytes_put_double(struct bytes *b, double v); /* the bits of the IEEE number */
/* Replaces all of its contents. */
void bytes_set(struct bytes *b, const void *p, size_t n);
/* u32 length, then the bytes: the prefix that hashing and formats use for anything variable. */
void bytes_put_block(struct bytes *b, const void *p, size_t n);
void bytes_put_string(struct bytes *b, const char *s);
/* Only the characters, without a length. */
void bytes_put_text(struct bytes *b, const char *s);
/* Adds n bytes for the caller to fill and returns them, or NULL. */
uint8_t *bytes_extend(struct bytes *b, size_t n);
enum err bytes_ok(const struct bytes *b) MUST_CHECK; /* ERR_NOMEM if any write failed */
void bytes_clear(struct bytes *b); /* wipes, frees, and leaves it empty and usable */
