/*
 * protocols/train_rows.h - rows as the gradient of a linear classifier takes them, made once a
 * session from records (protocols/records.h).
 *
 * Columns other than the target give features: one-hot, one for each code, or numbers, the bits of
 * a code as they stand. The last feature, the bias, is 1. In blocks of at most RECORDS_BLOCK lanes:
 *
 *   0  the AND of the parts' validity bits, as for counts
 *   1  features: one-hot planes as for counts, or a code's bits, as numbers in Z_2^16; 8/3 bytes a
 *      server, plane and row. A number is the sum of 2^a plane_a, which is local
 *   2  of numbers n2, the sum of u^2 over all of them: 2 bytes, 1 exchange; its bits; [n2 <=
 *      norm^2] (mpc/circuits/below.h): 11 exchanges at most
 *   3  one-hot planes of the target, so the class y. A row takes part, v, if it is valid, has a
 *      class and, of numbers, n2 <= norm^2: a bit a server and plane, 1 exchange
 *      Where rows are kept back for a test, those with the code of a column: ANDs of all of these
 *      planes with it, a bit each, 1 exchange. They are taken off v and v [y = k], not off the bias
 *   4  v and v [y = k] as numbers, 8/3 bytes a server and plane, 1 exchange
 *   5  at the end the sum of v [y = k] u over all rows (protocols/train_sums.h)
 *
 * A code out of range is its column's last one, as for counts; as a number it counts as it stands.
 * So what a row can add to a gradient is bounded, whatever its owner sends. n2 does not wrap: it is
 * at most 255 x 15^2. LEAKS: nothing but sizes.
 */
#pragma once

#include "protocols/records.h"

#define TRAIN_TOP 31          /* the most that p_k can be: protocols/train_gradient.h */
#define TRAIN_NUMBER_MAX 15   /* the most that a feature can be */
#define TRAIN_COLUMNS_MAX 255 /* that are numbers */
#define TRAIN_LANES_MAX (UINT64_C(1) << 26)
#define TRAIN_BYTES_MAX (UINT64_C(4) << 30)

/* Public. */
struct train_shape {
    struct records_shape records; /* of all columns */
    uint16_t target;
    uint32_t classes;       /* K: the target's first codes; if it has one more, that is no class */
    const uint16_t *column; /* that give features, in this order */
    size_t columns;
    uint32_t norm2; /* norm^2 of numbers; 0: one-hot */
    unsigned bits;  /* j: p_k < 2^j where y is not k; 5 if K = 2 */
    bool tests;     /* rows with this code of this column are kept back */
    uint16_t test;
    uint32_t test_code;
};

/* C: an output for each class or, if K = 2, one for the second. F: features and the bias. */
size_t train_outputs(const struct train_shape *shape);
size_t train_features(const struct train_shape *shape);

/*
 * n lanes, a multiple of 64: rows after one another, and what fills them up, which takes no part.
 */
struct train_block {
    size_t from, n;     /* lanes before it; its own */
    struct share16 u;   /* F rows of n words, the bias last */
    struct share16 y;   /* v [y = k], C rows of n words */
    struct planes own;  /* v; then v [y = k], C planes */
    struct planes test; /* the same of rows that are kept back, if any are */
};

struct train_rows {
    const struct train_shape *shape; /* borrowed */
    size_t outputs, features;        /* C, F */
    struct train_block *block;
    size_t blocks, lanes;
    struct share64 labels; /* sums of v [y = k] u, C F numbers; made at the end */
};

void train_rows_start(struct train_rows *rows, const struct train_shape *shape);
void train_rows_free(struct train_rows *rows);

/*
 * Adds batches of records. ERR_RANGE where they do not fit the shape, or where all rows take more
 * than TRAIN_LANES_MAX lanes or TRAIN_BYTES_MAX bytes.
 */
enum err train_rows_add(struct party *p, struct train_rows *rows,
                        const struct records_batch *batches, size_t count) MUST_CHECK;
/* All are in: makes `labels`. */
enum err train_rows_end(struct party *p, struct train_rows *rows) MUST_CHECK;
