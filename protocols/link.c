#include "mpc/circuits/order.h"
#include "protocols/linked.h"

/* 1 in the lanes below n of a vector's word `at`. */
static uint64_t lanes_below(size_t n, size_t at)
{
    return n >= 64 * (at + 1) ? ~(uint64_t)0 : n <= 64 * at ? 0 : ((uint64_t)1 << n % 64) - 1;
}

/* The public number of each table's rows, in planes from `first` on. */
static void number_owners(const struct party *p, const struct linked *l, unsigned first,
                          unsigned bits, const size_t *number)
{
    for (size_t o = 0; o < l->owners; o++)
        for (unsigned k = 0; k < bits; k++)
            linked_public(p, planes_plane(&l->rows, first + k), l->from[o], l->words[o],
                          0 - (uint64_t)(number[o] >> k & 1));
}

/* Whether each row has the key of the row `ahead` places further on. */
static enum err same_key(struct party *p, const struct linked *l, size_t from, ptrdiff_t ahead,
                         struct bits same)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes differ;
    struct bits own;
    TRY(party_planes(p, &differ, LINK_KEY, same.n));
    TRY(party_bits(p, &own, same.n));
    for (unsigned k = 0; k < LINK_KEY; k++) {
        linked_ahead(l, l->low + k, from, 0, own);
        linked_ahead(l, l->low + k, from, ahead, planes_plane(&differ, k));
        bits_xor(planes_plane(&differ, k), planes_plane(&differ, k), own);
    }
    return order_equal(p, same, &differ);
}

/* --- bound ------------------------------------------------------------------------------------ */

/* A row's place in its table, in the lowest planes. */
static void number_places(const struct party *p, const struct linked *l, unsigned bits)
{
    for (size_t o = 0; o < l->owners; o++)
        for (size_t i = 0; i < l->words[o]; i++)
            for (unsigned k = 0; k < bits; k++) {
                static const uint64_t within[] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc,
                                                  0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00,
                                                  0xffff0000ffff0000, 0xffffffff00000000};
                linked_public(p, planes_plane(&l->rows, k), l->from[o] + i, 1,
                              k < 6 ? within[k] : 0 - (uint64_t)(i >> (k - 6) & 1));
            }
}

struct bounding {
    const struct linked *l;
    const struct planes *out;
    size_t most;
};

static enum err bound_tile(struct party *p, const void *self, size_t from, size_t words)
{
    const struct bounding *b = self;
    const struct linked *l = b->l;
    const struct bits valid = linked_words(planes_plane(b->out, 0), from, words);
    struct bits own, same;
    TRY(party_bits(p, &same, 64 * words));
    TRY(party_bits(p, &own, 64 * words));
    TRY(same_key(p, l, from, -(ptrdiff_t)b->most, same));
    for (size_t i = 0; i < words; i++) {
        same.a[i] &= ~lanes_below(b->most, from + i);
        same.b[i] &= ~lanes_below(b->most, from + i);
    }
    bits_not(p, same, same);
    linked_ahead(l, l->low + LINK_KEY, from, 0, own);
    bits_not(p, own, own);
    TRY(bits_and(p, valid, own, same));
    for (unsigned k = 1; k < b->out->width; k++)
        linked_ahead(l, l->low + LINK_FRONT + k - 1, from, 0,
                     linked_words(planes_plane(b->out, k), from, words));
    return ERR_OK;
}

enum err link_bound(struct party *p, const struct planes *out, const struct planes *tables,
                    size_t owners, size_t most, const bool *sorted)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const size_t rows = link_rows(tables, owners);
    size_t longest = 0, *number;
    unsigned place, owner = linked_bits(owners);
    struct linked l;
    if (most == 0 || out->width == 0 || out->n != rows)
        return ERR_RANGE;
    TRY(scratch_array(p->scratch, &number, owners));
    for (size_t o = 0; o < owners; o++) {
        number[o] = o;
        longest = bits_words(tables[o].n) > longest ? bits_words(tables[o].n) : longest;
    }
    place = linked_bits(64 * longest);
    TRY(linked_load(p, &l, tables, owners, place + owner, out->width - 1));
    linked_leave_out(p, &l, sorted);
    number_places(p, &l, place);
    number_owners(p, &l, place, owner, number);
    TRY(linked_merge(p, &l));
    const struct bounding b = {&l, out, most < rows ? most : rows};
    return linked_tiles(p, &l, LINK_TILE, bound_tile, &b);
}

/* --- join ------------------------------------------------------------------------------------- */

/* Planes: the owner's rank, surplus, key, invalid, columns. */
struct link_joining {
    struct linked l;
    const struct planes *out;
    unsigned owner;  /* planes of a rank */
    size_t *rank;    /* of each owner: its place among those of a row */
    unsigned *first; /* of each owner: its first column in `out` */
    bool keep;
};

/*
 * Whether an owner's row has the key of the one before it; the first row of all has none before it.
 */
static enum err surplus_tile(struct party *p, const void *self, size_t from, size_t words)
{
    const struct link_joining *j = self;
    return same_key(p, &j->l, from, -1,
                    linked_words(planes_plane(&j->l.rows, j->owner), from, words));
}

static enum err find_surplus(struct party *p, const struct link_joining *j)
{
    const struct bits surplus = planes_plane(&j->l.rows, j->owner);
    TRY(linked_tiles(p, &j->l, LINK_TILE, surplus_tile, j));
    for (size_t o = 0; o < j->l.owners; o++)
        if (j->l.words[o] > 0) {
            surplus.a[j->l.from[o]] &= ~(uint64_t)1;
            surplus.b[j->l.from[o]] &= ~(uint64_t)1;
        }
    return ERR_OK;
}

/* Rows past the end are invalid: those `ahead` of the last ones. */
static void end_rows(const struct party *p, const struct linked *l, size_t from, size_t ahead,
                     struct bits invalid)
{
    const size_t all = l->rows.n, there = all > ahead ? all - ahead : 0;
    for (size_t i = 0; i < bits_words(invalid.n); i++) {
        invalid.a[i] |= p->index == 0 ? ~lanes_below(there, from + i) : 0;
        invalid.b[i] |= p->index == 2 ? ~lanes_below(there, from + i) : 0;
    }
}

/*
 * Whether the row `first` ahead has the same key, is valid and no surplus; then the same for the
 * rows after it, `count` in all, `words` words each. Planes from surplus to invalid stand side by
 * side.
 */
static enum err match_ahead(struct party *p, const struct link_joining *j, size_t from,
                            size_t words, size_t first, size_t count, struct bits match)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct linked *l = &j->l;
    struct planes differ;
    struct bits own;
    TRY(party_planes(p, &differ, LINK_FRONT + 1, match.n));
    TRY(party_bits(p, &own, 64 * words));
    for (size_t b = 0; b < count; b++)
        for (unsigned k = 0; k < differ.width; k++) {
            const struct bits x = linked_words(planes_plane(&differ, k), b * words, words);
            linked_ahead(l, j->owner + k, from, (ptrdiff_t)(first + b), x);
            if (k == LINK_FRONT)
                end_rows(p, l, from, first + b, x);
            if (k == 0 || k == LINK_FRONT)
                continue;
            linked_ahead(l, j->owner + k, from, 0, own);
            bits_xor(x, x, own);
        }
    return order_equal(p, match, &differ);
}

static struct bits column(const struct link_joining *j, size_t owner, unsigned k, size_t from,
                          size_t words)
{
    return linked_words(planes_plane(j->out, j->first[owner] + k), from, words);
}

static unsigned columns_of(const struct link_joining *j, size_t owner)
{
    return j->l.table[owner].width - LINK_FRONT;
}

static enum err inner_tile(struct party *p, const void *self, size_t from, size_t words)
{
    const struct link_joining *j = self;
    TRY(match_ahead(p, j, from, words, j->l.owners - 1, 1,
                    linked_words(planes_plane(j->out, 0), from, words)));
    for (size_t o = 0; o < j->l.owners; o++)
        for (unsigned k = 0; k < columns_of(j, o); k++)
            linked_ahead(&j->l, j->l.low + LINK_FRONT + k, from, (ptrdiff_t)j->rank[o],
                         column(j, o, k, from, words));
    return ERR_OK;
}

/* --- join that keeps an owner's rows ---------------------------------------------------------- */

/* valid = the row is of the owner that is kept, valid and no surplus */
static enum err kept_rows(struct party *p, const struct link_joining *j, size_t from, size_t words)
{
    struct planes differ;
    TRY(party_planes(p, &differ, j->owner + 2, 64 * words));
    for (unsigned k = 0; k < differ.width; k++)
        linked_ahead(&j->l, k <= j->owner ? k : j->l.low + LINK_KEY, from, 0,
                     planes_plane(&differ, k));
    return order_equal(p, linked_words(planes_plane(j->out, 0), from, words), &differ);
}

/*
 * A block of lanes for each row ahead and each rank that it can have, row by row: 1 <= ahead <=
 * rank. Its lanes say whether that row has the rank's columns: it matches, and is of that rank.
 */
static size_t block_of(const struct link_joining *j, size_t ahead, size_t rank)
{
    const size_t most = j->l.owners - 1;
    return (ahead - 1) * most - (ahead - 1) * (ahead - 2) / 2 + rank - ahead;
}

static enum err choose_rows(struct party *p, const struct link_joining *j, size_t from,
                            size_t words, struct bits chosen)
{
    const size_t most = j->l.owners - 1;
    struct planes differ;
    struct bits match;
    TRY(party_bits(p, &match, 64 * words * most));
    TRY(party_planes(p, &differ, j->owner + 1, chosen.n));
    TRY(match_ahead(p, j, from, words, 1, most, match));
    bits_not(p, match, match);
    for (size_t ahead = 1; ahead <= most; ahead++)
        for (size_t rank = ahead; rank <= most; rank++)
            for (unsigned k = 0; k <= j->owner; k++) {
                const struct bits x = linked_words(planes_plane(&differ, k),
                                                   block_of(j, ahead, rank) * words, words);
                if (k == j->owner)
                    bits_copy(x, linked_words(match, (ahead - 1) * words, words));
                else
                    linked_ahead(&j->l, k, from, (ptrdiff_t)ahead, x);
                if (k < j->owner && (rank >> k & 1) != 0)
                    bits_not(p, x, x);
            }
    return order_equal(p, chosen, &differ);
}

/* A column of an owner: the sum over rows ahead of what is chosen from them; one term each. */
static enum err choose_column(struct party *p, const struct link_joining *j, size_t owner,
                              unsigned k, size_t from, size_t words, struct bits chosen,
                              struct move_term *terms)
{
    const struct bits out = column(j, owner, k, from, words);
    for (size_t ahead = 1; ahead <= j->rank[owner]; ahead++) {
        const struct bits which = linked_words(chosen, block_of(j, ahead, j->rank[owner]) * words,
                                               words);
        struct bits x;
        TRY(party_bits(p, &x, 64 * words));
        linked_ahead(&j->l, j->l.low + LINK_FRONT + k, from, (ptrdiff_t)ahead, x);
        terms[ahead - 1] = bits_product(out, which, x);
    }
    for (size_t ahead = j->rank[owner] + 1; ahead < j->l.owners; ahead++)
        terms[ahead - 1] = (struct move_term){.words = 0};
    return ERR_OK;
}

/* The plane of whether an owner has the row. */
static struct bits presence(const struct link_joining *j, size_t owner, size_t from, size_t words)
{
    const unsigned first = j->out->width - (unsigned)j->l.owners;
    return linked_words(planes_plane(j->out, first + (unsigned)owner), from, words);
}

static void find_presence(const struct link_joining *j, size_t owner, size_t from, size_t words,
                          struct bits chosen)
{
    const struct bits out = presence(j, owner, from, words);
    bits_zero(out);
    for (size_t ahead = 1; ahead <= j->rank[owner]; ahead++)
        bits_xor(out, out, linked_words(chosen, block_of(j, ahead, j->rank[owner]) * words, words));
}

static enum err keep_tile(struct party *p, const void *self, size_t from, size_t words)
{
    const struct link_joining *j = self;
    const size_t most = j->l.owners - 1;
    struct move_term *terms, *next;
    struct bits chosen;
    TRY(kept_rows(p, j, from, words));
    TRY(party_bits(p, &chosen, 64 * words * (most * (most + 1) / 2)));
    TRY(scratch_array(p->scratch, &terms, most * (j->out->width - 1)));
    next = terms;
    if (most > 0)
        TRY(choose_rows(p, j, from, words, chosen));
    for (size_t o = 0; o < j->l.owners; o++) {
        for (unsigned k = 0; k < columns_of(j, o); k++)
            if (j->rank[o] == 0) {
                linked_ahead(&j->l, j->l.low + LINK_FRONT + k, from, 0,
                             column(j, o, k, from, words));
            } else {
                TRY(choose_column(p, j, o, k, from, words, chosen, next));
                next += most;
            }
        if (j->rank[o] == 0)
            bits_copy(presence(j, o, from, words),
                      linked_words(planes_plane(j->out, 0), from, words));
        else
            find_presence(j, o, from, words, chosen);
    }
    return next == terms ? ERR_OK
                         : bits_sums(p, terms, (size_t)(next - terms) / most, (unsigned)most);
}

/* The rank of each owner: that of the one that is kept is 0. Its first column in `out`. */
static void number_columns(struct link_joining *j, size_t keep)
{
    unsigned first = 1;
    for (size_t o = 0; o < j->l.owners; o++) {
        j->rank[o] = !j->keep ? o : o == keep ? 0 : o + (o < keep);
        j->first[o] = first;
        first += columns_of(j, o);
    }
}

enum err link_join(struct party *p, const struct planes *out, const struct planes *tables,
                   size_t owners, size_t keep, const bool *sorted)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct link_joining j = {.out = out, .owner = linked_bits(owners), .keep = keep < owners};
    unsigned widest = 0, all = 1 + (j.keep ? (unsigned)owners : 0);
    if (owners == 0 || owners > LINK_OWNERS_MAX || out->n != link_rows(tables, owners))
        return ERR_RANGE;
    for (size_t o = 0; o < owners; o++) {
        if (tables[o].width < LINK_FRONT)
            return ERR_RANGE;
        all += tables[o].width - LINK_FRONT;
        widest = tables[o].width > widest ? tables[o].width : widest;
    }
    if (out->width != all)
        return ERR_RANGE;
    TRY(linked_load(p, &j.l, tables, owners, j.owner + 1, widest - LINK_FRONT));
    linked_leave_out(p, &j.l, sorted);
    TRY(scratch_array(p->scratch, &j.rank, owners));
    TRY(scratch_array(p->scratch, &j.first, owners));
    number_columns(&j, keep);
    number_owners(p, &j.l, 0, j.owner, j.rank);
    TRY(find_surplus(p, &j));
    TRY(linked_merge(p, &j.l));
    return linked_tiles(p, &j.l, j.keep ? LINK_TILE / owners : LINK_TILE,
                        j.keep ? keep_tile : inner_tile, &j);
}
