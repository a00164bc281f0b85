/*
 * parties/server/branches.h - servers compare ordered lists and send only what differs.
 *
 * A list has items of one size, ordered by their first BRANCH_KEY bytes, each once. A branch
 * consists of the items whose keys share some number of leading hexadecimal digits; it is described
 * by the number of items and SHA-256 over them. The caller has already compared the whole lists,
 * as branches of no digit:
 *
 *   all -> all   the 16 branches of each branch that differs between servers; repeated until the
 *                branches that differ have few items
 *   all -> all   the items of these
 *
 * Nothing that all have alike is sent. A difference in a list of n items costs about
 * log16(n) rounds of 576 bytes to each neighbour. LEAKS: to the neighbours, what the lists have.
 */
#pragma once

#include "netio/net.h"

#include <stdbool.h>

#define BRANCH_KEY 16
/* A branch is listed if the servers together have no more items in it than this. */
#define BRANCH_ITEMS 96

struct branch_card {
    uint32_t count;
    uint8_t digest[32];
};

/* The card of a whole list. */
struct branch_card branch_card(const void *list, size_t count, size_t size);
bool branch_alike(const struct branch_card *a, const struct branch_card *b);

/*
 * theirs[p]: neighbour p's list, card[p].count items; the caller frees them. ERR_CHEAT if its
 * branches do not add up to that. The caller must check that each list is in order.
 */
enum err branches_meet(struct net *net, const void *own, size_t count, size_t size,
                       const struct branch_card card[2], void *theirs[2]) MUST_CHECK;
