/*
 * aim/workload/scope.h - sets of attributes of any size, and walking the cells of a table over
 * them.
 *
 * A clique (aim/workload/clique.h) is what a study names, with at most eight attributes; a scope
 * is what the estimator meets inside, and may hold all of them. Cells are row-major, the last
 * attribute fastest.
 */
#pragma once

#include "aim/workload/clique.h"

struct scope {
    uint16_t n;
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX]; /* ascending, no repeats */
};

struct scope scope_of(const struct clique *c);
bool scope_has(const struct scope *s, uint16_t attribute);
bool scope_contains(const struct scope *whole, const struct scope *part);
struct scope scope_union(const struct scope *a, const struct scope *b);
struct scope scope_without(const struct scope *a, const struct scope *b);
bool scope_equal(const struct scope *a, const struct scope *b);
struct scope scope_intersect(const struct scope *a, const struct scope *b);
uint64_t scope_cells(const struct scope *s, const struct domain *d); /* UINT64_MAX on overflow */
void scope_name(const struct scope *s, const struct domain *d, char *text, size_t size);

/* For each cell of `whole` in turn, `place` is the cell of `part` to which it sums. */
struct scope_walk {
    uint64_t place;
    unsigned n;
    uint32_t size[DOMAIN_ATTRIBUTES_MAX];
    uint32_t at[DOMAIN_ATTRIBUTES_MAX];
    uint64_t step[DOMAIN_ATTRIBUTES_MAX];
};

/* Attributes that only one of the two has move nothing. Neither scope need ascend here. */
void scope_walk_start(struct scope_walk *w, const struct scope *whole, const struct scope *part,
                      const struct domain *d);

static inline void scope_walk_next(struct scope_walk *w)
{
    for (unsigned i = w->n; i-- > 0;) {
        w->place += w->step[i];
        if (++w->at[i] < w->size[i])
            return;
        w->at[i] = 0;
        w->place -= w->step[i] * w->size[i];
    }
}

/* Takes the innermost run out of a walk that starts: its length, and its step in `part`. */
static inline uint32_t scope_walk_inner(struct scope_walk *w, uint64_t *step)
{
    *step = w->n > 0 ? w->step[w->n - 1] : 0;
    return w->n > 0 ? w->size[--w->n] : 1;
}
