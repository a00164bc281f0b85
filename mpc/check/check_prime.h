/*
 * mpc/check/check_prime.h - the part of a flush that proves claims about numbers, modulo a prime p;
 * for mpc/check/ alone. It runs beside that of bits, in the same exchanges.
 *
 * A product of relation q of a ring is an element: U = kappa theta_q(y) x, V = y, whichever of them
 * has the factor of bits. So is half a column of what matrices are folded to: U = 2 kappa f(y), V =
 * g(y), with 32 rows each. The sum of U V is Z, the value of all claims at y. 64 elements are a
 * block: 16 rows of 4 columns.
 */
#pragma once

#include "mpc/check/check_claims.h"

#define PRIME_ROWS 16
#define PRIME_COLUMNS 4
#define PRIME_BLOCK ((size_t)PRIME_ROWS * PRIME_COLUMNS)
#define PRIME_DIGITS 4
#define PRIME_POINTS 81     /* 3^4 */
#define PRIME_REMAINDERS 16 /* most: one for each fold */

/* Sums at points, and in the last fold what belongs to the masks. */
struct prime_sums {
    uint64_t point[PRIME_POINTS], cross[PRIME_ROWS], square;
};

/*
 * Element 4 a + s is row a of column s: its u_a, u_b, v_a, v_b, each any word of its residue. A
 * vector that is NULL is zero; only the protocol decides which are.
 */
struct prime_block {
    uint64_t x[4][PRIME_BLOCK];
};
struct prime_view {
    const uint64_t *x[4];
};

struct check_prime {
    struct party *p;
    struct check_numbers *log;
    const struct check_matrices *matrices; /* or NULL */
    struct check_folded folded[2];         /* their pairs, and the sides that are made */
    struct claims claims[CLAIMS_KINDS];
    struct prime field;
    struct prime_block *block; /* what is left to fold; NULL: columns, then the log's products */
    size_t strips;             /* halves of strips of what matrices are folded to */
    bool made;                 /* elements of long words, which are in the log in their place */
    size_t blocks, words;      /* words of all claims; 0: nothing is noted */
    uint64_t z[2], remainder[PRIME_REMAINDERS][2]; /* by component */
    unsigned remainders;
    enum { DUE_NOTHING, DUE_CHOOSE, DUE_FOLD, DUE_LAST } due;
    struct prime_sums sums[2]; /* own, and the next server's */
    size_t columns;
    uint64_t *mask[2][2]; /* of the last fold's columns: R, S by component */
    uint64_t r[PRIME_DIGITS], zeta;
};

/* A message beside that of bits: what goes to the previous server, and comes from the next. */
struct prime_beside {
    void *out, *in;
    size_t bytes;
};

/*
 * With the first coin: weights and claims, which go beside. With each later coin what is due then:
 * a prime and a point; the points of folds. They do nothing where nothing is noted.
 */
enum err check_prime_claim(struct check_prime *n, struct prg *weights,
                           struct prime_beside *beside) MUST_CHECK;
enum err check_prime_coin(struct check_prime *n, struct prg *weights) MUST_CHECK;

/* Sums of a fold, sent beside the bits'; after its coin the fold itself, except for the last. */
enum err check_prime_sum(struct check_prime *n, bool last, struct prime_beside *beside) MUST_CHECK;
enum err check_prime_fold(struct check_prime *n) MUST_CHECK;

/* Makes the elements of columns, in their place, once there is a prime. */
void check_prime_columns(struct check_prime *n);

/* Calls with each block of elements, in order. */
typedef void check_prime_block_fn(struct check_prime *n, const struct prime_view *block, size_t at,
                                  void *arg);
void check_prime_each_block(struct check_prime *n, check_prime_block_fn *call, void *arg);

/*
 * What is opened of each component, in words; the sum of the three; and whether that holds.
 */
size_t check_prime_opened(const struct check_prime *n);
void check_prime_put(struct check_prime *n, uint64_t *a, uint64_t *b);
void check_prime_join(const struct check_prime *n, const uint64_t *a, const uint64_t *b,
                      const uint64_t *third, uint64_t *joined);
bool check_prime_hold(const struct check_prime *n, const uint64_t *joined);
