/*
 * protocols/lanes.h - public permutations of the lanes of bits: what a server does alone, with one
 * component at a time. Lanes are counted from bit 0 of a word up; all vectors are whole words.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The last lane becomes the first. */
void lanes_reverse(uint64_t *x, size_t words);

/*
 * Lane i of out is lane 64 from + i + ahead of x; 0 where x, of `all` words, has none. They do not
 * overlap.
 */
void lanes_shift(uint64_t *out, size_t words, const uint64_t *x, size_t all, size_t from,
                 ptrdiff_t ahead);

/*
 * Words 2 k and 2 k + 1 of x have 64 pairs of lanes i and i + d, where bit d of i is 0. These
 * become word k: lanes i of the first word stay where they are, those of the second move up by d. d
 * is a power of two below 64. If x has an odd number of words, a word 0 completes the last two.
 *   lanes_lower    out = x_i
 *   lanes_differ   out = x_i ^ x_(i+d)
 *   lanes_return   x_i ^= moved, x_(i+d) ^= moved
 */
void lanes_lower(uint64_t *out, const uint64_t *x, size_t words, unsigned d);
void lanes_differ(uint64_t *out, const uint64_t *x, size_t words, unsigned d);
void lanes_return(uint64_t *x, const uint64_t *moved, size_t words, unsigned d);
