/*
 * mpc/words.h - steps on vectors of numbers, words of any ring but RING_BITS, that are not worth a
 * kernel. Vectors are aligned to a word, no more. An output may be an input, nothing else overlaps.
 */
#ifndef TREFOIL_MPC_WORDS_H
#define TREFOIL_MPC_WORDS_H

#include "mpc/share.h"

/* z += x; z -= x; z = factor x; z = x + bits - y, where x and the bits may be NULL, for zeros */
void words_add(enum ring ring, void *z, const void *x, size_t n);
void words_subtract(enum ring ring, void *z, const void *x, size_t n);
void words_scale(enum ring ring, void *z, const void *x, word128 factor, size_t n);
void words_add_bits(enum ring ring, void *z, const void *x, const uint64_t *bits, const void *y,
                    size_t n);

#endif
