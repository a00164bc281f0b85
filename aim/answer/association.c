#include "aim/answer/association.h"

#include "base/memory.h"

#include <math.h>

/* An attribute's codes, except the missing one: their rows and the numbers they stand for. */
struct association_side {
    const struct domain_attribute *a;
    double *rows, *mean, *square; /* of each code; only numbers have means */
    double average, variance;     /* of numbers, over all rows */
};

struct cross {
    struct association_side x, y;
    const double *counts;
    uint32_t stride;
    double rows; /* that have both values */
    double sigma;
};

static bool numbers(const struct association_side *s)
{
    return domain_has_order(s->a);
}

static double cell(const struct cross *t, uint32_t i, uint32_t k)
{
    return fmax(0, t->counts[(uint64_t)i * t->stride + k]);
}

static void side_clear(struct association_side *s)
{
    memory_free_all(&s->rows, &s->mean, &s->square);
}

static void clear(struct cross *t)
{
    side_clear(&t->x);
    side_clear(&t->y);
}

static enum err side_new(struct association_side *s, const struct domain_attribute *a,
                         const struct density *d)
{
    s->a = a;
    TRY(memory_new(&s->rows, a->values));
    TRY(memory_new(&s->mean, a->values));
    TRY(memory_new(&s->square, a->values));
    for (uint32_t i = 0; numbers(s) && i < a->values; i++) {
        const struct density_part p = density_whole(d, i);
        s->mean[i] = p.mean;
        s->square[i] = p.square;
    }
    return ERR_OK;
}

static void add_up(struct cross *t)
{
    for (uint32_t i = 0; i < t->x.a->values; i++)
        for (uint32_t k = 0; k < t->y.a->values; k++) {
            const double n = cell(t, i, k);
            t->x.rows[i] += n;
            t->y.rows[k] += n;
            t->rows += n;
        }
}

/* Squares around the average lose fewer digits than those around 0. */
static void find_moments(struct association_side *s, double rows)
{
    for (uint32_t i = 0; i < s->a->values; i++)
        s->average += s->rows[i] * s->mean[i] / rows;
    for (uint32_t i = 0; i < s->a->values; i++) {
        s->square[i] += s->average * (s->average - 2 * s->mean[i]);
        s->mean[i] -= s->average;
        s->variance += s->rows[i] * s->square[i] / rows;
    }
}

/* From the sum of the cells' squared influences on the figure, times the rows. */
static double deviation(const struct cross *t, double squares)
{
    return t->sigma / t->rows * sqrt(squares);
}

/* r: the influence of a cell is z_x z_y - r (z_x^2 + z_y^2) / 2. */
static void correlate(const struct cross *t, struct association *a)
{
    const double sx = sqrt(t->x.variance), sy = sqrt(t->y.variance);
    double both = 0, squares = 0, nothing = 0;
    if (!(sx > 0) || !(sy > 0))
        return;
    for (uint32_t i = 0; i < t->x.a->values; i++)
        for (uint32_t k = 0; k < t->y.a->values; k++)
            both += cell(t, i, k) * t->x.mean[i] * t->y.mean[k];
    a->value = both / t->rows / (sx * sy);
    for (uint32_t i = 0; i < t->x.a->values; i++)
        for (uint32_t k = 0; k < t->y.a->values; k++) {
            const double product = t->x.mean[i] * t->y.mean[k] / (sx * sy);
            const double influence = product - a->value / 2 *
                                                   (t->x.square[i] / t->x.variance +
                                                    t->y.square[k] / t->y.variance);
            squares += influence * influence;
            nothing += product * product;
        }
    a->error = deviation(t, squares);
    a->alone = deviation(t, nothing);
}

/*
 * eta^2 = B / V, where B is the variance of the labels' means m_k. With x and m_k taken around the
 * average, a cell's influence on B is m_k^2 + 2 m_k (x - m_k) - B, and on V it is x^2 - V.
 */
static enum err explain(const struct cross *t, bool flipped, struct association *a)
{
    const struct association_side *n = flipped ? &t->y : &t->x, *l = flipped ? &t->x : &t->y;
    double *mean CLEAN(memory_release) = NULL;
    double between = 0, squares = 0, spread = 0, groups = 0;
    TRY(memory_new(&mean, l->a->values));
    if (!(n->variance > 0))
        return ERR_OK;
    for (uint32_t k = 0; k < l->a->values; k++) {
        for (uint32_t i = 0; i < n->a->values && l->rows[k] > 0; i++)
            mean[k] += (flipped ? cell(t, k, i) : cell(t, i, k)) * n->mean[i] / l->rows[k];
        between += l->rows[k] * mean[k] * mean[k] / t->rows;
        groups += l->rows[k] > 0 ? t->rows / l->rows[k] : 0;
    }
    a->value = sqrt(fmin(1, between / n->variance));
    for (uint32_t i = 0; i < n->a->values; i++) {
        spread += n->mean[i] * n->mean[i];
        for (uint32_t k = 0; k < l->a->values; k++) {
            const double of_b = mean[k] * (2 * n->mean[i] - mean[k]) - between;
            const double of_v = n->square[i] - n->variance;
            const double influence = (of_b - between / n->variance * of_v) / n->variance;
            squares += influence * influence;
        }
    }
    a->error = a->value > 0 ? deviation(t, squares) / (2 * a->value) : 0;
    /* the mean over all rows is known, so one label's mean follows from the others' */
    a->alone = deviation(t, spread / n->variance * groups * (l->a->values - 1) / l->a->values);
    return ERR_OK;
}

/*
 * phi^2 + 1 = sum n_ik^2 / (n_i n_k); times the rows, its derivative is 2 g_ik - A_i - B_k with
 * g_ik = N n_ik / (n_i n_k), and A_i = sum over k of n_ik g_ik / n_i, B_k likewise.
 */
static enum err contingency(const struct cross *t, struct association *a)
{
    const uint32_t rows = t->x.a->values, columns = t->y.a->values;
    double *of_x CLEAN(memory_release) = NULL, *of_y CLEAN(memory_release) = NULL;
    double least = 0, phi = -1, squares = 0, each_x = 0, each_y = 0;
    TRY(memory_new(&of_x, rows));
    TRY(memory_new(&of_y, columns));
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++)
            if (cell(t, i, k) > 0) {
                const double n = cell(t, i, k), g = t->rows * n / (t->x.rows[i] * t->y.rows[k]);
                of_x[i] += n * g / t->x.rows[i];
                of_y[k] += n * g / t->y.rows[k];
                phi += n * g / t->rows;
            }
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++)
            if (t->x.rows[i] > 0 && t->y.rows[k] > 0) {
                const double g = t->rows * cell(t, i, k) / (t->x.rows[i] * t->y.rows[k]);
                squares += (2 * g - of_x[i] - of_y[k]) * (2 * g - of_x[i] - of_y[k]);
            }
    for (uint32_t i = 0; i < rows; i++)
        each_x += t->x.rows[i] > 0 ? t->rows / t->x.rows[i] : 0;
    for (uint32_t k = 0; k < columns; k++)
        each_y += t->y.rows[k] > 0 ? t->rows / t->y.rows[k] : 0;
    least = rows < columns ? rows - 1 : columns - 1;
    if (!(least > 0))
        return ERR_OK;
    a->value = sqrt(fmin(1, fmax(0, phi / least)));
    a->error = a->value > 0 ? deviation(t, squares) / (2 * a->value * least) : 0;
    /* the table's margins are known: the noise of (rows - 1) (columns - 1) cells is free */
    a->alone = deviation(t, each_x * each_y / least * (rows - 1) * (columns - 1) /
                                ((double)rows * columns));
    return ERR_OK;
}

enum err association_of(struct association *a, const struct domain *d, uint16_t x, uint16_t y,
                        const double *counts, double sigma, const struct densities *inside)
{
    struct cross t CLEAN(clear) = {
        .counts = counts, .stride = d->attribute[y].size, .sigma = sigma};
    bool nx, ny;
    *a = (struct association){0};
    TRY(side_new(&t.x, &d->attribute[x], inside->of[x]));
    TRY(side_new(&t.y, &d->attribute[y], inside->of[y]));
    nx = numbers(&t.x);
    ny = numbers(&t.y);
    a->kind = nx && ny ? ASSOCIATION_R : nx || ny ? ASSOCIATION_ETA : ASSOCIATION_V;
    add_up(&t);
    if (!(t.rows > 0))
        return ERR_OK;
    find_moments(&t.x, t.rows);
    find_moments(&t.y, t.rows);
    switch (a->kind) {
    case ASSOCIATION_R:
        correlate(&t, a);
        return ERR_OK;
    case ASSOCIATION_ETA:
        return explain(&t, ny, a);
    case ASSOCIATION_V:
        return contingency(&t, a);
    }
    return ERR_OK;
}

const char *association_word(enum association_kind kind)
{
    switch (kind) {
    case ASSOCIATION_R:
        return "r";
    case ASSOCIATION_ETA:
        return "eta";
    case ASSOCIATION_V:
        return "V";
    }
    return "";
}
