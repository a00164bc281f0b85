/*
 * bench/adapt.h - the experiment of ADAPT (Wang and others, ICDE 2025): analytic questions about
 * the rows of four owners, at epsilon 1 and 10.
 *
 * Every fifth row tests; the others are dealt to the owners in stretches, as they come. There are
 * 500 conditions on one column and 500 on 2 to 5 together, each a range between two values that
 * rows have, which at least a thousandth of the rows meet. Each is asked for COUNT, SUM, AVG and
 * VARIANCE of a column, unless a relative error says nothing there. Answers are compared with those
 * of the rows themselves. The answers come from
 *
 *   ours        one model: the owners send counts to three servers, as processes
 *   federated   a model of each owner, made with the same budget and noise of its own; counts, sums
 *               and sums of squares are added
 *   curator     one model of all rows, in the clear
 *   bins        exact counts of all rows' bins: what no model of these bins can be much better than
 *
 * The JSON has METHOD.epsilonE.SET_QUANTILE, the median, p95 and p99 of relative errors, means over
 * the runs, and .._se, their standard error. A SET is an aggregate, for one range, or and_AGGREGATE
 * for several; one, and, and all have all aggregates together. METHOD.epsilonE.loglik is the mean
 * log-likelihood of the test rows as `trefoil eval` has it (federated: of the owners' models mixed
 * by their rows), also with _se. And for each epsilon there is loglik_gap_epsilonE, how far ours is
 * below the curator's; all_not_below_epsilonE, at how many of the three quantiles of all errors
 * ours is not below federated; and not_below_epsilonE, the same of the 24 of aggregates.
 */
#pragma once

#include "base/log.h"

#include <jansson.h>
#include <stdbool.h>

struct adapt_plan {
    const char *domain, *workload; /* as in a study file */
    const char *rows;              /* a CSV file */
    double delta;
    unsigned runs;
    bool smoke;
};

enum err adapt_measure(json_t *out, const struct adapt_plan *plan, struct log *log) MUST_CHECK;
