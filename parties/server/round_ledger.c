#include "parties/server/round_ledger.h"

#include "parties/server/round.h"
#include "parties/study/study_setting.h"

#include <string.h>

struct ledger_card {
    struct store_head head;
    uint8_t open[32];
    struct vouchers vouchers;
};

#define CARD_SIZE (8 + 32 + 32 + sizeof(struct vouchers))

static enum err exchange_cards(struct net *net, const uint8_t open[32],
                               const struct round_ledger *ledger, struct ledger_card other[2])
{
    uint8_t own[CARD_SIZE], came[2][CARD_SIZE], *to = integer_put(own, ledger->head.number, 8);
    memcpy(to, ledger->head.head, 32);
    memcpy(to + 32, open, 32);
    memcpy(to + 64, &ledger->vouchers, sizeof ledger->vouchers);
    TRY(round_broadcast(net, own, sizeof own, came[NET_PREV], came[NET_NEXT]));
    for (unsigned p = 0; p + 1 < net_servers(net); p++) {
        struct reader in = reader_of(came[p], CARD_SIZE);
        other[p].head.number = reader_u64(&in);
        reader_copy(&in, other[p].head.head, sizeof other[p].head.head);
        reader_copy(&in, other[p].open, sizeof other[p].open);
        reader_copy(&in, &other[p].vouchers, sizeof other[p].vouchers);
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
            "altered, or lies. Compare their logs with trefoil audit. For a last debit that nobody "
            "else has, stop its server and run trefoil recover STUDY --key KEY --folder FOLDER "
            "there; otherwise restore the wrong one from a backup, then run trefoil recover there",
            own_index, server, (unsigned long long)own);
    else
        log_error(log,
                  "the privacy ledger of server %u has %llu debits, that of server %u has %llu: "
                  "server %u was restored from an old backup. Its operator should " RECOVER,
                  own_index, (unsigned long long)own, server, (unsigned long long)theirs,
                  own < theirs ? own_index : server);
}

/* Whether the ledgers can be what a crash has left. */
static enum err compare_ledgers(const struct net *net, const struct store_head *own,
                                const struct ledger_card other[2], struct log *log)
{
    for (unsigned p = 0; p + 1 < net_servers(net); p++) {
        unsigned server = net_neighbour(net, (enum net_peer)p);
        if (!close_enough(own, &other[p].head)) {
            tell_behind(net_index(net), own->number, server, other[p].head.number, log);
            return ERR_MISMATCH;
        }
    }
    return ERR_OK;
}

/* The debit by which neighbour `server` is ahead has to be the one that all three have staged. */
static enum err all_staged(const struct round_ledger *own, unsigned i, unsigned server,
                           const struct ledger_card *theirs, struct log *log)
{
    const unsigned long long number = theirs->head.number;
    uint8_t next[32];
    unsigned without;
    memcpy(next, own->head.head, sizeof next);
    store_chain(own->staged.data, own->staged.size, next);
    if (own->staged.size == 0 || memcmp(next, theirs->head.head, sizeof next) != 0)
        return log_fail(
            log, ERR_MISMATCH,
            "server %u has made debit %llu, which server %u has not prepared: server %u was "
            "restored from a backup, or server %u is wrong. Server %u does not take it over by "
            "itself. The operator of either should " RECOVER ", which asks %s",
            server, number, i, i, server, i, study_setting(own->study)->neighbours);
    if (!vouchers_good(own->study, next, &theirs->vouchers, &without))
        return log_fail(
            log, ERR_MISMATCH,
            "server %u says that it has made debit %llu, but does not show that server %u had "
            "prepared it. Server %u does not take it over. The operator of either should " RECOVER
            ", which asks %s",
            server, number, without, i, study_setting(own->study)->neighbours);
    return ERR_OK;
}

enum err round_ledger(struct net *net, const uint8_t open[32], const struct round_ledger *own,
                      bool *adopt, struct vouchers *vouchers, struct log *log)
{
    struct ledger_card other[2];
    unsigned i = net_index(net);
    *adopt = false;
    TRY(exchange_cards(net, open, own, other));
    for (unsigned p = 0; p + 1 < net_servers(net); p++)
        if (memcmp(other[p].open, open, sizeof other[p].open) != 0)
            return log_fail(log, ERR_MISMATCH,
                            "server %u was asked to open another run, or in another way: the "
                            "analyst's program sends all servers the same",
                            net_neighbour(net, (enum net_peer)p));
    TRY(compare_ledgers(net, &own->head, other, log));
    for (unsigned p = 0; p + 1 < net_servers(net); p++)
        if (other[p].head.number > own->head.number) {
            TRY(all_staged(own, i, net_neighbour(net, (enum net_peer)p), &other[p], log));
            *vouchers = other[p].vouchers;
            *adopt = true;
        }
    return ERR_OK;
}
