/*
 * bench/bench_train.c - classifiers of `method: train` in the clear, beside others on the same
 * features and with the same budget (bench/rivals.h).
 *
 *   bench_train [--json FILE] [--seeds N] [--only adult|fmnist] [--figure KEY] [--smoke]
 *
 * Keys, all at delta 1e-5 in Gaussian terms, means over the seeds with .._se, their standard error:
 *   adult.auc, .auc_eps03      AUC of income at epsilon 1 and .3: 13 columns of at most 42 codes,
 *                              from rows whose number modulo 5 is not 4, tried on the others
 *   .._chosen, .rate..         the same with the rate that the last fifth of the training rows
 *                              chooses, and that rate
 *   adult.no_noise             the same without noise
 *   adult.central_softmax, .fedsgd_local, .fedavg_local   rivals at epsilon 1
 *   adult.pairs_auc, .pairs_auc_eps03, .pairs_auc_eps01   naive Bayes on noisy pairs
 *   adult.aim_rows_auc         this model, without noise, from rows that annealed AIM made
 *   fmnist.accuracy, .accuracy_eps279, .no_noise, .distilled, .distilled_clamped
 *                              Fashion-MNIST by 252 public features (bench/hog.h)
 *   fmnist.central_softmax, .fedsgd_local, .fedavg_local  rivals at epsilon 2.79; five owners of
 *                              two classes each
 *   .._rate                    of a rival: what the last fifth of the training rows chooses
 *   fmnist.upload_bytes_row    what an owner sends of an image
 *   adult.server_cpu_s, fmnist.server_cpu_s   CPU seconds of a server in a run of 60 steps between
 *                              three processes (bench/gradient.h), without a check
 *   rounds_step                exchanges of a step there, statements included
 *   split_equal, bits_equal    1: rows in another order, or another run, give the same bits
 *   vertical_equal             1: so do rows whose columns two owners hold, joined by their keys
 *   wrapped                    how many scores wrapped
 *
 * With --figure there is that key of a table alone. The images are Debian's dataset-fashion-mnist;
 * without it the program says "# SKIP".
 */
#include "aim/budget/budget.h"
#include "aim/model/sample.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "aim/run/train_run.h"
#include "aim/table/join.h"
#include "aim/train/distill.h"
#include "aim/train/shrink.h"
#include "base/memory.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/gradient.h"
#include "bench/hog.h"
#include "bench/rivals.h"
#include "bench/student.h"
#include "bench/trained.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DELTA 1e-5
#define SEEDS 5
#define SEEDS_OF_RATE 3
#define STEPS 60
#define RATE_LEAST .5 /* of rivals */
#define RATE_MOST 128
#define SMOKE_ROWS 600

struct train_bench {
    unsigned seeds;
    const char *only, *figure; /* NULL: all of them */
    bool smoke;
    double rate; /* 0: by the rule that a run has */
    uint64_t wrapped;
    json_t *out;
    struct log log;
};

static double rho_of(double epsilon)
{
    return budget_rho(ACCOUNTING_GAUSSIAN, epsilon, DELTA);
}

/* Trains at this rho; seed 0: without noise. */
static enum err train(struct train_bench *b, const struct trained_rows *rows,
                      const struct table *table, double rho, uint64_t seed,
                      struct train_result **result)
{
    const struct trained_plan plan = {.rho = rho,
                                      .seed = seed,
                                      .steps = b->smoke ? 10 : STEPS,
                                      .rate = b->rate,
                                      .wrapped = &b->wrapped};
    return trained_new(result, rows, table, &plan, &b->log);
}

static enum err train_and_try(struct train_bench *b, const struct trained_rows *rows,
                              const struct table *table, double epsilon, uint64_t seed,
                              double *good)
{
    struct train_result *result CLEAN(train_result_free) = NULL;
    TRY(train(b, rows, table, rho_of(epsilon), seed, &result));
    return trained_try(rows, result, good);
}

/* --- figures: something that depends on a seed, as mean and standard error -------------------- */

struct train_trial {
    struct train_bench *b;
    const struct trained_rows *rows;
    double epsilon;
    enum rival rival;
    double rate;
};

static enum err ours(const struct train_trial *t, uint64_t seed, double *good)
{
    return train_and_try(t->b, t->rows, t->rows->train, t->epsilon, seed, good);
}

static enum err theirs(const struct train_trial *t, uint64_t seed, double *good)
{
    const struct rival_run run = {.features = t->rows->features,
                                  .train = t->rows->train,
                                  .test = t->rows->test,
                                  .kind = t->rival,
                                  .steps = t->b->smoke ? 10 : STEPS,
                                  .rate = t->rate,
                                  .rho = rho_of(t->epsilon),
                                  .seed = seed};
    double auc;
    TRY(rival_measure(&run, good, &auc));
    *good = t->rows->features->classes == 2 ? auc : *good;
    return ERR_OK;
}

static enum err pairs(const struct train_trial *t, uint64_t seed, double *good)
{
    return rival_pairs(t->rows->features, t->rows->train, t->rows->test, rho_of(t->epsilon), seed,
                       good);
}

static enum err without_noise(const struct train_trial *t, uint64_t seed, double *good)
{
    (void)seed;
    return train_and_try(t->b, t->rows, t->rows->train, t->epsilon, 0, good);
}

static bool is_wanted(const struct train_bench *b, const char *key)
{
    return b->figure == NULL || strcmp(b->figure, key) == 0;
}

static enum err put(const struct train_trial *t, const char *table, const char *key,
                    enum err (*measure)(const struct train_trial *t, uint64_t seed, double *good))
{
    const unsigned seeds = t->b->smoke || measure == without_noise ? 1 : t->b->seeds;
    double sum = 0, squares = 0, error;
    if (!is_wanted(t->b, key))
        return ERR_OK;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        double good;
        TRY(measure(t, seed, &good));
        sum += good / seeds;
        squares += good * good / seeds;
    }
    error = seeds > 1 ? sqrt(fmax(0, squares - sum * sum) / (seeds - 1)) : 0;
    printf("%s.%s %.4f +- %.4f\n", table, key, sum, error);
    figures_put(figures_object(t->b->out, table), sum, "%s", key);
    figures_put(figures_object(t->b->out, table), error, "%s_se", key);
    return ERR_OK;
}

/* The same with the rate that the training rows choose. */
static enum err put_chosen(const struct train_trial *t, const char *table, const char *key,
                           const char *rate_key)
{
    struct train_bench *b = t->b;
    const struct trained_plan plan = {
        .rho = rho_of(t->epsilon), .steps = b->smoke ? 10 : STEPS, .wrapped = &b->wrapped};
    enum err e;
    if (!is_wanted(b, key))
        return ERR_OK;
    TRY(trained_rate(t->rows, &plan, b->smoke ? 1 : SEEDS_OF_RATE, &b->rate, &b->log));
    figures_put(figures_object(b->out, table), b->rate, "%s", rate_key);
    e = put(t, table, key, ours);
    b->rate = 0;
    return e;
}

/*
 * The rate with which a rival does best on the last fifth of the rows to learn from. Each rate that
 * is tried is twice the one before, until two in a row are no better.
 */
static enum err rival_rate(struct train_trial *t)
{
    const unsigned seeds = t->b->smoke ? 1 : SEEDS_OF_RATE;
    struct trained_rows held CLEAN(trained_drop) = {0};
    struct train_trial trial = *t;
    double most = 0;
    trial.rows = &held;
    t->rate = RATE_LEAST;
    TRY(trained_hold(&held, t->rows));
    for (trial.rate = RATE_LEAST; trial.rate <= RATE_MOST && trial.rate <= 4 * t->rate;
         trial.rate *= 2) {
        double mean = 0, good;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            TRY(theirs(&trial, seed, &good));
            mean += good / seeds;
        }
        printf("# rate %g: %.4f\n", trial.rate, mean);
        if (mean <= most)
            continue;
        most = mean;
        t->rate = trial.rate;
    }
    return ERR_OK;
}

static enum err put_rivals(struct train_trial *t, const char *table)
{
    static const char *const keys[] = {[RIVAL_CENTRAL] = "central_softmax",
                                       [RIVAL_SGD] = "fedsgd_local",
                                       [RIVAL_AVG] = "fedavg_local"};
    for (t->rival = RIVAL_CENTRAL; t->rival <= RIVAL_AVG; t->rival++) {
        if (!is_wanted(t->b, keys[t->rival]))
            continue;
        TRY(rival_rate(t));
        figures_put(figures_object(t->b->out, table), t->rate, "%s_rate", keys[t->rival]);
        TRY(put(t, table, keys[t->rival], theirs));
    }
    return ERR_OK;
}

/* --- Adult ------------------------------------------------------------------------------------ */

/* This model on rows that AIM made: no noise beside AIM's. */
static enum err aim_rows(const struct train_trial *t, uint64_t seed, double *good)
{
    const struct trained_rows *r = t->rows;
    struct random random = random_of(seed);
    const struct plaintext_noise noise = noise_from_random(&random);
    struct workload *all CLEAN(workload_free) = NULL;
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct table *rows CLEAN(table_free) = NULL;
    struct aim_options o = {.domain = r->domain,
                            .limits = {.rho = rho_of(t->epsilon), .epsilon_slack = 1},
                            .accounting = ACCOUNTING_GAUSSIAN,
                            .rows = r->train->rows,
                            .rounds = t->b->smoke ? 2 : 0,
                            .annealed = !t->b->smoke,
                            .bounds = {.bits = TRAINED_BITS}};
    struct aim_backend backend;
    TRY(workload_all(&all, r->domain, 2, &t->b->log));
    o.workload = all;
    TRY(plaintext_new(&p, all, r->train, &noise, &t->b->log));
    backend = plaintext_backend(p);
    TRY(aim_run(&result, &o, &backend, &t->b->log));
    TRY(sample_rows(&rows, result->model, r->train->rows, seed, &t->b->log));
    return train_and_try(t->b, r, rows, t->epsilon, 0, good);
}

/* As if two owners had half of the columns each, and the second its rows in another order. */
static enum err join_halves(const struct trained_rows *rows, struct table *out)
{
    const size_t all = rows->domain->attributes, n = rows->train->rows;
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX], codes[DOMAIN_ATTRIBUTES_MAX];
    struct join_part part[2];
    struct domain *half[2] = {0};
    struct table *table[2] = {0};
    size_t linked = 0, surplus;
    enum err e = ERR_OK;
    for (uint16_t a = 0; a < all; a++)
        attribute[a] = a;
    for (unsigned k = 0; k < 2 && e == ERR_OK; k++) {
        const size_t first = k * (all / 2), count = k == 0 ? all / 2 : all - all / 2;
        part[k].attribute = attribute + first;
        e = domain_pick(&half[k], rows->domain, attribute + first, count);
        e = e == ERR_OK ? table_new(&table[k], half[k], 0) : e;
        e = e == ERR_OK ? table_keep_keys(table[k]) : e;
        for (size_t i = 0; i < n && e == ERR_OK; i++) {
            const size_t row = k == 0 ? i : n - 1 - i;
            for (size_t a = 0; a < count; a++)
                codes[a] = rows->train->column[first + a][row];
            e = table_append(table[k], codes);
            if (e == ERR_OK)
                table[k]->key[i] = row;
        }
        part[k].table = table[k];
    }
    if (e == ERR_OK)
        e = table_join(out, part, 2, 2, &linked, &surplus);
    for (unsigned k = 0; k < 2; k++) {
        table_free(&table[k]);
        domain_free(&half[k]);
    }
    return e == ERR_OK && linked != n ? ERR_DATA : e;
}

/* The same bits, from rows in another order, in columns, and from another run. */
static enum err compare_bits(struct train_bench *b, const struct trained_rows *rows)
{
    struct train_result *one CLEAN(train_result_free) = NULL,
                             *again CLEAN(train_result_free) = NULL,
                             *dealt CLEAN(train_result_free) = NULL,
                             *joined CLEAN(train_result_free) = NULL;
    struct table *other CLEAN(table_free) = NULL, *columns CLEAN(table_free) = NULL;
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    size_t bytes;
    TRY(table_new(&other, rows->domain, 0));
    for (size_t owner = 0; owner < 5; owner++) /* as if five owners had every fifth row */
        for (size_t i = owner; i < rows->train->rows; i += 5) {
            for (size_t a = 0; a < rows->domain->attributes; a++)
                codes[a] = rows->train->column[a][i];
            TRY(table_append(other, codes));
        }
    TRY(train(b, rows, rows->train, rho_of(1), 1, &one));
    TRY(train(b, rows, rows->train, rho_of(1), 1, &again));
    TRY(train(b, rows, other, rho_of(1), 1, &dealt));
    TRY(table_new(&columns, rows->domain, 0));
    TRY(join_halves(rows, columns));
    TRY(train(b, rows, columns, rho_of(1), 1, &joined));
    bytes = one->weights * sizeof *one->weight;
    figures_put(b->out, memcmp(one->weight, again->weight, bytes) == 0, "bits_equal");
    figures_put(b->out, memcmp(one->weight, dealt->weight, bytes) == 0, "split_equal");
    figures_put(b->out, memcmp(one->weight, joined->weight, bytes) == 0, "vertical_equal");
    return ERR_OK;
}

static enum err measure_adult(struct train_bench *b)
{
    struct bench_data c CLEAN(bench_data_clear) = {0};
    struct trained_rows rows CLEAN(trained_clear) = {0};
    struct features_terms terms = {0};
    struct train_trial t = {.b = b, .rows = &rows, .epsilon = 1};
    if (data_absent("adult"))
        return ERR_OK;
    TRY(bench_data_read(&c, "adult", &b->log));
    rows.domain = c.domain;
    for (uint32_t i = 0; i < c.domain->attributes; i++) /* the last one of two values: income */
        terms.target = c.domain->attribute[i].size == 2 ? i : terms.target;
    TRY(features_new(&rows.features, c.domain, &terms, &b->log));
    TRY(workload_all(&rows.columns, c.domain, 1, &b->log));
    TRY(trained_deal(&rows, c.table));
    if (b->figure == NULL)
        TRY(compare_bits(b, &rows));
    TRY(put(&t, "adult", "auc", ours));
    TRY(put_chosen(&t, "adult", "auc_chosen", "rate"));
    TRY(put(&t, "adult", "no_noise", without_noise));
    TRY(put_rivals(&t, "adult"));
    TRY(put(&t, "adult", "pairs_auc", pairs));
    TRY(put(&t, "adult", "aim_rows_auc", aim_rows));
    t.epsilon = 0.3;
    TRY(put(&t, "adult", "auc_eps03", ours));
    TRY(put_chosen(&t, "adult", "auc_eps03_chosen", "rate_eps03"));
    TRY(put(&t, "adult", "pairs_auc_eps03", pairs));
    t.epsilon = 0.1;
    return put(&t, "adult", "pairs_auc_eps01", pairs);
}

/* --- Fashion-MNIST ---------------------------------------------------------------------------- */

/* Steps of a run as it writes them: w, and G / (m N). */
static enum err steps_of(const struct train_result *r, double **weight, double **gradient)
{
    for (unsigned t = 0; t < r->steps; t++) {
        const struct train_step *s = &r->step[t];
        TRY(memory_new(&weight[t], r->weights));
        TRY(memory_new(&gradient[t], r->weights));
        for (uint32_t i = 0; i < r->weights; i++) {
            weight[t][i] = s->weight[i];
            gradient[t][i] = (double)s->value[i] / ((double)s->multiplier * r->rows);
        }
    }
    return ERR_OK;
}

/* What a student makes of 100 rows that are distilled from a run. */
static enum err of_distilled(const struct train_trial *t, uint64_t seed, bool clamp, double *good)
{
    struct train_result *result CLEAN(train_result_free) = NULL;
    struct distill_rows rows CLEAN(distill_clear) = {0};
    double *weight[STEPS] = {0}, *gradient[STEPS] = {0};
    struct distill_terms terms = {.features = t->rows->features,
                                  .weight = weight,
                                  .gradient = gradient,
                                  .per_class = t->b->smoke ? 1 : 10,
                                  .iterations = t->b->smoke ? 10 : DISTILL_ITERATIONS,
                                  .seed = seed};
    enum err e;
    TRY(train(t->b, t->rows, t->rows->train, rho_of(t->epsilon), seed, &result));
    terms.steps = result->steps;
    e = steps_of(result, weight, gradient);
    if (e == ERR_OK)
        e = distill(&rows, &terms);
    for (unsigned i = 0; i < STEPS; i++) {
        memory_free_all(&weight[i], &gradient[i]);
    }
    TRY(e);
    return student_measure(t->rows->features, &rows, clamp, t->rows->test, good);
}

static enum err softmax_of_distilled(const struct train_trial *t, uint64_t seed, double *good)
{
    return of_distilled(t, seed, false, good);
}

static enum err clamp_of_distilled(const struct train_trial *t, uint64_t seed, double *good)
{
    return of_distilled(t, seed, true, good);
}

static enum err measure_images(struct train_bench *b)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct trained_rows rows CLEAN(trained_clear) = {0};
    const struct features_terms terms = {.target = HOG_FEATURES, .numbers = true, .norm = 47};
    struct train_trial t = {.b = b, .rows = &rows, .epsilon = 1};
    if (!hog_present()) {
        puts("# SKIP images: install Debian's dataset-fashion-mnist");
        return ERR_OK;
    }
    TRY(hog_domain(&d, &b->log));
    rows.domain = d;
    TRY(features_new(&rows.features, d, &terms, &b->log));
    TRY(workload_all(&rows.columns, d, 1, &b->log));
    TRY(hog_read(&rows.train, d, "train", b->smoke ? SMOKE_ROWS : 0, &b->log));
    TRY(hog_read(&rows.test, d, "t10k", b->smoke ? SMOKE_ROWS : 0, &b->log));
    printf("fmnist: %zu rows shrunk to the norm\n", shrink_rows(rows.train, rows.features));
    TRY(put(&t, "fmnist", "accuracy", ours));
    TRY(put_chosen(&t, "fmnist", "accuracy_chosen", "rate"));
    TRY(put(&t, "fmnist", "distilled", softmax_of_distilled));
    TRY(put(&t, "fmnist", "distilled_clamped", clamp_of_distilled));
    t.epsilon = 2.79;
    TRY(put(&t, "fmnist", "accuracy_eps279", ours));
    TRY(put_chosen(&t, "fmnist", "accuracy_eps279_chosen", "rate_eps279"));
    TRY(put(&t, "fmnist", "no_noise", without_noise));
    return put_rivals(&t, "fmnist");
}

/* What a run takes of a server: rows are made once, then come its steps. */
static enum err measure_servers(struct train_bench *b)
{
    static const char *const table[] = {[GRADIENT_ADULT] = "adult", [GRADIENT_IMAGES] = "fmnist"};
    for (enum gradient_rows rows = GRADIENT_ADULT; rows <= GRADIENT_IMAGES; rows++) {
        struct gradient_figures g;
        if (b->only != NULL && strcmp(b->only, table[rows]) != 0)
            continue;
        if (!gradient_measure(&g, rows, false, b->smoke, 5))
            return ERR_PEER;
        figures_put(figures_object(b->out, table[rows]), g.session_cpu_s + STEPS * g.server_cpu_s,
                    "server_cpu_s");
        figures_put(b->out, g.rounds + GRADIENT_STATEMENTS, "rounds_step");
    }
    figures_put(figures_object(b->out, "fmnist"), gradient_row_bytes(GRADIENT_IMAGES),
                "upload_bytes_row");
    return ERR_OK;
}

static enum err measure(struct train_bench *b)
{
    if (b->figure == NULL)
        TRY(measure_servers(b));
    if (b->only == NULL || strcmp(b->only, "adult") == 0)
        TRY(measure_adult(b));
    if (b->only == NULL || strcmp(b->only, "fmnist") == 0)
        TRY(measure_images(b));
    figures_put(b->out, (double)b->wrapped, "wrapped");
    return ERR_OK;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct train_bench b = {.seeds = SEEDS, .log = {.file = stderr, .level = LOG_ERROR}};
    const struct figures_option options[] = {{.name = "only", .text = &b.only},
                                             {.name = "figure", .text = &b.figure},
                                             {.name = "seeds", .count = &b.seeds}};
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    b.smoke = f.smoke;
    b.out = f.out;
    return figures_end(&f, measure(&b) != ERR_OK);
}
