#include "bench/adapt.h"

#include "aim/answer/answer.h"
#include "aim/answer/evaluate.h"
#include "aim/answer/released.h"
#include "aim/answer/sorted.h"
#include "aim/table/csv.h"
#include "base/memory.h"
#include "bench/adapt_questions.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/table_study.h"
#include "harness/process.h"

#include <math.h>
#include <string.h>

#define OWNERS 4
#define OWNER_ROWS "131071" /* at most */
#define ALL_ROWS "524287"
#define ASKED 500 /* of one range; and of several */
#define ASKED_SMOKE 8
#define PATIENCE_S 1200

enum { ONE_RANGE, SEVERAL, SHAPES };
enum { OURS, FEDERATED, CURATOR, BINS, METHODS };
static const char *const methods[] = {"ours", "federated", "curator", "bins"};
static const double epsilons[] = {1, 10};
static const struct {
    const char *name;
    double p;
} quantiles[] = {{"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
#define QUANTILES (sizeof quantiles / sizeof *quantiles)

/* Whose errors have quantiles: errors lie by shape, then by aggregate. Three more are pooled. */
#define EACH (SHAPES * ADAPT_KINDS)
static const struct {
    const char *name;
    unsigned first, count; /* in the number of questions of a shape */
} sets[] = {{"count", 0, 1},         {"sum", 1, 1},
            {"avg", 2, 1},           {"variance", 3, 1},
            {"and_count", 4, 1},     {"and_sum", 5, 1},
            {"and_avg", 6, 1},       {"and_variance", 7, 1},
            {"one", 0, ADAPT_KINDS}, {"and", ADAPT_KINDS, ADAPT_KINDS},
            {"all", 0, EACH}};
#define SETS (sizeof sets / sizeof *sets)
#define ALL (SETS - 1)

/* Sums over runs, and of squares. */
struct adapt_score {
    double error[SETS][QUANTILES], squares[SETS][QUANTILES], loglik, loglik_square;
};

struct adapt {
    const struct adapt_plan *plan;
    struct log *log;
    double epsilon;
    struct support_study s; /* the domain, and files */
    struct table *train, *test;
    struct densities inside; /* of the training rows' own bins */
    size_t asked;            /* of each shape */
    struct adapt_question *question[SHAPES];
    struct released model[OWNERS]; /* of a method */
    size_t models;
    struct adapt_score score[METHODS];
};

/* --- answers ---------------------------------------------------------------------------------- */

/* Adds what one model answers. */
static enum err add_answer(struct adapt_moments *m, const struct released *model,
                           const struct adapt_question *q, struct log *log)
{
    struct question_text text = {.text = q->sql};
    struct question *question CLEAN(question_free) = NULL;
    struct answer *a CLEAN(answer_free) = NULL;
    const struct answer_value *v;
    TRY(question_parse(&question, model->domain, &text, log));
    TRY(answer_new(&a, model->sums, &model->inside, question, log));
    v = a->value;
    if (!v[ADAPT_SUM].known || !v[2].known)
        return ERR_OK; /* no rows */
    m->rows += v[ADAPT_COUNT].number;
    m->sum += v[ADAPT_SUM].number;
    m->squares += v[2].number * v[ADAPT_COUNT].number +
                  v[ADAPT_SUM].number * v[ADAPT_SUM].number / v[ADAPT_COUNT].number;
    return ERR_OK;
}

/* Of a question, by what models answer; or by what exact counts of bins do. */
static enum err errors_of(const struct adapt *a, int method, const struct adapt_question *q,
                          double error[ADAPT_KINDS])
{
    struct adapt_moments m = {0};
    double answer[ADAPT_KINDS];
    for (size_t k = 0; k < a->models; k++)
        TRY(add_answer(&m, &a->model[k], q, a->log));
    adapt_values(&m, answer);
    for (size_t k = 0; k < ADAPT_KINDS; k++) {
        error[k] = m.rows > 0 ? adapt_error(answer[k], q->truth[k]) : 1;
        if (method == BINS)
            error[k] = adapt_error(q->binned[k], q->truth[k]);
    }
    return ERR_OK;
}

static enum err score_answers(const struct adapt *a, int method, struct adapt_score *score)
{
    double *error CLEAN(memory_release) = NULL;
    const size_t n = a->asked;
    TRY(memory_new(&error, EACH * n));
    for (size_t i = 0; i < SHAPES * n; i++) {
        double own[ADAPT_KINDS];
        TRY(errors_of(a, method, &a->question[i / n][i % n], own));
        for (size_t k = 0; k < ADAPT_KINDS; k++)
            error[(i / n * ADAPT_KINDS + k) * n + i % n] = own[k];
    }
    for (size_t k = 0; k < SETS; k++) { /* the larger sets come last, since each is sorted */
        double *set = error + sets[k].first * n;
        sorted_make(set, sets[k].count * n);
        for (size_t p = 0; p < QUANTILES; p++) {
            const double e = sorted_quantile(set, sets[k].count * n, quantiles[p].p);
            score->error[k][p] += e;
            score->squares[k][p] += e * e;
        }
    }
    return ERR_OK;
}

/* --- likelihood ------------------------------------------------------------------------------- */

static enum err add_density(const struct adapt *a, const struct released *model, double weight,
                            double *all)
{
    const struct table *t = a->test;
    double *each CLEAN(memory_release) = NULL;
    TRY(memory_new(&each, t->rows));
    TRY(evaluate_rows(model->model, t, each));
    for (uint16_t c = 0; c < t->domain->attributes; c++) {
        const struct density *inside = model->inside.of[c];
        const double unit = inside != NULL ? log(evaluate_column(t, c).deviation) : 0;
        for (size_t row = 0; inside != NULL && row < t->rows; row++)
            each[row] += unit + density_log(inside, t->column[c][row], t->number[c][row]);
    }
    for (size_t row = 0; row < t->rows; row++)
        all[row] += weight * exp(each[row]);
    return ERR_OK;
}

static enum err score_likelihood(struct adapt *a, struct adapt_score *score)
{
    double *all CLEAN(memory_release) = NULL, total = 0, mean = 0;
    TRY(memory_new(&all, a->test->rows));
    for (size_t k = 0; k < a->models; k++)
        total += released_total(&a->model[k]);
    for (size_t k = 0; k < a->models; k++)
        TRY(add_density(a, &a->model[k], released_total(&a->model[k]) / total, all));
    for (size_t row = 0; row < a->test->rows; row++)
        mean += log(fmax(all[row], exp(-EVALUATE_IMPOSSIBLE))) / (double)a->test->rows;
    score->loglik += mean;
    score->loglik_square += mean * mean;
    return ERR_OK;
}

/* --- methods ---------------------------------------------------------------------------------- */

static enum err take_model(void *self, const struct support_study *s, struct log *log)
{
    struct adapt *a = self;
    struct released *r = &a->model[a->models++];
    TRY(released_load(r, support_path(s, "result/model"), log));
    return released_sums(r, log);
}

/* The owner's stretch of the training rows. */
static enum err write_part(void *self, unsigned owner, FILE *csv)
{
    const struct adapt *a = self;
    char line[4096];
    FILE *f = fopen(support_path(&a->s, "train.csv"), "r");
    if (f == NULL)
        return ERR_SYSTEM;
    for (size_t row = 0; fgets(line, sizeof line, f) != NULL; row++)
        if (row == 0 || (row - 1) * OWNERS / a->train->rows == owner)
            fputs(line, csv);
    return fclose(f) == 0 ? ERR_OK : ERR_SYSTEM;
}

static enum err run_ours(struct adapt *a)
{
    const struct table_study study = {.domain = a->plan->domain,
                                      .workload = a->plan->workload,
                                      .as = "counts",
                                      .write = write_part,
                                      .annealed = !a->plan->smoke,
                                      .rounds = 2,
                                      .epsilon = a->epsilon,
                                      .delta = a->plan->delta,
                                      .most = 131071,
                                      .owners = OWNERS,
                                      .look = take_model,
                                      .self = a};
    struct table_study_figures f;
    TRY(table_study_run(&study, &f, a->log));
    json_decref(f.stats);
    return ERR_OK;
}

static enum err new_study(const struct adapt *a, struct support_study *s, const char *most)
{
    const char *const part[] = {most};
    return support_study_new(s,
                             OPTIONS(.owners = 1, .domain = a->plan->domain,
                                     .workload = a->plan->workload, .annealed = !a->plan->smoke,
                                     .rounds = 2, .epsilon = a->epsilon, .delta = a->plan->delta,
                                     .accounting = ACCOUNTING_GAUSSIAN, .part = part),
                             a->log);
}

static enum err run_central(struct adapt *a, const char *rows, const char *most)
{
    struct support_study s;
    enum err e = ERR_OK;
    TRY(new_study(a, &s, most));
    if (COMMAND(support_path(&s, "aim.log"), PATIENCE_S, "aim", s.path, rows, "--out",
                support_path(&s, "result"), "--rows", "1000", "--quick") != 0)
        e = log_fail(a->log, ERR_SYSTEM, "trefoil aim failed; its words are in %s", s.folder);
    if (e == ERR_OK)
        e = take_model(a, &s, a->log);
    if (e == ERR_OK)
        support_study_free(&s);
    return e;
}

static enum err run_federated(struct adapt *a)
{
    for (unsigned i = 0; i < OWNERS; i++) {
        FILE *csv = fopen(support_path(&a->s, "own.csv"), "w");
        if (csv == NULL)
            return ERR_SYSTEM;
        TRY(write_part(a, i, csv));
        if (fclose(csv) != 0)
            return ERR_SYSTEM;
        TRY(run_central(a, support_path(&a->s, "own.csv"), "    max_rows: " OWNER_ROWS "\n"));
    }
    return ERR_OK;
}

static enum err run_method(struct adapt *a, int method)
{
    enum err e = ERR_OK;
    if (method != BINS)
        e = method == OURS ? run_ours(a)
            : method == FEDERATED
                ? run_federated(a)
                : run_central(a, support_path(&a->s, "train.csv"), "    max_rows: " ALL_ROWS "\n");
    if (e == ERR_OK)
        e = score_answers(a, method, &a->score[method]);
    if (e == ERR_OK && method != BINS)
        e = score_likelihood(a, &a->score[method]);
    while (a->models > 0)
        released_clear(&a->model[--a->models]);
    return e;
}

/* --- the report ------------------------------------------------------------------------------- */

/* Puts the mean over n runs, and its standard error. */
static void put_mean(json_t *out, double sum, double squares, double n, const char *key)
{
    figures_put(out, sum / n, "%s", key);
    figures_put(out, sqrt(fmax(0, squares / n - sum / n * sum / n) / fmax(1, n - 1)), "%s_se", key);
}

static void report_method(const struct adapt *a, int method, json_t *out)
{
    const struct adapt_score *s = &a->score[method];
    const double n = a->plan->runs;
    char key[48];
    if (method != BINS)
        put_mean(out, s->loglik, s->loglik_square, n, "loglik");
    printf("  %s: log-likelihood %.4f; errors, median / 95 %% / 99 %%\n", methods[method],
           s->loglik / n);
    for (size_t i = 0; i < SETS; i++) {
        const double *error = s->error[i];
        printf("    %-13s %.4f / %.4f / %.4f\n", sets[i].name, error[0] / n, error[1] / n,
               error[2] / n);
        for (size_t p = 0; p < QUANTILES; p++) {
            snprintf(key, sizeof key, "%s_%s", sets[i].name, quantiles[p].name);
            put_mean(out, error[p], s->squares[i][p], n, key);
        }
    }
}

/* At how many quantiles of these sets ours is not below the federated ones. */
static double not_below(const struct adapt *a, size_t first, size_t count)
{
    double n = 0;
    for (size_t i = first; i < first + count; i++)
        for (size_t p = 0; p < QUANTILES; p++)
            n += a->score[OURS].error[i][p] >= a->score[FEDERATED].error[i][p];
    return n;
}

static void report(const struct adapt *a, json_t *out)
{
    const double gap = (a->score[CURATOR].loglik - a->score[OURS].loglik) / a->plan->runs;
    char key[24];
    snprintf(key, sizeof key, "epsilon%g", a->epsilon);
    printf("ADAPT's experiment, %s, %u runs:\n", key, a->plan->runs);
    for (int m = 0; m < METHODS; m++)
        report_method(a, m, figures_object(figures_object(out, methods[m]), key));
    figures_put(out, gap, "loglik_gap_%s", key);
    figures_put(out, not_below(a, 0, EACH), "not_below_%s", key);
    figures_put(out, not_below(a, ALL, 1), "all_not_below_%s", key);
}

static enum err prepare(struct adapt *a)
{
    const struct table_csv_options numbers = {.rows = {.numbers = true}};
    const struct domain *d = a->s.study->domain;
    struct adapt_rows rows = {.inside = &a->inside};
    struct random r = random_of(1);
    TRY(data_hold_out(a->plan->rows, support_path(&a->s, "train.csv"),
                      support_path(&a->s, "test.csv"), a->log));
    TRY(table_read_csv(&a->train, d, support_path(&a->s, "train.csv"), &numbers, a->log));
    TRY(table_read_csv(&a->test, d, support_path(&a->s, "test.csv"), &numbers, a->log));
    TRY(evaluate_densities(a->train, &a->inside));
    for (size_t c = 0; c < d->attributes; c++)
        if (d->attribute[c].size > ADAPT_CODES_MAX)
            return log_fail(a->log, ERR_RANGE, "columns have at most %d codes here",
                            ADAPT_CODES_MAX);
    rows.table = a->train;
    a->asked = a->plan->smoke ? ASKED_SMOKE : ASKED;
    for (int shape = 0; shape < SHAPES; shape++) {
        TRY(memory_new(&a->question[shape], a->asked));
        for (size_t i = 0; i < a->asked; i++)
            adapt_draw(&rows, &r, shape == SEVERAL, &a->question[shape][i]);
    }
    return ERR_OK;
}

static void clear(struct adapt *a)
{
    densities_clear(&a->inside);
    table_free(&a->train);
    table_free(&a->test);
    for (int shape = 0; shape < SHAPES; shape++)
        memory_free(&a->question[shape]);
    support_study_free(&a->s);
}

enum err adapt_measure(json_t *out, const struct adapt_plan *plan, struct log *log)
{
    struct adapt a = {.plan = plan, .log = log, .epsilon = epsilons[0]};
    enum err e;
    TRY(new_study(&a, &a.s, "    max_rows: " ALL_ROWS "\n"));
    e = prepare(&a);
    for (size_t i = 0; e == ERR_OK && i < sizeof epsilons / sizeof *epsilons; i++) {
        a.epsilon = epsilons[i];
        memset(a.score, 0, sizeof a.score);
        for (unsigned run = 0; e == ERR_OK && run < plan->runs; run++)
            for (int m = 0; e == ERR_OK && m < METHODS; m++)
                e = run_method(&a, m);
        if (e == ERR_OK)
            report(&a, out);
    }
    clear(&a);
    return e;
}
