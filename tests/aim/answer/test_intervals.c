/* Intervals of answers: as wide as noise and gaps make them, and right as often as they say. */
#include "harness/cmocka.h"
#include "harness/model.h"

#include "aim/answer/answer_private.h"
#include "aim/model/model_densities.h"
#include "aim/table/series.h"
#include "base/memory.h"

#define SIGMA 20.0
#define SIZE 4
#define CELLS (SIZE * SIZE)

/* Whole numbers a, b, c, d from 0 to 3; each is measured, and so are a with b, and c with d. */
#define MEASURED 6

struct intervals_world {
    struct domain *domain;
    struct model *model;
    struct model_sums *sums;
    struct errors *errors;
    struct densities inside;
    struct measurement x[MEASURED];
    double y[MEASURED][CELLS], truth[CELLS];
};

/* The same counts for both pairs, so that columns are dependent, or not. */
static void world_new(struct intervals_world *w, double dependence, uint64_t seed)
{
    const struct clique c[MEASURED] = {
        {.n = 1, .attribute = {0}}, {.n = 1, .attribute = {1}},    {.n = 1, .attribute = {2}},
        {.n = 1, .attribute = {3}}, {.n = 2, .attribute = {0, 1}}, {.n = 2, .attribute = {2, 3}}};
    struct model_fitted result;
    struct random r = random_of(seed);
    *w = (struct intervals_world){.domain = NULL};
    OK(domain_new(&w->domain));
    for (int i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        OK(domain_add_integer(w->domain, name, 0, SIZE - 1, NULL, DOMAIN_REJECT, NULL));
    }
    for (int i = 0; i < CELLS; i++)
        w->truth[i] = 1000 * (i / SIZE == i % SIZE ? 1 + 3 * dependence : 1 - dependence);
    for (int k = 0; k < MEASURED; k++) {
        w->x[k] = (struct measurement){.clique = c[k], .sigma = SIGMA, .y = w->y[k]};
        for (int i = 0; i < (k < 4 ? SIZE : CELLS); i++)
            w->y[k][i] = (k < 4 ? 1000 * SIZE : w->truth[i]) +
                         SIGMA * ldexp((double)random_gauss(&r), -RANDOM_GAUSS_BITS);
    }
    OK(model_plain(&w->model, w->domain, c, MEASURED, 1 << 20, NULL));
    model_set_total(w->model, model_estimate_total(w->domain, w->x, MEASURED));
    OK(model_fit(w->model, w->x, MEASURED, 1000, &result, NULL));
    OK(errors_new(&w->errors, w->model, w->x, MEASURED, NULL, NULL));
    OK(model_densities(&w->inside, w->model, NULL));
    OK(model_sums_new(&w->sums, w->model));
}

static void world_free(struct intervals_world *w)
{
    densities_clear(&w->inside);
    model_sums_free(&w->sums);
    errors_free(&w->errors);
    model_free(&w->model);
    domain_free(&w->domain);
}

/* The first item of the first line. */
static struct answer_value ask(const struct intervals_world *w, const char *text, double level)
{
    const struct answer_terms terms = {
        .model = w->sums, .inside = &w->inside, .errors = w->errors, .level = level};
    struct question_text t = {.text = text};
    struct question *q CLEAN(question_free) = MADE(question, question_parse, w->domain, &t, NULL);
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w->sums, &w->inside, q, NULL);
    assert_false(a->value[0].bounded);
    OK(answer_intervals(&a, 1, &terms));
    return a->value[0];
}

#define CELL "SELECT COUNT(*) FROM t WHERE a = 0 AND b = 1"

static double half(struct answer_value v)
{
    assert_true(v.known && v.bounded && v.low <= v.number && v.number <= v.high);
    return (v.high - v.low) / 2;
}

/* A cell covered by one measurement is as uncertain as its noise. */
TEST(a_counts_interval_is_of_its_noise)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0, 1);
    double wide = half(ask(&w, CELL, 0.95));
    double narrow = half(ask(&w, CELL, 0.5));
    assert_true(wide > 0.7 * 1.96 * SIGMA && wide < 1.4 * 1.96 * SIGMA);
    assert_true(narrow / wide > 0.31 && narrow / wide < 0.36); /* of t with 29 degrees: 0.334 */
    assert_true(half(ask(&w, CELL, 0.95)) == wide);
}

/* Noise adds rows to cells that have none: answers are too large, and intervals reach down. */
TEST(rows_of_empty_cells_are_within_the_interval)
{
    int held = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct intervals_world w CLEAN(world_free);
        world_new(&w, 1, seed);
        struct answer_value v = ask(&w, "SELECT COUNT(*) FROM t WHERE a = 0 AND b > 0", 0.95);
        assert_true(v.number > 0);
        held += v.low < 1;
    }
    assert_true(held >= 38);
}

/* Where there is next to nobody, the interval is the one of the noisy count itself. */
TEST(few_rows_have_the_interval_of_their_counts)
{
    int held = 0, alone = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct intervals_world w CLEAN(world_free);
        world_new(&w, 0.982, seed); /* 18 rows in each cell beside the diagonal */
        double y = w.y[4][1];
        struct answer_value v = ask(&w, CELL, 0.95);
        assert_true(fabs(v.high - fmax(v.number, y + 1.959964 * SIGMA)) < 1e-3);
        assert_true(fabs(v.low - fmin(v.number, fmax(0, y - 1.959964 * SIGMA))) < 1e-3);
        held += v.low <= w.truth[1] && w.truth[1] <= v.high;
        w.errors->counts = 0; /* as in a file of an earlier version */
        v = ask(&w, CELL, 0.95);
        alone += v.low <= w.truth[1] && w.truth[1] <= v.high;
        w.errors->counts = MEASURED;
    }
    assert_true(held >= 91);
    assert_true(held > alone);
}

/* A mean of nobody may be anything; one of few rows is known as well as its two sums are. */
TEST(means_of_few_rows_are_wide)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0.999, 3);
    struct answer_value v = ask(&w, "SELECT AVG(b) FROM t WHERE a = 0 AND b > 0", 0.95);
    assert_true(v.bounded && v.low == 1 && v.high == 3);
    v = ask(&w, "SELECT AVG(b) FROM t WHERE a = 0", 0.95);
    assert_true(v.bounded && v.high - v.low < 0.1);
}

/* A quotient is no number of a column, and the conditions on one do not narrow its interval. */
TEST(a_quotient_is_as_uncertain_as_the_mean_that_it_is)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0.1, 1);
    struct answer_value v = ask(&w, "SELECT SUM(b) / COUNT(*) FROM t WHERE a = 0", 0.95);
    struct answer_value mean = ask(&w, "SELECT AVG(b) FROM t WHERE a = 0", 0.95);
    assert_true(v.bounded && v.low < v.number && v.number < v.high);
    assert_true(half(v) > 0.9 * half(mean) && half(v) < 1.1 * half(mean));
}

/* An interval reaches towards counts that say otherwise than the model, but for their own noise. */
TEST(counts_far_from_the_model_widen_an_interval_to_their_side)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0, 1);
    struct answer_value v = ask(&w, CELL, 0.95);
    double *y = &w.errors->count[4].y[1];
    *y = v.number + 10 * SIGMA;
    struct answer_value up = ask(&w, CELL, 0.95);
    *y = v.number - 10 * SIGMA;
    struct answer_value down = ask(&w, CELL, 0.95);
    assert_true(up.number == v.number && up.high > v.number + 9 * SIGMA);
    assert_true(down.number == v.number && down.low < v.number - 9 * SIGMA);
    assert_true(v.high < v.number + 3 * SIGMA && up.low >= v.low && down.high <= v.high);
}

static double world_correlation(const struct intervals_world *w)
{
    double rows = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < CELLS; i++) {
        const double n = w->truth[i], x = i / SIZE, y = i % SIZE;
        rows += n;
        a += n * x;
        b += n * y;
        aa += n * x * x;
        bb += n * y * y;
        ab += n * x * y;
    }
    return (ab * rows - a * b) / sqrt((aa * rows - a * a) * (bb * rows - b * b));
}

/*
 * Of 100 measurements of the same rows, about as many intervals hold the truth as their level
 * promises: they share the 30 draws of noise of their refits, which give a deviation to some 13 %.
 */
TEST(intervals_hold_the_truth_as_often_as_they_say)
{
    static const char *const questions[] = {
        CELL, "SELECT AVG(b) FROM t WHERE a = 0", "SELECT VARIANCE(b) FROM t WHERE a = 0",
        "SELECT SHARE(b = 1) FROM t WHERE a = 0", "SELECT CORR(a, b) FROM t"};
    int held[2][5] = {{0}};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct intervals_world w CLEAN(world_free);
        double rows = 0, mean = 0, square = 0, truth[5];
        world_new(&w, 0.1, seed);
        for (int b = 0; b < SIZE; b++) {
            rows += w.truth[b];
            mean += b * w.truth[b];
            square += b * b * w.truth[b];
        }
        mean /= rows;
        truth[0] = w.truth[1];
        truth[1] = mean;
        truth[2] = square / rows - mean * mean;
        truth[3] = 100 * w.truth[1] / rows;
        truth[4] = world_correlation(&w);
        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 2; k++) {
                struct answer_value v = ask(&w, questions[i], k == 0 ? 0.95 : 0.5);
                assert_true(v.bounded);
                held[k][i] += v.low <= truth[i] && truth[i] <= v.high;
            }
    }
    for (int i = 0; i < 5; i++) {
        assert_true(held[0][i] >= 87);
        assert_true(held[1][i] >= 30 && held[1][i] <= 70);
    }
}

/* a and c were not measured together: it may be as wrong about them as it would be about a, b. */
TEST(what_was_not_measured_widens_an_interval)
{
    static const char apart[] = "SELECT COUNT(*) FROM t WHERE a = 0 AND c = 1",
                      mean[] = "SELECT AVG(c) FROM t WHERE a = 0",
                      share[] = "SELECT SHARE(c = 1) FROM t WHERE a = 0";
    struct intervals_world dependent CLEAN(world_free), not CLEAN(world_free);
    world_new(&dependent, 0.3, 1);
    world_new(&not, 0, 1);
    assert_true(half(ask(&dependent, apart, 0.95)) > 200);
    assert_true(half(ask(&dependent, mean, 0.95)) > 0.1);
    assert_true(half(ask(&dependent, share, 0.95)) > 4);
    assert_true(half(ask(&not, share, 0.95)) < 1.5);
    assert_true(half(ask(&dependent, CELL, 0.95)) < 60);
    assert_true(half(ask(&not, apart, 0.95)) < 60);
    assert_true(half(ask(&not, mean, 0.95)) < 0.1);
    dependent.errors->learned = false; /* as if nothing had been held back */
    assert_false(ask(&dependent, apart, 0.95).bounded);
    assert_false(ask(&dependent, share, 0.95).bounded);
    assert_true(ask(&dependent, CELL, 0.95).bounded);
}

TEST(extremes_leave_out_what_noise_may_have_put_there)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0, 1);
    struct answer_value v = ask(&w, "SELECT MIN(b) FROM t", 0.95);
    assert_true(v.bounded && v.low == 0 && v.number >= 0 && v.high <= 3);
    v = ask(&w, "SELECT MAX(b) FROM t WHERE a = 1", 0.95);
    assert_true(v.bounded && v.high == 3 && v.low <= v.number && v.number <= 3);
    v = ask(&w, "SELECT RANGE(b) FROM t", 0.95);
    assert_true(v.bounded && v.high == 3 && v.low <= v.number);
}

/* How much of a bin a condition takes is uncertain; which numbers remain is not. */
TEST(quantiles_of_refits_stay_within_conditions)
{
    static const double edges[] = {0, 10, 20, 30, 40};
    static double y[] = {1000, 3000, 2000, 500};
    const struct clique c = {.n = 1, .attribute = {0}};
    const struct measurement x = {.clique = c, .sigma = SIGMA, .y = y};
    struct question_text t = {.text = "SELECT PERCENTILE(x, 0.9) FROM t WHERE x BETWEEN 13 AND 16"};
    struct intervals_world w CLEAN(world_free) = {.domain = NULL};
    struct model_fitted result;
    int known = 0;
    OK(domain_new(&w.domain));
    OK(domain_add_numeric(w.domain, "x", edges, 5, NULL, DOMAIN_REJECT, NULL));
    OK(model_plain(&w.model, w.domain, &c, 1, 1 << 20, NULL));
    model_set_total(w.model, 6500);
    OK(model_fit(w.model, &x, 1, 1000, &result, NULL));
    OK(errors_new(&w.errors, w.model, &x, 1, NULL, NULL));
    OK(model_densities(&w.inside, w.model, NULL));
    OK(model_sums_new(&w.sums, w.model));
    struct question *q CLEAN(question_free) = MADE(question, question_parse, w.domain, &t, NULL);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct answer *a CLEAN(answer_free) = NULL;
        struct random r = random_of(seed);
        const struct answer_draw draw = {.errors = w.errors, .random = &r};
        OK(answer_make(&a, w.sums, &w.inside, q, &draw, NULL, NULL));
        if (a->value[0].known)
            assert_true(13 <= a->value[0].number && a->value[0].number <= 16);
        known += a->value[0].known;
    }
    assert_true(known > 30);
}

TEST(intervals_keep_to_what_is_possible)
{
    struct intervals_world w CLEAN(world_free);
    world_new(&w, 0.9999, 1);
    struct answer_value v = ask(&w, CELL, 0.9999); /* almost no rows */
    assert_true(v.bounded && v.low >= 0);
    v = ask(&w, "SELECT CORR(a, b) FROM t", 0.9999);
    assert_true(v.bounded && v.low > 0.9 && v.high <= 1);
    v = ask(&w, "SELECT SHARE(b = 0) FROM t WHERE a = 0", 0.9999);
    assert_true(v.bounded && v.low > 50 && v.high <= 100);
    v = ask(&w, "SELECT MEDIAN(b) FROM t WHERE a = 0", 0.9999);
    assert_true(v.bounded && v.low >= 0 && v.high <= 3);
    v = ask(&w, "SELECT AVG(b) FROM t WHERE a = 0 AND b BETWEEN 1 AND 2", 0.9999);
    assert_true(v.bounded && v.low >= 1 && v.high <= 2);
    v = ask(&w, "SELECT MODE(b) FROM t WHERE a = 2", 0.95);
    assert_true(v.known && v.number == 2 && v.agreed == 1 && v.low == 2 && v.high == 2);
}

/* --- events ----------------------------------------------------------------------------------- */

static struct domain *with_visits(void)
{
    static const double edges[] = {0, 1, 2, 3, 30};
    static const char *const stages[] = {"none", "only", "first", "middle", "last"};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_numeric(d, "visits", edges, 5, NULL, DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_categorical(d, "stage", stages, SERIES_STAGES, NULL, DOMAIN_REJECT, NULL));
    OK(memory_new(&d->series, 1));
    *d->series = (struct series){
        .units = SERIES_UNITS, .stage = 1, .when = SERIES_NO, .gap = SERIES_NO};
    OK(memory_new(&d->series->name, SERIES_NAME));
    strcpy(d->series->name, "visits");
    return d;
}

/* A refit may think so few events are in a bin that none is between the first and the last. */
TEST(refits_count_events_whatever_they_think_of_bins)
{
    const struct clique both = {2, {0, 1}};
    double inside[] = {50, 0};
    struct errors e = {.attributes = 2, .inside = inside};
    struct domain *d CLEAN(domain_free) = with_visits();
    struct model *m CLEAN(model_free) = NULL;
    struct model_sums *sums CLEAN(model_sums_free) = NULL;
    struct densities bins CLEAN(densities_clear) = {0};
    struct question_text t = {.text = "SELECT COUNT(*) FROM visits"};
    OK(model_plain(&m, d, &both, 1, 1 << 20, NULL));
    model_set_total(m, 100 * SERIES_UNITS);
    OK(model_densities(&bins, m, NULL));
    OK(model_sums_new(&sums, m));
    struct question *q CLEAN(question_free) = MADE(question, question_parse, d, &t, NULL);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct random random = random_of(seed);
        const struct answer_draw draw = {&e, &random};
        struct answer *a CLEAN(answer_free) = NULL;
        OK(answer_make(&a, sums, &bins, q, &draw, NULL, NULL));
        assert_true(a->value[0].known && a->value[0].number > 0);
    }
}
