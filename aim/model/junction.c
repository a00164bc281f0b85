#include "aim/model/junction.h"

#include "base/memory.h"

#include <string.h>

#define WORDS (DOMAIN_ATTRIBUTES_MAX / 64)

struct bitset {
    uint64_t word[WORDS];
};

static void bitset_add(struct bitset *s, unsigned a)
{
    s->word[a / 64] |= UINT64_C(1) << a % 64;
}

static bool bitset_within(const struct bitset *part, const struct bitset *whole)
{
    for (unsigned i = 0; i < WORDS; i++)
        if ((part->word[i] & ~whole->word[i]) != 0)
            return false;
    return true;
}

/* The graph while it is eliminated; near[a] holds a itself too. */
struct elimination {
    const struct domain *domain;
    struct bitset near[DOMAIN_ATTRIBUTES_MAX];
    double cost[DOMAIN_ATTRIBUTES_MAX]; /* cells of near[a]; below 0 once a is gone */
    size_t cliques;
    struct bitset clique[DOMAIN_ATTRIBUTES_MAX];
};

static double cost_of(const struct elimination *e, const struct bitset *s)
{
    double cells = 1;
    for (unsigned i = 0; i < WORDS; i++)
        for (uint64_t w = s->word[i]; w != 0; w &= w - 1)
            cells *= e->domain->attribute[64 * i + (unsigned)__builtin_ctzll(w)].size;
    return cells;
}

static void join(struct elimination *e, const struct clique *c)
{
    struct bitset s = {{0}};
    for (unsigned i = 0; i < c->n; i++)
        bitset_add(&s, c->attribute[i]);
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = 0; k < WORDS; k++)
            e->near[c->attribute[i]].word[k] |= s.word[k];
}

static unsigned cheapest(const struct elimination *e)
{
    unsigned best = UINT32_MAX;
    for (unsigned a = 0; a < e->domain->attributes; a++)
        if (e->cost[a] >= 0 && (best == UINT32_MAX || e->cost[a] < e->cost[best]))
            best = a;
    return best;
}

static void eliminate_one(struct elimination *e, unsigned gone)
{
    struct bitset s = e->near[gone];
    bool maximal = true;
    for (size_t i = 0; i < e->cliques && maximal; i++)
        maximal = !bitset_within(&s, &e->clique[i]);
    if (maximal)
        e->clique[e->cliques++] = s;
    e->cost[gone] = -1;
    for (unsigned i = 0; i < WORDS; i++)
        for (uint64_t w = s.word[i]; w != 0; w &= w - 1) {
            unsigned a = 64 * i + (unsigned)__builtin_ctzll(w);
            if (a == gone)
                continue;
            for (unsigned k = 0; k < WORDS; k++)
                e->near[a].word[k] |= s.word[k];
            e->near[a].word[gone / 64] &= ~(UINT64_C(1) << gone % 64);
            e->cost[a] = cost_of(e, &e->near[a]);
        }
}

static void eliminate(struct elimination *e, const struct domain *d, const struct clique *cliques,
                      size_t count, const struct clique *extra)
{
    e->domain = d;
    e->cliques = 0;
    memset(e->near, 0, sizeof e->near);
    for (unsigned a = 0; a < d->attributes; a++)
        bitset_add(&e->near[a], a);
    for (size_t i = 0; i < count; i++)
        join(e, &cliques[i]);
    if (extra != NULL)
        join(e, extra);
    for (unsigned a = 0; a < d->attributes; a++)
        e->cost[a] = cost_of(e, &e->near[a]);
    for (size_t left = d->attributes; left > 0; left--)
        eliminate_one(e, cheapest(e));
}

static struct scope scope_of_bits(const struct bitset *s)
{
    struct scope scope = {0};
    for (unsigned a = 0; a < DOMAIN_ATTRIBUTES_MAX; a++)
        if (s->word[a / 64] >> a % 64 & 1)
            scope.attribute[scope.n++] = (uint16_t)a;
    return scope;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static unsigned shared(const struct bitset *a, const struct bitset *b)
{
    int n = 0;
    for (unsigned i = 0; i < WORDS; i++)
        n += __builtin_popcountll(a->word[i] & b->word[i]);
    return (unsigned)n;
}

/*
 * A spanning tree with the largest separators has the running intersection property. Prim's rule:
 * of the cliques not yet in, take the one that shares most with one that is.
 */
static void span(struct junction *j, const struct elimination *e, uint32_t *source)
{
    bool in[DOMAIN_ATTRIBUTES_MAX] = {false};
    for (uint32_t placed = 0; placed < j->cliques; placed++) {
        struct junction_clique *c = &j->clique[placed];
        uint32_t best = UINT32_MAX, parent = JUNCTION_ROOT;
        unsigned most = 0;
        for (uint32_t i = 0; i < j->cliques; i++)
            for (uint32_t k = 0; !in[i] && k < (placed > 0 ? placed : 1); k++) {
                unsigned n = placed > 0 ? shared(&e->clique[i], &e->clique[source[k]]) : 0;
                if (best == UINT32_MAX || n > most) {
                    best = i;
                    parent = placed > 0 ? k : JUNCTION_ROOT;
                    most = n;
                }
            }
        if (best == UINT32_MAX)
            return; /* cannot happen: a clique is always left */
        in[best] = true;
        source[placed] = best;
        c->scope = scope_of_bits(&e->clique[best]);
        c->parent = parent;
        if (parent != JUNCTION_ROOT)
            c->separator = scope_intersect(&c->scope, &j->clique[parent].scope);
    }
}

enum err junction_new(struct junction **out, const struct domain *d, const struct clique *cliques,
                      size_t count)
{
    struct elimination *e CLEAN(memory_release) = NULL;
    struct junction *j CLEAN(junction_free) = NULL;
    uint32_t source[DOMAIN_ATTRIBUTES_MAX];
    *out = NULL;
    TRY(memory_new(&e, 1));
    TRY(memory_new(&j, 1));
    eliminate(e, d, cliques, count, NULL);
    j->cliques = e->cliques;
    TRY(memory_new(&j->clique, j->cliques));
    span(j, e, source);
    for (size_t i = 0; i < j->cliques; i++)
        j->cells = add_saturated(j->cells, scope_cells(&j->clique[i].scope, d));
    return memory_hand_over(out, &j);
}

void junction_free(struct junction **j)
{
    if (*j == NULL)
        return;
    memory_free(&(*j)->clique);
    memory_free(j);
}

uint64_t junction_cells(const struct domain *d, const struct domain *sizes,
                        const struct clique *cliques, size_t count, const struct clique *extra)
{
    struct elimination e;
    uint64_t cells = 0;
    eliminate(&e, d, cliques, count, extra);
    for (size_t i = 0; i < e.cliques; i++) {
        struct scope s = scope_of_bits(&e.clique[i]);
        cells = add_saturated(cells, scope_cells(&s, sizes));
    }
    return cells;
}

uint32_t junction_find(const struct junction *j, const struct domain *d, const struct scope *s)
{
    uint32_t best = UINT32_MAX;
    uint64_t fewest = UINT64_MAX;
    for (uint32_t i = 0; i < j->cliques; i++) {
        uint64_t cells = scope_cells(&j->clique[i].scope, d);
        if (cells < fewest && scope_contains(&j->clique[i].scope, s)) {
            best = i;
            fewest = cells;
        }
    }
    return best;
}
