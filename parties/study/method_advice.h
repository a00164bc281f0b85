/*
 * parties/study/method_advice.h - which method should do better for a study, judged from the study
 * alone.
 *
 * AIM opens whole tables of two columns. Take one table with as many cells as a pair has on
 * average, and give it the whole budget: if even then its noise moves as many rows as there are,
 * AIM has nothing to learn pairs from. A copula opens one number a pair, and the noise in it does
 * not grow with the cells. AIM's model also holds only a few pairs for each column, so with many
 * columns it covers a small part of all pairs. Elsewhere AIM does better: a table says more than
 * one number.
 *
 * docs/results.md shows what this was compared with.
 */
#pragma once

#include "parties/study/study.h"

#define METHOD_PAIR_ERROR 1.0 /* above this an average pair's table is noise */
#define METHOD_COLUMNS_MOST 50

struct method_advice {
    enum study_method better;
    double cells; /* of a pair of columns, on average, over groups as AIM would merge them if the
                   * budget were for columns alone (aim_expect_groups()) */
    bool merged;  /* whether there are fewer groups than codes */
    double error; /* expected in its table, as sum |p - q|, with the whole budget spent on it */
};

/* For this many rows and a budget of rho. */
enum err method_advise(struct method_advice *advice, const struct study *study, double rows,
                       double rho) MUST_CHECK;

/* The advice in words. */
enum err method_print(FILE *out, const struct study *study, double rows, double rho) MUST_CHECK;
