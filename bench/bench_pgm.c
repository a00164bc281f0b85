/*
 * The estimator and central AIM, measured. Two uses:
 *
 *   bench_pgm [--json FILE] [--only PART] [--table NAME] [--seeds N] [--rounds N] [--smoke]
 *       PART: nursery, bp, aim or wide. Reference figures are in reference/baselines.md. AIM runs
 *       on six tables with 5 seeds and T = 10 at (1, 1e-5), and annealed; adult also with T = 32.
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
 * beside it. Absent ones are named and left out. Times are CPU seconds; each AIM run is a process
 * of its own, so that its peak memory can be measured.
 */
#include "aim/answer/evaluate.h"
#include "aim/budget/budget.h"
#include "aim/model/model_private.h"
#include "aim/model/sample.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "base/memory.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "harness/model.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARGINALS_MAX 64

struct bench {
    struct log *log;
    const char *table; /* NULL: all */
    unsigned seeds, rounds;
    bool smoke;
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
    memory_free(&c->measurement);
    memory_free(&c->clique);
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

static void bench_nursery(const struct bench *b, json_t *out)
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
        return;
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

static void bench_bp(const struct bench *b, json_t *out)
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
}

/* --- AIM on tables --------------------------------------------------------------------------- */

struct aim_figures {
    double l1, l1_model, cpu, loss, rounds, peak;
};

static struct aim_options aim_terms(const struct bench_data *c, unsigned rounds)
{
    return (struct aim_options){.domain = c->domain,
                                .workload = c->workload,
                                .limits = {.rho = budget_rho(1, 1e-5), .epsilon_slack = 1},
                                .annealed = rounds == 0,
                                .rounds = rounds,
                                .bounds = {.bits = 21}};
}

static enum err aim_once(const struct bench_data *c, const struct aim_options *o, uint64_t seed,
                         struct aim_figures *f, struct log *log)
{
    struct random r;
    struct plaintext_noise noise = noise_from_random(&r);
    struct plaintext *p = NULL;
    struct aim_result *result = NULL;
    struct table *rows = NULL;
    double start = cpu_s();
    enum err e;
    random_seed_u64(&r, seed);
    e = plaintext_new(&p, c->workload, c->table, &noise, log);
    if (e == ERR_OK) {
        struct aim_backend backend = plaintext_backend(p);
        e = aim_run(&result, o, &backend, log);
    }
    f->cpu = cpu_s() - start;
    f->peak = cpu_mib_of(getpid(), "VmHWM"); /* without what evaluation takes */
    if (e == ERR_OK)
        model_set_limit(result->model, UINT64_C(1) << 30);
    if (e == ERR_OK)
        e = model_error(result->model, c->workload, c->table, &f->l1_model, log);
    if (e == ERR_OK)
        e = sample_rows(&rows, result->model, c->table->rows, seed, log);
    if (e == ERR_OK)
        e = evaluate_tables(c->workload, c->table, rows, NULL, &f->l1);
    if (e == ERR_OK) {
        f->loss = result->loss;
        f->rounds = (double)result->rounds - 1;
    }
    table_free(&rows);
    aim_result_free(&result);
    plaintext_free(&p);
    return e;
}

/* In a process of its own, for its peak memory. Annealed where rounds is 0. */
static enum err aim_apart(const struct bench *b, const char *name, unsigned rounds, uint64_t seed,
                          struct aim_figures *f)
{
    int ends[2], status = 1;
    pid_t child;
    bool got;
    if (pipe(ends) != 0)
        return ERR_SYSTEM;
    child = fork();
    if (child == 0) {
        struct bench_data c;
        enum err e = bench_data_read(&c, name, b->log);
        if (e == ERR_OK) {
            struct aim_options o = aim_terms(&c, rounds);
            e = aim_once(&c, &o, seed, f, b->log);
        }
        _exit(e == ERR_OK && write(ends[1], f, sizeof *f) == sizeof *f ? 0 : 1);
    }
    close(ends[1]);
    got = child > 0 && read(ends[0], f, sizeof *f) == sizeof *f;
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return got && status == 0 ? ERR_OK : ERR_SYSTEM;
}

static void bench_aim_one(const struct bench *b, const char *name, unsigned rounds, json_t *list)
{
    struct aim_figures sum = {0}, f = {0};
    double square = 0, n = b->seeds, scatter;
    fflush(NULL);
    for (uint64_t seed = 1; seed <= b->seeds; seed++) {
        if (aim_apart(b, name, rounds, seed, &f) != ERR_OK) {
            log_error(b->log, "%s: the run with seed %llu failed", name, (unsigned long long)seed);
            return;
        }
        sum.l1 += f.l1 / n;
        square += f.l1 * f.l1 / n;
        sum.l1_model += f.l1_model / n;
        sum.cpu += f.cpu / n;
        sum.loss += f.loss / n;
        sum.rounds += f.rounds / n;
        sum.peak = fmax(sum.peak, f.peak);
    }
    scatter = sqrt(fmax(0, square - sum.l1 * sum.l1) / fmax(1, n - 1));
    printf("%-14s %-8s rounds %5.1f  L1 %.4f +- %.4f  of model %.4f  %7.3f CPU s  %5.0f MiB  loss "
           "%.5g\n",
           name, rounds == 0 ? "annealed" : "fixed", sum.rounds, sum.l1, scatter, sum.l1_model,
           sum.cpu, sum.peak, sum.loss);
    json_array_append_new(list,
                          json_pack("{sssbsisfsfsfsfsfsf}", "table", name, "annealed", rounds == 0,
                                    "seeds", (int)b->seeds, "l1", sum.l1, "l1_standard_error",
                                    scatter, "l1_model", sum.l1_model, "cpu_s", sum.cpu, "peak_mib",
                                    sum.peak, "rounds", sum.rounds));
}

static void bench_aim(const struct bench *b, json_t *out)
{
    static const char *const tables[] = {"adult",    "adult_pgm",     "nursery",
                                         "mushroom", "breast_cancer", "compas_caps"};
    json_t *list = figures_list(out, "aim");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (b->table != NULL && strcmp(b->table, tables[i]) != 0)
            continue;
        if (data_absent(tables[i]))
            continue;
        bench_aim_one(b, tables[i], b->rounds, list);
        if (b->rounds != 10)
            continue;
        bench_aim_one(b, tables[i], 0, list);
        if (strcmp(tables[i], "adult") == 0)
            bench_aim_one(b, tables[i], 32, list);
    }
}

/* --- a wide table ---------------------------------------------------------------------------- */

#define WIDE_ATTRIBUTES 100
#define WIDE_ROWS 1000000

/* Chains of attributes of 2 to 12 values, each following the one before three times in four. */
static enum err wide_new(struct bench_data *c, size_t rows, struct log *log)
{
    uint16_t codes[WIDE_ATTRIBUTES];
    struct random r;
    enum err e = domain_new(&c->domain);
    random_seed_u64(&r, 1);
    for (unsigned a = 0; e == ERR_OK && a < WIDE_ATTRIBUTES; a++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", a);
        e = domain_add_integer(c->domain, name, 0, 1 + (a * 7) % 11, NULL, DOMAIN_REJECT, log);
    }
    if (e == ERR_OK)
        e = workload_all(&c->workload, c->domain, 2, log);
    if (e == ERR_OK)
        e = table_new(&c->table, c->domain, rows);
    for (size_t i = 0; e == ERR_OK && i < rows; i++) {
        for (unsigned a = 0; a < WIDE_ATTRIBUTES; a++) {
            uint64_t word = random_u64(&r), size = c->domain->attribute[a].size;
            codes[a] = (uint16_t)(a > 0 && (word & 3) != 0 ? codes[a - 1] % size
                                                           : (word >> 32) * size >> 32);
        }
        e = table_append(c->table, codes);
    }
    return e;
}

static json_t *bench_wide_one(const struct bench *b, size_t rows, unsigned rounds)
{
    struct bench_data c = {0};
    struct aim_figures f = {0};
    json_t *out = NULL;
    if (wide_new(&c, rows, b->log) == ERR_OK) {
        struct aim_options o = aim_terms(&c, rounds);
        if (aim_once(&c, &o, 1, &f, b->log) == ERR_OK) {
            printf("wide: %d attributes, %zu rows, %zu queries, %u rounds: L1 %.4f of model %.4f, "
                   "%.2f CPU s, %.0f MiB\n",
                   WIDE_ATTRIBUTES, rows, c.workload->queries, rounds, f.l1, f.l1_model, f.cpu,
                   f.peak);
            out = json_pack("{sIsisfsfsf}", "rows", (json_int_t)rows, "rounds", (int)rounds,
                            "cpu_s", f.cpu, "l1", f.l1, "peak_mib", f.peak);
        }
    }
    bench_data_clear(&c);
    return out;
}

static void bench_wide(const struct bench *b, json_t *out)
{
    json_t *list = figures_list(out, "wide");
    if (b->smoke) {
        json_array_append_new(list, bench_wide_one(b, WIDE_ROWS / 1000, 1));
    } else {
        json_array_append_new(list, bench_wide_one(b, WIDE_ROWS / 10, 10));
        json_array_append_new(list, bench_wide_one(b, WIDE_ROWS, 10));
        json_array_append_new(list, bench_wide_one(b, WIDE_ROWS, 40));
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static void all(const struct bench *b, json_t *out, const char *only)
{
    static const struct {
        const char *name;
        void (*run)(const struct bench *b, json_t *out);
    } part[] = {
        {"nursery", bench_nursery}, {"aim", bench_aim}, {"bp", bench_bp}, {"wide", bench_wide}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (only == NULL || strcmp(only, part[i].name) == 0)
            part[i].run(b, out);
}

int main(int argc, char **argv)
{
    struct figures f;
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct bench b = {.log = &log, .seeds = 5, .rounds = 10};
    const char *only = NULL, *file = NULL, *marginal[MARGINALS_MAX];
    size_t marginals = 0;
    unsigned iterations = AIM_FIT_FINAL;
    bool plain = false, failed = false;
    const struct figures_option options[] = {
        {.name = "only", .text = &only},
        {.name = "table", .text = &b.table},
        {.name = "seeds", .count = &b.seeds},
        {.name = "rounds", .count = &b.rounds},
        {.name = "case", .text = &file},
        {.name = "iterations", .count = &iterations},
        {.name = "plain", .flag = &plain},
        {.name = "marginal", .text = marginal, .given = &marginals, .most = MARGINALS_MAX},
    };
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    b.smoke = f.smoke;
    b.seeds = f.smoke ? 1 : b.seeds;
    if (file == NULL)
        all(&b, f.out, only);
    else
        failed = run_case(file, plain, iterations, marginal, marginals, &log) != ERR_OK;
    return figures_end(&f, failed);
}
