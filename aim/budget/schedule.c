#include "aim/budget/schedule.h"

#include <math.h>

#define MEASURE_SHARE 0.9
#define ANNEALED_START 16 /* T0 = 16 d, unless given */
#define SWEEPS_ONE_WAYS 0.15
#define SWEEPS_SCORES 0.1 /* of a sweep */
/* Makes sigma larger and epsilon smaller, so that rounding cannot end even a unit above rho. */
#define GUARD 0x1p-48

static double sigma_of(double shares, double measure_share, double rho)
{
    return sqrt(shares / (2 * measure_share * rho)) * (1 + GUARD);
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
    const double measuring = 1 / (2 * s->sigma * s->sigma), zcdp = s->epsilon * s->epsilon / 8;
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

struct schedule schedule_start(size_t one_ways, unsigned rounds, bool annealed, double rho,
                               enum ledger_accounting accounting)
{
    unsigned most = schedule_rounds_most(one_ways, rounds, annealed);
    double shares = annealed ? most : (double)rounds + (double)one_ways;
    struct schedule s = {
        .accounting = accounting, .annealed = annealed, .most = most, .finished = most == 0};
    s.last = most == 1;
    s.sigma = sigma_of(shares, most > 0 ? MEASURE_SHARE : 1, rho);
    s.epsilon = most > 0 ? epsilon_of(accounting, most, rho, s.sigma) : 0;
    return s;
}

struct schedule schedule_sweeps(size_t one_ways, unsigned sweeps, double rho)
{
    return (struct schedule){.sweeps = sweeps,
                             .most = 2 * sweeps,
                             .sigma = sigma_of((double)one_ways, SWEEPS_ONE_WAYS, rho)};
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
    const double left = rho - (double)one_ways / (2 * start->sigma * start->sigma);
    struct schedule last = *start;
    struct schedule_sweep s = {.first_scores = schedule_sweep_rho(start, left)};
    last.done = start->most - 2;
    s.most_scores = schedule_sweep_rho(&last, left);
    s.most_set = left;
    s.sigma = sqrt(SCHEDULE_SET * (double)one_ways /
                   (2 * (1 - SWEEPS_SCORES) * s.most_scores / SWEEPS_SCORES));
    return s;
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
