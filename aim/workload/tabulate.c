#include "aim/workload/tabulate.h"

#include "base/memory.h"

#include <string.h>

void tabulate_marginal(const struct table *t, const struct clique *c, int64_t *cells)
{
    memset(cells, 0, (size_t)clique_cells(c, t->domain) * sizeof *cells);
    for (size_t row = 0; row < t->rows; row++)
        cells[table_cell(t, c->attribute, c->n, row)] += t->weight != NULL ? t->weight[row] : 1;
}

enum err tabulate_counts(const struct table *t, const struct clique *c, double *counts)
{
    const uint64_t cells = clique_cells(c, t->domain);
    int64_t *rows CLEAN(memory_release) = NULL;
    TRY(memory_new(&rows, cells));
    tabulate_marginal(t, c, rows);
    for (uint64_t i = 0; i < cells; i++)
        counts[i] = (double)rows[i];
    return ERR_OK;
}

/* A query's counts as sums of its maximal parent's. */
static enum err project(const struct workload *w, const struct domain *d, uint32_t query,
                        int64_t *counts)
{
    const struct workload_query *q = &w->query[query];
    const struct workload_query *parent = &w->query[q->parent];
    uint32_t *index CLEAN(memory_release) = NULL;
    TRY(memory_new(&index, parent->cells));
    clique_project(&parent->clique, &q->clique, d, index);
    memset(counts + q->offset, 0, q->cells * sizeof *counts);
    for (uint64_t i = 0; i < parent->cells; i++)
        counts[q->offset + index[i]] += counts[parent->offset + i];
    return ERR_OK;
}

enum err tabulate_closure(const struct table *t, const struct workload *w, int64_t *counts)
{
    for (size_t i = 0; i < w->queries; i++)
        if (w->query[i].maximal)
            tabulate_marginal(t, &w->query[i].clique, counts + w->query[i].offset);
    for (uint32_t i = 0; i < w->queries; i++)
        if (!w->query[i].maximal)
            TRY(project(w, t->domain, i, counts));
    return ERR_OK;
}
