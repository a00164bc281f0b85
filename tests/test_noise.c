/*
 * protocols/: exponential, Gaussian and Gumbel samples. The coins are reconstructed in the harness,
 * so that the circuits' error is checked against long double on every sample, and the distributions
 * by chi-square, moments and tails. TREFOIL_LONG=1 takes a hundred times the samples.
 */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/ring.h"
#include "protocols/coin.h"
#include "protocols/discrete.h"
#include "protocols/exponential.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "tests/support_three.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- coin constants ----------------------------------------------------------------------------
 */

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
static void assert_nearest(uint64_t constant, const mpf_t divisor)
{
    mpf_t error, half;
    mpf_inits(error, half, NULL);
    mpf_set_d(half, 0.5);
    mpf_set_ui(error, 1);
    mpf_mul_2exp(error, error, 64);
    mpf_div(error, error, divisor);
    mpf_ui_sub(error, (unsigned long)constant, error);
    mpf_abs(error, error);
    assert_true(mpf_cmp(error, half) <= 0);
    mpf_clears(error, half, NULL);
}

static void coin_constants_are_rounded_to_nearest(void **state)
{
    mpf_t e;
    (void)state;
    mpf_set_default_prec(320);
    mpf_init(e);
    for (int c = 0; c < EXPONENTIAL_COINS; c++) {
        exp_of_power(e, EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS + c);
        mpf_add_ui(e, e, 1);
        assert_nearest(exponential_coin[c], e);
    }
    mpf_clear(e);
}

/* exp(-2^(i-41)) = 1 / e^(2^(i-41)) */
static void discrete_constants_are_rounded_to_nearest(void **state)
{
    mpf_t e;
    (void)state;
    mpf_set_default_prec(320);
    mpf_init(e);
    for (int i = 0; i < DISCRETE_SQUARE_BITS; i++) {
        exp_of_power(e, i - 41);
        assert_nearest(discrete_coin[i], e);
    }
    mpf_clear(e);
}

/* --- running -----------------------------------------------------------------------------------
 */

struct batch {
    size_t pairs;
    struct three_result low, high, u, sign, z, rounded, gumbel;
};

static enum err make_gauss(struct party *p, void *shared)
{
    struct batch *b = shared;
    struct gauss_coins coins;
    struct share128 z;
    struct share64 rounded;
    struct planes low, high;
    TRY(gauss_coins_new(p, &coins, b->pairs));
    low = planes_view(&coins.e, 0, 64);
    high = planes_view(&coins.e, 64, EXPONENTIAL_DIGITS - 64);
    three_put_planes(&b->low, p, &low);
    three_put_planes(&b->high, p, &high);
    three_put_planes(&b->u, p, &coins.u);
    three_put_planes(&b->sign, p, &coins.sign);
    TRY(share128_new(&z, 2 * b->pairs));
    TRY(share64_new(&rounded, 2 * b->pairs));
    TRY(gauss_evaluate(p, z, &coins));
    three_put128(&b->z, p, z);
    TRY(gauss_round(p, rounded, z));
    three_put64(&b->rounded, p, rounded);
    gauss_coins_free(&coins);
    share128_free(&z);
    share64_free(&rounded);
    return ERR_OK;
}

static enum err make_gumbel(struct party *p, void *shared)
{
    struct batch *b = shared;
    struct planes e, low, high;
    struct share64 g;
    TRY(planes_new(&e, EXPONENTIAL_DIGITS, b->pairs));
    TRY(share64_new(&g, b->pairs));
    TRY(exponential_sample(p, &e));
    low = planes_view(&e, 0, 64);
    high = planes_view(&e, 64, EXPONENTIAL_DIGITS - 64);
    three_put_planes(&b->low, p, &low);
    three_put_planes(&b->high, p, &high);
    TRY(gumbel_evaluate(p, g, &e));
    three_put64(&b->gumbel, p, g);
    planes_free(&e);
    share64_free(&g);
    return ERR_OK;
}

static void batch_new(struct batch *b, size_t pairs)
{
    memset(b, 0, sizeof *b);
    b->pairs = pairs;
    assert_int_equal(three_result_new(&b->low, pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->high, pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->u, pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->sign, 2 * pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->z, 2 * pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->rounded, 2 * pairs), ERR_OK);
    assert_int_equal(three_result_new(&b->gumbel, pairs), ERR_OK);
}

static void batch_free(struct batch *b)
{
    struct three_result *all[] = {&b->low, &b->high,    &b->u,     &b->sign,
                                  &b->z,   &b->rounded, &b->gumbel};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        three_result_free(all[i]);
}

static size_t batches(void)
{
    const char *wanted = getenv("TREFOIL_LONG");
    return wanted != NULL && strcmp(wanted, "1") == 0 ? 400 : 4;
}

#define PAIRS 4096

/* E from its digits; 64 of the 98 digits fit in a long double, the leading ones by construction */
static long double exponential_of(const struct batch *b, size_t i)
{
    word128 digits = three_xor(&b->high, i) << 64 | three_xor(&b->low, i);
    return ldexpl((long double)(uint64_t)(digits >> 64), 64 - EXPONENTIAL_LOWEST) +
           ldexpl((long double)(uint64_t)digits, -EXPONENTIAL_LOWEST);
}

struct moments {
    double n, sum[5];
    double cells[64];
    double beyond[6];
};

static void observe(struct moments *m, double x)
{
    double power = 1;
    m->n++;
    for (int k = 1; k <= 4; k++)
        m->sum[k] += power *= x;
    for (int k = 1; k <= 5; k++)
        m->beyond[k] += fabs(x) > k;
}

/* a statistic within 5 of its standard deviations */
static void assert_close(double observed, double expected, double deviation)
{
    if (!(fabs(observed - expected) <= 5 * deviation))
        print_error("observed %g, expected %g +- %g\n", observed, expected, deviation);
    assert_true(fabs(observed - expected) <= 5 * deviation);
}

/* Equal shares in 64 cells of equal probability. */
static void assert_even(const double cells[64], double n)
{
    double chi = 0;
    for (int k = 0; k < 64; k++)
        chi += (cells[k] - n / 64) * (cells[k] - n / 64) / (n / 64);
    assert_close(chi, 63, sqrt(2 * 63.0));
}

/* Moments to the fourth, tails to five deviations, chi-square. */
static void assert_unit_gaussian(const struct moments *z)
{
    assert_close(z->sum[1] / z->n, 0, sqrt(1 / z->n));
    assert_close(z->sum[2] / z->n, 1, sqrt(2 / z->n));
    assert_close(z->sum[3] / z->n, 0, sqrt(15 / z->n));
    assert_close(z->sum[4] / z->n, 3, sqrt(96 / z->n));
    for (int k = 1; k <= 5; k++) {
        double p = erfc(k / sqrt(2.0));
        /* with few samples the far tails are a Poisson count: at least the bound stays honest */
        assert_close(z->beyond[k], z->n * p, fmax(sqrt(z->n * p), 1));
    }
    assert_even(z->cells, z->n);
}

static int gaussian_cell(double x)
{
    return (int)fmin(63, 64 * 0.5 * erfc(-x / sqrt(2.0)));
}

/* --- Gaussians ---------------------------------------------------------------------------------
 */

static void gaussians_are_right_to_their_stated_error(void **state)
{
    struct moments z = {0}, e_moments = {0};
    double cross = 0, cross_squares = 0, worst = 0;
    const long double unit = ldexpl(1, -GAUSS_PRODUCT_BITS), half_pi = acosl(0.0L);
    (void)state;
    for (size_t round = 0; round < batches(); round++) {
        struct batch b;
        batch_new(&b, PAIRS);
        assert_int_equal(three_run(1000 + round, make_gauss, &b, NULL), ERR_OK);
        assert_true(three_replicated(&b.z, 128) && three_replicated(&b.rounded, 64));
        for (size_t i = 0; i < PAIRS; i++) {
            long double e = exponential_of(&b, i), r = sqrtl(2 * e), got[2];
            long double angle = half_pi * ldexpl((long double)(uint64_t)three_xor(&b.u, i), -52);
            double lattice[2];
            for (unsigned k = 0; k < 2; k++) {
                size_t at = i + k * PAIRS;
                long double exact = r * (k == 0 ? cosl(angle) : sinl(angle));
                if (three_xor(&b.sign, at) & 1)
                    exact = -exact;
                got[k] = (long double)(__int128)three_sum128(&b.z, at) * unit;
                worst = fmax(worst, (double)fabsl(got[k] - exact));
                lattice[k] = (double)(int64_t)three_sum64(&b.rounded, at) * 0x1p-20;
                assert_true(fabsl(lattice[k] - got[k]) <= 0x1p-20L); /* one floor, one unit */
                observe(&z, lattice[k]);
                z.cells[gaussian_cell(lattice[k])]++;
            }
            observe(&e_moments, (double)e);
            cross += lattice[0] * lattice[1];
            cross_squares += (lattice[0] * lattice[0] - 1) * (lattice[1] * lattice[1] - 1);
        }
        batch_free(&b);
    }
    print_message("# worst error of %g Gaussians: 2^%.2f (stated 2^%.0f)\n", z.n, log2(worst),
                  log2(GAUSS_ERROR));
    assert_true(worst < GAUSS_ERROR);
    assert_unit_gaussian(&z);
    assert_close(cross / (z.n / 2), 0, sqrt(2 / z.n));
    assert_close(cross_squares / (z.n / 2), 0, sqrt(8 / z.n));
    assert_close(e_moments.sum[1] / e_moments.n, 1, sqrt(1 / e_moments.n));
    assert_close(e_moments.sum[2] / e_moments.n, 2, sqrt(20 / e_moments.n));
}

/* The same streams through gauss_sample: partners stand side by side. */
static enum err make_sample(struct party *p, void *shared)
{
    struct batch *b = shared;
    struct share64 out;
    TRY(share64_new(&out, 2 * b->pairs));
    TRY(gauss_sample(p, out));
    three_put64(&b->z, p, out);
    share64_free(&out);
    return ERR_OK;
}

static void partners_stand_side_by_side(void **state)
{
    struct batch b;
    (void)state;
    batch_new(&b, 100);
    assert_int_equal(three_run(5, make_gauss, &b, NULL), ERR_OK);
    assert_int_equal(three_run(5, make_sample, &b, NULL), ERR_OK);
    for (size_t i = 0; i < b.pairs; i++)
        for (size_t k = 0; k < 2; k++)
            assert_true(three_sum64(&b.z, 2 * i + k) == three_sum64(&b.rounded, k * b.pairs + i));
    batch_free(&b);
}

/* --- discrete Gaussians -------------------------------------------------------------------------- */

static enum err make_discrete(struct party *p, void *shared)
{
    struct batch *b = shared;
    struct share64 out;
    enum err e;
    TRY(share64_new(&out, 2 * b->pairs));
    e = discrete_sample(p, out);
    three_put64(&b->rounded, p, out);
    share64_free(&out);
    return e;
}

static void discrete_gaussians_have_their_distribution(void **state)
{
    struct moments z = {0};
    double candidates = 0, lowest_bits = 0;
    (void)state;
    for (size_t round = 0; round < batches(); round++) {
        struct batch b;
        struct three_costs costs;
        batch_new(&b, PAIRS);
        assert_int_equal(three_run(3000 + round, make_discrete, &b, &costs), ERR_OK);
        assert_true(three_replicated(&b.rounded, 64));
        candidates += (double)costs.opened_values[OPEN_REJECT_BIT];
        for (size_t i = 0; i < 2 * PAIRS; i++) {
            int64_t y = (int64_t)three_sum64(&b.rounded, i);
            double x = (double)y * 0x1p-20;
            observe(&z, x);
            lowest_bits += (double)(y & 1);
            z.cells[gaussian_cell(x)]++;
        }
        batch_free(&b);
    }
    assert_true(candidates < z.n / 0.70 && candidates > z.n / 0.80);
    assert_close(lowest_bits / z.n, 0.5,
                 0.5 / sqrt(z.n)); /* every integer, not a coarser lattice */
    assert_unit_gaussian(&z);
}

/* --- uniform numbers ----------------------------------------------------------------------------- */

struct uniform {
    uint64_t bound;
    struct three_result out;
};

static enum err make_uniform(struct party *p, void *shared)
{
    struct uniform *u = shared;
    struct share64 out;
    enum err e;
    TRY(share64_new(&out, u->out.n));
    e = coin_uniform(p, out, u->bound);
    three_put64(&u->out, p, out);
    share64_free(&out);
    return e;
}

static void uniform_numbers_are_uniform_below_their_bound(void **state)
{
    static const uint64_t bounds[] = {1, 2, 3, 5, 8, 64, 100, (uint64_t)1 << 61};
    (void)state;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        struct uniform u = {.bound = bounds[k]};
        double cells[128] = {0}, n = 20000, chi = 0, kinds = fmin(100, (double)bounds[k]);
        assert_int_equal(three_result_new(&u.out, (size_t)n), ERR_OK);
        assert_int_equal(three_run(k, make_uniform, &u, NULL), ERR_OK);
        assert_true(three_replicated(&u.out, 64));
        for (size_t i = 0; i < u.out.n; i++) {
            uint64_t v = three_sum64(&u.out, i);
            assert_true(v < bounds[k]);
            cells[(size_t)((word128)v * (word128)kinds / bounds[k])]++;
        }
        for (int c = 0; c < kinds; c++)
            chi += (cells[c] - n / kinds) * (cells[c] - n / kinds) / (n / kinds);
        assert_close(chi, kinds - 1, sqrt(2 * kinds) + 1);
        three_result_free(&u.out);
    }
    {
        struct uniform u = {.bound = 0};
        assert_int_equal(three_result_new(&u.out, 1), ERR_OK);
        assert_int_equal(three_run(1, make_uniform, &u, NULL), ERR_RANGE);
        three_result_free(&u.out);
    }
}

/* --- Gumbel ------------------------------------------------------------------------------------
 */

static void gumbels_are_right_to_their_stated_error(void **state)
{
    double n = 0, sum = 0, squares = 0, cells[64] = {0}, worst = 0;
    (void)state;
    for (size_t round = 0; round < batches(); round++) {
        struct batch b;
        batch_new(&b, PAIRS);
        assert_int_equal(three_run(2000 + round, make_gumbel, &b, NULL), ERR_OK);
        assert_true(three_replicated(&b.gumbel, 64));
        for (size_t i = 0; i < PAIRS; i++) {
            long double exact = -logl(exponential_of(&b, i));
            double g = (double)(int64_t)three_sum64(&b.gumbel, i) * 0x1p-24;
            worst = fmax(worst, (double)fabsl(g - exact));
            n++;
            sum += g;
            squares += g * g;
            cells[(int)fmin(63, 64 * exp(-exp(-g)))]++;
        }
        batch_free(&b);
    }
    print_message("# worst error of %g Gumbels: %.3f of the stated bound\n", n,
                  worst / GUMBEL_ERROR);
    assert_true(worst < GUMBEL_ERROR);
    assert_close(sum / n, 0.57721566, sqrt(1.6449341 / n));
    /* E g^2 = pi^2/6 + gamma^2; its deviation from the fourth moment is below 5.5 */
    assert_close(squares / n, 1.6449341 + 0.3331779, 5.5 / sqrt(n));
    assert_even(cells, n);
}

/* Chosen exponentials: the ends of the range, powers of two, all digits set. */
static enum err edge_gumbels(struct party *p, void *shared)
{
    struct batch *b = shared;
    struct planes e;
    struct share64 g;
    TRY(planes_new(&e, EXPONENTIAL_DIGITS, b->pairs));
    TRY(share64_new(&g, b->pairs));
    for (size_t i = 0; i < b->pairs; i++)
        for (unsigned k = 0; k < EXPONENTIAL_DIGITS; k++) {
            /* lane i: the leading one at digit i + 24 (2^-68), then none, all, or alternating */
            unsigned lead = (unsigned)(i / 3) + EXPONENTIAL_LOWEST - 68;
            uint64_t digit = k == lead || (k < lead && (i % 3 == 1 || (i % 3 == 2 && k % 2)));
            struct planes lane = planes_view(&e, k, 1);
            if (p->index == 0)
                lane.a[i / 64] |= digit << (i % 64);
            if (p->index == 2)
                lane.b[i / 64] |= digit << (i % 64);
        }
    if (p->index == 0) {
        struct planes low = planes_view(&e, 0, 64),
                      high = planes_view(&e, 64, EXPONENTIAL_DIGITS - 64);
        three_put_planes(&b->low, p, &low);
        three_put_planes(&b->high, p, &high);
    }
    TRY(gumbel_evaluate(p, g, &e));
    three_put64(&b->gumbel, p, g);
    planes_free(&e);
    share64_free(&g);
    return ERR_OK;
}

static void gumbels_hold_over_the_whole_range(void **state)
{
    struct batch b;
    double worst = 0;
    (void)state;
    batch_new(&b, 3 * (68 + EXPONENTIAL_TOP + 1));
    assert_int_equal(three_run(1, edge_gumbels, &b, NULL), ERR_OK);
    for (size_t i = 0; i < b.pairs; i++) {
        double g = (double)(int64_t)three_sum64(&b.gumbel, i) * 0x1p-24;
        worst = fmax(worst, (double)fabsl(g + logl(exponential_of(&b, i))));
        assert_true(fabs(g) < GUMBEL_MAX);
    }
    assert_true(worst < GUMBEL_ERROR);
    batch_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coin_constants_are_rounded_to_nearest),
        cmocka_unit_test(gaussians_are_right_to_their_stated_error),
        cmocka_unit_test(discrete_constants_are_rounded_to_nearest),
        cmocka_unit_test(discrete_gaussians_have_their_distribution),
        cmocka_unit_test(uniform_numbers_are_uniform_below_their_bound),
        cmocka_unit_test(partners_stand_side_by_side),
        cmocka_unit_test(gumbels_are_right_to_their_stated_error),
        cmocka_unit_test(gumbels_hold_over_the_whole_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
