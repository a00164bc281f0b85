#include "aim/budget/schedule.h"

#include <math.h>

#define MEASURE_SHARE 0.9 /* of a round; the rest selects */
#define ANNEALED_START 16 /* T0 = 16 d, unless given */
/* Shares of one-ways, in Gaussian terms: docs/results.md has what others do. */
#define ONE_WAYS_MOST 0.45
#define ONE_WAYS_LEAST 0.2
#define ONE_WAYS_LEAST_ANNEALED 0.1
#define ONE_WAYS_ERROR 0.1
#define SWEEPS_ONE_WAYS_MOST 0.3
#define SWEEPS_ONE_WAYS_LEAST 0.15
#define SWEEPS_SCORES 0.1 /* of a sweep */
/* Makes sigma larger and epsilon smaller, so that rounding cannot end even a unit above rho. */
#define GUARD 0x1p-48

static double sigma_of(double shares, double measure_share, double rho)
{
    return ledger_deviation(shares, measure_share * rho) * (1 + GUARD);
}

/*
 * The eps with which a selection costs its share: with c = eps^2 / 8 and s = 1 / (2 sigma^2) that
 * is c in zCDP, and c over the greater of 1 - c / s and 226/355 in Gaussian terms
 * (ledger_select_cost()).
 */
static double epsilon_of(enum ledger_accounting accounting, double rounds, double rho, double sigma)
{
    const double each = (1 - MEASURE_SHARE) * rho / rounds;
    const double part = accounting == ACCOUNTING_GAUSSIAN
                            ? fmax(1 / (1 + 2 * each * sigma * sigma), 226.0 / 355)
                            : 1;
    return sqrt(8 * (1 - MEASURE_SHARE) * rho / rounds * part) * (1 - GUARD);
}

static double next_cost(const struct schedule *s)
{
    const double measuring = ledger_rho(1, s->sigma), zcdp = s->epsilon * s->epsilon / 8;
    const double part = s->accounting == ACCOUNTING_GAUSSIAN
                            ? fmax(1 - zcdp / measuring, 226.0 / 355)
                            : 1;
    return measuring + zcdp / part;
}

unsigned schedule_rounds_most(size_t one_ways, unsigned rounds, bool annealed)
{
    unsigned d = (unsigned)one_ways;
    if (!annealed)
        return rounds;
    if (rounds == 0)
        return ANNEALED_START * d;
    return rounds > 2 * d ? rounds : 2 * d; /* the one-ways must leave something */
}

/* Of the budget, so that noise alone gives a mean error of ONE_WAYS_ERROR, within limits. */
static double one_ways_share(const struct schedule_terms *t, double rho)
{
    /* without pow(): servers and analysts must find the same multiplier on every machine */
    const double all = sqrt(2 / M_PI) * (double)t->cells / fmax(1, (double)t->rows),
                 least = t->sweeps > 0 ? SWEEPS_ONE_WAYS_LEAST
                         : t->annealed ? ONE_WAYS_LEAST_ANNEALED
                                       : ONE_WAYS_LEAST,
                 most = t->sweeps > 0 ? SWEEPS_ONE_WAYS_MOST : ONE_WAYS_MOST,
                 over = all / ONE_WAYS_ERROR, share = over * over / (2 * (double)t->one_ways * rho);
    return fmin(most, fmax(least, share));
}

static void split(struct schedule *s, const struct schedule_terms *t, double rho)
{
    const double d = (double)t->one_ways;
    if (s->most == 0) {
        s->alone = s->sigma = sigma_of(d, 1, rho);
        return;
    }
    if (t->accounting == ACCOUNTING_GAUSSIAN) {
        const double share = one_ways_share(t, rho);
        s->alone = sigma_of(d, share, rho);
        rho *= 1 - share;
        s->sigma = sigma_of(s->most, MEASURE_SHARE, rho);
    } else {
        s->sigma = sigma_of(s->annealed ? s->most : s->most + d, MEASURE_SHARE, rho);
        s->alone = s->sigma;
    }
    s->epsilon = epsilon_of(s->accounting, s->most, rho, s->sigma);
}

static struct schedule sweeps_start(const struct schedule_terms *t, double rho)
{
    const double sigma = sigma_of((double)t->one_ways, one_ways_share(t, rho), rho);
    return (struct schedule){
        .sweeps = t->sweeps, .most = 2 * t->sweeps, .alone = sigma, .sigma = sigma};
}

struct schedule schedule_start(const struct schedule_terms *t, double rho)
{
    const unsigned most = schedule_rounds_most(t->one_ways, t->rounds, t->annealed);
    struct schedule s = {.accounting = t->accounting,
                         .annealed = t->annealed,
                         .most = most,
                         .last = most == 1,
                         .finished = most == 0};
    if (t->sweeps > 0)
        return sweeps_start(t, rho);
    split(&s, t, rho);
    return s;
}

bool schedule_scores(const struct schedule *s)
{
    return s->done % 2 == 0;
}

double schedule_sweep_rho(const struct schedule *s, double remaining)
{
    const double now = s->done / 2 + 1, last = s->sweeps;
    const double share = 2 * now / ((now + last) * (last - now + 1)); /* i / (i + ... + S) */
    if (schedule_scores(s))
        return SWEEPS_SCORES * share * remaining;
    return (1 - SWEEPS_SCORES) * share * remaining / (1 - SWEEPS_SCORES * share);
}

struct schedule_sweep schedule_sweep(const struct schedule *start, size_t one_ways, double rho)
{
    const double left = rho - ledger_rho((double)one_ways, start->sigma);
    struct schedule last = *start;
    struct schedule_sweep s = {.first_scores = schedule_sweep_rho(start, left)};
    last.done = start->most - 2;
    s.most_scores = schedule_sweep_rho(&last, left);
    s.most_set = left;
    s.sigma = ledger_deviation(SCHEDULE_SET * (double)one_ways,
                               (1 - SWEEPS_SCORES) * s.most_scores / SWEEPS_SCORES);
    return s;
}

bool schedule_pairs_alone(uint64_t all, uint64_t few, double rho, double rows)
{
    return few > 0 && 2 * few <= all && ledger_deviation((double)all, rho) > SCHEDULE_CLEAR * rows;
}

void schedule_swept(struct schedule *s)
{
    s->done++;
    s->last = s->done + 1 == s->most;
    s->finished = s->done == s->most;
}

/* A last round takes at most the whole budget: as much as `most` rounds like the first. */
double schedule_epsilon_most(const struct schedule *start)
{
    return start->annealed ? start->epsilon * sqrt(start->most) : start->epsilon;
}

bool schedule_is_noise(double moved, double sigma, uint64_t cells)
{
    return moved <= 0.797884560802865356 * sigma * (double)cells; /* sqrt(2/pi) */
}

void schedule_next(struct schedule *s, double moved, uint64_t cells, double remaining)
{
    s->done++;
    if (s->last || s->done >= s->most) {
        s->finished = true;
        return;
    }
    if (!s->annealed) {
        s->last = s->done + 1 == s->most;
        return;
    }
    if (schedule_is_noise(moved, s->sigma, cells)) {
        s->sigma /= M_SQRT2;
        s->epsilon *= M_SQRT2;
    }
    if (s->done + 1 == s->most || remaining <= 2 * next_cost(s)) {
        s->last = true;
        s->sigma = sigma_of(1, MEASURE_SHARE, remaining);
        s->epsilon = epsilon_of(s->accounting, 1, remaining, s->sigma);
    }
}
