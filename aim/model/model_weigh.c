#include "aim/model/model_weigh.h"

#include "aim/model/factor.h"
#include "aim/model/model_private.h"
#include "base/memory.h"

#include <string.h>

#define WORK 32 /* products are summed but not held */

/* The codes of a weighted attribute that count; the others are left out of all tables. */
struct weigh_counting {
    const double *weight; /* NULL: all codes count alike */
    uint32_t *code;
};

struct model_weighing {
    const struct model *model;
    struct model_sums *sums; /* NULL: a rehearsal, tables have scopes but no values */
    struct scope asked;
    const struct model_weight *weight;
    size_t weights;
    struct domain left;           /* the model's, with only the codes that count */
    struct weigh_counting *codes; /* of each attribute */
    uint32_t *room;               /* for them */
    bool nothing;                 /* no row counts */
    struct scope matters;         /* asked or weighted */
    struct scope *below;          /* for each clique: what matters in its subtree */
    bool *needed;                 /* something in its subtree matters and is not in its separator */
    size_t top;                   /* the lowest clique whose subtree holds all that matters */
    size_t tables;
    struct factor *table;
    size_t *clique;   /* of each table */
    uint64_t largest; /* met so far */
};

static void weighing_clear(struct model_weighing *g)
{
    for (size_t i = 0; i < g->tables; i++)
        factor_clear(&g->table[i]);
    memory_free(&g->table);
    memory_free(&g->clique);
    memory_free(&g->below);
    memory_free(&g->needed);
    memory_free(&g->left.attribute);
    memory_free(&g->codes);
    memory_free(&g->room);
}

/* --- which codes ------------------------------------------------------------------------------ */

static uint32_t count_codes(struct weigh_counting *c, uint32_t size)
{
    uint32_t n = 0;
    for (uint32_t code = 0; code < size; code++)
        if (c->weight[code] != 0)
            c->code[n++] = code;
    return n;
}

static enum err find_codes(struct model_weighing *g)
{
    const struct domain *d = &g->model->grouped;
    size_t room = 0, at = 0;
    for (size_t i = 0; i < g->weights; i++)
        room += d->attribute[g->weight[i].attribute].size;
    TRY(memory_new(&g->codes, d->attributes));
    TRY(memory_new(&g->room, room));
    g->left = (struct domain){.attributes = d->attributes};
    TRY(memory_new(&g->left.attribute, d->attributes));
    for (size_t i = 0; i < d->attributes; i++)
        g->left.attribute[i] = d->attribute[i];
    for (size_t i = 0; i < g->weights; i++) {
        uint16_t a = g->weight[i].attribute;
        uint32_t size = d->attribute[a].size;
        g->codes[a] = (struct weigh_counting){g->weight[i].of, g->room + at};
        g->left.attribute[a].size = count_codes(&g->codes[a], size);
        g->nothing |= g->left.attribute[a].size == 0;
        at += size;
    }
    return ERR_OK;
}

static void note_size(struct model_weighing *g, const struct scope *s, uint64_t share)
{
    uint64_t cells = scope_cells(s, &g->left) / share;
    g->largest = cells > g->largest ? cells : g->largest;
}

/* --- which cliques ---------------------------------------------------------------------------- */

static void find_top(struct model_weighing *g)
{
    const struct junction *j = g->model->junction;
    for (size_t i = 1; i < j->cliques; i++) /* parents come before children */
        if (j->clique[i].parent == g->top && g->below[i].n == g->matters.n)
            g->top = i;
}

static enum err weighing_start(struct model_weighing *g)
{
    const struct junction *j = g->model->junction;
    g->matters = g->asked;
    for (size_t i = 0; i < g->weights; i++) {
        const struct scope one = {.n = 1, .attribute = {g->weight[i].attribute}};
        g->matters = scope_union(&g->matters, &one);
    }
    TRY(memory_new(&g->below, j->cliques));
    TRY(memory_new(&g->needed, j->cliques));
    TRY(memory_new(&g->table, j->cliques));
    TRY(memory_new(&g->clique, j->cliques));
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

/* The attributes of a clique that matter, here or to the cliques next to it. */
static struct scope kept(const struct model_weighing *g, size_t i)
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

/* Whether clique i takes part: it and all above it, up to the top, lead to what matters. */
static bool takes_part(const struct model_weighing *g, size_t i)
{
    while (i > g->top && g->needed[i])
        i = g->model->junction->clique[i].parent;
    return i == g->top;
}

static void add_tables(struct model_weighing *g)
{
    for (size_t i = g->top; i < g->model->junction->cliques; i++)
        if (takes_part(g, i)) {
            g->clique[g->tables] = i;
            g->table[g->tables].scope = kept(g, i);
            note_size(g, &g->table[g->tables++].scope, 1);
        }
}

/* --- their product ---------------------------------------------------------------------------- */

/* What must be kept of the product of two tables: what is asked, or is in a third. */
static struct scope wanted(const struct model_weighing *g, size_t a, size_t b)
{
    struct scope s = g->asked;
    for (size_t i = 0; i < g->tables; i++)
        if (i != a && i != b)
            s = scope_union(&s, &g->table[i].scope);
    return s;
}

/* The pair with the smallest product; tables that share nothing wait for the others. */
static void choose_pair(const struct model_weighing *g, size_t *a, size_t *b)
{
    uint64_t fewest = UINT64_MAX;
    bool shares = false;
    *a = 0;
    *b = 1;
    for (size_t i = 0; i < g->tables; i++)
        for (size_t k = i + 1; k < g->tables; k++) {
            struct scope both = scope_union(&g->table[i].scope, &g->table[k].scope);
            uint64_t cells = scope_cells(&both, &g->left);
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

static enum err contract(struct model_weighing *g, size_t a, size_t b)
{
    struct factor *f = &g->table[a], *with = &g->table[b];
    struct scope both = scope_union(&f->scope, &with->scope), keep = wanted(g, a, b);
    struct scope out = scope_intersect(&both, &keep);
    note_size(g, &both, WORK);
    note_size(g, &out, 1);
    if (g->sums == NULL)
        f->scope = out;
    else
        TRY(factor_contract(f, with, &keep, &g->left));
    factor_clear(with);
    *with = g->table[--g->tables];
    g->table[g->tables] = (struct factor){.value = NULL};
    return ERR_OK;
}

/*
 * A table of the model beside one of the codes that count, and each attribute's stride in both. The
 * innermost comes first; neighbours whose codes all count alike are joined.
 */
struct picking {
    unsigned n;
    const struct weigh_counting *codes[DOMAIN_ATTRIBUTES_MAX];
    bool weighs[DOMAIN_ATTRIBUTES_MAX];
    uint64_t size[DOMAIN_ATTRIBUTES_MAX];
    uint64_t from[DOMAIN_ATTRIBUTES_MAX], to[DOMAIN_ATTRIBUTES_MAX];
};

/* `to` lacks what is summed out. An attribute weighs where `weighing` has it. */
static void picking_start(struct picking *p, const struct model_weighing *g,
                          const struct scope *from, const struct scope *to,
                          const struct scope *weighing)
{
    uint64_t from_stride = 1, to_stride = 1;
    p->n = 0;
    for (unsigned i = from->n; i-- > 0;) {
        uint16_t a = from->attribute[i];
        uint32_t size = g->left.attribute[a].size;
        bool kept = scope_has(to, a), alike = g->codes[a].weight == NULL;
        unsigned last = p->n - 1;
        if (alike && p->n > 0 && p->codes[last]->weight == NULL && kept == (p->to[last] > 0)) {
            p->size[last] *= size;
        } else {
            p->codes[p->n] = &g->codes[a];
            p->weighs[p->n] = !alike && scope_has(weighing, a);
            p->size[p->n] = size;
            p->from[p->n] = from_stride;
            p->to[p->n++] = kept ? to_stride : 0;
        }
        from_stride *= g->model->grouped.attribute[a].size;
        to_stride *= kept ? size : 1;
    }
}

static inline uint64_t code_of(const struct picking *p, unsigned i, uint64_t k)
{
    return p->codes[i]->weight != NULL ? p->codes[i]->code[k] : k;
}

/* Four sums side by side: a single one would wait for itself at every step. */
static double sum_run(const double *cell, const double *weight, uint64_t n)
{
    double sum[4] = {0};
    uint64_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (unsigned i = 0; i < 4; i++)
            sum[i] += weight != NULL ? weight[k + i] * cell[k + i] : cell[k + i];
    for (; k < n; k++)
        sum[0] += weight != NULL ? weight[k] * cell[k] : cell[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Cells of the innermost attribute, whose codes follow each other. */
static void pick_row(const double *from, const double *weight, uint64_t n, bool kept, double *to,
                     double factor)
{
    if (!kept)
        *to += factor * sum_run(from, weight, n);
    else if (weight != NULL)
        for (uint64_t k = 0; k < n; k++)
            to[k] += factor * (weight[k] * from[k]);
    else
        for (uint64_t k = 0; k < n; k++)
            to[k] += factor * from[k];
}

/* Cells of the innermost attribute: rows of them. */
static void pick_rows(const struct picking *p, const double *from, double *to, double factor)
{
    const double *weight = p->weighs[0] ? p->codes[0]->weight : NULL;
    const bool kept = p->to[0] > 0, all = p->codes[0]->weight == NULL;
    for (uint64_t k = 0, n; k < p->size[0]; k += n) {
        uint64_t code = code_of(p, 0, k);
        for (n = all ? p->size[0] : 1; k + n < p->size[0] && code_of(p, 0, k + n) == code + n;)
            n++;
        pick_row(from + code, weight != NULL ? weight + code : NULL, n, kept, kept ? to + k : to,
                 factor);
    }
}

/* Of the `n` innermost attributes. */
static void pick(const struct picking *p, unsigned n, const double *from, double *to, double factor)
{
    const unsigned i = n - 1;
    if (n == 0) {
        *to += factor * *from;
    } else if (n == 1) {
        pick_rows(p, from, to, factor);
    } else {
        for (uint64_t k = 0; k < p->size[i]; k++) {
            uint64_t code = code_of(p, i, k);
            pick(p, i, from + code * p->from[i], to + k * p->to[i],
                 p->weighs[i] ? factor * p->codes[i]->weight[code] : factor);
        }
    }
}

/* Adds the model's table of these attributes in clique i to f. */
static enum err pick_clique(const struct model_weighing *g, size_t i, const struct scope *from,
                            const struct scope *weighing, struct factor *f)
{
    const double *cells;
    struct picking p;
    TRY(model_sums_get(g->sums, i, from, &cells));
    picking_start(&p, g, from, &f->scope, weighing);
    pick(&p, p.n, cells, f->value, 1);
    return ERR_OK;
}

/* Divides by the separator's marginal, which leaves p(the rest | separator). */
static enum err condition(const struct model_weighing *g, size_t i, struct factor *f)
{
    const struct scope *given = &g->model->junction->clique[i].separator, none = {.n = 0};
    struct factor sum CLEAN(factor_clear) = {.value = NULL};
    TRY(factor_new(&sum, given, &g->left));
    TRY(pick_clique(g, i, given, &none, &sum));
    factor_divide(f, &sum, &g->left);
    return ERR_OK;
}

/* A clique's attributes that weigh: all except its separator's, and at the top all. */
static struct scope own(const struct model_weighing *g, size_t i)
{
    const struct junction_clique *c = &g->model->junction->clique[i];
    struct scope s = {.n = 0};
    for (unsigned k = 0; k < c->scope.n; k++)
        if (i == g->top || !scope_has(&c->separator, c->scope.attribute[k]))
            s.attribute[s.n++] = c->scope.attribute[k];
    return s;
}

/* A table of the attributes that are asked or in other tables: weighted p(those | separator). */
static enum err fill_table(struct model_weighing *g, size_t t)
{
    const struct scope from = g->table[t].scope, keep = wanted(g, t, t);
    const struct scope weighing = own(g, g->clique[t]);
    struct factor *f = &g->table[t];
    f->scope = scope_intersect(&from, &keep);
    if (g->sums == NULL)
        return ERR_OK;
    TRY(factor_new(f, &f->scope, &g->left));
    TRY(pick_clique(g, g->clique[t], &from, &weighing, f));
    return g->clique[t] != g->top ? condition(g, g->clique[t], f) : ERR_OK;
}

static enum err weigh(struct model_weighing *g)
{
    TRY(find_codes(g));
    if (g->nothing)
        return ERR_OK;
    TRY(weighing_start(g));
    add_tables(g);
    for (size_t i = 0; i < g->tables; i++)
        TRY(fill_table(g, i));
    while (g->tables > 1) {
        size_t a, b;
        choose_pair(g, &a, &b);
        TRY(contract(g, a, b));
    }
    return ERR_OK;
}

/* Cells of the largest table, or product over 32, that this needs; nothing is computed. */
static enum err rehearse(const struct model_weighing *like, uint64_t *largest)
{
    struct model_weighing g CLEAN(weighing_clear) = {.model = like->model,
                                                     .asked = like->asked,
                                                     .weight = like->weight,
                                                     .weights = like->weights};
    TRY(weigh(&g));
    *largest = g.largest;
    return ERR_OK;
}

/* The codes that do not count have no rows. */
static void spread(const struct model_weighing *g, double *counts)
{
    const struct domain *d = &g->model->grouped;
    const struct scope *s = &g->asked;
    const double *from = g->table[0].value;
    uint64_t cells = g->table[0].cells;
    for (uint64_t i = 0; i < cells; i++) {
        uint64_t rest = i, at = 0, stride = 1;
        for (unsigned k = s->n; k-- > 0;) {
            uint16_t a = s->attribute[k];
            uint32_t place = (uint32_t)(rest % g->left.attribute[a].size);
            rest /= g->left.attribute[a].size;
            at += stride * (g->codes[a].weight != NULL ? g->codes[a].code[place] : place);
            stride *= d->attribute[a].size;
        }
        counts[at] = g->model->total * from[i];
    }
}

enum err model_weigh_merged(struct model_sums *sums, const struct clique *asked,
                            const struct model_weight *weight, size_t weights, double *counts,
                            struct log *log)
{
    const struct model *m = model_sums_of(sums);
    struct model_weighing g CLEAN(weighing_clear) = {
        .model = m, .sums = sums, .asked = scope_of(asked), .weight = weight, .weights = weights};
    uint64_t largest,
        most = m->limit_cells < MODEL_WEIGH_CELLS ? m->limit_cells : MODEL_WEIGH_CELLS;
    TRY(rehearse(&g, &largest));
    if (largest > most)
        return log_fail(log, ERR_RANGE,
                        "the answer needs a table of %llu cells where %llu are allowed; ask for "
                        "fewer columns at a time, those in GROUP BY first",
                        (unsigned long long)largest, (unsigned long long)most);
    TRY(weigh(&g));
    memset(counts, 0, clique_cells(asked, &m->grouped) * sizeof *counts);
    if (!g.nothing)
        spread(&g, counts);
    return ERR_OK;
}
