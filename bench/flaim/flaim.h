/*
 * bench/flaim/flaim.h - FLAIM (Maddock, Cormode, Maple 2024), Algorithm 1: AIM as federated
 * learning, to compare with. K clients hold rows; a server keeps the model; sums go by secure
 * aggregation.
 *
 *   start   each one-way is measured over clients drawn for it, each with probability p
 *   round   clients are drawn. Each gets the model and s times selects, by an exponential mechanism
 *           of its own, the marginal that the model fits worst on its rows:
 *             u(q) = w_q (|M_q(D_k)/n_k - p_q|_1 - sqrt(2/pi) sigma cells_q / n_k - tau_k(q))
 *           (between these s it fits a local model to its noisy marginal). For every marginal that
 *           some clients selected, these add up their counts, with noise; the model is fitted
 *
 *   naive           tau = 0; sensitivity max w / n_k
 *   aug, true       tau_k(q) = |M_q(D_k)/n_k - M_q(D)/n|_1 of the real data, which is not private;
 *                   sensitivity doubled
 *   aug, private    tau_k(q) = mean over q's attributes a of |M_a(D_k)/n_k - p~_a|_1, p~ by proxy.
 *                   The round's clients also add up their one-ways, noisy, which count in the
 *                   model (combine), and one-ways cannot be selected (filter)
 *
 * p~ is the mean of the noisy one-ways so far (the paper's section 4.3 and the authors' program;
 * the default) or the model's (its Algorithm 1). The one-ways of round t are added after its
 * selections, for rounds t + 1 on; those of the start are round 1's, and the last round needs none.
 *
 * A measurement over N people counts alpha = N / sigma in the model: 1/2 (alpha (mu - y/N))^2. N is
 * the clients' (public) number of rows, or, in the private variant, the sum of the noisy counts, at
 * least 1. Repeated ones are pooled, which changes the loss by a constant. A marginal that would
 * make the model larger than `model_bytes` is measured, paid for and left out.
 *
 * Budget, r = 0.9, one client's row: sigma = sqrt((T s + d) / (2 r rho)), or, if one-ways are
 * measured each round, sqrt(T (s + d) / (2 r rho)), and eps = sqrt(8 (1 - r) rho / (T s)); the
 * ledger is debited by exactly that. As in the paper, what a client adds to its own local model
 * between its s steps is not counted again. Annealed: T0 = 8 d, sigma halves and eps doubles
 * where any marginal of the round moved the model by at most sqrt(2/pi) sigma cells, and the last
 * round takes what is left.
 *
 * To noise of variance 1 each of n clients contributes variance 1/n, in whole multiples of
 * 2^-lattice, with counts times m = floor(2^lattice / sigma): the sums fit in 32 bits.
 *
 * Randomness is consumed in this order. `coins` (random_double() < p, clients in turn, again where
 * nobody is drawn): for each one-way; then for each round. `noise`: at the start for each one-way,
 * and in a round after all selections for each marginal selected (by index), then for each one-way:
 * for each of its clients a Gaussian per cell. At a selection: a Gumbel per candidate (by index);
 * then, if steps are to come, a Gaussian per cell of what was selected.
 */
#pragma once

#include "aim/budget/ledger.h"
#include "aim/model/model.h"
#include "aim/run/plaintext.h"
#include "bench/flaim/secagg.h"
#include "bench/flaim/split.h"

#define FLAIM_MEASURE_SHARE 0.9 /* r */

enum flaim_hetero { FLAIM_NAIVE, FLAIM_TRUE, FLAIM_NOISY, FLAIM_MODEL };

struct flaim_options {
    const struct workload *workload;
    const struct flaim_split *split;
    double rho;
    unsigned rounds; /* T; annealed: not used */
    bool annealed;
    unsigned steps;       /* s; 0: 1 */
    double participation; /* p */
    enum flaim_hetero hetero;
    bool combine, filter, noisy_totals;
    uint64_t model_bytes; /* 0: AIM_MODEL_BYTES */
    unsigned fit_round, fit_final;
    struct plaintext_noise noise;
    struct random *coins;
    /* Sums by secagg_run(), each checked against addition; else plain, bytes by secagg_count(). */
    bool real_messages;
    /* Each noisy sum as it is learned, from how many clients, the N by which it counts; or NULL. */
    void (*measured)(void *self, uint32_t query, size_t clients, double people, const double *y);
    void *self;
};

/* Bytes of one client. */
struct flaim_traffic {
    uint64_t sent, received;
};

struct flaim_result {
    struct model *model;
    unsigned rounds;
    double spent;                       /* of rho */
    size_t left_out;                    /* marginals measured for which the model had no room */
    size_t taken;                       /* clients that took part at least once */
    struct flaim_traffic *paper, *wire; /* of each client: as the paper counts, as sent */
};

/* The three variants of the paper; the caller adds data, budget and randomness. */
struct flaim_options flaim_naive(void);
struct flaim_options flaim_aug_true(void);
struct flaim_options flaim_aug_private(void);

enum err flaim_run(struct flaim_result **result, const struct flaim_options *options,
                   struct log *log) MUST_CHECK;
void flaim_result_free(struct flaim_result **result);

/* That of the first round. */
double flaim_sigma(const struct flaim_options *o);
