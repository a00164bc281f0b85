/*
 * mpc/pair/own_noise.c: samples against their laws. At the real parameters by the statistics that
 * all noise is tested by, on small grids value by value, where a wrong coin or a second zero shows;
 * Gumbels against the exact function at both ends of what one sample stands for.
 */
#include "harness/cmocka.h"

#include "mpc/pair/own_noise.h"
#include "tests/support/statistics.h"

#define SAMPLES ((size_t)1 << 18)

static void assert_verdict(const struct statistics_distribution *d, const double *x)
{
    struct statistics_verdict v = {.p = 1};
    statistics_shape(&v, d, x, SAMPLES);
    statistics_pairs(&v, d, x, SAMPLES);
    if (v.p < VERDICT_LEAST)
        print_error("%s: p = %g\n", v.statistic, v.p);
    assert_true(v.p >= VERDICT_LEAST);
}

static double *scaled(const uint64_t *word, double unit)
{
    double *x = memory_array(SAMPLES, sizeof *x);
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = (double)(int64_t)word[i] * unit;
    return x;
}

static uint64_t *gaussians(struct random r, const struct own_sigma *sigma)
{
    uint64_t *word = memory_array(SAMPLES, sizeof *word);
    own_gauss(&r, sigma, word, SAMPLES);
    return word;
}

TEST(gaussians_have_both_deviations)
{
    uint64_t *whole CLEAN(memory_release) = gaussians(random_of(1), &own_sigma_whole);
    uint64_t *fifth CLEAN(memory_release) = gaussians(random_of(2), &own_sigma_fifth);
    double *z CLEAN(memory_release) = scaled(whole, 0x1p-20);
    double *y CLEAN(memory_release) = scaled(fifth, 5 * 0x1p-20);
    assert_verdict(&statistics_gaussian, z);
    assert_verdict(&statistics_gaussian, y);
}

/* The chi-square of each value up to 4 sigma, as a normal deviate. */
static double deviate_of(const struct own_sigma *sigma, uint64_t seed)
{
    const double width = ldexp(1 / (double)sigma->divisor, (int)sigma->grid);
    const int most = (int)(4 * width);
    double weight[65] = {0}, count[65] = {0}, total = 0, chi = 0;
    uint64_t *word CLEAN(memory_release) = gaussians(random_of(seed), sigma);
    assert_true(most <= 32);
    for (int z = -100; z <= 100; z++) {
        const double w = exp(-z * z / (2 * width * width));
        total += w;
        if (abs(z) <= most)
            weight[z + most] = w;
    }
    for (size_t i = 0; i < SAMPLES; i++)
        if (llabs((int64_t)word[i]) <= most)
            count[(int64_t)word[i] + most]++;
    for (int k = 0; k <= 2 * most; k++) {
        const double mean = weight[k] / total * (double)SAMPLES;
        chi += (count[k] - mean) * (count[k] - mean) / mean;
    }
    return (chi - (2 * most + 1)) / sqrt(2 * (2 * most + 1));
}

TEST(small_gaussians_have_each_value_as_often_as_they_should)
{
    static const struct own_sigma four = {2, 1, 2}, fine = {3, 5, 1}, coarse = {4, 3, 3};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        assert_true(fabs(deviate_of(&four, seed)) < 5);
        assert_true(fabs(deviate_of(&fine, seed)) < 5);
        assert_true(fabs(deviate_of(&coarse, seed)) < 5); /* t needs not be near */
    }
}

TEST(gumbels_have_their_law)
{
    uint64_t *word CLEAN(memory_release) = memory_array(SAMPLES, sizeof *word);
    struct random r = random_of(3);
    own_gumbel(&r, word, SAMPLES);
    double *g CLEAN(memory_release) = scaled(word, 0x1p-24);
    assert_verdict(&statistics_gumbel, g);
}

/* -ln(-ln(1 - u)) of both ends of a cell, U / 2^128 and (U + 1) / 2^128. */
static void assert_close(uint64_t high, uint64_t low)
{
    const double got = (double)own_gumbel_of(high, low) * 0x1p-24;
    for (int end = 0; end <= 1; end++) {
        const long double u = ldexpl((long double)high, -64) +
                              ldexpl((long double)low + (end == 1), -128);
        const long double rest = ldexpl((long double)~high, -64) +
                                 ldexpl((long double)~low + (end == 0), -128);
        const long double v = u < 0.5L ? -log1pl(-u) : -logl(rest);
        assert_true(fabsl(got + logl(v)) < OWN_GUMBEL_ERROR);
    }
}

TEST(gumbels_are_right_wherever_the_error_bound_covers_them)
{
    struct random r = random_of(4);
    for (unsigned bits = 0; bits < 64; bits++)
        for (unsigned k = 0; k < 200; k++) {
            const uint64_t some = random_u64(&r), high = (some | UINT64_C(1) << 63) >> bits;
            assert_close(high, random_u64(&r));
            assert_close(~high, random_u64(&r));
            if (bits <= 38) { /* U is 2^25 at least */
                assert_close(0, high);
                assert_close(UINT64_MAX, ~high);
            }
        }
    assert_close(0, UINT64_C(1) << 25);
    assert_close(UINT64_MAX, UINT64_MAX - (UINT64_C(1) << 19));
    assert_close(UINT64_MAX >> 1, UINT64_MAX);
    assert_close(UINT64_C(1) << 63, 0);
}

TEST(no_gumbel_is_beyond_its_bound)
{
    assert_true(own_gumbel_of(0, 0) > (int64_t)89 << 24);
    assert_true(own_gumbel_of(0, 0) < (int64_t)OWN_GUMBEL_MAX << 24);
    assert_true(own_gumbel_of(UINT64_MAX, UINT64_MAX) > -((int64_t)5 << 24));
}
