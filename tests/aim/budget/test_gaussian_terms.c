/*
 * The ledger in Gaussian terms: the curve that (epsilon, delta) is converted by, against the same
 * at thousands of bits; and prices, against compositions of the mechanisms that are worst for them,
 * whose exact curves are sums of a few terms.
 */
#include "harness/cmocka.h"

#include "aim/budget/budget.h"
#include "aim/run/ask.h"

/* --- the conversion --------------------------------------------------------------------------- */

/* e^x for x <= 0, by the series of x 2^-64. */
static void exact_exp(mpf_t out, const mpf_t x)
{
    mpf_t small, term;
    mpf_inits(small, term, (mpf_ptr)NULL);
    mpf_div_2exp(small, x, 64);
    mpf_set_ui(out, 1);
    mpf_set_ui(term, 1);
    for (unsigned k = 1; k < 200; k++) {
        mpf_mul(term, term, small);
        mpf_div_ui(term, term, k);
        mpf_add(out, out, term);
    }
    for (int k = 0; k < 64; k++)
        mpf_mul(out, out, out);
    mpf_clears(small, term, (mpf_ptr)NULL);
}

/* arctan(1/n), of which Machin made pi. */
static void arctan_of(mpf_t out, unsigned n)
{
    mpf_t power, term;
    mpf_inits(power, term, (mpf_ptr)NULL);
    mpf_set_ui(out, 0);
    mpf_set_ui(power, 1);
    mpf_div_ui(power, power, n);
    for (unsigned k = 0; k < 2600; k++) {
        mpf_div_ui(term, power, 2 * k + 1);
        (k % 2 == 0 ? mpf_add : mpf_sub)(out, out, term);
        mpf_div_ui(power, power, n);
        mpf_div_ui(power, power, n);
    }
    mpf_clears(power, term, (mpf_ptr)NULL);
}

/* Phi(x) = 1/2 + phi(x) (x + x^3 / 3 + x^5 / 15 + ...): no digits cancel until the end. */
static void exact_below(mpf_t out, const mpf_t x)
{
    mpf_t square, term, sum;
    mpf_inits(square, term, sum, (mpf_ptr)NULL);
    mpf_mul(square, x, x);
    mpf_set(term, x);
    for (unsigned k = 1; k < 300 + 2 * mpf_get_d(square); k++) { /* terms fall by 4 at the end */
        mpf_add(sum, sum, term);
        mpf_mul(term, term, square);
        mpf_div_ui(term, term, 2 * k + 1);
    }
    mpf_div_2exp(square, square, 1);
    mpf_neg(square, square);
    exact_exp(out, square);
    mpf_mul(sum, sum, out);
    arctan_of(out, 5);
    arctan_of(term, 239);
    mpf_mul_2exp(out, out, 2);
    mpf_sub(out, out, term);
    mpf_mul_2exp(out, out, 3); /* 2 pi */
    mpf_sqrt(out, out);
    mpf_div(out, sum, out);
    mpf_set_d(term, 0.5);
    mpf_add(out, out, term);
    mpf_clears(square, term, sum, (mpf_ptr)NULL);
}

/* The delta of one Gaussian at epsilon, rho being `grid` 2^-40. */
static void exact_delta(mpf_t out, double epsilon, double grid)
{
    mpf_t u, far, x, e;
    mpf_inits(u, far, x, e, (mpf_ptr)NULL);
    mpf_set_d(u, grid);
    mpf_div_2exp(u, u, 39);
    mpf_sqrt(u, u);
    mpf_set_d(e, epsilon);
    mpf_div(far, e, u);
    mpf_neg(far, far);
    mpf_div_2exp(u, u, 1);
    mpf_add(x, far, u);
    exact_below(out, x);
    mpf_sub(x, far, u);
    exact_below(far, x);
    mpf_neg(e, e);
    exact_exp(x, e);
    mpf_div(far, far, x);
    mpf_sub(out, out, far);
    mpf_clears(u, far, x, e, (mpf_ptr)NULL);
}

TEST(the_curve_agrees_with_thousands_of_bits)
{
    static const struct {
        double epsilon, delta;
    } of[] = {{1, 1e-5},   {0.1, 1e-6}, {5, 1e-5},     {0.01, 1e-9}, {20, 1e-15},
              {100, 1e-6}, {100, 0.01}, {1e-4, 1e-15}, {1e-4, 0.01}};
    mpf_t delta;
    mpf_set_default_prec(12000); /* Phi(-75) is 2^-4070 */
    mpf_init(delta);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double rho = budget_rho(ACCOUNTING_GAUSSIAN, of[i].epsilon, of[i].delta);
        const double grid = ldexp(rho, 40);
        assert_true(grid >= 1 && grid == floor(grid));
        exact_delta(delta, of[i].epsilon, grid);
        assert_true(mpf_cmp_d(delta, of[i].delta) <= 0);
        exact_delta(delta, of[i].epsilon, grid + 2); /* room for errors takes less */
        assert_true(mpf_cmp_d(delta, of[i].delta) > 0);
    }
    mpf_clear(delta);
    mpf_set_default_prec(64);
    assert_true(budget_rho(ACCOUNTING_GAUSSIAN, 1, 1e-5) == ldexp(39500727445, -40)); /* mpmath */
    assert_true(budget_rho(ACCOUNTING_GAUSSIAN, 0, 1e-5) <= 0);
    assert_true(budget_rho(ACCOUNTING_GAUSSIAN, 1, 0) <= 0);
    assert_true(budget_rho(ACCOUNTING_GAUSSIAN, NAN, 0.1) <= 0);
    assert_true(budget_rho(ACCOUNTING_GAUSSIAN, 1e300, 1e-300) <= 0x1p12);
}

/* rho means no less than in zCDP, so that what holds of that holds still. */
TEST(the_curve_gives_more_than_zcdp)
{
    for (double epsilon = 1e-4; epsilon < 100; epsilon *= 1.7)
        for (double delta = 1e-15; delta < 0.01; delta *= 30) {
            const double rho = budget_rho(ACCOUNTING_GAUSSIAN, epsilon, delta);
            assert_true(rho >= budget_rho(ACCOUNTING_ZCDP, epsilon, delta));
            assert_true(rho < epsilon || delta > 1e-4);
        }
}

/* --- prices ----------------------------------------------------------------------------------- */

static double below(double x)
{
    return erfc(-x * M_SQRT1_2) / 2;
}

/* E max(e^c G - e^epsilon, 0) with ln G ~ N(-v/2, v). */
static double above(double c, double v, double epsilon)
{
    const double w = sqrt(v), x = (c - epsilon) / w;
    if (v <= 0)
        return fmax(exp(c) - exp(epsilon), 0);
    return exp(c) * below(x + w / 2) - exp(epsilon) * below(x - w / 2);
}

/*
 * The delta of n selections, each of range E with two outcomes, the likelier of which has
 * probability `high` under the other table, and each followed by a measurement whose Gaussian a row
 * moves by sqrt(s) deviations.
 */
static double composed(unsigned n, double range, double high, double s, double epsilon)
{
    const double t = -log(high + (1 - high) * exp(-range));
    double delta = 0;
    for (unsigned j = 0; j <= n; j++) {
        const double chosen = lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0) +
                              j * log(high) + (n - j) * log1p(-high);
        delta += exp(chosen) * above(n * t - (n - j) * range, n * s, epsilon);
    }
    return delta;
}

/* What ask_price() asks for a selection and its measurement: of both, and for the latter alone. */
static void price_of(double range, uint64_t m, double *both, double *measuring)
{
    const struct ask ask = {.kind = ASK_SELECT, .multiplier = m, .epsilon = range / 2, .sigma = 1};
    const struct ask_terms terms = {.slack.select = range / 2, .accounting = ACCOUNTING_GAUSSIAN};
    struct ask_price p CLEAN(ask_price_clear);
    ask_price_new(&p);
    OK(ask_price(&p, &ask, &terms, NULL));
    *both = mpq_get_d(p.cost);
    *measuring = mpq_get_d(p.measuring);
}

/*
 * By how much the mechanisms' delta exceeds that of one Gaussian of the price, relatively, at the
 * worst epsilon: `part` of what is asked for selections is paid. Where nothing is measured the
 * selections' part alone has to cover them.
 */
static double excess(unsigned n, double range, double x, double high, bool measured, double part)
{
    const uint64_t m = (uint64_t)(range * 0x1p19 / sqrt(x));
    const double s = (double)m * (double)m * 0x1p-40;
    double both, measuring, paid, worst = -1;
    price_of(range, m, &both, &measuring);
    paid = 2 * n * (part * (both - measuring) + (measured ? measuring : 0));
    for (double k = -1; k <= 6; k += 0.125) {
        const double epsilon = paid / 2 + k * sqrt(paid), one = above(0, paid, epsilon);
        if (epsilon > 0 && epsilon < 200 && one > 1e-11)
            worst = fmax(worst, composed(n, range, high, measured ? s : 0, epsilon) / one - 1);
    }
    return worst;
}

/* The worst of all selections that are tried. Sums of `composed` are good to ten digits. */
static double worst_excess(double part)
{
    static const unsigned times[] = {1, 2, 3, 10, 300};
    double worst = -1;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (double range = 1e-3; range < 10; range *= 3)
            for (double x = 1e-3; x < 20; x *= 2)
                for (double odds = -1.5; odds <= 1; odds += 0.25) {
                    const double high = 1 / (1 + exp(-odds * range));
                    worst = fmax(worst, excess(times[i], range, x, high, true, part));
                    if (x > 1)
                        worst = fmax(worst, excess(times[i], range, x, high, false, part));
                }
    return worst;
}

TEST(a_price_covers_every_composition)
{
    assert_true(worst_excess(1) <= 1e-9);
}

/* And nothing looser than that would do: the test can fail. */
TEST(a_price_ten_per_cent_too_small_does_not)
{
    assert_true(worst_excess(0.9) > 0.01);
}

/* For k rows, all of a price times k^2; for a replaced row four times at most. */
TEST(more_rows_cost_their_square)
{
    for (double range = 1e-2; range < 4; range *= 2)
        for (double x = 1e-3; x < 20; x *= 1.5) {
            const uint64_t m = (uint64_t)(range * 0x1p19 / sqrt(x));
            double one, of_one, k, of_k, replaced, of_replaced;
            price_of(range, m, &one, &of_one);
            price_of(3 * range, 3 * m, &k, &of_k);
            assert_true(k <= 9 * one * (1 + 1e-12));
            price_of(2 * range, (uint64_t)((double)m * M_SQRT2) + 1, &replaced, &of_replaced);
            assert_true(replaced <= 4 * one);
        }
}

/* --- the ledger ------------------------------------------------------------------------------- */

/* However many selections there are, each at an epsilon of its own. */
TEST(a_ledger_stays_short)
{
    const struct ledger_limits limits = {.rho = 10};
    struct ledger *l CLEAN(ledger_free) = NULL, *back CLEAN(ledger_free) = NULL;
    char *text CLEAN(memory_release) = NULL;
    mpq_t cost;
    mpq_init(cost);
    OK(ledger_new(&l, &limits, NULL));
    for (uint64_t k = 0; k < 2000; k++) {
        OK(ledger_select_cost(cost, ACCOUNTING_GAUSSIAN, 0.01 + 1e-6 * (double)k, 1e-7,
                              20001 + 2 * k));
        OK(ledger_debit(l, cost, NULL));
    }
    OK(ledger_text(l, &text));
    assert_true(strlen(text) < 200);
    OK(ledger_parse(&back, text, NULL));
    mpq_clear(cost);
}

/* --- discrete noise --------------------------------------------------------------------------- */

/* A sample j of deviation 2^20 is as likely as the Gaussian that rounds to it, nearly. */
TEST(discrete_samples_are_almost_rounded_gaussians)
{
    for (int64_t j = 0; j < INT64_C(1) << 26; j = 3 * j / 2 + 1) {
        const long double s = 0x1p20L, root = sqrtl(8 * atanl(1)), at = (long double)j;
        const long double rounded = (erfcl((at - 0.5L) / s / M_SQRT2l) -
                                     erfcl((at + 0.5L) / s / M_SQRT2l)) /
                                    2;
        const long double discrete = expl(-at * at / (2 * s * s)) / (s * root);
        assert_true(fabsl(logl(rounded / discrete)) < exp2l(-32.5L) + 0x1p-40L);
    }
}
