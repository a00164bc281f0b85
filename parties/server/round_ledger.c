#include "parties/server/round_ledger.h"

#include "parties/server/round.h"

#include <string.h>

struct card {
    struct store_head head;
    uint64_t entry_size;
    uint8_t open[32];
};

#define CARD_SIZE (8 + 32 + 8 + 32)
#define ENTRY_MAX 8192

static enum err exchange_cards(struct net *net, const uint8_t open[32],
                               const struct store_head *head, size_t entry_size,
                               struct card other[2])
{
    uint8_t own[CARD_SIZE], came[2][CARD_SIZE], *to = integer_put(own, head->number, 8);
    memcpy(to, head->head, sizeof head->head);
    to = integer_put(to + sizeof head->head, entry_size, 8);
    memcpy(to, open, sizeof other[0].open);
    TRY(round_broadcast(net, own, sizeof own, came[NET_PREV], came[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++) {
        struct reader in = reader_of(came[p], CARD_SIZE);
        other[p].head.number = reader_u64(&in);
        reader_copy(&in, other[p].head.head, sizeof other[p].head.head);
        other[p].entry_size = reader_u64(&in);
        reader_copy(&in, other[p].open, sizeof other[p].open);
    }
    return ERR_OK;
}

/* Whether one ledger can be the same as the other, or the other without its last entry. */
static bool close_enough(const struct store_head *a, const struct store_head *b)
{
    return a->number == b->number ? memcmp(a->head, b->head, sizeof a->head) == 0
                                  : a->number + 1 == b->number || b->number + 1 == a->number;
}

#define RECOVER "stop it and run trefoil recover STUDY --key KEY --folder FOLDER"

/* Says which server is behind, and what to do. */
static void tell_behind(unsigned own_index, uint64_t own, unsigned server, uint64_t theirs,
                        struct log *log)
{
    if (own == theirs)
        log_error(
            log,
            "servers %u and %u have different privacy ledgers of %llu debits: one of them was "
            "altered, or debited for another analyst while it was alone. Compare their logs with "
            "trefoil audit; restore the wrong one from a backup, then run trefoil recover there",
            own_index, server, (unsigned long long)own);
    else
        log_error(log,
                  "the privacy ledger of server %u has %llu debits, that of server %u has %llu: "
                  "server %u was restored from an old backup. Its operator should " RECOVER,
                  own_index, (unsigned long long)own, server, (unsigned long long)theirs,
                  own < theirs ? own_index : server);
}

/* Whether the ledgers can be what a crash has left. */
static enum err compare_ledgers(unsigned i, const struct store_head *own,
                                const struct card other[2], struct log *log)
{
    for (unsigned p = 0; p < 2; p++) {
        unsigned server = net_index_of(i, (enum net_peer)p);
        if (!close_enough(own, &other[p].head)) {
            tell_behind(i, own->number, server, other[p].head.number, log);
            return ERR_MISMATCH;
        }
        if (other[p].entry_size > ENTRY_MAX)
            return log_fail(
                log, ERR_FORMAT,
                "server %u says that its last debit has %llu bytes; find out what is wrong there",
                server, (unsigned long long)other[p].entry_size);
    }
    return ERR_OK;
}

/* The debit by which neighbour `server` is ahead has to be the one that is staged here. */
static enum err is_staged(unsigned i, unsigned server, const struct store_head *own,
                          const struct store_head *theirs, const struct bytes *staged,
                          const uint8_t *entry, size_t n, struct log *log)
{
    uint8_t follows[32];
    memcpy(follows, own->head, sizeof follows);
    store_chain(entry, n, follows);
    if (n > 0 && n == staged->size && memcmp(entry, staged->data, n) == 0 &&
        memcmp(follows, theirs->head, sizeof follows) == 0)
        return ERR_OK;
    return log_fail(log, ERR_MISMATCH,
                    "server %u has made debit %llu, which server %u has not prepared: server %u "
                    "was restored from a backup, or server %u is wrong. Server %u does not take it "
                    "over by itself: its operator should " RECOVER ", which asks both neighbours",
                    server, (unsigned long long)theirs->number, i, i, server, i);
}

enum err round_ledger(struct net *net, const uint8_t open[32], const struct store_head *own,
                      const struct bytes *last, const struct bytes *staged, bool *adopt,
                      struct log *log)
{
    struct card other[2];
    uint8_t received[2][ENTRY_MAX];
    struct net_round r = {0};
    unsigned i = net_index(net);
    *adopt = false;
    TRY(exchange_cards(net, open, own, last->size, other));
    for (unsigned p = 0; p < 2; p++)
        if (memcmp(other[p].open, open, sizeof other[p].open) != 0)
            return log_fail(log, ERR_MISMATCH,
                            "server %u was asked to open another run, or in another way: the "
                            "analyst's program sends all three the same",
                            net_index_of(i, (enum net_peer)p));
    TRY(compare_ledgers(i, own, other, log));
    for (unsigned p = 0; p < 2; p++) {
        if (other[p].head.number < own->number) {
            r.send[p] = last->data;
            r.send_size[p] = last->size;
        } else if (other[p].head.number > own->number) {
            r.receive[p] = received[p];
            r.receive_size[p] = (size_t)other[p].entry_size;
        }
    }
    /* if all ledgers have the same length, all three know it */
    if (other[0].head.number != own->number || other[1].head.number != own->number)
        TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < 2; p++)
        if (other[p].head.number > own->number) {
            TRY(is_staged(i, net_index_of(i, (enum net_peer)p), own, &other[p].head, staged,
                          received[p], r.receive_size[p], log));
            *adopt = true;
        }
    return ERR_OK;
}
