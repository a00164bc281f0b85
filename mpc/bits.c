#include "mpc/bits.h"

#include "base/memory.h"

#include <string.h>

void bits_copy(struct bits out, struct bits x)
{
    size_t bytes = bits_words(out.n) * sizeof *out.a;
    memmove(out.a, x.a, bytes);
    memmove(out.b, x.b, bytes);
}

void bits_xor(struct bits out, struct bits x, struct bits y)
{
    for (size_t i = 0; i < bits_words(out.n); i++) {
        out.a[i] = x.a[i] ^ y.a[i];
        out.b[i] = x.b[i] ^ y.b[i];
    }
}

/* the component 0 of a share, which carries public constants, where this server holds it */
static uint64_t *component_0(const struct party *p, struct bits x)
{
    return p->index == 0 ? x.a : p->index == 2 ? x.b : NULL;
}

void bits_not(const struct party *p, struct bits out, struct bits x)
{
    uint64_t *c0 = component_0(p, out);
    if (out.a != x.a)
        bits_copy(out, x);
    for (size_t i = 0; c0 != NULL && i < bits_words(out.n); i++)
        c0[i] = ~c0[i];
}

void bits_xor_public(const struct party *p, struct bits x, const uint64_t *c)
{
    uint64_t *c0 = component_0(p, x);
    for (size_t i = 0; c0 != NULL && i < bits_words(x.n); i++)
        c0[i] ^= c[i];
}

void bits_and_public(struct bits out, struct bits x, const uint64_t *c)
{
    for (size_t i = 0; i < bits_words(out.n); i++) {
        out.a[i] = x.a[i] & c[i];
        out.b[i] = x.b[i] & c[i];
    }
}

void bits_zero(struct bits x)
{
    memset(x.a, 0, bits_words(x.n) * sizeof *x.a);
    memset(x.b, 0, bits_words(x.n) * sizeof *x.b);
}

enum err bits_and_layer(struct party *p, const struct bits_gate *gates, size_t count)
{
    size_t words = 0, at = 0;
    uint64_t *z, *received;
    enum err e;
    for (size_t g = 0; g < count; g++)
        words += bits_words(gates[g].out.n);
    z = memory_words(words, sizeof *z);
    received = memory_words(words, sizeof *received);
    e = z == NULL || received == NULL ? ERR_NOMEM : party_zero_bits(p, z, words);
    for (size_t g = 0; e == ERR_OK && g < count; g++) {
        const struct bits x = gates[g].x, y = gates[g].y;
        size_t k = bits_words(gates[g].out.n);
        for (size_t i = 0; i < k; i++)
            z[at + i] ^= (x.a[i] & (y.a[i] ^ y.b[i])) ^ (x.b[i] & y.a[i]);
        at += k;
    }
    if (e == ERR_OK)
        e = party_exchange(p, NET_PREV, z, words * sizeof *z, NET_NEXT, received,
                           words * sizeof *received);
    at = 0;
    for (size_t g = 0; e == ERR_OK && g < count; g++) {
        size_t k = bits_words(gates[g].out.n);
        memcpy(gates[g].out.a, z + at, k * sizeof *z);
        memcpy(gates[g].out.b, received + at, k * sizeof *z);
        at += k;
    }
    memory_wipe_free(&z, words * sizeof *z);
    memory_wipe_free(&received, words * sizeof *received);
    return e;
}

enum err bits_and(struct party *p, struct bits out, struct bits x, struct bits y)
{
    const struct bits_gate gate = {out, x, y};
    return bits_and_layer(p, &gate, 1);
}

enum err bits_and_all(struct party *p, struct bits out, struct planes *x)
{
    for (unsigned left = x->width; left > 1; left = (left + 1) / 2) {
        struct planes low = planes_view(x, 0, left / 2);
        struct planes high = planes_view(x, (left + 1) / 2, left / 2);
        TRY(bits_and(p, planes_flat(&low), planes_flat(&low), planes_flat(&high)));
    }
    bits_copy(out, planes_plane(x, 0));
    return ERR_OK;
}

/* Transposes a 64 x 64 matrix of bits in place: bit j of row i goes to bit i of row j. */
static void transpose(uint64_t m[64])
{
    uint64_t mask = 0x00000000ffffffff;
    for (unsigned j = 32; j != 0; j >>= 1, mask ^= mask << j)
        for (unsigned k = 0; k < 64; k = ((k | j) + 1) & ~j) {
            uint64_t t = ((m[k] >> j) ^ m[k | j]) & mask;
            m[k] ^= t << j;
            m[k | j] ^= t;
        }
}

/* One block of up to 64 values of a plane group: `width` planes, `stride` words apart. */
static void store_block(uint64_t m[64], unsigned width, uint64_t *planes, size_t stride)
{
    transpose(m);
    for (unsigned k = 0; k < width; k++)
        planes[k * stride] = m[k];
}

static void load_block(uint64_t m[64], unsigned width, const uint64_t *planes, size_t stride)
{
    memset(m, 0, 64 * sizeof *m);
    for (unsigned k = 0; k < width; k++)
        m[k] = planes[k * stride];
    transpose(m);
}

void bits_slice64(const uint64_t *values, size_t n, unsigned width, uint64_t *planes)
{
    size_t words = bits_words(n);
    uint64_t m[64];
    for (size_t w = 0; w < words; w++) {
        size_t k = n - 64 * w < 64 ? n - 64 * w : 64;
        memset(m, 0, sizeof m);
        memcpy(m, values + 64 * w, k * sizeof *m);
        store_block(m, width, planes + w, words);
    }
}

void bits_unslice64(const uint64_t *planes, size_t n, unsigned width, uint64_t *values)
{
    size_t words = bits_words(n);
    uint64_t m[64];
    for (size_t w = 0; w < words; w++) {
        size_t k = n - 64 * w < 64 ? n - 64 * w : 64;
        load_block(m, width, planes + w, words);
        memcpy(values + 64 * w, m, k * sizeof *m);
    }
}

void bits_slice128(const word128 *values, size_t n, unsigned width, uint64_t *planes)
{
    size_t words = bits_words(n);
    uint64_t low[64], high[64];
    for (size_t w = 0; w < words; w++) {
        size_t k = n - 64 * w < 64 ? n - 64 * w : 64;
        memset(low, 0, sizeof low);
        memset(high, 0, sizeof high);
        for (size_t i = 0; i < k; i++) {
            low[i] = (uint64_t)values[64 * w + i];
            high[i] = (uint64_t)(values[64 * w + i] >> 64);
        }
        store_block(low, width < 64 ? width : 64, planes + w, words);
        if (width > 64)
            store_block(high, width - 64, planes + 64 * words + w, words);
    }
}

void bits_unslice128(const uint64_t *planes, size_t n, unsigned width, word128 *values)
{
    size_t words = bits_words(n);
    uint64_t low[64], high[64];
    for (size_t w = 0; w < words; w++) {
        size_t k = n - 64 * w < 64 ? n - 64 * w : 64;
        load_block(low, width < 64 ? width : 64, planes + w, words);
        load_block(high, width > 64 ? width - 64 : 0, planes + 64 * words + w, words);
        for (size_t i = 0; i < k; i++)
            values[64 * w + i] = (word128)high[i] << 64 | low[i];
    }
}
