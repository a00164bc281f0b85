#include "aim/model/factor.h"

#include "aim/model/sweep.h"
#include "base/memory.h"

#include <string.h>

enum err factor_new(struct factor *f, const struct scope *scope, const struct domain *d)
{
    f->scope = *scope;
    f->cells = scope_cells(scope, d);
    return memory_new(&f->value, f->cells);
}

void factor_clear(struct factor *f)
{
    memory_free(&f->value);
    f->cells = 0;
}

void factor_sum(const struct scope *scope, const double *cells, const struct scope *keep,
                const struct domain *d, double *out)
{
    const double *end = cells + scope_cells(scope, d);
    struct scope_walk w;
    uint64_t step;
    uint32_t run;
    memset(out, 0, scope_cells(keep, d) * sizeof *out);
    scope_walk_start(&w, scope, keep, d);
    run = scope_walk_inner(&w, &step);
    for (; cells < end; cells += run, scope_walk_next(&w)) {
        double *to = out + w.place, sum = *to;
        if (step > 0) {
            for (uint32_t i = 0; i < run; i++)
                to[i * step] += cells[i];
            continue;
        }
        for (uint32_t i = 0; i < run; i++)
            sum += cells[i];
        *to = sum;
    }
}

/* If `keep` lacks some of f's scope, sums f onto the rest in `less` and makes *f point to it. */
static enum err narrow(const struct factor **f, const struct scope *keep, const struct domain *d,
                       struct factor *less)
{
    const struct scope kept = scope_intersect(&(*f)->scope, keep);
    if (kept.n == (*f)->scope.n)
        return ERR_OK;
    TRY(factor_new(less, &kept, d));
    factor_sum(&(*f)->scope, (*f)->value, &kept, d, less->value);
    *f = less;
    return ERR_OK;
}

/* Where the cells of a table over `scope` fall in one over `part`: NULL if there is no memory. */
static uint64_t *places(const struct scope *scope, const struct scope *part, const struct domain *d)
{
    const uint64_t cells = scope_cells(scope, d);
    uint64_t *place = memory_array(cells, sizeof *place);
    struct scope_walk w;
    scope_walk_start(&w, scope, part, d);
    for (uint64_t i = 0; place != NULL && i < cells; i++, scope_walk_next(&w))
        place[i] = w.place;
    return place;
}

/*
 * A product that is summed on the way: for each cell of `batch` (the attributes that both have and
 * that stay) a matrix of f times one of g. g is copied into rows over the attributes that only g
 * has: `run` numbers, then zeros up to `width`. f's numbers are used in place.
 */
struct factor_product {
    const struct factor *f, *g;
    struct factor *out;
    struct scope batch, sum, own, rest; /* own: only g's; rest: out's without own */
    size_t sums, run, width;
    double *rows, *line; /* of g; of out */
    uint64_t *from, *to; /* where `sum` falls in f, and `own` in out */
};

static void product_clear(struct factor_product *p)
{
    memory_free_all(&p->rows, &p->line, &p->from, &p->to);
}

static enum err product_new(struct factor_product *p, const struct domain *d)
{
    const struct scope both = scope_intersect(&p->f->scope, &p->g->scope);
    p->batch = scope_intersect(&both, &p->out->scope);
    p->sum = scope_without(&both, &p->batch);
    p->own = scope_without(&p->g->scope, &both);
    p->rest = scope_without(&p->out->scope, &p->own);
    p->sums = scope_cells(&p->sum, d);
    p->run = scope_cells(&p->own, d);
    p->width = (p->run + SWEEP_LANES - 1) / SWEEP_LANES * SWEEP_LANES;
    p->from = places(&p->sum, &p->f->scope, d);
    p->to = places(&p->own, &p->out->scope, d);
    TRY(memory_new(&p->line, p->width));
    TRY(memory_new(&p->rows, scope_cells(&both, d) * p->width));
    return p->from != NULL && p->to != NULL ? ERR_OK : ERR_NOMEM;
}

static void product_lay_out(struct factor_product *p, const struct domain *d)
{
    struct scope order = p->batch;
    struct scope_walk w;
    double *row = p->rows;
    for (unsigned i = 0; i < p->sum.n; i++)
        order.attribute[order.n++] = p->sum.attribute[i];
    for (unsigned i = 0; i < p->own.n; i++)
        order.attribute[order.n++] = p->own.attribute[i];
    scope_walk_start(&w, &order, &p->g->scope, d);
    for (uint64_t left = p->g->cells; left > 0; left -= p->run, row += p->width)
        for (size_t i = 0; i < p->run; i++, scope_walk_next(&w))
            row[i] = p->g->value[w.place];
}

static void product_sum(const struct factor_product *p, const struct domain *d)
{
    const struct sweep *sweep = sweep_best();
    struct scope_walk in, out, batch;
    scope_walk_start(&in, &p->rest, &p->f->scope, d);
    scope_walk_start(&out, &p->rest, &p->out->scope, d);
    scope_walk_start(&batch, &p->rest, &p->batch, d);
    for (uint64_t left = p->out->cells; left > 0; left -= p->run) {
        sweep->combine(p->line, p->f->value + in.place, p->from,
                       p->rows + batch.place * p->sums * p->width, p->sums, p->width);
        for (size_t i = 0; i < p->run; i++)
            p->out->value[out.place + p->to[i]] = p->line[i];
        scope_walk_next(&in);
        scope_walk_next(&out);
        scope_walk_next(&batch);
    }
}

static enum err multiply(const struct factor *f, const struct factor *g, struct factor *out,
                         const struct domain *d)
{
    struct factor_product p CLEAN(product_clear) = {.f = f, .g = g, .out = out};
    TRY(product_new(&p, d));
    product_lay_out(&p, d);
    product_sum(&p, d);
    return ERR_OK;
}

enum err factor_contract(struct factor *f, const struct factor *g, const struct scope *keep,
                         const struct domain *d)
{
    struct scope both = scope_union(&f->scope, keep), kept;
    struct factor less_f CLEAN(factor_clear) = {0}, less_g CLEAN(factor_clear) = {0};
    struct factor out CLEAN(factor_clear) = {0}, old = *f;
    const struct factor *a = f;
    TRY(narrow(&g, &both, d, &less_g));
    both = scope_union(&g->scope, keep);
    TRY(narrow(&a, &both, d, &less_f));
    both = scope_union(&a->scope, &g->scope);
    kept = scope_intersect(&both, keep);
    TRY(factor_new(&out, &kept, d));
    if (a->cells > g->cells)
        TRY(multiply(a, g, &out, d));
    else
        TRY(multiply(g, a, &out, d));
    *f = out;
    out = old;
    return ERR_OK;
}

void factor_divide(struct factor *f, const struct factor *by, const struct domain *d)
{
    double *cell = f->value;
    struct scope_walk w;
    uint64_t step;
    uint32_t run;
    scope_walk_start(&w, &f->scope, &by->scope, d);
    run = scope_walk_inner(&w, &step);
    for (; cell < f->value + f->cells; cell += run, scope_walk_next(&w))
        for (uint32_t i = 0; i < run; i++) { /* no reciprocals: of tiny numbers they are infinite */
            const double x = by->value[w.place + i * step];
            cell[i] = x > 0 ? cell[i] / x : 0;
        }
}

enum err factor_condition(struct factor *f, const struct scope *given, const struct domain *d)
{
    struct factor sum CLEAN(factor_clear) = {0};
    TRY(factor_new(&sum, given, d));
    factor_sum(&f->scope, f->value, given, d, sum.value);
    factor_divide(f, &sum, d);
    return ERR_OK;
}
