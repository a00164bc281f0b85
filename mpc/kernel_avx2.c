#include "mpc/kernel.h"

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2,bmi2,popcnt,pclmul")))
#define VECTOR 32
#define MATRIX_VECTORS 2

#include <immintrin.h>

#define COMPRESS _pext_u64
#define CARRYLESS

#include "mpc/kernel_body.inc"

/* One step between whole vectors: rows k and k + j, j a multiple of the 4 rows of a vector. */
TARGET static inline void swap_rows(__m256i *m, unsigned j, uint64_t mask_word)
{
    const __m256i mask = _mm256_set1_epi64x((long long)mask_word);
    const __m128i shift = _mm_cvtsi32_si128((int)j);
    for (unsigned k = 0; k < 16; k = ((k | j / 4) + 1) & ~(j / 4)) {
        __m256i high = m[k | j / 4];
        __m256i t = _mm256_and_si256(_mm256_xor_si256(_mm256_srl_epi64(m[k], shift), high), mask);
        m[k] = _mm256_xor_si256(m[k], _mm256_sll_epi64(t, shift));
        m[k | j / 4] = _mm256_xor_si256(high, t);
    }
}

/* A step within a vector: `other` holds each row's partner, j rows away; `low` is all ones in the
 * lower row of each pair. */
TARGET static inline __m256i swap_lanes(__m256i own, __m256i other, __m256i low, int j,
                                        uint64_t mask_word)
{
    const __m256i mask = _mm256_set1_epi64x((long long)mask_word);
    const __m128i shift = _mm_cvtsi32_si128(j);
    __m256i in_low = _mm256_or_si256(_mm256_and_si256(own, mask),
                                     _mm256_sll_epi64(_mm256_and_si256(other, mask), shift));
    __m256i in_high = _mm256_or_si256(_mm256_andnot_si256(mask, own),
                                      _mm256_and_si256(_mm256_srl_epi64(other, shift), mask));
    return _mm256_blendv_epi8(in_high, in_low, low);
}

TARGET static void transpose(uint64_t *rows, size_t count)
{
    const __m256i low2 = _mm256_set_epi64x(0, 0, -1, -1), low1 = _mm256_set_epi64x(0, -1, 0, -1);
    for (; count > 0; count--, rows += 64) {
        __m256i m[16];
        memcpy(m, rows, sizeof m);
        swap_rows(m, 32, 0x00000000ffffffff);
        swap_rows(m, 16, 0x0000ffff0000ffff);
        swap_rows(m, 8, 0x00ff00ff00ff00ff);
        swap_rows(m, 4, 0x0f0f0f0f0f0f0f0f);
        for (unsigned k = 0; k < 16; k++) {
            __m256i v = swap_lanes(m[k], _mm256_permute4x64_epi64(m[k], 0x4e), low2, 2,
                                   0x3333333333333333);
            m[k] = swap_lanes(v, _mm256_permute4x64_epi64(v, 0xb1), low1, 1, 0x5555555555555555);
        }
        memcpy(rows, m, sizeof m);
    }
}

/* --- the check -------------------------------------------------------------------------------- */

#define EACH_HALF(product)                                                                         \
    (vector64) _mm256_set_m128i(                                                                   \
        product(_mm256_extracti128_si256((__m256i)x, 1), _mm256_extracti128_si256((__m256i)y, 1)), \
        product(_mm256_castsi256_si128((__m256i)x), _mm256_castsi256_si128((__m256i)y)))

TARGET static inline __m128i low_product(__m128i x, __m128i y)
{
    return _mm_clmulepi64_si128(x, y, 0x00);
}

TARGET static inline __m128i high_product(__m128i x, __m128i y)
{
    return _mm_clmulepi64_si128(x, y, 0x11);
}

TARGET static inline __m128i next_product(__m128i x, __m128i y)
{
    return _mm_clmulepi64_si128(x, y, 0x01);
}

TARGET static inline vector64 even(vector64 x, vector64 y)
{
    return EACH_HALF(low_product);
}

TARGET static inline vector64 odd(vector64 x, vector64 y)
{
    return EACH_HALF(high_product);
}

TARGET static inline vector64 fold(vector64 x, vector64 y)
{
    return EACH_HALF(next_product);
}

/* In 16 bytes, the upper ones zero: one addition instead of two. */
TARGET static inline vector64 carryless(vector64 x, vector64 y)
{
    const __m128i x0 = _mm256_castsi256_si128((__m256i)x), y0 = _mm256_castsi256_si128((__m256i)y);
    const __m128i x1 = _mm256_extracti128_si256((__m256i)x, 1);
    const __m128i y1 = _mm256_extracti128_si256((__m256i)y, 1);
    return (vector64)_mm256_zextsi128_si256(low_product(x0, y0) ^ high_product(x0, y0) ^
                                            low_product(x1, y1) ^ high_product(x1, y1));
}

TARGET static inline vector64 field_times(vector64 x, vector64 y)
{
    const vector64 terms = {0x1b, 0x1b, 0x1b, 0x1b}, low = even(x, y), high = odd(x, y);
    const vector64 low1 = fold(low, terms), high1 = fold(high, terms);
    const vector64 low2 = fold(low1, terms), high2 = fold(high1, terms);
    return (vector64)_mm256_unpacklo_epi64((__m256i)(low ^ low1 ^ low2),
                                           (__m256i)(high ^ high1 ^ high2));
}

/* Sums of four rows' weights, byte by byte: for the low half of an index, and for the high one. */
struct halves {
    __m128i low, high;
};
#define LOOKUP struct halves

TARGET static void lookup_tables(struct halves table[8][8], const uint64_t *weight)
{
    for (unsigned j = 0; j < 16; j++) {
        uint64_t sum[16] = {0};
        for (unsigned v = 1; v < 16; v++)
            sum[v] = sum[v & (v - 1)] ^ weight[4 * j + (unsigned)__builtin_ctz(v)];
        for (unsigned i = 0; i < 8; i++) {
            uint8_t bytes[16];
            for (unsigned v = 0; v < 16; v++)
                bytes[v] = (uint8_t)(sum[v] >> 8 * i);
            memcpy(j % 2 == 0 ? &table[i][j / 2].low : &table[i][j / 2].high, bytes, sizeof bytes);
        }
    }
}

TARGET static inline vector64 lookup(vector64 index, const struct halves *t)
{
    const __m256i low_bits = _mm256_set1_epi8(0x0f), v = (__m256i)index;
    const __m256i low = _mm256_and_si256(v, low_bits);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), low_bits);
    return (vector64)_mm256_xor_si256(
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t->low), low),
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t->high), high));
}

#include "mpc/kernel_check.inc"

const struct kernel kernel_avx2 = KERNEL_TABLE("avx2");

#endif
