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

const struct kernel kernel_avx2 = KERNEL_TABLE("avx2");

#endif
