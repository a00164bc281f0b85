/* The steps of a node's ladder, and the two ways along it. */
#include "aim/model/model_private.h"
#include "base/memory.h"

#include <string.h>

/* The attributes of a chunk that have two values or more, outermost first. */
struct scope ladder_inner(const struct scope *whole, size_t chunk, const struct domain *d)
{
    struct scope inner = {0};
    uint16_t first = whole->n;
    for (size_t cells = 1; cells < chunk; cells *= d->attribute[whole->attribute[first]].size)
        first--;
    for (uint16_t i = first; i < whole->n; i++)
        if (d->attribute[whole->attribute[i]].size > 1)
            inner.attribute[inner.n++] = whole->attribute[i];
    return inner;
}

uint32_t ladder_set(const struct scope *inner, const struct scope *part)
{
    uint32_t set = 0;
    for (uint16_t i = 0; i < inner->n; i++)
        set |= (uint32_t)scope_has(part, inner->attribute[i]) << i;
    return set;
}

static struct scope scope_in(const struct scope *inner, uint32_t set)
{
    struct scope s = {0};
    for (uint16_t i = 0; i < inner->n; i++)
        if (set >> i & 1)
            s.attribute[s.n++] = inner->attribute[i];
    return s;
}

/* Keeps the steps in order of their cells: a step that holds another has more and comes later. */
static enum err add_step(struct model_ladder *l, const struct scope *inner, const struct domain *d,
                         uint32_t set, bool used)
{
    const struct scope scope = scope_in(inner, set);
    const struct model_step s = {.set = set, .cells = scope_cells(&scope, d), .used = used};
    size_t at = l->steps;
    for (size_t i = 0; i < l->steps; i++)
        if (l->step[i].set == set) {
            l->step[i].used |= used;
            return ERR_OK;
        }
    TRY(memory_extend(&l->step, l->steps + 1));
    for (; at > 0 && l->step[at - 1].cells > s.cells; at--)
        l->step[at] = l->step[at - 1];
    l->step[at] = s;
    l->steps++;
    return ERR_OK;
}

/* Each leads to the smallest that holds it. Returns a step that saves nothing, or the last. */
static size_t link_steps(struct model_ladder *l)
{
    const size_t last = l->steps - 1;
    for (size_t i = 0; i <= last; i++)
        l->step[i].below = 0;
    for (size_t i = 0; i < last; i++) {
        size_t into = i + 1;
        while ((l->step[i].set & ~l->step[into].set) != 0)
            into++;
        l->step[i].into = into;
        l->step[into].below++;
    }
    for (size_t i = 0; i < last; i++)
        if (!l->step[i].used && l->step[i].below < 2)
            return i;
    return last;
}

static void find_strips(struct model_ladder *l, const struct scope *inner, const struct domain *d)
{
    for (size_t i = 0; i < l->steps; i++) {
        struct model_step *s = &l->step[i];
        const struct scope part = scope_in(inner, s->set);
        const struct scope whole = scope_in(inner, l->step[i + 1 < l->steps ? s->into : i].set);
        strip_make(&s->strip, &whole, 0, &part, d);
        s->own = (struct sweep_strip){.kept = true, .runs = 2, .length = {s->cells, 1}};
        s->at = l->room;
        l->room += i + 1 < l->steps ? s->cells : 0;
    }
}

static enum err find_steps(struct model_node *n, const struct scope *inner, const struct domain *d)
{
    struct model_ladder *l = &n->ladder;
    size_t idle;
    for (uint16_t i = 0; i <= inner->n; i++)
        TRY(add_step(l, inner, d, (UINT32_C(1) << i) - 1, i == inner->n));
    for (size_t k = 0; k < n->inflows; k++)
        TRY(add_step(l, inner, d, n->inflow[k].set, true));
    for (size_t k = 0; k < n->outflows; k++)
        TRY(add_step(l, inner, d, n->outflow[k].set, true));
    while ((idle = link_steps(l)) + 1 < l->steps) {
        l->steps--;
        memmove(l->step + idle, l->step + idle + 1, (l->steps - idle) * sizeof *l->step);
    }
    return ERR_OK;
}

static void place_flows(const struct model_ladder *l, struct model_flow *flow, size_t flows)
{
    for (size_t k = 0; k < flows; k++)
        while (l->step[flow[k].step].set != flow[k].set)
            flow[k].step++;
}

static void find_ways_out(const struct model_node *n)
{
    const struct model_ladder *l = &n->ladder;
    for (size_t k = 0; k < n->outflows; k++)
        l->step[n->outflow[k].step].out = true;
    for (size_t i = 0; i + 1 < l->steps; i++)
        l->step[l->step[i].into].out |= l->step[i].out;
}

enum err ladder_new(struct model_node *n, const struct scope *whole, const struct domain *d)
{
    const struct scope inner = ladder_inner(whole, n->chunk, d);
    TRY(find_steps(n, &inner, d));
    find_strips(&n->ladder, &inner, d);
    place_flows(&n->ladder, n->inflow, n->inflows);
    place_flows(&n->ladder, n->outflow, n->outflows);
    find_ways_out(n);
    return memory_new(&n->ladder.table, n->ladder.room);
}

void ladder_clear(struct model_ladder *l)
{
    memory_free_all(&l->step, &l->table);
}

/* The last step is the chunk itself. */
static double *table_of(const struct model_ladder *l, size_t step, double *cells)
{
    return step + 1 < l->steps ? l->table + l->step[step].at : cells;
}

/* Adds to a step; the first addition overwrites, so the step need not be zeroed. */
static void take_in(const struct model_ladder *l, const struct sweep *sweep, size_t step,
                    double *cells, const double *from, const struct sweep_strip *strip)
{
    struct model_step *s = &l->step[step];
    (s->begun ? sweep->spread_add : sweep->spread)(table_of(l, step, cells), from, strip);
    s->begun = true;
}

void ladder_gather(const struct model_node *n, const struct sweep *sweep, size_t first,
                   size_t chunk, double *cells)
{
    const struct model_ladder *l = &n->ladder;
    const size_t last = l->steps - 1;
    for (size_t i = 0; i <= last; i++)
        l->step[i].begun = false;
    for (size_t k = first; k < n->inflows; k++) {
        const struct model_flow *f = &n->inflow[k];
        take_in(l, sweep, f->step, cells, f->value + f->by->offset[chunk], &l->step[f->step].own);
    }
    for (size_t i = 0; i < last; i++)
        if (l->step[i].begun)
            take_in(l, sweep, l->step[i].into, cells, table_of(l, i, cells), &l->step[i].strip);
    if (!l->step[last].begun)
        memset(cells, 0, n->chunk * sizeof *cells);
}

void ladder_scatter(const struct model_node *n, const struct sweep *sweep, size_t chunk,
                    double *cells)
{
    const struct model_ladder *l = &n->ladder;
    memset(l->table, 0, l->room * sizeof *l->table);
    for (size_t i = l->steps - 1; i-- > 0;)
        if (l->step[i].out)
            sweep->collect(table_of(l, i, cells), table_of(l, l->step[i].into, cells),
                           &l->step[i].strip);
    for (size_t k = 0; k < n->outflows; k++) {
        const struct model_flow *f = &n->outflow[k];
        sweep->collect(f->value + f->by->offset[chunk], table_of(l, f->step, cells),
                       &l->step[f->step].own);
    }
}
