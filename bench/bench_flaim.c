/*
 * DistAIM, as Trefoil does it, compared with FLAIM in utility and bandwidth.
 *
 *   bench_flaim [--quick] [--only PART] [--table NAME] [--seeds N] [--report]
 *               [--results FILE] [--json FILE] [--smoke]
 *
 *   --quick      two small tables, few seeds and rounds: minutes
 *   --only       table1, iid, rounds (Table 2, Figure 5), figures (Figure 2), ablation, annealed,
 *                or servers (DistAIM over server processes; needs TREFOIL, the program)
 *   --table      adult, adult_pgm, mushroom, nursery or synthfs
 *   --report     run nothing: tables, JSON and plots of the results so far
 *   --results    what has been run, a line each; a sweep that was stopped goes on from there.
 *                Default: build/bench/flaim-results.jsonl
 *   --json       all figures (bench/flaim/report.h describes the format); plots go beside it
 *   --smoke      as --quick, with one seed and without what has been run before
 *
 * Tables come from $TREFOIL_DATA, or ../shared/data. Absent ones are named and left out, as are AUC
 * without libxgboost and plots without gnuplot.
 */
#include "base/clock.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/flaim/costs.h"
#include "bench/flaim/report.h"
#include "bench/flaim/trees.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flaim_bench {
    struct plan_options plan;
    struct figures figures;
    bool report, trees;
    const char *results_path;
    struct results *results;
    struct log log;
};

/* --- trials ---------------------------------------------------------------------------------- */

static bool done(const struct flaim_bench *b, const struct trial *t)
{
    char name[TRIAL_NAME];
    const json_t *figures;
    trial_name(t, name);
    figures = results_get(b->results, name);
    return figures != NULL && (!t->auc || json_object_get(figures, "auc") != NULL);
}

static bool has_data(const struct trial *t)
{
    return strcmp(t->table, "synthfs") == 0 || data_present(t->table);
}

/* Moves the trials that can run and have not run to the front; reports those without data. */
static size_t pending(const struct flaim_bench *b, struct plan *p)
{
    size_t left = 0;
    const char *absent = NULL;
    for (size_t i = 0; i < p->trials; i++) {
        struct trial t = p->trial[i];
        t.auc = t.auc && b->trees;
        if (!has_data(&t)) {
            if (absent == NULL || strcmp(absent, t.table) != 0)
                (void)data_absent(t.table);
            absent = t.table;
        } else if (!done(b, &t)) {
            p->trial[left++] = t;
        }
    }
    return left;
}

static enum err run_one(struct flaim_bench *b, const struct trial *t, size_t at, size_t all,
                        double begin)
{
    char name[TRIAL_NAME];
    struct trial_figures f;
    double left;
    TRY(trial_run(t, &f, &b->log));
    trial_name(t, name);
    TRY(results_add(b->results, name, figures_json(&f)));
    left = (clock_now_s() - begin) / (double)(at + 1) * (double)(all - at - 1);
    printf("[%zu/%zu, %.0f s left] %s: L1 %.3f, NLL %.2f\n", at + 1, all, left, name, f.l1, f.nll);
    return ERR_OK;
}

static enum err run_trials(struct flaim_bench *b)
{
    struct plan p;
    double begin = clock_now_s();
    enum err e = plan_new(&p, &b->plan);
    size_t all = e == ERR_OK ? pending(b, &p) : 0;
    for (size_t i = 0; e == ERR_OK && i < all; i++)
        if (!done(b, &p.trial[i])) /* parts overlap */
            e = run_one(b, &p.trial[i], i, all, begin);
    plan_clear(&p);
    return e;
}

/* --- servers --------------------------------------------------------------------------------- */

static enum err run_servers(struct flaim_bench *b)
{
    struct plan p;
    enum err e;
    if (getenv("TREFOIL") == NULL) {
        printf("DistAIM is not run over servers: TREFOIL does not name the program\n");
        return ERR_OK;
    }
    e = plan_servers(&p, &b->plan);
    for (size_t i = 0; e == ERR_OK && i < p.trials; i++) {
        struct servers_figures f;
        char name[TRIAL_NAME];
        costs_servers_name(&p.trial[i], name);
        if (results_get(b->results, name) != NULL || !has_data(&p.trial[i]))
            continue;
        e = trial_servers(&p.trial[i], &f, &b->log);
        if (e == ERR_OK)
            e = results_add(b->results, name, servers_json(&f));
        if (e == ERR_OK)
            printf("%s: %.0f uploads of %.0f bytes, servers %.1f MB, %.1f s\n", name, f.uploads,
                   f.sent, f.server_bytes / 1e6, f.mpc_s);
    }
    plan_clear(&p);
    return e;
}

/* --- what came of it ------------------------------------------------------------------------- */

static void report(struct flaim_bench *b)
{
    const char *slash, *name;
    char prefix[512];
    const char *path = b->figures.path;
    report_tables(b->results);
    report_json(b->results, b->figures.out);
    if (path == NULL)
        return;
    slash = strrchr(path, '/');
    name = slash != NULL ? slash + 1 : path;
    snprintf(prefix, sizeof prefix, "%.*s", (int)((size_t)(name - path) + strcspn(name, ".")),
             path);
    report_plots(b->results, prefix);
}

static enum err all(struct flaim_bench *b)
{
    const char *reason;
    TRY(results_open(&b->results, b->results_path, &b->log));
    if (!b->report) {
        b->trees = trees_present(&reason);
        if (!b->trees)
            printf("no AUC: %s\n", reason);
        TRY(run_trials(b));
        if (b->plan.only == NULL || strcmp(b->plan.only, "servers") == 0)
            TRY(run_servers(b));
    }
    report(b);
    return ERR_OK;
}

/* --- command line ---------------------------------------------------------------------------- */

static bool known_part(const char *part)
{
    static const char *const parts[] = {"table1",   "iid",      "rounds", "figures",
                                        "ablation", "annealed", "servers"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i], part) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct flaim_bench b = {.results_path = "build/bench/flaim-results.jsonl",
                            .log = {.file = stderr, .level = LOG_WARN}};
    const struct figures_option options[] = {
        {.name = "only", .text = &b.plan.only},       {.name = "table", .text = &b.plan.table},
        {.name = "seeds", .count = &b.plan.seeds},    {.name = "quick", .flag = &b.plan.quick},
        {.name = "results", .text = &b.results_path}, {.name = "report", .flag = &b.report},
    };
    enum err e;
    figures_begin(&b.figures, argc, argv, options, sizeof options / sizeof *options);
    if (b.plan.only != NULL && !known_part(b.plan.only)) {
        log_error(&b.log, "there is no part %s; see the head of bench/bench_flaim.c", b.plan.only);
        return 2;
    }
    if (b.figures.smoke) {
        b.plan.quick = true;
        b.plan.seeds = 1;
        b.results_path = "/dev/null";
    }
    e = all(&b);
    results_free(&b.results);
    return figures_end(&b.figures, e != ERR_OK);
}
