/*
 * base/prg_vaes.h - AES-128-CTR by VAES, for prg.c. Call these only where
 * processor_has_wide_ciphers() is true and the processor runs the set that the name ends with.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PRG_CHUNK ((size_t)512) /* bytes made together */

struct prg_schedule {
    uint8_t round[11][16];
};

#if defined(__x86_64__)
void prg_vaes_schedule(struct prg_schedule *schedule, const uint8_t key[16]);

/* Puts `chunks` of the stream, from number `chunk` on, into `out`, XORed with `in` (or NULL). */
void prg_vaes_avx2(const struct prg_schedule *schedule, uint64_t chunk, uint8_t *out,
                   const uint8_t *in, size_t chunks);
void prg_vaes_avx512(const struct prg_schedule *schedule, uint64_t chunk, uint8_t *out,
                     const uint8_t *in, size_t chunks);
#endif
