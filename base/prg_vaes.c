#include "base/prg_vaes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define ROUNDS 10
#define VECTORS 8 /* on their way at a time, to fill the pipeline */

__attribute__((target("aes"))) static __m128i next_key(__m128i key, __m128i assist)
{
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, _mm_shuffle_epi32(assist, 0xff));
}

/* The constant of _mm_aeskeygenassist_si128() is part of the instruction: it is added here. */
__attribute__((target("aes"))) void prg_vaes_schedule(struct prg_schedule *schedule,
                                                      const uint8_t key[16])
{
    static const uint8_t constant[ROUNDS] = {1, 2, 4, 8, 16, 32, 64, 128, 27, 54};
    __m128i k = _mm_loadu_si128((const __m128i *)(const void *)key);
    _mm_storeu_si128((__m128i *)(void *)schedule->round[0], k);
    for (int r = 1; r <= ROUNDS; r++) {
        const __m128i assist = _mm_aeskeygenassist_si128(k, 0);
        k = next_key(k, _mm_xor_si128(assist, _mm_set1_epi32(constant[r - 1])));
        _mm_storeu_si128((__m128i *)(void *)schedule->round[r], k);
    }
}

/*
 * A block's counter is a number of 128 bits, highest byte first, whose upper half stays 0: its
 * lower half is kept as a word and its bytes are reversed.
 */
#define TARGET __attribute__((target("vaes,avx2")))
#define NAME(name) name##_avx2
#define WIDE __m256i
#define BLOCKS 2
#define OPERATION(name) _mm256_##name
#define BITWISE(name) _mm256_##name##_si256
#define BROADCAST _mm256_broadcastsi128_si256
#define NUMBERED _mm256_set_epi64x(1, 0, 0, 0)
#include "base/prg_vaes.inc"

#define TARGET __attribute__((target("vaes,avx512f,avx512bw")))
#define NAME(name) name##_avx512
#define WIDE __m512i
#define BLOCKS 4
#define OPERATION(name) _mm512_##name
#define BITWISE(name) _mm512_##name##_si512
#define BROADCAST _mm512_broadcast_i32x4
#define NUMBERED _mm512_set_epi64(3, 0, 2, 0, 1, 0, 0, 0)
#include "base/prg_vaes.inc"

#endif
