#include "parties/study/rounds.h"

#include "parties/study/study.h"

#include <math.h>

#define STAYS 0.25 /* the share of noise that a model keeps */
#define STEP 1.05  /* from one number of rounds that is tried to the next */

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
