#include "bench/pair_utility.h"

#include "aim/answer/evaluate.h"
#include "aim/budget/budget.h"
#include "aim/model/sample.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "base/memory.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "mpc/pair/joint_noise.h"
#include "mpc/pair/own_noise.h"
#include "parties/study/study.h"

#include <math.h>
#include <stdio.h>

#define TABLE "breast_cancer"
#define ROWS 228 /* of 286: four in five, as in the paper */
#define EPSILON 1.0
#define BITS 8     /* of a count */
#define COLUMNS 16 /* at most, of at most 256 codes */
#define RUNS 400

/* --- noise ------------------------------------------------------------------------------------ */

struct utility_noise {
    struct random r;
    enum noise_by by;
};

/* What the circuit of joint noise draws, from the same thresholds. */
static int64_t between(struct random *r)
{
    size_t prefix = 1;
    while (prefix < 256)
        prefix = 2 * prefix + (random_u64(r) < joint_threshold[prefix]);
    return (int64_t)prefix - 256 - 128;
}

static enum err gauss(void *self, size_t n, int64_t *out)
{
    struct utility_noise *d = self;
    const bool joint = d->by == NOISE_BY_JOINT;
    for (size_t i = 0; i < n; i++) {
        uint64_t own[2] = {0};
        own_gauss(&d->r, joint ? &own_sigma_fifth : &own_sigma_whole, own,
                  d->by == NOISE_BY_OWNER ? 1 : 2);
        out[i] = (int64_t)(own[0] + own[1]) + (joint ? between(&d->r) * (1 << 17) : 0);
    }
    return ERR_OK;
}

static enum err gumbel(void *self, size_t n, int64_t *out)
{
    struct utility_noise *d = self;
    for (size_t i = 0; i < n; i++) {
        uint64_t own[2] = {0};
        own_gumbel(&d->r, own, d->by == NOISE_BY_OWNER ? 1 : 2);
        out[i] = (int64_t)(own[0] + own[1]);
    }
    return ERR_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Codes that occur in no row are left out, as in the paper's domain of 598,752 cells. */
static enum err fold(const struct bench_data *all, struct bench_data *c, uint16_t (*code)[256],
                     struct log *log)
{
    char path[4096];
    json_t *sizes = json_object(), *codes;
    enum err e;
    for (size_t a = 0; a < all->domain->attributes; a++) {
        bool seen[256] = {false};
        uint16_t size = 0;
        for (size_t i = 0; i < all->table->rows; i++)
            seen[all->table->column[a][i]] = true;
        for (size_t v = 0; v < 256; v++)
            code[a][v] = seen[v] ? size++ : 0;
        json_object_set_new(sizes, all->domain->attribute[a].name, json_integer(size));
    }
    snprintf(path, sizeof path, "%s/" TABLE ".codes.json", data_folder());
    codes = data_json(path, NULL);
    e = data_domain(&c->domain, sizes, codes, log);
    json_decref(sizes);
    json_decref(codes);
    TRY(e);
    return workload_all(&c->workload, c->domain, 2, log);
}

/* Other rows for each seed. */
static enum err take_rows(const struct bench_data *all, struct bench_data *c, uint16_t (*code)[256],
                          uint64_t seed)
{
    struct random r = random_of(seed);
    size_t left = all->table->rows;
    uint32_t *row CLEAN(memory_release) = NULL;
    TRY(memory_new(&row, left));
    TRY(table_new(&c->table, c->domain, ROWS));
    for (size_t i = 0; i < left; i++)
        row[i] = (uint32_t)i;
    for (size_t n = 0; n < ROWS; n++) {
        const size_t k = random_below(&r, left);
        uint16_t values[COLUMNS];
        for (size_t a = 0; a < c->domain->attributes; a++)
            values[a] = code[a][all->table->column[a][row[k]]];
        row[k] = row[--left];
        TRY(table_append(c->table, values));
    }
    return ERR_OK;
}

static enum err read_rows(struct bench_data *c, uint64_t seed, struct log *log)
{
    struct bench_data all CLEAN(bench_data_clear) = {0};
    uint16_t code[COLUMNS][256];
    TRY(bench_data_read(&all, TABLE, log));
    if (all.table->rows < ROWS || all.domain->attributes > COLUMNS)
        return ERR_DATA;
    TRY(fold(&all, c, code, log));
    return take_rows(&all, c, code, seed);
}

/* --- runs ------------------------------------------------------------------------------------- */

struct utility_way {
    double delta;
    enum aim_score score;
    bool central; /* a curator's rounded Gaussians */
    enum noise_by by;
};

static enum err run(const struct utility_way *way, uint64_t seed, double *l1, struct log *log)
{
    struct bench_data c CLEAN(bench_data_clear) = {0};
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct table *rows CLEAN(table_free) = NULL;
    struct utility_noise drawn = {random_of(seed + 1000), way->by};
    const struct plaintext_noise noise = way->central
                                             ? noise_from_random(&drawn.r)
                                             : (struct plaintext_noise){&drawn, gauss, gumbel};
    struct aim_options o = {
        .limits = {.rho = budget_rho(ACCOUNTING_GAUSSIAN, EPSILON, way->delta), .epsilon_slack = 1},
        .accounting = ACCOUNTING_GAUSSIAN,
        .rows = ROWS,
        .rounds = 3,
        .score = way->score,
        .noise_by = way->by,
        .bounds = {.bits = BITS, .noise_by = way->by}};
    struct aim_backend backend;
    TRY(read_rows(&c, seed, log));
    o.domain = c.domain;
    o.workload = c.workload;
    TRY(plaintext_new(&p, c.workload, c.table, &noise, log));
    backend = plaintext_backend(p);
    TRY(aim_run(&result, &o, &backend, log));
    TRY(sample_rows(&rows, result->model, ROWS, seed, log));
    return evaluate_tables(c.workload, c.table, rows, NULL, l1);
}

static enum err mean(const struct utility_way *way, unsigned runs, double *l1, double *se,
                     struct log *log)
{
    double sum = 0, square = 0;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        double one;
        TRY(run(way, seed, &one, log));
        sum += one / runs;
        square += one * one / runs;
    }
    *l1 = sum;
    *se = sqrt(fmax(0, square - sum * sum) / fmax(1, runs - 1.));
    return ERR_OK;
}

static enum err compare(double delta, enum aim_score score, unsigned runs, json_t *list,
                        struct log *log)
{
    static const struct {
        const char *word;
        enum noise_by by;
    } ways[] = {{"owner", NOISE_BY_OWNER}, {"joint", NOISE_BY_JOINT}, {"both", NOISE_BY_BOTH}};
    double central, l1, se;
    TRY(mean(&(struct utility_way){delta, score, true, NOISE_BY_ALL}, runs, &central, &se, log));
    printf("%s, delta %g, %s: a curator's L1 %.3f +- %.3f\n", TABLE, delta,
           study_score_words[score], central, se);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        json_t *o = figures_item(list);
        TRY(mean(&(struct utility_way){delta, score, false, ways[k].by}, runs, &l1, &se, log));
        printf("  noise_by: %-6s L1 %.3f +- %.3f\n", ways[k].word, l1, se);
        json_object_set_new(o, "table", json_string(TABLE));
        json_object_set_new(o, "score", json_string(study_score_words[score]));
        json_object_set_new(o, "noise_by", json_string(ways[k].word));
        figures_put(o, EPSILON, "epsilon");
        figures_put(o, delta, "delta");
        figures_put(o, runs, "runs");
        figures_put(o, l1, "l1");
        figures_put(o, se, "l1_se");
        figures_put(o, central, "central_l1");
        figures_put(o, score == AIM_L2 ? 0.476 : 0.415, "paper_l1");
    }
    return ERR_OK;
}

enum err pair_utility_measure(json_t *out, bool smoke)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "bench_fhaim: "};
    const unsigned runs = smoke ? 1 : RUNS;
    json_t *list = figures_list(out, "utility");
    if (data_absent(TABLE))
        return ERR_OK;
    TRY(compare(1e-5, AIM_L1, runs, list, &log));
    if (smoke)
        return ERR_OK;
    TRY(compare(1e-9, AIM_L1, runs, list, &log));
    return compare(1e-9, AIM_L2, runs, list, &log);
}
