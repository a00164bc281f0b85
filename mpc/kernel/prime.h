/*
 * mpc/kernel/prime.h - numbers modulo a prime p, 2^58 < p < 2^59, that coins choose. Constant in
 * time except for the choice, which is public. Elements are less than p unless a comment says
 * otherwise.
 */
#pragma once

#include "base/prg.h"
#include "mpc/kernel/share.h"

#include <stdbool.h>

#define PRIME_BITS 59

struct prime {
    uint64_t p;
    uint64_t inverse;    /* 2^64 / p, rounded down */
    uint64_t reciprocal; /* 2^122 / p, rounded down */
    uint64_t shift;      /* 2^64 mod p */
    uint64_t shift_over; /* shift 2^64 / p, rounded down */
};

void prime_prepare(struct prime *f, uint64_t p);

/* Deterministic, for any word. */
bool prime_is(uint64_t n);

/* A prime, each equally likely; n public elements; n secret ones, each off by 2^-133. */
enum err prime_choose(struct prime *f, struct prg *coin) MUST_CHECK;
enum err prime_draw(const struct prime *f, struct prg *coin, uint64_t *x, size_t n) MUST_CHECK;
enum err prime_mask(const struct prime *f, struct prg *prg, uint64_t *x, size_t n) MUST_CHECK;

/* x < 4 p */
static inline uint64_t prime_below(const struct prime *f, uint64_t x)
{
    x -= 2 * f->p;
    x += 2 * f->p & -(x >> 63);
    x -= f->p;
    return x + (f->p & -(x >> 63));
}

static inline uint64_t prime_high(uint64_t x, uint64_t y)
{
    return (uint64_t)((word128)x * y >> 64);
}

/* Any word. */
static inline uint64_t prime_short(const struct prime *f, uint64_t x)
{
    return prime_below(f, x - prime_high(x, f->inverse) * f->p);
}

/* Any two words. */
static inline uint64_t prime_wide(const struct prime *f, word128 x)
{
    const uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
    return prime_below(f, high * f->shift - prime_high(high, f->shift_over) * f->p + low -
                              prime_high(low, f->inverse) * f->p);
}

static inline uint64_t prime_times(const struct prime *f, uint64_t x, uint64_t y)
{
    return prime_wide(f, (word128)x * y);
}

static inline uint64_t prime_add(const struct prime *f, uint64_t x, uint64_t y)
{
    return prime_below(f, x + y);
}

static inline uint64_t prime_less(const struct prime *f, uint64_t x, uint64_t y)
{
    return prime_below(f, x + f->p - y);
}

/*
 * Any word x times a factor w, whose prime_over() is `over`: that is w 2^64 / p, less at most 3, so
 * that the result is less than 4 p, and is not reduced further.
 */
static inline uint64_t prime_over(const struct prime *f, uint64_t w)
{
    return (uint64_t)((word128)w * f->reciprocal >> 58);
}
static inline uint64_t prime_scaled(const struct prime *f, uint64_t x, uint64_t w, uint64_t over)
{
    return x * w - prime_high(x, over) * f->p;
}
