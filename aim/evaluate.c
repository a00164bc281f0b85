#include "aim/evaluate.h"

#include "base/memory.h"

#include <math.h>

/* Shares of rows in each cell; an empty table has none anywhere. */
static enum err shares_of(const struct table *t, const struct clique *c, uint64_t cells,
                          double *share)
{
    int64_t *counts = memory_array(cells, sizeof *counts);
    if (counts == NULL)
        return ERR_NOMEM;
    table_marginal(t, c, counts);
    for (uint64_t i = 0; i < cells; i++)
        share[i] = t->rows > 0 ? (double)counts[i] / (double)t->rows : 0;
    memory_free(&counts);
    return ERR_OK;
}

struct side {
    const struct table *table; /* or else */
    const struct model *model;
};

static enum err shares(const struct side *s, const struct clique *c, uint64_t cells, double *share,
                       struct log *log)
{
    if (s->table != NULL)
        return shares_of(s->table, c, cells, share);
    TRY(model_marginal(s->model, c, share, log));
    for (uint64_t i = 0; i < cells; i++)
        share[i] /= model_total(s->model);
    return ERR_OK;
}

static enum err evaluate(const struct workload *w, const struct domain *d, const struct side *a,
                         const struct side *b, double *each, double *mean, struct log *log)
{
    double sum = 0;
    for (size_t k = 0; k < w->cliques; k++) {
        const struct clique *c = &w->clique[k];
        uint64_t cells = clique_cells(c, d);
        double *p = memory_array(cells, sizeof *p), *q = memory_array(cells, sizeof *q);
        double error = 0;
        enum err e = p != NULL && q != NULL ? ERR_OK : ERR_NOMEM;
        if (e == ERR_OK)
            e = shares(a, c, cells, p, log);
        if (e == ERR_OK)
            e = shares(b, c, cells, q, log);
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

enum err evaluate_tables(const struct workload *w, const struct table *a, const struct table *b,
                         double *each, double *mean)
{
    struct side left = {.table = a}, right = {.table = b};
    return evaluate(w, a->domain, &left, &right, each, mean, NULL);
}

enum err evaluate_model(const struct workload *w, const struct model *m, const struct table *t,
                        double *each, double *mean, struct log *log)
{
    struct side left = {.model = m}, right = {.table = t};
    return evaluate(w, t->domain, &left, &right, each, mean, log);
}
