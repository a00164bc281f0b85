#include "protocols/lanes.h"

/* The lanes of a word whose bit d is 0. */
static uint64_t lower(unsigned d)
{
    return ~(uint64_t)0 / (((uint64_t)1 << d) + 1);
}

static uint64_t turned(uint64_t w)
{
    for (unsigned d = 1; d < 8; d *= 2)
        w = (w >> d & lower(d)) | (w & lower(d)) << d;
    return __builtin_bswap64(w);
}

void lanes_reverse(uint64_t *x, size_t words)
{
    for (size_t i = 0; i < (words + 1) / 2; i++) {
        const uint64_t first = turned(x[i]);
        x[i] = turned(x[words - 1 - i]);
        x[words - 1 - i] = first;
    }
}

static uint64_t word_or_zero(const uint64_t *x, size_t all, ptrdiff_t at)
{
    return at >= 0 && (size_t)at < all ? x[at] : 0;
}

void lanes_shift(uint64_t *out, size_t words, const uint64_t *x, size_t all, size_t from,
                 ptrdiff_t ahead)
{
    const unsigned by = (unsigned)((size_t)ahead % 64);
    const ptrdiff_t first = (ptrdiff_t)from + (ahead - (ptrdiff_t)by) / 64;
    for (size_t i = 0; i < words; i++) {
        const ptrdiff_t at = first + (ptrdiff_t)i;
        out[i] = word_or_zero(x, all, at) >> by;
        if (by > 0)
            out[i] |= word_or_zero(x, all, at + 1) << (64 - by);
    }
}

void lanes_lower(uint64_t *out, const uint64_t *x, size_t words, unsigned d)
{
    const uint64_t mask = lower(d);
    for (size_t k = 0; k < words / 2; k++)
        out[k] = (x[2 * k] & mask) | (x[2 * k + 1] & mask) << d;
    if (words % 2 != 0)
        out[words / 2] = x[words - 1] & mask;
}

void lanes_differ(uint64_t *out, const uint64_t *x, size_t words, unsigned d)
{
    const uint64_t mask = lower(d);
    for (size_t k = 0; k < words / 2; k++)
        out[k] = ((x[2 * k] ^ x[2 * k] >> d) & mask) | ((x[2 * k + 1] ^ x[2 * k + 1] >> d) & mask)
                                                           << d;
    if (words % 2 != 0)
        out[words / 2] = (x[words - 1] ^ x[words - 1] >> d) & mask;
}

void lanes_return(uint64_t *x, const uint64_t *moved, size_t words, unsigned d)
{
    const uint64_t mask = lower(d);
    for (size_t i = 0; i < words; i++) {
        const uint64_t m = moved[i / 2] >> (i % 2 * d) & mask;
        x[i] ^= m | m << d;
    }
}
