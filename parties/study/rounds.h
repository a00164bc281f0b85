/*
 * parties/study/rounds.h - how many rounds AIM should have, as far as a study tells.
 *
 * More rounds measure more marginals, each with more noise. The mean error of a pair of columns is
 * taken to be
 *
 *   U exp(-rounds / (R columns)) + 1/4 noise / (1 + noise / 2)
 *
 * where noise is the L1 noise of a measured pair, of which a model keeps a quarter, as its counts
 * are not negative and agree; and no error is above 2.
 * U is the error of columns taken as independent, from 0.05 to 0.5; R says how soon rounds come
 * upon what depends, from 0.6 (a chain of columns) to 1.2 (many of many). Both are of the data, so
 * there is no best number, but a least and a largest that may be it. The figures were chosen on
 * six tables: docs/results.md has what they say of each beside what comes out.
 */
#ifndef TREFOIL_PARTIES_STUDY_ROUNDS_H
#define TREFOIL_PARTIES_STUDY_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

struct rounds_advice {
    unsigned least, about, most; /* of rounds; `about` is the geometric mean */
};

struct rounds_noise {
    /* The mean L1 noise of a pair with so many rounds; false: no run has so many. */
    bool (*of)(const void *self, unsigned rounds, double *noise);
    const void *self;
};

/* False where nothing can be said: no number of rounds goes with the budget. */
bool rounds_advise(struct rounds_advice *advice, const struct rounds_noise *noise, size_t columns);

#endif
