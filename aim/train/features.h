/*
 * aim/train/features.h - what a linear classifier sees of a row, and how far one row can move a
 * gradient.
 *
 * The columns other than the target give features, all of one kind. One-hot: one for each code, the
 * missing one too, which is 1 in rows that have the code. Numbers: one for each column, the bits of
 * its code as they stand. One more feature, the bias, is 1. F in all. A code outside its column is
 * the column's last code, as in counts (protocols/records.h); as a number it counts as it stands.
 *
 * K classes are the target's values but its missing code. There are C outputs: one for each class,
 * or, if K = 2, one for the second. The weights w are integers, |w| < 2^15. For a row with features
 * u and class y, output k has
 *
 *   z_k  = z0 + sum of w_kf u_f              modulo 2^16, signed; z0 = 512 if K = 2, else 128
 *   p_k  = clamp(floor(z_k / 2^5), 0, t_k)   t_k = 31 if y = k or K = 2, else 2^j - 1
 *   r_k  = p_k - 31 [y = k]
 *   G_kf = sum over rows of r_k u_f          C F numbers, one output after the other, the bias last
 *
 * with j the largest for which (K - 1)(2^j - 1)^2 <= 31^2. A row takes part if its target is there
 * and, where columns are numbers, the sum of u^2 over them is at most norm^2.
 *
 * A test. One more column may say which rows are kept back: it gives no features, and rows that
 * have its code `test_code` do not take part. At the end they are counted instead: for output k a
 * row that would take part has p_k with t_k = 31, whatever its class, and adds 1 to one cell of the
 * table of floor(p_k / 4), 0 to 7, by whether y = k: FEATURES_CELLS cells, row-major.
 *
 * Sensitivity. Of a row that takes part, |u|^2 <= R^2 = columns + 1, or norm^2 + 1, and |r|^2 <=
 * Q^2 = 31^2 + (K - 1)(2^j - 1)^2, or 31^2 if K = 2. Any other adds nothing. Both follow from the
 * row and w alone. So one row moves G by at most |r| |u| <= R Q in L2, for every w and even where z
 * wraps, and some row and w do. A backend opens m G + z, z unit Gaussians of the lattice 2^-20
 * (aim/run/ask.h): that costs m^2 R^2 Q^2 / 2^41 (aim/budget/ledger.h). A row moves one cell of
 * each of the C tables of a test by 1, so these cost C m^2 / 2^41.
 *
 * No wrap of G. |r u| <= 31 x 15, so with S rows at most |m G + z| < 465 m S + 2^26: a request is
 * refused unless that is below 2^62.
 */
#pragma once

#include "aim/table/domain.h"

#include <gmp.h>

#define FEATURES_CLASSES_MAX 64
#define FEATURES_WEIGHTS_MAX (UINT32_C(1) << 17) /* C F */
#define FEATURES_WEIGHT_MAX 32767
#define FEATURES_MULTIPLIER_MAX ((UINT64_C(1) << 30) - 1)
#define FEATURES_NUMBER_CODES 16 /* of a column that is a number */
#define FEATURES_NUMBER_MAX 15   /* the most that a feature can be */
#define FEATURES_NORM_MAX 240
#define FEATURES_TOP 31  /* the most that p can be */
#define FEATURES_SHIFT 5 /* of z */
#define FEATURES_BINS 8  /* of p in a test's table */
#define FEATURES_CELLS (2 * FEATURES_BINS)

enum features_kind { FEATURES_NONE, FEATURES_ONE_HOT, FEATURES_NUMBER };

struct features_column {
    enum features_kind kind; /* none: the target, or a column that is left out */
    uint32_t first, count;   /* its features; one for each code, or one */
    unsigned bits;           /* of a code, as records carry it */
};

/* What the study says. */
struct features_terms {
    uint32_t target; /* a column */
    bool numbers;
    unsigned norm; /* 0: columns are one-hot */
    bool tests;    /* rows are kept back: those with this code of this column */
    uint32_t test, test_code;
};

struct features {
    const struct domain *domain; /* borrowed */
    uint32_t target;
    uint32_t classes, outputs; /* K, C */
    uint32_t count;            /* F */
    unsigned j;                /* 5 if K = 2, where t_k = 31 for every row */
    uint32_t norm2;            /* norm^2; 0: columns are one-hot */
    uint64_t r2, q2;           /* R^2, Q^2 */
    bool tests;
    uint32_t test, test_code;
    struct features_column *column; /* of each column of the domain */
};

/* ERR_STUDY, logged, for a target or a column that cannot be one. */
enum err features_new(struct features **out, const struct domain *domain,
                      const struct features_terms *terms, struct log *log) MUST_CHECK;
void features_free(struct features **f);

/* C F. */
static inline uint32_t features_weights(const struct features *f)
{
    return f->outputs * f->count;
}

/* The text of the value of rows that are kept back. */
const char *features_test_value(const struct features *f, char room[COLUMN_TEXT]);

/* Of the tables of a test. */
static inline uint32_t features_cells(const struct features *f)
{
    return f->outputs * FEATURES_CELLS;
}

/* z0. */
static inline unsigned features_start(const struct features *f)
{
    return f->classes == 2 ? 512 : 128;
}

/* The class that output k stands for. */
static inline uint32_t features_class(const struct features *f, uint32_t k)
{
    return f->classes == 2 ? 1 : k;
}

/* m^2 R^2 Q^2: a step costs this over 2^41, of a person with one row. */
void features_moves(mpz_ptr squared, const struct features *f, uint64_t multiplier);

/*
 * ERR_REFUSED, logged, unless there are C F weights, each below 2^15 in size, 1 <= m < 2^30, and
 * nothing can wrap with `rows` rows at most.
 */
enum err features_check(const struct features *f, uint64_t multiplier, const int64_t *weight,
                        size_t weights, uint64_t rows, struct log *log) MUST_CHECK;
