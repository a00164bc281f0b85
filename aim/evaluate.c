#include "aim/evaluate.h"

#include "aim/factor.h"
#include "aim/tabulate.h"
#include "base/memory.h"

#include <math.h>

/* sum |p - q| over a marginal's cells. An empty table has no rows anywhere. */
static enum err error_of(const struct clique *c, const struct table *a, const struct table *b,
                         double *error)
{
    uint64_t cells = clique_cells(c, a->domain);
    int64_t *p CLEAN(memory_release) = NULL, *q CLEAN(memory_release) = NULL;
    double n = a->rows > 0 ? (double)a->rows : 1, m = b->rows > 0 ? (double)b->rows : 1;
    TRY(memory_new(&p, cells));
    TRY(memory_new(&q, cells));
    tabulate_marginal(a, c, p);
    tabulate_marginal(b, c, q);
    *error = 0;
    for (uint64_t i = 0; i < cells; i++)
        *error += fabs((double)p[i] / n - (double)q[i] / m);
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

/* Adds ln p(clique | separator) of each row; -INFINITY where the model has nothing. */
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

enum err evaluate_likelihood(const struct model *m, const struct table *t, double *mean,
                             size_t *impossible)
{
    double *sum CLEAN(memory_release) = NULL, all = 0;
    size_t none = 0;
    TRY(memory_new(&sum, t->rows));
    for (size_t i = 0; i < model_junction(m)->cliques; i++)
        TRY(add_clique(m, i, t, sum));
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
