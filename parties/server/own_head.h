/* parties/server/own_head.h - what this server signs of its ledger: parties/exchange/head.h. */
#ifndef TREFOIL_PARTIES_SERVER_OWN_HEAD_H
#define TREFOIL_PARTIES_SERVER_OWN_HEAD_H

#include "parties/audit/audit.h"
#include "parties/exchange/head.h"
#include "parties/store/store_ledger.h"

/* All borrowed. */
struct own_head {
    const struct study *study;
    const struct identity *me;
    unsigned index;
    struct store *store;
    struct audit *audit;
};

/* For one who has seen so many debits of it; from any thread. */
enum err own_head(const struct own_head *own, uint64_t seen, struct head *head) MUST_CHECK;

#endif
