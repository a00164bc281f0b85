/* What a classifier takes, and how loud its noise will be. */
#include "aim/run/train_run.h"
#include "base/words.h"
#include "parties/command/machine.h"
#include "parties/command/plan.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"
#include "protocols/records_block.h"

#include <math.h>
#include <stdio.h>

static void print_line(const struct study *s, double epsilon, double rows)
{
    struct study other = *s;
    struct ledger_limits limits;
    struct price_steps steps;
    double nu, most, rate;
    other.epsilon = epsilon;
    if (price_check_noise(&other, NULL) != ERR_OK ||
        price_limits(&other, &limits, NULL) != ERR_OK ||
        price_steps(&other, &steps, NULL) != ERR_OK) {
        printf("  %7.3g  does not fit this study\n", epsilon);
        return;
    }
    nu = train_nu(s->features, steps.steps, steps.rho, rows);
    rate = train_rate(s->features, nu, &most);
    if (s->train_rate > 0) {
        rate = s->train_rate;
        most = INFINITY;
    }
    printf("  %7.3g  %9.4g  %8.4f  %6g  %9.0f  %s\n", epsilon, limits.rho, nu, rate,
           ceil(rows * nu / most), /* the loudness is of 1 / rows */
           nu <= 0.038        ? ".003 to .012"
           : nu <= TRAIN_LOUD ? ".01 to .045"
                              : "more: pairs (method: aim) do better");
}

static void print_noise(const struct study *s, double rows)
{
    static const double epsilon[] = {0.1, 0.3, 1, 3};
    bool own = false;
    printf("noise by epsilon (delta %g), where all owners have %s rows: how\n"
           "loud it is, the rate that follows, and what noise costs of accuracy or AUC\n"
           "(measured on 12 targets of 5 tables). A run counts rows first, with noise, and\n"
           "takes a lower rate if it counts fewer than in \"from rows\":\n"
           "  epsilon        rho  loudness    rate  from rows  cost\n",
           s->delta, study_rows_key(s));
    for (size_t i = 0; s->left == 0 && i < sizeof epsilon / sizeof *epsilon; i++) {
        own |= fabs(epsilon[i] - s->epsilon) < 1e-9;
        print_line(s, epsilon[i], rows);
    }
    if (own)
        return;
    print_line(s, s->epsilon, rows);
    if (s->left == 0)
        printf("  (the last line is the study's own)\n");
}

/* What a test of the rows that are kept back will tell. */
static void print_test(const struct plan_asked *p)
{
    const struct study *s = p->study;
    const struct features *f = s->features;
    const uint64_t blocks = (p->rows + RECORDS_BLOCK - 1) / RECORDS_BLOCK;
    struct price_steps steps;
    if (!f->tests || price_steps(s, &steps, NULL) != ERR_OK)
        return;
    printf("test: %u noisy counts of rows by score and class, each with a deviation of\n"
           "%.2g rows, in %llu exchanges (more with security: abort)",
           features_cells(f), steps.sigma,
           13 + (unsigned long long)(f->outputs * (6 * blocks + 1)));
    if (f->classes == 2)
        printf(".\nOver n rows, accuracy deviates by at most %.2g / n from noise",
               steps.sigma * sqrt(FEATURES_BINS));
    puts(".");
}

/* Noise that is not exactly Gaussian costs epsilon for each number of a gradient. */
static void print_slack(const struct study *s)
{
    const double slack = price_slack(s).marginal * s->train_steps * features_weights(s->features);
    if (!noise_exact[s->noise] && slack > 0.01 * s->epsilon)
        printf("%s noise takes %.2g of epsilon for its rounding: noise: discrete takes\n"
               "hardly any, and more time\n",
               noise_words[s->noise], slack);
}

enum err plan_train(struct plan_asked *p, double rho)
{
    const struct study *s = p->study;
    const struct features *f = s->features;
    struct price_steps steps;
    (void)rho;
    TRY(price_steps(s, &steps, p->log));
    plan_study(p);
    printf("classes: %u, from %u features of a row; %u weights, public after each step\n",
           f->classes, f->count, features_weights(f));
    printf("memory: %s at each server for the features of %llu rows\n",
           words_bytes(method_train_bytes(s)).text, (unsigned long long)p->rows);
    printf("steps: %u, each of %d exchanges (%d or more with security: abort), so %.0f s of\n"
           "waiting where an exchange takes %.0f ms\n",
           steps.steps, METHOD_TRAIN_EXCHANGES, METHOD_TRAIN_PROVED,
           ceil(steps.steps * MACHINE_FAR_S *
                (s->security == STUDY_ABORT ? METHOD_TRAIN_PROVED : METHOD_TRAIN_EXCHANGES)),
           1e3 * MACHINE_FAR_S);
    plan_uploads(p);
    TRY(plan_servers(p));
    print_slack(s);
    print_noise(s, (double)p->rows);
    print_test(p);
    return ERR_OK;
}
