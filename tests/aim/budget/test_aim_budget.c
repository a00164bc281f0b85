/* aim/budget and base/random: conversions to ten digits, a ledger never exceeded, lattices. */
#include "harness/cmocka.h"

#include "aim/budget/budget.h"

/* Computed with 40 digits by bisection in mpmath. */
TEST(conversions_agree_with_forty_digits)
{
    static const struct {
        double epsilon, delta;
        uint64_t grid; /* rho * 2^40, rounded down */
    } rho[] = {
        {1, 1e-5, 33597331725},  {1, 1e-9, 16463051015},    {0.5, 1e-6, 7302433256},
        {4, 1e-5, 410276147889}, {10, 1e-9, 1199331565396}, {0.01, 1e-9, 2303954},
    };
    static const struct {
        double rho, delta, epsilon;
    } epsilon[] = {
        {0.5, 1e-5, 4.7283869849433138815},
        {0.03125, 1e-9, 1.4696372794728337724},
        {2, 1e-6, 11.688596249354894055},
        {1e-6, 1e-9, 0.0068040608222062185369},
    };
    for (size_t i = 0; i < sizeof rho / sizeof *rho; i++)
        assert_true(budget_rho(ACCOUNTING_ZCDP, rho[i].epsilon, rho[i].delta) ==
                    ldexp((double)rho[i].grid, -40));
    for (size_t i = 0; i < sizeof epsilon / sizeof *epsilon; i++) {
        double r = budget_rho(ACCOUNTING_ZCDP, epsilon[i].epsilon, epsilon[i].delta);
        assert_true(fabs(r - epsilon[i].rho) <= 0x1p-40);
        r = budget_epsilon(epsilon[i].rho, epsilon[i].delta);
        assert_true(r >= epsilon[i].epsilon && r <= epsilon[i].epsilon * (1 + 1e-12));
    }
    assert_true(fabs(budget_rho(ACCOUNTING_ZCDP, 1, 1e-5) - 0.0305566) < 1e-7);
    assert_true(fabs(budget_rho(ACCOUNTING_ZCDP, 1, 1e-9) - 0.01497) < 1e-5);
    assert_true(budget_rho(ACCOUNTING_ZCDP, 0, 1e-5) <= 0 &&
                budget_rho(ACCOUNTING_ZCDP, 1, 0) <= 0 &&
                budget_rho(ACCOUNTING_ZCDP, NAN, 0.1) <= 0);
    assert_true(budget_epsilon(0, 1e-5) <= 0 && isinf(budget_epsilon(1, 1)));
    assert_true(isinf(budget_epsilon(NAN, 0.1)) && isinf(budget_epsilon(1, 0)));
}

TEST(a_plan_sets_the_slack_aside)
{
    struct budget_terms t = {.epsilon = 1,
                             .delta = 1e-5,
                             .rows_per_person = 2,
                             .marginals = 24,
                             .marginal_epsilon_slack = 7.7e-6,
                             .delta_slack = 1e-8};
    struct budget_plan p;
    OK(budget_plan(&t, &p, NULL));
    assert_true(p.limits.epsilon_slack >= 48 * 7.7e-6);
    assert_true(p.epsilon <= 1 - 48 * 7.7e-6);
    assert_true(p.delta <= (1e-5 - 1e-8) * exp(-48 * 7.7e-6 / 2));
    assert_true(p.limits.rho == budget_rho(ACCOUNTING_ZCDP, p.epsilon, p.delta));
    assert_true(p.limits.rho < budget_rho(ACCOUNTING_ZCDP, 1, 1e-5) &&
                p.limits.rho > 0.99 * budget_rho(ACCOUNTING_ZCDP, 1, 1e-5));
    t.delta_slack = 1.01e-7;
    assert_int_equal(budget_plan(&t, &p, NULL), ERR_STUDY);
    t.delta_slack = 0;
    t.marginals = 1000000;
    assert_int_equal(budget_plan(&t, &p, NULL), ERR_STUDY);
    t.marginals = 0;
    t.delta = 1;
    assert_int_equal(budget_plan(&t, &p, NULL), ERR_STUDY);
}

static struct ledger *ledger_of(double rho, unsigned k)
{
    struct ledger_limits limits = {.rho = rho, .rows_per_person = k, .epsilon_slack = 0x1p-10};
    struct ledger *l = MADE(ledger, ledger_new, &limits, NULL);
    return l;
}

TEST(costs_are_exact)
{
    mpq_t cost, expected;
    mpq_inits(cost, expected, (mpq_ptr)NULL);
    ledger_measure_cost(cost, 50000, 14);
    mpq_set_str(expected, "35000000000/2199023255552", 10);
    mpq_canonicalize(expected);
    assert_true(mpq_equal(cost, expected));
    ledger_measure_cost(cost, UINT64_C(1) << 40, 1);
    mpq_set_ui(expected, 1, 1);
    mpq_mul_2exp(expected, expected, 39);
    assert_true(mpq_equal(cost, expected));
    OK(ledger_select_cost(cost, ACCOUNTING_ZCDP, 0.1, 0.25, 1));
    mpq_set_d(expected, 0.1);
    mpq_set_str(cost, "1/4", 10);
    mpq_add(expected, expected, cost);
    mpq_mul(expected, expected, expected);
    mpq_div_2exp(expected, expected, 3);
    OK(ledger_select_cost(cost, ACCOUNTING_ZCDP, 0.1, 0.25, 1));
    assert_true(mpq_equal(cost, expected));
    assert_int_equal(ledger_select_cost(cost, ACCOUNTING_ZCDP, NAN, 0, 1), ERR_RANGE);
    assert_int_equal(ledger_select_cost(cost, ACCOUNTING_ZCDP, 1, -1, 1), ERR_RANGE);
    mpq_clears(cost, expected, (mpq_ptr)NULL);
}

TEST(not_one_unit_above_rho)
{
    struct ledger *l = ledger_of(0.5, 1);
    mpq_t cost;
    mpq_init(cost);
    ledger_measure_cost(cost, 1 << 20, 1); /* exactly 1/2 */
    mpq_set_str(cost, "1/1000000000000000000000000000000000000000000000000", 10);
    OK(ledger_debit(l, cost, NULL));
    ledger_measure_cost(cost, 1 << 20, 1);
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_BUDGET);
    assert_true(ledger_remaining(l) < 0.5 && ledger_remaining(l) > 0.5 - 1e-15);
    mpq_set_si(cost, -1, 2);
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_BUDGET);
    ledger_free(&l);
    /* a person with three rows costs nine times as much */
    l = ledger_of(4.5, 3);
    ledger_measure_cost(cost, 1 << 20, 1);
    OK(ledger_debit(l, cost, NULL));
    assert_true(ledger_remaining(l) <= 0);
    mpq_set_str(cost, "1/99999999999999999999999999", 10);
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_BUDGET);
    ledger_free(&l);
    mpq_clear(cost);
}

TEST(random_schedules_stay_within)
{
    struct random r = random_of(5);
    mpq_t cost, sum, limit;
    mpq_inits(cost, sum, limit, (mpq_ptr)NULL);
    for (int run = 0; run < 100; run++) {
        struct ledger *l CLEAN(ledger_free) = ledger_of(0.0305566, 1);
        mpq_set_ui(sum, 0, 1);
        mpq_set_d(limit, 0.0305566);
        for (int i = 0; i < 60; i++) {
            if (random_u64(&r) & 1)
                ledger_measure_cost(cost, 20000 + random_below(&r, 40000), 1);
            else
                OK(ledger_select_cost(cost, (enum ledger_accounting)(i % 2), random_double(&r) / 10,
                                      1e-7, 20000));
            if (ledger_debit(l, cost, NULL) == ERR_OK)
                mpq_add(sum, sum, cost);
            assert_true(mpq_cmp(sum, limit) <= 0);
        }
        assert_true(ledger_spent(l) == mpq_get_d(sum));
    }
    mpq_clears(cost, sum, limit, (mpq_ptr)NULL);
}

TEST(slack_has_its_own_limit)
{
    struct ledger *l CLEAN(ledger_free) = ledger_of(1, 2);
    OK(ledger_slack(l, 0x1p-12, 0, NULL));
    OK(ledger_slack(l, 0x1p-12, 0, NULL));
    assert_int_equal(ledger_slack(l, 0x1p-80, 0, NULL), ERR_BUDGET);
    assert_int_equal(ledger_slack(l, 0, 1e-300, NULL), ERR_BUDGET);
    assert_int_equal(ledger_slack(l, NAN, 0, NULL), ERR_RANGE);
}

TEST(a_ledger_survives_as_text)
{
    static const char *const bad[] = {"",
                                      "1",
                                      "0 1/1 0/1 0/1 0/1 0/1 0/1",
                                      "1 1/1 2/1 0/1 0/1 0/1 0/1",
                                      "1 2/2 0/1 0/1 0/1 0/1 0/1",
                                      "1 1/1 -1/1 0/1 0/1 0/1 0/1",
                                      "1 1/0 0/1 0/1 0/1 0/1 0/1",
                                      "1 1/1 0/1 0/1 0/1 0/1 0/1 ",
                                      "1 1/1 0/1 0/1 0/1 0/1",
                                      " 1 1/1 0/1 0/1 0/1 0/1 0/1",
                                      "1 1/1  0/1 0/1 0/1 0/1 0/1"};
    struct ledger *l CLEAN(ledger_free) = ledger_of(0.1, 3), *back CLEAN(ledger_free) = NULL;
    struct ledger *copy CLEAN(ledger_free) = NULL;
    char *again, *text CLEAN(memory_release) = NULL;
    mpq_t cost;
    mpq_init(cost);
    OK(ledger_select_cost(cost, ACCOUNTING_ZCDP, 0.01, 1e-7, 1));
    OK(ledger_debit(l, cost, NULL));
    OK(ledger_slack(l, 1e-6, 0, NULL));
    OK(ledger_text(l, &text));
    OK(ledger_parse(&back, text, NULL));
    OK(ledger_text(back, &again));
    assert_string_equal(text, again);
    assert_int_equal(ledger_rows_per_person(back), 3);
    memory_free(&again);
    OK(ledger_copy(&copy, l));
    OK(ledger_debit(l, cost, NULL)); /* the copy does not follow */
    OK(ledger_text(copy, &again));
    assert_string_equal(text, again);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ledger *none;
        assert_int_equal(ledger_parse(&none, bad[i], NULL), ERR_FORMAT);
        assert_null(none);
    }
    memory_free(&again);
    mpq_clear(cost);
}

/* --- random ----------------------------------------------------------------------------------- */

TEST(seeds_decide_everything)
{
    struct random a CLEAN(random_wipe) = random_of(9);
    struct random b = random_of(9);
    for (int i = 0; i < 1000; i++)
        assert_true(random_u64(&a) == random_u64(&b));
    b = random_of(10);
    assert_true(random_u64(&a) != random_u64(&b));
    random_fresh(&a);
    random_fresh(&b);
    assert_true(random_u64(&a) != random_u64(&b));
}

TEST(below_is_even)
{
    struct random r = random_of(1);
    double chi = 0;
    int count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[random_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        chi += (count[i] - 1e4) * (count[i] - 1e4) / 1e4;
    assert_true(chi < 22.5); /* 0.1 % of chi-square with 6 degrees */
    /* n just above 2^63: without rejection the low half would come twice as often */
    for (int i = count[0] = 0; i < 1000; i++) {
        uint64_t n = (UINT64_C(1) << 63) + (UINT64_C(1) << 62), v = random_below(&r, n);
        assert_true(v < n);
        count[0] += v < n / 2;
    }
    assert_in_range(count[0], 430, 570);
}

TEST(gaussians_have_their_moments_and_tails)
{
    enum { N = 200000 };
    static const double cut[] = {-3, -2, -1, 0, 1, 2, 3, 4};
    int below[8] = {0};
    double m1 = 0, m2 = 0, m4 = 0;
    struct random r = random_of(3);
    for (int i = 0; i < N; i++) {
        double z = (double)random_gauss(&r) * 0x1p-20;
        m1 += z;
        m2 += z * z;
        m4 += z * z * z * z;
        for (int c = 0; c < 8; c++)
            below[c] += z < cut[c];
    }
    assert_true(fabs(m1 / N) < 4.5 / sqrt(N));
    assert_true(fabs(m2 / N - 1) < 4.5 * sqrt(2.0 / N));
    assert_true(fabs(m4 / N - 3) < 4.5 * sqrt(96.0 / N));
    for (int c = 0; c < 8; c++) {
        double p = 0.5 * erfc(-cut[c] / sqrt(2));
        assert_true(fabs(below[c] - N * p) < 4.5 * sqrt(N * p * (1 - p)) + 1);
    }
}

TEST(gumbels_have_their_moments_and_tails)
{
    enum { N = 200000 };
    static const double cut[] = {-2, -1, 0, 1, 2, 4, 8};
    int below[7] = {0};
    double m1 = 0, m2 = 0;
    struct random r = random_of(4);
    for (int i = 0; i < N; i++) {
        double g = (double)random_gumbel(&r) * 0x1p-24;
        m1 += g - 0.5772156649015329;
        m2 += (g - 0.5772156649015329) * (g - 0.5772156649015329);
        for (int c = 0; c < 7; c++)
            below[c] += g < cut[c];
    }
    assert_true(fabs(m1 / N) < 4.5 * 1.2826 / sqrt(N));
    assert_true(fabs(m2 / N - 1.6449340668) < 4.5 * 3.45 / sqrt(N)); /* kurtosis 5.4 */
    for (int c = 0; c < 7; c++) {
        double p = exp(-exp(-cut[c]));
        assert_true(fabs(below[c] - N * p) < 4.5 * sqrt(N * p * (1 - p)) + 1);
    }
}
