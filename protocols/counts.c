#include "protocols/counts.h"

#include "base/memory.h"
#include "mpc/convert.h"
#include "mpc/ring.h"

#include <string.h>

#define TILE ((size_t)1 << 19) /* lanes converted at a time; a multiple of 64 */

enum err counts_new(struct counts **counts, const uint64_t *cells, size_t queries, unsigned bits)
{
    struct counts *c = memory_array(1, sizeof *c);
    enum err e = ERR_OK;
    *counts = c;
    if (c == NULL)
        return ERR_NOMEM;
    c->queries = queries;
    c->start = memory_array(queries + 1, sizeof *c->start);
    c->cells = memory_array(queries, sizeof *c->cells);
    if (c->start == NULL || c->cells == NULL)
        e = ERR_NOMEM;
    for (size_t q = 0; e == ERR_OK && q < queries; q++) {
        if (cells[q] > UINT32_MAX)
            e = ERR_RANGE;
        c->cells[q] = (size_t)cells[q];
        c->start[q + 1] = c->start[q] + 64 * bits_words(c->cells[q]);
    }
    if (e == ERR_OK)
        e = share64_new(&c->x, c->start[queries]);
    if (e == ERR_OK)
        e = bits >= 62 ? ERR_RANGE : ERR_OK;
    c->bits = bits;
    if (e != ERR_OK)
        counts_free(counts);
    return e;
}

void counts_free(struct counts **counts)
{
    struct counts *c = *counts;
    if (c == NULL)
        return;
    cached_free(&c->kept);
    share64_free(&c->x);
    share64_free(&c->squares);
    memory_free(&c->start);
    memory_free(&c->cells);
    memory_free(counts);
}

void counts_sum_down(struct counts *c, size_t parent, size_t child, const uint32_t *index)
{
    struct share64 from = counts_query(c, parent), to = counts_query(c, child);
    for (size_t i = 0; i < from.n; i++) {
        to.a[index[i]] += from.a[i];
        to.b[index[i]] += from.b[i];
    }
}

/* The bits of n counts from `from` on. */
static enum err make_bits(struct party *p, const struct counts *c, const struct planes *bits,
                          size_t from, size_t n)
{
    const size_t words = bits_words(c->x.n), k = bits_words(n);
    struct planes tile;
    TRY(party_planes(p, &tile, bits->width, n));
    TRY(convert_to_bits(p, &tile, share64_view(c->x, from, n)));
    for (unsigned b = 0; b < tile.width; b++) {
        memcpy(bits->a + b * words + from / 64, tile.a + b * k, k * sizeof *tile.a);
        memcpy(bits->b + b * words + from / 64, tile.b + b * k, k * sizeof *tile.b);
    }
    return ERR_OK;
}

static enum err finish(struct party *p, struct counts *c, const struct planes *bits)
{
    for (size_t from = 0; from < c->x.n; from += TILE) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        const size_t n = c->x.n - from < TILE ? c->x.n - from : TILE;
        TRY(scratch_wiped(p->scratch, mark, make_bits(p, c, bits, from, n)));
    }
    return cached_new(p, &c->kept, c->x, bits);
}

enum err counts_finish(struct party *p, struct counts *c)
{
    struct planes bits = {0};
    enum err e = planes_new(&bits, c->bits, c->x.n);
    if (e == ERR_OK)
        e = finish(p, c, &bits);
    planes_free(&bits);
    return e;
}

enum err counts_finish_squares(struct party *p, struct counts *c)
{
    TRY(share64_new(&c->squares, c->queries));
    return ring64_inner(p, c->squares, c->x, c->x,
                        c->start); /* the lanes between queries are zero */
}
