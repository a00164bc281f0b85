#include "aim/scope.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

struct scope scope_of(const struct clique *c)
{
    struct scope s = {.n = c->n};
    memcpy(s.attribute, c->attribute, c->n * sizeof c->attribute[0]);
    return s;
}

bool scope_has(const struct scope *s, uint16_t attribute)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->attribute[i] == attribute)
            return true;
    return false;
}

bool scope_contains(const struct scope *whole, const struct scope *part)
{
    unsigned i = 0;
    for (unsigned j = 0; j < part->n; j++) {
        while (i < whole->n && whole->attribute[i] < part->attribute[j])
            i++;
        if (i == whole->n || whole->attribute[i] != part->attribute[j])
            return false;
    }
    return true;
}

struct scope scope_union(const struct scope *a, const struct scope *b)
{
    struct scope s = {0};
    unsigned i = 0, j = 0;
    while (i < a->n || j < b->n) {
        bool from_a = j == b->n || (i < a->n && a->attribute[i] <= b->attribute[j]);
        if (from_a && j < b->n && a->attribute[i] == b->attribute[j])
            j++;
        s.attribute[s.n++] = from_a ? a->attribute[i++] : b->attribute[j++];
    }
    return s;
}

struct scope scope_intersect(const struct scope *a, const struct scope *b)
{
    struct scope s = {0};
    for (unsigned i = 0; i < a->n; i++)
        if (scope_has(b, a->attribute[i]))
            s.attribute[s.n++] = a->attribute[i];
    return s;
}

uint64_t scope_cells(const struct scope *s, const struct domain *d)
{
    uint64_t cells = 1;
    for (unsigned i = 0; i < s->n; i++)
        if (__builtin_mul_overflow(cells, (uint64_t)d->attribute[s->attribute[i]].size, &cells))
            return UINT64_MAX;
    return cells;
}

void scope_name(const struct scope *s, const struct domain *d, char *text, size_t size)
{
    size_t used = 0;
    if (size > 0)
        text[0] = '\0';
    for (unsigned i = 0; i < s->n && used < size; i++) {
        int n = snprintf(text + used, size - used, "%s%s", i > 0 ? " x " : "",
                         d->attribute[s->attribute[i]].name);
        used += n > 0 ? (size_t)n : 0;
    }
}

void scope_walk_start(struct scope_walk *w, const struct scope *whole, const struct scope *part,
                      const struct domain *d)
{
    uint64_t stride = 1;
    unsigned j = part->n;
    w->place = 0;
    w->n = whole->n;
    for (unsigned i = whole->n; i-- > 0;) {
        w->size[i] = d->attribute[whole->attribute[i]].size;
        w->at[i] = 0;
        w->step[i] = 0;
        if (j > 0 && part->attribute[j - 1] == whole->attribute[i]) {
            w->step[i] = stride;
            stride *= w->size[i];
            j--;
        }
    }
}

enum err factor_new(struct factor *f, const struct scope *scope, const struct domain *d)
{
    f->scope = *scope;
    f->cells = scope_cells(scope, d);
    f->value = memory_array(f->cells, sizeof *f->value);
    return f->value != NULL ? ERR_OK : ERR_NOMEM;
}

void factor_clear(struct factor *f)
{
    memory_free(&f->value);
    f->cells = 0;
}

void factor_sum(const struct scope *scope, const double *cells, const struct scope *keep,
                const struct domain *d, double *out)
{
    uint64_t n = scope_cells(scope, d);
    struct scope_walk w;
    memset(out, 0, scope_cells(keep, d) * sizeof *out);
    scope_walk_start(&w, scope, keep, d);
    for (uint64_t i = 0; i < n; i++, scope_walk_next(&w))
        out[w.place] += cells[i];
}

/* One run of one attribute's values: `step` says how they move in each table. */
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

/* Takes an attribute out of a walk, to be a run of its own: returns its step. */
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

enum err factor_condition(struct factor *f, const struct scope *given, const struct domain *d)
{
    struct scope_walk w;
    struct factor sum;
    TRY(factor_new(&sum, given, d));
    factor_sum(&f->scope, f->value, given, d, sum.value);
    scope_walk_start(&w, &f->scope, given, d);
    for (uint64_t i = 0; i < f->cells; i++, scope_walk_next(&w))
        f->value[i] = sum.value[w.place] > 0 ? f->value[i] / sum.value[w.place] : 0;
    factor_clear(&sum);
    return ERR_OK;
}
