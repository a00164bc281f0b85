#include "parties/study/price.h"

#include "aim/budget.h"
#include "mpc/argmax.h"
#include "protocols/tape.h"

#include <math.h>

enum tape_noise price_tape_noise(const struct study *study)
{
    return study->noise == STUDY_DISCRETE ? TAPE_DISCRETE : TAPE_BOX_MULLER;
}

double price_marginal_slack(const struct study *study)
{
    return tape_slack(price_tape_noise(study), TAPE_GAUSS).epsilon;
}

double price_select_slack(void)
{
    return tape_slack(TAPE_BOX_MULLER, TAPE_GUMBEL).epsilon;
}

/* A total-variation term tau enters as (1 + e^eps) tau. */
double price_measure_delta(const struct study *study, double marginals)
{
    return (1 + exp(study->epsilon)) * marginals *
           tape_slack(price_tape_noise(study), TAPE_GAUSS).tau;
}

double price_select_delta(const struct study *study, double candidates)
{
    const double tau = tape_slack(price_tape_noise(study), TAPE_GUMBEL).tau + ARGMAX_TAU;
    return (1 + exp(study->epsilon)) * candidates * tau;
}

/* delta of a whole study: all its measured marginals and selections. */
static double delta_slack(const struct study *study)
{
    const struct workload *w = study->workload;
    double all = price_measure_delta(study, (double)w->one_ways + study->rounds) +
                 price_select_delta(study, (double)study->rounds * (double)w->queries);
    return all * 1.001; /* the ledger adds the terms one by one, each rounded */
}

enum err price_limits(const struct study *study, struct ledger_limits *limits, struct log *log)
{
    const struct budget_terms terms = {
        .epsilon = study->epsilon,
        .delta = study->delta,
        .rows_per_person = study->rows_per_person,
        .marginals = study->workload->one_ways + study->rounds,
        .marginal_epsilon_slack = price_marginal_slack(study),
        .delta_slack = delta_slack(study) * study->rows_per_person,
    };
    struct budget_plan plan;
    TRY(budget_plan(&terms, &plan, log));
    *limits = plan.limits;
    return ERR_OK;
}

struct price_noise price_noise(const struct study *study)
{
    const struct workload *w = study->workload;
    uint64_t one_ways = 0, largest = 0;
    for (size_t q = 0; q < w->queries; q++) {
        one_ways += q < w->one_ways ? w->query[q].cells : 0;
        largest = w->query[q].cells > largest ? w->query[q].cells : largest;
    }
    /* every range of Gaussians begins at an even position */
    return (struct price_noise){.gauss = one_ways + one_ways % 2 +
                                         study->rounds * (largest + largest % 2),
                                .gumbel = (uint64_t)study->rounds * w->queries};
}
