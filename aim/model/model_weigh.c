#include "aim/model/model_weigh.h"

#include "aim/model/factor.h"
#include "aim/model/model_private.h"
#include "base/memory.h"

#include <string.h>

/* The codes of a weighted attribute that count; the others are left out of all tables. */
struct weigh_counting {
    const double *weight; /* NULL: all codes count alike */
    uint32_t *code;
};

struct model_weighing {
    const struct model *model;
    struct model_sums *sums;
    struct scope asked, matters; /* matters: asked or weighted */
    const struct model_weight *weight;
    size_t weights;
    struct domain left;           /* the model's, with only the codes that count */
    struct weigh_counting *codes; /* of each attribute */
    uint32_t *room;               /* for them */
    bool nothing;                 /* no row counts */
};

static void weighing_clear(struct model_weighing *g)
{
    memory_free_all(&g->left.attribute, &g->codes, &g->room);
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
    g->matters = g->asked;
    for (size_t i = 0; i < g->weights; i++) {
        uint16_t a = g->weight[i].attribute;
        uint32_t size = d->attribute[a].size;
        const struct scope one = {.n = 1, .attribute = {a}};
        g->matters = scope_union(&g->matters, &one);
        g->codes[a] = (struct weigh_counting){g->weight[i].of, g->room + at};
        g->left.attribute[a].size = count_codes(&g->codes[a], size);
        g->nothing |= g->left.attribute[a].size == 0;
        at += size;
    }
    return ERR_OK;
}

/* --- the cliques' tables ---------------------------------------------------------------------- */

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

/* Divides by the marginal of what is given, which leaves p(the rest | given). */
static enum err condition(const struct model_weighing *g, size_t i, const struct scope *given,
                          struct factor *f)
{
    const struct scope none = {.n = 0};
    struct factor sum CLEAN(factor_clear) = {.value = NULL};
    TRY(factor_new(&sum, given, &g->left));
    TRY(pick_clique(g, i, given, &none, &sum));
    factor_divide(f, &sum, &g->left);
    return ERR_OK;
}

static enum err fill(void *self, size_t i, const struct scope *given, struct factor *f)
{
    const struct model_weighing *g = self;
    const struct scope *all = &g->model->junction->clique[i].scope, none = {.n = 0};
    const struct scope matters = scope_union(&g->matters, &f->scope),
                       from = scope_intersect(all, &matters),
                       weighing = scope_without(all, given != NULL ? given : &none);
    TRY(pick_clique(g, i, &from, &weighing, f));
    return given != NULL ? condition(g, i, given, f) : ERR_OK;
}

/* The codes that do not count have no rows. */
static void spread(const struct model_weighing *g, const double *from, double *counts)
{
    const struct domain *d = &g->model->grouped;
    const struct scope *s = &g->asked;
    uint64_t cells = scope_cells(s, &g->left);
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
    const struct model_weights w = {&g.left, &g.matters, fill, &g};
    double *shares CLEAN(memory_release) = NULL;
    uint64_t largest,
        most = m->limit_cells < MODEL_WEIGH_CELLS ? m->limit_cells : MODEL_WEIGH_CELLS;
    enum err e;
    memset(counts, 0, clique_cells(asked, &m->grouped) * sizeof *counts);
    TRY(find_codes(&g));
    if (g.nothing)
        return ERR_OK;
    if (g.matters.n > MARGINAL_MATTERS_MAX)
        return ERR_MISUSE;
    TRY(memory_new(&shares, scope_cells(&g.asked, &g.left)));
    e = marginal_of(m, NULL, &w, &g.asked, most, &largest, shares);
    if (e == ERR_RANGE)
        return log_fail(log, e,
                        "the answer needs a table of %llu cells where %llu are allowed; ask for "
                        "fewer columns at a time, those in GROUP BY first",
                        (unsigned long long)largest, (unsigned long long)most);
    TRY(e);
    spread(&g, shares, counts);
    return ERR_OK;
}
