/* A clique's table, cut to what is known of a row. */
#include "aim/model/given_private.h"

#include <string.h>

static void slice_add(struct given_slice *s, const struct scope *scope)
{
    for (unsigned i = 0; i < scope->n; i++, s->n++) {
        const uint16_t a = s->attribute[s->n] = scope->attribute[i];
        const uint32_t *state = s->w->state[a];
        s->full[s->n] = s->w->domain->attribute[a].size;
        s->state[s->n] = state != NULL ? state[s->w->first + s->row] : GIVEN_ANY;
        s->size[s->n] = s->state[s->n] < s->full[s->n] ? 1 : s->full[s->n];
    }
}

static uint64_t product(const uint32_t *size, unsigned from, unsigned to)
{
    uint64_t cells = 1;
    for (unsigned i = from; i < to; i++)
        cells *= size[i];
    return cells;
}

void given_slice_make(struct given_slice *s, const struct given_drawing *w, size_t clique,
                      uint32_t row)
{
    const struct junction_clique *c = &model_junction(w->g->model)->clique[clique];
    const struct scope rest = scope_without(&c->scope, &c->separator);
    s->w = w;
    s->clique = clique;
    s->row = row;
    s->n = 0;
    slice_add(s, &c->separator);
    s->seps = s->n;
    slice_add(s, &rest);
    s->seps_cells = product(s->size, 0, s->seps);
    s->cells = product(s->size, s->seps, s->n);
}

/*
 * Adds a table over some of the columns, of which `whole` has all groups and others only those that
 * are left, to cells of the slice: all of them, or those of one cell of the separator.
 */
static void add(const struct given_slice *s, const struct scope *over, bool whole,
                const double *value, unsigned from, uint64_t cell, double *out)
{
    uint64_t step[DOMAIN_ATTRIBUTES_MAX], stride = 1, cells = product(s->size, from, s->n);
    struct scope_walk walk;
    walk.place = 0;
    walk.n = s->n - from;
    memset(walk.at, 0, walk.n * sizeof *walk.at); /* the rest of it is large, and not used */
    memset(step, 0, s->n * sizeof *step);
    for (unsigned k = over->n; k-- > 0;) {
        unsigned i = 0;
        while (s->attribute[i] != over->attribute[k])
            i++;
        if (s->state[i] >= s->full[i])
            step[i] = stride;
        else if (whole)
            walk.place += s->state[i] * stride;
        stride *= whole ? s->full[i] : s->size[i];
    }
    for (unsigned i = from; i-- > 0; cell /= s->size[i])
        walk.place += cell % s->size[i] * step[i];
    for (unsigned i = from; i < s->n; i++) {
        walk.size[i - from] = s->size[i];
        walk.step[i - from] = step[i];
    }
    for (uint64_t k = 0; k < cells; k++, scope_walk_next(&walk))
        out[k] += value[walk.place];
}

void given_slice_fill(const struct given_slice *s, unsigned from, uint64_t cell, double *out)
{
    const struct given_drawing *w = s->w;
    const struct junction *j = model_junction(w->g->model);
    memset(out, 0, product(s->size, from, s->n) * sizeof *out);
    add(s, &j->clique[s->clique].scope, true, w->g->cell[s->clique], from, cell, out);
    for (size_t child = s->clique + 1; child < j->cliques; child++) {
        const struct given_kinds *k = &w->kinds[child];
        if (j->clique[child].parent == s->clique && k->of != NULL)
            add(s, &j->clique[child].separator, false, k->message + k->of[s->row] * k->cells, from,
                cell, out);
    }
    for (unsigned i = s->seps; i < s->n; i++) {
        const uint16_t a = s->attribute[i];
        const struct scope one = {.n = 1, .attribute = {a}};
        if (s->state[i] >= s->full[i] && s->state[i] != GIVEN_ANY)
            add(s, &one, true, w->weight[a] + (size_t)(s->state[i] - s->full[i]) * s->full[i], from,
                cell, out);
    }
}
