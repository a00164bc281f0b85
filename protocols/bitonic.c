#include "protocols/bitonic.h"

#include "mpc/circuits/order.h"
#include "mpc/move/crew.h"
#include "mpc/move/record.h"
#include "protocols/lanes.h"

#include <string.h>

/* Two lists that become one. */
struct region {
    size_t from, words;
};

/* Pairs at one distance, 64 of them a word of pairs. */
struct bitonic_layer {
    const struct planes *rows;
    unsigned order;
    const struct region *region;
    size_t regions, pairs, tile; /* words of pairs: all, and in a tile */
    size_t distance;
};

/*
 * Words of pairs from `at` on in a tile: rows from word `low` on and those a distance further; or,
 * where pairs lie within words, the `rows` words from `low` on.
 */
struct bitonic_run {
    size_t low, at, words, rows;
};

static size_t pairs_of(size_t words, size_t distance)
{
    const size_t d = distance / 64, rest = d > 0 ? words % (2 * d) : 0;
    if (d == 0)
        return (words + 1) / 2;
    return words / (2 * d) * d + (rest > d ? rest - d : 0);
}

/* Finds the runs of a tile that begins at word `from` of all pairs; returns how many there are. */
static size_t runs_of(const struct bitonic_layer *y, size_t from, size_t words,
                      struct bitonic_run *run)
{
    const size_t d = y->distance / 64;
    size_t runs = 0, at = 0;
    for (size_t r = 0; at < words; r++) {
        const struct region *region = &y->region[r];
        const size_t pairs = pairs_of(region->words, y->distance);
        for (; from < pairs && at < words; runs++) {
            const size_t within = d > 0 ? from % d : 0, most = d > 0 ? d - within : pairs,
                         left = pairs - from < words - at ? pairs - from : words - at,
                         n = left < most ? left : most, rows = d > 0 ? 0 : region->words - 2 * from;
            run[runs] = (struct bitonic_run){region->from + 2 * (from - within) + within, at, n,
                                             rows < 2 * n ? rows : 2 * n};
            from += n;
            at += n;
        }
        from -= pairs;
    }
    return runs;
}

/* --- one component of one plane --------------------------------------------------------------- */

static void take_lower(const struct bitonic_layer *y, const struct bitonic_run *run, size_t runs,
                       const uint64_t *x, uint64_t *out)
{
    for (; runs > 0; runs--, run++)
        if (y->distance >= 64)
            memcpy(out + run->at, x + run->low, run->words * sizeof *x);
        else
            lanes_lower(out + run->at, x + run->low, run->rows, (unsigned)y->distance);
}

static void take_differ(const struct bitonic_layer *y, const struct bitonic_run *run, size_t runs,
                        const uint64_t *x, uint64_t *out)
{
    for (; runs > 0; runs--, run++)
        if (y->distance < 64)
            lanes_differ(out + run->at, x + run->low, run->rows, (unsigned)y->distance);
        else
            for (size_t i = 0; i < run->words; i++)
                out[run->at + i] = x[run->low + i] ^ x[run->low + y->distance / 64 + i];
}

static void put_moved(const struct bitonic_layer *y, const struct bitonic_run *run, size_t runs,
                      uint64_t *x, const uint64_t *moved)
{
    for (; runs > 0; runs--, run++)
        if (y->distance < 64)
            lanes_return(x + run->low, moved + run->at, run->rows, (unsigned)y->distance);
        else
            for (size_t i = 0; i < run->words; i++) {
                x[run->low + i] ^= moved[run->at + i];
                x[run->low + y->distance / 64 + i] ^= moved[run->at + i];
            }
}

/* --- a layer ---------------------------------------------------------------------------------- */

static enum err exchange(struct party *p, const struct bits above, const struct planes *differ,
                         const struct planes *moved)
{
    struct move_term *terms;
    TRY(scratch_array(p->scratch, &terms, differ->width));
    for (unsigned k = 0; k < differ->width; k++)
        terms[k] = bits_product(planes_plane(moved, k), planes_plane(differ, k), above);
    return bits_terms(p, terms, differ->width);
}

static enum err order_tile(void *self, struct party *p, size_t tile)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct bitonic_layer *y = self;
    const size_t from = tile * y->tile, left = y->pairs - from,
                 words = left < y->tile ? left : y->tile;
    struct planes differ, lower, moved, deciding;
    struct bits above;
    struct bitonic_run *run;
    size_t runs;
    TRY(scratch_array(p->scratch, &run, words));
    TRY(party_planes(p, &differ, y->rows->width, 64 * words));
    TRY(party_planes(p, &moved, y->rows->width, 64 * words));
    TRY(party_planes(p, &lower, y->order, 64 * words));
    TRY(party_bits(p, &above, 64 * words));
    runs = runs_of(y, from, words, run);
    for (unsigned k = 0; k < y->rows->width; k++) {
        const struct bits x = planes_plane(y->rows, k), to = planes_plane(&differ, k);
        take_differ(y, run, runs, x.a, to.a);
        take_differ(y, run, runs, x.b, to.b);
        if (k >= y->order)
            continue;
        take_lower(y, run, runs, x.a, planes_plane(&lower, k).a);
        take_lower(y, run, runs, x.b, planes_plane(&lower, k).b);
    }
    deciding = planes_view(&differ, 0, y->order);
    TRY(order_above(p, above, &lower, &deciding));
    TRY(exchange(p, above, &differ, &moved));
    for (unsigned k = 0; k < y->rows->width; k++) {
        const struct bits x = planes_plane(y->rows, k), by = planes_plane(&moved, k);
        put_moved(y, run, runs, x.a, by.a);
        put_moved(y, run, runs, x.b, by.b);
    }
    return ERR_OK;
}

static enum err order_layer(struct party *p, struct bitonic_layer *y)
{
    const size_t noted = record_most(p, (6 * (size_t)y->rows->width + 7) / 8),
                 most = noted < BITONIC_TILE ? noted : BITONIC_TILE;
    y->pairs = 0;
    for (size_t r = 0; r < y->regions; r++)
        y->pairs += pairs_of(y->region[r].words, y->distance);
    y->tile = crew_tile(p, 64 * y->pairs, most, 64) / 64;
    return crew_run(p, (y->pairs + y->tile - 1) / y->tile, order_tile, y);
}

/* --- all lists -------------------------------------------------------------------------------- */

/* Joins the lists two by two, reversing the first of each two; returns how many are left. */
static size_t join_lists(const struct planes *rows, struct region *list, size_t lists)
{
    for (size_t i = 0; 2 * i < lists; i++) {
        const struct region first = list[2 * i];
        list[i] = first;
        if (2 * i + 1 == lists)
            break;
        list[i].words += list[2 * i + 1].words;
        for (unsigned k = 0; k < rows->width; k++) {
            lanes_reverse(planes_plane(rows, k).a + first.from, first.words);
            lanes_reverse(planes_plane(rows, k).b + first.from, first.words);
        }
    }
    return (lists + 1) / 2;
}

static enum err bitonic_level(struct party *p, struct bitonic_layer *y)
{
    size_t longest = 0;
    for (size_t r = 0; r < y->regions; r++)
        longest = y->region[r].words > longest ? y->region[r].words : longest;
    for (y->distance = 1; y->distance < 64 * longest;)
        y->distance *= 2;
    while ((y->distance /= 2) > 0)
        TRY(order_layer(p, y));
    return ERR_OK;
}

enum err bitonic_merge(struct party *p, const struct planes *rows, unsigned order,
                       const size_t *words, size_t lists)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct region *list;
    struct bitonic_layer y = {.rows = rows, .order = order};
    size_t at = 0;
    TRY(scratch_array(p->scratch, &list, lists));
    for (size_t k = 0; k < lists; at += words[k++])
        list[k] = (struct region){at, words[k]};
    if (rows->n != 64 * at || order > rows->width)
        return ERR_RANGE;
    while (lists > 1) {
        const bool odd = lists % 2 != 0;
        lists = join_lists(rows, list, lists);
        y.region = list;
        y.regions = lists - odd;
        TRY(bitonic_level(p, &y));
    }
    return ERR_OK;
}

/* --- what it costs ---------------------------------------------------------------------------- */

static void layer_cost(unsigned order, unsigned width, uint64_t pairs, uint64_t *words,
                       uint64_t *exchanges)
{
    unsigned depth = 0;
    while ((unsigned)1 << depth < order + 1)
        depth++;
    *words += pairs * (2 * order - depth + width);
    *exchanges += (pairs + BITONIC_TILE / 64 - 1) / (BITONIC_TILE / 64) * (depth + 1);
}

void bitonic_cost(unsigned order, unsigned width, size_t *list, size_t lists, uint64_t *words,
                  uint64_t *exchanges)
{
    for (; lists > 1; lists = (lists + 1) / 2) {
        size_t longest = 0;
        for (size_t i = 0; i < lists / 2; i++) {
            list[i] = list[2 * i] + list[2 * i + 1];
            longest = list[i] > longest ? list[i] : longest;
        }
        for (size_t d = 1; d < 64 * longest; d *= 2) {
            uint64_t pairs = 0;
            for (size_t i = 0; i < lists / 2; i++)
                pairs += pairs_of(list[i], d);
            layer_cost(order, width, pairs, words, exchanges);
        }
        if (lists % 2 != 0)
            list[lists / 2] = list[lists - 1];
    }
}
