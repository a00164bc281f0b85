/*
 * bench/rivals.h - what a classifier of bench_train is compared with, on the same features.
 *
 *   RIVAL_CENTRAL  a curator's softmax regression: gradients of rows cut to a length of 1, full
 *                  batches, momentum .9, the mean of the last quarter of the steps
 *   RIVAL_SGD      five owners who each cut, sum and add noise of their own to every gradient
 *   RIVAL_AVG      five owners who each take five such steps alone, and then average
 *
 * Owners have two classes each, or with two classes every fifth row. Each run costs the rho that it
 * is given; a row's own gradient is a row's whole influence.
 */
#pragma once

#include "aim/table/table.h"
#include "aim/train/features.h"

enum rival { RIVAL_CENTRAL, RIVAL_SGD, RIVAL_AVG };

struct rival_run {
    const struct features *features;
    const struct table *train, *test;
    enum rival kind;
    unsigned steps;
    double rate, rho;
    uint64_t seed;
};

/* How often it is right about the test rows, and the AUC if there are two classes, else NAN. */
enum err rival_measure(const struct rival_run *run, double *accuracy, double *auc) MUST_CHECK;

/*
 * The AUC of naive Bayes from noisy tables of the target with every other column: what AIM's
 * servers open as well.
 */
enum err rival_pairs(const struct features *f, const struct table *train, const struct table *test,
                     double rho, uint64_t seed, double *auc) MUST_CHECK;

/* The area under the curve of scores; `second` says which rows are of the second class. */
double rival_area(const double *score, const bool *second, size_t rows);
