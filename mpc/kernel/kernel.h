/*
 * mpc/kernel/kernel.h - the local share algebra: what a server computes between two messages.
 *
 * Pure functions on words, in one table for each instruction set; all tables give identical bytes.
 * A table is chosen once, by kernel_best(), and hangs off `struct party`; only the functions of a
 * table are compiled for more than the baseline, each with its own target attribute.
 *
 *   portable   any processor
 *   neon       arm64 with AES and PMULL
 *   avx2       AVX2, BMI2, PCLMULQDQ; a table of its own where there is VPCLMULQDQ
 *   avx512     AVX-512 F, BW, DQ, VL, VBMI; GFNI; BMI2; VPCLMULQDQ (Ice Lake, Zen 4 and later)
 *
 * All functions take any length, zero included; all but transpose, linear16, axpy16 and matrix16
 * take any alignment. An output may be an input at the same position; nothing else may overlap. No
 * branch or index depends on the value of a word that is not public, such as a mask of compress64
 * or a weight.
 */
#pragma once

#include "mpc/kernel/share.h"

#include <stdbool.h>

#define KERNEL_BLOCK 8
#define KERNEL_DIGIT 6 /* most bits of a digit */
#define KERNEL_KEPT (1 << KERNEL_DIGIT)
#define KERNEL_ROWS 64
#define KERNEL_COLUMNS 8
#define KERNEL_GROUP ((size_t)KERNEL_ROWS * KERNEL_COLUMNS)
#define KERNEL_POINTS 729 /* 3^6 */
#define KERNEL_VALUE_LOW 31
#define KERNEL_STRIP ((size_t)64) /* columns of a strip of 64 rows of 16 bits */
#define KERNEL_HALF 32            /* rows */
#define KERNEL_CROSS (2 * KERNEL_HALF - 1)
#define KERNEL_BUCKETS ((size_t)8 << 8)

struct kernel {
    const char *name;
    /* z = x_a (y_a ^ y_b) ^ x_b y_a; ^ c if c is not NULL */
    void (*gate)(uint64_t *z, const uint64_t *xa, const uint64_t *xb, const uint64_t *ya,
                 const uint64_t *yb, const uint64_t *c, size_t words);
    /* out = x, past the caches: for what is not read again soon */
    void (*stream)(uint64_t *out, const uint64_t *x, size_t words);
    void (*xor_bits)(uint64_t *out, const uint64_t *x, const uint64_t *y, size_t words);
    /* out = in ^ x ^ y */
    void (*join_bits)(uint64_t *out, const uint64_t *in, const uint64_t *x, const uint64_t *y,
                      size_t words);
    /* z = z - f + x_a (y_a + y_b) + x_b y_a: a multiplication's summand, z - f being its mask */
    void (*multiply16)(uint16_t *z, const uint16_t *f, const uint16_t *xa, const uint16_t *xb,
                       const uint16_t *ya, const uint16_t *yb, size_t n);
    void (*multiply64)(uint64_t *z, const uint64_t *f, const uint64_t *xa, const uint64_t *xb,
                       const uint64_t *ya, const uint64_t *yb, size_t n);
    /* with b the bits as numbers: out = b - f - g;  out = (1 - 2 b) v + g;  out = b v + g */
    void (*bit_less16)(uint16_t *out, const uint64_t *b, const uint16_t *f, const uint16_t *g,
                       size_t n);
    void (*bit_less32)(uint32_t *out, const uint64_t *b, const uint32_t *f, const uint32_t *g,
                       size_t n);
    void (*bit_less64)(uint64_t *out, const uint64_t *b, const uint64_t *f, const uint64_t *g,
                       size_t n);
    void (*bit_sign16)(uint16_t *out, const uint64_t *b, const uint16_t *v, const uint16_t *g,
                       size_t n);
    void (*bit_sign64)(uint64_t *out, const uint64_t *b, const uint64_t *v, const uint64_t *g,
                       size_t n);
    void (*bit_times16)(uint16_t *out, const uint64_t *b, const uint16_t *v, const uint16_t *g,
                        size_t n);
    void (*bit_times32)(uint32_t *out, const uint64_t *b, const uint32_t *v, const uint32_t *g,
                        size_t n);
    void (*bit_times64)(uint64_t *out, const uint64_t *b, const uint64_t *v, const uint64_t *g,
                        size_t n);
    /* the sum of x_a (y_a + y_b) + x_b y_a; of x y; of x */
    uint64_t (*inner64)(const uint64_t *xa, const uint64_t *xb, const uint64_t *ya,
                        const uint64_t *yb, size_t n);
    uint64_t (*dot64)(const uint64_t *x, const uint64_t *y, size_t n);
    uint64_t (*sum64)(const uint64_t *x, size_t n);
    /* out = in + x + y: the third component joins the two of an opening */
    void (*join64)(uint64_t *out, const uint64_t *in, const uint64_t *x, const uint64_t *y,
                   size_t n);
    /* out[k] = in[i] for the k-th set bit i of a public mask; returns how many are set. */
    unsigned (*compress64)(uint64_t *out, const uint64_t *in, uint64_t mask);
    /*
     * Takes the bits that a public mask chooses from one word of each of `planes` planes,
     * `in_stride` words apart, and puts them one after another from lane `at` of planes `stride`
     * words apart. Lanes from `at` on in its word must be zero, or `at` a multiple of 64.
     */
    void (*append)(uint64_t *out, size_t stride, size_t at, const uint64_t *in, size_t in_stride,
                   unsigned planes, uint64_t mask);
    /*
     * What a carry needs from a digit b of `width` bits, whose planes are `bits`, and from planes
     * y(1) .. y(2^width - 1), `stride` words apart:
     *   g = y(b)    p = y(b) ^ y(b + 1)       with y(0) = 0 and y(2^width) = `last`
     */
    void (*digit)(uint64_t *g, uint64_t *p, const uint64_t *y, size_t stride, unsigned width,
                  const uint64_t *bits, size_t bits_stride, size_t words, bool last);
    /*
     * Bit k of row i goes to bit i of row k, in `count` matrices of 64 rows of 64 bits, in place.
     * They follow one another.
     */
    void (*transpose)(uint64_t *m, size_t count);
    /* z ^= x y in GF(2^64) modulo x^64 + x^4 + x^3 + x + 1 */
    void (*field)(uint64_t *z, const uint64_t *x, const uint64_t *y, size_t n);
    /* out = p x + q y */
    void (*linear16)(uint16_t *out, uint16_t p, const uint16_t *x, uint16_t q, const uint16_t *y,
                     size_t n);
    /* c += factor a b^T, row by row: a has `rows` rows, b `columns`, of n words each. */
    void (*matrix16)(uint16_t *c, uint16_t factor, const uint16_t *a, const uint16_t *b,
                     size_t rows, size_t columns, size_t n);
    /* z += the sum of w[v] times row v of x, n words of it; rows begin `stride` words apart. */
    void (*axpy16)(uint16_t *z, const uint16_t *w, const uint16_t *x, size_t rows, size_t stride,
                   size_t n);
    /*
     * For the check of relations (mpc/check/check.h), over GF(2^64). A group is 64 rows of 8
     * columns of words: word 8 a + s is row a of column s. Point c = sum of d_v 3^v stands for the
     * sum of the rows a whose bit v is d_v for all v with d_v < 2.
     *
     *   bits_points     sums[c] += sum over columns of weight * summand, word by word of 64 bits, a
     *                   word being an element. A product is four groups, x_a, x_b, y_a, y_b, its
     *                   summand x_a (y_a + y_b) + x_b y_a; `products` summands are added up first;
     *                   8 weights a group
     *   bits_rows       row b of out = the sum of weight[a] over the rows a of x with bit b set; of
     *                   `vectors` groups; out may be x
     *   field_side      out = e_server + X e_(server + 1), where e = b, a, a + b: see kernel_side
     *   field_points    sums[c] += sum over columns of x y; a product is two groups, x and y
     *   field_rows      out[s] = sum of weight[a] x[8 a + s]
     *   field_columns   sums[a] += sum of x[8 a + s] y[s], over `groups` of x, and 8 y each
     *   field_scale     x[8 a + s] *= weight[s]
     */
    void (*bits_points)(uint64_t *sums, const uint64_t *x, unsigned products, size_t groups,
                        const uint64_t *weight);
    void (*bits_rows)(uint64_t *out, const uint64_t *x, size_t vectors, const uint64_t *weight);
    void (*field_side)(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t n,
                       unsigned server);
    void (*field_points)(uint64_t *sums, const uint64_t *x, size_t groups);
    void (*field_rows)(uint64_t *out, const uint64_t *x, const uint64_t *weight);
    void (*field_columns)(uint64_t *sums, const uint64_t *x, const uint64_t *y, size_t groups);
    void (*field_scale)(uint64_t *x, const uint64_t *weight);
    /*
     * For the check of matrices over Z_2^16. n is a multiple of KERNEL_STRIP. What has 64 rows is
     * stored in strips of so many columns, one after the other, row by row.
     *
     *   fold16    row t of out is the sum of the rows v of x, of n words each, with bit t of
     *             weight[v] set; with `add` it is added to what is there
     *   choose16  row t of ga += a where plane t of `bits` has a bit, of gb += b; planes of n lanes
     *   chosen16  sums[64 r + t] += the sum of the words of row r of x, of n words, where plane t
     *             of `bits` has a bit
     *   cross16   sums[s + t] += the sum over columns of X_s Y_t as whole numbers, X being p x_a +
     *             q x_b, Y likewise, |p| + |q| <= 3: 63 sums of rows 0 .. 31, then of 32 .. 63
     *   value16   low[i] + 2^31 high[i] = the sum of weight[t] times row t, of 32 rows of a strip;
     *             weights are below 2^61
     */
    void (*fold16)(uint16_t *out, const uint16_t *x, size_t rows, const uint64_t *weight, size_t n,
                   bool add);
    void (*choose16)(uint16_t *ga, uint16_t *gb, const uint64_t *bits, const uint16_t *a,
                     const uint16_t *b, size_t n);
    void (*chosen16)(uint16_t *sums, const uint16_t *x, size_t rows, const uint64_t *bits,
                     size_t n);
    void (*cross16)(int64_t *sums, const uint16_t *xa, const uint16_t *xb, const uint16_t *ya,
                    const uint16_t *yb, int p, int q, size_t n);
    void (*value16)(uint64_t *low, uint64_t *high, const uint16_t *x, const uint64_t *weight);
    /*
     * For the check of numbers.
     *
     *   add_lines   adds line i, of 1, 4 or 8 words, to the 8 of KERNEL_BUCKETS buckets that the
     *               bytes of digit[i], which is public, choose: one of the first 256, of the
     *               next, ..
     *
     * Modulo a prime p, 2^58 < p < 2^59. 16 rows of 4 columns have 81 points, c = sum of d_v 3^v:
     * where d_v = 2, the value at 1 less the value at 0.
     *
     *   number_side     out < p is 2 a + b at server 0, a + 2 b at 1, a - b at 2; of any n words, a
     *                   multiple of 4. `inverse` is 2^90 / p, rounded down
     *   number_points   sums[3 c ..] += the sum over columns of x(c) y(c), both below p, in three
     *                   words; of blocks of 64 words below p, one after the other
     */
    void (*add_lines)(uint64_t *bucket, const uint64_t *digit, const uint64_t *line, size_t words,
                      size_t n);
    void (*number_side)(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t n,
                        unsigned server, uint64_t p, uint64_t inverse);
    void (*number_points)(uint64_t *sums, const uint64_t *x, const uint64_t *y, size_t blocks,
                          uint64_t p);
};

extern const struct kernel kernel_portable;
#if defined(__x86_64__)
extern const struct kernel kernel_avx2, kernel_avx2_wide, kernel_avx512;
#elif defined(__aarch64__)
extern const struct kernel kernel_neon;
#endif

/* The table of a name if this processor can run it, or NULL. */
const struct kernel *kernel_by_name(const char *name);

/* The table for processor_best(), which explains `problem`. */
const struct kernel *kernel_best(const char **problem);

/*
 * Bit k of values[i] goes to plane k at lane i, for k < width, and back (other bits zero). A plane
 * has bits_words(n) words, whose lanes past n become zero, and starts `stride` words after the
 * previous one.
 */
void kernel_slice64(const struct kernel *k, const uint64_t *values, size_t n, unsigned width,
                    uint64_t *planes, size_t stride);
void kernel_slice128(const struct kernel *k, const word128 *values, size_t n, unsigned width,
                     uint64_t *planes, size_t stride);
void kernel_unslice64(const struct kernel *k, const uint64_t *planes, size_t stride, size_t n,
                      unsigned width, uint64_t *values);

/* The point whose digits are the bits of a row. */
static inline unsigned kernel_point_of_row(unsigned row, unsigned digits)
{
    unsigned point = 0;
    while (digits-- > 0)
        point = 3 * point + (row >> digits & 1);
    return point;
}

/*
 * One product of two words gives a server its summand of x y, where x_a (y_a + y_b) + x_b y_a takes
 * two: that of the sides of x and y, times kernel_side[server]. With n, d = (X, 1), (X + 1, X),
 * (1, X + 1) a side is n a + d b, and the factor 1 / n d: summands are x_a y_b + x_b y_a + (n / d)
 * x_a y_a + (d / n) x_b y_b, and n_j / d_j + d_(j-1) / n_(j-1) = 1, whichever j.
 */
extern const uint64_t kernel_side[3];

/* One product in GF(2^64), portable and constant in time. */
uint64_t kernel_field_product(uint64_t x, uint64_t y);

/* A polynomial of 128 bits, high X^64 + low, as an element. */
static inline uint64_t kernel_field_reduce(uint64_t low, uint64_t high)
{
    const uint64_t over = high ^ high >> 63 ^ high >> 61 ^ high >> 60;
    return low ^ over ^ over << 1 ^ over << 3 ^ over << 4;
}
