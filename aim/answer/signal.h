/*
 * aim/answer/signal.h - whether two columns have more to do with each other than noise and chance
 * would show, by opened sums alone.
 *
 * Each column's cells (its codes, or groups of them) have scores and are in parts. For part a of
 * one and part b of the other, S = sum over rows of f g, where f and g are the scores of the row's
 * cells if these are in the parts, and 0 else. S was opened with noise of a known variance. Were
 * the columns independent, S would be N E[f] E[g] on average, and would vary by that noise, by
 * N E[f^2] E[g^2] at most as rows are drawn, and by what noise does to the columns' own shares. So
 * the sum of (S - N E[f] E[g])^2 / variance over all parts would be about chi-square.
 *
 * Two ways to score a table of counts: `ranked`, one part with the ranks of an ordered column, sees
 * what rises or falls together; `each`, every cell a part, sees anything, but less of it.
 */
#pragma once

#include "aim/model/measurement.h"

struct signal_side {
    size_t cells, parts;
    double *share, *score;        /* of each cell; the shares add up to 1 */
    size_t *part;                 /* and the part it is in */
    double sigma;                 /* noise of a cell's own count, in rows */
    double *mean, *square, *norm; /* of each part: sums of share score, share score^2, score^2 */
};

enum err signal_side_new(struct signal_side *s, size_t cells) MUST_CHECK; /* all zeros */
void signal_side_clear(struct signal_side *s);
/* Finds how many parts there are and their sums, once the rest is set. */
enum err signal_side_set(struct signal_side *s) MUST_CHECK;

struct signal {
    double squares;
    size_t sums;
};

/* Adds what was opened of part a of x and b of y, with noise of this variance. */
void signal_add(struct signal *s, const struct signal_side *x, size_t a,
                const struct signal_side *y, size_t b, double total, double opened,
                double variance);
/* By how many standard deviations it is above what independent columns would show. */
double signal_deviations(const struct signal *s);

/*
 * The same of the attributes at two places of a measured clique. share[i]: of each code of the
 * i-th of the two; sigma[i]: of a code's own count. ranked: scores ordered attributes by ranks.
 */
enum err signal_of_table(double *deviations, const struct measurement *m, const struct domain *d,
                         const unsigned place[2], const double *const share[2],
                         const double sigma[2], double total, bool ranked) MUST_CHECK;
