/* How far the noise that servers make is from the noise that is proved (docs/proofs.md). */
#include "mpc/circuits/argmax.h"
#include "mpc/pair/joint_noise.h"
#include "mpc/pair/own_noise.h"
#include "parties/exchange/price.h"
#include "protocols/tape.h"

#include <math.h>

/* What a marginal costs in Gaussian terms beside that. */
static double gaussian_epsilon(const struct study *study)
{
    return study->accounting == ACCOUNTING_GAUSSIAN ? tape_slack(study->noise, NOISE_GAUSS).gaussian
                                                    : 0;
}

/* e^epsilon; trefoil 0.2 took it as it came. */
static double ratio_of(const struct study *study)
{
    return study->earlier ? exp(study->epsilon) : tape_rounded_up(exp(study->epsilon));
}

struct ask_slack price_by_variation(const struct study *study)
{
    const struct tape_slack gauss = tape_slack(study->noise, NOISE_GAUSS),
                            gumbel = tape_slack(study->noise, NOISE_GUMBEL);
    const double factor = 1 + ratio_of(study);
    return (struct ask_slack){.marginal = gauss.epsilon + gaussian_epsilon(study),
                              .select = gumbel.epsilon,
                              .measured = {factor, gauss.tau},
                              .candidate = {factor, gumbel.tau + ARGMAX_TAU}};
}

struct ask_slack price_by_ratio(const struct study *study)
{
    /* a selection of all rows of a person at e costs e^2 / 8, and rho is below epsilon */
    const struct tape_ratio gauss = tape_ratio(study->noise),
                            gumbel = tape_select_ratio((double)study->workload->queries,
                                                       sqrt(8 * study->epsilon));
    return (struct ask_slack){.marginal = gauss.epsilon + gaussian_epsilon(study),
                              .select = gumbel.epsilon,
                              .measured = {ratio_of(study), gauss.tail},
                              .candidate = {1, ARGMAX_TAU + gumbel.tail}};
}

/* A row is one owner's, and of no other owner does what the keeper decrypts depend on it. */
double price_rows_slack(const struct study *study)
{
    double most = 0;
    for (size_t i = 0; i < study->owners; i++) {
        const struct study_encrypted *e = &study->owner[i].encrypted;
        most = fmax(most, (double)e->results * sqrt((double)e->blocks) * 0x1p-59);
    }
    return PRICE_COUNTINGS * (1 + tape_rounded_up(exp(study->epsilon))) * most *
           study->rows_per_person;
}

/* An own Gumbel's error moves the chance of any winner by e^(2 error) at most, either way. */
struct ask_slack price_of_two(const struct study *study)
{
    const double factor = 1 + ratio_of(study);
    const double tau = study->noise_by == NOISE_BY_JOINT ? JOINT_TAU : 0; /* own ones are exact */
    return (struct ask_slack){.marginal = gaussian_epsilon(study),
                              .select = 8 * OWN_GUMBEL_ERROR, /* the range of such factors */
                              .measured = {factor, tau},
                              .candidate = {factor, OWN_GUMBEL_TAU}};
}
