/*
 * base/lattice_plan.h - how the columns of a table lie in ciphertexts, so that one product
 * counts all pairs of many columns. All of it follows from public sizes.
 *
 * A code of an attribute is a column of bits, in all `columns` of them. A block has n rows; a left
 * tile has U columns in one polynomial, a right tile V, with U V n <= N:
 *
 *   A = sum of a_(u,i) X^(i + u n)          B = sum of b_(v,i) X^(n - 1 - i + v U n)
 *
 * Coefficient n - 1 + n (u + v U) of A B is the sum over i of a_(u,i) b_(v,i), and nothing else
 * lands there: another u, v or i moves the exponent by something that is no multiple of n, or to
 * another place, and what passes N comes back below n - 1. Products of blocks add up. Of a tile's
 * columns the left one belongs to the attribute that comes first.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define LATTICE_LEVELS 13
#define LATTICE_N (1 << LATTICE_LEVELS) /* coefficients of a polynomial */
#define LATTICE_PRIMES 4
#define LATTICE_BITS 53 /* of a word on the wire: each coefficient has one for each prime */
#define LATTICE_POLY_SIZE ((size_t)LATTICE_PRIMES * LATTICE_N * LATTICE_BITS / 8)
#define LATTICE_RESULT_SIZE (3 * LATTICE_POLY_SIZE)
#define LATTICE_SEED 16

#define LATTICE_COLUMNS 4096             /* most */
#define LATTICE_TILE 64                  /* most columns in a tile */
#define LATTICE_BLOCKS ((size_t)1 << 20) /* most: noise of all stays far below what hides it */

struct lattice_shape {
    size_t rows, attributes, pairs;
    const uint32_t *size;      /* codes of each attribute */
    const uint32_t (*pair)[2]; /* attributes to be counted together, the first one before */
};

struct lattice_plan {
    struct lattice_shape shape; /* its vectors are these: */
    uint32_t *size, (*pair)[2];
    size_t *first;        /* column of each attribute; one more: all columns */
    size_t rows, blocks;  /* n, and how many blocks */
    size_t left, right;   /* U, V */
    size_t lefts, rights; /* tiles */
    size_t results;
    size_t (*result)[2]; /* the tiles of each: a left one, a right one */
};

/*
 * The plan of the fewest bytes: what an owner sends and what the keeper gets. ERR_RANGE for shapes
 * that it has no room for.
 */
enum err lattice_plan_new(struct lattice_plan **plan, const struct lattice_shape *shape) MUST_CHECK;
void lattice_plan_free(struct lattice_plan **plan);

/*
 * Ciphertexts of an upload, besides an encryption of 0: by block, the left tiles, then the right.
 */
size_t lattice_plan_fresh(const struct lattice_plan *plan);
/* Bytes of an upload: the seed, the encryption of 0, these. */
size_t lattice_upload_size(const struct lattice_plan *plan);

/*
 * One result's words, modulo 2^64, to the cells that are in it: out[p] has the cells of pair p, the
 * second attribute's code counting fastest.
 */
void lattice_plan_take(const struct lattice_plan *plan, size_t result, const uint64_t *words,
                       uint64_t *const *out);
