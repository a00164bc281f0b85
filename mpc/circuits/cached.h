/*
 * mpc/circuits/cached.h - sums of |x - c| for many public c, on shared x that stay the same.
 *
 * A number 0 <= x < 2^l is cut into D digits, as even as can be: D = 4 for l <= 20, 8 for l <= 40.
 * For each digit, of width d, the cache keeps [digit < v] for v = 1 .. 2^d - 1, and Z = [x < its
 * weight]; and [x = 0] as a number. For a public C >= 2 whose highest nonzero digit is digit k,
 *
 *   [x < C]  is the carry out of  g = [digit i < C_i], p = [digit i = C_i]      for i <= k
 *                                 g = 0, p = Z of digit k + 1                   if there is one
 *
 * and all of these are chosen, or made by XOR, from what is kept. For C = 0 the bit is 0, and for C
 * = 1 it is the kept [x = 0]. With C = c rounded up and s = [x < C],
 *
 *   sum |x - c|  =  sum (x - c) + 2 sum s (c - x)
 *
 * where s chooses numbers (move_choose()). Cells with C <= 1 are in no message. Any other costs
 * 2(D-1) - ceil(log2 D) ANDs and 4 elements over all servers; a sum costs 2 elements more. At l =
 * 17 that is 11.2 bytes a server.
 */
#pragma once

#include "mpc/circuits/bits.h"
#include "mpc/kernel/kernel.h"

#define CACHED_GRID 10 /* most estimates are multiples of 2^-10 */
#define CACHED_BITS 52 /* largest l: sums stay below 2^64 */
#define CACHED_DIGITS 11
#define CACHED_KEPT 32 /* most that is kept for a digit */

struct cached {
    unsigned bits, digits;        /* l, D */
    uint8_t width[CACHED_DIGITS]; /* of each digit, from the lowest */
    /*
     * For each digit from the lowest: Z, then [digit < v] by v. All planes of 512 lanes are
     * together, KERNEL_BLOCK words each.
     */
    struct planes kept;
    struct share64 x, zero; /* borrowed; [x = 0] */
};

/*
 * Keeps the above for x, which is borrowed for the life of the result; `bits` are its bits. A digit
 * takes 2^d - d - 1 ANDs and ceil(log2 d) exchanges, the Z's up to 12 ANDs and ceil(log2 D)
 * exchanges, [x = 0] 4 elements over all servers and 1 exchange: at l = 17, 63 ANDs and 6
 * exchanges. What is kept takes 20 bytes a lane at l = 17 (32 at l = 20, 64 at l = 40), and [x = 0]
 * another 16. Exchanges repeat every 2^26 bits that are kept. LEAKS: nothing.
 */
enum err cached_new(struct party *p, struct cached **c, struct share64 x,
                    const struct planes *bits) MUST_CHECK;
void cached_free(struct cached **c);

/* `cells` lanes of the cache from lane `from`, a multiple of 64, and a public number for each. */
struct cached_span {
    size_t from, cells;
    const uint64_t *c; /* real numbers times the unit, none above 2^l */
};

/*
 * out[k] = `unit` times the sum over span k of |x - c|. Only integers are compared: C is c rounded
 * up. 1 <= unit <= 2^62 / 2^l, and out[k] must be below 2^64; it is if every c_j <= 2^l, the sum of
 * x is below 2^l and that of c below 2^(l+1). ceil(log2 D) + 1 exchanges, none if every C is at
 * most 1. LEAKS: nothing.
 */
enum err cached_distance(struct party *p, struct share64 out, const struct cached *x,
                         const struct cached_span *spans, uint64_t unit) MUST_CHECK;
