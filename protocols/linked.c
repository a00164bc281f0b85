#include "protocols/linked.h"

#include "mpc/circuits/order.h"
#include "mpc/move/crew.h"
#include "mpc/move/open.h"
#include "protocols/bitonic.h"
#include "protocols/lanes.h"

#include <string.h>

size_t link_rows(const struct planes *tables, size_t owners)
{
    size_t words = 0;
    for (size_t k = 0; k < owners; k++)
        words += bits_words(tables[k].n);
    return 64 * words;
}

void linked_public(const struct party *p, struct bits x, size_t from, size_t words, uint64_t value)
{
    for (size_t i = from; i < from + words; i++) {
        x.a[i] = p->index == 0 ? value : 0;
        x.b[i] = p->index == 2 ? value : 0;
    }
}

void linked_ahead(const struct linked *l, unsigned k, size_t from, ptrdiff_t ahead, struct bits out)
{
    const struct bits x = planes_plane(&l->rows, k);
    lanes_shift(out.a, bits_words(out.n), x.a, l->rows.n / 64, from, ahead);
    lanes_shift(out.b, bits_words(out.n), x.b, l->rows.n / 64, from, ahead);
}

/* --- tiles ------------------------------------------------------------------------------------ */

struct tiles {
    const struct linked *l;
    size_t tile;
    linked_work work;
    const void *self;
};

static enum err work_on(void *self, struct party *p, size_t tile)
{
    const struct tiles *t = self;
    const size_t from = tile * t->tile, left = t->l->rows.n / 64 - from;
    return t->work(p, t->self, from, left < t->tile ? left : t->tile);
}

enum err linked_tiles(struct party *p, const struct linked *l, size_t most, linked_work work,
                      const void *self)
{
    const size_t words = l->rows.n / 64, tile = crew_tile(p, l->rows.n, most, 64) / 64;
    struct tiles t = {l, tile, work, self};
    return crew_run(p, (words + tile - 1) / tile, work_on, &t);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* The last lanes of a table's last word, from lane n on, become the same public bit. */
static void fill_up(const struct party *p, struct bits x, size_t n)
{
    const uint64_t past = n % 64 == 0 ? 0 : ~(uint64_t)0 << n % 64;
    if (past == 0)
        return;
    x.a[n / 64] = (x.a[n / 64] & ~past) | (p->index == 0 ? past : 0);
    x.b[n / 64] = (x.b[n / 64] & ~past) | (p->index == 2 ? past : 0);
}

static void load_plane(const struct linked *l, size_t owner, unsigned from, unsigned to)
{
    const struct planes *table = &l->table[owner];
    bits_copy(linked_words(planes_plane(&l->rows, to), l->from[owner], l->words[owner]),
              planes_plane(table, from));
}

static void load_table(const struct party *p, const struct linked *l, size_t owner)
{
    const unsigned end = l->low + LINK_FRONT;
    const size_t n = l->table[owner].n, from = l->from[owner], words = l->words[owner];
    load_plane(l, owner, 0, end - 1);
    struct bits invalid = linked_words(planes_plane(&l->rows, end - 1), from, words);
    bits_not(p, invalid, invalid);
    for (unsigned k = 1; k < l->table[owner].width; k++)
        load_plane(l, owner, k, k < LINK_FRONT ? l->low + k - 1 : l->low + k);
    for (unsigned k = l->table[owner].width + l->low; k < l->rows.width; k++)
        linked_public(p, planes_plane(&l->rows, k), from, words, 0);
    for (unsigned k = l->low; k < end; k++)
        fill_up(p, linked_words(planes_plane(&l->rows, k), from, words), n);
}

enum err linked_load(struct party *p, struct linked *l, const struct planes *tables, size_t owners,
                     unsigned low, unsigned columns)
{
    size_t words = 0;
    *l = (struct linked){.low = low, .owners = owners, .table = tables};
    TRY(scratch_array(p->scratch, &l->words, owners));
    TRY(scratch_array(p->scratch, &l->from, owners));
    for (size_t k = 0; k < owners; k++) {
        if (tables[k].width < LINK_FRONT || tables[k].width > LINK_FRONT + columns)
            return ERR_RANGE;
        l->from[k] = words;
        l->words[k] = bits_words(tables[k].n);
        words += l->words[k];
    }
    TRY(party_planes(p, &l->rows, low + LINK_FRONT + columns, 64 * words));
    for (size_t k = 0; k < owners; k++)
        load_table(p, l, k);
    return ERR_OK;
}

enum err linked_merge(struct party *p, const struct linked *l)
{
    return bitonic_merge(p, &l->rows, l->low + LINK_FRONT, l->words, l->owners);
}

/* --- are they sorted? ------------------------------------------------------------------------- */

struct sorting {
    const struct linked *l;
    struct bits right; /* a row is not above the next one */
};

static enum err compare_rows(struct party *p, const void *self, size_t from, size_t words)
{
    const struct sorting *s = self;
    const struct bits right = linked_words(s->right, from, words);
    struct planes row, differ;
    TRY(party_planes(p, &row, LINK_FRONT, 64 * words));
    TRY(party_planes(p, &differ, LINK_FRONT, 64 * words));
    for (unsigned k = 0; k < LINK_FRONT; k++) {
        linked_ahead(s->l, s->l->low + k, from, 0, planes_plane(&row, k));
        linked_ahead(s->l, s->l->low + k, from, 1, planes_plane(&differ, k));
    }
    bits_xor(planes_flat(&differ), planes_flat(&differ), planes_flat(&row));
    TRY(order_above(p, right, &row, &differ));
    bits_not(p, right, right);
    return ERR_OK;
}

/* The AND of each table's words, in its first one. */
static enum err fold_words(struct party *p, const struct linked *l, struct bits right)
{
    struct move_term *terms;
    size_t *left, count;
    TRY(scratch_array(p->scratch, &terms, l->owners));
    TRY(scratch_array(p->scratch, &left, l->owners));
    memcpy(left, l->words, l->owners * sizeof *left);
    do {
        count = 0;
        for (size_t k = 0; k < l->owners; k++) {
            const size_t half = left[k] / 2, stay = left[k] - half;
            const struct bits low = linked_words(right, l->from[k], half),
                              high = linked_words(right, l->from[k] + stay, half);
            if (half > 0)
                terms[count++] = bits_product(low, low, high);
            left[k] = stay;
        }
        TRY(count == 0 ? ERR_OK : bits_and_layer(p, terms, count));
    } while (count > 0);
    return ERR_OK;
}

/* The AND of each word's lanes, in its lane 0. */
static enum err fold_lanes(struct party *p, struct bits x)
{
    struct bits high;
    TRY(party_bits(p, &high, x.n));
    for (unsigned by = 32; by > 0; by /= 2) {
        for (size_t i = 0; i < x.n / 64; i++) {
            high.a[i] = x.a[i] >> by;
            high.b[i] = x.b[i] >> by;
        }
        TRY(bits_and(p, x, x, high));
    }
    return ERR_OK;
}

static enum err open_sorted(struct party *p, const struct linked *l, struct bits right,
                            enum err (*before)(void *self), void *self, bool *sorted)
{
    struct bits word, bit;
    uint64_t *opened;
    TRY(party_bits(p, &word, 64 * l->owners));
    TRY(party_bits(p, &bit, l->owners));
    TRY(scratch_array(p->scratch, &opened, bits_words(l->owners)));
    linked_public(p, word, 0, l->owners, ~(uint64_t)0);
    for (size_t k = 0; k < l->owners; k++)
        if (l->words[k] > 0)
            bits_copy(linked_words(word, k, 1), linked_words(right, l->from[k], 1));
    TRY(fold_lanes(p, word));
    bits_zero(bit);
    for (size_t k = 0; k < l->owners; k++) {
        bit.a[k / 64] |= (word.a[k] & 1) << k % 64;
        bit.b[k / 64] |= (word.b[k] & 1) << k % 64;
    }
    if (before != NULL)
        TRY(before(self));
    TRY(open_bits(p, OPEN_SORTED, bit, opened));
    for (size_t k = 0; k < l->owners; k++)
        sorted[k] = opened[k / 64] >> k % 64 & 1;
    return ERR_OK;
}

/* The first planes of the tables, which order rows. */
static enum err load_front(struct party *p, struct linked *l, const struct planes *tables,
                           size_t owners)
{
    struct planes *front;
    TRY(scratch_array(p->scratch, &front, owners));
    for (size_t k = 0; k < owners; k++) {
        if (tables[k].width < LINK_FRONT)
            return ERR_RANGE;
        front[k] = planes_view(&tables[k], 0, LINK_FRONT);
    }
    return linked_load(p, l, front, owners, 0, 0);
}

enum err link_sorted(struct party *p, const struct planes *tables, size_t owners,
                     enum err (*before)(void *self), void *self, bool *sorted)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct linked l;
    struct sorting s = {&l, {NULL, NULL, 0}};
    TRY(load_front(p, &l, tables, owners));
    TRY(party_bits(p, &s.right, l.rows.n));
    TRY(linked_tiles(p, &l, LINK_TILE, compare_rows, &s));
    for (size_t k = 0; k < l.owners; k++) /* a table's last row has none behind it */
        if (l.words[k] > 0)
            fill_up(p, linked_words(s.right, l.from[k], l.words[k]), 64 * l.words[k] - 1);
    TRY(fold_words(p, &l, s.right));
    return open_sorted(p, &l, s.right, before, self, sorted);
}

void linked_leave_out(const struct party *p, const struct linked *l, const bool *sorted)
{
    for (size_t o = 0; o < l->owners; o++)
        for (unsigned k = l->low; k < l->low + LINK_FRONT && !sorted[o]; k++)
            linked_public(p, planes_plane(&l->rows, k), l->from[o], l->words[o], ~(uint64_t)0);
}
