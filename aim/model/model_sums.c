#include "aim/model/model_sums.h"

#include "aim/model/factor.h"
#include "base/memory.h"

#define CELLS (UINT64_C(1) << 22) /* above this, the kept tables are dropped */

struct kept {
    size_t clique;
    struct factor sum;
};

struct model_sums {
    const struct model *model;
    struct table *rows; /* instead of a model */
    double total;
    size_t n, room;
    struct kept *one;
    uint64_t cells; /* of all */
};

enum err model_sums_new(struct model_sums **s, const struct model *m)
{
    TRY(memory_new(s, 1));
    (*s)->model = m;
    (*s)->total = model_total(m);
    return ERR_OK;
}

enum err model_sums_drawn(struct model_sums **s, struct table **drawn, double total)
{
    TRY(memory_new(s, 1));
    (*s)->rows = *drawn;
    (*s)->total = total;
    *drawn = NULL;
    return ERR_OK;
}

static void drop(struct model_sums *s)
{
    while (s->n > 0)
        factor_clear(&s->one[--s->n].sum);
    s->cells = 0;
}

void model_sums_free(struct model_sums **s)
{
    if (*s == NULL)
        return;
    drop(*s);
    table_free(&(*s)->rows);
    memory_free(&(*s)->one);
    memory_free(s);
}

const struct model *model_sums_of(const struct model_sums *s)
{
    return s->model;
}

const struct table *model_sums_rows(const struct model_sums *s)
{
    return s->rows;
}

double model_sums_total(const struct model_sums *s)
{
    return s->total;
}

/* The clique's smallest kept table that has all of `part`; NULL: only its own has. */
static const struct factor *nearest(const struct model_sums *s, size_t clique,
                                    const struct scope *part)
{
    const struct factor *best = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct factor *f = &s->one[i].sum;
        if (s->one[i].clique == clique && scope_contains(&f->scope, part) &&
            (best == NULL || f->cells < best->cells))
            best = f;
    }
    return best;
}

static enum err add(struct model_sums *s, size_t clique, const struct scope *part)
{
    const struct domain *d = model_grouped(s->model);
    const struct factor *from = nearest(s, clique, part);
    const struct scope *whole = &model_junction(s->model)->clique[clique].scope;
    struct factor f = {.value = NULL};
    TRY(factor_new(&f, part, d));
    if (from != NULL)
        factor_sum(&from->scope, from->value, part, d, f.value);
    else
        factor_sum(whole, model_belief(s->model, clique), part, d, f.value);
    if (s->cells + f.cells > CELLS)
        drop(s);
    if (memory_room(&s->one, &s->room, s->n + 1) != ERR_OK) {
        factor_clear(&f);
        return ERR_NOMEM;
    }
    s->one[s->n++] = (struct kept){clique, f};
    s->cells += f.cells;
    return ERR_OK;
}

enum err model_sums_get(struct model_sums *s, size_t clique, const struct scope *part,
                        const double **cells)
{
    const struct factor *f = nearest(s, clique, part);
    *cells = model_belief(s->model, clique);
    if (part->n == model_junction(s->model)->clique[clique].scope.n)
        return ERR_OK;
    if (f == NULL || f->scope.n > part->n)
        TRY(add(s, clique, part));
    *cells = nearest(s, clique, part)->value;
    return ERR_OK;
}
