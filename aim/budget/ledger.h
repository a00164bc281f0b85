/*
 * aim/budget/ledger.h - how much of the privacy budget is spent, in exact rationals.
 *
 * A cost of rho is as private as one Gaussian of sensitivity 1 and variance 1 / (2 rho), or, in a
 * study without `accounting: gaussian`, rho of zero-concentrated differential privacy (zCDP), which
 * the former implies. Either way costs add up. A ledger starts with rho and refuses whatever would
 * take the sum above it. It never rounds: doubles count as the binary fractions that they are.
 * Where one person may have k rows, every cost counts k^2 times.
 *
 * Besides rho there are two smaller sums, of epsilon and of delta: how far the noise as computed
 * (finite precision, bounded circuits) is from the noise of the theorem. budget_plan()
 * (aim/budget/budget.h) sets them aside, so that the published (eps, delta) holds exactly.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <gmp.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define LEDGER_ROWS_PER_PERSON_MAX 65535

/* What rho means, which decides two formulas: ledger_select_cost() and budget_rho(). */
enum ledger_accounting { ACCOUNTING_ZCDP, ACCOUNTING_GAUSSIAN };

/*
 * What rho buys, in doubles; the ledger has the last word. For `things` that a row or person
 * changes by 1 each, or for numbers that move by the root of that in all: the standard deviation of
 * the Gaussian on each of them that is as private as rho, and the rho of a deviation. And what
 * ledger_forms_cost() takes for rho.
 */
static inline double ledger_deviation(double things, double rho)
{
    return sqrt(things / (2 * rho));
}
static inline double ledger_rho(double things, double deviation)
{
    return things / (2 * deviation * deviation);
}
static inline double ledger_squared(double rho)
{
    return 0x1p41 * rho;
}

struct ledger;

struct ledger_limits {
    double rho;
    unsigned rows_per_person; /* k; 0 counts as 1 */
    double epsilon_slack;     /* the most that ledger_slack() may add up to, k included */
    double delta_slack;
};

/* Whether it can be an amount of privacy: finite and not negative. */
static inline bool ledger_amount(double v)
{
    return isfinite(v) && v >= 0;
}

enum err ledger_new(struct ledger **l, const struct ledger_limits *limits,
                    struct log *log) MUST_CHECK;
void ledger_free(struct ledger **l);
enum err ledger_copy(struct ledger **l, const struct ledger *from) MUST_CHECK;

/* Costs before k^2; the caller owns `cost` (mpq_init, mpq_clear). */
void ledger_measure_cost(mpq_ptr cost, uint64_t multiplier, uint64_t marginals); /* n m^2 / 2^41 */
/* For forms that one row moves by `squared` in all (aim/budget/forms.h): squared / 2^41. */
void ledger_forms_cost(mpq_ptr cost, mpz_srcptr squared);
/*
 * What a selection adds to the cost of the measurement at m that is made, opened or not, of what it
 * selects. In zCDP it is c = (epsilon + slack)^2 / 8. In Gaussian terms it is c divided by the
 * greater of 1 - c / (m^2 / 2^41) and 226/355, rounded up to a multiple of 2^-128 so that sums stay
 * short. ERR_RANGE unless epsilon and slack are finite and not negative, and m is not 0.
 */
enum err ledger_select_cost(mpq_ptr cost, enum ledger_accounting accounting, double epsilon,
                            double slack, uint64_t multiplier) MUST_CHECK;

/* ERR_BUDGET, logged, if it does not fit; then nothing changes. */
enum err ledger_debit(struct ledger *l, mpq_srcptr cost, struct log *log) MUST_CHECK;
/* Adds k times each to the two slack sums; on ERR_BUDGET nothing changes. */
enum err ledger_slack(struct ledger *l, double epsilon, double delta, struct log *log) MUST_CHECK;

/* Whether `after` may follow `before`: the same limits, no sum smaller, none above its limit. */
bool ledger_follows(const struct ledger *before, const struct ledger *after);

double ledger_remaining(const struct ledger *l); /* rounded down */
double ledger_left(const struct ledger *l);  /* the same for a person's single row: before k^2 */
double ledger_spent(const struct ledger *l); /* rounded down; k^2 included */
unsigned ledger_rows_per_person(const struct ledger *l);

/*
 * A whole ledger in one line: rows_per_person, then limit and sum of rho, epsilon slack and delta
 * slack as decimal fractions "num/den", separated by spaces. The caller frees it with
 * memory_free(). A line that ledger_text() would not write is ERR_FORMAT.
 */
enum err ledger_text(const struct ledger *l, char **text) MUST_CHECK;
enum err ledger_parse(struct ledger **l, const char *text, struct log *log) MUST_CHECK;
