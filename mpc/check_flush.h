/* mpc/check_flush.h - a flush on its way; see mpc/check_flush.c. For mpc/check*.c alone. */
#ifndef TREFOIL_MPC_CHECK_FLUSH_H
#define TREFOIL_MPC_CHECK_FLUSH_H

#include "mpc/check_field.h"
#include "mpc/check_private.h"

#define FLUSH_CACHED ((size_t)16) /* groups of one product that stay in the second-level cache */
#define FLUSH_REMAINDERS 8        /* most: one of the bits, one a fold */

struct pair {
    uint64_t a, b;
};

/* Elements: groups of products, in a row. */
struct stretch {
    uint64_t *x;
    size_t groups;
};

struct flush {
    struct party *p;
    struct check *c;
    const struct check_ride *ride;
    uint64_t tau[KERNEL_ROWS]; /* weights of rows of bits */
    uint64_t *sigma;           /* 8 for each group of the log */
    struct stretch *stretch;   /* what is left to fold */
    size_t stretches, groups;
    uint64_t row_weight[KERNEL_ROWS]; /* of the elements' rows, in the sum that is z */
    struct pair z, remainder[FLUSH_REMAINDERS];
    unsigned remainders;
};

/* What the three of a fold send: sums at points, and of the last one what belongs to the masks. */
struct sums {
    uint64_t point[KERNEL_POINTS], cross[KERNEL_ROWS], square;
};

/*
 * The first part: sums of bits, with what rides along, their remainder, and elements in their
 * place, whose products add up to f->z.
 */
enum err flush_bits(struct flush *f, struct sums sums[2]) MUST_CHECK;

/* Summands become shares: a, which is sent, and b, which comes; `more` travels beside it. */
enum err flush_reshare(struct flush *f, uint64_t *a, uint64_t *b, size_t n,
                       const struct check_ride *more) MUST_CHECK;

/* A coin's point, and the weights of rows there. */
enum err flush_draw_point(struct flush *f, uint64_t r[CHECK_DIGITS],
                          uint64_t weight[KERNEL_ROWS]) MUST_CHECK;

/* Of both components: the value at a point; the sum of weighed rows. */
struct pair flush_value_at(const struct sums sums[2], const uint64_t r[CHECK_DIGITS]);
struct pair flush_sum_of_rows(const struct sums sums[2], const uint64_t weight[KERNEL_ROWS]);

uint64_t flush_total(const uint64_t *x, size_t n);

#endif
