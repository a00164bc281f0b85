#include "aim/table.h"

#include "base/memory.h"

#include <string.h>

static enum err reserve(struct table *t, size_t capacity)
{
    for (size_t a = 0; a < t->domain->attributes; a++) {
        uint16_t *grown = memory_grow(t->column[a], capacity, sizeof *grown);
        if (grown == NULL)
            return ERR_NOMEM;
        t->column[a] = grown;
    }
    t->capacity = capacity;
    return ERR_OK;
}

enum err table_new(struct table **out, const struct domain *d, size_t capacity)
{
    struct table *t = memory_array(1, sizeof *t);
    enum err e = ERR_NOMEM;
    *out = NULL;
    if (t == NULL)
        return ERR_NOMEM;
    t->domain = d;
    t->column = memory_array(d->attributes, sizeof *t->column);
    if (t->column != NULL)
        e = reserve(t, capacity);
    if (e != ERR_OK)
        table_free(&t);
    *out = t;
    return e;
}

void table_free(struct table **t)
{
    if (*t == NULL)
        return;
    for (size_t a = 0; (*t)->column != NULL && a < (*t)->domain->attributes; a++)
        memory_free(&(*t)->column[a]);
    memory_free(&(*t)->column);
    memory_free(t);
}

enum err table_append(struct table *t, const uint16_t *codes)
{
    for (size_t a = 0; a < t->domain->attributes; a++)
        if (codes[a] >= t->domain->attribute[a].size)
            return ERR_DATA;
    if (t->rows == t->capacity)
        TRY(reserve(t, t->capacity < 64 ? 128 : t->capacity + t->capacity / 2));
    for (size_t a = 0; a < t->domain->attributes; a++)
        t->column[a][t->rows] = codes[a];
    t->rows++;
    return ERR_OK;
}

void table_marginal(const struct table *t, const struct clique *c, int64_t *cells)
{
    memset(cells, 0, (size_t)clique_cells(c, t->domain) * sizeof *cells);
    for (size_t row = 0; row < t->rows; row++)
        cells[table_cell(t, c->attribute, c->n, row)]++;
}

/* A query's counts as sums of its maximal parent's. */
static enum err project(const struct workload *w, const struct domain *d, uint32_t query,
                        int64_t *counts)
{
    const struct workload_query *q = &w->query[query];
    const struct workload_query *parent = &w->query[q->parent];
    uint32_t *index = memory_array(parent->cells, sizeof *index);
    if (index == NULL)
        return ERR_NOMEM;
    clique_project(&parent->clique, &q->clique, d, index);
    memset(counts + q->offset, 0, q->cells * sizeof *counts);
    for (uint64_t i = 0; i < parent->cells; i++)
        counts[q->offset + index[i]] += counts[parent->offset + i];
    memory_free(&index);
    return ERR_OK;
}

enum err table_closure(const struct table *t, const struct workload *w, int64_t *counts)
{
    for (size_t i = 0; i < w->queries; i++)
        if (w->query[i].maximal)
            table_marginal(t, &w->query[i].clique, counts + w->query[i].offset);
    for (uint32_t i = 0; i < w->queries; i++)
        if (!w->query[i].maximal)
            TRY(project(w, t->domain, i, counts));
    return ERR_OK;
}
