/*
 * aim/loop.h - AIM with a fixed number of rounds (McKenna et al. 2022), over any backend.
 *
 *   round 0      measure all one-ways
 *   round 1..T   estimate every candidate from the model, select the one that the model fits worst,
 *                measure it, fit the model again
 *
 * All measurements have sigma = sqrt((T + d) / (2 * 0.9 rho)), every selection has
 * eps = sqrt(8 * 0.1 rho / T) less the slack of the backend's selection, rho already divided by
 * k^2 for k rows a person. The loop keeps a ledger of its own and debits it as servers do theirs,
 * before it asks.
 *
 * A candidate is any query of the workload's closure (one-ways included) that lies in the model's
 * tree, or with which the tree would take at most (rho used / rho) of `model_bytes`. Queries whose
 * estimate would need a larger table than that are left out as well.
 *
 * Everything here follows from public values and what the backend opened: the same opened values
 * give the same requests.
 */
#ifndef TREFOIL_AIM_LOOP_H
#define TREFOIL_AIM_LOOP_H

#include "aim/backend.h"
#include "aim/budget.h"
#include "aim/model.h"
#include "aim/score.h"

#define AIM_MODEL_BYTES (UINT64_C(80) << 20)
#define AIM_FIT_ROUND 100
#define AIM_FIT_FINAL 1000
#define AIM_NO_QUERY UINT32_MAX

struct aim_round {
    unsigned round;
    uint32_t query;        /* selected and measured; AIM_NO_QUERY in round 0 */
    const char *name;      /* of the query; "all one-ways" in round 0. Valid during the callback */
    double sigma, epsilon; /* epsilon 0 in round 0 */
    size_t candidates;
    double loss;          /* after the fit */
    double cost;          /* zCDP of this round, k^2 included */
    double spent;         /* of rho, after this round */
    double total;         /* estimated rows */
    uint64_t model_cells; /* after the fit */
};

struct aim_options {
    const struct domain *domain;
    const struct workload *workload;
    struct ledger_limits limits; /* from budget_plan() */
    unsigned rounds;             /* T */
    struct score_bounds bounds;
    double select_slack;  /* epsilon of one selection: 8 eta of the backend's Gumbel circuit */
    double measure_slack; /* epsilon of one measured marginal, debited to the slack ledger */
    uint64_t model_bytes; /* 0: AIM_MODEL_BYTES */
    unsigned fit_round;   /* iterations after each round; 0: AIM_FIT_ROUND */
    unsigned fit_final;   /* iterations at the end; 0: AIM_FIT_FINAL */
    enum fit_method fit;  /* 0: FIT_FAST */
    void (*progress)(void *self, const struct aim_round *round); /* may be NULL */
    void *self;
};

struct aim_result {
    size_t measurements; /* the d one-ways, then one a round */
    struct measurement *measurement;
    uint32_t *query; /* closure index of each measurement */
    size_t rounds;   /* T + 1 records */
    struct aim_round *round;
    double loss; /* after the final fit */
    struct model *model;
};

/* The values that a run with these options uses: for `trefoil plan` and for servers' tests. */
double aim_sigma(const struct aim_options *o);
double aim_epsilon(const struct aim_options *o); /* slack already taken off; 0 if T is 0 */

/* The result borrows options->domain and options->workload. */
enum err aim_run(struct aim_result **result, const struct aim_options *options,
                 const struct aim_backend *backend, struct log *log) MUST_CHECK;
void aim_result_free(struct aim_result **result);

#endif
