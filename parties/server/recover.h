/*
 * parties/server/recover.h - a server that was restored from an old backup is brought up to date by
 * its two neighbours.
 *
 *   it -> both   number of a debit                         over CURVE, to their gates
 *   both -> it   how many there are; the ledger's entry, the head after it, what the round opened
 *
 * What is taken over: only what both neighbours give alike, one debit after the other; each entry
 * must follow this server's own chain and give the neighbours' head, have the same limits, and give
 * no budget back (store_adopt()). So one neighbour that lies can change nothing, and both together
 * can only use budget up. Values that were opened are taken where both have the same; they are
 * public. Shares of noise are not, and nobody is asked for any: a round that was bound and not
 * opened is lost, and stays debited. Uploads are not taken either: owners share again.
 */
#ifndef TREFOIL_PARTIES_SERVER_RECOVER_H
#define TREFOIL_PARTIES_SERVER_RECOVER_H

#include "netio/context.h"
#include "parties/store/store_rounds.h"

/* A neighbour's question, answered from this server's store. ERR_FORMAT for what is none. */
enum err recover_answer(struct store *store, const void *question, size_t n,
                        struct bytes *answer) MUST_CHECK;

struct recover_terms {
    const struct study *study;
    const struct identity *me;
    unsigned index;
    struct store *store;
    struct netio *netio;
    struct log *log;
};

/*
 * Takes over what this server's ledger lacks, debits *from + 1 to *to, one by one; again goes on.
 * ERR_MISMATCH, logged, where ledgers have different pasts.
 */
enum err recover_ledger(const struct recover_terms *terms, uint64_t *from, uint64_t *to) MUST_CHECK;

#endif
