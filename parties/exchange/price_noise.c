/* How much noise a run may take, and in what blocks servers make it before. */
#include "aim/copula/copula.h"
#include "aim/run/assess.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"

/* Every range of Gaussians begins at an even position. */
static uint64_t even(uint64_t samples)
{
    return samples + samples % 2;
}

/* A classifier's: of columns it measures the target alone. */
static uint64_t of_training(const struct study *study)
{
    const struct features *f = study->features;
    return even(study->workload->query[f->target].cells) +
           study->train_steps * even(features_weights(f)) + (f->tests ? features_cells(f) : 0);
}

struct price_noise price_noise(const struct study *study)
{
    const struct workload *w = study->workload;
    const uint64_t looks = study->link.min_linked > 0 ? 2 : 0,
                   forms = method_of(study)->forms ? copula_forms_most(study->domain) : 0,
                   pairs = study->assess > 0 ? assess_pairs(study->workload) : 0;
    uint64_t one_ways = 0, largest = 0, sweep = 0;
    if (study->features != NULL)
        return (struct price_noise){.gauss = looks + of_training(study)};
    for (size_t q = 0; q < w->queries; q++) {
        one_ways += q < w->one_ways ? w->query[q].cells : 0;
        largest = w->query[q].cells > largest ? w->query[q].cells : largest;
    }
    if (study->sweeps > 0)
        sweep = even(w->queries) +
                even(one_ways < w->cells / PRICE_SET ? PRICE_SET * one_ways : w->cells);
    return (struct price_noise){.gauss = looks + even(one_ways) + even(forms) +
                                         study->rounds * even(largest) + study->sweeps * sweep +
                                         2 * even(pairs),
                                .gumbel = (uint64_t)study->rounds * w->queries};
}

struct price_ahead price_ahead(const struct study *study)
{
    const struct price_noise noise = price_noise(study);
    const uint64_t plan[NOISE_LAWS] = {[NOISE_GAUSS] = noise.gauss, [NOISE_GUMBEL] = noise.gumbel};
    struct price_ahead a = {{0}, {0}};
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        uint64_t samples = (plan[k] / 8 + 128) / 128 * 128, blocks;
        samples = samples < PRICE_AHEAD_MOST ? samples : PRICE_AHEAD_MOST;
        blocks = (plan[k] + samples - 1) / samples;
        a.samples[k] = (size_t)samples;
        blocks += study->noise_by == NOISE_BY_OWNER && blocks > 0;
        a.blocks[k] = (size_t)(blocks < PRICE_AHEAD_BLOCKS ? blocks : PRICE_AHEAD_BLOCKS);
    }
    return a;
}
