/*
 * parties/store/store_ledger.h - a server's privacy ledger: the rounds that it has debited, and the
 * budget that is left.
 *
 * It is a chain of entries: head_n = SHA-256(head_(n-1), entry_n). An entry is the round as it was
 * bound, and the budget after it (docs/formats.md). Opening the store checks the whole chain.
 */
#pragma once

#include "aim/budget/ledger.h"
#include "parties/exchange/request.h"
#include "parties/setting/stake.h"
#include "parties/store/store.h"

/* A round as it is bound; everything in it is public. */
struct store_round {
    uint8_t run[REQUEST_RUN_SIZE];
    uint32_t sequence;
    uint8_t request[REQUEST_DIGEST_SIZE], uploads[32];
    struct stake_place stake;
    uint8_t analyst[32]; /* whose key signed the request; zeros: bound before this was noted */
};

struct store_head {
    uint64_t number; /* of debits */
    uint8_t head[32];
};

/* The ledger as last stored, or a new one with limits `fresh`; and the chain's head. */
enum err store_ledger(struct store *store, const struct ledger_limits *fresh,
                      struct ledger **ledger, struct store_head *head) MUST_CHECK;
/* head = SHA-256(label, head, entry) */
void store_chain(const void *entry, size_t n, uint8_t head[32]);
/* How many debits there are. If there is one, the run has begun. */
enum err store_debits(struct store *store, uint64_t *count) MUST_CHECK;
/* The n-th entry, from 1 on, and the head after it. ERR_RANGE if there are fewer. */
enum err store_entry(struct store *store, uint64_t number, struct bytes *entry,
                     uint8_t head[32]) MUST_CHECK;
