#include "aim/budget/budget.h"

#include <float.h>
#include <math.h>

#define RHO_GRID 0x1p40L
#define RHO_MAX 4096.0L

/* ln of the delta at one alpha. Every alpha > 1 gives a valid bound, so only its value matters. */
static long double log_delta_at(long double rho, long double epsilon, long double alpha)
{
    return (alpha - 1) * (alpha * rho - epsilon) - logl(alpha - 1) + alpha * log1pl(-1 / alpha);
}

/*
 * The derivative in alpha is (2 alpha - 1) rho - eps + ln(1 - 1/alpha), which grows: bisect for its
 * root, in ln(alpha - 1) since alpha ranges over many orders of magnitude.
 */
static long double log_delta(long double rho, long double epsilon)
{
    long double low = -60, high = logl((epsilon + 2) / rho + 2);
    for (int i = 0; i < 100; i++) {
        long double middle = (low + high) / 2, alpha = 1 + expl(middle);
        if ((2 * alpha - 1) * rho - epsilon + log1pl(-1 / alpha) > 0)
            high = middle;
        else
            low = middle;
    }
    return log_delta_at(rho, epsilon, 1 + expl(low));
}

/* Whether rho-zCDP gives (eps, delta), with room for the error of the evaluation itself. */
static bool gives(long double rho, long double epsilon, long double log_of_delta)
{
    long double margin = 1e-16L * (1 + fabsl(log_of_delta));
    return log_delta(rho, epsilon) <= log_of_delta - margin;
}

_Static_assert(LDBL_MANT_DIG >= 64, "the room in gaussian_gives()");

static long double below(long double x) /* Phi */
{
    return erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
}

/*
 * Whether one Gaussian with u^2 = 2 rho gives (eps, delta). An error of 2^-64 in an argument b is
 * one of b^2 2^-64 in Phi(b), relatively, and exp(eps) Phi(b) < Phi(a): so the room is for some
 * hundred such errors. It is the same for every processor, as servers must find the same rho.
 */
static bool gaussian_gives(long double rho, long double epsilon, long double delta)
{
    const long double u = sqrtl(2 * rho), a = u / 2 - epsilon / u, b = -u / 2 - epsilon / u;
    const long double room = 0x1p-53L * (1 + b * b);
    return below(a) * (1 + room) - expl(epsilon) * below(b) <= delta;
}

static bool keeps(enum ledger_accounting accounting, long double rho, double epsilon, double delta)
{
    switch (accounting) {
    case ACCOUNTING_ZCDP:
        return gives(rho, epsilon, logl(delta));
    case ACCOUNTING_GAUSSIAN:
        return gaussian_gives(rho, epsilon, delta);
    }
    return false;
}

double budget_rho(enum ledger_accounting accounting, double epsilon, double delta)
{
    uint64_t low = 0, high = (uint64_t)(RHO_MAX * RHO_GRID);
    if (!isfinite(epsilon) || epsilon <= 0 || !(delta > 0 && delta < 1))
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (keeps(accounting, (long double)middle / RHO_GRID, epsilon, delta))
            low = middle;
        else
            high = middle;
    }
    return (double)((long double)low / RHO_GRID); /* at most 52 bits: exact */
}

double budget_epsilon(double rho, double delta)
{
    long double low = 0, high;
    if (!(rho >= 0 && rho <= (double)RHO_MAX) || !(delta > 0 && delta < 1))
        return (double)INFINITY;
    if (rho <= 0)
        return 0;
    /* above the conversion of Bun and Steinke, which is never less */
    high = 2 * ((long double)rho + 2 * sqrtl((long double)rho * -logl(delta)));
    for (int i = 0; i < 100; i++) {
        const long double middle = (low + high) / 2;
        if (gives(rho, middle, logl(delta)))
            high = middle;
        else
            low = middle;
    }
    return nextafter((double)high, (double)INFINITY);
}

static enum err check_terms(const struct budget_terms *t, double epsilon_slack, struct log *log)
{
    if (!(t->epsilon > 0 && t->epsilon <= 1000) || !(t->delta > 0 && t->delta < 1))
        return log_fail(log, ERR_STUDY,
                        "epsilon %g must be above 0 and at most 1000, delta %g between 0 and 1",
                        t->epsilon, t->delta);
    if (t->rows_per_person > LEDGER_ROWS_PER_PERSON_MAX || !ledger_amount(epsilon_slack) ||
        !ledger_amount(t->delta_slack))
        return log_fail(log, ERR_STUDY,
                        "rows per person must be at most %d, and slack finite and not negative",
                        LEDGER_ROWS_PER_PERSON_MAX);
    if (t->delta_slack > BUDGET_SLACK_OF_DELTA * t->delta)
        return log_fail(
            log, ERR_STUDY,
            "the noise circuits need a delta of %.3g, more than 1 %% of the study's %.3g; "
            "raise delta or measure fewer marginals",
            t->delta_slack, t->delta);
    if (epsilon_slack > BUDGET_SLACK_OF_EPSILON * t->epsilon)
        return log_fail(
            log, ERR_STUDY,
            "the noise circuits need an epsilon of %.3g, more than 10 %% of the study's %.3g; "
            "raise epsilon or measure fewer marginals",
            epsilon_slack, t->epsilon);
    return ERR_OK;
}

enum err budget_plan(const struct budget_terms *t, struct budget_plan *plan, struct log *log)
{
    unsigned k = t->rows_per_person != 0 ? t->rows_per_person : 1;
    /* Rounded up, and the rest of the promise rounded down, by far more than any rounding here. */
    double slack = (double)t->marginals * k * t->marginal_epsilon_slack * (1 + 0x1p-40);
    TRY(check_terms(t, slack, log));
    *plan = (struct budget_plan){
        .limits = {.rows_per_person = k, .epsilon_slack = slack, .delta_slack = t->delta_slack},
        .epsilon = nextafter(t->epsilon - slack, 0),
        .delta = (t->delta - t->delta_slack) * exp(-slack / 2) * (1 - 0x1p-50),
    };
    plan->limits.rho = budget_rho(t->accounting, plan->epsilon, plan->delta);
    if (plan->limits.rho <= 0)
        return log_fail(log, ERR_STUDY,
                        "epsilon %g with delta %g leaves no budget; raise one of them", t->epsilon,
                        t->delta);
    return ERR_OK;
}
