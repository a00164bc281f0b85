#include "mpc/kernel/words.h"

#include "mpc/kernel/width.h"

#define WIDTH 16
#include "mpc/kernel/words_body.inc"
#define WIDTH 32
#include "mpc/kernel/words_body.inc"
#define WIDTH 64
#include "mpc/kernel/words_body.inc"
#define WIDTH 128
#include "mpc/kernel/words_body.inc"

static const struct {
    void (*add)(void *z, const void *x, size_t n);
    void (*subtract)(void *z, const void *x, size_t n);
    void (*scale)(void *z, const void *x, word128 factor, size_t n);
    void (*add_bits)(void *z, const void *x, const uint64_t *bits, const void *y, size_t n);
} steps[] = {
    [RING_16] = {add16, subtract16, scale16, add_bits16},
    [RING_32] = {add32, subtract32, scale32, add_bits32},
    [RING_64] = {add64, subtract64, scale64, add_bits64},
    [RING_128] = {add128, subtract128, scale128, add_bits128},
};

void words_add(enum share_ring ring, void *z, const void *x, size_t n)
{
    steps[ring].add(z, x, n);
}

void words_subtract(enum share_ring ring, void *z, const void *x, size_t n)
{
    steps[ring].subtract(z, x, n);
}

void words_scale(enum share_ring ring, void *z, const void *x, word128 factor, size_t n)
{
    steps[ring].scale(z, x, factor, n);
}

void words_add_bits(enum share_ring ring, void *z, const void *x, const uint64_t *bits,
                    const void *y, size_t n)
{
    steps[ring].add_bits(z, x, bits, y, n);
}

void words_bits_from(uint64_t *out, const uint64_t *v, size_t from, size_t n)
{
    unsigned shift = from % 64;
    const uint64_t *at = v + from / 64;
    for (size_t i = 0; i < bits_words(n); i++) {
        out[i] = at[i] >> shift;
        if (shift != 0 && 64 * i + 64 - shift < n)
            out[i] |= at[i + 1] << (64 - shift);
    }
}
