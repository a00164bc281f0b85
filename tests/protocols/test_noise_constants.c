/*
 * protocols/: the constants of coins, and what ledgers charge for them, against the same at 320
 * bits.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "protocols/discrete.h"
#include "protocols/exponential.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "protocols/tape.h"

#include <gmp.h>

/* --- coin constants --------------------------------------------------------------------------- */

/* e^(2^i) by its series, at 256 bits; for i > 0 by squaring. */
static void exp_of_power(mpf_t out, int i)
{
    mpf_t term, x;
    mpf_inits(term, x, NULL);
    mpf_set_ui(x, 1);
    if (i < 0)
        mpf_div_2exp(x, x, (mp_bitcnt_t)-i);
    mpf_set_ui(out, 1);
    mpf_set_ui(term, 1);
    for (unsigned k = 1; k < 80; k++) {
        mpf_mul(term, term, x);
        mpf_div_ui(term, term, k);
        mpf_add(out, out, term);
    }
    for (int k = 0; k < i; k++)
        mpf_mul(out, out, out);
    mpf_clears(term, x, NULL);
}

/* |constant - 2^64 / divisor| <= 1/2 */
static bool is_nearest(uint64_t constant, const mpf_t divisor)
{
    mpf_t error, half;
    mpf_inits(error, half, NULL);
    mpf_set_d(half, 0.5);
    mpf_set_ui(error, 1);
    mpf_mul_2exp(error, error, 64);
    mpf_div(error, error, divisor);
    mpf_ui_sub(error, (unsigned long)constant, error);
    mpf_abs(error, error);
    bool nearest = mpf_cmp(error, half) <= 0;
    mpf_clears(error, half, NULL);
    return nearest;
}

/* Also that a constant one unit off would be noticed. */
static void assert_nearest(uint64_t constant, const mpf_t divisor)
{
    assert_true(is_nearest(constant, divisor));
    assert_false(is_nearest(constant + 1, divisor));
    assert_false(constant > 0 && is_nearest(constant - 1, divisor));
}

TEST(coin_constants_are_rounded_to_nearest)
{
    mpf_t e;
    mpf_init(e);
    for (int c = 0; c < EXPONENTIAL_COINS; c++) {
        exp_of_power(e, EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS + c);
        mpf_add_ui(e, e, 1);
        assert_nearest(exponential_coin[c], e);
    }
    mpf_clear(e);
}

/* exp(-2^(i-41)) = 1 / e^(2^(i-41)) */
TEST(discrete_constants_are_rounded_to_nearest)
{
    mpf_t e;
    mpf_init(e);
    for (int i = 0; i < DISCRETE_SQUARE_BITS; i++) {
        exp_of_power(e, i - 41);
        assert_nearest(discrete_coin[i], e);
    }
    mpf_clear(e);
}

/* round(2^60 sqrt(2)) */
TEST(the_root_of_two_is_rounded_to_nearest)
{
    mpf_t e;
    mpf_init(e);
    mpf_set_d(e, 0.5); /* 2^64 / sqrt(2^7) is the same */
    mpf_mul_2exp(e, e, 8);
    mpf_sqrt(e, e);
    assert_nearest(gauss_root_of_two, e);
    mpf_clear(e);
}

/* --- slack ------------------------------------------------------------------------------------ */

/* |constant / 2^64 - 1 / divisor| */
static double distance(uint64_t constant, const mpf_t divisor)
{
    mpf_t exact, stored;
    mpf_inits(exact, stored, NULL);
    mpf_ui_div(exact, 1, divisor);
    mpf_set_ui(stored, (unsigned long)constant);
    mpf_div_2exp(stored, stored, 64);
    mpf_sub(exact, exact, stored);
    double d = fabs(mpf_get_d(exact));
    mpf_clears(exact, stored, NULL);
    return d;
}

/* The coin of weight 2^i, in a table that starts at weight 2^from; below it 1/2. */
static double digit_distance(int i)
{
    const int lowest = EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS;
    mpf_t e;
    mpf_init(e);
    exp_of_power(e, i);
    mpf_add_ui(e, e, 1);
    double d = distance(i < lowest ? (uint64_t)1 << 63 : exponential_coin[i - lowest], e);
    mpf_clear(e);
    return d;
}

/* The ledgers' charge covers the very constants that the circuits use, and is not much larger. */
TEST(slack_covers_the_constants)
{
    double exponential = exp(-64), discrete = exp(-64);
    mpf_t e;
    mpf_init(e);
    for (int i = -EXPONENTIAL_LOWEST; i <= EXPONENTIAL_TOP; i++)
        exponential += digit_distance(i);
    for (int i = -20; i <= EXPONENTIAL_TOP; i++)
        discrete += digit_distance(i);
    for (int i = 0; i < DISCRETE_SQUARE_BITS; i++) {
        exp_of_power(e, i - 41);
        discrete += distance(discrete_coin[i], e);
    }
    discrete *= 2 / 0.760;
    mpf_clear(e);
    print_message(
        "# total variation: exponential 2^%.1f of 2^%.1f charged, discrete 2^%.1f of 2^%.1f\n",
        log2(exponential), log2(exponential_tau()), log2(discrete), log2(discrete_tau()));
    assert_true(exponential <= exponential_tau() && exponential_tau() < 8 * exponential);
    assert_true(discrete <= discrete_tau() && discrete_tau() < 8 * discrete);
    assert_true(gumbel_tau() >= exponential_tau() + 0x1p-68);
    assert_true(gumbel_epsilon() >= 8 * gumbel_error());
    /* the theorem's d, for an error charged twice */
    const double d = 2 * 2 * gauss_error() * 0x1p20 * (1 + 12 * 0x1p-20);
    assert_true(gauss_epsilon() > 2 * log((1 + d) / (1 - d)) && gauss_epsilon() < 4.01 * d);
    assert_true(gauss_error() <= 0x1p-44); /* and well within what was asked for */
}

/* --- ratios ----------------------------------------------------------------------------------- */

/* |ln (t / 2^64) / q| of a constant against q = 1 / divisor, and of the complements. */
static double log_ratio(uint64_t constant, const mpf_t divisor, bool complement)
{
    mpf_t exact, stored;
    mpf_inits(exact, stored, NULL);
    mpf_ui_div(exact, 1, divisor);
    mpf_set_ui(stored, (unsigned long)constant);
    mpf_div_2exp(stored, stored, 64);
    if (complement) {
        mpf_ui_sub(exact, 1, exact);
        mpf_ui_sub(stored, 1, stored);
    }
    mpf_sub(stored, stored, exact);
    mpf_div(stored, stored, exact);
    double d = fabs(log1p(mpf_get_d(stored)));
    mpf_clears(exact, stored, NULL);
    return d;
}

/* For a digit of weight 2^i, the worse of its two values, or that of 0. */
static double digit_ratio(int i, bool may_be_set)
{
    const int lowest = EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS;
    uint64_t constant = i < lowest ? (uint64_t)1 << 63 : exponential_coin[i - lowest];
    mpf_t e;
    mpf_init(e);
    exp_of_power(e, i);
    mpf_add_ui(e, e, 1);
    double set = log_ratio(constant, e, false);
    double unset = log_ratio(constant, e, true);
    mpf_clear(e);
    return may_be_set ? fmax(set, unset) : unset;
}

TEST(ratios_cover_the_constants)
{
    double discrete = 0;
    mpf_t e;
    for (int top = 3; top <= EXPONENTIAL_TOP; top++) {
        double sum = exponential_tail();
        for (int i = -EXPONENTIAL_LOWEST; i <= EXPONENTIAL_TOP; i++)
            sum += digit_ratio(i, i <= top);
        print_message("# ratio below 2^%d: 2^%.1f of 2^%.1f charged\n", top + 1, log2(sum),
                      log2(exponential_ratio(top)));
        assert_true(sum <= exponential_ratio(top) && exponential_ratio(top) < 8 * sum);
    }
    mpf_init(e);
    for (int i = -20; i <= EXPONENTIAL_TOP; i++)
        discrete += digit_ratio(i, i <= 3);
    for (int i = 0; i < DISCRETE_SQUARE_BITS; i++) {
        exp_of_power(e, i - 41);
        if (discrete_coin[i] > 0)
            discrete += log_ratio(discrete_coin[i], e, false);
        else /* no such value: it is at least s + 2^(i / 2) */
            assert_true(2 * exp(-pow(1 + ldexp(sqrt(ldexp(1, i)), -20), 2) / 2) <=
                        discrete_tail() * (1 + 1e-9));
    }
    mpf_clear(e);
    assert_true(2 * discrete <= discrete_ratio() && discrete_ratio() < 4 * discrete);
    assert_true(tape_ratio(NOISE_DISCRETE).epsilon > 2 * discrete_ratio());
    assert_true(tape_ratio(NOISE_BOX_MULLER).epsilon >
                gauss_epsilon() + 2 * exponential_ratio(EXPONENTIAL_TOP));
}

/*
 * P(E >= t) for the circuit's digits, from the constants; and e^-t. t has the digits of `high`,
 * then those of `low`.
 */
static void survival(mpf_t circuit, mpf_t exact, uint64_t high, uint64_t low)
{
    const int lowest = EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS;
    mpf_t same, p, e;
    mpf_inits(same, p, e, NULL);
    mpf_set_ui(same, 1); /* P(all digits so far equal those of t) */
    mpf_set_ui(circuit, 0);
    mpf_set_ui(exact, 1);
    for (int k = EXPONENTIAL_DIGITS - 1; k >= 0; k--) {
        int i = k - EXPONENTIAL_LOWEST;
        bool digit = k >= 64 ? high >> (k - 64) & 1 : low >> k & 1;
        mpf_set_ui(p,
                   (unsigned long)(i < lowest ? (uint64_t)1 << 63 : exponential_coin[i - lowest]));
        mpf_div_2exp(p, p, 64);
        mpf_mul(e, same, p);
        if (!digit)
            mpf_add(circuit, circuit, e); /* larger here */
        mpf_sub(same, same, e);
        if (digit) {
            mpf_set(same, e);
            exp_of_power(e, i);
            mpf_div(exact, exact, e);
        }
    }
    mpf_add(circuit, circuit, same);
    mpf_clears(same, p, e, NULL);
}

/*
 * The bound on P(E >= t) in the proof of the selection: within e^c of e^-t for t <= 18, and nowhere
 * far above.
 */
TEST(survival_is_close_in_ratio)
{
    const double low = exponential_ratio(4), all = exponential_ratio(5);
    const double c = 1.01 * (low + all * exp(-14) + exp(-46) + 0x1p-90);
    uint64_t random = 7;
    double worst = 0;
    mpf_t circuit, exact;
    mpf_inits(circuit, exact, NULL);
    for (unsigned n = 0; n < 600; n++) {
        /* t of any size: an integer part below 64, or leading zeros */
        uint64_t high = three_random(&random) >> 30 >> (n % 2 ? 0 : n % 34),
                 digits = three_random(&random);
        double t = ldexp((double)high, -28), ratio;
        survival(circuit, exact, high, digits);
        mpf_div(circuit, circuit, exact);
        mpf_sub_ui(circuit, circuit, 1);
        ratio = mpf_get_d(circuit);
        assert_true(ratio <= expm1(all));
        if (t <= 18) {
            assert_true(fabs(ratio) <= c);
            worst = fmax(worst, fabs(ratio));
        }
    }
    print_message("# P(E >= t), t <= 18: off by 2^%.1f of the proof's 2^%.1f\n", log2(worst),
                  log2(c));
    assert_true(gumbel_ratio(1000) < 1e-4);
    /* every term matters where there are most candidates */
    const double m = GUMBEL_CANDIDATES_MAX;
    assert_true(gumbel_ratio(m) > (m + 1) * c + exp(m * all - 18) + exp2(-13.99));
    assert_true(gumbel_missed(m, 1) >= exp(m * all + 1) * 2 * 0x1p-78);
    mpf_clears(circuit, exact, NULL);
}

int main(void)
{
    mpf_set_default_prec(320);
    return support_run_tests(NULL, NULL);
}
