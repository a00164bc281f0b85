/*
 * aim/forms.h - public linear forms of counts: how far one row can move them, and what they cost.
 *
 * A form is <v, x>: an integer vector v over the cells of one marginal, x its counts. A backend
 * opens <v, x> + z, where z is a unit Gaussian of the lattice 2^-20, given as its integer multiple
 * of that (aim/backend.h). This gives weights, differences and totals of groups without the cells.
 *
 * Sensitivity. A row counts in one cell c of each marginal q, so it moves each form k of q by
 * v_k(c), with the same c. The squares of all moves add up to at most
 *
 *   Delta^2 = sum over marginals q of  max over cells c of  sum over forms k of q of v_k(c)^2
 *
 * Every combination of values is assumed to occur, structural zeros too: nobody sees what owners
 * send. Where one row can attain the maxima of all marginals at once, this is not only a bound but
 * the largest value. That holds for forms of one marginal. It also holds for products
 * v = u_i(a) u_j(b) of columns i and j, since one row can have the code of largest |u_i| in every
 * column i; there Delta^2 is the sum of max u_i^2 max u_j^2. It costs Delta^2 / 2^41 zCDP.
 *
 * Products. Correlations take a factor u_i(a) for each code of each column. The codes of a column
 * are all in one group, or each is in one of several. For each two columns i < j, and each group g
 * of i and h of j, there is a form: v(a, b) = u_i(a) u_j(b) where a is in g and b in h, else 0. So
 * <v, x> is the sum of u_i u_j over the rows whose codes are in both groups. Pairs are in the order
 * of a closure: (0, 1), (0, 2) .. (1, 2); the forms of a pair are row-major, groups of i and of j.
 *
 * A row has one code in a column, and so one group: of the forms of a pair it moves one, by
 * u_i(a) u_j(b), however many groups there are. So groups cost no budget: Delta^2 is as above, and
 * a row moves at most as many forms as there are pairs of columns. But they take time: servers that
 * sum records keep a plane for each group (protocols/records.h). So there are few groups, and where
 * a column has several, the codes of each share one factor; otherwise each factor would need a
 * plane of its own.
 *
 * No wrap. |<v, x>| <= max |v| S, where S is the largest possible sum of the marginal's counts,
 * whatever owners send; and |z| < 2^26 with either noise. A request is refused unless max |v| S +
 * 2^26 <= 2^63 - 1, so the opened word of 64 bits is the number itself.
 */
#ifndef TREFOIL_AIM_FORMS_H
#define TREFOIL_AIM_FORMS_H

#include "aim/score.h"

#include <gmp.h>

#define FORMS_WEIGHT_MAX (INT64_C(1) << 40) /* so FORMS_MAX squares are below 2^100 */
#define FORMS_MAX (UINT64_C(1) << 20)
#define FORMS_NOISE (INT64_C(1) << 26)

/* Forms in the order of their marginals; a marginal may have several. */
struct forms {
    size_t count;
    uint32_t *query; /* closure index of each, ascending */
    int64_t *weight; /* v of each, row-major, one after the other */
};

/*
 * ERR_REFUSED, logged with the marginal's name, unless the marginals exist and ascend, there are 1
 * to FORMS_MAX forms, no weight is above FORMS_WEIGHT_MAX, and nothing can wrap.
 */
enum err forms_check(const struct forms *f, const struct domain *d, const struct workload *w,
                     const struct score_bounds *bounds, struct log *log) MUST_CHECK;

/* Delta^2 of forms that forms_check() permits. */
void forms_sensitivity(mpz_ptr squared, const struct forms *f, const struct workload *w);

/* --- products --------------------------------------------------------------------------------- */

#define FORMS_FACTOR_MAX (INT64_C(1) << 24) /* finer than any noise that a ledger pays */
#define FORMS_GROUPS_MOST 64                /* of a column */

struct products {
    const struct workload *workload; /* its one-ways are the columns; it has all pairs */
    const int64_t *factor;           /* u: the codes of one column after the other */
    const int64_t *group;            /* of each of these, from 0 on within a column */
};

/* How many codes all columns have together, which is the number of factors. */
size_t products_codes(const struct workload *w);

/* How many pairs these columns make. */
static inline uint64_t products_pairs(uint64_t columns)
{
    return columns * (columns - 1) / 2;
}

/* How many groups column i has: one more than the largest of its numbers. */
size_t products_groups(const struct products *p, size_t column);
/* How many forms that makes. Groups are below 2^16, as products_check() ensures. */
uint64_t products_count(const struct products *p);

/*
 * ERR_REFUSED, logged, unless all of this holds: no column has more groups than codes, or more than
 * FORMS_GROUPS_MOST; where it has several, each has one factor; there are 1 to FORMS_MAX forms; no
 * factor is above FORMS_FACTOR_MAX; nothing can wrap, with the largest S of the closure.
 */
enum err products_check(const struct products *p, const struct domain *d,
                        const struct score_bounds *bounds, struct log *log) MUST_CHECK;

/* Delta^2: the sum over i < j of max u_i^2 max u_j^2. */
void products_sensitivity(mpz_ptr squared, const struct products *p);

/*
 * Adds the values of all forms, given the counts of the closure, those of query q from start[q] on.
 * It computes modulo 2^64, so shares give shares. ERR_MISUSE if the closure lacks a pair.
 */
enum err products_add(const struct products *p, const uint64_t *counts, const size_t *start,
                      uint64_t *values) MUST_CHECK;

#endif
