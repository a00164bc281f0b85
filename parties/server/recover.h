/*
 * parties/server/recover.h - how two neighbours bring a server up to date that was restored from an
 * old backup.
 *
 *   it -> both   number of a debit                         over CURVE, to their gates
 *   both -> it   how many there are; the ledger's entry, the head after it, what the round opened
 *
 * The server takes over only what both neighbours give alike, one debit after the other. Each entry
 * must follow this server's own chain and give the neighbours' head, have the same limits, and give
 * no budget back (store_adopt()). So one neighbour that lies can change nothing, and both together
 * can only use budget up. Opened values are taken over if both have the same; they are public.
 * Shares of noise are not public, and nobody is asked for any: a round that was bound and not
 * opened is lost, and stays debited. Uploads are not taken over either: owners share again.
 *
 * Before that, a last debit is dropped that neither neighbour has made, if its round is bound here,
 * nothing of it was opened here, and all debits before it are the neighbours' too. That gives back
 * only what this server has sent no part of an opening for, even if both lie. Of two servers
 * neither drops anything: each takes over what the other has.
 */
#pragma once

#include "netio/context.h"
#include "parties/audit/audit.h"
#include "parties/store/store_rounds.h"

/* Answers a neighbour's question from this server's store. ERR_FORMAT if it is not a question. */
enum err recover_answer(struct store *store, const void *question, size_t n,
                        struct bytes *answer) MUST_CHECK;

struct recover_terms {
    const struct study *study;
    const struct identity *me;
    unsigned index;
    struct store *store;
    struct audit *audit;
    struct netio *netio;
    struct log *log;
};

/*
 * Takes over what this server's ledger lacks, debits *from + 1 to *to, one by one; another call
 * goes on from there. ERR_MISMATCH, logged, if the ledgers have different pasts.
 */
enum err recover_ledger(const struct recover_terms *terms, uint64_t *from, uint64_t *to) MUST_CHECK;
