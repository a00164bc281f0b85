#include "parties/exchange/price.h"

#include "aim/budget/budget.h"
#include "aim/budget/forms.h"
#include "aim/run/assess.h"
#include "aim/run/copula_run.h"
#include "aim/run/train_run.h"
#include "aim/table/series.h"
#include "mpc/circuits/argmax.h"
#include "parties/study/method.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "protocols/measure.h"
#include "protocols/score.h"

#include <math.h>

/* The public mathematics and the circuits use the same grids and bounds. */
_Static_assert(AIM_GAUSS_BITS == GAUSS_BITS, "Gaussians");
_Static_assert(SELECT_MOST == ARGMAX_MOST && SELECT_MOST_PROVED == ARGMAX_MOST_CHECKED,
               "candidates");
_Static_assert(FORMS_NOISE >= INT64_C(1) << (GAUSS_BITS + 4), "a Gaussian is below 2^4 deviations");
_Static_assert(FORMS_NOISE >= INT64_C(1) << DISCRETE_DIGITS, "and a discrete one below its digits");
_Static_assert(AIM_GUMBEL_BITS == GUMBEL_BITS, "Gumbels");
_Static_assert(AIM_ESTIMATE_BITS == SCORE_BITS, "estimates");
_Static_assert(SCORE_MULTIPLIER_MIN == MEASURE_MULTIPLIER_MIN &&
                   SCORE_MULTIPLIER_MAX == MEASURE_MULTIPLIER_MAX,
               "multipliers");

/* --- what differs by method ------------------------------------------------------------------- */

/* One-ways may be paid for twice: they are lost, or another run begins with what is left. */
static uint64_t one_ways_of(const struct study *study)
{
    return 2 * (uint64_t)study->workload->one_ways;
}

/* A sweep opens all scores, and may measure all marginals. */
static uint64_t aim_measures(const struct study *study)
{
    return one_ways_of(study) / (study->earlier ? 2 : 1) + study->rounds +
           2 * (uint64_t)study->sweeps * study->workload->queries +
           (study->assess > 0 ? 2 * assess_pairs(study->workload) : 0);
}

static enum err aim_first(const struct study *study, double rho, double *sigma)
{
    struct schedule start;
    (void)rho;
    TRY(price_schedule(study, &start));
    *sigma = start.alone;
    return ERR_OK;
}

static bool is_made(double sigma)
{
    uint64_t multiplier;
    return sigma < 1 || measure_multiplier(sigma, &multiplier, NULL) == ERR_OK;
}

static bool buys_assess(const struct study *study)
{
    const double pairs = (double)assess_pairs(study->workload), k = study->rows_per_person;
    struct ledger_limits limits;
    uint64_t multiplier;
    return price_limits(study, &limits, NULL) == ERR_OK &&
           scores_multiplier(ledger_deviation(pairs, price_reserve(study, &limits) / (k * k) / 2) *
                                 (1 + 0x1p-30),
                             &multiplier) == ERR_OK;
}

static bool aim_buys(const struct study *study)
{
    struct price_first first;
    struct schedule s;
    struct price_sweep sweep;
    uint64_t multiplier;
    if (study->assess > 0 && !buys_assess(study))
        return false;
    if (study->sweeps > 0)
        return price_first(study, &first) == ERR_OK && price_sweep(study, &sweep) == ERR_OK &&
               scores_multiplier(sweep.most_sigma, &multiplier) == ERR_OK;
    return price_schedule(study, &s) == ERR_OK && is_made(s.alone) && is_made(s.sigma) &&
           (s.finished || s.epsilon > price_slack(study).select);
}

static uint64_t copula_measures(const struct study *study)
{
    return one_ways_of(study) + forms_pairs(study->workload->one_ways);
}

static enum err copula_first(const struct study *study, double rho, double *sigma)
{
    *sigma = ledger_deviation((double)study->workload->one_ways, study->copula_share * rho);
    return ERR_OK;
}

static bool copula_buys(const struct study *study)
{
    struct price_first first;
    return price_first(study, &first) == ERR_OK;
}

/* The target, twice as one-ways are, all numbers of a gradient a step, and a test's tables. */
static uint64_t train_measures(const struct study *study)
{
    const struct features *f = study->features;
    return 2 + (uint64_t)study->train_steps * features_weights(f) + (f->tests ? f->outputs : 0);
}

static enum err train_first(const struct study *study, double rho, double *sigma)
{
    (void)study;
    *sigma = ledger_deviation(1, TRAIN_COUNTS * rho);
    return ERR_OK;
}

static bool train_buys(const struct study *study)
{
    struct price_first first;
    struct price_steps s;
    return price_first(study, &first) == ERR_OK && price_steps(study, &s, NULL) == ERR_OK &&
           train_multiplier(study->features, s.steps, s.rho) > 0;
}

static const struct price_method {
    /* how many things that one row can move are measured */
    uint64_t (*measures)(const struct study *study);
    /* the noise on the one-ways, of a run that has this rho */
    enum err (*first)(const struct study *study, double rho, double *sigma);
    /* whether the budget buys noise of at most the largest sigma, and a selection */
    bool (*buys)(const struct study *study);
} methods[] = {
    [STUDY_AIM] = {.measures = aim_measures, .first = aim_first, .buys = aim_buys},
    [STUDY_COPULA] = {.measures = copula_measures, .first = copula_first, .buys = copula_buys},
    [STUDY_TRAIN] = {.measures = train_measures, .first = train_first, .buys = train_buys},
};
_Static_assert(sizeof methods / sizeof *methods == STUDY_METHODS, "each method has a price");

static const struct price_method *price_of(const struct study *study)
{
    return &methods[study->method];
}

/* --- slack ------------------------------------------------------------------------------------ */

/*
 * How many things a study measures that one row can move: its marginals, or one-ways and forms, of
 * which a row moves one for each pair, or gradients; and the number of linked rows, if it looks.
 */
static uint64_t measured(const struct study *study)
{
    const uint64_t looks = study->link.min_linked > 0 ? LOOK_TRIES : 0;
    return looks + price_of(study)->measures(study);
}

/* The delta of a whole study: all its measured marginals and selections. */
static double delta_of_study(const struct study *study, const struct ask_slack *s)
{
    const struct workload *w = study->workload;
    double all = ask_delta(s->measured, (double)measured(study)) +
                 ask_delta(s->candidate, (double)study->rounds * (double)w->queries);
    all *= 1.001; /* the ledger adds the terms one by one, each rounded */
    return all * study->rows_per_person;
}

static bool fits(const struct study *study, const struct ask_slack *s)
{
    return delta_of_study(study, s) + price_rows_slack(study) <=
           BUDGET_SLACK_OF_DELTA * study->delta;
}

struct ask_slack price_slack(const struct study *study)
{
    const struct ask_slack s = price_by_variation(study);
    if (study->servers == 2)
        return price_of_two(study);
    return fits(study, &s) ? s : price_by_ratio(study);
}

/* --- limits ----------------------------------------------------------------------------------- */

double price_epsilon_limit(const struct study *study)
{
    struct study other = *study;
    double low = 0, high = STUDY_EPSILON_MAX;
    while (high - low > 0.01) {
        const double middle = (low + high) / 2;
        struct ask_slack s;
        other.epsilon = middle;
        s = price_slack(&other);
        if (fits(&other, &s))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Logs which epsilon the circuits allow, if that is what is wrong. */
static enum err check_epsilon(const struct study *study, const struct ask_slack *s, struct log *log)
{
    double limit;
    if (fits(study, s))
        return ERR_OK;
    limit = floor(10 * price_epsilon_limit(study)) / 10;
    if (limit <= 0)
        return ERR_OK; /* no epsilon fits: budget_plan() says so */
    return log_fail(log, ERR_STUDY,
                    "an epsilon of %g is more than the noise circuits allow: at most %.1f with a "
                    "delta of %g and %llu measured marginals; lower epsilon or raise delta%s",
                    study->epsilon, limit, study->delta, (unsigned long long)measured(study),
                    noise_exact[study->noise] ? "" : "; noise: discrete allows more");
}

enum err price_limits(const struct study *study, struct ledger_limits *limits, struct log *log)
{
    const struct ask_slack slack = price_slack(study);
    const struct budget_terms terms = {
        .accounting = study->accounting,
        .epsilon = study->epsilon,
        .delta = study->delta,
        .rows_per_person = study->rows_per_person,
        .marginals = measured(study),
        .marginal_epsilon_slack = slack.marginal,
        .delta_slack = delta_of_study(study, &slack) + price_rows_slack(study),
    };
    struct budget_plan plan;
    TRY(check_epsilon(study, &slack, log));
    TRY(budget_plan(&terms, &plan, log));
    *limits = plan.limits;
    limits->delta_slack = delta_of_study(study, &slack);
    if (study->left > 0)
        limits->rho = fmin(limits->rho, study->left);
    return ERR_OK;
}

/* --- what a run begins with ------------------------------------------------------------------- */

enum err price_look(const struct study *study, const struct ledger_limits *limits,
                    struct look *look, struct log *log)
{
    *look = (struct look){0};
    if (study->link.min_linked == 0 || study->left > 0)
        return ERR_OK;
    return look_plan(look, limits, study->link.look, log);
}

/* The look, and what a study's looks leave of one row's budget. */
static enum err look_and_rest(const struct study *study, struct look *look, double *rho)
{
    struct ledger_limits limits;
    TRY(price_limits(study, &limits, NULL));
    TRY(price_look(study, &limits, look, NULL));
    (void)price_reserve(study, &limits);
    *rho = look_leaves(look, &limits);
    return ERR_OK;
}

double price_reserve(const struct study *study, struct ledger_limits *limits)
{
    const double all = limits->rho;
    limits->rho *= 1 - study->assess;
    return all - limits->rho;
}

enum err price_schedule(const struct study *study, struct schedule *start)
{
    struct look look;
    double rho;
    const struct schedule_terms terms = {.accounting = study->accounting,
                                         .annealed = study->annealed,
                                         .rounds = study->rounds,
                                         .one_ways = study->workload->one_ways,
                                         .cells = workload_one_way_cells(study->workload),
                                         .rows = study_rows(study, false),
                                         .sweeps = study->sweeps};
    TRY(look_and_rest(study, &look, &rho));
    *start = schedule_start(&terms, rho);
    return ERR_OK;
}

enum err price_sweep(const struct study *study, struct price_sweep *sweep)
{
    const struct workload *w = study->workload;
    struct schedule start;
    struct schedule_sweep s;
    struct look look;
    double rho;
    TRY(look_and_rest(study, &look, &rho));
    TRY(price_schedule(study, &start));
    s = schedule_sweep(&start, w->one_ways, rho);
    sweep->most_sigma = ledger_deviation((double)w->queries, s.first_scores);
    sweep->least_sigma = ledger_deviation((double)w->one_ways,
                                          s.most_scores); /* always candidates */
    sweep->least_sigma_of_set = ledger_deviation(1, s.most_set);
    return ERR_OK;
}

enum err price_first(const struct study *study, struct price_first *first)
{
    struct look look;
    double rho, sigma;
    TRY(look_and_rest(study, &look, &rho));
    first->look = look.multiplier;
    TRY(price_of(study)->first(study, rho, &sigma));
    return measure_multiplier(sigma, &first->one_ways, NULL);
}

enum err price_steps(const struct study *study, struct price_steps *s, struct log *log)
{
    const struct features *f = study->features;
    struct study whole = *study;
    struct look look;
    double all, own;
    whole.left = 0;
    TRY(look_and_rest(&whole, &look, &all));
    TRY(look_and_rest(study, &look, &own));
    s->rho = train_share(f, own);
    s->sigma = ledger_deviation(f->outputs, train_reserve(f, own));
    /* a step of the run before took its part of what that had for steps */
    own -= train_reserve(f, all);
    s->steps = (unsigned)fmin(study->train_steps, study->train_steps * fmax(0, own) /
                                                      train_share(f, all) * (1 + 0x1p-30));
    return s->steps > 0
               ? ERR_OK
               : log_fail(log, ERR_BUDGET,
                          "the rho of %.3g that earlier runs left is too little for a step",
                          study->left);
}

/* --- the least epsilon ------------------------------------------------------------------------ */

static bool buys_noise(const struct study *study, double epsilon)
{
    struct study other = *study;
    other.epsilon = epsilon;
    return price_of(study)->buys(&other);
}

double price_epsilon_least(const struct study *study)
{
    double low = 0, high = 1e-4;
    for (; !buys_noise(study, high); high *= 2)
        if (high > STUDY_EPSILON_MAX)
            return 0;
        else
            low = high;
    while (high - low > 0.001 * high) {
        const double middle = (low + high) / 2;
        if (buys_noise(study, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* An owner's noise has to be there before a run, as blocks. */
static enum err check_owner_noise(const struct study *study, struct log *log)
{
    const struct price_noise n = price_noise(study);
    const uint64_t larger = n.gauss > n.gumbel ? n.gauss : n.gumbel,
                   most = (uint64_t)PRICE_AHEAD_MOST * PRICE_AHEAD_BLOCKS;
    if (study->noise_by != NOISE_BY_OWNER || larger <= most)
        return ERR_OK;
    return log_fail(
        log, ERR_STUDY,
        "a run may take %llu samples of noise, and an owner sends at most %llu (noise_by:"
        " owner): write noise_by: joint or both, or measure fewer or smaller marginals",
        (unsigned long long)larger, (unsigned long long)most);
}

enum err price_check_noise(const struct study *study, struct log *log)
{
    struct ledger_limits limits;
    double least, unit;
    TRY(check_owner_noise(study, log));
    if (buys_noise(study, study->epsilon))
        return ERR_OK;
    least = price_epsilon_least(study);
    if (!(least > 0) && price_limits(study, &limits, NULL) == ERR_OK)
        return log_fail(log, ERR_STUDY,
                        "no epsilon buys noise that the circuits make, with rows_per_person %u and "
                        "%llu measured marginals; lower rows_per_person or measure fewer marginals",
                        study->rows_per_person / series_units(study->domain),
                        (unsigned long long)measured(study));
    if (least < study->epsilon)
        return ERR_OK; /* it is not too small; what is wrong with it is reported elsewhere */
    unit = pow(10, floor(log10(least)) - 1);
    return log_fail(
        log, ERR_STUDY,
        "an epsilon of %g is less than the noise circuits allow: at least %.2g with a "
        "delta of %g and %llu measured marginals; raise epsilon or measure fewer marginals%s",
        study->epsilon, ceil(least / unit) * unit, study->delta,
        (unsigned long long)measured(study),
        series_units(study->domain) > SERIES_UNITS_FEW ? ", or give events `units: 12`" : "");
}
