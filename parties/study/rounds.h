/*
 * parties/study/rounds.h - how many rounds AIM should have, as far as a study can tell.
 *
 * More rounds measure more marginals, each with more noise. The mean error of a pair of columns is
 * assumed to be
 *
 *   U exp(-rounds / (R columns)) + 1/4 noise / (1 + noise / 2)
 *
 * where noise is the L1 noise of a measured pair. A model keeps a quarter of it, as its counts are
 * not negative and agree; and no error is above 2.
 * U is the error if columns are treated as independent, from 0.05 to 0.5; R says how soon rounds
 * find the columns that depend on each other, from 0.6 (a chain of columns) to 1.2 (many on many).
 * Both depend on the data, so there is no one best number, but a smallest and a largest that may
 * be best. The figures were chosen on six tables: docs/results.md compares the advice for each
 * with actual runs.
 */
#ifndef TREFOIL_PARTIES_STUDY_ROUNDS_H
#define TREFOIL_PARTIES_STUDY_ROUNDS_H

#include "aim/workload/workload.h"

#include <stdbool.h>
#include <stddef.h>

struct rounds_advice {
    unsigned least, about, most; /* of rounds; `about` is the geometric mean */
};

struct rounds_noise {
    /* The mean L1 noise of a pair with this many rounds; false: no run has so many. */
    bool (*of)(const void *self, unsigned rounds, double *noise);
    const void *self;
};

/* False if there is no advice: the budget allows no number of rounds. */
bool rounds_advise(struct rounds_advice *advice, const struct rounds_noise *noise, size_t columns);

/*
 * Whether `rounds: sweeps` should do better than annealed rounds, for a budget of rho of one row.
 * Sweeps choose from scores that all have noise, so that they need rows that outweigh it, or so
 * many columns that one marginal at a time is too slow. Scores of more than three columns mislead
 * them. Annealed rounds do no worse than a fixed number of them on all tables that were measured.
 * What columns of the data have to do with each other cannot be known: where all depend on all,
 * sweeps are worse in spite of this (docs/results.md).
 */
bool rounds_sweeps_better(const struct workload *w, double rows, double rho);

#endif
