/*
 * tests/support/statistics.h - whether samples follow a distribution: the least p-value of many
 * statistics.
 *
 * All are functions of the samples alone, so that they can be tried on samples that are wrong in a
 * known way (tests/protocols/test_statistics.c). With fixed seeds a verdict does not change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct statistics_distribution {
    double (*below)(double x), (*above)(double x); /* probabilities, each right where it is small */
    double moment[9];                              /* of x^k */
};
extern const struct statistics_distribution statistics_gaussian, statistics_gumbel;

/* Begins as {.p = 1}. */
struct statistics_verdict {
    double p;
    const char *statistic; /* that has this p-value */
};
/* Right samples fail by chance once in ten thousand seeds, with some fifty statistics. */
#define VERDICT_LEAST 2e-6

/*
 * Chi-square on 256 cells of equal probability, Kolmogorov-Smirnov, Anderson-Darling, moments to
 * the fourth, and tails as likely as a Gaussian's beyond 1 to 5 deviations. n at least 4096.
 */
void statistics_shape(struct statistics_verdict *v, const struct statistics_distribution *d,
                      const double *x, size_t n);

/*
 * Independence within pairs x[2i], x[2i+1] and of neighbours x[2i+1], x[2i+2]: chi-square on 16 x
 * 16 cells, correlations of values, magnitudes and squares. No pair may come twice.
 */
void statistics_pairs(struct statistics_verdict *v, const struct statistics_distribution *d,
                      const double *x, size_t n);

/* ones[k] of n independent digits that are 1 with probability p[k]. */
void statistics_digits(struct statistics_verdict *v, const double *ones, const double *p,
                       size_t digits, double n);
