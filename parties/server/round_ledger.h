/*
 * parties/server/round_ledger.h - the three servers compare their ledgers when a session opens.
 *
 *   all -> all   length and head of the ledger, size of its last entry, digest of the OPEN
 *   one -> one   the last entry, to a server that lacks only that one
 *
 * LEAKS: nothing secret; ledgers are public.
 */
#ifndef TREFOIL_PARTIES_SERVER_ROUND_LEDGER_H
#define TREFOIL_PARTIES_SERVER_ROUND_LEDGER_H

#include "base/log.h"
#include "netio/net.h"
#include "parties/store/store_ledger.h"

/*
 * Compares ledgers, and `open`, the digest of what each was asked. `last` is the last entry of this
 * server's ledger, `staged` the one that would follow it here. A server that crashed while a round
 * was debited may lack the last entry: `*adopt` tells it to bind what is staged. That is so only if
 * the neighbours that are ahead have that very entry, and nothing else differs. Otherwise
 * ERR_MISMATCH, logged: a server was restored from a backup, or its store was tampered with.
 */
enum err round_ledger(struct net *net, const uint8_t open[32], const struct store_head *own,
                      const struct bytes *last, const struct bytes *staged, bool *adopt,
                      struct log *log) MUST_CHECK;

#endif
