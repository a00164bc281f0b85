/*
 * aim/copula/copula.h - the numbers of a Gaussian copula: from shares of codes and sums of scores
 * to latent correlations.
 *
 * An ordered column i is a unit normal variable Z_i cut into intervals, one for each code: code a
 * has the share p(a) of it, and the intervals are in the order of the codes. A nominal one, of
 * labels, has several variables (aim/copula/nominal.h). The Z of all columns are jointly normal.
 * Two ordered columns are linked by their correlation r, which follows from one number, the mean of
 * t_i t_j for scores t_i of the codes:
 *
 *   E[t_i t_j] = E[t_i] E[t_j] + sum over k >= 1 of r^k h_ik h_jk,   h_ik = E[t_i(Z) He_k(Z)] /
 *                                                                            sqrt(k!)
 *
 * by Mehler's formula, of which COPULA_TERMS terms are used. All codes of a nominal column have the
 * same score; it is linked by sums over groups of codes (aim/copula/copula_links.h). All this
 * follows from noisy counts and public terms.
 */
#pragma once

#include "aim/table/domain.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPULA_TERMS 20
#define COPULA_CORRELATION_MOST 0.999 /* of two columns, before the repair */
#define COPULA_EIGENVALUE_LEAST 1e-3

struct copula_column {
    uint32_t size;
    bool nominal;
    uint16_t *group; /* of each code of a nominal column; else all 0 */
    size_t groups;
    double *share;                      /* p: not negative, adds up to 1 */
    double *score;                      /* t */
    double mean, hermite[COPULA_TERMS]; /* a nominal one has only the first, in its place */
};

/*
 * How many groups a nominal column may have, 2 to COPULA_GROUPS_MOST: fewer where that many would
 * make more forms than COPULA_FORMS_MOST. 1 where there are so many columns that all are treated as
 * ordered.
 */
#define COPULA_GROUPS_MOST 64
#define COPULA_FORMS_MOST (UINT64_C(1) << 17)
size_t copula_groups_most(const struct domain *d);
/* How many forms there are, at most. */
uint64_t copula_forms_most(const struct domain *d);

/*
 * Room for a column's shares and scores, all codes in one group. A column of more than two labels
 * is nominal, if it may have several groups.
 */
enum err copula_column_new(struct copula_column *c, const struct domain_attribute *a,
                           size_t groups_most) MUST_CHECK;
void copula_column_clear(struct copula_column *c);

/* The shares nearest to noisy counts of `total` rows: the counts projected onto the simplex. */
enum err copula_set_shares(struct copula_column *c, const double *counts, double total) MUST_CHECK;

/* bound[0 .. size]: where the codes' intervals begin and end, from -INFINITY to INFINITY. */
void copula_bounds(const double *share, uint32_t size, double *bound);

/*
 * The scores: the mean of the normal in a code's interval, cut off at +-clip, then centred. A code
 * without weight takes the start of its interval. In a nominal column all scores are `clip`.
 */
enum err copula_set_scores(struct copula_column *c, double clip) MUST_CHECK;

/* Mean and Hermite coefficients of the scores as they stand: also of scores that were rounded. */
enum err copula_set_hermite(struct copula_column *c) MUST_CHECK;

/*
 * The correlation of two columns where E[t_i t_j] - E[t_i] E[t_j] is m; within
 * +-COPULA_CORRELATION_MOST.
 */
double copula_correlation(const struct copula_column *a, const struct copula_column *b, double m);

/*
 * Repairs a symmetric matrix, row by row, where the variables first[i] .. first[i + 1] - 1 of
 * column i < d have the unit matrix. Eigenvalues below COPULA_EIGENVALUE_LEAST are raised to it,
 * then each column's variables are brought back to the unit matrix.
 */
enum err copula_repair(double *matrix, const size_t *first, size_t d, struct log *log) MUST_CHECK;

/* The matrix becomes its L, lower triangular, whose L L' it was; zeros above. ERR_RANGE: no L. */
enum err copula_root(double *matrix, size_t d) MUST_CHECK;
