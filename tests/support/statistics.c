#include "tests/support/statistics.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 256
#define SIDE 16

/* --- distributions ---------------------------------------------------------------------------- */

static double gaussian_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double gaussian_above(double x)
{
    return 0.5 * erfc(x / sqrt(2));
}

static double gumbel_below(double x)
{
    return exp(-exp(-x));
}

static double gumbel_above(double x)
{
    return -expm1(-exp(-x));
}

const struct statistics_distribution statistics_gaussian = {
    gaussian_below, gaussian_above, {1, 0, 1, 0, 3, 0, 15, 0, 105}};
/* from the cumulants: Euler's constant, then (k-1)! zeta(k) */
const struct statistics_distribution statistics_gumbel = {
    gumbel_below,
    gumbel_above,
    {1, 0.577215664901533, 1.97811199065595, 5.44487445648532, 23.5614740840256, 117.839408268377,
     715.067362527319, 5019.84887262985, 40243.6215733358}};

/* --- p-values --------------------------------------------------------------------------------- */

static void verdict_note(struct statistics_verdict *v, const char *statistic, double p)
{
    if (p < v->p || isnan(p))
        *v = (struct statistics_verdict){isnan(p) ? 0 : p, statistic};
}

static double two_sided(double deviations)
{
    return erfc(fabs(deviations) / sqrt(2));
}

/* Wilson and Hilferty's approximation. */
static double chi_square_p(double chi, double freedom)
{
    double v = 2 / (9 * freedom);
    return two_sided((cbrt(chi / freedom) - (1 - v)) / sqrt(v));
}

/* For a count with a known mean: Poisson's tails, or the normal ones where it is large. */
static double count_p(double count, double mean)
{
    double term = exp(-mean), below = 0, at = 0;
    if (mean > 500)
        return two_sided((count - mean) / sqrt(mean));
    for (double k = 0; k <= count; term *= mean / ++k) {
        below += at;
        at = term;
    }
    return fmin(1, 2 * fmin(below + at, 1 - below));
}

/* --- one sample after the other --------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* The largest distance (Kolmogorov and Smirnov), and the weighted one (Anderson and Darling). */
static void distances(struct statistics_verdict *v, const struct statistics_distribution *d,
                      const double *sorted, size_t n)
{
    double greatest = 0, sum = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        double u = d->below(sorted[i]), position = (double)i;
        greatest = fmax(greatest, fmax((position + 1) / count - u, u - position / count));
        sum += (2 * position + 1) *
               (log(fmax(u, 1e-300)) + log(fmax(d->above(sorted[n - 1 - i]), 1e-300)));
    }
    verdict_note(v, "Kolmogorov-Smirnov", 2 * exp(-2 * count * greatest * greatest));
    /* its far tail: sqrt(3) P(chi^2 of one degree > 2 A^2) */
    verdict_note(v, "Anderson-Darling", sqrt(3) * erfc(sqrt(fmax(0, -count - sum / count))));
}

static void moments(struct statistics_verdict *v, const struct statistics_distribution *d,
                    const double *x, size_t n)
{
    static const char *const names[] = {"mean", "second moment", "third moment", "fourth moment"};
    double sum[5] = {0};
    for (size_t i = 0; i < n; i++) {
        double power = 1;
        for (int k = 1; k <= 4; k++)
            sum[k] += power *= x[i];
    }
    for (int k = 1; k <= 4; k++) {
        double spread = sqrt((d->moment[2 * k] - d->moment[k] * d->moment[k]) / (double)n);
        verdict_note(v, names[k - 1], two_sided((sum[k] / (double)n - d->moment[k]) / spread));
    }
}

static void tails(struct statistics_verdict *v, const struct statistics_distribution *d,
                  const double *x, size_t n)
{
    double low[6] = {0}, high[6] = {0};
    for (size_t i = 0; i < n; i++)
        for (int k = 1; k <= 5; k++) {
            low[k] += d->below(x[i]) < gaussian_above(k);
            high[k] += d->above(x[i]) < gaussian_above(k);
        }
    for (int k = 1; k <= 5; k++) {
        verdict_note(v, "lower tail", count_p(low[k], (double)n * gaussian_above(k)));
        verdict_note(v, "upper tail", count_p(high[k], (double)n * gaussian_above(k)));
        verdict_note(v, "tails", count_p(low[k] + high[k], 2 * (double)n * gaussian_above(k)));
    }
}

static size_t cell_of(const struct statistics_distribution *d, double x, size_t cells)
{
    size_t cell = (size_t)(d->below(x) * (double)cells);
    return cell < cells ? cell : cells - 1;
}

static double chi_square(const double *count, size_t cells, double n)
{
    double chi = 0, mean = n / (double)cells;
    for (size_t k = 0; k < cells; k++)
        chi += (count[k] - mean) * (count[k] - mean) / mean;
    return chi_square_p(chi, (double)cells - 1);
}

void statistics_shape(struct statistics_verdict *v, const struct statistics_distribution *d,
                      const double *x, size_t n)
{
    double *sorted = memory_array(n, sizeof *sorted), cells[CELLS] = {0};
    if (sorted == NULL) {
        verdict_note(v, "memory", 0);
        return;
    }
    memcpy(sorted, x, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    distances(v, d, sorted, n);
    memory_free(&sorted);
    for (size_t i = 0; i < n; i++)
        cells[cell_of(d, x[i], CELLS)]++;
    verdict_note(v, "chi-square", chi_square(cells, CELLS, (double)n));
    moments(v, d, x, n);
    tails(v, d, x, n);
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* For independent a and b, the mean of products has mean 0 and the product of both variances. */
static double correlation_p(const struct statistics_distribution *d, const double *a, size_t n,
                            int power)
{
    const double mean = d->moment[power], variance = d->moment[2 * power] - mean * mean;
    double sum = 0, pairs = (double)(n / 2);
    for (size_t i = 0; i + 1 < n; i += 2)
        sum += (pow(a[i], power) - mean) * (pow(a[i + 1], power) - mean);
    return two_sided(sum / variance / sqrt(pairs));
}

/* The same for the distance from the median, whose ranks are uniform. */
static double magnitude_p(const struct statistics_distribution *d, const double *a, size_t n)
{
    double sum = 0, pairs = (double)(n / 2);
    for (size_t i = 0; i + 1 < n; i += 2)
        sum += (fabs(4 * d->below(a[i]) - 2) - 1) * (fabs(4 * d->below(a[i + 1]) - 2) - 1);
    return two_sided(sum * 3 / sqrt(pairs));
}

static void joint(struct statistics_verdict *v, const struct statistics_distribution *d,
                  const double *x, size_t n)
{
    double cells[SIDE * SIDE] = {0};
    for (size_t i = 0; i + 1 < n; i += 2)
        cells[cell_of(d, x[i], SIDE) * SIDE + cell_of(d, x[i + 1], SIDE)]++;
    verdict_note(v, "chi-square of pairs", chi_square(cells, SIDE * SIDE, (double)(n / 2)));
    verdict_note(v, "correlation", correlation_p(d, x, n, 1));
    verdict_note(v, "correlation of squares", correlation_p(d, x, n, 2));
    verdict_note(v, "correlation of magnitudes", magnitude_p(d, x, n));
}

static int by_both(const void *a, const void *b)
{
    int first = ascending(a, b);
    return first != 0 ? first : ascending((const double *)a + 1, (const double *)b + 1);
}

/* By chance a million samples on a lattice of 2^-20 have 0.01 pairs twice. */
static void repetitions(struct statistics_verdict *v, const double *x, size_t n)
{
    double *pairs CLEAN(memory_release) = memory_array(n, sizeof *pairs);
    if (pairs == NULL) {
        verdict_note(v, "memory", 0);
        return;
    }
    memcpy(pairs, x, n * sizeof *pairs);
    qsort(pairs, n / 2, 2 * sizeof *pairs, by_both);
    for (size_t i = 2; i + 1 < n; i += 2)
        if (memcmp(pairs + i, pairs + i - 2, 2 * sizeof *pairs) == 0)
            verdict_note(v, "a pair came twice", 0);
}

void statistics_pairs(struct statistics_verdict *v, const struct statistics_distribution *d,
                      const double *x, size_t n)
{
    joint(v, d, x, n);
    joint(v, d, x + 1, n - 1);
    repetitions(v, x, n);
}

void statistics_digits(struct statistics_verdict *v, const double *ones, const double *p,
                       size_t digits, double n)
{
    for (size_t k = 0; k < digits; k++)
        verdict_note(v, "a digit",
                     n * p[k] < 500
                         ? count_p(ones[k], n * p[k])
                         : two_sided((ones[k] - n * p[k]) / sqrt(n * p[k] * (1 - p[k]))));
}
