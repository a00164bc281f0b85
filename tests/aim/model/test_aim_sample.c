/*
 * aim/sample, base/random, and what they draw: frequencies by chi-square, moments and tails.
 * Each statistic is also run on a sampler that is wrong on purpose, which it must find.
 * TREFOIL_LONG=1 draws twenty times as many.
 */
#include "harness/cmocka.h"
#include "harness/model.h"
#include "tests/support/domain.h"

#include "aim/budget/grid.h"
#include "aim/model/model_private.h"
#include "aim/model/sample.h"
#include "aim/run/plaintext.h"
#include "aim/workload/tabulate.h"

static size_t draws(size_t n)
{
    const char *is_long = getenv("TREFOIL_LONG");
    return is_long != NULL && strcmp(is_long, "1") == 0 ? 20 * n : n;
}

/* Chi-square as standard deviations above its mean (Wilson and Hilferty). */
static double surprise(double chi, double degrees)
{
    double a = 2 / (9 * degrees);
    return (cbrt(chi / degrees) - (1 - a)) / sqrt(a);
}

/* --- Gaussians and Gumbels ------------------------------------------------------------------- */

enum sample_wrong { RIGHT, WIDER, SHIFTED, CUT, TWELVE };

static double draw_gauss(struct random *r, enum sample_wrong wrong)
{
    double x = ldexp((double)random_gauss(r), -AIM_GAUSS_BITS);
    if (wrong == TWELVE) { /* a sum of uniforms: right moments, no tails */
        x = -6;
        for (int i = 0; i < 12; i++)
            x += random_double(r);
    }
    if (wrong == CUT && fabs(x) > 3.5)
        x = copysign(3.5, x);
    return wrong == WIDER ? 1.02 * x : wrong == SHIFTED ? x + 0.02 : x;
}

static double draw_gumbel(struct random *r, enum sample_wrong wrong)
{
    double x = ldexp((double)random_gumbel(r), -AIM_GUMBEL_BITS);
    if (wrong == CUT && x > 9)
        x = 9;
    return wrong == WIDER ? 1.02 * x : wrong == SHIFTED ? x + 0.02 : x;
}

static double gauss_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double gumbel_below(double x)
{
    return exp(-exp(-x));
}

/* The largest of: chi-square over 64 even bins, and each tail's count, in standard deviations. */
static double judge(double (*draw)(struct random *, enum sample_wrong), double (*below)(double),
                    const double *tail, size_t tails, enum sample_wrong wrong, size_t n)
{
    enum { BINS = 64 };
    double count[BINS] = {0}, beyond[8] = {0}, chi = 0, worst;
    struct random r = random_of(11 + wrong);
    for (size_t i = 0; i < n; i++) {
        double x = draw(&r, wrong);
        count[(size_t)fmin(BINS - 1, below(x) * BINS)]++;
        for (size_t t = 0; t < tails; t++)
            beyond[t] += tail[t] > 0 ? x > tail[t] : x < tail[t];
    }
    for (int b = 0; b < BINS; b++) {
        double expected = (double)n / BINS;
        chi += (count[b] - expected) * (count[b] - expected) / expected;
    }
    worst = fabs(surprise(chi, BINS - 1));
    for (size_t t = 0; t < tails; t++) {
        double p = tail[t] > 0 ? 1 - below(tail[t]) : below(tail[t]), expected = p * (double)n;
        worst = fmax(worst, fabs(beyond[t] - expected) / sqrt(expected));
    }
    return worst;
}

TEST(gaussians_are_gaussian)
{
    static const double tail[] = {-4, -3.6, -3, 3, 3.6, 4};
    size_t n = draws(1000000);
    assert_true(judge(draw_gauss, gauss_below, tail, 6, RIGHT, n) < 4.5);
    for (enum sample_wrong wrong = WIDER; wrong <= TWELVE; wrong++)
        assert_true(judge(draw_gauss, gauss_below, tail, 6, wrong, n) > 5.5);
}

TEST(gumbels_are_gumbel)
{
    static const double tail[] = {-2.2, -1.9, 6, 8, 9.5, 10};
    size_t n = draws(1000000);
    assert_true(judge(draw_gumbel, gumbel_below, tail, 6, RIGHT, n) < 4.5);
    for (enum sample_wrong wrong = WIDER; wrong <= CUT; wrong++)
        assert_true(judge(draw_gumbel, gumbel_below, tail, 6, wrong, n) > 5.5);
}

TEST(gaussians_have_their_moments)
{
    double power[5] = {0}, n = (double)draws(1000000), pairs = 0, last = 0;
    struct random r = random_of(3);
    for (size_t i = 0; i < (size_t)n; i++) {
        double x = draw_gauss(&r, RIGHT);
        for (int k = 1; k <= 4; k++)
            power[k] += pow(x, k) / n;
        pairs += x * last / n; /* sine and cosine of the same pair */
        last = x;
    }
    assert_true(fabs(power[1]) < 4.5 / sqrt(n));
    assert_true(fabs(power[2] - 1) < 4.5 * sqrt(2 / n));
    assert_true(fabs(power[3]) < 4.5 * sqrt(15 / n));
    assert_true(fabs(power[4] - 3) < 4.5 * sqrt(96 / n));
    assert_true(fabs(pairs) < 4.5 / sqrt(n));
}

/* --- selection ------------------------------------------------------------------------------- */

/* chi-square of selections among m candidates against the exact softmax of their scores. */
static double selection_chi(size_t m, size_t trials, double error)
{
    static const int64_t counts[64] = {0};
    struct random r = random_of(21);
    struct plaintext_noise noise = noise_from_random(&r);
    struct workload_query query = {.cells = 2};
    struct workload w = {.queries = 1, .query = &query, .cells = 2};
    uint32_t queries[16] = {0};
    uint64_t estimate[64] = {0}, scale[16], penalty[16];
    const struct ask_price price = {.plan.shift = 26, .scale = scale, .penalty = penalty};
    const struct ask ask = {.kind = ASK_SELECT,
                            .queries = (uint32_t)m,
                            .query = queries,
                            .estimate = estimate,
                            .price = &price};
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    double weight[16], sum = 0, seen[16] = {0}, chi = 0;
    for (size_t i = 0; i < m; i++) { /* the multiplier makes 1/1024 of a score 2^-10 of a unit */
        scale[i] = 1 << 16;
        penalty[i] = 300 * i;
        weight[i] = exp(-(double)penalty[i] / 1024 * error);
        sum += weight[i];
    }
    OK(plaintext_new_counts(&p, &w, counts, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    for (size_t i = 0; i < trials; i++) {
        struct ask_told told CLEAN(told_clear) = {0};
        OK(backend.ask(backend.self, &ask, &told));
        seen[told.selected]++;
    }
    for (size_t i = 0; i < m; i++) {
        double expected = (double)trials * weight[i] / sum;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    return surprise(chi, (double)m - 1);
}

TEST(selections_follow_the_softmax)
{
    size_t trials = draws(200000);
    assert_true(selection_chi(2, trials, 1) < 4.5);
    assert_true(selection_chi(12, trials, 1) < 4.5);
    assert_true(selection_chi(12, trials, 1.05) > 5.5); /* an epsilon that is off by 5 % is found */
}

/* --- rows ------------------------------------------------------------------------------------ */

struct sample_world {
    struct domain *domain;
    struct model *model;
    size_t cells;
    struct clique all;
    double expected[256];
};

static struct sample_world world_new(void)
{
    static const struct clique c[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}, {1, {4}}};
    static const uint32_t size[] = {2, 3, 4, 2, 3};
    struct sample_world w = {.cells = 1, .all = {5, {0, 1, 2, 3, 4}}};
    struct random r = random_of(9);
    w.domain = support_domain(size, 5);
    for (unsigned a = 0; a < 5; a++)
        w.cells *= size[a];
    OK(model_plain(&w.model, w.domain, c, 4, 1000, NULL));
    for (size_t i = 0; i < w.model->parameters; i++)
        w.model->theta[i] = 2 * random_double(&r);
    model_propagate(w.model, true);
    model_set_total(w.model, 1);
    OK(model_marginal(w.model, &w.all, w.expected, NULL));
    return w;
}

static void world_free(struct sample_world *w)
{
    model_free(&w->model);
    domain_free(&w->domain);
}

/* Over all joint cells, from tables of `rows` rows each. */
static double rows_chi(const struct sample_world *w, bool independent, size_t rows, size_t tables)
{
    int64_t counts[256];
    double sum[256] = {0}, chi = 0, n = (double)(rows * tables);
    for (uint64_t seed = 0; seed < tables; seed++) {
        struct table *t CLEAN(table_free) = NULL;
        OK(independent ? sample_independent(&t, w->model, rows, seed, NULL)
                       : sample_rows(&t, w->model, rows, seed, NULL));
        tabulate_marginal(t, &w->all, counts);
        for (size_t i = 0; i < w->cells; i++)
            sum[i] += (double)counts[i];
    }
    for (size_t i = 0; i < w->cells; i++)
        chi += (sum[i] - n * w->expected[i]) * (sum[i] - n * w->expected[i]) / (n * w->expected[i]);
    return surprise(chi, (double)w->cells - 1);
}

/* Measured marginals are right to within a row or so, whatever the number of rows. */
static void check_rounding(const struct sample_world *w)
{
    static const struct clique c[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}, {1, {4}}};
    struct table *t CLEAN(table_free) = MADE(table, sample_rows, w->model, 50000, 1, NULL);
    for (int k = 0; k < 4; k++) {
        double expected[12];
        int64_t counts[12];
        OK(model_marginal(w->model, &c[k], expected, NULL));
        tabulate_marginal(t, &c[k], counts);
        for (uint64_t i = 0; i < clique_cells(&c[k], w->domain); i++)
            assert_true(fabs((double)counts[i] - 50000 * expected[i]) < 3);
    }
}

TEST(rows_follow_the_model)
{
    struct sample_world w CLEAN(world_free) = world_new();
    double sum = 0;
    assert_true(fabs(rows_chi(&w, true, draws(200000), 1)) < 4.5);
    assert_true(fabs(rows_chi(&w, true, 3, draws(20000))) < 4.5);
    /* rounding: small tables drawn many times are unbiased, and scatter less */
    assert_true(fabs(rows_chi(&w, false, 1, draws(40000))) < 4.5);
    assert_true(rows_chi(&w, false, 5, draws(20000)) < 4.5);
    assert_true(rows_chi(&w, false, 200000, 1) < 4.5);
    check_rounding(&w);
    for (size_t i = 0; i < w.cells; i++) /* the test would see a bias of 5 % */
        w.expected[i] *= i % 2 == 0 ? 1.05 : 0.95;
    for (size_t i = 0; i < w.cells; i++)
        sum += w.expected[i];
    for (size_t i = 0; i < w.cells; i++)
        w.expected[i] /= sum;
    assert_true(rows_chi(&w, true, draws(200000), 1) > 5.5);
    assert_true(rows_chi(&w, false, 5, draws(40000)) > 5.5);
}

TEST(the_same_seed_gives_the_same_rows)
{
    struct sample_world w CLEAN(world_free) = world_new();
    for (int independent = 0; independent < 2; independent++) {
        struct table *t[3];
        for (int i = 0; i < 3; i++)
            OK(independent ? sample_independent(&t[i], w.model, 500, i == 2, NULL)
                           : sample_rows(&t[i], w.model, 500, i == 2, NULL));
        for (int a = 0; a < 5; a++)
            assert_memory_equal(t[0]->column[a], t[1]->column[a], 500 * sizeof(uint16_t));
        assert_memory_not_equal(t[0]->column[3], t[2]->column[3], 500 * sizeof(uint16_t));
        for (int i = 0; i < 3; i++)
            table_free(&t[i]);
    }
}
