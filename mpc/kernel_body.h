/*
 * mpc/kernel_body.h - the functions of a kernel table, written once for every instruction set.
 *
 * A file that includes this defines TARGET (the attribute of each function) and VECTOR (bytes of a
 * vector that the target adds in one instruction). Vectors are of the compilers' vector extension;
 * the types below promise no alignment.
 */
#ifndef TREFOIL_MPC_KERNEL_BODY_H
#define TREFOIL_MPC_KERNEL_BODY_H

#include "mpc/kernel.h"

#include <string.h>

#define LOOSE(bits)                                                                                \
    typedef uint##bits##_t vector##bits __attribute__((vector_size(VECTOR)));                      \
    typedef uint##bits##_t loose##bits                                                             \
        __attribute__((vector_size(VECTOR), aligned(1), may_alias));                               \
    typedef uint##bits##_t word##bits __attribute__((aligned(1), may_alias));

LOOSE(16)
LOOSE(32)
LOOSE(64)

/* A vector, or a word, at position i of an array. */
#define AT(bits, p, i) (*(const loose##bits *)(const void *)((p) + (i)))
#define PUT(bits, p, i) (*(loose##bits *)(void *)((p) + (i)))
#define WORD_AT(bits, p, i) (*(const word##bits *)(const void *)((p) + (i)))
#define WORD_PUT(bits, p, i) (*(word##bits *)(void *)((p) + (i)))
#define LANES(bits) (8 * VECTOR / (bits))

TARGET static void gate(uint64_t *z, const uint64_t *xa, const uint64_t *xb, const uint64_t *ya,
                        const uint64_t *yb, const uint64_t *c, size_t words)
{
    size_t i = 0;
    if (c != NULL)
        for (; i + LANES(64) <= words; i += LANES(64))
            PUT(64, z, i) = (AT(64, xa, i) & (AT(64, ya, i) ^ AT(64, yb, i))) ^
                            (AT(64, xb, i) & AT(64, ya, i)) ^ AT(64, c, i);
    else
        for (; i + LANES(64) <= words; i += LANES(64))
            PUT(64, z, i) = (AT(64, xa, i) & (AT(64, ya, i) ^ AT(64, yb, i))) ^
                            (AT(64, xb, i) & AT(64, ya, i));
    for (; i < words; i++)
        WORD_PUT(64, z, i) = (WORD_AT(64, xa, i) & (WORD_AT(64, ya, i) ^ WORD_AT(64, yb, i))) ^
                             (WORD_AT(64, xb, i) & WORD_AT(64, ya, i)) ^
                             (c != NULL ? WORD_AT(64, c, i) : 0);
}

TARGET static void exclusive(uint64_t *out, const uint64_t *x, const uint64_t *y, size_t words)
{
    size_t i = 0;
    for (; i + LANES(64) <= words; i += LANES(64))
        PUT(64, out, i) = AT(64, x, i) ^ AT(64, y, i);
    for (; i < words; i++)
        WORD_PUT(64, out, i) = WORD_AT(64, x, i) ^ WORD_AT(64, y, i);
}

/* out = the vector whose lane l is 1 where bit i + l is set, else 0; i is a multiple of the lanes */
#ifndef SPREAD
#define LANE_BITS                                                                                  \
    {                                                                                              \
        1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10,        \
            1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15                                            \
    }
static const uint16_t select16[16] = LANE_BITS;
static const uint32_t select32[16] = LANE_BITS;
static const uint64_t select64[16] = LANE_BITS;
#define SPREAD(bits, out, b, i)                                                                    \
    do {                                                                                           \
        vector##bits chosen = AT(bits, select##bits, 0) &                                          \
                              (uint##bits##_t)(WORD_AT(64, b, (i) / 64) >> (i) % 64);              \
        (out) = (vector##bits)(chosen != 0) & 1;                                                   \
    } while (0)
#endif

#define RING(bits)                                                                                 \
    TARGET static void multiply##bits(                                                             \
        uint##bits##_t *z, const uint##bits##_t *f, const uint##bits##_t *xa,                      \
        const uint##bits##_t *xb, const uint##bits##_t *ya, const uint##bits##_t *yb, size_t n)    \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES(bits) <= n; i += LANES(bits))                                             \
            PUT(bits, z, i) = AT(bits, z, i) - AT(bits, f, i) +                                    \
                              AT(bits, xa, i) * (AT(bits, ya, i) + AT(bits, yb, i)) +              \
                              AT(bits, xb, i) * AT(bits, ya, i);                                   \
        for (; i < n; i++) {                                                                       \
            uint64_t a = WORD_AT(bits, xa, i), b = WORD_AT(bits, xb, i);                           \
            uint64_t c = WORD_AT(bits, ya, i), d = WORD_AT(bits, yb, i);                           \
            WORD_PUT(bits, z, i) = (uint##bits##_t)((uint64_t)WORD_AT(bits, z, i) -                \
                                                    WORD_AT(bits, f, i) + a * (c + d) + b * c);    \
        }                                                                                          \
    }                                                                                              \
    TARGET static uint##bits##_t inner##bits(const uint##bits##_t *xa, const uint##bits##_t *xb,   \
                                             const uint##bits##_t *ya, const uint##bits##_t *yb,   \
                                             size_t n)                                             \
    {                                                                                              \
        size_t i = 0;                                                                              \
        uint64_t sum = 0;                                                                          \
        vector##bits s = {0}, t = {0};                                                             \
        for (; i + LANES(bits) <= n; i += LANES(bits)) {                                           \
            s += AT(bits, xa, i) * (AT(bits, ya, i) + AT(bits, yb, i));                            \
            t += AT(bits, xb, i) * AT(bits, ya, i);                                                \
        }                                                                                          \
        s += t;                                                                                    \
        for (unsigned l = 0; l < LANES(bits); l++)                                                 \
            sum += s[l];                                                                           \
        for (; i < n; i++) {                                                                       \
            uint64_t a = WORD_AT(bits, xa, i), b = WORD_AT(bits, xb, i);                           \
            uint64_t c = WORD_AT(bits, ya, i), d = WORD_AT(bits, yb, i);                           \
            sum += a * (c + d) + b * c;                                                            \
        }                                                                                          \
        return (uint##bits##_t)sum;                                                                \
    }                                                                                              \
    TARGET static uint##bits##_t dot##bits(const uint##bits##_t *x, const uint##bits##_t *y,       \
                                           size_t n)                                               \
    {                                                                                              \
        size_t i = 0;                                                                              \
        uint64_t sum = 0;                                                                          \
        vector##bits s = {0};                                                                      \
        for (; i + LANES(bits) <= n; i += LANES(bits))                                             \
            s += AT(bits, x, i) * AT(bits, y, i);                                                  \
        for (unsigned l = 0; l < LANES(bits); l++)                                                 \
            sum += s[l];                                                                           \
        for (; i < n; i++)                                                                         \
            sum += (uint64_t)WORD_AT(bits, x, i) * WORD_AT(bits, y, i);                            \
        return (uint##bits##_t)sum;                                                                \
    }                                                                                              \
    TARGET static uint##bits##_t sum##bits(const uint##bits##_t *x, size_t n)                      \
    {                                                                                              \
        size_t i = 0;                                                                              \
        uint64_t sum = 0;                                                                          \
        vector##bits s = {0};                                                                      \
        for (; i + LANES(bits) <= n; i += LANES(bits))                                             \
            s += AT(bits, x, i);                                                                   \
        for (unsigned l = 0; l < LANES(bits); l++)                                                 \
            sum += s[l];                                                                           \
        for (; i < n; i++)                                                                         \
            sum += WORD_AT(bits, x, i);                                                            \
        return (uint##bits##_t)sum;                                                                \
    }                                                                                              \
    TARGET static void join##bits(uint##bits##_t *out, const uint##bits##_t *x,                    \
                                  const uint##bits##_t *y, size_t n)                               \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES(bits) <= n; i += LANES(bits))                                             \
            PUT(bits, out, i) = AT(bits, out, i) + AT(bits, x, i) + AT(bits, y, i);                \
        for (; i < n; i++)                                                                         \
            WORD_PUT(bits, out, i) = (uint##bits##_t)((uint64_t)WORD_AT(bits, out, i) +            \
                                                      WORD_AT(bits, x, i) + WORD_AT(bits, y, i));  \
    }                                                                                              \
    TARGET static void bit_less##bits(uint##bits##_t *out, const uint64_t *b,                      \
                                      const uint##bits##_t *f, size_t n)                           \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES(bits) <= n; i += LANES(bits)) {                                           \
            vector##bits bit;                                                                      \
            SPREAD(bits, bit, b, i);                                                               \
            PUT(bits, out, i) = bit - AT(bits, f, i);                                              \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            WORD_PUT(bits, out, i) = (uint##bits##_t)((WORD_AT(64, b, i / 64) >> i % 64 & 1) -     \
                                                      WORD_AT(bits, f, i));                        \
    }                                                                                              \
    TARGET static void bit_sign##bits(uint##bits##_t *out, const uint64_t *b,                      \
                                      const uint##bits##_t *v, const uint##bits##_t *g, size_t n)  \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES(bits) <= n; i += LANES(bits)) {                                           \
            vector##bits bit;                                                                      \
            SPREAD(bits, bit, b, i);                                                               \
            PUT(bits, out, i) = (AT(bits, v, i) ^ (0 - bit)) + bit - AT(bits, g, i);               \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            uint64_t bit = WORD_AT(64, b, i / 64) >> i % 64 & 1;                                   \
            WORD_PUT(bits, out, i) = (uint##bits##_t)((WORD_AT(bits, v, i) ^ (0 - bit)) + bit -    \
                                                      WORD_AT(bits, g, i));                        \
        }                                                                                          \
    }                                                                                              \
    TARGET static void bit_plus##bits(uint##bits##_t *out, const uint64_t *b,                      \
                                      const uint##bits##_t *g, const uint##bits##_t *h, size_t n)  \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES(bits) <= n; i += LANES(bits)) {                                           \
            vector##bits bit;                                                                      \
            SPREAD(bits, bit, b, i);                                                               \
            PUT(bits, out, i) = bit + AT(bits, g, i) + AT(bits, h, i);                             \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            uint64_t bit = WORD_AT(64, b, i / 64) >> i % 64 & 1;                                   \
            WORD_PUT(bits, out,                                                                    \
                     i) = (uint##bits##_t)(bit + WORD_AT(bits, g, i) + WORD_AT(bits, h, i));       \
        }                                                                                          \
    }

RING(16)
RING(32)
RING(64)

/*
 * With B the highest bit of c: t = [c >= 2^(k+1)] = [k < B] going down from the top; d = the bits of
 * c below its highest; b = [B = k]. Position k < width - 1 generates where d is 1 and x 0, and
 * propagates where they agree or k >= B. The top position generates Z_B and propagates Z_(B+1) ^
 * Z_B, Z being 1 from `width` on.
 */
#define THRESHOLD(type, get, put)                                                                  \
    {                                                                                              \
        type t = get(c, width * c_stride + i), one = first ? ~(t ^ t) : (t ^ t);                   \
        type top = t & one, next = t & one, above = one;                                           \
        for (unsigned k = width; k-- > 0;) {                                                       \
            type bit = get(c, k * c_stride + i), z = get(below, k * stride + i);                   \
            type v = get(x, k * stride + i), d = bit & t, b = bit & ~t;                            \
            if (k > 0) {                                                                           \
                top ^= b & z;                                                                      \
                next ^= b & above;                                                                 \
            }                                                                                      \
            if (k < width - 1) {                                                                   \
                put(g, k *KERNEL_BLOCK + i) = (v & d) ^ (d & one);                                 \
                put(p, k *KERNEL_BLOCK + i) = (v & t) ^ (~d & one);                                \
            }                                                                                      \
            above = z;                                                                             \
            t |= bit;                                                                              \
        }                                                                                          \
        put(g, (width - 1) * KERNEL_BLOCK + i) = top;                                              \
        put(p, (width - 1) * KERNEL_BLOCK + i) = top ^ next;                                       \
    }
#define GET_VECTOR(p, i) AT(64, p, i)
#define PUT_VECTOR(p, i) PUT(64, p, i)
#define GET_WORD(p, i) WORD_AT(64, p, i)
#define PUT_WORD(p, i) WORD_PUT(64, p, i)

TARGET static void threshold(uint64_t *g, uint64_t *p, const uint64_t *x, const uint64_t *below,
                             size_t stride, const uint64_t *c, size_t c_stride, unsigned width,
                             size_t words, bool first)
{
    size_t i = 0;
    for (; i + LANES(64) <= words; i += LANES(64))
        THRESHOLD(vector64, GET_VECTOR, PUT_VECTOR)
    for (; i < words; i++)
        THRESHOLD(uint64_t, GET_WORD, PUT_WORD)
}

#ifndef COMPRESS
TARGET static inline uint64_t compress_bits(uint64_t word, uint64_t mask)
{
    uint64_t out = 0;
    for (unsigned at = 0; mask != 0; mask &= mask - 1, at++)
        out |= (word >> __builtin_ctzll(mask) & 1) << at;
    return out;
}
#define COMPRESS compress_bits
#endif

TARGET static void append(uint64_t *out, size_t stride, size_t at, const uint64_t *in,
                          size_t in_stride, unsigned planes, uint64_t mask)
{
    const unsigned count = (unsigned)__builtin_popcountll(mask), shift = at % 64;
    out += at / 64;
    if (count == 0)
        return;
    for (unsigned k = 0; k < planes; k++, out += stride) {
        uint64_t bits = mask == UINT64_MAX ? in[k * in_stride] : COMPRESS(in[k * in_stride], mask);
        out[0] = shift == 0 ? bits : out[0] | bits << shift;
        if (shift + count > 64)
            out[1] = bits >> (64 - shift);
    }
}

#ifndef EXPAND
#define EXPAND(bits)                                                                               \
    TARGET static unsigned expand##bits(uint##bits##_t *out, const uint##bits##_t *in,             \
                                        uint64_t mask)                                             \
    {                                                                                              \
        unsigned count = 0;                                                                        \
        for (; mask != 0; mask &= mask - 1)                                                        \
            out[__builtin_ctzll(mask)] = in[count++];                                              \
        return count;                                                                              \
    }
#endif
EXPAND(32)
EXPAND(64)

/*
 * Matrix products by blocks: DEPTH rows of b, COLUMNS of them at a time, packed so that they stay
 * in the cache; against them ROWS rows of a, with all sums in registers.
 */
#define MATRIX_ROWS 4
#define MATRIX_DEPTH 256

#define EACH_ROW(step, ...)                                                                        \
    step(0, __VA_ARGS__) step(1, __VA_ARGS__) step(2, __VA_ARGS__) step(3, __VA_ARGS__)
#if MATRIX_VECTORS == 4
#define ROW_LOAD(r, bits) vector##bits s##r##0 = {0}, s##r##1 = {0}, s##r##2 = {0}, s##r##3 = {0};
#define ROW_ADD(r, bits)                                                                           \
    {                                                                                              \
        const uint##bits##_t x = WORD_AT(bits, a, r * stride + d);                                 \
        s##r##0 += x * p[0];                                                                       \
        s##r##1 += x * p[1];                                                                       \
        s##r##2 += x * p[2];                                                                       \
        s##r##3 += x * p[3];                                                                       \
    }
#define ROW_STORE(r, bits)                                                                         \
    sums[4 * r] = s##r##0;                                                                         \
    sums[4 * r + 1] = s##r##1;                                                                     \
    sums[4 * r + 2] = s##r##2;                                                                     \
    sums[4 * r + 3] = s##r##3;
#else
#define ROW_LOAD(r, bits) vector##bits s##r##0 = {0}, s##r##1 = {0};
#define ROW_ADD(r, bits)                                                                           \
    {                                                                                              \
        const uint##bits##_t x = WORD_AT(bits, a, r * stride + d);                                 \
        s##r##0 += x * p[0];                                                                       \
        s##r##1 += x * p[1];                                                                       \
    }
#define ROW_STORE(r, bits)                                                                         \
    sums[2 * r] = s##r##0;                                                                         \
    sums[2 * r + 1] = s##r##1;
#endif

#define MATRIX(bits)                                                                               \
    enum { COLUMNS##bits = MATRIX_VECTORS * LANES(bits) };                                         \
    /* sums = rows 0 to 3 of a (k long, `stride` apart) times the packed panel */                  \
    TARGET static void tile##bits(vector##bits *sums, const uint##bits##_t *a, size_t stride,      \
                                  const vector##bits *panel, size_t k)                             \
    {                                                                                              \
        EACH_ROW(ROW_LOAD, bits)                                                                   \
        for (size_t d = 0; d < k; d++) {                                                           \
            const vector##bits *p = panel + d * MATRIX_VECTORS;                                    \
            EACH_ROW(ROW_ADD, bits)                                                                \
        }                                                                                          \
        EACH_ROW(ROW_STORE, bits)                                                                  \
    }                                                                                              \
    TARGET static void block##bits(uint##bits##_t *c, const uint##bits##_t *a,                     \
                                   const vector##bits *panel, size_t rows, size_t depth,           \
                                   size_t columns, size_t k, size_t n)                             \
    {                                                                                              \
        const size_t bytes = sizeof(uint##bits##_t);                                               \
        uint##bits##_t last[MATRIX_ROWS * MATRIX_DEPTH] = {0};                                     \
        for (size_t r = 0; r < rows; r += MATRIX_ROWS) {                                           \
            size_t left = rows - r < MATRIX_ROWS ? rows - r : MATRIX_ROWS;                         \
            vector##bits sums[MATRIX_ROWS * MATRIX_VECTORS];                                       \
            uint##bits##_t out[MATRIX_ROWS][COLUMNS##bits];                                        \
            if (left == MATRIX_ROWS)                                                               \
                tile##bits(sums, a + r * k, k, panel, depth);                                      \
            else {                                                                                 \
                for (size_t i = 0; i < left; i++)                                                  \
                    memcpy(last + i * depth, a + (r + i) * k, depth * bytes);                      \
                tile##bits(sums, last, depth, panel, depth);                                       \
            }                                                                                      \
            memcpy(out, sums, sizeof out);                                                         \
            for (size_t i = 0; i < left; i++)                                                      \
                for (size_t j = 0; j < columns; j++)                                               \
                    c[(r + i) * n + j] = (uint##bits##_t)(c[(r + i) * n + j] + out[i][j]);         \
        }                                                                                          \
    }                                                                                              \
    TARGET static void matrix##bits(uint##bits##_t *c, const uint##bits##_t *a,                    \
                                    const uint##bits##_t *b, size_t m, size_t k, size_t n)         \
    {                                                                                              \
        vector##bits panel[MATRIX_DEPTH * MATRIX_VECTORS];                                         \
        for (size_t j = 0; j < n; j += COLUMNS##bits)                                              \
            for (size_t d = 0; d < k; d += MATRIX_DEPTH) {                                         \
                size_t columns = n - j < COLUMNS##bits ? n - j : COLUMNS##bits;                    \
                size_t depth = k - d < MATRIX_DEPTH ? k - d : MATRIX_DEPTH;                        \
                if (columns < COLUMNS##bits)                                                       \
                    memset(panel, 0, sizeof panel);                                                \
                for (size_t i = 0; i < depth; i++)                                                 \
                    memcpy(panel + i * MATRIX_VECTORS, b + (d + i) * n + j, columns * sizeof *b);  \
                block##bits(c + j, a + d, panel, m, depth, columns, k, n);                         \
            }                                                                                      \
    }

MATRIX(16)
MATRIX(32)

#define KERNEL_RING_TABLE(bits)                                                                    \
    .multiply##bits = multiply##bits, .inner##bits = inner##bits, .dot##bits = dot##bits,          \
    .sum##bits = sum##bits, .join##bits = join##bits, .bit_less##bits = bit_less##bits,            \
    .bit_sign##bits = bit_sign##bits, .bit_plus##bits = bit_plus##bits

#define KERNEL_TABLE(table_name)                                                                   \
    {                                                                                              \
        .name = table_name, .gate = gate, .exclusive = exclusive, KERNEL_RING_TABLE(16),           \
        KERNEL_RING_TABLE(32), KERNEL_RING_TABLE(64), .expand32 = expand32, .expand64 = expand64,  \
        .append = append, .threshold = threshold, .transpose = transpose, .field = field,          \
        .matrix16 = matrix16, .matrix32 = matrix32,                                                \
    }

#endif
