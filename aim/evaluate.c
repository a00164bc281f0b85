#include "aim/evaluate.h"

#include "aim/factor.h"
#include "aim/tabulate.h"
#include "base/memory.h"

#include <math.h>

/* Shares of rows in each cell; an empty table has none anywhere. */
static enum err shares_of(const struct table *t, const struct clique *c, uint64_t cells,
                          double *share)
{
    int64_t *counts = memory_array(cells, sizeof *counts);
    if (counts == NULL)
        return ERR_NOMEM;
    tabulate_marginal(t, c, counts);
    for (uint64_t i = 0; i < cells; i++)
        share[i] = t->rows > 0 ? (double)counts[i] / (double)t->rows : 0;
    memory_free(&counts);
    return ERR_OK;
}

enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean)
{
    double sum = 0;
    for (size_t k = 0; k < w->cliques; k++) {
        const struct clique *c = &w->clique[k];
        uint64_t cells = clique_cells(c, a->domain);
        double *p = memory_array(cells, sizeof *p), *q = memory_array(cells, sizeof *q);
        double error = 0;
        enum err e = p != NULL && q != NULL ? ERR_OK : ERR_NOMEM;
        if (e == ERR_OK)
            e = shares_of(a, c, cells, p);
        if (e == ERR_OK)
            e = shares_of(b, c, cells, q);
        for (uint64_t i = 0; e == ERR_OK && i < cells; i++)
            error += fabs(p[i] - q[i]);
        memory_free(&p);
        memory_free(&q);
        TRY(e);
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
    struct factor separator;
    TRY(factor_new(&separator, &c->separator, t->domain));
    factor_sum(&c->scope, belief, &c->separator, t->domain, separator.value);
    for (size_t row = 0; row < t->rows; row++)
        sum[row] += log(belief[table_cell(t, c->scope.attribute, c->scope.n, row)]) -
                    log(fmax(
                        separator.value[table_cell(t, c->separator.attribute, c->separator.n, row)],
                        0x1p-1074));
    factor_clear(&separator);
    return ERR_OK;
}

enum err evaluate_likelihood(const struct model *m, const struct table *t, double *mean,
                             size_t *impossible)
{
    double *sum = memory_array(t->rows, sizeof *sum), all = 0;
    enum err e = sum != NULL ? ERR_OK : ERR_NOMEM;
    size_t none = 0;
    for (size_t i = 0; e == ERR_OK && i < model_junction(m)->cliques; i++)
        e = add_clique(m, i, t, sum);
    for (size_t row = 0; e == ERR_OK && row < t->rows; row++) {
        bool possible = sum[row] > -EVALUATE_IMPOSSIBLE;
        none += !possible;
        all -= possible ? sum[row] : -EVALUATE_IMPOSSIBLE;
    }
    memory_free(&sum);
    *mean = t->rows > 0 ? all / (double)t->rows : 0;
    if (impossible != NULL)
        *impossible = none;
    return e;
}
