#include "bench/central.h"

#include "aim/answer/evaluate.h"
#include "aim/budget/budget.h"
#include "aim/model/sample.h"
#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/generated.h"
#include "harness/model.h"
#include "parties/study/rounds.h"
#include "parties/study/study.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DELTA 1e-5
#define ACCOUNTING ACCOUNTING_GAUSSIAN /* of all these tables */
#define BITS 21                        /* room for the counts of any of the tables */
/* What a study has by default. */
#define COPULA_CLIP 2.5
#define COPULA_SHARE 0.5

static struct ledger_limits limits_of(const struct central_run *run)
{
    return (struct ledger_limits){.rho = budget_rho(ACCOUNTING, run->epsilon, DELTA),
                                  .epsilon_slack = 1};
}

static enum err draw_aim(struct aim_result *result, const struct bench_data *c, uint64_t seed,
                         struct central_figures *f, struct table **rows, struct log *log)
{
    f->loss = result->loss;
    f->rounds = (double)result->rounds - 1;
    f->scores = result->sweeps > 0 ? (double)result->scores[0].candidates : 0;
    model_set_limit(result->model, UINT64_C(1) << 30);
    TRY(model_error(result->model, c->workload, c->table, &f->l1_model, log));
    return sample_rows(rows, result->model, c->table->rows, seed, log);
}

static enum err run_aim(const struct central_run *run, const struct bench_data *c,
                        struct plaintext_noise *noise, uint64_t seed, struct central_figures *f,
                        struct table **rows, struct log *log)
{
    const struct aim_options o = {.domain = c->domain,
                                  .workload = c->workload,
                                  .limits = limits_of(run),
                                  .accounting = ACCOUNTING,
                                  .rows = c->table->rows,
                                  .annealed = run->way == CENTRAL_ANNEALED,
                                  .rounds = run->way == CENTRAL_FIXED ? run->rounds : 0,
                                  .sweeps = run->way == CENTRAL_SWEEPS ? run->rounds : 0,
                                  .model_bytes = (uint64_t)run->mib << 20,
                                  .bounds = {.bits = BITS}};
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct aim_backend backend;
    const double start = cpu_s();
    TRY(plaintext_new(&p, c->workload, c->table, noise, log));
    backend = plaintext_backend(p);
    TRY(aim_run(&result, &o, &backend, log));
    f->cpu_s = cpu_s() - start;
    f->peak_mib = cpu_mib_of(getpid(), "VmHWM");
    return draw_aim(result, c, seed, f, rows, log);
}

static enum err run_copula(const struct central_run *run, const struct bench_data *c,
                           struct plaintext_noise *noise, uint64_t seed, struct central_figures *f,
                           struct table **rows, struct log *log)
{
    struct workload *pairs CLEAN(workload_free) = NULL;
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct copula_result *result CLEAN(copula_result_free) = NULL;
    struct copula_options o = {.domain = c->domain,
                               .limits = limits_of(run),
                               .bounds = {.bits = BITS},
                               .clip = COPULA_CLIP,
                               .share = COPULA_SHARE};
    struct aim_backend backend;
    const double start = cpu_s();
    TRY(workload_all(&pairs, c->domain, 2, log));
    o.pairs = pairs;
    TRY(plaintext_new(&p, pairs, c->table, noise, log));
    backend = plaintext_backend(p);
    TRY(copula_run(&result, &o, &backend, log));
    f->cpu_s = cpu_s() - start;
    f->peak_mib = cpu_mib_of(getpid(), "VmHWM");
    f->l1_model = f->loss = NAN;
    return copula_rows(rows, result->model, c->table->rows, seed, log);
}

static enum err read_table(const struct central_run *run, struct bench_data *c, struct log *log)
{
    if (!generated_is(run->table))
        return bench_data_read(c, run->table, log);
    return generated_make(c, run->table, run->rows != 0 ? run->rows : GENERATED_ROWS, log);
}

enum err central_choose(const struct central_run *run, struct central_run *chosen, struct log *log)
{
    struct bench_data c CLEAN(bench_data_clear) = {0};
    struct rounds_choice choice;
    TRY(read_table(run, &c, log));
    choice = rounds_choose(&(const struct rounds_terms){.workload = c.workload,
                                                        .rows = (double)c.table->rows,
                                                        .rows_most = (double)c.table->rows,
                                                        .epsilon = run->epsilon,
                                                        .rho = limits_of(run).rho,
                                                        .accounting = ACCOUNTING,
                                                        .l1 = true});
    *chosen = *run;
    chosen->way = choice.sweeps > 0 ? CENTRAL_SWEEPS
                  : choice.annealed ? CENTRAL_ANNEALED
                                    : CENTRAL_FIXED;
    chosen->rounds = choice.sweeps > 0 ? choice.sweeps : choice.rounds;
    chosen->mib = choice.mib;
    printf("%-14s auto: %s, since %s; noise of scores %.2g %% of the rows\n", run->table,
           rounds_word(&choice).text, choice.cause, 100 * choice.noise);
    return ERR_OK;
}

static enum err run_once(const struct central_run *run, uint64_t seed, struct central_figures *f,
                         struct log *log)
{
    struct bench_data c CLEAN(bench_data_clear) = {0};
    struct table *rows CLEAN(table_free) = NULL; /* goes first */
    struct random r = random_of(seed);
    struct plaintext_noise noise = noise_from_random(&r);
    TRY(read_table(run, &c, log));
    if (run->way == CENTRAL_COPULA)
        TRY(run_copula(run, &c, &noise, seed, f, &rows, log));
    else
        TRY(run_aim(run, &c, &noise, seed, f, &rows, log));
    return evaluate_tables(c.workload, c.table, rows, NULL, &f->l1);
}

/* In a process of its own, for its peak memory. */
static enum err run_apart(const struct central_run *run, uint64_t seed, struct central_figures *f,
                          struct log *log)
{
    int ends[2], status = 1;
    pid_t child;
    bool got;
    if (pipe(ends) != 0)
        return ERR_SYSTEM;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(run_once(run, seed, f, log) == ERR_OK && write(ends[1], f, sizeof *f) == sizeof *f
                  ? 0
                  : 1);
    close(ends[1]);
    got = child > 0 && read(ends[0], f, sizeof *f) == sizeof *f;
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return got && status == 0 ? ERR_OK : ERR_SYSTEM;
}

enum err central_measure(const struct central_run *run, unsigned seeds, struct central_figures *f,
                         struct log *log)
{
    const double n = seeds;
    double square = 0;
    *f = (struct central_figures){0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct central_figures one = {0};
        if (run_apart(run, seed, &one, log) != ERR_OK)
            return log_fail(log, ERR_DATA, "%s, %s: the run with seed %llu failed", run->table,
                            central_word(run->way), (unsigned long long)seed);
        f->l1 += one.l1 / n;
        square += one.l1 * one.l1 / n;
        f->l1_model += one.l1_model / n;
        f->loss += one.loss / n;
        f->rounds += one.rounds / n;
        f->scores = fmax(f->scores, one.scores);
        f->cpu_s += one.cpu_s / n;
        f->peak_mib = fmax(f->peak_mib, one.peak_mib);
    }
    f->l1_standard_error = sqrt(fmax(0, square - f->l1 * f->l1) / fmax(1, n - 1));
    return ERR_OK;
}

const char *central_word(enum central_way way)
{
    switch (way) {
    case CENTRAL_FIXED:
        return "fixed";
    case CENTRAL_ANNEALED:
        return "annealed";
    case CENTRAL_SWEEPS:
        return "sweeps";
    case CENTRAL_COPULA:
        return "copula";
    }
    return NULL;
}

void central_show(const struct central_run *run, unsigned seeds, const struct central_figures *f,
                  json_t *list)
{
    json_t *o = figures_item(list);
    printf("%-14s %-8s L1 %.4f +- %.4f  %8.3f CPU s  %5.0f MiB", run->table, central_word(run->way),
           f->l1, f->l1_standard_error, f->cpu_s, f->peak_mib);
    if (run->way != CENTRAL_COPULA)
        printf("  rounds %5.1f  of model %.4f  loss %.5g", f->rounds, f->l1_model, f->loss);
    printf("\n");
    json_object_set_new(o, "table", json_string(run->table));
    json_object_set_new(o, "accounting", json_string(study_accounting_words[ACCOUNTING]));
    json_object_set_new(o, "annealed", json_boolean(run->way == CENTRAL_ANNEALED));
    figures_put(o, seeds, "seeds");
    figures_put(o, f->l1, "l1");
    figures_put(o, f->l1_standard_error, "l1_standard_error");
    figures_put(o, f->l1_model, "l1_model");
    figures_put(o, f->cpu_s, "cpu_s");
    figures_put(o, f->peak_mib, "peak_mib");
    if (run->way != CENTRAL_SWEEPS) {
        figures_put(o, f->rounds, "rounds");
        return;
    }
    figures_put(o, f->l1_standard_error, "l1_se");
    figures_put(o, f->rounds + 1, "requests");
    figures_put(o, f->scores, "scores");
}
