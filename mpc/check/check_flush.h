/* mpc/check/check_flush.h - a flush in progress; see check_flush.c. For mpc/check/ alone. */
#pragma once

#include "mpc/check/check_field.h"
#include "mpc/check/check_prime.h"

#define FLUSH_CACHED ((size_t)16) /* groups of one product that stay in the second-level cache */
#define FLUSH_REMAINDERS 8        /* most: one for the bits, one for each fold */

struct flush_pair {
    uint64_t a, b;
};

/*
 * Elements: products of four groups each, u_a, u_b, v_a, v_b. U is u times the weight of its
 * column: 8 for `alike` products, then the next 8.
 */
struct flush_stretch {
    uint64_t *x;
    size_t groups;
    const uint64_t *weight;
    size_t alike;
};

/* Random columns, R and S, and their sides. */
struct flush_columns {
    size_t n, done; /* done: whose products with elements have been added up */
    struct share64 r, s;
    uint64_t *sides; /* for every 8 columns those of S, then of R */
};

struct flush {
    struct party *p;
    struct check *c;
    const struct record_ride *ride;
    uint64_t tau[KERNEL_ROWS];     /* weights of rows of bits */
    uint64_t *sigma;               /* 8 for each group of the log */
    uint64_t *sides;               /* of a few groups, U's and V's in turn */
    struct flush_stretch *stretch; /* what is left to fold */
    size_t stretches, groups;
    uint64_t row_weight[KERNEL_ROWS]; /* of the elements' rows, in the sum that is z */
    struct flush_pair z, remainder[FLUSH_REMAINDERS];
    unsigned remainders;
    struct flush_columns mask;  /* of the last fold */
    struct check_prime numbers; /* what goes beside that of bits */
    struct prime_beside beside;
};

/* What the three send in a fold: sums at points, and in the last one what belongs to the masks. */
struct flush_sums {
    uint64_t point[KERNEL_POINTS], cross[KERNEL_ROWS], square;
};

/*
 * The first part: sums of bits, with what rides along; their remainder; elements in their place,
 * whose products add up to f->z; then the sums of these.
 */
enum err flush_bits(struct flush *f, struct flush_sums sums[2]) MUST_CHECK;

/* Summands become shares: a, which is sent, and b, which comes; `more` and numbers go beside it. */
enum err flush_reshare(struct flush *f, uint64_t *a, uint64_t *b, size_t n,
                       const struct record_ride *more) MUST_CHECK;

/* A coin's point, and the weights of rows there; and what numbers draw. */
enum err flush_draw_point(struct flush *f, uint64_t r[CHECK_DIGITS],
                          uint64_t weight[KERNEL_ROWS]) MUST_CHECK;

/* For both components: the value at a point; the sum of weighed rows. */
struct flush_pair flush_value_at(const struct flush_sums sums[2], const uint64_t r[CHECK_DIGITS]);
struct flush_pair flush_sum_of_rows(const struct flush_sums sums[2],
                                    const uint64_t weight[KERNEL_ROWS]);

/*
 * This server's sums of a fold: begun, of each stretch in turn, ended. Those of the last fold have
 * what belongs to its masks too.
 */
enum err flush_begin_sums(struct flush *f, struct flush_sums sums[2]) MUST_CHECK;
void flush_sum(struct flush *f, const struct flush_stretch *elements, struct flush_sums *own);
void flush_end_sums(struct flush *f, struct flush_sums *own);

uint64_t flush_total(const uint64_t *x, size_t n);
