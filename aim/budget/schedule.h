/*
 * aim/budget/schedule.h - how AIM spends its budget: sigma and epsilon of each round.
 *
 * First a share w of rho is for the d one-ways, sigma = sqrt(d / (2 w rho)): so much that noise
 * makes a mean error of 0.1 if there are as many rows as there can be, but at most 0.45, so that
 * they can be asked for again if the answer is lost, and at least 0.2 or, annealed, 0.1. The rest,
 * r = (1 - w) rho, is for rounds. A tenth of a round selects.
 *
 *   fixed     T rounds, all alike: sigma = sqrt(T / (2 * 0.9 r)), eps for 0.1 r / T.
 *   annealed  (McKenna et al. 2022) begins as T0 rounds would, T0 = 16 d or another number. When a
 *             measurement moved the model's marginal by no more than the sqrt(2/pi) sigma n_q that
 *             noise is expected to make, rounds cost twice as much from then on: sigma is divided
 *             by sqrt(2), eps multiplied by it. (The paper takes 2 for both, four times the cost: a
 *             few last rounds then have most of the budget.) In either case, if what remains is at
 *             most twice the next round's cost, the next round is the last and takes it all: sigma
 *             = sqrt(1 / (2 * 0.9 remaining)), eps for 0.1 remaining.
 *   sweeps    S sweeps, each of two rounds: the scores of all candidates, then a set of them. w is
 *             at least 0.15, at most 0.3. Sweep i has i / (i + ... + S) of what is left, of which
 *             its scores take a tenth. So the last takes all.
 *
 * A study that counts in zCDP has the split of the papers: a tenth of rho for selections, and one
 * sigma for one-ways and rounds, sqrt((T + d) / (2 * 0.9 rho)), or sqrt(T0 / (2 * 0.9 rho)) if
 * annealed. A selection then costs eps^2 / 8.
 *
 * rho is the budget of one row: the study's divided by k^2, for k rows a person.
 */
#pragma once

#include "aim/budget/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule {
    enum ledger_accounting accounting;
    bool annealed;
    unsigned sweeps;       /* S; 0: none */
    unsigned done;         /* rounds that have ended, not counting the one-ways */
    unsigned most;         /* rounds at most: schedule_rounds_most(), or 2 S */
    bool last;             /* the next round is the last */
    bool finished;         /* there is no next round */
    double alone;          /* sigma of the one-ways */
    double sigma, epsilon; /* of the next round; of sweeps, sigma of the one-ways */
};

/*
 * The most rounds of a run: T, or T0 if annealed, since each costs at least rho / T0. A run
 * measures at most that many marginals and the one-ways, and ledgers must provide for them.
 */
unsigned schedule_rounds_most(size_t one_ways, unsigned rounds, bool annealed);

/*
 * `rounds` is T, or T0 if annealed: 0 stands for 16 d, and 2 d is the least. T = 0 measures the
 * one-ways alone, with all of rho.
 */
struct schedule_terms {
    enum ledger_accounting accounting;
    bool annealed;
    unsigned rounds;
    size_t one_ways;
    uint64_t cells;  /* of the one-ways together */
    uint64_t rows;   /* the most that there can be; 0: few */
    unsigned sweeps; /* in place of rounds, unless 0 */
};

struct schedule schedule_start(const struct schedule_terms *t, double rho);

/* Whether the next round of a sweep opens scores; what it takes of the rho that remains. */
bool schedule_scores(const struct schedule *s);
double schedule_sweep_rho(const struct schedule *s, double remaining);
/*
 * What such a run may spend, if it begins with this schedule: on the scores of its first sweep, the
 * least of all, and at most on any scores and on any set. And the deviation of what the last set
 * measures, if it has SCHEDULE_SET marginals for each attribute, all alike: it has 1 to 2.5 of them
 * on the tables of bench_pgm.
 */
#define SCHEDULE_SET 2
struct schedule_sweep {
    double first_scores, most_scores, most_set, sigma;
};
struct schedule_sweep schedule_sweep(const struct schedule *start, size_t one_ways, double rho);
/*
 * Whether scores that get this rho are opened of pairs and single columns alone, `few` of all the
 * candidates: if these are at most half of them, and the scores of all would have noise of more
 * than SCHEDULE_CLEAR of the rows.
 */
#define SCHEDULE_CLEAR 0.03
bool schedule_pairs_alone(uint64_t all, uint64_t few, double rho, double rows);
/* After such a round. */
void schedule_swept(struct schedule *s);

/* The largest epsilon that a round may have in a run that begins with this schedule. */
double schedule_epsilon_most(const struct schedule *start);

/* After a round: `moved` is the L1 change of the measured marginal's n_q = `cells` counts. */
void schedule_next(struct schedule *s, double moved, uint64_t cells, double remaining);

/* Whether `moved` is no more than noise, which makes rounds dearer. */
bool schedule_is_noise(double moved, double sigma, uint64_t cells);
