/*
 * parties/study/method.h - which method is expected to do better for a study, from the study alone.
 *
 * AIM opens whole tables of two columns. Where even one table, of as many cells as a pair has on
 * average and with all of the budget for it, would have noise that moves as many rows as there are,
 * AIM has nothing to learn pairs from; a copula opens one number a pair, whose noise does not grow
 * with the cells. And a model of AIM holds few pairs a column, so that of the pairs of many columns
 * it has a small part. Elsewhere AIM does better: a table says more than one number.
 *
 * docs/results.md has what this was compared with.
 */
#ifndef TREFOIL_PARTIES_STUDY_METHOD_H
#define TREFOIL_PARTIES_STUDY_METHOD_H

#include "aim/loop.h"
#include "parties/study/study.h"

#include <stdio.h>

#define METHOD_PAIR_ERROR 1.0 /* of an average pair's table, above which it is noise */
#define METHOD_COLUMNS_MOST 50

struct method_advice {
    enum study_method better;
    double cells; /* of a pair of columns, on average, over groups as AIM would merge them if the
                   * budget were for columns alone (aim_expect_groups()) */
    bool merged;  /* whether groups are fewer than codes */
    double error; /* expected of its table, as sum |p - q|, with all of the budget for it */
};

/* Options of AIM that the study says outright: its domain, its workload and what hangs on these. */
struct aim_options method_aim(const struct study *study);

/* For so many rows, and a budget of rho. */
enum err method_advise(struct method_advice *advice, const struct study *study, double rows,
                       double rho) MUST_CHECK;

/* The same in words. */
enum err method_print(FILE *out, const struct study *study, double rows, double rho) MUST_CHECK;

#endif
