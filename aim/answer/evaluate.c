#include "aim/answer/evaluate.h"

#include "aim/model/factor.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

/* sum |p - q| over a marginal's cells. An empty table has no rows anywhere. */
static enum err error_of(const struct clique *c, const struct table *a, const struct table *b,
                         double *error)
{
    uint64_t cells = clique_cells(c, a->domain);
    double *p CLEAN(memory_release) = NULL, *q CLEAN(memory_release) = NULL;
    double n = a->rows > 0 ? (double)a->rows : 1, m = b->rows > 0 ? (double)b->rows : 1;
    TRY(memory_new(&p, cells));
    TRY(memory_new(&q, cells));
    TRY(tabulate_counts(a, c, p));
    TRY(tabulate_counts(b, c, q));
    *error = 0;
    for (uint64_t i = 0; i < cells; i++)
        *error += fabs(p[i] / n - q[i] / m);
    return ERR_OK;
}

enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean)
{
    double sum = 0;
    for (size_t k = 0; k < w->cliques; k++) {
        double error;
        TRY(error_of(&w->clique[k], a, b, &error));
        if (each != NULL)
            each[k] = error;
        sum += error;
    }
    *mean = sum / (double)w->cliques;
    return ERR_OK;
}

/* --- likelihood ------------------------------------------------------------------------------ */

/* Replaces codes by groups; adds the ln of each code's share of its group to `sum`. */
static enum err group_rows(struct table **out, const struct model *m, const struct table *t,
                           double *sum)
{
    struct table *g CLEAN(table_free) = NULL;
    TRY(table_new(&g, model_grouped(m), t->rows));
    g->rows = t->rows;
    for (uint16_t a = 0; a < t->domain->attributes; a++) {
        const double *share = model_share(m, a);
        const uint32_t *group = model_merges(m)->group[a];
        for (size_t row = 0; row < t->rows; row++) {
            const uint16_t code = t->column[a][row];
            g->column[a][row] = group != NULL ? (uint16_t)group[code] : code;
            if (share != NULL)
                sum[row] += log(share[code]);
        }
    }
    return memory_hand_over(out, &g);
}

/* Adds ln p(clique | separator) of each row; -INFINITY where the model's probability is 0. */
static enum err add_clique(const struct model *m, size_t clique, const struct table *t, double *sum)
{
    const struct junction_clique *c = &model_junction(m)->clique[clique];
    const double *belief = model_belief(m, clique);
    struct factor separator CLEAN(factor_clear) = {0};
    TRY(factor_new(&separator, &c->separator, t->domain));
    factor_sum(&c->scope, belief, &c->separator, t->domain, separator.value);
    for (size_t row = 0; row < t->rows; row++)
        sum[row] += log(belief[table_cell(t, c->scope.attribute, c->scope.n, row)]) -
                    log(fmax(
                        separator.value[table_cell(t, c->separator.attribute, c->separator.n, row)],
                        0x1p-1074));
    return ERR_OK;
}

enum err evaluate_rows(const struct model *m, const struct table *t, double *each)
{
    struct table *grouped CLEAN(table_free) = NULL;
    for (size_t row = 0; row < t->rows; row++)
        each[row] = 0;
    TRY(group_rows(&grouped, m, t, each));
    for (size_t i = 0; i < model_junction(m)->cliques; i++)
        TRY(add_clique(m, i, grouped, each));
    return ERR_OK;
}

enum err evaluate_likelihood(const struct model *m, const struct table *t, double *mean,
                             size_t *impossible)
{
    double *sum CLEAN(memory_release) = NULL, all = 0;
    size_t none = 0;
    TRY(memory_new(&sum, t->rows));
    TRY(evaluate_rows(m, t, sum));
    for (size_t row = 0; row < t->rows; row++) {
        bool possible = sum[row] > -EVALUATE_IMPOSSIBLE;
        none += !possible;
        all -= possible ? sum[row] : -EVALUATE_IMPOSSIBLE;
    }
    *mean = t->rows > 0 ? all / (double)t->rows : 0;
    if (impossible != NULL)
        *impossible = none;
    return ERR_OK;
}

enum err evaluate_alone(const struct table *t, double *mean)
{
    *mean = 0;
    for (uint16_t a = 0; a < t->domain->attributes; a++) {
        const struct clique c = {.n = 1, .attribute = {a}};
        const uint32_t size = t->domain->attribute[a].size;
        double *counts CLEAN(memory_release) = NULL;
        TRY(memory_new(&counts, size));
        TRY(tabulate_counts(t, &c, counts));
        for (uint32_t i = 0; i < size; i++)
            *mean -= counts[i] > 0 ? counts[i] / (double)t->rows * log(counts[i] / (double)t->rows)
                                   : 0;
    }
    return ERR_OK;
}

static enum err count(const void *self, uint16_t attribute, double *counts)
{
    return tabulate_counts(self, &(const struct clique){.n = 1, .attribute = {attribute}}, counts);
}

enum err evaluate_densities(const struct table *t, struct densities *inside)
{
    return densities_of(inside, t->domain, count, t);
}

double evaluate_inside(const struct table *t, const struct densities *inside)
{
    double sum = 0;
    for (uint16_t a = 0; a < t->domain->attributes; a++) {
        double unit;
        if (inside->of[a] == NULL)
            continue;
        unit = evaluate_column(t, a).deviation;
        unit = unit > 0 ? log(unit) : 0;
        for (size_t row = 0; row < t->rows; row++)
            if (!isnan(t->number[a][row]))
                sum += unit + density_log(inside->of[a], t->column[a][row], t->number[a][row]);
    }
    return t->rows > 0 ? sum / (double)t->rows : 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Means, and sums of products of distances from them, over the rows that have both numbers. */
struct evaluate_pair {
    size_t rows;
    double x, y, xx, xy, yy;
};

static struct evaluate_pair pair_of(const double *x, const double *y, size_t rows)
{
    struct evaluate_pair p = {0};
    for (size_t i = 0; i < rows; i++) {
        double dx = x[i] - p.x, dy = y[i] - p.y;
        if (isnan(dx) || isnan(dy))
            continue;
        p.rows++;
        p.x += dx / (double)p.rows;
        p.y += dy / (double)p.rows;
        p.xx += dx * (x[i] - p.x);
        p.xy += dx * (y[i] - p.y);
        p.yy += dy * (y[i] - p.y);
    }
    return p;
}

struct evaluate_column evaluate_column(const struct table *t, uint16_t attribute)
{
    const double *x = t->number[attribute];
    struct evaluate_pair p = pair_of(x, x, t->rows);
    if (p.rows == 0)
        return (struct evaluate_column){NAN, NAN};
    return (struct evaluate_column){p.x, sqrt(p.xx / (double)p.rows)};
}

double evaluate_correlation(const struct table *t, uint16_t a, uint16_t b)
{
    struct evaluate_pair p = pair_of(t->number[a], t->number[b], t->rows);
    return p.xx > 0 && p.yy > 0 ? p.xy / sqrt(p.xx * p.yy) : NAN;
}

/* --- tables to compare with ------------------------------------------------------------------- */

enum err evaluate_draw(struct table **out, const struct table *t, enum evaluate_draw what,
                       size_t rows, uint64_t seed)
{
    struct table *drawn CLEAN(table_free) = NULL;
    uint16_t *codes CLEAN(memory_release) = NULL;
    const size_t columns = t->domain->attributes;
    struct random r = random_of(seed);
    *out = NULL;
    rows = t->rows > 0 ? rows : 0;
    TRY(table_new(&drawn, t->domain, rows));
    TRY(table_keep_numbers(drawn));
    TRY(memory_new(&codes, columns));
    for (size_t i = 0; i < rows; i++) {
        size_t row = random_below(&r, t->rows);
        TRY(table_append(drawn, codes));
        for (size_t a = 0; a < columns; a++) {
            if (what == EVALUATE_COLUMNS && a > 0)
                row = random_below(&r, t->rows);
            drawn->column[a][i] = t->column[a][row];
            if (drawn->number[a] != NULL)
                drawn->number[a][i] = t->number[a][row];
        }
    }
    return memory_hand_over(out, &drawn);
}
