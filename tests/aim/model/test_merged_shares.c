/*
 * aim/model/model_shares.c: each code's share of its group, against integrals and draws by
 * rejection.
 */
#include "harness/cmocka.h"

#include "aim/model/model_private.h"

#define CODES 6 /* of one group; the last one is alone */
#define ROWS 1000.0

struct merged_shares_scene {
    struct domain *domain;
    struct merges merges;
    struct model *model;
    struct measurement x[2];
    double y[CODES + 1];
};

static void scene_clear(struct merged_shares_scene *c)
{
    model_free(&c->model);
    merges_clear(&c->merges);
    domain_free(&c->domain);
}

/* A model of the scene's domain, merged by these counts. */
static void scene_model(struct merged_shares_scene *c, const double *few,
                        const struct workload_zeros *zero)
{
    const double *const counts[] = {few};
    const struct clique clique = {1, {0}};
    OK(merges_choose(&c->merges, c->domain, counts, &(struct merges_least){9, 9}, NULL));
    assert_int_equal(c->merges.groups[0], 2);
    struct model_terms t = {.domain = c->domain,
                            .merges = &c->merges,
                            .clique = &clique,
                            .cliques = 1,
                            .zero = zero,
                            .zeros = zero != NULL,
                            .limit_cells = 1 << 20};
    OK(model_new(&c->model, &t, NULL));
    model_set_total(c->model, ROWS);
    for (unsigned k = 0; k < 2; k++)
        c->x[k] = (struct measurement){.clique = clique, .sigma = 10, .y = c->y};
}

static void scene_new(struct merged_shares_scene *c, const struct workload_zeros *zero)
{
    static const double few[CODES + 1] = {1, 1, 1, 1, 1, 4, 900};
    OK(domain_new(&c->domain));
    OK(domain_add_integer(c->domain, "n", 0, CODES, NULL, DOMAIN_REJECT, NULL));
    scene_model(c, few, zero);
}

/* The mean of a Gaussian around a, restricted to values above 0. */
static double naive_mean(double a, double s)
{
    double sum = 0, all = 0, least = a < 0 ? a * a / (2 * s * s) : 0;
    for (double x = 5e-4 * s; x < fmax(a, 0) + 12 * s; x += 1e-3 * s) {
        const double p = exp(least - (x - a) * (x - a) / (2 * s * s));
        sum += x * p;
        all += p;
    }
    return sum / all;
}

/* How much to subtract from all, so that their means add up to what was measured. */
static double naive_less(const double *y, double s)
{
    double low = 0, high = 1000 * s, sum = 0;
    for (unsigned i = 0; i < CODES; i++)
        sum += y[i];
    for (unsigned k = 0; k < 30; k++) {
        const double less = (low + high) / 2;
        double means = 0;
        for (unsigned i = 0; i < CODES; i++)
            means += naive_mean(y[i] - less, s);
        *(means > fmax(sum, s) ? &low : &high) = less;
    }
    return low;
}

static const double measured[][CODES] = {{3, -12, 25, 0, 7, -4},     {60, 5, 10, -2, 11, -6},
                                         {200, -15, 5, -2, 11, -20}, {-30, -9, -8, 4, 2, -2},
                                         {60, 70, 80, 90, 60, 65},   {-400, 0, 1, 2, 3, 9}};

TEST(codes_have_what_is_expected_of_them_above_0)
{
    struct merged_shares_scene c CLEAN(scene_clear) = {0};
    scene_new(&c, NULL);
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++)
        for (size_t times = 1; times <= 2; times++) { /* measured twice, with less noise */
            const double s = 10 / sqrt((double)times);
            double mean[CODES], sum = 0, less;
            memcpy(c.y, measured[k], sizeof measured[k]);
            less = naive_less(c.y, s);
            OK(shares_learn(c.model, c.x, times, NULL));
            for (unsigned i = 0; i < CODES; i++)
                sum += mean[i] = naive_mean(c.y[i] - less, s);
            for (unsigned i = 0; i < CODES; i++)
                assert_true(fabs(model_share(c.model, 0)[i] - mean[i] / sum) < 1e-4);
            assert_true(model_share(c.model, 0)[CODES] == 1);
        }
}

static double rejected(double a, double s, struct random *r)
{
    for (;;) {
        const double x = a + s * ldexp((double)random_gauss(r), -RANDOM_GAUSS_BITS);
        if (x > 0)
            return x;
    }
}

TEST(what_may_be_of_codes_is_drawn)
{
    static const double near[][CODES] = {{30, 12, 25, 0, 17, -4}, {90, 5, 10, 6, 11, 2}};
    enum { DRAWS = 5000 };
    struct merged_shares_scene c CLEAN(scene_clear) = {0};
    scene_new(&c, NULL);
    struct random r = random_of(9);
    for (size_t k = 0; k < 2; k++) {
        double first[2][CODES] = {{0}}, second[2][CODES] = {{0}}, less;
        memcpy(c.y, near[k], sizeof near[k]);
        less = naive_less(c.y, 10);
        for (unsigned n = 0; n < DRAWS; n++) {
            double x[CODES], sum = 0;
            OK(shares_learn(c.model, c.x, 1, &r));
            for (unsigned i = 0; i < CODES; i++)
                sum += x[i] = rejected(c.y[i] - less, 10, &r);
            for (unsigned i = 0; i < CODES; i++) {
                const double share[] = {model_share(c.model, 0)[i], x[i] / sum};
                for (unsigned by = 0; by < 2; by++) {
                    first[by][i] += share[by] / DRAWS;
                    second[by][i] += share[by] * share[by] / DRAWS;
                }
            }
        }
        for (unsigned i = 0; i < CODES; i++) {
            assert_true(fabs(first[0][i] - first[1][i]) < 0.01);
            assert_true(fabs(sqrt(second[0][i]) - sqrt(second[1][i])) < 0.01);
            assert_true(second[0][i] - first[0][i] * first[0][i] > 1e-5);
        }
    }
}

/* If all codes are alike, each has the same share, however far below 0 they were measured. */
TEST(a_group_of_noise_is_shared_out_evenly)
{
    struct merged_shares_scene c CLEAN(scene_clear) = {0};
    scene_new(&c, NULL);
    for (double y = 100; y > -1e5; y -= 40 + fabs(y)) {
        for (unsigned i = 0; i < CODES; i++)
            c.y[i] = y + (i == 3 ? 1e-3 : 0);
        OK(shares_learn(c.model, c.x, 1, NULL));
        for (unsigned i = 0; i < CODES; i++)
            assert_true(fabs(model_share(c.model, 0)[i] - 1. / CODES) < 1e-4);
    }
}

/* Also far below 0; and what cannot occur has nothing and does not count in the sum. */
TEST(shares_are_some_whatever_was_measured)
{
    const struct workload_zeros none = {
        .clique = {1, {0}}, .cells = 1, .cell = (const uint32_t[]){2}};
    struct merged_shares_scene c CLEAN(scene_clear) = {0};
    double before[CODES];
    scene_new(&c, &none);
    struct random r = random_of(4);
    for (double y = -1e6; y < 0; y /= 3) {
        for (unsigned i = 0; i < CODES; i++)
            c.y[i] = i * y;
        for (unsigned n = 0; n < 20; n++) {
            double sum = 0;
            OK(shares_learn(c.model, c.x, 1, n > 0 ? &r : NULL));
            for (unsigned i = 0; i < CODES; i++) {
                const double share = model_share(c.model, 0)[i];
                assert_true(i == 2 ? share == 0 : n > 0 ? share >= 0 : share > 0);
                sum += share;
            }
            assert_true(fabs(sum - 1) < 1e-9);
        }
        if (y > -1e-3)
            break;
    }
    memcpy(c.y, measured[0], sizeof measured[0]);
    OK(shares_learn(c.model, c.x, 1, NULL));
    memcpy(before, model_share(c.model, 0), sizeof before);
    c.y[2] = 500;
    OK(shares_learn(c.model, c.x, 1, NULL));
    assert_memory_equal(before, model_share(c.model, 0), sizeof before);
}

TEST(labels_of_a_group_need_not_be_neighbours)
{
    static const char *const labels[] = {"a", "b", "c"};
    static const double few[] = {1, 900, 3};
    struct merged_shares_scene c CLEAN(scene_clear) = {0};
    OK(domain_new(&c.domain));
    OK(domain_add_categorical(c.domain, "l", labels, 3, NULL, DOMAIN_REJECT, NULL));
    scene_model(&c, few, NULL);
    memcpy(c.y, (double[]){100, 700, 300}, 3 * sizeof *c.y);
    OK(shares_learn(c.model, c.x, 1, NULL));
    assert_true(fabs(model_share(c.model, 0)[0] - 0.25) < 1e-3);
    assert_true(model_share(c.model, 0)[1] == 1);
    assert_true(fabs(model_share(c.model, 0)[2] - 0.75) < 1e-3);
}
