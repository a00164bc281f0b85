#include "mpc/kernel/kernel.h"

#if defined(__x86_64__)

#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,bmi2,popcnt,"        \
                          "pclmul,vpclmulqdq")))
#define VECTOR 64
#define MATRIX_ROWS 5
#define MATRIX_COLUMNS 5

#include <immintrin.h>

#define SPREAD16(bits) _mm512_maskz_set1_epi16((__mmask32)(bits), 1)
#define SPREAD32(bits) _mm512_maskz_set1_epi32((__mmask16)(bits), 1)
#define SPREAD64(bits) _mm512_maskz_set1_epi64((__mmask8)(bits), 1)
#define OWN_SPREAD
#define COMPRESS _pext_u64
#define STREAM(out, x) _mm512_stream_si512((__m512i *)(out), (__m512i)(x))
#define STREAMED _mm_sfence
#define OWN_COMPRESS
#define MULTIPLY_ADD(z, x, y) ((real)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z)))
#define REALS(x) ((real)_mm512_cvtepi32_pd(_mm256_cvtepu16_epi32((__m128i)(x))))
#define CROSS_COLUMNS 4u
#define SHORT_PRODUCTS(x, y) (four64) _mm256_mul_epu32((__m256i)(x), (__m256i)(y))
#define POINTS_BLOCKS 2u
#define POINTS_PRODUCTS(x, y) (points64) _mm512_mul_epu32((__m512i)(x), (__m512i)(y))
#define POINTS_ROW(x, blocks)                                                                      \
    (points64) _mm512_inserti64x4(                                                                 \
        _mm512_zextsi256_si512((__m256i)FOUR(x)),                                                  \
        _mm256_maskz_loadu_epi64((__mmask8)((blocks) > 1 ? 15 : 0), (x) + 64), 1)
#define CHOSEN_ROWS 5u
#define CHOSEN_PLANES 4u
#define ADD_CHOSEN16(sum, bits, x)                                                                 \
    ((vector16)_mm512_mask_add_epi16((__m512i)(sum), (__mmask32)(bits), (__m512i)(sum),            \
                                     (__m512i)(x)))

#include "mpc/kernel/kernel_body.inc"

TARGET static unsigned compress64(uint64_t *out, const uint64_t *in, uint64_t mask)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        const __mmask8 chosen = (__mmask8)(mask >> i);
        const unsigned n = (unsigned)__builtin_popcount(chosen);
        const __m512i words = _mm512_maskz_compress_epi64(chosen,
                                                          _mm512_maskz_loadu_epi64(chosen, in + i));
        _mm512_mask_storeu_epi64(out + count, (__mmask8)((1u << n) - 1), words);
        count += n;
    }
    return count;
}

/* Qword c of vector r changes places with qword r of vector c. */
TARGET static inline void swap_qwords(__m512i z[8])
{
    __m512i t[8], u[8];
    for (unsigned i = 0; i < 4; i++) {
        t[2 * i] = _mm512_unpacklo_epi64(z[2 * i], z[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi64(z[2 * i], z[2 * i + 1]);
    }
    /* t[2i + k] holds rows 2i and 2i + 1 of columns k, 2 + k, 4 + k, 6 + k */
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < 2; k++) {
            u[4 * i + k] = _mm512_shuffle_i64x2(t[4 * i + k], t[4 * i + 2 + k], 0x88);
            u[4 * i + 2 + k] = _mm512_shuffle_i64x2(t[4 * i + k], t[4 * i + 2 + k], 0xdd);
        }
    for (unsigned k = 0; k < 2; k++) {
        z[k] = _mm512_shuffle_i64x2(u[k], u[4 + k], 0x88);
        z[4 + k] = _mm512_shuffle_i64x2(u[k], u[4 + k], 0xdd);
        z[2 + k] = _mm512_shuffle_i64x2(u[2 + k], u[6 + k], 0x88);
        z[6 + k] = _mm512_shuffle_i64x2(u[2 + k], u[6 + k], 0xdd);
    }
}

/*
 * Bytes first: within the 8 rows of a vector, qword c becomes column c's bytes, last row first, as
 * the affine instruction wants its matrix. That instruction transposes the 8 x 8 bits of each
 * qword; then qwords change places between vectors and bytes within them.
 */
TARGET static void transpose(uint64_t *rows, size_t count)
{
    const __m512i one_bits = _mm512_set1_epi64((long long)0x8040201008040201);
    uint8_t forward[64], reversed[64];
    __m512i bytes, bytes_reversed;
    for (unsigned i = 0; i < 64; i++) {
        forward[i] = (uint8_t)(i % 8 * 8 + i / 8);
        reversed[i] = (uint8_t)((7 - i % 8) * 8 + i / 8);
    }
    memcpy(&bytes, forward, sizeof bytes);
    memcpy(&bytes_reversed, reversed, sizeof bytes);
    for (; count > 0; count--, rows += 64) {
        __m512i z[8];
        for (unsigned r = 0; r < 8; r++) {
            z[r] = _mm512_permutexvar_epi8(bytes_reversed, _mm512_loadu_si512(rows + 8 * r));
            z[r] = _mm512_gf2p8affine_epi64_epi8(one_bits, z[r], 0);
        }
        swap_qwords(z);
        for (unsigned r = 0; r < 8; r++)
            _mm512_storeu_si512(rows + 8 * r, _mm512_permutexvar_epi8(bytes, z[r]));
    }
}

/* --- the check -------------------------------------------------------------------------------- */

TARGET static inline vector64 even(vector64 x, vector64 y)
{
    return (vector64)_mm512_clmulepi64_epi128((__m512i)x, (__m512i)y, 0x00);
}

TARGET static inline vector64 odd(vector64 x, vector64 y)
{
    return (vector64)_mm512_clmulepi64_epi128((__m512i)x, (__m512i)y, 0x11);
}

TARGET static inline vector64 add_products(vector64 sum, vector64 x, vector64 y)
{
    return (vector64)_mm512_ternarylogic_epi64((__m512i)sum, (__m512i)even(x, y),
                                               (__m512i)odd(x, y), 0x96);
}

/* The low halves of two vectors of products, reduced, in turn. */
TARGET static inline vector64 reduced(vector64 low, vector64 high)
{
    const __m512i terms = _mm512_set1_epi64(0x1b);
    const __m512i low1 = _mm512_clmulepi64_epi128((__m512i)low, terms, 0x01);
    const __m512i high1 = _mm512_clmulepi64_epi128((__m512i)high, terms, 0x01);
    const __m512i low2 = _mm512_clmulepi64_epi128(low1, terms, 0x01);
    const __m512i high2 = _mm512_clmulepi64_epi128(high1, terms, 0x01);
    return (vector64)_mm512_unpacklo_epi64((__m512i)low ^ low1 ^ low2,
                                           (__m512i)high ^ high1 ^ high2);
}

TARGET static inline vector64 field_times(vector64 x, vector64 y)
{
    return reduced(even(x, y), odd(x, y));
}

/* A matrix of 8 x 8 bits, as the affine instruction wants it: the mask of the top bit first. */
#define PIECES 1
#define LOOKUP uint64_t

TARGET static void lookup_tables(uint64_t table[8][8], const uint64_t *weight)
{
    uint64_t column[64]; /* bit a of column[q]: bit q of weight[a] */
    memcpy(column, weight, sizeof column);
    transpose(column, 1);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < 8; j++) {
            table[i][j] = 0;
            for (unsigned q = 0; q < 8; q++)
                table[i][j] |= (column[8 * i + q] >> 8 * j & 0xff) << 8 * (7 - q);
        }
}

TARGET static inline void pieces(vector64 index[1], vector64 v)
{
    index[0] = v;
}

TARGET static inline vector64 lookup_map(const uint64_t *matrix)
{
    return (vector64)_mm512_set1_epi64((long long)*matrix);
}

TARGET static inline vector64 lookup(vector64 index, vector64 map)
{
    return (vector64)_mm512_gf2p8affine_epi64_epi8((__m512i)index, (__m512i)map, 0);
}

#include "mpc/kernel/kernel_check.inc"

const struct kernel kernel_avx512 = KERNEL_TABLE("avx512");

#endif
