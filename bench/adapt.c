#include "bench/adapt.h"

#include "aim/answer/answer.h"
#include "aim/answer/evaluate.h"
#include "aim/answer/released.h"
#include "aim/answer/sorted.h"
#include "aim/table/csv.h"
#include "base/memory.h"
#include "base/random.h"
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
#define RANGES_MAX 5
#define CODES_MAX 64      /* of a column */
#define SHARE_LEAST 0.001 /* of the rows, for a condition */
#define WITHIN 0.02       /* of exact counts of bins, by which they would answer */
#define PATIENCE_S 1200

enum { COUNT, SUM, AVG, VARIANCE, KINDS };
enum { ONE_RANGE, SEVERAL, SHAPES };
enum { OURS, FEDERATED, CURATOR, METHODS };
static const char *const kinds[] = {"count", "sum", "avg", "variance"};
static const char *const methods[] = {"ours", "federated", "curator"};
static const double epsilons[] = {1, 10};
static const struct {
    const char *name;
    double p;
} quantiles[] = {{"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
#define QUANTILES (sizeof quantiles / sizeof *quantiles)

/* Of y over the rows that meet a condition. */
struct adapt_moments {
    double rows, sum, squares;
};

struct adapt_question {
    char sql[512];
    double truth[KINDS];
};

struct adapt_score {
    double error[SHAPES][KINDS][QUANTILES], loglik, loglik_square; /* sums over runs */
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

/* --- questions -------------------------------------------------------------------------------- */

static void values_of(const struct adapt_moments *m, double value[KINDS])
{
    value[COUNT] = m->rows;
    value[SUM] = m->sum;
    value[AVG] = m->sum / m->rows;
    value[VARIANCE] = m->squares / m->rows - value[AVG] * value[AVG];
}

static double error_of(double answer, double truth)
{
    return fabs(answer - truth) / fabs(truth);
}

struct adapt_range {
    uint16_t column;
    double low, high;
};

static struct adapt_moments of_rows(const struct table *t, uint16_t y, const struct adapt_range *r,
                                    size_t n)
{
    struct adapt_moments m = {0};
    for (size_t row = 0; row < t->rows; row++) {
        const double x = t->number[y][row];
        bool fits = true;
        for (size_t i = 0; i < n; i++)
            fits &= t->number[r[i].column][row] >= r[i].low &&
                    t->number[r[i].column][row] <= r[i].high;
        m.rows += fits;
        m.sum += fits ? x : 0;
        m.squares += fits ? x * x : 0;
    }
    return m;
}

/* The same from exact counts of bins. */
static struct adapt_moments of_bins(const struct adapt *a, uint16_t y, const struct adapt_range *r,
                                    size_t n)
{
    struct density_part part[RANGES_MAX + 1][CODES_MAX]; /* the last: of y, if it has no range */
    const struct adapt_range any = {y, -INFINITY, INFINITY};
    struct adapt_moments m = {0};
    size_t own = n;
    for (size_t i = 0; i <= n; i++) {
        const struct adapt_range *at = i < n ? &r[i] : &any;
        own = i < n && at->column == y ? i : own;
        for (uint32_t c = 0; c < a->train->domain->attribute[at->column].size; c++)
            part[i][c] = density_part(a->inside.of[at->column], c, at->low,
                                      nextafter(at->high, INFINITY));
    }
    for (size_t row = 0; row < a->train->rows; row++) {
        const struct density_part *of = &part[own][a->train->column[y][row]];
        double share = 1;
        for (size_t i = 0; i < n; i++)
            share *= part[i][a->train->column[r[i].column][row]].share;
        m.rows += share;
        m.sum += share * of->mean;
        m.squares += share * of->square;
    }
    return m;
}

/* Columns of numbers, in any order. */
static size_t shuffle(const struct table *t, struct random *r, uint16_t *column)
{
    size_t n = 0;
    for (uint16_t c = 0; c < t->domain->attributes; c++)
        if (t->number[c] != NULL) {
            const size_t at = random_below(r, ++n);
            column[n - 1] = column[at];
            column[at] = c;
        }
    return n;
}

/* The truth, and whether enough rows meet it, relative errors say something, and bins suffice. */
static bool is_fair(const struct adapt *a, uint16_t y, const struct adapt_range *r, size_t n,
                    double truth[KINDS])
{
    const double deviation = evaluate_column(a->train, y).deviation;
    struct adapt_moments m = of_rows(a->train, y, r, n);
    double binned[KINDS], most = 0;
    values_of(&m, truth);
    if (m.rows < fmax(2, SHARE_LEAST * (double)a->train->rows) ||
        fabs(truth[AVG]) < deviation / 10 || truth[VARIANCE] < deviation * deviation / 100)
        return false;
    m = of_bins(a, y, r, n);
    values_of(&m, binned);
    for (int k = 0; k < KINDS; k++)
        most = fmax(most, error_of(binned[k], truth[k]));
    return most <= WITHIN;
}

static void draw(const struct adapt *a, struct random *r, int shape, struct adapt_question *q)
{
    const struct table *t = a->train;
    uint16_t column[DOMAIN_ATTRIBUTES_MAX], y;
    struct adapt_range range[RANGES_MAX];
    size_t n;
    do {
        const size_t all = shuffle(t, r, column);
        int used;
        n = shape == ONE_RANGE ? 1 : 2 + random_below(r, (all < RANGES_MAX ? all : RANGES_MAX) - 1);
        y = column[random_below(r, all)];
        used = snprintf(q->sql, sizeof q->sql,
                        "SELECT COUNT(*), SUM(\"%s\"), VARIANCE(\"%s\") FROM t",
                        t->domain->attribute[y].name, t->domain->attribute[y].name);
        for (size_t i = 0; i < n; i++) {
            const double *x = t->number[column[i]], u = x[random_below(r, t->rows)],
                         v = x[random_below(r, t->rows)];
            range[i] = (struct adapt_range){column[i], fmin(u, v), fmax(u, v)};
            used += snprintf(q->sql + used, sizeof q->sql - (size_t)used,
                             " %s \"%s\" BETWEEN %.10g AND %.10g", i == 0 ? "WHERE" : "AND",
                             t->domain->attribute[column[i]].name, range[i].low, range[i].high);
        }
    } while (!is_fair(a, y, range, n, q->truth));
}

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
    if (!v[SUM].known || !v[2].known)
        return ERR_OK; /* no rows */
    m->rows += v[COUNT].number;
    m->sum += v[SUM].number;
    m->squares += v[2].number * v[COUNT].number + v[SUM].number * v[SUM].number / v[COUNT].number;
    return ERR_OK;
}

static enum err score_answers(struct adapt *a, struct adapt_score *score, int shape)
{
    double *error CLEAN(memory_release) = NULL; /* of each kind, one after the other */
    TRY(memory_new(&error, KINDS * a->asked));
    for (size_t i = 0; i < a->asked; i++) {
        const struct adapt_question *q = &a->question[shape][i];
        struct adapt_moments m = {0};
        double answer[KINDS];
        for (size_t k = 0; k < a->models; k++)
            TRY(add_answer(&m, &a->model[k], q, a->log));
        values_of(&m, answer);
        for (size_t k = 0; k < KINDS; k++)
            error[k * a->asked + i] = m.rows > 0 ? error_of(answer[k], q->truth[k]) : 1;
    }
    for (size_t k = 0; k < KINDS; k++) {
        double *own = error + k * a->asked;
        sorted_make(own, a->asked);
        for (size_t p = 0; p < QUANTILES; p++)
            score->error[shape][k][p] += sorted_quantile(own, a->asked, quantiles[p].p);
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
    enum err e = method == OURS        ? run_ours(a)
                 : method == FEDERATED ? run_federated(a)
                                       : run_central(a, support_path(&a->s, "train.csv"),
                                                     "    max_rows: " ALL_ROWS "\n");
    for (int shape = 0; e == ERR_OK && shape < SHAPES; shape++)
        e = score_answers(a, &a->score[method], shape);
    if (e == ERR_OK)
        e = score_likelihood(a, &a->score[method]);
    while (a->models > 0)
        released_clear(&a->model[--a->models]);
    return e;
}

/* --- the report ------------------------------------------------------------------------------- */

static void report_method(const struct adapt *a, int method, json_t *out)
{
    const struct adapt_score *s = &a->score[method];
    const double n = a->plan->runs, mean = s->loglik / n;
    printf("  %s: log-likelihood %.4f; errors, median / 95 %% / 99 %%\n", methods[method], mean);
    for (int i = 0; i < SHAPES * KINDS; i++) {
        const double *error = s->error[i / KINDS][i % KINDS];
        const char *several = i / KINDS == SEVERAL ? "and_" : "";
        printf("    %4s%-9s %.4f / %.4f / %.4f\n", several, kinds[i % KINDS], error[0] / n,
               error[1] / n, error[2] / n);
        for (size_t p = 0; p < QUANTILES; p++)
            figures_put(out, error[p] / n, "%s%s_%s", several, kinds[i % KINDS], quantiles[p].name);
    }
    figures_put(out, mean, "loglik");
    figures_put(out, sqrt(fmax(0, s->loglik_square / n - mean * mean) / fmax(1, n - 1)),
                "loglik_se");
}

static void report(const struct adapt *a, json_t *out)
{
    const double *ours = a->score[OURS].error[0][0], *theirs = a->score[FEDERATED].error[0][0];
    const double gap = (a->score[CURATOR].loglik - a->score[OURS].loglik) / a->plan->runs;
    size_t not_below = 0;
    char key[24];
    snprintf(key, sizeof key, "epsilon%g", a->epsilon);
    printf("ADAPT's experiment, %s, %u runs:\n", key, a->plan->runs);
    for (int m = 0; m < METHODS; m++)
        report_method(a, m, figures_object(figures_object(out, methods[m]), key));
    for (size_t i = 0; i < SHAPES * KINDS * QUANTILES; i++)
        not_below += ours[i] >= theirs[i];
    figures_put(out, gap, "loglik_gap_%s", key);
    figures_put(out, (double)not_below, "not_below_%s", key);
}

static enum err prepare(struct adapt *a)
{
    const struct table_csv_options numbers = {.rows = {.numbers = true}};
    const struct domain *d = a->s.study->domain;
    struct random r = random_of(1);
    TRY(data_hold_out(a->plan->rows, support_path(&a->s, "train.csv"),
                      support_path(&a->s, "test.csv"), a->log));
    TRY(table_read_csv(&a->train, d, support_path(&a->s, "train.csv"), &numbers, a->log));
    TRY(table_read_csv(&a->test, d, support_path(&a->s, "test.csv"), &numbers, a->log));
    TRY(evaluate_densities(a->train, &a->inside));
    for (size_t c = 0; c < d->attributes; c++)
        if (d->attribute[c].size > CODES_MAX)
            return log_fail(a->log, ERR_RANGE, "columns have at most %d codes here", CODES_MAX);
    a->asked = a->plan->smoke ? ASKED_SMOKE : ASKED;
    for (int shape = 0; shape < SHAPES; shape++) {
        TRY(memory_new(&a->question[shape], a->asked));
        for (size_t i = 0; i < a->asked; i++)
            draw(a, &r, shape, &a->question[shape][i]);
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
