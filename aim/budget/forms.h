/*
 * aim/budget/forms.h - sums of products of public factors over rows: how far one row can move them,
 * and what they cost.
 *
 * Correlations take an integer factor u_i(a) for each code a of each column i. The codes of a
 * column are all in one group, or each is in one of several. For each two columns i < j, and each
 * group g of i and h of j, there is a form: the sum of u_i u_j over the rows whose codes are in
 * both groups. A backend opens it plus z, a unit Gaussian of the lattice 2^-20, given as its
 * integer multiple of that (aim/run/ask.h). Pairs are in the order of a closure: (0, 1), (0, 2) ..
 * (1, 2); the forms of a pair are row-major, groups of i and of j.
 *
 * Sensitivity. A row has one code in a column, and so one group: of the forms of a pair it moves
 * one, by u_i(a) u_j(b), however many groups there are. So the squares of all moves add up to at
 * most
 *
 *   Delta^2 = sum over i < j of  max u_i^2 max u_j^2
 *
 * and no less, since one row can have the code of largest |u_i| in every column i. (Every
 * combination of values is assumed to occur, structural zeros too: nobody sees what owners send.)
 * It costs Delta^2 / 2^41 of rho (aim/budget/ledger.h).
 *
 * Groups cost no budget, but time: servers that sum records keep a plane for each group
 * (protocols/records.h). So there are few groups, and where a column has several, the codes of each
 * share one factor; otherwise each factor would need a plane of its own.
 *
 * No wrap. |sum| <= max |u_i u_j| S, where S is the largest possible sum of a marginal's counts,
 * whatever owners send; and |z| < 2^26 with either noise. A request is refused unless max |u_i u_j|
 * S + 2^26 <= 2^63 - 1, so the opened word of 64 bits is the number itself.
 */
#pragma once

#include "aim/budget/score.h"

#include <gmp.h>

#define FORMS_MAX (UINT64_C(1) << 20)
#define FORMS_NOISE (INT64_C(1) << 26)
#define FORMS_FACTOR_MAX (INT64_C(1) << 24) /* finer than any noise that a ledger pays */
#define FORMS_GROUPS_MOST 64                /* of a column */

struct forms {
    const struct workload *workload; /* its one-ways are the columns; it has all pairs */
    const int64_t *factor;           /* u: the codes of one column after the other */
    const int64_t *group;            /* of each of these, from 0 on within a column */
};

/* How many pairs these columns make. */
static inline uint64_t forms_pairs(uint64_t columns)
{
    return columns * (columns - 1) / 2;
}

/* How many groups column i has: one more than the largest of its numbers. */
size_t forms_groups(const struct forms *p, size_t column);
/* How many forms that makes. Groups are below 2^16, as forms_check() ensures. */
uint64_t forms_count(const struct forms *p);

/*
 * ERR_REFUSED, logged, unless all of this holds: no column has more groups than codes, or more than
 * FORMS_GROUPS_MOST; where it has several, each has one factor; there are 1 to FORMS_MAX forms; no
 * factor is above FORMS_FACTOR_MAX; nothing can wrap, with the largest S of the closure.
 */
enum err forms_check(const struct forms *p, const struct domain *d,
                     const struct score_bounds *bounds, struct log *log) MUST_CHECK;

/* Delta^2: the sum over i < j of max u_i^2 max u_j^2. */
void forms_sensitivity(mpz_ptr squared, const struct forms *p);

/*
 * Adds the values of all forms, given the counts of the closure, those of query q from start[q] on.
 * It computes modulo 2^64, so shares give shares. ERR_MISUSE if the closure lacks a pair.
 */
enum err forms_add(const struct forms *p, const uint64_t *counts, const size_t *start,
                   uint64_t *values) MUST_CHECK;
