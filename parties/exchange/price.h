/*
 * parties/exchange/price.h - what a run of a study may spend: its ledger, the slack of its noise,
 * how much noise.
 *
 * All from the study alone: servers, analysts and anybody else compute the same numbers.
 */
#pragma once

#include "aim/budget/schedule.h"
#include "aim/run/look.h"
#include "parties/study/study.h"

/*
 * Slack of the noise circuits, in the ledger's units; from protocols/ and mpc/circuits/argmax.h.
 *
 * For small epsilons it is measured in total variation: a term tau costs (1 + e^eps) tau. If that
 * is too much for the study's delta, the noise is compared by ratios: they cost more epsilon, but
 * delta only for values that are never made.
 */
struct ask_slack price_slack(const struct study *study);
/* The slack as total variation, as ratios, and of two servers; price_slack() chooses. */
struct ask_slack price_by_variation(const struct study *study);
struct ask_slack price_by_ratio(const struct study *study);
struct ask_slack price_of_two(const struct study *study);

/*
 * Of encrypted rows, what the keeper decrypts (mpc/lattice/lattice.h): a delta for the study, which
 * no request spends. The provider hides an upload's results so many times at most.
 */
#define PRICE_COUNTINGS 8
double price_rows_slack(const struct study *study);

/* The largest epsilon whose slack leaves enough of the study's delta; 0 if there is none. */
double price_epsilon_limit(const struct study *study);
/* The least for which the circuits can make the noise that a whole run begins with; 0 likewise. */
double price_epsilon_least(const struct study *study);
/* ERR_STUDY, logged, for an epsilon below that, or if there is none. */
enum err price_check_noise(const struct study *study, struct log *log) MUST_CHECK;
/* The ledger that the study's promise allows, or what study->left says is left of it. */
enum err price_limits(const struct study *study, struct ledger_limits *limits,
                      struct log *log) MUST_CHECK;
/* The look that a run takes before round 0: none without min_linked, or with what others left. */
enum err price_look(const struct study *study, const struct ledger_limits *limits,
                    struct look *look, struct log *log) MUST_CHECK;
/* Takes off the limits what is set aside to assess the model, if anything, and returns it. */
double price_reserve(const struct study *study, struct ledger_limits *limits);
/* The multipliers of what a run asks first: its look, 0 if there is none; then all one-ways. */
struct price_first {
    uint64_t look, one_ways;
};
enum err price_first(const struct study *study, struct price_first *first) MUST_CHECK;
/*
 * The steps that a classifier's run takes, and what one row has for all of them. What the study's
 * noise may cost beyond the theorem's is set aside for its steps, so a run to which earlier ones
 * left a part of the budget takes as many as that part has of them. ERR_BUDGET, logged: none.
 */
struct price_steps {
    unsigned steps;
    double rho, sigma; /* of a test's counts, if there is one */
};
enum err price_steps(const struct study *study, struct price_steps *steps,
                     struct log *log) MUST_CHECK;
/* In a study with sweeps: sigmas of scores, and the least of a measured set. */
struct price_sweep {
    double most_sigma, least_sigma, least_sigma_of_set;
};
enum err price_sweep(const struct study *study, struct price_sweep *sweep) MUST_CHECK;
/* What a run of AIM begins with; an error, not logged, if price_limits() or a look has one. */
enum err price_schedule(const struct study *study, struct schedule *start) MUST_CHECK;

/*
 * The noise that a run may take: Gaussians for the one-ways and for the largest marginal in each
 * round, Gumbels for all candidates. An annealed study needs it for all rounds that it may have; a
 * copula needs Gaussians for the one-ways and the forms, a classifier for the target, all steps and
 * a test. A sweep needs one for each score, and about PRICE_SET times as many as the one-ways for
 * its set: noise decides how large that gets, and a run that takes more has more made.
 */
#define PRICE_SET 16
struct price_noise {
    uint64_t gauss, gumbel;
};
struct price_noise price_noise(const struct study *study);

/*
 * The same as blocks that servers make before a run (parties/settings/three/ahead.h). A block has
 * about an eighth of that noise, and at most PRICE_AHEAD_MOST samples. There are at most
 * PRICE_AHEAD_BLOCKS blocks of a kind: 16 MiB of shares of each kind at each server. What an owner
 * sends whenever it shares (noise_by: owner) is one block more, for a session that is cut.
 */
#define PRICE_AHEAD_MOST 16384
#define PRICE_AHEAD_BLOCKS 64
#define PRICE_AHEAD_NAME 16 /* bytes of a block's name */
struct price_ahead {
    size_t samples[NOISE_LAWS], blocks[NOISE_LAWS];
};
struct price_ahead price_ahead(const struct study *study);
