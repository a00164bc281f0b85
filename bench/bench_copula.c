/*
 * bench/bench_copula.c - `method: copula` through five owners and three servers, as processes.
 *
 *   bench_copula [--json FILE] [--smoke] [--only TABLE] [--runs N]
 *
 * Keys:
 *   body.jsd, .wd, .accuracy   body at (1, 1e-4), from rows whose number modulo 5 is not 4, means
 *                              of five runs: Jensen-Shannon distance of labels (base 2),
 *                              Wasserstein distance of numbers as shares of their range, and how
 *                              often a random forest trained on synthetic rows is right about the
 *                              class of the other rows
 *   adult.l1                   adult at (1, 1e-5): the mean error of its three-way marginals; with
 *                              --only, of the marginals in another table's workload
 *   wide.cpu_s                 200 columns x 20,000 rows, invented: CPU of the three servers
 *   wide.upload_ratio          what an owner sends, over its rows packed
 *   wide.error                 how far latent correlations are off at (1, 1e-5), mean over all
 *                              pairs and four structures; wide.factors, .blocks, .neighbours and
 *                              .independent are for one structure each
 * body and adult are looked for in $TREFOIL_DATA, or ../shared/data. If one is absent, the program
 * says so and leaves it out.
 */
#include "aim/answer/evaluate.h"
#include "aim/copula/copula_model.h"
#include "aim/table/csv.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/forest.h"
#include "bench/study_text.h"
#include "bench/table_study.h"
#include "harness/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 5

struct copula_bench {
    const char *only;
    unsigned runs;
    bool smoke;
    json_t *out;
    struct log log;
};

static void put(struct copula_bench *b, const char *table, const char *key, double value)
{
    printf("%s.%s %.4f\n", table, key, value);
    figures_put(figures_object(b->out, table), value, "%s", key);
}

/* --- body ------------------------------------------------------------------------------------- */

/* Training rows, test rows, and the results. */
struct copula_rows {
    struct table *train, *test;
    const struct study *study; /* of the current run */
};

static enum err read_rows(struct table **t, const struct domain *d, const char *path,
                          struct log *log)
{
    const struct table_csv_options numbers = {.rows = {.numbers = true}};
    return table_read_csv(t, d, path, &numbers, log);
}

/* For two columns of labels: the square root of the divergence in bits. */
static double jensen_shannon(const struct table *x, const struct table *y, size_t a)
{
    const uint32_t size = x->domain->attribute[a].size;
    double sum = 0;
    for (uint32_t code = 0; code < size; code++) {
        double p = 0, q = 0;
        for (size_t i = 0; i < x->rows; i++)
            p += x->column[a][i] == code;
        for (size_t i = 0; i < y->rows; i++)
            q += y->column[a][i] == code;
        p /= (double)x->rows;
        q /= (double)y->rows;
        sum += (p > 0 ? p * log2(2 * p / (p + q)) : 0) + (q > 0 ? q * log2(2 * q / (p + q)) : 0);
    }
    return sqrt(fmax(sum, 0) / 2);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* For two columns of numbers: the area between their distribution functions over the range of x. */
static enum err wasserstein(const struct table *x, const struct table *y, size_t a, double *share)
{
    double *u CLEAN(memory_release) = NULL, *v CLEAN(memory_release) = NULL, area = 0, at;
    TRY(memory_new(&u, x->rows));
    TRY(memory_new(&v, y->rows));
    memcpy(u, x->number[a], x->rows * sizeof *u);
    memcpy(v, y->number[a], y->rows * sizeof *v);
    qsort(u, x->rows, sizeof *u, ascending);
    qsort(v, y->rows, sizeof *v, ascending);
    at = fmin(u[0], v[0]);
    for (size_t i = 0, j = 0; i < x->rows || j < y->rows;) {
        const double next = j == y->rows || (i < x->rows && u[i] <= v[j]) ? u[i] : v[j];
        area += (next - at) * fabs((double)i / (double)x->rows - (double)j / (double)y->rows);
        at = next;
        while (i < x->rows && u[i] <= at)
            i++;
        while (j < y->rows && v[j] <= at)
            j++;
    }
    *share = area / (u[x->rows - 1] - u[0]);
    return ERR_OK;
}

struct body {
    struct copula_bench *b;
    char train[FILE_PATH], test[FILE_PATH];
    double jsd, wd, accuracy; /* sums over runs */
    unsigned runs;
};

static enum err distances(struct body *body, const struct table *train, const struct table *rows)
{
    size_t labels = 0, numbers = 0;
    double jsd = 0, wd = 0;
    for (size_t a = 0; a < train->domain->attributes; a++) {
        double d;
        if (train->number[a] == NULL) {
            labels++;
            jsd += jensen_shannon(train, rows, a);
            continue;
        }
        TRY(wasserstein(train, rows, a, &d));
        numbers++;
        wd += d;
    }
    body->jsd += jsd / (double)(labels > 0 ? labels : 1);
    body->wd += wd / (double)(numbers > 0 ? numbers : 1);
    return ERR_OK;
}

/* The last column is what the forest predicts. */
static enum err look_at_body(void *self, const struct support_study *s, struct log *log)
{
    struct body *body = self;
    const struct domain *d = s->study->domain;
    struct table *train CLEAN(table_free) = NULL, *test CLEAN(table_free) = NULL,
                        *rows CLEAN(table_free) = NULL;
    double accuracy;
    TRY(read_rows(&train, d, body->train, log));
    TRY(read_rows(&test, d, body->test, log));
    TRY(read_rows(&rows, d, support_path(s, "result/synthetic.csv"), log));
    TRY(distances(body, train, rows));
    TRY(forest_accuracy(rows, test, d->attributes - 1, 1, &accuracy));
    body->accuracy += accuracy;
    body->runs++;
    printf("  run %u: accuracy %.3f\n", body->runs, accuracy);
    return ERR_OK;
}

static enum err run_body(struct body *body, const char *domain)
{
    const struct table_study study = {.domain = domain,
                                      .rows = body->train,
                                      .as = "auto",
                                      .copula = "method: copula\n",
                                      .delta = 1e-4,
                                      .most = 4000,
                                      .look = look_at_body,
                                      .self = body};
    for (unsigned k = 0; k < (body->b->smoke ? 1 : body->b->runs); k++) {
        struct table_study_figures f;
        TRY(table_study_run(&study, &f, &body->b->log));
        json_decref(f.stats);
    }
    return ERR_OK;
}

static enum err measure_body(struct copula_bench *b)
{
    char folder[] = "/tmp/trefoil-body-XXXXXX", path[FILE_PATH];
    struct bytes domain CLEAN(bytes_clear) = {0};
    struct body body = {.b = b};
    json_t *codes;
    enum err e;
    TRY(file_path(path, &b->log, "%s/body.codes.json", data_folder()));
    if (!file_is_there(path)) {
        printf("body is absent: left out (set TREFOIL_DATA)\n");
        return ERR_OK;
    }
    codes = data_json(path, &b->log);
    if (codes == NULL || mkdtemp(folder) == NULL)
        return ERR_FORMAT;
    study_text_codes(codes, false, &domain);
    json_decref(codes);
    TRY(bytes_ok(&domain));
    TRY(file_path(path, &b->log, "%s/body.csv", data_folder()));
    TRY(file_path(body.train, &b->log, "%s/train.csv", folder));
    TRY(file_path(body.test, &b->log, "%s/test.csv", folder));
    e = data_hold_out(path, body.train, body.test, &b->log);
    if (e == ERR_OK)
        e = run_body(&body, (const char *)domain.data);
    remove(body.train);
    remove(body.test);
    remove(folder);
    TRY(e);
    put(b, "body", "jsd", body.jsd / body.runs);
    put(b, "body", "wd", body.wd / body.runs);
    put(b, "body", "accuracy", body.accuracy / body.runs);
    return ERR_OK;
}

/* --- adult, or another table of codes --------------------------------------------------------- */

struct marginals {
    struct bench_data data;
    double l1;
};

static enum err look_at_marginals(void *self, const struct support_study *s, struct log *log)
{
    struct marginals *m = self;
    struct table *rows CLEAN(table_free) = NULL;
    TRY(table_read_csv(&rows, m->data.domain, support_path(s, "result/synthetic.csv"), NULL, log));
    return evaluate_tables(m->data.workload, m->data.table, rows, NULL, &m->l1);
}

static enum err measure_marginals(struct copula_bench *b, const char *table)
{
    struct marginals m = {.l1 = 0};
    const struct table_study study = {.table = table,
                                      .as = "auto",
                                      .copula = "method: copula\n",
                                      .delta = 1e-5,
                                      .look = look_at_marginals,
                                      .self = &m};
    struct table_study_figures f = {0};
    enum err e;
    if (data_absent(table))
        return ERR_OK;
    e = bench_data_read(&m.data, table, &b->log);
    if (e == ERR_OK)
        e = table_study_run(&study, &f, &b->log);
    bench_data_clear(&m.data);
    json_decref(f.stats);
    TRY(e);
    put(b, table, "l1", m.l1);
    return ERR_OK;
}

/* --- wide ------------------------------------------------------------------------------------- */

#define COLUMNS 200
#define ROWS 20000
#define CODES 16
#define FACTORS 5

enum structure { BY_FACTORS, BY_BLOCKS, BY_NEIGHBOURS, INDEPENDENT, STRUCTURES };
static const char *const structures[] = {"factors", "blocks", "neighbours", "independent"};

struct wide {
    struct copula_bench *b;
    size_t columns, rows;
    enum structure structure;
    double load[COLUMNS][FACTORS], own[COLUMNS];
    double error, upload_ratio, cpu_s; /* sums over structures; the largest time */
};

static double normal(struct random *r)
{
    return ldexp((double)random_gauss(r), -RANDOM_GAUSS_BITS);
}

/* Loads of factors, with different weights, and each column's own part. */
static void draw_loads(struct wide *w, struct random *r)
{
    for (size_t i = 0; i < w->columns; i++) {
        const double weight = 0.2 + 0.8 * random_double(r);
        double squares = w->own[i] = 0.3 + 0.7 * random_double(r);
        for (size_t k = 0; k < FACTORS; k++) {
            w->load[i][k] = weight * normal(r);
            squares += w->load[i][k] * w->load[i][k];
        }
        for (size_t k = 0; k < FACTORS; k++)
            w->load[i][k] /= sqrt(squares);
        w->own[i] = sqrt(w->own[i] / squares);
    }
}

static double truth(const struct wide *w, size_t i, size_t j)
{
    double sum = 0;
    switch (w->structure) {
    case BY_FACTORS:
        for (size_t k = 0; k < FACTORS; k++)
            sum += w->load[i][k] * w->load[j][k];
        return sum;
    case BY_BLOCKS:
        return i / 10 == j / 10 ? 0.5 : 0;
    case BY_NEIGHBOURS:
        return pow(0.9, fabs((double)i - (double)j));
    case INDEPENDENT:
    case STRUCTURES:
        break;
    }
    return 0;
}

/* The normals behind a row. */
static void draw_row(const struct wide *w, struct random *r, double z[COLUMNS])
{
    double shared[FACTORS], block = 0;
    for (size_t k = 0; k < FACTORS; k++)
        shared[k] = normal(r);
    for (size_t i = 0; i < w->columns; i++) {
        const double own = normal(r);
        block = i % 10 == 0 ? normal(r) : block;
        z[i] = own;
        if (w->structure == BY_BLOCKS)
            z[i] = sqrt(0.5) * (block + own);
        if (w->structure == BY_NEIGHBOURS && i > 0)
            z[i] = 0.9 * z[i - 1] + sqrt(1 - 0.81) * own;
        if (w->structure != BY_FACTORS)
            continue;
        z[i] = w->own[i] * own;
        for (size_t k = 0; k < FACTORS; k++)
            z[i] += w->load[i][k] * shared[k];
    }
}

/* Cut into codes: even in half of the columns, skewed in the others. */
static enum err write_wide(struct wide *w, const char *path)
{
    FILE *f = fopen(path, "w");
    struct random r;
    double z[COLUMNS];
    if (f == NULL)
        return ERR_SYSTEM;
    r = random_of(17 + (uint64_t)w->structure);
    draw_loads(w, &r);
    for (size_t i = 0; i < w->columns; i++)
        fprintf(f, "%sc%zu", i == 0 ? "" : ",", i);
    for (size_t row = 0; row < w->rows; row++) {
        draw_row(w, &r, z);
        for (size_t i = 0; i < w->columns; i++) {
            const double below = 0.5 * erfc(-z[i] / sqrt(2)), part = i % 2 ? below * below : below;
            fprintf(f, "%c%d", i == 0 ? '\n' : ',', (int)fmin(CODES * part, CODES - 1));
        }
    }
    fputc('\n', f);
    return fclose(f) == 0 ? ERR_OK : ERR_SYSTEM;
}

static enum err look_at_wide(void *self, const struct support_study *s, struct log *log)
{
    struct wide *w = self;
    struct domain *d CLEAN(domain_free) = NULL;
    struct copula *model CLEAN(copula_free) = NULL; /* goes first */
    double sum = 0;
    TRY(copula_load(&model, &d, support_path(s, "result/model"), log));
    for (size_t i = 0; i < w->columns; i++)
        for (size_t j = 0; j < i; j++)
            sum += fabs(model->correlation[i * w->columns + j] - truth(w, i, j));
    sum /= (double)(w->columns * (w->columns - 1)) / 2;
    w->error += sum;
    put(w->b, "wide", structures[w->structure], sum);
    return ERR_OK;
}

static enum err run_wide(struct wide *w, const char *domain, const char *path)
{
    const struct table_study study = {.domain = domain,
                                      .rows = path,
                                      .as = "auto",
                                      .copula = "method: copula\n",
                                      .delta = 1e-5,
                                      .most = (unsigned)(w->rows / TABLE_STUDY_OWNERS),
                                      .look = look_at_wide,
                                      .self = w};
    struct table_study_figures f;
    TRY(write_wide(w, path));
    TRY(table_study_run(&study, &f, &w->b->log));
    json_decref(f.stats);
    w->cpu_s = fmax(w->cpu_s, f.cpu_s);
    w->upload_ratio = fmax(w->upload_ratio, f.sent / f.packed);
    return ERR_OK;
}

static enum err measure_wide(struct copula_bench *b)
{
    char path[] = "/tmp/trefoil-wide-XXXXXX";
    struct wide w = {.b = b, .columns = b->smoke ? 12 : COLUMNS, .rows = b->smoke ? 1000 : ROWS};
    struct domain *d CLEAN(domain_free) = NULL;
    struct bytes domain CLEAN(bytes_clear) = {0};
    const int file = mkstemp(path);
    enum err e;
    if (file < 0)
        return ERR_SYSTEM;
    fclose(fdopen(file, "w"));
    e = domain_new(&d);
    for (size_t i = 0; e == ERR_OK && i < w.columns; i++) {
        char name[24];
        snprintf(name, sizeof name, "c%zu", i);
        e = domain_add_integer(d, name, 0, CODES - 1, NULL, DOMAIN_REJECT, &b->log);
    }
    if (e == ERR_OK) {
        study_text_domain(d, NULL, &domain);
        e = bytes_ok(&domain);
    }
    for (int k = 0; e == ERR_OK && k < (b->smoke ? 1 : STRUCTURES); k++) {
        w.structure = (enum structure)k;
        e = run_wide(&w, (const char *)domain.data, path);
    }
    remove(path);
    TRY(e);
    put(b, "wide", "error", w.error / (b->smoke ? 1 : STRUCTURES));
    put(b, "wide", "cpu_s", w.cpu_s);
    put(b, "wide", "upload_ratio", w.upload_ratio);
    return ERR_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

static enum err measure(struct copula_bench *b)
{
    static const char *const all[] = {"body", "adult", "wide"};
    for (size_t k = 0; k < (b->only == NULL ? 3 : 1); k++) {
        const char *table = b->only == NULL ? all[k] : b->only;
        if (strcmp(table, "body") == 0)
            TRY(measure_body(b));
        else if (strcmp(table, "wide") == 0)
            TRY(measure_wide(b));
        else
            TRY(measure_marginals(b, table));
    }
    return ERR_OK;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct copula_bench b = {.runs = RUNS, .log = {.file = stderr, .level = LOG_ERROR}};
    const struct figures_option options[] = {{.name = "only", .text = &b.only},
                                             {.name = "runs", .count = &b.runs}};
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    b.smoke = f.smoke;
    b.out = f.out;
    return figures_end(&f, measure(&b) != ERR_OK);
}
