#include "aim/model_weigh.h"

#include "aim/factor.h"
#include "aim/model_private.h"
#include "base/memory.h"

#include <string.h>

#define WORK 32 /* products are summed but not held */

struct weighing {
    const struct model *model;
    struct scope asked;
    const struct model_weight *weight;
    size_t weights;
    struct scope matters; /* asked or weighted */
    struct scope *below;  /* for each clique: what matters in its subtree */
    bool *needed;         /* its subtree holds something that matters and its separator lacks */
    size_t top;           /* the lowest clique whose subtree holds all that matters */
    size_t tables;
    struct factor *table;
    bool rehearsal;   /* tables have scopes, but no values */
    uint64_t largest; /* met so far */
};

static void weighing_clear(struct weighing *g)
{
    for (size_t i = 0; i < g->tables; i++)
        factor_clear(&g->table[i]);
    memory_free(&g->table);
    memory_free(&g->below);
    memory_free(&g->needed);
}

static const struct domain *domain_of(const struct weighing *g)
{
    return g->model->domain;
}

static void note_size(struct weighing *g, const struct scope *s, uint64_t share)
{
    uint64_t cells = scope_cells(s, domain_of(g)) / share;
    g->largest = cells > g->largest ? cells : g->largest;
}

/* --- which cliques ---------------------------------------------------------------------------- */

static struct scope single(uint16_t attribute)
{
    return (struct scope){.n = 1, .attribute = {attribute}};
}

static void find_top(struct weighing *g)
{
    const struct junction *j = g->model->junction;
    for (size_t i = 1; i < j->cliques; i++) /* parents come before children */
        if (j->clique[i].parent == g->top && g->below[i].n == g->matters.n)
            g->top = i;
}

static enum err weighing_start(struct weighing *g)
{
    const struct junction *j = g->model->junction;
    g->matters = g->asked;
    for (size_t i = 0; i < g->weights; i++) {
        struct scope one = single(g->weight[i].attribute);
        g->matters = scope_union(&g->matters, &one);
    }
    TRY(memory_new(&g->below, j->cliques));
    TRY(memory_new(&g->needed, j->cliques));
    TRY(memory_new(&g->table, j->cliques));
    for (size_t i = 0; i < j->cliques; i++)
        g->below[i] = scope_intersect(&j->clique[i].scope, &g->matters);
    for (size_t i = j->cliques; i-- > 1;) {
        uint32_t parent = j->clique[i].parent;
        g->needed[i] = !scope_contains(&j->clique[i].separator, &g->below[i]);
        g->below[parent] = scope_union(&g->below[parent], &g->below[i]);
    }
    find_top(g);
    return ERR_OK;
}

/* --- the cliques' tables ---------------------------------------------------------------------- */

/* What of a clique matters: here, or to the cliques beside it. */
static struct scope kept(const struct weighing *g, size_t i)
{
    const struct junction *j = g->model->junction;
    struct scope s = g->matters;
    if (i != g->top)
        s = scope_union(&s, &j->clique[i].separator);
    for (size_t c = i + 1; c < j->cliques; c++)
        if (g->needed[c] && j->clique[c].parent == i)
            s = scope_union(&s, &j->clique[c].separator);
    return scope_intersect(&s, &j->clique[i].scope);
}

/* A node's belief, summed onto a part of its scope. */
static enum err sum_belief(const struct model *m, size_t i, struct factor *f)
{
    const struct node *n = &m->node[i];
    struct projection by CLEAN(projection_clear) = {.offset = NULL};
    TRY(projection_new(&by, &m->junction->clique[i].scope, n->chunk, &f->scope, m->domain));
    for (size_t c = 0; c < n->cells / n->chunk; c++)
        m->sweep->collect(f->value + by.offset[c], n->belief + c * n->chunk, &by.strip);
    return ERR_OK;
}

static void multiply(struct factor *f, const struct model_weight *w, const struct domain *d)
{
    struct scope one = single(w->attribute);
    struct scope_walk walk;
    scope_walk_start(&walk, &f->scope, &one, d);
    for (uint64_t c = 0; c < f->cells; c++, scope_walk_next(&walk))
        f->value[c] *= w->of[walk.place];
}

/* p(what is kept of clique i | its separator) and the weights of what its separator lacks. */
static enum err add_table(struct weighing *g, size_t i)
{
    const struct junction_clique *c = &g->model->junction->clique[i];
    struct factor *f = &g->table[g->tables++];
    f->scope = kept(g, i);
    note_size(g, &f->scope, 1);
    if (g->rehearsal)
        return ERR_OK;
    TRY(factor_new(f, &f->scope, domain_of(g)));
    TRY(sum_belief(g->model, i, f));
    if (i != g->top)
        TRY(factor_condition(f, &c->separator, domain_of(g)));
    for (size_t k = 0; k < g->weights; k++) {
        uint16_t a = g->weight[k].attribute;
        if (scope_has(&c->scope, a) && (i == g->top || !scope_has(&c->separator, a)))
            multiply(f, &g->weight[k], domain_of(g));
    }
    return ERR_OK;
}

/* Whether clique i takes part: it and all above it, up to the top, lead to what matters. */
static bool takes_part(const struct weighing *g, size_t i)
{
    while (i > g->top && g->needed[i])
        i = g->model->junction->clique[i].parent;
    return i == g->top;
}

static enum err add_tables(struct weighing *g)
{
    for (size_t i = g->top; i < g->model->junction->cliques; i++)
        if (takes_part(g, i))
            TRY(add_table(g, i));
    return ERR_OK;
}

/* --- their product ---------------------------------------------------------------------------- */

/* What must be kept of the product of two tables: what is asked, or is in a third. */
static struct scope wanted(const struct weighing *g, size_t a, size_t b)
{
    struct scope s = g->asked;
    for (size_t i = 0; i < g->tables; i++)
        if (i != a && i != b)
            s = scope_union(&s, &g->table[i].scope);
    return s;
}

/* The pair of the smallest product; tables that share nothing wait for the others. */
static void choose_pair(const struct weighing *g, size_t *a, size_t *b)
{
    uint64_t fewest = UINT64_MAX;
    bool shares = false;
    *a = 0;
    *b = 1;
    for (size_t i = 0; i < g->tables; i++)
        for (size_t k = i + 1; k < g->tables; k++) {
            struct scope both = scope_union(&g->table[i].scope, &g->table[k].scope);
            uint64_t cells = scope_cells(&both, domain_of(g));
            bool share = both.n < g->table[i].scope.n + g->table[k].scope.n ||
                         g->table[i].scope.n == 0 || g->table[k].scope.n == 0;
            if (share < shares || (share == shares && cells >= fewest))
                continue;
            shares = share;
            fewest = cells;
            *a = i;
            *b = k;
        }
}

static enum err contract(struct weighing *g, size_t a, size_t b)
{
    struct factor *f = &g->table[a], *with = &g->table[b];
    struct scope both = scope_union(&f->scope, &with->scope), keep = wanted(g, a, b);
    struct scope out = scope_intersect(&both, &keep);
    note_size(g, &both, WORK);
    note_size(g, &out, 1);
    if (g->rehearsal)
        f->scope = out;
    else
        TRY(factor_contract(f, with, &keep, domain_of(g)));
    factor_clear(with);
    *with = g->table[--g->tables];
    g->table[g->tables] = (struct factor){.value = NULL};
    return ERR_OK;
}

/* Sums out what one table alone has and nobody asks for. */
static enum err reduce(struct weighing *g, size_t i)
{
    struct scope keep = wanted(g, i, i);
    struct factor out = {.value = NULL}, *f = &g->table[i];
    keep = scope_intersect(&f->scope, &keep);
    if (keep.n == f->scope.n)
        return ERR_OK;
    if (g->rehearsal) {
        f->scope = keep;
        return ERR_OK;
    }
    TRY(factor_new(&out, &keep, domain_of(g)));
    factor_sum(&f->scope, f->value, &keep, domain_of(g), out.value);
    factor_clear(f);
    *f = out;
    return ERR_OK;
}

static enum err weigh(struct weighing *g)
{
    TRY(weighing_start(g));
    TRY(add_tables(g));
    for (size_t i = 0; i < g->tables; i++)
        TRY(reduce(g, i));
    while (g->tables > 1) {
        size_t a, b;
        choose_pair(g, &a, &b);
        TRY(contract(g, a, b));
    }
    return ERR_OK;
}

uint64_t model_weigh_cells(const struct model *m, const struct clique *asked,
                           const struct model_weight *weight, size_t weights)
{
    struct weighing g CLEAN(weighing_clear) = {.model = m,
                                               .asked = scope_of(asked),
                                               .weight = weight,
                                               .weights = weights,
                                               .rehearsal = true};
    return weigh(&g) == ERR_OK ? g.largest : UINT64_MAX;
}

enum err model_weigh(const struct model *m, const struct clique *asked,
                     const struct model_weight *weight, size_t weights, double *counts,
                     struct log *log)
{
    struct weighing g CLEAN(weighing_clear) = {
        .model = m, .asked = scope_of(asked), .weight = weight, .weights = weights};
    uint64_t largest = model_weigh_cells(m, asked, weight, weights);
    uint64_t most = m->limit_cells < MODEL_WEIGH_CELLS ? m->limit_cells : MODEL_WEIGH_CELLS;
    if (largest > most)
        return log_fail(log, ERR_RANGE,
                        "the answer needs a table of %llu cells where %llu are allowed; ask for "
                        "fewer columns at a time, those behind GROUP BY first",
                        (unsigned long long)largest, (unsigned long long)most);
    TRY(weigh(&g));
    for (uint64_t i = 0; i < g.table[0].cells; i++)
        counts[i] = m->total * g.table[0].value[i];
    return ERR_OK;
}
