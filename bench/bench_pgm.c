/*
 * The estimator and central AIM, measured. Two uses:
 *
 *   bench_pgm [--json FILE] [--only PART] [--table NAME] [--seeds N] [--rounds N]
 *             [--epsilon E] [--over S] [--smoke]
 *       PART: nursery, bp, aim, sweeps or wide. Reference figures are in reference/baselines.md.
 *       Part aim has six tables and those of bench/generated.h (chain and star if they are named),
 *       5 seeds at (1, 1e-5): AIM with T = 10, annealed and in sweeps (part sweeps: only these), a
 *       copula; adult also with T = 32.
 *       Fails if what `rounds: auto` chooses is worse than the better of annealed and sweeps by a
 *       share above S, by default 0.05, and by more than chance.
 *       --smoke: one seed, small sizes.
 *   bench_pgm --case FILE [--iterations N] [--plain] [--marginal a,b]...
 *       Fits one case, with --plain by the reference's mirror descent, and prints loss, CPU seconds
 *       and the marginals asked for. A case is
 *         { "domain": { "age": 32, "sex": 2 },  attributes in order, and their sizes
 *           "total": 1000,                      optional: else estimated from the measurements
 *           "measurements": [ { "clique": ["sex", "age"], "sigma": 5.0, "y": [...] } ] }
 *       y is row-major in the order of "clique", which need not be the domain's; other keys are
 *       ignored.
 *
 * Tables come from $TREFOIL_DATA, or ../shared/data; the nursery case from the folder `reference`
 * beside it. Absent ones are named and left out. Times are CPU seconds; each run on a table is a
 * process of its own, so that its peak memory can be measured.
 */
#include "aim/model/model_private.h"
#include "aim/run/loop.h"
#include "base/memory.h"
#include "bench/central.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/generated.h"
#include "harness/model.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARGINALS_MAX 64
#define SMOKE_ROWS 1000 /* of generated tables */
#define WIDE_ROWS 1000000
/* By how much `rounds: auto` may be worse than the better kind; of one seed and few rows. */
#define AUTO_OVER 0.05
#define SMOKE_OVER 0.5

struct pgm_bench {
    struct log *log;
    const char *table; /* NULL: all */
    unsigned seeds, rounds;
    double epsilon, over;
    bool smoke, sweeps; /* sweeps alone */
};

/* --- cases ----------------------------------------------------------------------------------- */

struct pgm_case {
    struct domain *domain;
    size_t measurements;
    struct measurement *measurement;
    struct clique *clique; /* of each measurement */
    double total;
};

static enum err measurement_read(struct pgm_case *c, const json_t *m, struct log *log)
{
    const json_t *list = json_object_get(m, "clique"), *y = json_object_get(m, "y");
    struct measurement *x = &c->measurement[c->measurements];
    const char *names[CLIQUE_MAX + 1] = {NULL};
    size_t place[CLIQUE_MAX], stride[CLIQUE_MAX] = {0}, step = 1, n = json_array_size(list);
    uint64_t cells;
    for (size_t k = 0; k < n && k <= CLIQUE_MAX; k++) {
        names[k] = json_string_value(json_array_get(list, k));
        if (names[k] == NULL)
            return ERR_FORMAT;
    }
    TRY(data_clique(c->domain, names, n, &x->clique, place, log));
    cells = clique_cells(&x->clique, c->domain);
    x->sigma = json_number_value(json_object_get(m, "sigma"));
    x->y = memory_array(cells, sizeof *x->y);
    c->clique[c->measurements++] = x->clique;
    if (x->y == NULL)
        return ERR_NOMEM;
    if (json_array_size(y) != cells) {
        log_error(log, "measurement %zu has %zu numbers in y; its clique has %llu cells",
                  c->measurements, json_array_size(y), (unsigned long long)cells);
        return ERR_FORMAT;
    }
    for (size_t k = n; k-- > 0;)
        for (unsigned i = 0; i < x->clique.n; i++)
            if (place[i] == k) {
                stride[i] = step;
                step *= c->domain->attribute[x->clique.attribute[i]].size;
            }
    for (uint64_t i = 0; i < cells; i++) {
        uint64_t left = i, at = 0;
        for (unsigned k = x->clique.n; k-- > 0;) {
            uint32_t size = c->domain->attribute[x->clique.attribute[k]].size;
            at += left % size * stride[k];
            left /= size;
        }
        x->y[i] = json_number_value(json_array_get(y, at));
    }
    return ERR_OK;
}

static enum err case_fill(struct pgm_case *c, const json_t *root, struct log *log)
{
    const json_t *list = json_object_get(root, "measurements");
    size_t n = json_array_size(list);
    TRY(data_domain(&c->domain, json_object_get(root, "domain"), NULL, log));
    c->measurement = memory_array(n, sizeof *c->measurement);
    c->clique = memory_array(n, sizeof *c->clique);
    if (c->measurement == NULL || c->clique == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        TRY(measurement_read(c, json_array_get(list, i), log));
    c->total = json_number_value(json_object_get(root, "total"));
    if (!(c->total > 0))
        c->total = model_estimate_total(c->domain, c->measurement, c->measurements);
    return n > 0 ? ERR_OK : ERR_FORMAT;
}

static void case_clear(struct pgm_case *c)
{
    for (size_t i = 0; i < c->measurements; i++)
        memory_free(&c->measurement[i].y);
    memory_free_all(&c->measurement, &c->clique);
    domain_free(&c->domain);
}

static enum err case_read(struct pgm_case *c, const char *path, struct log *log)
{
    json_t *root = data_json(path, log);
    enum err e = root != NULL ? ERR_OK : ERR_FORMAT;
    *c = (struct pgm_case){0};
    if (e == ERR_OK) {
        e = case_fill(c, root, log);
        if (e != ERR_OK)
            log_error(log, "%s is no case: see the head of bench/bench_pgm.c", path);
    }
    json_decref(root);
    if (e != ERR_OK)
        case_clear(c);
    return e;
}

static enum err case_fit(const struct pgm_case *c, bool plain, unsigned iterations,
                         struct model **m, struct model_fitted *fitted, double *seconds,
                         struct log *log)
{
    double start = cpu_s();
    TRY(model_plain(m, c->domain, c->clique, c->measurements, UINT32_MAX, log));
    model_set_total(*m, c->total);
    if (plain)
        TRY(mirror_fit(*m, c->measurement, c->measurements, iterations, fitted));
    else
        TRY(model_fit(*m, c->measurement, c->measurements, iterations, fitted, log));
    *seconds = cpu_s() - start;
    return ERR_OK;
}

static enum err print_marginal(const struct model *m, const char *asked, struct log *log)
{
    char text[1024];
    const struct domain *d = model_domain(m);
    const char *names[CLIQUE_MAX + 1];
    size_t place[CLIQUE_MAX], n = 0;
    struct clique c;
    double *counts;
    enum err e;
    snprintf(text, sizeof text, "%s", asked);
    printf("%s:", text);
    for (char *name = strtok(text, ","); name != NULL && n <= CLIQUE_MAX; name = strtok(NULL, ","))
        names[n++] = name;
    TRY(data_clique(d, names, n, &c, place, log));
    counts = memory_array(clique_cells(&c, d), sizeof *counts);
    e = counts != NULL ? model_marginal(m, &c, counts, log) : ERR_NOMEM;
    for (uint64_t i = 0; e == ERR_OK && i < clique_cells(&c, d); i++)
        printf(" %.3f", counts[i]); /* in the domain's order of attributes */
    printf("\n");
    memory_free(&counts);
    return e;
}

static enum err run_case(const char *path, bool plain, unsigned iterations, const char **marginal,
                         size_t marginals, struct log *log)
{
    struct pgm_case c;
    struct model *m = NULL;
    struct model_fitted fitted;
    double seconds;
    enum err e;
    TRY(case_read(&c, path, log));
    e = case_fit(&c, plain, iterations, &m, &fitted, &seconds, log);
    if (e == ERR_OK)
        printf("loss %.10g  seconds %.4f  iterations %u  propagations %u  model cells %llu\n",
               fitted.loss, seconds, fitted.iterations, fitted.trials,
               (unsigned long long)model_cells(m));
    for (size_t i = 0; e == ERR_OK && i < marginals; i++)
        e = print_marginal(m, marginal[i], log);
    model_free(&m);
    case_clear(&c);
    return e;
}

/* --- nursery --------------------------------------------------------------------------------- */

static bool bench_nursery(const struct pgm_bench *b, json_t *out)
{
    struct log *log = b->log;
    static const unsigned iterations[] = {100, 1000, 10000};
    char path[4096];
    struct pgm_case c;
    struct model *m = NULL;
    struct model_fitted fitted;
    double seconds;
    json_t *losses = figures_object(out, "nursery_plain_loss");
    snprintf(path, sizeof path, "%s/../reference/pgm_nursery.json", data_folder());
    if (case_read(&c, path, log) != ERR_OK)
        return true; /* left out, as it said */
    for (int i = 0; i < 3; i++) {
        if (case_fit(&c, true, iterations[i], &m, &fitted, &seconds, log) == ERR_OK) {
            figures_put(losses, fitted.loss, "%u", iterations[i]);
            printf("nursery, plain, %5u iterations: loss %.7g, %.4f s\n", iterations[i],
                   fitted.loss, seconds);
        }
        model_free(&m);
    }
    for (unsigned n = 100; n <= 100000; n += n / 10) {
        bool done = case_fit(&c, false, n, &m, &fitted, &seconds, log) == ERR_OK &&
                    fitted.loss <= 41.72;
        model_free(&m);
        if (!done)
            continue;
        figures_put(out, seconds, "nursery_seconds_to_41_72");
        figures_put(out, fitted.trials, "nursery_propagations_to_41_72");
        printf("nursery, default: loss %.7g after %u propagations, %.5f s\n", fitted.loss,
               fitted.trials, seconds);
        break;
    }
    case_clear(&c);
    return true;
}

/* --- belief propagation ---------------------------------------------------------------------- */

/* A chain of three-ways over attributes of `size` values, two shared with the next. */
static enum err chain_new(struct domain **d, struct model **m, unsigned cliques, uint32_t size,
                          struct log *log)
{
    struct clique *c = memory_array(cliques, sizeof *c);
    enum err e = c != NULL ? domain_new(d) : ERR_NOMEM;
    for (unsigned a = 0; e == ERR_OK && a < cliques + 2; a++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", a);
        e = domain_add_integer(*d, name, 0, size - 1, NULL, DOMAIN_REJECT, log);
    }
    for (unsigned k = 0; e == ERR_OK && k < cliques; k++)
        c[k] = (struct clique){3, {(uint16_t)k, (uint16_t)(k + 1), (uint16_t)(k + 2)}};
    if (e == ERR_OK)
        e = model_plain(m, *d, c, cliques, UINT32_MAX, log);
    memory_free(&c);
    return e;
}

/* Propagates until about `work` cells have been computed. */
static json_t *bench_bp_one(unsigned cliques, uint32_t size, uint64_t work, struct log *log)
{
    struct domain *d = NULL;
    struct model *m = NULL;
    json_t *out = NULL;
    if (chain_new(&d, &m, cliques, size, log) == ERR_OK) {
        unsigned times = (unsigned)(work / model_cells(m)) + 3;
        double start, ms;
        for (size_t i = 0; i < m->parameters; i++)
            m->theta[i] = (double)((i * 2654435761u) % 1000) * 0.003;
        model_propagate(m, true);
        start = cpu_s();
        for (unsigned k = 0; k < times; k++)
            model_propagate(m, false);
        ms = 1e3 * (cpu_s() - start) / times;
        start = cpu_s();
        for (unsigned k = 0; k < times; k++)
            model_propagate(m, true);
        printf("propagation, %8llu cells: %9.4f ms (exact %9.4f), %.0f MiB\n",
               (unsigned long long)model_cells(m), ms, 1e3 * (cpu_s() - start) / times,
               cpu_mib_of(getpid(), "VmHWM"));
        out = json_pack("{sIsfsi}", "cells", (json_int_t)model_cells(m), "ms", ms, "peak_mib",
                        (int)cpu_mib_of(getpid(), "VmHWM"));
    }
    model_free(&m);
    domain_free(&d);
    return out;
}

static bool bench_bp(const struct pgm_bench *b, json_t *out)
{
    static const struct {
        unsigned cliques;
        uint32_t size;
    } shape[] = {{8, 5}, {10, 10}, {12, 20}, {11, 30}, {8, 50}, {14, 60}, {9, 100}};
    json_t *list = figures_list(out, "bp_ms");
    const size_t shapes = b->smoke ? 2 : sizeof shape / sizeof shape[0];
    for (size_t i = 0; i < shapes; i++)
        json_array_append_new(list, bench_bp_one(shape[i].cliques, shape[i].size,
                                                 b->smoke ? 100000 : 30000000, b->log));
    printf("(kernel: %s)\n", sweep_best()->name);
    json_object_set_new(out, "kernel", json_string(sweep_best()->name));
    return true;
}

/* --- methods on tables ----------------------------------------------------------------------- */

static struct central_run run_of(const struct pgm_bench *b, const char *table, enum central_way way,
                                 unsigned rounds)
{
    return (struct central_run){.table = table,
                                .rows = b->smoke ? SMOKE_ROWS : GENERATED_ROWS,
                                .way = way,
                                .rounds = rounds,
                                .epsilon = b->epsilon};
}

/* l1 of the figures is NAN if it failed. */
static struct central_figures bench_aim_one(const struct pgm_bench *b, const char *table,
                                            enum central_way way, unsigned rounds, json_t *list)
{
    const struct central_run run = run_of(b, table, way, rounds);
    struct central_figures f;
    if (central_measure(&run, b->seeds, &f, b->log) != ERR_OK)
        return (struct central_figures){.l1 = NAN};
    central_show(&run, b->seeds, &f, list);
    return f;
}

/*
 * How much worse what `rounds: auto` chooses is than the better of annealed and sweeps, and whether
 * that is too much: by more than twice the standard error of the difference.
 */
static bool auto_holds(const struct pgm_bench *b, const char *table,
                       const struct central_figures way[3], json_t *list)
{
    const struct central_run run = run_of(b, table, CENTRAL_SWEEPS, AIM_SWEEPS);
    const struct central_figures *best =
        &way[way[CENTRAL_SWEEPS].l1 < way[CENTRAL_ANNEALED].l1 ? CENTRAL_SWEEPS : CENTRAL_ANNEALED];
    struct central_figures f;
    struct central_run chosen;
    double over;
    if (central_choose(&run, &chosen, b->log) != ERR_OK)
        return false;
    f = way[chosen.way];
    if (chosen.way == CENTRAL_SWEEPS && chosen.rounds != AIM_SWEEPS) {
        if (central_measure(&chosen, b->seeds, &f, b->log) != ERR_OK)
            return false;
        central_show(&chosen, b->seeds, &f, list);
    }
    over = f.l1 / best->l1 - 1;
    printf("%-14s auto is %+.1f %% of the better\n", table, 100 * over);
    figures_put(json_array_get(list, json_array_size(list) - 1), over, "auto_over");
    return f.l1 - 2 * hypot(f.l1_standard_error, best->l1_standard_error) <=
           (1 + b->over) * best->l1;
}

static bool bench_aim(const struct pgm_bench *b, json_t *out)
{
    static const char *const tables[] = {"adult",         "adult_pgm",   "nursery", "mushroom",
                                         "breast_cancer", "compas_caps", "dense",   "parity",
                                         "wide",          "chain",       "star"};
    json_t *aim = figures_list(out, "aim"), *copula = figures_list(out, "copula"),
           *sweeps = figures_list(out, "sweeps");
    const size_t all = sizeof tables / sizeof *tables; /* the last two by name alone */
    const size_t count = b->table != NULL ? all : all - (b->smoke ? 3 : 2); /* wide takes long */
    bool holds = true;
    for (size_t i = 0; i < count; i++) {
        struct central_figures way[3]; /* of AIM */
        if (b->table != NULL && strcmp(b->table, tables[i]) != 0)
            continue;
        if (!generated_is(tables[i]) && data_absent(tables[i]))
            continue;
        way[CENTRAL_SWEEPS] = bench_aim_one(b, tables[i], CENTRAL_SWEEPS, AIM_SWEEPS, sweeps);
        if (b->sweeps)
            continue;
        way[CENTRAL_FIXED] = bench_aim_one(b, tables[i], CENTRAL_FIXED, b->rounds, aim);
        if (b->rounds != 10)
            continue;
        way[CENTRAL_ANNEALED] = bench_aim_one(b, tables[i], CENTRAL_ANNEALED, 0, aim);
        holds &= auto_holds(b, tables[i], way, sweeps);
        bench_aim_one(b, tables[i], CENTRAL_COPULA, 0, copula);
        if (strcmp(tables[i], "adult") == 0)
            bench_aim_one(b, tables[i], CENTRAL_FIXED, 32, aim);
    }
    return holds;
}

/* --- a wide table of many rows --------------------------------------------------------------- */

static void bench_wide_one(const struct pgm_bench *b, size_t rows, unsigned rounds, json_t *list)
{
    const struct central_run run = {
        .table = "wide", .rows = rows, .way = CENTRAL_FIXED, .rounds = rounds, .epsilon = 1};
    struct central_figures f;
    if (central_measure(&run, 1, &f, b->log) != ERR_OK)
        return;
    printf("%zu rows: ", rows);
    central_show(&run, 1, &f, list);
    figures_put(json_array_get(list, json_array_size(list) - 1), (double)rows, "rows");
}

static bool bench_wide(const struct pgm_bench *b, json_t *out)
{
    json_t *list = figures_list(out, "wide");
    if (b->smoke) {
        bench_wide_one(b, SMOKE_ROWS, 1, list);
    } else {
        bench_wide_one(b, WIDE_ROWS / 10, 10, list);
        bench_wide_one(b, WIDE_ROWS, 10, list);
        bench_wide_one(b, WIDE_ROWS, 40, list);
    }
    return true;
}

/* --- all ------------------------------------------------------------------------------------- */

/* Whether all parts are as good as they must be. */
static bool all(const struct pgm_bench *b, json_t *out, const char *only)
{
    static const struct {
        const char *name;
        bool (*run)(const struct pgm_bench *b, json_t *out);
    } part[] = {
        {"nursery", bench_nursery}, {"aim", bench_aim}, {"bp", bench_bp}, {"wide", bench_wide}};
    bool good = true;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (only == NULL || strcmp(only, part[i].name) == 0)
            good &= part[i].run(b, out);
    return good;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct pgm_bench b = {.log = &log, .seeds = 5, .rounds = 10, .epsilon = 1, .over = AUTO_OVER};
    const char *only = NULL, *file = NULL, *marginal[MARGINALS_MAX];
    size_t marginals = 0;
    unsigned iterations = AIM_FIT_FINAL;
    bool plain = false, failed = false, good = true;
    const struct figures_option options[] = {
        {.name = "only", .text = &only},
        {.name = "table", .text = &b.table},
        {.name = "seeds", .count = &b.seeds},
        {.name = "rounds", .count = &b.rounds},
        {.name = "epsilon", .number = &b.epsilon},
        {.name = "over", .number = &b.over},
        {.name = "case", .text = &file},
        {.name = "iterations", .count = &iterations},
        {.name = "plain", .flag = &plain},
        {.name = "marginal", .text = marginal, .given = &marginals, .most = MARGINALS_MAX},
    };
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    b.sweeps = only != NULL && strcmp(only, "sweeps") == 0;
    only = b.sweeps ? "aim" : only;
    b.smoke = f.smoke;
    b.seeds = f.smoke ? 1 : b.seeds;
    b.over = f.smoke && b.over == AUTO_OVER ? SMOKE_OVER : b.over;
    if (file == NULL)
        good = all(&b, f.out, only);
    else
        failed = run_case(file, plain, iterations, marginal, marginals, &log) != ERR_OK;
    failed = figures_end(&f, failed) != 0; /* which keeps the figures, good or not */
    return failed || !good;
}
