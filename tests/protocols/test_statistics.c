/*
 * The statistics by which noise is tested, tried on samples: right ones pass, and ones that are
 * wrong in the ways that noise goes wrong fail. Samples are made in the clear here;
 * tests/protocols/test_noise.c tests those of the servers.
 */
#include "harness/cmocka.h"

#include "aim/budget/grid.h"
#include "protocols/discrete.h"
#include "protocols/exponential.h"
#include "tests/support/statistics.h"

/*
 * The number that `make test` takes of each kind; what fails here fails even more with a million.
 */
#define SAMPLES ((size_t)1 << 18)

static double *samples(int64_t (*sample)(struct random *r), int bits, uint64_t seed)
{
    double *x = memory_array(SAMPLES, sizeof *x);
    struct random r = random_of(seed);
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = ldexp((double)sample(&r), -bits);
    return x;
}

static double *gaussians(uint64_t seed)
{
    return samples(random_gauss, AIM_GAUSS_BITS, seed);
}

static struct statistics_verdict judge(const struct statistics_distribution *d, const double *x)
{
    struct statistics_verdict v = {.p = 1};
    statistics_shape(&v, d, x, SAMPLES);
    statistics_pairs(&v, d, x, SAMPLES);
    return v;
}

static void assert_passes(struct statistics_verdict v)
{
    if (v.p < VERDICT_LEAST)
        print_error("%s: p = %g\n", v.statistic, v.p);
    assert_true(v.p >= VERDICT_LEAST);
}

TEST(right_samples_pass)
{
    struct random r = random_of(4);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double *z CLEAN(memory_release) = gaussians(seed),
                  *g CLEAN(memory_release) = samples(random_gumbel, AIM_GUMBEL_BITS, seed);
        assert_passes(judge(&statistics_gaussian, z));
        assert_passes(judge(&statistics_gumbel, g));
    }
    double *z CLEAN(memory_release) = gaussians(4);
    random_normals(&r, z, SAMPLES - 1); /* the last stays */
    assert_passes(judge(&statistics_gaussian, z));
}

/* p-values are themselves uniform, roughly: neither never nor always small. */
TEST(verdicts_are_honest)
{
    double small = 0;
    for (uint64_t seed = 100; seed < 108; seed++) {
        double *z CLEAN(memory_release) = gaussians(seed);
        struct statistics_verdict v = judge(&statistics_gaussian, z);
        small += v.p < 0.02; /* some 30 statistics */
    }
    assert_true(small >= 1 && small <= 7);
}

/* --- samples that are wrong ------------------------------------------------------------------- */

static void wider(double *x)
{
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] *= 1.01;
}

static void narrower(double *x)
{
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] *= 0.99;
}

/* No sample beyond 4 deviations, as if a table or a width were too small. */
static void cut(double *x)
{
    for (size_t i = 0; i < SAMPLES; i++)
        while (fabs(x[i]) > 4)
            x[i] /= 2;
}

static void clamp_at_four(double *x)
{
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = fmax(-4, fmin(4, x[i]));
}

static void use_one_pair_twice(double *x)
{
    memcpy(x + 100000, x + 1234, 2 * sizeof *x);
}

static void use_one_sample_for_both(double *x)
{
    for (size_t i = 1; i < SAMPLES; i += 50)
        x[i] = x[i - 1];
}

/* Both of a pair in the same quadrant: one sign bit for two. */
static void share_signs(double *x)
{
    for (size_t i = 0; i < SAMPLES; i += 2)
        x[i + 1] = copysign(x[i + 1], x[i]);
}

/* Neighbours depend on each other: the second of a pair and the first of the next. */
static void shift_pairs(double *x)
{
    share_signs(x);
    memmove(x + 1, x, (SAMPLES - 1) * sizeof *x);
}

static void drift(double *x)
{
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] += 0.02;
}

/* One time in sixteen the noise is half of what it should be. */
static void sometimes_half(double *x)
{
    for (size_t i = 0; i < SAMPLES; i += 16)
        x[i] = x[i] / 2;
}

/* The sum of twelve uniform numbers, which some call Gaussian. */
static void sum_of_uniforms(double *x)
{
    struct random r = random_of(5);
    for (size_t i = 0; i < SAMPLES; i++) {
        x[i] = -6;
        for (int k = 0; k < 12; k++)
            x[i] += random_double(&r);
    }
}

TEST(wrong_gaussians_fail)
{
    static const struct {
        const char *name;
        void (*mutate)(double *x);
    } mutations[] = {{"deviation 1 % too large", wider},
                     {"deviation 1 % too small", narrower},
                     {"tails cut at 4 deviations", cut},
                     {"tails clamped at 4 deviations", clamp_at_four},
                     {"a pair used twice", use_one_pair_twice},
                     {"a partner used for both, sometimes", use_one_sample_for_both},
                     {"one sign for a pair", share_signs},
                     {"one sign for neighbours of two pairs", shift_pairs},
                     {"a mean of 0.02", drift},
                     {"half the noise, sometimes", sometimes_half},
                     {"the sum of twelve uniform numbers", sum_of_uniforms}};
    for (size_t k = 0; k < sizeof mutations / sizeof *mutations; k++) {
        double *z CLEAN(memory_release) = gaussians(k);
        mutations[k].mutate(z);
        struct statistics_verdict v = judge(&statistics_gaussian, z);
        if (v.p >= VERDICT_LEAST)
            print_error("%s is not seen: %s, p = %g\n", mutations[k].name, v.statistic, v.p);
        assert_true(v.p < VERDICT_LEAST);
        print_message("# %s: %s, p = %.1g\n", mutations[k].name, v.statistic, v.p);
    }
}

TEST(wrong_gumbels_fail)
{
    static void (*const mutations[])(double *x) = {
        wider, narrower, drift, use_one_pair_twice, use_one_sample_for_both, sum_of_uniforms};
    for (size_t k = 0; k < sizeof mutations / sizeof *mutations; k++) {
        double *g CLEAN(memory_release) = samples(random_gumbel, AIM_GUMBEL_BITS, k);
        mutations[k](g);
        assert_true(judge(&statistics_gumbel, g).p < VERDICT_LEAST);
    }
}

/* --- coins with a wrong constant -------------------------------------------------------------- */

/*
 * Coins as protocols/coin.c flips them, but in the clear; and how likely their frequencies are with
 * the correct constants.
 */
static struct statistics_verdict flip(const uint64_t *constant, const uint64_t *right, size_t coins)
{
    double ones[EXPONENTIAL_COINS] = {0}, p[EXPONENTIAL_COINS];
    struct statistics_verdict v = {.p = 1};
    struct random r = random_of(3);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t c = 0; c < coins; c++)
            ones[c] += random_u64(&r) < constant[c];
    for (size_t c = 0; c < coins; c++)
        p[c] = ldexp((double)right[c], -64);
    statistics_digits(&v, ones, p, coins, (double)SAMPLES);
    return v;
}

/*
 * A constant replaced by its neighbour: each one that differs enough for this many samples to tell.
 */
TEST(wrong_constants_fail)
{
    static const struct {
        const uint64_t *constant;
        size_t coins, from, to;
    } kinds[] = {{exponential_coin, EXPONENTIAL_COINS, 57, EXPONENTIAL_COINS - 2},
                 {discrete_coin, DISCRETE_SQUARE_BITS, 38, 44}};
    for (size_t k = 0; k < 2; k++) {
        uint64_t wrong[EXPONENTIAL_COINS];
        memcpy(wrong, kinds[k].constant, kinds[k].coins * sizeof *wrong);
        assert_passes(flip(wrong, kinds[k].constant, kinds[k].coins));
        for (size_t c = kinds[k].from; c < kinds[k].to; c++) {
            wrong[c] = kinds[k].constant[c + 1];
            assert_true(flip(wrong, kinds[k].constant, kinds[k].coins).p < VERDICT_LEAST);
            wrong[c] = kinds[k].constant[c];
        }
    }
}
