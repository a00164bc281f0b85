#include "protocols/counts.h"

#include "base/memory.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/move/record.h"

#include <string.h>

/* Counts converted at a time, by all lanes together; by one of them. Multiples of 64. */
#define TILE ((size_t)1 << 19)
#define LEAST ((size_t)1024)

enum err counts_new(struct counts **counts, const uint64_t *cells, size_t queries, unsigned bits)
{
    struct counts *c CLEAN(counts_free) = NULL;
    *counts = NULL;
    if (bits >= 62)
        return ERR_RANGE;
    TRY(memory_new(&c, 1));
    c->queries = queries;
    c->bits = bits;
    TRY(memory_new(&c->start, queries + 1));
    TRY(memory_new(&c->cells, queries));
    for (size_t q = 0; q < queries; q++) {
        if (cells[q] > UINT32_MAX)
            return ERR_RANGE;
        c->cells[q] = (size_t)cells[q];
        c->start[q + 1] = c->start[q] + 64 * bits_words(c->cells[q]);
    }
    TRY(share64_new(&c->x, c->start[queries]));
    return memory_hand_over(counts, &c);
}

void counts_unfinish(struct counts *c)
{
    cached_free(&c->kept);
    share64_free(&c->squares);
}

void counts_free(struct counts **counts)
{
    struct counts *c = *counts;
    if (c == NULL)
        return;
    counts_unfinish(c);
    share64_free(&c->x);
    memory_free_all(&c->start, &c->cells);
    memory_free(counts);
}

void counts_sum_down(struct share64 to, struct share64 from, const uint32_t *index)
{
    for (size_t i = 0; i < from.n; i++) {
        to.a[index[i]] += from.a[i];
        to.b[index[i]] += from.b[i];
    }
}

struct converting {
    struct share64 x;
    const struct planes *bits;
    size_t tile;
};

static enum err convert_tile(void *self, struct party *lane, size_t tile)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(lane->scratch);
    const struct converting *v = self;
    const size_t from = tile * v->tile, left = v->x.n - from, n = left < v->tile ? left : v->tile;
    const size_t words = bits_words(v->x.n), k = bits_words(n);
    struct planes some;
    TRY(party_planes(lane, &some, v->bits->width, n));
    TRY(convert_to_bits(lane, &some, share64_view(v->x, from, n)));
    for (unsigned b = 0; b < some.width; b++) {
        memcpy(v->bits->a + b * words + from / 64, some.a + b * k, k * sizeof *some.a);
        memcpy(v->bits->b + b * words + from / 64, some.b + b * k, k * sizeof *some.b);
    }
    return ERR_OK;
}

enum err counts_finish(struct party *p, struct counts *c)
{
    struct planes bits CLEAN(planes_free) = {0};
    struct converting v = {c->x, &bits, crew_tile(p, c->x.n, TILE, LEAST)};
    TRY(planes_new(&bits, c->bits, c->x.n));
    TRY(crew_run(p, (c->x.n + v.tile - 1) / v.tile, convert_tile, &v));
    return cached_new(p, &c->kept, c->x, &bits);
}

/*
 * The lanes between queries are zero. Takes whole queries at a time, as many as a check has room
 * for.
 */
enum err counts_finish_squares(struct party *p, struct counts *c)
{
    const size_t most = record_most(p, 4 * sizeof *c->x.a);
    TRY(share64_new(&c->squares, c->queries));
    for (size_t q = 0, end; q < c->queries; q = end) {
        for (end = q + 1; end < c->queries && c->start[end + 1] - c->start[q] <= most;)
            end++;
        TRY(ring64_inner(p, share64_view(c->squares, q, end - q), c->x, c->x, c->start + q));
    }
    return ERR_OK;
}
