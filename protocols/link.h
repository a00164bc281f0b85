/*
 * protocols/link.h - persons across all owners: rows of one key are joined or bounded, and nobody
 * sees which they are.
 *
 * The rows of an owner's table have a validity bit, a key of 64 bits and columns, and are sorted by
 * (invalid, key). Whether they are is opened, one bit an owner, which is true for every honest
 * owner: once, since it stays so. An owner that did not sort is left out: none of its rows is
 * valid. The tables become one
 * list (protocols/bitonic.h), in which the rows of a key are neighbours, so that a row is compared
 * with the one so many places before or after it:
 *
 *   bound   by (invalid, key, owner, place): of each key the first `most` rows stay valid. Row i
 *           is one of them unless row i - most has its key
 *   join    by (invalid, key, surplus, owner): surplus are an owner's rows of a key except the
 *           first. The rows before them belong to different owners, in order. So all m owners have
 *           the key if row i + m - 1 has it and is no surplus, and their columns are in rows i,
 *           i + 1 .. If an owner is kept, its rows come first, and each is valid; the others'
 *           columns are chosen from the m - 1 rows after it
 *
 * Invalid rows stay where they are: how many are valid is not opened. Rows of a key keep the order
 * of owners and places, whatever other keys there are: what is left of one person's rows does not
 * depend on another's. ANDs and exchanges are in docs/protocols.md.
 *
 * LEAKS: whether an owner's table is sorted; the lengths are public.
 */
#pragma once

#include "mpc/circuits/bits.h"

#include <stdbool.h>

#define LINK_KEY 64               /* planes of a key */
#define LINK_FRONT (1 + LINK_KEY) /* those of a table before its columns: validity, key */
#define LINK_OWNERS_MAX 64        /* of a join */

/* Rows that come out: those of all tables, each table filled up to a multiple of 64. */
size_t link_rows(const struct planes *tables, size_t owners);

/*
 * Opens which tables are sorted. before(self) is called before anything is sent to open them, or is
 * NULL. A table has planes of validity, of the key from its lowest bit up, and of columns.
 */
enum err link_sorted(struct party *p, const struct planes *tables, size_t owners,
                     enum err (*before)(void *self), void *self, bool *sorted) MUST_CHECK;

/*
 * Tables have the same number of columns. `out` gets validity and columns; sorted[k] says whether
 * owner k is in. `most` is at least 1.
 */
enum err link_bound(struct party *p, const struct planes *out, const struct planes *tables,
                    size_t owners, size_t most, const bool *sorted) MUST_CHECK;

/*
 * The same for owners with columns of their own: `out` gets validity, then the columns of all
 * owners. With `keep` < owners that owner's rows stay where others lack the key, and a plane for
 * each owner follows: whether it has the row. Its columns are 0 where it does not.
 */
enum err link_join(struct party *p, const struct planes *out, const struct planes *tables,
                   size_t owners, size_t keep, const bool *sorted) MUST_CHECK;

/*
 * What they take with link_sorted(), for tables of so many rows and columns, on one lane without a
 * check: words of 8 bytes that each server sends, and exchanges.
 */
struct link_cost {
    uint64_t words, exchanges;
};
enum err link_bound_cost(struct link_cost *cost, const size_t *rows, size_t owners,
                         unsigned columns) MUST_CHECK;
enum err link_join_cost(struct link_cost *cost, const size_t *rows, const unsigned *columns,
                        size_t owners, size_t keep) MUST_CHECK;
