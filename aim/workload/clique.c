#include "aim/workload/clique.h"

#include "aim/workload/scope.h"

#include <string.h>

bool clique_equal(const struct clique *a, const struct clique *b)
{
    return a->n == b->n && memcmp(a->attribute, b->attribute, a->n * sizeof a->attribute[0]) == 0;
}

bool clique_contains(const struct clique *whole, const struct clique *part)
{
    const struct scope w = scope_of(whole), p = scope_of(part);
    return scope_contains(&w, &p);
}

unsigned clique_place(const struct clique *c, uint32_t attribute)
{
    unsigned i = 0;
    while (i < c->n && c->attribute[i] != attribute)
        i++;
    return i;
}

uint64_t clique_cells(const struct clique *c, const struct domain *d)
{
    const struct scope s = scope_of(c);
    return scope_cells(&s, d);
}

struct clique_name clique_name(const struct clique *c, const struct domain *d)
{
    const struct scope s = scope_of(c);
    struct clique_name name;
    scope_name(&s, d, name.text, sizeof name.text);
    return name;
}

void clique_write(const struct clique *c, struct bytes *out)
{
    bytes_put_u16(out, c->n);
    for (unsigned i = 0; i < c->n; i++)
        bytes_put_u16(out, c->attribute[i]);
}

enum err clique_read(struct clique *c, const struct domain *d, struct reader *r)
{
    *c = (struct clique){.n = reader_u16(r)};
    if (r->failed || c->n == 0 || c->n > CLIQUE_MAX)
        return ERR_FORMAT;
    for (unsigned i = 0; i < c->n; i++) {
        c->attribute[i] = reader_u16(r);
        if (c->attribute[i] >= d->attributes || (i > 0 && c->attribute[i] <= c->attribute[i - 1]))
            return ERR_FORMAT;
    }
    return r->failed ? ERR_FORMAT : ERR_OK;
}

int clique_compare(const void *x, const void *y)
{
    const struct clique *a = x, *b = y;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (unsigned i = 0; i < a->n; i++)
        if (a->attribute[i] != b->attribute[i])
            return a->attribute[i] < b->attribute[i] ? -1 : 1;
    return 0;
}

void clique_project(const struct clique *parent, const struct clique *child, const struct domain *d,
                    uint32_t *index)
{
    const struct scope whole = scope_of(parent), part = scope_of(child);
    const uint64_t cells = scope_cells(&whole, d);
    struct scope_walk w;
    scope_walk_start(&w, &whole, &part, d);
    for (uint64_t cell = 0; cell < cells; cell++, scope_walk_next(&w))
        index[cell] = (uint32_t)w.place;
}
