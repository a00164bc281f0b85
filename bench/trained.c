#include "bench/trained.h"

#include "aim/model/sample.h"
#include "aim/run/plaintext.h"
#include "aim/train/classifier.h"
#include "aim/train/slope.h"

#include <string.h>

static const double rates[] = {25, 50, 100, 125, 200, 400};

void trained_clear(struct trained_rows *r)
{
    table_free(&r->train);
    table_free(&r->test);
    features_free(&r->features);
    workload_free(&r->columns);
}

/* Row i goes to `last` if i modulo 5 is 4; where rows stay in order, if it is of the last fifth. */
static enum err deal(const struct domain *d, const struct table *all, bool in_order,
                     struct table **first, struct table **last)
{
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    TRY(table_new(first, d, 0));
    TRY(table_new(last, d, 0));
    for (size_t i = 0; i < all->rows; i++) {
        const bool is_last = in_order ? 5 * i >= 4 * all->rows : i % 5 == 4;
        for (size_t a = 0; a < d->attributes; a++)
            codes[a] = all->column[a][i];
        TRY(table_append(is_last ? *last : *first, codes));
    }
    return ERR_OK;
}

enum err trained_deal(struct trained_rows *r, const struct table *all)
{
    return deal(r->domain, all, false, &r->train, &r->test);
}

static enum err no_noise(void *self, size_t n, int64_t *out)
{
    (void)self;
    memset(out, 0, n * sizeof *out);
    return ERR_OK;
}

enum err trained_new(struct train_result **result, const struct trained_rows *rows,
                     const struct table *table, const struct trained_plan *plan, struct log *log)
{
    struct random random = random_of(plan->seed);
    struct plaintext_noise noise = noise_from_random(&random);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct slope *slope CLEAN(slope_free) = NULL;
    const struct train_options o = {.features = rows->features,
                                    .workload = rows->columns,
                                    .limits = {.rho = plan->rho, .epsilon_slack = 1},
                                    .bounds = {.bits = TRAINED_BITS},
                                    .steps = plan->steps,
                                    .rate = plan->rate};
    struct aim_backend backend;
    if (plan->seed == 0)
        noise.gauss = no_noise;
    TRY(plaintext_new(&p, rows->columns, table, &noise, log));
    TRY(slope_new(&slope, rows->features, table));
    plaintext_train(p, slope);
    backend = plaintext_backend(p);
    TRY(train_run(result, &o, &backend, log));
    *plan->wrapped += slope_wrapped(slope);
    return ERR_OK;
}

enum err trained_try(const struct trained_rows *rows, const struct train_result *result,
                     double *good)
{
    struct classifier *c CLEAN(classifier_free) = NULL;
    struct classifier_check check CLEAN(classifier_check_clear) = {0};
    TRY(classifier_new(&c, rows->features, result->weight));
    TRY(classifier_check(&check, c, rows->test));
    *good = rows->features->classes == 2 ? check.auc : (double)check.right / (double)check.rows;
    return ERR_OK;
}

/* A rate at which scores wrap is not taken, and its wraps are not the caller's. */
static enum err choose(const struct trained_rows *held, const struct trained_plan *plan,
                       unsigned seeds, double *rate, struct log *log)
{
    struct trained_plan p = *plan;
    double best = 0;
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        uint64_t wrapped = 0;
        double mean = 0;
        p.rate = rates[k];
        p.wrapped = &wrapped;
        for (p.seed = 1; p.seed <= seeds; p.seed++) {
            struct train_result *result CLEAN(train_result_free) = NULL;
            double good;
            TRY(trained_new(&result, held, held->train, &p, log));
            TRY(trained_try(held, result, &good));
            mean += good / seeds;
        }
        if (wrapped > 0 || mean <= best)
            continue;
        *rate = p.rate;
        best = mean;
    }
    return ERR_OK;
}

enum err trained_hold(struct trained_rows *held, const struct trained_rows *rows)
{
    *held = (struct trained_rows){
        .domain = rows->domain, .columns = rows->columns, .features = rows->features};
    return deal(rows->domain, rows->train, true, &held->train, &held->test);
}

void trained_drop(struct trained_rows *held)
{
    table_free(&held->train);
    table_free(&held->test);
}

enum err trained_rate(const struct trained_rows *rows, const struct trained_plan *plan,
                      unsigned seeds, double *rate, struct log *log)
{
    struct trained_rows held CLEAN(trained_drop) = {0};
    *rate = rates[0];
    TRY(trained_hold(&held, rows));
    return choose(&held, plan, seeds, rate, log);
}
