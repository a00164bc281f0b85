/*
 * aim/run/assess.h - how far a run's model is from the rows: noisy distances that it opens at the
 * end, of pairs of columns that it measured and of all others.
 *
 * A part of the budget is set aside for it, which nothing else can spend. Half of that pays for the
 * distances of the model (ASK_SCORES, aim/run/ask.h), the other half for those of independent
 * columns: the product of what the model says of each column alone. Candidates are all pairs of the
 * workload's closure over every code, so that their mean is no sample. The mean of n distances has
 * noise of sigma / sqrt(n), and nothing else is uncertain about it: these rows, this model.
 */
#pragma once

#include "aim/workload/workload.h"
#include "base/bytes.h"

struct assess {
    double sigma; /* of each distance, in rows */
    double total; /* the model's number of rows */
    double cost;  /* rho that it took, k^2 included */
    size_t pairs;
    struct clique *pair;
    bool *measured; /* a measured marginal holds it */
    double *off;    /* in rows: the sum of |model - rows| over its cells, with noise */
    double *alone;  /* the same of independent columns; NULL if there was no budget left for it */
};

/* Means over pairs, as shares of the rows: 0 alike, 2 nothing in common. */
struct assess_mean {
    size_t pairs;
    double error, alone; /* alone: NAN if it is not known */
    double deviation;    /* of the noise in either */
};
enum assess_which { ASSESS_HELD_OUT, ASSESS_MEASURED, ASSESS_ALL };
struct assess_mean assess_mean(const struct assess *a, enum assess_which which);
#define ASSESS_BAND 1.96 /* deviations to either side, for 95 % */
/* How many pairs of columns a workload has. */
size_t assess_pairs(const struct workload *w);
/* The deviation of a mean over all pairs that this much of one row's rho buys, in rows. */
double assess_deviation(double rho);

/* Room for so many pairs, but for `alone`. */
enum err assess_new(struct assess **a, size_t pairs) MUST_CHECK;
void assess_free(struct assess **a);

void assess_write(const struct assess *a, struct bytes *out);
/* ERR_FORMAT unless assess_write() wrote it for this domain. */
enum err assess_read(struct assess **a, const struct domain *d, struct reader *r) MUST_CHECK;
