#include "parties/study/rounds.h"

#include "aim/budget/schedule.h"
#include "aim/run/loop.h"
#include "parties/study/study.h"

#include <math.h>
#include <stdio.h>

#define STAYS 0.25 /* the share of noise that a model keeps */
#define STEP 1.05  /* from one number of rounds that is tried to the next */

/* Of scores, as shares of the rows. */
#define NOISE_LOST 0.5
#define NOISE_MOST 0.05
#define NOISE_LITTLE 0.02
#define NOISE_LEAST 0.01
#define COLUMNS_CLEAR 3 /* of a marginal */
#define SWEEPS_CLEAR 4
#define SWEEPS_CLEAREST 5
#define MIB_CLEAR 40
#define MARGINALS_FEW 1000 /* for more, estimates from such a model take minutes */
#define ROUNDS_PLAIN 10
/* What circuits make, with room to spare: parties/exchange/price.h has the limits themselves. */
#define SCORE_SLACK 5.5e-7 /* of epsilon, with noise: box-muller */
#define SLACK_MOST 0.05    /* of epsilon; a tenth is refused */
#define SCORES_SIGMA_MOST 0x1p14
#define MEASURE_SIGMA_MOST 0x1p12
#define SUMS_MOST 0x1p41 /* a score counts in 2^-20 of its deviation, and is below 2^62 */
#define SELECT_EPSILON_LEAST 1e-3

static unsigned best(const struct rounds_noise *noise, double dependence, double reach)
{
    double least = INFINITY;
    unsigned rounds = 0;
    for (double t = 1; t <= STUDY_ROUNDS_MAX; t = fmax(t + 1, floor(t * STEP))) {
        double made, error;
        if (!noise->of(noise->self, (unsigned)t, &made))
            continue;
        error = dependence * exp(-t / reach) + STAYS * made / (1 + made / 2);
        if (error < least) {
            least = error;
            rounds = (unsigned)t;
        }
    }
    return rounds;
}

bool rounds_advise(struct rounds_advice *a, const struct rounds_noise *noise, size_t columns)
{
    a->least = best(noise, 0.05, 0.6 * (double)columns);
    a->most = best(noise, 0.5, 1.2 * (double)columns);
    a->about = (unsigned)lround(sqrt((double)a->least * a->most));
    return a->least > 0 && a->most > 0;
}

/* --- auto ------------------------------------------------------------------------------------ */

static struct schedule start_of(const struct rounds_terms *t, bool annealed, unsigned sweeps)
{
    const struct schedule_terms terms = {.accounting = t->accounting,
                                         .annealed = annealed,
                                         .one_ways = t->workload->one_ways,
                                         .cells = workload_one_way_cells(t->workload),
                                         .rows = (uint64_t)t->rows_most,
                                         .sweeps = sweeps};
    return schedule_start(&terms, t->rho);
}

static bool has_sweeps(const struct rounds_terms *t, unsigned sweeps)
{
    const struct workload *w = t->workload;
    const struct schedule start = start_of(t, false, sweeps);
    const struct schedule_sweep s = schedule_sweep(&start, w->one_ways, t->rho);
    const double least = ledger_deviation((double)w->one_ways, s.most_scores),
                 most = ledger_deviation((double)w->queries, s.first_scores),
                 slack = t->exact ? 0 : 2.0 * sweeps * (double)w->queries * SCORE_SLACK;
    double cells = 1;
    for (size_t q = 0; q < w->queries; q++)
        cells = fmax(cells, (double)w->query[q].cells);
    return t->l1 && slack <= SLACK_MOST * t->epsilon && most <= SCORES_SIGMA_MOST &&
           start.sigma <= MEASURE_SIGMA_MOST && 4 * cells * t->rows_most <= SUMS_MOST * least;
}

static bool has_annealed(const struct rounds_terms *t)
{
    const struct schedule s = start_of(t, true, 0);
    return s.sigma <= MEASURE_SIGMA_MOST && s.epsilon >= SELECT_EPSILON_LEAST;
}

/* The noise of the first scores of two sweeps, as a share of the rows. */
static double noise_of(const struct rounds_terms *t)
{
    const struct workload *w = t->workload;
    const struct schedule start = start_of(t, false, AIM_SWEEPS);
    const double rho = schedule_sweep(&start, w->one_ways, t->rho).first_scores;
    const double rows = fmax(1, t->rows);
    size_t pairs = 0;
    for (size_t q = 0; q < w->queries; q++)
        pairs += w->query[q].clique.n <= 2;
    if (!schedule_pairs_alone(w->queries, pairs, rho, rows))
        pairs = w->queries;
    return ledger_deviation((double)pairs, rho) / rows;
}

/* What should do better, were there nothing that a study cannot have. */
static struct rounds_choice better(const struct rounds_terms *t)
{
    const struct workload *w = t->workload;
    struct rounds_choice c = {.noise = noise_of(t)};
    size_t largest = 0;
    for (size_t i = 0; i < w->cliques; i++)
        largest = w->clique[i].n > largest ? w->clique[i].n : largest;
    if (largest > COLUMNS_CLEAR) {
        c.annealed = true;
        c.cause = "a marginal has more than three columns, where scores mislead";
        return c;
    }
    if (c.noise > NOISE_LOST && w->queries > MARGINALS_FEW) {
        c.annealed = true;
        c.cause = "scores of so many marginals would be lost in their noise";
        return c;
    }
    c.sweeps = c.noise <= NOISE_LEAST    ? SWEEPS_CLEAREST
               : c.noise <= NOISE_LITTLE ? SWEEPS_CLEAR
               : c.noise <= NOISE_MOST   ? AIM_SWEEPS
                                         : 1;
    c.mib = c.noise <= NOISE_LITTLE && w->queries <= MARGINALS_FEW ? MIB_CLEAR : AIM_SWEEPS_MIB;
    c.cause = c.noise <= NOISE_LITTLE ? "noise is so little that looking often pays"
              : c.noise <= NOISE_MOST ? "marginals stand out from the noise"
                                      : "noise is so much that looking once is all that pays";
    return c;
}

struct rounds_choice rounds_choose(const struct rounds_terms *t)
{
    struct rounds_choice c = better(t);
    if (c.sweeps > 0 && !has_sweeps(t, c.sweeps)) {
        c.sweeps = c.mib = 0;
        c.annealed = true;
        c.cause = t->l1 ? "the circuits cannot open scores of this study"
                        : "with score: l2 there are no sweeps";
    }
    if (c.annealed && !has_annealed(t)) {
        c.annealed = false;
        c.rounds = ROUNDS_PLAIN;
        c.cause = "the budget is too small for more than a few rounds";
    }
    return c;
}

struct words_text rounds_word(const struct rounds_choice *c)
{
    struct words_text word = {"annealed"};
    if (c->sweeps > 0)
        snprintf(word.text, sizeof word.text, "sweeps %u", c->sweeps);
    else if (!c->annealed)
        snprintf(word.text, sizeof word.text, "%u", c->rounds);
    return word;
}
