#include "aim/answer/errors.h"

#include "aim/model/model_private.h"
#include "base/memory.h"

#define LEAST 10 /* fewer tell too little */

size_t errors_refits(uint64_t parameters)
{
    uint64_t room = ERRORS_FILE_MAX / 2 / (parameters * sizeof(int16_t) + 1);
    uint64_t n = room < ERRORS_REFITS ? room : ERRORS_REFITS;
    return n < LEAST ? 0 : n;
}

uint64_t errors_bytes(uint64_t parameters)
{
    const size_t refits = errors_refits(parameters);
    return refits > 0 ? (refits * sizeof(int16_t) + sizeof(double)) * parameters : 0;
}

enum err errors_room(struct errors *e, const struct model *m, size_t refits)
{
    e->refits = refits;
    e->potentials = m->potentials;
    e->parameters = m->parameters;
    e->attributes = m->domain->attributes;
    e->shares = m->shares;
    TRY(memory_new(&e->share, e->refits * e->shares));
    TRY(memory_new(&e->total, e->refits));
    TRY(memory_new(&e->unit, e->refits * e->potentials));
    TRY(memory_new(&e->moved, e->refits * e->parameters));
    return memory_new(&e->inside, e->attributes);
}

void errors_free(struct errors **out)
{
    struct errors *e = *out;
    if (e == NULL)
        return;
    memory_free_all(&e->total, &e->unit, &e->moved, &e->inside, &e->share);
    for (size_t i = 0; i < e->counts; i++)
        memory_free(&e->count[i].y);
    memory_free(&e->count);
    memory_free(out);
}

void errors_apply(const struct errors *e, size_t refit, const struct model *m, struct model *copy)
{
    const int16_t *moved = e->moved + refit * e->parameters;
    const float *unit = e->unit + refit * e->potentials;
    for (size_t k = 0; k < m->potentials; k++) {
        const struct model_potential *p = &m->potential[k];
        for (size_t i = p->offset; i < p->offset + p->cells; i++)
            copy->theta[i] = m->theta[i] + (double)unit[k] * moved[i];
    }
    groups_set(copy, e->share + refit * e->shares);
    copy->total = e->total[refit];
    model_propagate(copy, true);
}

/* The clique that holds the most of the columns that are left. */
static const struct clique *next_clique(const struct model *m, const struct scope *left,
                                        const bool *without)
{
    const struct clique *best = NULL;
    unsigned most = 0;
    for (size_t i = 0; i < m->potentials; i++) {
        struct scope c = scope_of(&m->potential[i].clique);
        unsigned n = scope_intersect(&c, left).n;
        if (n > most && (without == NULL || !without[i])) {
            most = n;
            best = &m->potential[i].clique;
        }
    }
    return best;
}

unsigned errors_links_without(const struct model *m, const struct scope *columns,
                              const bool *without)
{
    struct scope left = *columns;
    unsigned cliques = 0;
    while (left.n > 0) {
        const struct clique *c = next_clique(m, &left, without);
        struct scope held;
        if (c == NULL)
            break;
        held = scope_of(c);
        left = scope_without(&left, &held);
        cliques++;
    }
    return cliques > 1 ? cliques - 1 : 0;
}

unsigned errors_links(const struct model *m, const struct scope *columns)
{
    return errors_links_without(m, columns, NULL);
}
