#include "parties/study/rounds.h"

#include "aim/budget/schedule.h"
#include "aim/run/loop.h"
#include "parties/study/study.h"

#include <math.h>

#define STAYS 0.25      /* the share of noise that a model keeps */
#define NOISE_MOST 0.05 /* of scores, in shares of the rows */
#define COLUMNS_MANY 12
#define STEP 1.05 /* from one number of rounds that is tried to the next */

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

bool rounds_sweeps_better(const struct workload *w, double rows, double rho)
{
    const struct schedule start = schedule_sweeps(w->one_ways, AIM_SWEEPS, rho);
    const double scores = schedule_sweep(&start, w->one_ways, rho).first_scores,
                 noise = sqrt((double)w->queries / (2 * scores)) / fmax(1, rows);
    for (size_t i = 0; i < w->cliques; i++)
        if (w->clique[i].n > 3)
            return false;
    return w->one_ways >= COLUMNS_MANY || noise <= NOISE_MOST;
}
