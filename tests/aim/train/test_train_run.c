/*
 * Training in the clear: the ledger, what a run learns, the file of a classifier, rows that are
 * shrunk, and rows that are distilled.
 */
#include "harness/cmocka.h"
#include "tests/support/train.h"

#include "aim/budget/budget.h"
#include "aim/run/plaintext.h"
#include "aim/run/train_run.h"
#include "aim/run/trajectory.h"
#include "aim/train/classifier.h"
#include "aim/train/distill.h"
#include "aim/train/shrink.h"

#include <jansson.h>

/* --- a run ------------------------------------------------------------------------------------ */

struct train_lossy {
    struct aim_backend of;
    unsigned lost;        /* this step never arrives */
    unsigned counts_lost; /* how often the counts of classes do not, before they do */
};

static enum err ask_lossy(void *self, const struct ask *a, struct ask_told *told)
{
    struct train_lossy *l = self;
    if (a->kind != ASK_GRADIENT || a->round != l->lost) {
        told->lost = a->kind == ASK_MEASURE ? l->counts_lost : 0;
        return l->of.ask(l->of.self, a, told);
    }
    told->lost = 1;
    return ERR_OK;
}

static struct train_result *
run_with(struct train_scene *s, struct train_options *o, unsigned lost, unsigned counts_lost,
         enum err (*ask)(void *self, const struct ask *a, struct ask_told *told))
{
    struct random r = random_of(11);
    const struct plaintext_noise noise = noise_from_random(&r);
    struct workload *w CLEAN(workload_free) = NULL;
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct train_result *result;
    OK(workload_all(&w, s->domain, 1, NULL));
    OK(plaintext_new(&p, w, s->table, &noise, NULL));
    struct slope *g CLEAN(slope_free) = MADE(slope, slope_new, s->f, s->table);
    plaintext_train(p, g);
    struct train_lossy lossy = {plaintext_backend(p), lost, counts_lost};
    o->features = s->f;
    o->workload = w;
    o->bounds = (struct score_bounds){.bits = 20};
    OK(train_run(&result, o, &(struct aim_backend){.self = &lossy, .ask = ask}, NULL));
    return result;
}

static enum err ask_without_test(void *self, const struct ask *a, struct ask_told *told)
{
    struct train_lossy *l = self;
    told->lost = a->kind == ASK_TEST;
    return told->lost ? ERR_OK : l->of.ask(l->of.self, a, told);
}

static struct train_result *run(struct train_scene *s, struct train_options *o, unsigned lost)
{
    return run_with(s, o, lost, 0, ask_lossy);
}

/* The second class has a + b > 15. */
static void draw_sums(struct train_scene *s, size_t rows)
{
    struct random r = random_of(5);
    for (size_t i = 0; i < rows; i++) {
        const uint16_t a = (uint16_t)random_below(&r, 16), b = (uint16_t)random_below(&r, 16);
        train_row(s, a, a + b > 15, b);
    }
}

/* Debits the counts and the steps of a run; then one step more. */
static void check_ledger(const struct train_scene *s, const struct train_result *r,
                         const struct ledger_limits *limits)
{
    mpq_t cost, all;
    mpz_t moves;
    mpq_inits(cost, all, (mpq_ptr)NULL);
    mpz_init(moves);
    struct ledger *l CLEAN(ledger_free) = MADE(ledger, ledger_new, limits, NULL);
    ledger_measure_cost(cost, (uint64_t)llround(0x1p20 / r->sigma), 1);
    OK(ledger_debit(l, cost, NULL));
    assert_true(mpq_get_d(cost) == r->counts_cost);
    for (unsigned t = 0; t < r->steps; t++) {
        const uint64_t m = r->step[t].multiplier;
        mpz_set_ui(moves, m * m);
        mpz_mul_ui(moves, moves, s->f->r2 * s->f->q2);
        mpq_set_z(cost, moves);
        mpq_div_2exp(cost, cost, 41);
        OK(ledger_debit(l, cost, NULL));
        assert_true(ledger_spent(l) == r->step[t].spent);
    }
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_BUDGET);
    assert_true(ledger_remaining(l) < 1e-3 * limits->rho);
    mpz_clear(moves);
    mpq_clears(cost, all, (mpq_ptr)NULL);
}

TEST(a_run_spends_the_ledger_and_no_more_even_if_a_step_is_lost)
{
    struct train_options o = {.limits = {.rho = 0.5, .epsilon_slack = 1}, .steps = 12};
    struct train_scene s CLEAN(train_end) = train_start(2, 22, 16);
    draw_sums(&s, 3000);
    struct train_result *r CLEAN(train_result_free) = run(&s, &o, 7);
    assert_int_equal(r->steps, 12);
    assert_true(r->step[6].lost && r->step[6].value == NULL && train_length(r, 6) == 0);
    assert_memory_equal(r->step[7].weight, r->step[6].weight, r->weights * sizeof(int16_t));
    assert_true(r->step[7].value != NULL && r->step[6].cost > 0);
    check_ledger(&s, r, &o.limits);
}

/* What a step does to a weight. */
static void move(const struct train_scene *s, const struct train_result *r,
                 const struct train_step *step, uint32_t i, double *w, double *v)
{
    *v = 0.9 * *v -
         r->rate * (double)step->value[i] / ((double)step->multiplier * r->rows * (double)s->f->r2);
    *w += *v;
}

/* W after each of `steps` steps, and as it stays after that: the mean of the last quarter of 12. */
static void check_mean(const struct train_scene *s, const struct train_result *r)
{
    for (uint32_t i = 0; i < r->weights; i++) {
        double w = 0, v = 0, mean = 0;
        for (unsigned t = 0; t < 12; t++) {
            const struct train_step *step = &r->step[t];
            if (t < r->steps)
                move(s, r, step, i, &w, &v);
            mean += t >= 9 ? w / 3 : 0;
        }
        assert_true(fabs(r->weight[i] - mean) < 1e-6 * fmax(1, fabs(mean)));
    }
}

/* Slack is set aside for counts that are lost once: if they are twice, the last step has none. */
TEST(a_run_whose_counts_were_lost_twice_ends_early)
{
    struct train_scene s CLEAN(train_end) = train_start(2, 22, 16);
    draw_sums(&s, 3000);
    for (unsigned lost = 1; lost < 3; lost++) {
        struct train_options o = {
            .limits = {.rho = 0.5, .epsilon_slack = 2 + 12 * features_weights(s.f)},
            .slack = {.marginal = 1},
            .steps = 12};
        struct train_result *r CLEAN(train_result_free) = run_with(&s, &o, UINT32_MAX, lost,
                                                                   ask_lossy);
        assert_int_equal(r->steps, 13 - lost);
        assert_true(r->spent == r->step[r->steps - 1].spent);
        check_mean(&s, r);
    }
}

/* What a run has that another left a part of the budget: its classifier is then the last W. */
TEST(a_run_of_a_few_steps_ends_with_its_last_weights)
{
    struct train_scene s CLEAN(train_end) = train_start(2, 22, 16);
    draw_sums(&s, 3000);
    for (unsigned steps = 1; steps < 4; steps++) {
        struct train_options o = {.limits = {.rho = 0.5, .epsilon_slack = 1}, .steps = steps};
        struct train_result *r CLEAN(train_result_free) = run(&s, &o, UINT32_MAX);
        double w = 0, v = 0;
        for (unsigned t = 0; t < steps; t++)
            move(&s, r, &r->step[t], 0, &w, &v);
        assert_true(fabs(r->weight[0] - w) < 1e-6 * fmax(1, fabs(w)));
    }
}

/* The same answers give the same bits; the order of rows is no part of them. */
TEST(a_run_learns_and_the_order_of_rows_changes_no_bit)
{
    struct train_options o = {.limits = {.rho = 1, .epsilon_slack = 1}, .steps = 40};
    struct train_scene s CLEAN(train_end) = train_start(2, 22, 16);
    struct classifier *c CLEAN(classifier_free) = NULL;
    struct classifier_check check CLEAN(classifier_check_clear);
    draw_sums(&s, 3000);
    struct train_result *r CLEAN(train_result_free) = run(&s, &o, UINT32_MAX);
    for (size_t i = 0, k = s.table->rows - 1; i < k; i++, k--)
        for (size_t a = 0; a < TRAIN_COLUMNS; a++) {
            const uint16_t code = s.table->column[a][i];
            s.table->column[a][i] = s.table->column[a][k];
            s.table->column[a][k] = code;
        }
    struct train_result *again CLEAN(train_result_free) = run(&s, &o, UINT32_MAX);
    assert_memory_equal(r->weight, again->weight, r->weights * sizeof *r->weight);
    OK(classifier_new(&c, s.f, r->weight));
    OK(classifier_check(&check, c, s.table));
    assert_true(check.auc > 0.99 && (double)check.right > 0.85 * (double)check.rows);
    assert_int_equal(check.confused[0] + check.confused[3], check.right);
}

/* The test gets what is set aside for it and what steps left over, and not more than there is. */
TEST(a_test_is_paid_for_with_the_rest)
{
    struct train_options o = {.limits = {.rho = 0.5, .epsilon_slack = 1}, .steps = 12};
    struct train_scene s CLEAN(train_end) = train_start(3, 0, 16);
    train_keep(&s, 4);
    draw_sums(&s, 3000);
    struct train_result *r CLEAN(train_result_free) = run(&s, &o, 7);
    assert_int_equal(r->steps, 12);
    assert_true(r->test.value != NULL && r->test.spent == r->spent);
    assert_true(r->test.cost > TRAIN_TEST * 0.5 && r->test.cost < 1.01 * TRAIN_TEST * 0.5);
    assert_true(r->test.cost == ldexp((double)(r->test.multiplier * r->test.multiplier * 3), -41));
    assert_true(r->spent <= 0.5 && r->spent > 0.4999);
    for (uint32_t i = 0; i < r->weights; i++)
        assert_int_equal(r->test.weight[i], rint(r->weight[i]));
}

TEST(a_test_that_is_lost_or_refused_leaves_the_classifier)
{
    struct train_scene s CLEAN(train_end) = train_start(2, 0, 16);
    train_keep(&s, 4);
    draw_sums(&s, 3000);
    for (unsigned refused = 0; refused < 2; refused++) {
        struct train_options o = {
            .limits = {.rho = 0.5, .epsilon_slack = 1 + 12 * features_weights(s.f) + !refused},
            .slack = {.marginal = 1},
            .steps = 12};
        struct train_result *r CLEAN(train_result_free) = run_with(&s, &o, UINT32_MAX, 0,
                                                                   ask_without_test);
        assert_int_equal(r->steps, 12);
        assert_null(r->test.value);
        assert_int_equal(r->test.multiplier > 0, !refused);
    }
}

/* Eighths of scores of rows that are no, and yes. */
static const double in_bins[2][FEATURES_BINS] = {{.4, .2, .1, .1, .1, .05, .03, .02},
                                                 {.02, .03, .1, .1, .1, .15, .2, .3}};

/* Counts of drawn rows, with noise. */
static void draw_test(struct random *r, uint64_t multiplier, int64_t *value)
{
    for (unsigned i = 0; i < FEATURES_CELLS; i++)
        value[i] = random_gauss(r);
    for (unsigned row = 0; row < 2000; row++) {
        const unsigned own = random_double(r) < 0.4;
        double left = random_double(r);
        unsigned bin = 0;
        while (bin + 1 < FEATURES_BINS && (left -= in_bins[own][bin]) > 0)
            bin++;
        value[2 * bin + own] += (int64_t)multiplier;
    }
}

#define DRAWS 400

/* Over rows and noise that are drawn anew, figures deviate from the truth as much as they say. */
TEST(figures_of_a_test_are_right_and_so_are_their_errors)
{
    const uint64_t multiplier = (1 << 20) / 20; /* noise of 20 rows */
    double auc = 0, accuracy = 0, sum[3] = {0}, squares[3] = {0}, errors[3] = {0}, truth[3];
    struct random r = random_of(3);
    struct train_scene s CLEAN(train_end) = train_start(2, 0, 16);
    train_keep(&s, 4);
    for (unsigned bin = 0; bin < FEATURES_BINS; bin++) {
        for (unsigned other = 0; other <= bin; other++)
            auc += in_bins[1][bin] * in_bins[0][other] * (other < bin ? 1 : 0.5);
        accuracy += bin < 4 ? 0.6 * in_bins[0][bin] : 0.4 * in_bins[1][bin];
    }
    truth[0] = auc;
    truth[1] = accuracy;
    truth[2] = 0.4 * in_bins[1][5] / (0.4 * in_bins[1][5] + 0.6 * in_bins[0][5]);
    for (unsigned i = 0; i < DRAWS; i++) {
        int64_t value[FEATURES_CELLS];
        draw_test(&r, multiplier, value);
        struct tested *t CLEAN(tested_free) = MADE(tested, tested_new, s.f, multiplier, value);
        const struct tested_figure f[] = {t->auc[0], t->accuracy, tested_share(t, 0, 5)};
        for (unsigned k = 0; k < 3; k++) {
            sum[k] += f[k].value / DRAWS;
            squares[k] += f[k].value * f[k].value / DRAWS;
            errors[k] += f[k].error / DRAWS;
        }
    }
    for (unsigned k = 0; k < 3; k++) {
        const double deviation = sqrt(squares[k] - sum[k] * sum[k]);
        assert_true(fabs(sum[k] - truth[k]) < 0.3 * errors[k]);
        assert_in_range(100 * errors[k] / deviation, 80, 120);
    }
}

TEST(a_budget_that_buys_no_step_is_refused)
{
    struct train_scene s CLEAN(train_end) = train_start(2, 240, 16);
    assert_int_equal(train_multiplier(s.f, 60, 1e-6), 0);
    assert_true(train_multiplier(s.f, 60, 1e-2) > 0);
}

TEST(a_request_with_other_weights_is_refused)
{
    struct train_scene s CLEAN(train_end) = train_start(3, 0, 4);
    OK(features_check(s.f, 1, s.weight, 30, 1000, NULL));
    assert_int_equal(features_check(s.f, 1, s.weight, 29, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 0, s.weight, 30, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 1 << 30, s.weight, 30, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 1 << 29, s.weight, 30, UINT32_MAX, NULL), ERR_REFUSED);
    s.weight[4] = -32768;
    assert_int_equal(features_check(s.f, 1, s.weight, 30, 1000, NULL), ERR_REFUSED);
}

/* --- shrinking and distilling ----------------------------------------------------------------- */

TEST(rows_above_the_norm_are_shrunk_as_little_as_fits)
{
    struct train_scene s CLEAN(train_end) = train_start(2, 10, 16);
    train_row(&s, 6, 0, 8);  /* fits: 100 */
    train_row(&s, 15, 1, 0); /* shrinks to 10 */
    train_row(&s, 9, 1, 9);  /* 162: to 7 and 7, at .99^19 */
    assert_int_equal(shrink_rows(s.table, s.f), 2);
    assert_int_equal(s.table->column[0][0], 6);
    assert_int_equal(s.table->column[2][0], 8);
    assert_int_equal(s.table->column[0][1], 10);
    assert_int_equal(s.table->column[0][2], 7);
    assert_int_equal(s.table->column[2][2], 7);
    assert_int_equal(s.table->column[1][2], 1);
    assert_int_equal(shrink_rows(s.table, s.f), 0);
}

/* Weights and gradients of a made-up step. */
static void distill_at(uint32_t classes)
{
    struct random r = random_of(classes);
    struct train_scene s CLEAN(train_end) = train_start(classes, 22, 16);
    double w[64], g[64], rows[9 * 8], slope[9 * 8] = {0}, none[9 * 8];
    double *weight = w, *gradient = g, loss = 0;
    uint32_t label[9];
    size_t n = 9 * s.f->count;
    struct distill_terms t = {
        .features = s.f, .steps = 1, .weight = &weight, .gradient = &gradient};
    for (uint32_t i = 0; i < features_weights(s.f); i++) {
        w[i] = 40 * random_double(&r) - 20;
        g[i] = 1000 * random_double(&r) - 500;
    }
    for (size_t i = 0; i < n; i++)
        rows[i] = random_double(&r) - 0.5;
    for (uint32_t i = 0; i < 9; i++)
        label[i] = i % classes;
    OK(distill_slope(&t, 0, rows, label, 9, slope, &loss));
    for (size_t i = 0; i < n; i++) {
        const double at = rows[i], h = 1e-6;
        double up = 0, down = 0;
        rows[i] = at + h;
        OK(distill_slope(&t, 0, rows, label, 9, none, &up));
        rows[i] = at - h;
        OK(distill_slope(&t, 0, rows, label, 9, none, &down));
        rows[i] = at;
        assert_true(fabs((up - down) / (2 * h) - slope[i]) < 1e-4 * fmax(1, fabs(slope[i])));
    }
}

TEST(distilling_goes_down_its_loss)
{
    distill_at(2);
    distill_at(3);
    distill_at(6);
}

/* A run's files lead to rows whose gradients are those that it opened. */
TEST(rows_are_distilled_from_a_trajectory)
{
    char path[] = "/tmp/test_train_XXXXXX", said[512] = "";
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    struct train_options o = {.limits = {.rho = 1, .epsilon_slack = 1}, .steps = 12};
    struct train_scene s = train_start(2, 22, 16);
    struct trajectory t;
    struct distill_rows d;
    close(mkstemp(path));
    draw_sums(&s, 3000);
    struct train_result *r CLEAN(train_result_free) = run(&s, &o, 7);
    OK(trajectory_save(path, r, s.f, NULL));
    OK(trajectory_load(&t, path, s.f, NULL));
    assert_int_equal(t.steps, 11); /* one was lost */
    assert_true(t.rows == r->rows && t.weight[3][1] == r->step[3].weight[1]);
    assert_true(fabs(t.gradient[6][0] * r->rows * (double)r->step[7].multiplier -
                     (double)r->step[7].value[0]) < 1);
    OK(distill(&d, &(struct distill_terms){.features = s.f,
                                           .steps = t.steps,
                                           .weight = t.weight,
                                           .gradient = t.gradient,
                                           .per_class = 5,
                                           .iterations = 3000,
                                           .seed = 1}));
    assert_int_equal(d.rows, 10);
    assert_int_equal(d.count, 2);
    assert_int_equal(d.label[4] + 10 * d.label[5], 10);
    assert_true(d.loss < 0.05);
    distill_clear(&d);
    trajectory_clear(&t);
    OK(file_write(path, 0600, "{\"format\":\"x\"}", 14, NULL));
    GIVES(trajectory_load(&t, path, s.f, &log), ERR_FORMAT, said, "format must be");
    train_end(&s);
    remove(path);
}

/* --- classifier.json -------------------------------------------------------------------------- */

static void damaged(const char *path, const char *from, const char *to, const char *words)
{
    struct bytes text CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    LOG_INTO(log, said, LOG_ERROR);
    struct classifier *c;
    OK(file_read(path, 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, from);
    assert_non_null(at);
    bytes_put(&other, text.data, (size_t)(at - (const char *)text.data));
    bytes_put_text(&other, to);
    bytes_put_text(&other, at + strlen(from));
    OK(file_write(path, 0600, other.data, other.size, NULL));
    GIVES(classifier_load(&c, path, &log), ERR_FORMAT, said, words);
    OK(file_write(path, 0600, text.data, text.size - 1, NULL));
}

/* Rows to predict need no column that says which rows were kept back. */
TEST(a_classifier_that_was_tested_is_one_without_the_column)
{
    char path[] = "/tmp/test_train_XXXXXX";
    int64_t value[FEATURES_CELLS] = {[0] = 30 << 10, [5] = -(9 << 10), [15] = 50 << 10};
    struct train_scene s = train_start(2, 0, 16);
    struct classifier *c CLEAN(classifier_free) = NULL, *back CLEAN(classifier_free) = NULL;
    double w[18] = {0};
    close(mkstemp(path));
    train_keep(&s, 4);
    assert_int_equal(features_weights(s.f), 18); /* of a, that may be missing, and the bias */
    w[3] = 2048;
    OK(classifier_new(&c, s.f, w));
    OK(tested_new(&c->tested, s.f, 1 << 10, value));
    OK(classifier_save(path, c, NULL));
    OK(classifier_load(&back, path, NULL));
    assert_int_equal(back->domain->attributes, 2);
    assert_true(back->coef[3] == 2 && back->coef[17] == 0.5);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *test = json_object_get(root, "test");
    assert_string_equal(json_string_value(json_object_get(test, "column")), "b");
    assert_string_equal(json_string_value(json_object_get(test, "value")), "9");
    assert_true(json_number_value(json_object_get(test, "rows")) == 71);
    assert_true(json_number_value(json_object_get(test, "accuracy")) == 1); /* cut to that */
    assert_true(json_number_value(
                    json_array_get(json_array_get(json_object_get(test, "counts"), 0), 5)) == -9);
    json_decref(root);
    train_end(&s);
    remove(path);
}

TEST(a_classifier_is_read_back_and_a_damaged_one_is_refused)
{
    char path[] = "/tmp/test_train_XXXXXX";
    struct random r = random_of(9);
    struct train_scene s = train_start(3, 0, 4);
    struct classifier *c CLEAN(classifier_free) = NULL, *back CLEAN(classifier_free) = NULL;
    double *w CLEAN(memory_release) = NULL;
    close(mkstemp(path));
    OK(memory_new(&w, features_weights(s.f)));
    for (uint32_t i = 0; i < features_weights(s.f); i++)
        w[i] = 1000 * random_double(&r) / 3;
    OK(classifier_new(&c, s.f, w));
    c->epsilon = 1;
    c->sigma = 1.0 / 3;
    OK(classifier_save(path, c, NULL));
    OK(classifier_load(&back, path, NULL));
    assert_memory_equal(c->coef, back->coef, features_weights(s.f) * sizeof *w);
    assert_int_equal(back->features->target, 1);
    assert_true(back->sigma == c->sigma && back->epsilon == 1);
    damaged(path, "trefoil-classifier-1", "trefoil-classifier-2", "format");
    damaged(path, "\"target\":\"y\"", "\"target\":\"z\"", "target must be");
    damaged(path, "\"epsilon\":1", "\"epsilon\":-1", "epsilon must be");
    damaged(path, "\"norm\":0", "\"norm\":241", "norm must be");
    damaged(path, "\"norm\":0", "\"norm\":20", "domain has columns");
    damaged(path, "\"coef\":[[", "\"coef\":[[1,", "coef has another length");
    damaged(path, "\"intercept\":[", "\"intercept\":[\"x\",", "intercept has another length");
    damaged(path, "\"domain\":\"", "\"domain\":\"0", "domain must be");
    damaged(path, "\"domain\":\"", "\"domain\":\"00", "domain is cut");
    train_end(&s);
    remove(path);
}
