#include "bench/flaim/trial.h"

#include "aim/answer/evaluate.h"
#include "aim/budget/budget.h"
#include "aim/model/sample.h"
#include "aim/run/loop.h"
#include "base/memory.h"
#include "bench/cpu.h"
#include "bench/flaim/flaim.h"
#include "bench/flaim/joining.h"
#include "bench/flaim/trees.h"
#include "harness/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DELTA 1e-5
#define BITS 17 /* of counts: all tables have fewer than 2^17 rows */
#define CLIENTS 100
#define MODEL_BYTES (UINT64_C(80) << 20)

enum algorithm { CENTRAL, DISTRIBUTED, FEDERATED };

struct trial_method {
    const char *name;
    enum algorithm algorithm;
    enum joining_kind joining;
    enum flaim_hetero hetero;
    bool combine, filter, noisy_totals;
};

/* FLAIM: tau, combine, filter; "augflaim-private" is all three together. */
static const struct trial_method methods[] = {
    {.name = "aim", .algorithm = CENTRAL},
    {.name = "distaim", .algorithm = DISTRIBUTED, .joining = JOINING_STAY},
    {.name = "distaim-ahead", .algorithm = DISTRIBUTED, .joining = JOINING_AHEAD},
    {.name = "distaim-round", .algorithm = DISTRIBUTED, .joining = JOINING_ROUND},
    {"flaim-naive", FEDERATED, 0, FLAIM_NAIVE, false, false, false},
    {"augflaim-nonprivate", FEDERATED, 0, FLAIM_TRUE, false, false, false},
    {"augflaim-private", FEDERATED, 0, FLAIM_NOISY, true, true, true},
    {"augflaim-private-model-proxy", FEDERATED, 0, FLAIM_MODEL, true, true, true},
    {"augflaim-private-exact-totals", FEDERATED, 0, FLAIM_NOISY, true, true, false},
    {"flaim-filter", FEDERATED, 0, FLAIM_NAIVE, false, true, true},
    {"flaim-combine", FEDERATED, 0, FLAIM_NAIVE, true, false, true},
    {"flaim-tau", FEDERATED, 0, FLAIM_NOISY, false, false, true},
    {"flaim-tau-filter", FEDERATED, 0, FLAIM_NOISY, false, true, true},
    {"flaim-tau-combine", FEDERATED, 0, FLAIM_NOISY, true, false, true},
    {"flaim-combine-filter", FEDERATED, 0, FLAIM_NAIVE, true, true, true},
};

static const struct trial_method *method_of(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

bool trial_method_known(const char *method)
{
    return method_of(method) != NULL;
}

void trial_name(const struct trial *t, char name[TRIAL_NAME])
{
    snprintf(name, TRIAL_NAME, "%s %s beta=%g %s eps=%g p=%g T=%u s=%u seed=%u", t->table, t->split,
             t->beta, t->method, t->epsilon, t->participation, t->rounds, t->steps, t->seed);
}

/* --- data ------------------------------------------------------------------------------------ */

struct trial_scene {
    struct bench_data data;
    struct flaim_split split;
};

static enum err assignment_of(const struct trial *t, const struct bench_data *data, uint32_t *to,
                              size_t *clients, struct log *log)
{
    struct random r;
    *clients = CLIENTS;
    r = random_of(t->seed + 1000);
    if (strcmp(t->split, "file") == 0)
        return assign_file(to, data->table->rows, t->table, clients, log);
    if (strcmp(t->split, "label") == 0)
        return assign_by_label(to, data->table, data->domain->attributes - 1, CLIENTS, t->beta, &r);
    assign_evenly(to, data->table->rows, CLIENTS, &r);
    return ERR_OK;
}

static void scene_clear(struct trial_scene *s)
{
    split_free(&s->split);
    bench_data_clear(&s->data);
}

static enum err scene_new(struct trial_scene *s, const struct trial *t, struct log *log)
{
    uint32_t *to = NULL;
    size_t clients = SYNTHFS_CLIENTS;
    enum err e;
    *s = (struct trial_scene){0};
    if (strcmp(t->split, "synthfs") == 0) {
        e = synthfs_new(&s->data, &to, t->beta, log);
    } else {
        TRY(bench_data_read(&s->data, t->table, log));
        to = memory_array(s->data.table->rows, sizeof *to);
        e = to != NULL ? assignment_of(t, &s->data, to, &clients, log) : ERR_NOMEM;
    }
    if (e == ERR_OK)
        e = split_new(&s->split, s->data.table, to, clients, t->seed);
    memory_free(&to);
    if (e != ERR_OK)
        scene_clear(s);
    return e;
}

/* --- methods --------------------------------------------------------------------------------- */

struct trial_stage {
    const struct trial *trial;
    const struct trial_method *method;
    const struct trial_scene *scene;
    struct random coins, noise;
    struct trial_figures *f;
    struct log *log;
};

static enum err run_loop(struct trial_stage *s, struct model **m)
{
    unsigned rounds = s->trial->rounds != 0 ? s->trial->rounds
                                            : 8 * (unsigned)s->scene->data.workload->one_ways;
    const struct joining_terms terms = {
        .workload = s->scene->data.workload,
        .split = &s->scene->split,
        .kind = s->method->joining,
        .participation = s->method->algorithm == CENTRAL ? 1 : s->trial->participation,
        .rounds = rounds,
        .noise = noise_from_random(&s->noise),
        .coins = &s->coins};
    const struct aim_options o = {
        .domain = s->scene->data.domain,
        .workload = s->scene->data.workload,
        .limits = {.rho = budget_rho(ACCOUNTING_ZCDP, s->trial->epsilon, DELTA),
                   .epsilon_slack = 1},
        .annealed = s->trial->rounds == 0,
        .rounds = rounds,
        .bounds = {.bits = BITS},
        .model_bytes = MODEL_BYTES,
        .grows = s->method->algorithm == DISTRIBUTED && s->method->joining != JOINING_AHEAD};
    struct joining *j;
    struct aim_backend backend;
    struct aim_result *result = NULL;
    enum err e;
    TRY(joining_new(&j, &terms, s->log));
    backend = joining_backend(j);
    e = aim_run(&result, &o, &backend, s->log);
    if (e == ERR_OK) {
        s->f->rounds = (double)result->rounds - 1;
        s->f->clients = (double)joining_clients(j) / (double)s->scene->split.clients;
        *m = result->model;
        result->model = NULL;
    }
    aim_result_free(&result);
    joining_free(&j);
    return e;
}

static void mean_traffic(const struct flaim_traffic *t, size_t n, double *sent, double *received)
{
    *sent = *received = 0;
    for (size_t k = 0; k < n; k++) {
        *sent += (double)t[k].sent / (double)n;
        *received += (double)t[k].received / (double)n;
    }
}

static enum err run_flaim(struct trial_stage *s, struct model **m)
{
    const struct flaim_options o = {.workload = s->scene->data.workload,
                                    .split = &s->scene->split,
                                    .rho = budget_rho(ACCOUNTING_ZCDP, s->trial->epsilon, DELTA),
                                    .annealed = s->trial->rounds == 0,
                                    .rounds = s->trial->rounds,
                                    .steps = s->trial->steps,
                                    .participation = s->trial->participation,
                                    .hetero = s->method->hetero,
                                    .combine = s->method->combine,
                                    .filter = s->method->filter,
                                    .noisy_totals = s->method->noisy_totals,
                                    .model_bytes = MODEL_BYTES,
                                    .noise = noise_from_random(&s->noise),
                                    .coins = &s->coins,
                                    .real_messages = s->trial->real};
    size_t clients = s->scene->split.clients;
    struct flaim_result *r;
    struct trial_figures *f = s->f;
    TRY(flaim_run(&r, &o, s->log));
    f->rounds = r->rounds;
    f->clients = (double)r->taken / (double)clients;
    f->left_out = (double)r->left_out;
    mean_traffic(r->paper, clients, &f->paper_sent, &f->paper_received);
    mean_traffic(r->wire, clients, &f->wire_sent, &f->wire_received);
    *m = r->model;
    r->model = NULL;
    flaim_result_free(&r);
    return ERR_OK;
}

/* The attribute to predict: mushroom's edibility is its first, the others' class their last. */
static size_t label_of(const struct trial *t, const struct domain *d)
{
    return strcmp(t->table, "mushroom") == 0 ? 0 : d->attributes - 1;
}

static enum err evaluate(struct trial_stage *s, struct model *m)
{
    const struct flaim_split *split = &s->scene->split;
    struct table *rows = NULL;
    size_t impossible = 0;
    enum err e;
    model_set_limit(m, UINT64_C(1) << 30);
    TRY(evaluate_likelihood(m, split->test, &s->f->nll, &impossible));
    s->f->impossible = (double)impossible / (double)split->test->rows;
    s->f->model_cells = (double)model_cells(m);
    s->f->closure_cells = (double)s->scene->data.workload->cells;
    e = sample_rows(&rows, m, split->train->rows, s->trial->seed, s->log);
    if (e == ERR_OK)
        e = evaluate_tables(s->scene->data.workload, split->train, rows, NULL, &s->f->l1);
    if (e == ERR_OK && s->trial->auc)
        e = trees_auc(rows, split->test, label_of(s->trial, s->scene->data.domain), &s->f->auc,
                      s->log);
    table_free(&rows);
    return e;
}

enum err trial_run(const struct trial *t, struct trial_figures *f, struct log *log)
{
    struct trial_scene scene;
    struct trial_stage s = {
        .trial = t, .method = method_of(t->method), .scene = &scene, .f = f, .log = log};
    struct model *m = NULL;
    double start;
    enum err e;
    *f = (struct trial_figures){.auc = NAN};
    if (s.method == NULL)
        return ERR_USAGE;
    s.coins = random_of(t->seed * UINT64_C(2) + 1);
    s.noise = random_of(t->seed * UINT64_C(2) + 2);
    TRY(scene_new(&scene, t, log));
    start = cpu_s();
    e = s.method->algorithm == FEDERATED ? run_flaim(&s, &m) : run_loop(&s, &m);
    f->seconds = cpu_s() - start;
    if (e == ERR_OK)
        e = evaluate(&s, m);
    model_free(&m);
    scene_clear(&scene);
    return e;
}

enum err trial_servers(const struct trial *t, struct servers_figures *f, struct log *log)
{
    struct trial_scene scene;
    struct random coins;
    bool here[CLIENTS] = {false};
    struct servers_terms terms = {.here = here,
                                  .epsilon = t->epsilon,
                                  .delta = DELTA,
                                  .rounds = t->rounds,
                                  .model_mib = MODEL_BYTES >> 20,
                                  .counts = t->counts,
                                  .proved = t->proved};
    enum err e;
    TRY(scene_new(&scene, t, log));
    terms.workload = scene.data.workload;
    terms.split = &scene.split;
    coins = random_of(t->seed * UINT64_C(2) + 1);
    for (unsigned round = 0; round <= t->rounds; round++)
        split_draw(&scene.split, t->participation, &coins, here);
    e = scene.split.clients <= CLIENTS ? servers_run(&terms, f, log) : ERR_RANGE;
    scene_clear(&scene);
    return e;
}
