#include "parties/server/branches.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "parties/server/round.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN 16
#define CARD_SIZE (4 + 32)
#define OWN 2 /* beside NET_PREV and NET_NEXT, which is empty if there are two servers */

/* Items that may differ. */
struct branch {
    uint8_t least[BRANCH_KEY]; /* the least key that it may have */
    unsigned digits;
    size_t at; /* where it begins, or would, in the own list */
    uint32_t count[OWN + 1];
};

struct branches {
    struct branch *branch;
    size_t count, room;
};

struct branches_meeting {
    const uint8_t *own;
    size_t count, size;
    unsigned peers;
    struct branches open; /* to be taken apart */
    struct branches leaf; /* to be listed */
};

struct branch_card branch_card(const void *list, size_t count, size_t size)
{
    struct branch_card card = {.count = (uint32_t)count};
    crypto_hash_sha256(card.digest, list, count * size);
    return card;
}

bool branch_alike(const struct branch_card *a, const struct branch_card *b)
{
    return a->count == b->count && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* --- branches --------------------------------------------------------------------------------- */

static enum err add(struct branches *to, const struct branch *b)
{
    TRY(memory_room(&to->branch, &to->room, to->count + 1));
    to->branch[to->count++] = *b;
    return ERR_OK;
}

/* Files a branch that differs: to be listed if it is small or its keys have no more digits. */
static enum err sort(struct branches_meeting *m, const struct branch *b)
{
    const uint64_t items = (uint64_t)b->count[0] + b->count[1] + b->count[2];
    return add(items <= BRANCH_ITEMS || b->digits == 2 * BRANCH_KEY ? &m->leaf : &m->open, b);
}

static unsigned digit_of(const uint8_t *key, unsigned digit)
{
    return digit % 2 == 0 ? key[digit / 2] >> 4 : key[digit / 2] & 15;
}

/* The branch's k-th part, whose items begin at `at` in the own list. */
static struct branch part_of(const struct branches_meeting *m, const struct branch *b, unsigned k,
                             size_t at)
{
    struct branch part = *b;
    const size_t end = b->at + b->count[OWN];
    part.least[b->digits / 2] |= (uint8_t)(b->digits % 2 == 0 ? k << 4 : k);
    part.digits = b->digits + 1;
    part.at = at;
    while (at < end && digit_of(m->own + at * m->size, b->digits) == k)
        at++;
    part.count[OWN] = (uint32_t)(at - part.at);
    return part;
}

static enum err take_apart(const struct branches_meeting *m, const struct branches *open,
                           struct branches *parts, uint8_t *cards)
{
    for (size_t i = 0; i < open->count; i++) {
        size_t at = open->branch[i].at;
        for (unsigned k = 0; k < CHILDREN; k++, cards += CARD_SIZE) {
            const struct branch part = part_of(m, &open->branch[i], k, at);
            crypto_hash_sha256(integer_put(cards, part.count[OWN], 4), m->own + at * m->size,
                               part.count[OWN] * m->size);
            at += part.count[OWN];
            TRY(add(parts, &part));
        }
    }
    return ERR_OK;
}

/* Compares what neighbours say of the parts, which must add up; keeps the parts that differ. */
static enum err compare(struct branches_meeting *m, const struct branches *open,
                        const struct branches *parts, uint8_t *const card[OWN + 1])
{
    for (size_t i = 0; i < open->count; i++) {
        uint64_t left[] = {open->branch[i].count[0], open->branch[i].count[1]};
        for (size_t k = CHILDREN * i; k < CHILDREN * (i + 1); k++) {
            struct branch *b = &parts->branch[k];
            const uint8_t *own = card[OWN] + k * CARD_SIZE;
            bool alike = true;
            for (unsigned p = 0; p < m->peers; p++) {
                const uint8_t *said = card[p] + k * CARD_SIZE;
                b->count[p] = (uint32_t)integer_get(said, 4);
                if (b->count[p] > left[p])
                    return ERR_CHEAT;
                left[p] -= b->count[p];
                alike = alike && memcmp(said, own, CARD_SIZE) == 0;
            }
            if (!alike)
                TRY(sort(m, b));
        }
        if (left[0] + left[1] > 0)
            return ERR_CHEAT;
    }
    return ERR_OK;
}

static void drop(struct branches *b)
{
    memory_free(&b->branch);
    *b = (struct branches){0};
}

/* Goes on to the next digit. */
static enum err descend(struct net *net, struct branches_meeting *m)
{
    struct branches open CLEAN(drop) = m->open, parts CLEAN(drop) = {0};
    const size_t n = open.count * CHILDREN * CARD_SIZE;
    uint8_t *cards CLEAN(memory_release) = NULL, *card[OWN + 1];
    m->open = (struct branches){0};
    TRY(memory_new(&cards, 3 * n));
    for (unsigned p = 0; p <= OWN; p++)
        card[p] = cards + p * n;
    TRY(take_apart(m, &open, &parts, card[OWN]));
    TRY(round_broadcast(net, card[OWN], n, card[NET_PREV], card[NET_NEXT]));
    return compare(m, &open, &parts, card);
}

/* --- items ------------------------------------------------------------------------------------ */

static int compare_leaves(const void *a, const void *b)
{
    const struct branch *one = a, *other = b;
    return memcmp(one->least, other->least, BRANCH_KEY);
}

/* The neighbour's list: like our own, except in the leaves, where it is what has come. */
static enum err merge(const struct branches_meeting *m, unsigned p, const uint8_t *came,
                      size_t count, void **list)
{
    uint8_t *to;
    size_t at = 0;
    TRY(memory_new_array(list, count, m->size));
    to = *list;
    for (size_t i = 0; i <= m->leaf.count; i++) {
        const struct branch *b = i < m->leaf.count ? &m->leaf.branch[i] : NULL;
        const size_t alike = ((b != NULL ? b->at : m->count) - at) * m->size;
        memcpy(to, m->own + at * m->size, alike);
        to += alike;
        if (b == NULL)
            break;
        memcpy(to, came, b->count[p] * m->size);
        to += b->count[p] * m->size;
        came += b->count[p] * m->size;
        at = b->at + b->count[OWN];
    }
    return ERR_OK;
}

static enum err list_leaves(struct net *net, struct branches_meeting *m,
                            const struct branch_card card[2], void *theirs[2])
{
    uint8_t *items CLEAN(memory_release) = NULL, *item[OWN + 1];
    size_t all[OWN + 1] = {0};
    struct net_exchange r = {0};
    if (m->leaf.count > 0)
        qsort(m->leaf.branch, m->leaf.count, sizeof *m->leaf.branch, compare_leaves);
    for (size_t i = 0; i < m->leaf.count; i++)
        for (unsigned p = 0; p <= OWN; p++)
            all[p] += m->leaf.branch[i].count[p];
    TRY(memory_new(&items, (all[0] + all[1] + all[2]) * m->size));
    item[0] = items;
    item[1] = item[0] + all[0] * m->size;
    item[OWN] = item[1] + all[1] * m->size;
    for (size_t i = 0, to = 0; i < m->leaf.count; to += m->leaf.branch[i++].count[OWN])
        memcpy(item[OWN] + to * m->size, m->own + m->leaf.branch[i].at * m->size,
               m->leaf.branch[i].count[OWN] * m->size);
    for (unsigned p = 0; p < m->peers; p++) {
        r.send[p] = item[OWN];
        r.send_size[p] = all[OWN] * m->size;
        r.receive[p] = item[p];
        r.receive_size[p] = all[p] * m->size;
    }
    TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < m->peers; p++)
        TRY(merge(m, p, item[p], card[p].count, &theirs[p]));
    return ERR_OK;
}

static void clear(struct branches_meeting *m)
{
    drop(&m->open);
    drop(&m->leaf);
}

enum err branches_meet(struct net *net, const void *own, size_t count, size_t size,
                       const struct branch_card card[2], void *theirs[2])
{
    struct branches_meeting m CLEAN(clear) = {
        .own = own, .count = count, .size = size, .peers = net_servers(net) - 1};
    const struct branch root = {
        .count = {card[0].count, m.peers > 1 ? card[1].count : 0, (uint32_t)count}};
    TRY(sort(&m, &root));
    while (m.open.count > 0)
        TRY(descend(net, &m));
    return list_leaves(net, &m, card, theirs);
}
