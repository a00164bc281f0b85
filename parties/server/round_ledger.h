/*
 * parties/server/round_ledger.h - the servers compare their ledgers when a session opens.
 *
 *   all -> all   length and head of the ledger, digest of the OPEN, all servers' vouchers for
 *                the last debit (voucher.h)
 *
 * LEAKS: nothing secret; ledgers are public.
 */
#pragma once

#include "base/log.h"
#include "netio/net.h"
#include "parties/exchange/voucher.h"
#include "parties/store/store_ledger.h"

/* A server's ledger, as it brings it. */
struct round_ledger {
    const struct study *study; /* borrowed */
    struct store_head head;
    struct vouchers vouchers; /* for the last debit */
    struct bytes staged;      /* the entry that would follow, if one is staged here; borrowed */
};

/*
 * Compares ledgers, and `open`, the digest of what each was asked. A server that crashed while a
 * round was debited may lack the last entry: `*adopt` tells it to bind what is staged, with the
 * vouchers that it gets. That is so only if what is staged gives the head of each neighbour that is
 * ahead, that neighbour shows all vouchers for it, and nothing else differs. Otherwise
 * ERR_MISMATCH, logged: a server was restored from a backup, its store was tampered with, or it
 * lies.
 */
enum err round_ledger(struct net *net, const uint8_t open[32], const struct round_ledger *own,
                      bool *adopt, struct vouchers *vouchers, struct log *log) MUST_CHECK;
