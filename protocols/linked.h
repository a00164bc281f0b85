/* protocols/linked.h - the list of all tables, as link.c merges it. */
#pragma once

#include "protocols/link.h"

#define LINK_TILE ((size_t)1 << 16) /* rows, where there is one lane */

/*
 * Planes: what orders rows of a key, `low` of them; key; invalid; columns. Tables follow one
 * another, each filled up with invalid rows.
 */
struct linked {
    struct planes rows;
    unsigned low;
    size_t owners;
    const struct planes *table;
    size_t *words, *from; /* of each table: words of a plane, and the first */
};

/* How many planes it takes to number `count` things. */
static inline unsigned linked_bits(size_t count)
{
    unsigned bits = 0;
    while (count > 1 && (count - 1) >> bits != 0)
        bits++;
    return bits;
}

/* The tables' rows, in the party's scratch; planes below `low` are not filled in yet. */
enum err linked_load(struct party *p, struct linked *l, const struct planes *tables, size_t owners,
                     unsigned low, unsigned columns) MUST_CHECK;

/* Makes the rows of tables that are not sorted invalid. */
void linked_leave_out(const struct party *p, const struct linked *l, const bool *sorted);

/* Merges all tables by the planes up to `invalid`. */
enum err linked_merge(struct party *p, const struct linked *l) MUST_CHECK;

/* Calls work(lane, self, from, words) for tiles of all rows, in words; `most` rows a tile. */
typedef enum err (*linked_work)(struct party *p, const void *self, size_t from, size_t words);
enum err linked_tiles(struct party *p, const struct linked *l, size_t most, linked_work work,
                      const void *self) MUST_CHECK;

/* Sets words of a vector to the same public value everywhere. */
void linked_public(const struct party *p, struct bits x, size_t from, size_t words, uint64_t value);

/* Plane k of the rows that are `ahead` places after a tile's; 0 where there are none. */
void linked_ahead(const struct linked *l, unsigned k, size_t from, ptrdiff_t ahead,
                  struct bits out);

/* A view of words of a vector. */
static inline struct bits linked_words(struct bits x, size_t from, size_t words)
{
    return (struct bits){x.a + from, x.b + from, 64 * words};
}
