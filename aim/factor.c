#include "aim/factor.h"

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

/* Takes an attribute out of a walk and returns its step: it becomes a run. */
static uint64_t take_out(struct scope_walk *w, unsigned attribute)
{
    uint64_t step = w->n > 0 ? w->step[attribute] : 0;
    for (unsigned i = attribute; i + 1 < w->n; i++) {
        w->size[i] = w->size[i + 1];
        w->step[i] = w->step[i + 1];
    }
    w->n -= w->n > 0;
    return step;
}

void factor_sum(const struct scope *scope, const double *cells, const struct scope *keep,
                const struct domain *d, double *out)
{
    const uint64_t n = scope_cells(scope, d);
    uint32_t run = scope->n > 0 ? d->attribute[scope->attribute[scope->n - 1]].size : 1;
    uint64_t step;
    struct scope_walk w;
    memset(out, 0, scope_cells(keep, d) * sizeof *out);
    scope_walk_start(&w, scope, keep, d);
    step = take_out(&w, scope->n - 1U);
    for (uint64_t i = 0; i < n; i += run, scope_walk_next(&w)) {
        double *to = out + w.place, sum = *to;
        if (step == 1) {
            for (uint32_t k = 0; k < run; k++)
                to[k] += cells[i + k];
            continue;
        }
        for (uint32_t k = 0; k < run; k++)
            sum += cells[i + k];
        *to = sum;
    }
}

/* One run over an attribute's values; `step` is how far one moves in each table. */
static void contract_run(double *out, const double *f, const double *g, uint32_t size,
                         const uint64_t step[3])
{
    if (step[0] == 0) {
        double sum = 0;
        for (uint32_t i = 0; i < size; i++)
            sum += f[i * step[1]] * g[i * step[2]];
        *out += sum;
    } else {
        for (uint32_t i = 0; i < size; i++)
            out[i * step[0]] += f[i * step[1]] * g[i * step[2]];
    }
}

/* The attribute of most values: its runs are the longest. */
static unsigned longest_run(const struct scope *s, const struct domain *d, uint32_t *size)
{
    unsigned best = 0;
    *size = 1;
    for (unsigned i = 0; i < s->n; i++)
        if (d->attribute[s->attribute[i]].size >= *size) {
            *size = d->attribute[s->attribute[i]].size;
            best = i;
        }
    return best;
}

enum err factor_contract(struct factor *f, const struct factor *g, const struct scope *keep,
                         const struct domain *d)
{
    struct scope both = scope_union(&f->scope, &g->scope), kept = scope_intersect(&both, keep);
    uint32_t size;
    unsigned inner = longest_run(&both, d, &size);
    uint64_t cells = scope_cells(&both, d), step[3];
    struct scope_walk in_out, in_f, in_g;
    struct factor out;
    TRY(factor_new(&out, &kept, d));
    scope_walk_start(&in_out, &both, &kept, d);
    scope_walk_start(&in_f, &both, &f->scope, d);
    scope_walk_start(&in_g, &both, &g->scope, d);
    step[0] = take_out(&in_out, inner);
    step[1] = take_out(&in_f, inner);
    step[2] = take_out(&in_g, inner);
    for (uint64_t i = 0; i < cells; i += size) {
        contract_run(out.value + in_out.place, f->value + in_f.place, g->value + in_g.place, size,
                     step);
        scope_walk_next(&in_out);
        scope_walk_next(&in_f);
        scope_walk_next(&in_g);
    }
    factor_clear(f);
    *f = out;
    return ERR_OK;
}

void factor_divide(struct factor *f, const struct factor *by, const struct domain *d)
{
    const struct scope *s = &f->scope;
    const uint32_t run = s->n > 0 ? d->attribute[s->attribute[s->n - 1]].size : 1;
    struct scope_walk w;
    uint64_t step;
    scope_walk_start(&w, s, &by->scope, d);
    step = take_out(&w, s->n - 1U);
    for (uint64_t i = 0; i < f->cells; i += run, scope_walk_next(&w))
        for (uint32_t k = 0; k < run; k++) { /* no reciprocals: those of the least are infinite */
            double x = by->value[w.place + k * step];
            f->value[i + k] = x > 0 ? f->value[i + k] / x : 0;
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
