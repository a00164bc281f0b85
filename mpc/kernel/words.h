/*
 * mpc/kernel/words.h - steps on words that are not worth a kernel.
 *
 * Numbers are words of any ring but RING_BITS. Vectors are aligned to a word, no more. An output
 * may be an input (in words_add_bits() only y); nothing else may overlap.
 */
#pragma once

#include "mpc/kernel/share.h"

/* z += x; z -= x; z = factor x; z = x + bits - y, where x and the bits may be NULL, for zeros */
void words_add(enum share_ring ring, void *z, const void *x, size_t n);
void words_subtract(enum share_ring ring, void *z, const void *x, size_t n);
void words_scale(enum share_ring ring, void *z, const void *x, word128 factor, size_t n);
void words_add_bits(enum share_ring ring, void *z, const void *x, const uint64_t *bits,
                    const void *y, size_t n);

/* Bits 0 .. n - 1 of out = those of v from bit `from` on; they do not overlap. */
void words_bits_from(uint64_t *out, const uint64_t *v, size_t from, size_t n);
