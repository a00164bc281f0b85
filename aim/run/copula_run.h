/*
 * aim/run/copula_run.h - a Gaussian copula from two requests, over any backend (aim/run/backend.h).
 *
 *   round 0   all one-ways, for `share` of rho. They give p, the noisy number of rows N, and the
 *             scores t of every column (aim/copula/copula.h), cut off as the noise requires
 *             (aim/copula/copula_noise.h)
 *   round 1   the forms S_ij = sum over cells of u_i(a) u_j(b) M_ij(a, b), all pairs of columns j <
 *             i, for the rest of rho; u = round(sqrt(kappa) t), with kappa such that the rest pays.
 *             A nominal column (aim/copula/nominal.h) has a form for each group of codes; groups
 *             follow from p
 *   then      S_ij / (kappa N), less what noise is likely to have added. From that correlations,
 *             for the scores u / sqrt(kappa), so that rounding adds no bias; for nominal columns
 *             see aim/copula/copula_links.h. Last, the nearest matrix of correlations
 *
 * Like the servers, it debits a request before the request is made. A form has a deviation of
 * measure_sigma(1).
 */
#pragma once

#include "aim/copula/copula_result.h"
#include "aim/run/backend.h"
#include "aim/run/look.h"

#define COPULA_STEPS_LEAST 8 /* from 0 to the largest score: fewer would say little */

struct copula_options {
    const struct domain *domain;
    const struct workload *pairs; /* whose closure has every pair of columns */
    struct ledger_limits limits;  /* from budget_plan() */
    struct score_bounds bounds;   /* of that closure */
    double clip;                  /* the largest that may be chosen */
    double share;                 /* of rho, for the one-ways */
    struct ask_slack slack;       /* of the backend's noise, */
    enum noise_by noise_by;       /* and how far that deviates: measure_sigma() */
    struct look look;             /* taken before round 0 */
};

/* The result borrows options->domain. ERR_RANGE, logged, where the budget is too small. */
enum err copula_run(struct copula_result **result, const struct copula_options *options,
                    const struct aim_backend *backend, struct log *log) MUST_CHECK;
