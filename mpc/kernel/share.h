/*
 * mpc/kernel/share.h - what a server holds of secret values.
 *
 * A secret x in Z_2^k is x = x_0 + x_1 + x_2; server i holds (x_i, x_(i+1)), indices modulo 3, as
 * the vectors `a` and `b`. Bits are the same over XOR, packed 64 a word; `struct planes` is a
 * vector of n numbers of `width` bits, bit-sliced: plane k holds bit k of all n numbers. In the
 * last word of a plane the bits past n are unspecified.
 *
 * The types are distinct structs so that an arithmetic share cannot be passed where bits are meant,
 * nor to a log call. Views (share64_view, planes_plane) borrow; only what *_new() filled is freed,
 * and is wiped.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 word128;

/* What words are: 64 bits over XOR, or numbers modulo 2^K. */
enum share_ring { RING_BITS, RING_16, RING_32, RING_64, RING_128 };

/* Bytes of a word. */
size_t ring_size(enum share_ring ring);

struct share16 {
    uint16_t *a, *b;
    size_t n;
};

struct share32 {
    uint32_t *a, *b;
    size_t n;
};

struct share64 {
    uint64_t *a, *b;
    size_t n;
};

struct share128 {
    word128 *a, *b;
    size_t n;
};

struct bits {
    uint64_t *a, *b;
    size_t n;
};

struct planes {
    uint64_t *a, *b;
    size_t n;
    unsigned width;
};

/*
 * All-zero shares, for what outlives a call; the rest comes from the party's scratch. ERR_NOMEM. A
 * zero-initialised struct may be freed.
 */
enum err share16_new(struct share16 *x, size_t n) MUST_CHECK;
enum err share64_new(struct share64 *x, size_t n) MUST_CHECK;
enum err planes_new(struct planes *x, unsigned width, size_t n) MUST_CHECK;
void share16_free(struct share16 *x);
void share64_free(struct share64 *x);
void planes_free(struct planes *x);

static inline size_t bits_words(size_t n)
{
    return n / 64 + (n % 64 != 0);
}

static inline struct share64 share64_view(struct share64 x, size_t from, size_t n)
{
    return (struct share64){x.a + from, x.b + from, n};
}

static inline struct share32 share32_view(struct share32 x, size_t from, size_t n)
{
    return (struct share32){x.a + from, x.b + from, n};
}

static inline struct share16 share16_view(struct share16 x, size_t from, size_t n)
{
    return (struct share16){x.a + from, x.b + from, n};
}

static inline struct share128 share128_view(struct share128 x, size_t from, size_t n)
{
    return (struct share128){x.a + from, x.b + from, n};
}

static inline struct bits planes_plane(const struct planes *x, unsigned k)
{
    size_t words = bits_words(x->n);
    return (struct bits){x->a + k * words, x->b + k * words, x->n};
}

/* `width` consecutive planes from plane `from`. */
static inline struct planes planes_view(const struct planes *x, unsigned from, unsigned width)
{
    size_t words = bits_words(x->n);
    return (struct planes){x->a + from * words, x->b + from * words, x->n, width};
}

/*
 * All planes as one vector of words (of 64 * width * words bits), for local steps on all of them.
 */
static inline struct bits planes_flat(const struct planes *x)
{
    return (struct bits){x->a, x->b, 64 * x->width * bits_words(x->n)};
}
