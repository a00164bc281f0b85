/*
 * parties/server/branches.h - three servers bring ordered lists together, and move what differs.
 *
 * A list has items of one size, ordered by their first BRANCH_KEY bytes, each once. A branch is the
 * items whose keys begin alike, with some number of hexadecimal digits; it is said by how many they
 * are, and SHA-256 over them. Whoever calls has compared whole lists, as branches of no digit:
 *
 *   all -> all   the 16 branches of each branch that is not the same at all three; again, until
 *                those that are not have few items
 *   all -> all   the items of these
 *
 * Nothing moves of what all three have alike. A difference in a list of n items costs some log16(n)
 * rounds of 576 bytes to each neighbour. LEAKS: to the neighbours, what the lists have.
 */
#ifndef TREFOIL_PARTIES_SERVER_BRANCHES_H
#define TREFOIL_PARTIES_SERVER_BRANCHES_H

#include "netio/net.h"

#include <stdbool.h>

#define BRANCH_KEY 16
/* A branch that has no more items at all three together is listed. */
#define BRANCH_ITEMS 96

struct branch_card {
    uint32_t count;
    uint8_t digest[32];
};

/* Of a whole list. */
struct branch_card branch_card(const void *list, size_t count, size_t size);
bool branch_alike(const struct branch_card *a, const struct branch_card *b);

/*
 * theirs[p]: what neighbour p has, card[p].count items; the caller frees both. ERR_FORMAT where its
 * branches do not add up to that. It is for the caller to see whether a list is in order.
 */
enum err branches_meet(struct net *net, const void *own, size_t count, size_t size,
                       const struct branch_card card[2], void *theirs[2]) MUST_CHECK;

#endif
