/*
 * aim/backend.h - where the public mathematics meets the data.
 *
 * The AIM loop (aim/loop.h) never sees a record. It asks a backend to measure marginals with noise,
 * and to select the candidate that the model fits worst. There are two: plaintext (aim/plaintext.h:
 * central AIM, which trusts its curator and is the reference in tests) and three servers
 * (parties/analyst/remote.h). Given the same noise, both return the same integers, bit for bit,
 * because all of this is integer arithmetic on a stated grid:
 *
 *   measure  sigma asks for m = measure_multiplier(sigma) = floor(2^20 / sigma). The backend opens
 *            value_j = m x_j + z_j, z_j unit Gaussians on the lattice 2^-20, each given as its
 *            integer multiple of 2^-20. The noisy count is value_j / m. A marginal costs m^2 / 2^41
 *            zCDP. m < 2^8 is refused.
 *   select   Estimates c_j are integers on the grid 2^-10. The score of q is an integer:
 *            s_q = sum_j |2^10 x_j - c_j| - penalty_q or, where the study asks for squares,
 *            sum_j (x_j - round(2^-10 c_j))^2 - penalty_q (select_score()). The backend opens the
 *            lowest argmax of m_q s_q + 2^(f-24) g_q, with g_q a Gumbel sample on the grid 2^-24
 *            and f, m_q and penalty_q from select_plan(). It costs (eps + slack)^2 / 8 zCDP; the
 *            slack covers the error of the backend's Gumbel circuit. The same request measures
 *            what was selected: one exchange with the servers a round.
 *   forms    The public integers u_i(a) are factors, one for each code of each column. For every
 *            two columns i < j, and every group of codes of each, the backend opens the sum of
 *            u_i u_j over the rows in both groups, plus z as above (aim/forms.h). All together
 *            cost Delta^2 / 2^41 zCDP, where Delta^2 is the sum over i < j of
 *            max u_i^2 max u_j^2: the most by which one row can move them, squared.
 */
#ifndef TREFOIL_AIM_BACKEND_H
#define TREFOIL_AIM_BACKEND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AIM_GAUSS_BITS 20    /* lattice of unit Gaussians: 2^-20 */
#define AIM_GUMBEL_BITS 24   /* lattice of Gumbels: 2^-24 */
#define AIM_ESTIMATE_BITS 10 /* grid of estimates: 2^-10 */

/*
 * Marginals are named by their index in the closure of the workload (aim/workload.h). `merges` is
 * NULL in round 0. Where a request has it, its cells are merged ones (aim/merge.h), and so are the
 * cells meant above.
 */
struct merges;

/* How badly the model fits: the sum of |x_j - c_j|, or of (x_j - C_j)^2, with C_j = c_j rounded. */
enum aim_score { AIM_L1, AIM_L2 };

struct aim_measure {
    unsigned round; /* 0: the one-ways */
    size_t queries;
    const uint32_t *query; /* `queries` closure indices */
    uint64_t multiplier;   /* m: the same for the whole batch */
    const struct merges *merges;
    int64_t *values;      /* out: the cells of one query after the other, row-major */
    uint64_t *population; /* out, 0 before: the number of the set of rows, if it grows */
    unsigned *lost;       /* out, 0 before: how often the request was debited in vain */
};

struct aim_select {
    unsigned round;
    double epsilon; /* eps_t: debited, with the slack, to the ledger */
    double sigma;   /* sigma_t, from which the servers recompute the penalties */
    enum aim_score score;
    unsigned shift; /* f, 24 .. 40 */
    const struct merges *merges;
    size_t candidates;
    const uint32_t *query;    /* of each candidate */
    const uint64_t *scale;    /* m_q of each */
    const uint64_t *penalty;  /* penalty_q of each, on the score's grid */
    size_t estimates;         /* cells of all candidates */
    const uint64_t *estimate; /* their c_j, one candidate after the other, on the grid 2^-10 */
    size_t selected;          /* out: index of the candidate */
    /* Of what was selected, as in struct aim_measure; `values` has room for the largest candidate.
     * With a multiplier of 0 nothing is measured. */
    uint64_t multiplier;
    int64_t *values;
    uint64_t *population;
    unsigned *lost;
    /* The rest of the round before, for a backend that `keeps` requests to call while others work
     * on this one. */
    enum err (*meanwhile)(void *loop);
    void *loop;
};

struct aim_forms {
    unsigned round;
    const int64_t *factor; /* u: the codes of one column after the other */
    const int64_t *group;  /* of each of these codes */
    size_t forms;          /* products_count() */
    int64_t *values;       /* out: one for each form */
    uint64_t *population;  /* as in struct aim_measure */
    unsigned *lost;
};

struct aim_backend {
    void *self;
    enum err (*measure)(void *self, const struct aim_measure *request);
    enum err (*select)(void *self, struct aim_select *request);
    enum err (*forms)(void *self, const struct aim_forms *request); /* NULL: it cannot */
    bool keeps; /* a crash loses no request: a run that goes on repeats it and the one before */
};

#endif
