#include "aim/workload/scope.h"

#include <stdio.h>
#include <string.h>

#define RUN_MOST (UINT32_C(1) << 31)

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

struct scope scope_without(const struct scope *a, const struct scope *b)
{
    struct scope s = {0};
    for (unsigned i = 0; i < a->n; i++)
        if (!scope_has(b, a->attribute[i]))
            s.attribute[s.n++] = a->attribute[i];
    return s;
}

bool scope_equal(const struct scope *a, const struct scope *b)
{
    return a->n == b->n && memcmp(a->attribute, b->attribute, a->n * sizeof a->attribute[0]) == 0;
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

/* The stride of an attribute in a table over s; 0 if s lacks it. */
static uint64_t step_of(const struct scope *s, uint16_t attribute, const struct domain *d)
{
    uint64_t stride = 1;
    for (unsigned i = s->n; i-- > 0;) {
        if (s->attribute[i] == attribute)
            return stride;
        stride *= d->attribute[s->attribute[i]].size;
    }
    return 0;
}

void scope_walk_start(struct scope_walk *w, const struct scope *whole, const struct scope *part,
                      const struct domain *d)
{
    w->place = 0;
    w->n = 0;
    for (unsigned i = 0; i < whole->n; i++) {
        const uint32_t size = d->attribute[whole->attribute[i]].size;
        const uint64_t step = step_of(part, whole->attribute[i], d);
        const unsigned last = w->n - 1;
        if (w->n > 0 && w->step[last] == step * size && w->size[last] <= RUN_MOST / size) {
            w->size[last] *= size; /* one run with the attribute before */
            w->step[last] = step;
            continue;
        }
        w->size[w->n] = size;
        w->at[w->n] = 0;
        w->step[w->n++] = step;
    }
}
