/*
 * protocols/bitonic.h - merges sorted lists of shared rows into one, by Batcher's bitonic merger.
 *
 * Two lists become one: the first is reversed, so that both together fall and then rise. Then for d
 * = the largest power of two below their length, down to 1, all rows i and i + d where bit d of i
 * is 0 are put in order. So the pairs of a layer are runs of words d lanes apart or, where d is
 * below 64, lanes of one word: no step moves single bits. (Odd-even merging saves up to half a
 * layer, but has pairs that begin in the middle of words.) Many lists are merged two by two, in a
 * tree, all pairs of a level in the same exchanges.
 *
 *   a pair x, y    s = [x > y] by the planes that order (mpc/circuits/order.h)
 *                  x ^= s (x ^ y), y ^= s (x ^ y) in all planes
 *   ANDs a pair    2 o - ceil(log2(o + 1)) + w, of w planes, o of which order
 *   exchanges         ceil(log2(o + 1)) + 1 a tile; a layer has ceil(pairs / tile) tiles
 *
 * LEAKS: nothing; the lengths are public.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define BITONIC_TILE ((size_t)1 << 16) /* pairs, where there is one lane and no check */

/*
 * `rows` holds the lists one after the other, list k being words[k] words of each plane. Planes
 * 0 .. order - 1, the lowest first, are the number that lists are sorted by, ascending. Rows of the
 * same number come out in an order that depends on all others: make a row's place part of the
 * number where that matters.
 */
enum err bitonic_merge(struct party *p, const struct planes *rows, unsigned order,
                       const size_t *words, size_t lists) MUST_CHECK;

/*
 * Adds the words of 8 bytes that each server sends for that, and the exchanges, on one lane without
 * a check; `list` has each list's words of a plane, and is used up.
 */
void bitonic_cost(unsigned order, unsigned width, size_t *list, size_t lists, uint64_t *words,
                  uint64_t *exchanges);
