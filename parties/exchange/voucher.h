/*
 * parties/exchange/voucher.h - what a server signs once it has staged a round: the head that its
 * ledger would have after the debit.
 *
 * The head stands for the whole ledger with the new entry: run, round, request, uploads, analyst,
 * what is left of the budget, and the range of noise, whose tape belongs to one session. A debit is
 * made, or taken over from a neighbour, with the vouchers of all servers: so no server makes
 * one that an honest other has not staged, and whoever has made it can show that to any other.
 * docs/protocols.md ("The ledgers agree") proves what follows.
 */
#pragma once

#include "parties/study/study.h"

/* Signatures for one debit, by the servers' indices. */
struct vouchers {
    uint8_t by[STUDY_SERVERS_MOST][IDENTITY_SIGNATURE_SIZE];
};

enum err voucher_sign(const struct study *study, const struct identity *me, const uint8_t next[32],
                      uint8_t voucher[IDENTITY_SIGNATURE_SIZE]) MUST_CHECK;
/* Whether all servers have signed the head `next`; if not, the first server that has not. */
bool vouchers_good(const struct study *study, const uint8_t next[32], const struct vouchers *v,
                   unsigned *without) MUST_CHECK;
