/* Where the cells of a table fall in a table over fewer attributes, chunk by chunk. */
#include "aim/model/model_private.h"
#include "base/memory.h"

#define CHUNK_LEAST 256  /* so that a walk over chunks costs little */
#define CHUNK_MOST 16384 /* so that a chunk stays in cache */

/* The chunk's first attribute, such that the chunk has enough cells, but not too many. */
static unsigned chunk_start(const struct scope *whole, const struct domain *d, size_t *cells)
{
    unsigned i = whole->n;
    *cells = 1;
    while (i > 0) {
        size_t size = d->attribute[whole->attribute[i - 1]].size;
        if (*cells >= CHUNK_LEAST && *cells * size > CHUNK_MOST)
            break;
        *cells *= size;
        i--;
    }
    return i;
}

size_t projection_chunk(const struct scope *whole, const struct domain *d)
{
    size_t cells;
    (void)chunk_start(whole, d, &cells);
    return cells;
}

void strip_make(struct sweep_strip *s, const struct scope *whole, unsigned start,
                const struct scope *part, const struct domain *d)
{
    *s = (struct sweep_strip){0};
    for (unsigned i = whole->n; i-- > start;) {
        size_t size = d->attribute[whole->attribute[i]].size;
        bool kept = scope_has(part, whole->attribute[i]);
        if (size == 1)
            continue;
        if (s->runs == 0)
            s->kept = kept;
        if (s->runs > 0 && kept == (s->runs % 2 == 1 ? s->kept : !s->kept))
            s->length[s->runs - 1] *= size;
        else
            s->length[s->runs++] = size;
    }
    while (s->runs < 2)
        s->length[s->runs++] = 1;
}

enum err projection_new(struct model_projection *p, const struct scope *whole, size_t chunk,
                        const struct scope *part, const struct domain *d)
{
    size_t cells, inner = 1, chunks = scope_cells(whole, d) / chunk;
    unsigned start = chunk_start(whole, d, &cells);
    struct scope outer = *whole, rest;
    struct scope_walk w;
    strip_make(&p->strip, whole, start, part, d);
    for (unsigned i = start; i < whole->n; i++)
        if (scope_has(part, whole->attribute[i]))
            inner *= d->attribute[whole->attribute[i]].size;
    TRY(memory_new(&p->offset, chunks));
    outer.n = (uint16_t)start;
    rest = scope_intersect(&outer, part);
    scope_walk_start(&w, &outer, &rest, d);
    for (size_t i = 0; i < chunks; i++, scope_walk_next(&w))
        p->offset[i] = (uint32_t)(w.place * inner);
    return ERR_OK;
}

void projection_clear(struct model_projection *p)
{
    memory_free(&p->offset);
}
