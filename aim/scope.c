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

/* Puts g in f's place. */
static enum err replace(struct factor *f, struct factor *g)
{
    factor_clear(f);
    *f = *g;
    return ERR_OK;
}

enum err factor_reduce(struct factor *f, const struct scope *keep, const struct domain *d)
{
    struct scope kept = scope_intersect(&f->scope, keep);
    struct factor g;
    if (kept.n == f->scope.n)
        return ERR_OK;
    TRY(factor_new(&g, &kept, d));
    factor_sum(&f->scope, f->value, &kept, d, g.value);
    return replace(f, &g);
}

enum err factor_multiply(struct factor *f, const struct factor *g, const struct domain *d)
{
    struct scope both = scope_union(&f->scope, &g->scope);
    struct scope_walk in_f, in_g;
    struct factor product;
    TRY(factor_new(&product, &both, d));
    scope_walk_start(&in_f, &both, &f->scope, d);
    scope_walk_start(&in_g, &both, &g->scope, d);
    for (uint64_t i = 0; i < product.cells; i++) {
        product.value[i] = f->value[in_f.place] * g->value[in_g.place];
        scope_walk_next(&in_f);
        scope_walk_next(&in_g);
    }
    return replace(f, &product);
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
