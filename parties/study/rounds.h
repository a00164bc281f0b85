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
#pragma once

#include "aim/budget/ledger.h"
#include "aim/workload/workload.h"
#include "base/words.h"

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
 * What `rounds: auto` stands for: the kind of rounds that should do better, judged from what is
 * public. With noise = sqrt(C / (2 rho_s)) / rows, the deviation of the first scores of C marginals
 * that get rho_s (aim/budget/schedule.h: C may be pairs alone), as a share of the rows:
 *
 *   annealed   if a marginal of the workload has more than 3 columns, or noise is above 0.5 and
 *              there are more than 1000 marginals
 *   sweeps 5   else, if noise is at most 0.01, with a model of 40 MiB instead of 8 if there are
 *              at most 1000 marginals
 *   sweeps 4   else, if noise is at most 0.02, with such a model
 *   sweeps 2   else, if noise is at most 0.05
 *   sweeps 1   else
 *
 * Scores of marginals of many columns mislead sweeps. Where noise is small, looking again pays, and
 * so does a larger model. What columns have to do with each other cannot be known: docs/results.md
 * has the tables on which this does worse than annealed rounds.
 *
 * Never one that the study cannot have: sweeps need score l1, slack for all their scores, sums that
 * fit into 63 bits, and noise that the circuits make; annealed rounds an epsilon that is not lost
 * in the slack of a selection. If neither can be had it is 10 rounds.
 *
 * The rule is part of a study's terms, which have its outcome. So it stays as it is: a better one
 * needs another word than `auto`.
 */
struct rounds_terms {
    const struct workload *workload;
    double rows, rows_most; /* as expected, and the most that there can be */
    double epsilon, rho;    /* of one row: the study's over k and over k^2 */
    enum ledger_accounting accounting;
    bool l1;    /* the score */
    bool exact; /* the noise (base/noise.h) */
};

struct rounds_choice {
    unsigned sweeps, mib; /* and the model's most; else 0 */
    bool annealed;
    unsigned rounds;   /* if neither */
    double noise;      /* of the first scores, as a share of the rows */
    const char *cause; /* "since ..", in words */
};

struct rounds_choice rounds_choose(const struct rounds_terms *terms);

/* "sweeps 4", "annealed" or "10". */
struct words_text rounds_word(const struct rounds_choice *choice);
