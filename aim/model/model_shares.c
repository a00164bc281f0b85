/*
 * Each code's share of its group. Codes were measured alone, with noise that may be larger than the
 * count.
 *
 * Counts x >= 0 were measured as y, Gaussian around x with deviation s. Those of a group are
 * assumed to be alike, with a density of exp(-r x) before anything was measured. Given y, each is
 * then Gaussian around y - r s^2 with deviation s, but not below 0. r >= 0 is such that their means
 * add up to what was measured of the group: it takes off what noise adds where nothing can be below
 * 0. So a group that is mostly noise is shared out almost evenly, and what stands out from it
 * stays.
 */
#include "aim/model/model_private.h"
#include "aim/model/normal.h"
#include "base/memory.h"

#include <math.h>

#define FAR (-30.) /* deviations: a Gaussian's tail has a mean of 1/x - 2/x^3 there */
#define STEPS 60
#define NEAR 1e-9    /* relative to the sum of a group */
#define SUM_LEAST 1. /* deviations: the least sum of a group */
#define GRID 0x1p-20 /* deviations: libraries that differ in the last bit give the same model */

static double below(double x)
{
    return erfc(-x * M_SQRT1_2) / 2;
}

/* The mean of a unit Gaussian around a, given that it is above 0. */
static double mean_above(double a)
{
    return a < FAR ? (2 / (a * a) - 1) / a : a + normal_density(a) / below(a);
}

/* A draw from that distribution. */
static double draw_above(double a, struct random *r)
{
    const double u = 1 - random_double(r); /* above 0 */
    return a < FAR ? log(u) / a : fmax(0, a - normal_quantile(u * below(a)));
}

/*
 * How much to take off each y, in deviations, so that the means add up to `sum`: Newton's steps
 * from 0. The means are convex in it, so no step goes too far.
 */
static double find_less(const double *y, const bool *never, uint32_t codes, double sum)
{
    double less = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        double all = 0, slope = 0;
        for (uint32_t i = 0; i < codes; i++) {
            const double mean = never[i] ? 0 : mean_above(y[i] - less);
            all += mean;
            slope += never[i] ? 0 : 1 - mean * (mean - (y[i] - less)); /* the variance */
        }
        if (!(all > sum * (1 + NEAR) && slope > 0))
            break;
        less += (all - sum) / slope;
    }
    return less;
}

/* Replaces the measured numbers of a group's codes by their counts, in deviations. */
static void learn_group(double *y, const bool *never, uint32_t codes, struct random *draw)
{
    double sum = 0, less;
    for (uint32_t i = 0; i < codes; i++)
        sum += never[i] ? 0 : y[i];
    less = find_less(y, never, codes, fmax(sum, SUM_LEAST));
    for (uint32_t i = 0; i < codes; i++) {
        const double rows = draw != NULL ? draw_above(y[i] - less, draw) : mean_above(y[i] - less);
        y[i] = fmax(rint(rows / GRID), 1) * GRID;
    }
}

/* Pools the measurements of an attribute's codes alone, in deviations; false if there are none. */
static bool pool(const struct model *m, uint16_t attribute, const struct measurement *x,
                 size_t count, double *y)
{
    double weight = 0;
    for (size_t k = 0; k < count; k++) {
        const double scale = x[k].total > 0 ? m->total / x[k].total : 1,
                     square = x[k].sigma * x[k].sigma * scale;
        if (x[k].clique.n != 1 || x[k].clique.attribute[0] != attribute || x[k].merges != NULL)
            continue;
        weight += 1 / (square * scale);
        for (uint32_t code = 0; code < m->merges.codes[attribute]; code++)
            y[code] += x[k].y[code] / square;
    }
    for (uint32_t code = 0; weight > 0 && code < m->merges.codes[attribute]; code++)
        y[code] /= sqrt(weight);
    return weight > 0;
}

/* y[code] holds the measured numbers, and then what is learned from them. */
static enum err learn(const struct model *m, uint16_t attribute, double *y, struct random *draw)
{
    const uint32_t codes = m->merges.codes[attribute], *code = m->merges.code[attribute];
    double *of CLEAN(memory_release) = NULL;
    bool *never CLEAN(memory_release) = NULL;
    TRY(memory_new(&of, codes));
    TRY(memory_new(&never, codes));
    for (uint32_t k = 0; k < codes; k++) {
        of[k] = y[code[k]];
        never[k] = m->never[attribute][code[k]];
    }
    for (uint32_t from = 0, below; from < codes; from = below) {
        below = merges_below(&m->merges, attribute, from);
        learn_group(of + from, never + from, below - from, draw);
    }
    for (uint32_t k = 0; k < codes; k++)
        y[code[k]] = of[k];
    return ERR_OK;
}

enum err shares_learn(struct model *m, const struct measurement *x, size_t count,
                      struct random *draw)
{
    for (uint16_t a = 0; a < m->domain->attributes; a++) {
        double *y CLEAN(memory_release) = NULL;
        if (m->share[a] == NULL)
            continue;
        TRY(memory_new(&y, m->merges.codes[a]));
        if (!pool(m, a, x, count, y))
            continue;
        TRY(learn(m, a, y, draw));
        groups_share(m, a, y);
    }
    return ERR_OK;
}
