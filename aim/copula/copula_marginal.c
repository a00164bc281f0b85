/* Counts of one or two columns, from a copula. */
#include "aim/copula/copula.h"
#include "aim/copula/copula_model.h"
#include "aim/model/normal.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define STEPS 64 /* of an integral; even */

/* Two normals of correlation sin(t): the density at (h, k), without the integral's factors. */
static double along(double h, double k, double t)
{
    const double c = cos(t);
    return exp(-(h * h + k * k - 2 * h * k * sin(t)) / (2 * c * c));
}

/*
 * The share of two normals of correlation r below (h, k): the share of independent ones, plus the
 * integral of the density at (h, k) over correlations from 0 to r, by Simpson's rule.
 */
static double both_below(double h, double k, double r)
{
    const double step = asin(r) / STEPS;
    double sum = 0;
    if (h == -INFINITY || k == -INFINITY)
        return 0;
    if (h == INFINITY)
        return normal_below(k);
    if (k == INFINITY)
        return normal_below(h);
    for (int i = 0; i <= STEPS; i++)
        sum += (i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2) * along(h, k, i * step);
    return normal_below(h) * normal_below(k) + sum * step / 3 / (2 * M_PI);
}

static enum err bounds_of(const struct copula *c, uint16_t attribute, double **bound)
{
    const uint32_t size = c->domain->attribute[attribute].size;
    TRY(memory_new(bound, size + 1));
    copula_bounds(c->share[attribute], size, *bound);
    return ERR_OK;
}

static enum err of_two(const struct copula *c, uint16_t i, uint16_t j, double *counts)
{
    const uint32_t m = c->domain->attribute[i].size, n = c->domain->attribute[j].size;
    const size_t latents = c->first[c->domain->attributes];
    const double r = c->correlation[c->first[i] * latents + c->first[j]];
    double *x CLEAN(memory_release) = NULL, *y CLEAN(memory_release) = NULL;
    double *row CLEAN(memory_release) = NULL; /* below this bound of x, and below each of y */
    TRY(bounds_of(c, i, &x));
    TRY(bounds_of(c, j, &y));
    TRY(memory_new(&row, n + 1));
    for (uint32_t a = 0; a < m; a++) {
        double left = 0;
        for (uint32_t b = 0; b < n; b++) {
            const double corner = both_below(x[a + 1], y[b + 1], r);
            counts[(size_t)a * n + b] = c->total * fmax(0, corner - left - row[b + 1] + row[b]);
            row[b] = left;
            left = corner;
        }
        row[n] = left;
    }
    return ERR_OK;
}

static enum err of_rows(const struct copula *c, const struct table *t, uint16_t i, uint16_t j,
                        double *counts)
{
    const uint32_t m = c->domain->attribute[i].size, n = c->domain->attribute[j].size;
    if (t == NULL || t->rows == 0)
        return ERR_MISUSE;
    memset(counts, 0, (size_t)m * n * sizeof *counts);
    for (size_t r = 0; r < t->rows; r++)
        counts[(size_t)t->column[i][r] * n + t->column[j][r]] += c->total / (double)t->rows;
    return ERR_OK;
}

enum err copula_marginal(const struct copula *c, const struct table *drawn,
                         const uint16_t *attribute, unsigned n, double *counts)
{
    if (n == 2 && (c->groups[attribute[0]] > 1 || c->groups[attribute[1]] > 1))
        return of_rows(c, drawn, attribute[0], attribute[1], counts);
    if (n == 2)
        return of_two(c, attribute[0], attribute[1], counts);
    if (n != 1)
        return ERR_MISUSE;
    for (uint32_t a = 0; a < c->domain->attribute[*attribute].size; a++)
        counts[a] = c->total * c->share[*attribute][a];
    return ERR_OK;
}
