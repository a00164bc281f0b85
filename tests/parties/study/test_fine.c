/*
 * parties/study/fine: which columns and marginals are finer than noise lets anybody see;
 * parties/study/rounds: how many rounds there should be.
 */
#include "harness/cmocka.h"

#include "harness/study.h"
#include "parties/study/fine.h"
#include "parties/study/rounds.h"

static const char domain[] = "domain:\n"
                             "  - {name: age, kind: integer, min: 0, max: 99}\n"
                             "  - {name: pay, kind: numeric, min: 0, max: 1, bins: 62}\n"
                             "  - {name: size, kind: numeric, min: 0, max: 1, bins: 63}\n"
                             "  - {name: sex, kind: categorical, values: [f, m]}\n";

/* The advice for a study with that domain and all its pairs, with this many groups of ages. */
static char *said_of(double rows, double sigma, uint32_t ages)
{
    struct domain_attribute grouped[4];
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .domain = domain, .rounds = 1,
                                                             .epsilon = 4);
    memcpy(grouped, s.study->domain->attribute, sizeof grouped);
    grouped[0].size = ages;
    fine_print(out, s.study, &(struct domain){.attributes = 4, .attribute = grouped}, rows, sigma);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *said(double rows, double sigma)
{
    return said_of(rows, sigma, 100);
}

static void expect(const char *text, const char *words, bool there)
{
    if ((strstr(text, words) != NULL) != there)
        fail_msg("\"%s\" is %sin:\n%s", words, there ? "not " : "", text);
}

/* Two deviations of noise are at most half of a bin's rows; with one bin more they are not. */
TEST(so_many_bins_have_enough_rows)
{
    for (double rows = 100; rows < 1e6; rows *= 3)
        for (double sigma = 1; sigma < 200; sigma *= 2) {
            const uint32_t most = fine_values_most(rows, sigma);
            assert_true(most == 2 || 2 * sigma <= rows / most / 2 * (1 + 1e-9));
            assert_true(most == DOMAIN_SIZE_MAX || 2 * sigma > rows / (most + 1) / 2);
        }
    assert_int_equal(fine_values_most(5000, 20), 62);
    assert_int_equal(fine_values_most(10, 1000), 2);
}

TEST(columns_that_are_too_fine_are_named)
{
    char *text CLEAN(memory_release) = said(5000, 20);
    expect(text,
           "  age: 100 values of about 50 rows, each with noise of +-40:\n"
           "    80 % of them; with 62 bins it would be 50 %\n",
           true);
    expect(text, "  size: 63 bins of about 79.4 rows", true);
    expect(text, "  pay: ", false);
    expect(text, "  sex: ", false); /* labels are not bins */
    expect(text, "room for 62 bins", true);
    /* 0.8 * 20 * 63 * 100 is more than 5000, and 0.8 * 20 * 200 is less */
    expect(text,
           "  3 of 6 marginals of the workload have an error of 1 or more from noise\n"
           "    alone; the finest, age x size, has 6300 cells for 5000 rows.\n"
           "    Pairs of columns of 8 bins each would have 0.25, and do better\n",
           true);
    free(text);
    text = said_of(5000, 20, 50);
    expect(text, "the finest, pay x size, has 3906 cells for 5000 rows", true);
    free(text);
    text = said(2000, 20);
    expect(text,
           "age: 100 values of about 20 rows, each with noise of +-40:\n    more than is there; "
           "with 25 bins it would be 50 %\n",
           true);
    free(text);
    text = said(100, 20);
    expect(text, "more than is there, and too few rows for bins at this budget\n", true);
    free(text);
    text = said(1e6, 1);
    expect(text, "+-", false);
    expect(text, " marginals of the workload", false);
}

/* --- rounds ----------------------------------------------------------------------------------- */

struct made {
    double factor;
    unsigned columns, most; /* rounds that the budget allows for */
};

static bool noise_bought(const void *self, unsigned rounds, double *noise)
{
    const struct made *m = self;
    *noise = m->factor * sqrt((double)rounds + m->columns);
    return rounds <= m->most;
}

static double error_at(const struct made *m, unsigned rounds, double dependence, double reach)
{
    const double noise = m->factor * sqrt((double)rounds + m->columns);
    return dependence * exp(-(double)rounds / reach) + 0.25 * noise / (1 + noise / 2);
}

/* Errors there are within a thousandth of those at the best number of all. */
static void expect_best(const struct made *m, unsigned rounds, double dependence, double reach)
{
    double least = INFINITY;
    for (unsigned t = 1; t <= m->most; t++)
        least = fmin(least, error_at(m, t, dependence, reach));
    assert_true(error_at(m, rounds, dependence, reach) <= least * 1.001);
}

TEST(rounds_are_advised_where_errors_are_least)
{
    /* adult, nursery and mushroom at epsilon 1; body, whose pairs are large */
    static const struct made made[] = {
        {0.0237, 14, 1000}, {0.0033, 9, 1000}, {0.0149, 22, 60}, {0.53, 12, 1000}};
    struct rounds_advice a;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        const struct made *m = &made[i];
        assert_true(rounds_advise(&a, &(struct rounds_noise){noise_bought, m}, m->columns));
        assert_true(a.least <= a.about && a.about <= a.most && a.most <= m->most);
        expect_best(m, a.least, 0.05, 0.6 * m->columns);
        expect_best(m, a.most, 0.5, 1.2 * m->columns);
    }
    assert_false(
        rounds_advise(&a, &(struct rounds_noise){noise_bought, &(struct made){1, 5, 0}}, 5));
}
