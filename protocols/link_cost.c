/* What linking takes, from public sizes: the formulas of docs/protocols.md. */
#include "base/memory.h"
#include "protocols/bitonic.h"
#include "protocols/linked.h"

/* The tables' lengths in words, with their sum and the longest. */
struct cost_adding {
    struct link_cost *cost;
    size_t owners, *list;
    size_t words, longest;
};

static enum err begin(struct cost_adding *a, struct link_cost *cost, const size_t *rows,
                      size_t owners)
{
    *a = (struct cost_adding){.cost = cost, .owners = owners};
    *cost = (struct link_cost){0};
    TRY(memory_new(&a->list, owners));
    for (size_t k = 0; k < owners; k++) {
        a->list[k] = bits_words(rows[k]);
        a->words += a->list[k];
        a->longest = a->list[k] > a->longest ? a->list[k] : a->longest;
    }
    return ERR_OK;
}

static void end(struct cost_adding *a)
{
    memory_free(&a->list);
}

/* Adds `ands` ANDs per row, and `exchanges` exchanges for each tile of `most` rows. */
static void add(const struct cost_adding *a, uint64_t ands, uint64_t exchanges, size_t most)
{
    const size_t tile = most / 64;
    a->cost->words += a->words * ands;
    a->cost->exchanges += (a->words + tile - 1) / tile * exchanges;
}

/* Finding out which tables are sorted, and opening it. */
static void add_sorted(const struct cost_adding *a)
{
    add(a, 2 * LINK_FRONT - linked_bits(LINK_FRONT + 1), 7, LINK_TILE);
    for (size_t k = 0; k < a->owners; k++)
        a->cost->words += a->list[k] > 0 ? a->list[k] - 1 : 0;
    a->cost->words += 6 * a->owners + bits_words(a->owners);
    a->cost->exchanges += linked_bits(a->longest) + 6 + 1;
}

static void add_merge(const struct cost_adding *a, unsigned order, unsigned columns)
{
    bitonic_cost(order, order + columns, a->list, a->owners, &a->cost->words, &a->cost->exchanges);
}

enum err link_bound_cost(struct link_cost *cost, const size_t *rows, size_t owners,
                         unsigned columns)
{
    struct cost_adding a CLEAN(end) = {0};
    TRY(begin(&a, cost, rows, owners));
    add_sorted(&a);
    add_merge(&a, LINK_FRONT + linked_bits(owners) + linked_bits(64 * a.longest), columns);
    add(&a, LINK_KEY, 7, LINK_TILE);
    return ERR_OK;
}

/* A join that keeps an owner, where the others have `columns` columns. */
static void add_kept(const struct cost_adding *a, unsigned columns)
{
    const size_t others = a->owners - 1, pairs = a->owners * others / 2,
                 most = LINK_TILE / a->owners;
    const unsigned owner = linked_bits(a->owners);
    add(a, owner + 1, linked_bits(owner + 2), most);
    if (others == 0)
        return;
    add(a, others * LINK_FRONT, 7, most);
    add(a, pairs * owner, linked_bits(owner + 1), most);
    add(a, columns, columns > 0, most);
}

enum err link_join_cost(struct link_cost *cost, const size_t *rows, const unsigned *columns,
                        size_t owners, size_t keep)
{
    struct cost_adding a CLEAN(end) = {0};
    const unsigned order = LINK_FRONT + 1 + linked_bits(owners);
    unsigned widest = 0, others = 0;
    TRY(begin(&a, cost, rows, owners));
    for (size_t k = 0; k < owners; k++) {
        widest = columns[k] > widest ? columns[k] : widest;
        others += k == keep ? 0 : columns[k];
    }
    add_sorted(&a);
    add(&a, LINK_KEY - 1, 6, LINK_TILE); /* surplus */
    add_merge(&a, order, widest);
    if (keep < owners)
        add_kept(&a, others);
    else
        add(&a, LINK_FRONT, 7, LINK_TILE);
    return ERR_OK;
}
