/*
 * parties/exchange/price.h - what a run of a study may spend: its ledger, the slack of its noise,
 * how much noise.
 *
 * From the study alone: servers, analysts and who only asks come to the same numbers.
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_PRICE_H
#define TREFOIL_PARTIES_EXCHANGE_PRICE_H

#include "aim/ledger.h"
#include "parties/study/study.h"
#include "protocols/tape.h"

/* How the study's noise is made. */
enum tape_noise price_tape_noise(const struct study *study);

/* Slack of the noise circuits, in the ledger's units; from protocols/ and mpc/argmax.h. */
double price_marginal_slack(const struct study *study);
double price_select_slack(const struct study *study);
/* delta of measured marginals; of a selection among so many candidates. */
double price_measure_delta(const struct study *study, double marginals);
double price_select_delta(const struct study *study, double candidates);
/* The largest epsilon for which that leaves enough of the study's delta; 0 if there is none. */
double price_epsilon_limit(const struct study *study);
/* The ledger that the study's promise allows. */
enum err price_limits(const struct study *study, struct ledger_limits *limits,
                      struct log *log) MUST_CHECK;

/*
 * Noise that a run may take: Gaussians for the one-ways and a largest marginal each round, Gumbels
 * for all candidates. Of an annealed study for all rounds that it may have.
 */
struct price_noise {
    uint64_t gauss, gumbel;
};
struct price_noise price_noise(const struct study *study);

#endif
