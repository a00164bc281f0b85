/*
 * bench/bench_engine.c - the engine's speed: three processes over loopback TCP with sealed links.
 *
 *   bench_engine [--json FILE] [--only NAME] [--largest N] [--seconds S] [--budget S] [--smoke]
 *
 * Each line is one operation at one size, repeated for about S seconds (0.3) at server 0 between
 * two barriers: wall time, and the CPU time of the three processes with their ZeroMQ threads. The
 * calibrators run last, in this process: what one core does alone. No size is begun after the
 * budget (75 seconds); the largest come last. --smoke: the small sizes, once each; figures that are
 * named after a large size are then those of the largest size that ran.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "bench/calibrate.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/work.h"
#include "harness/forked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)400 << 20) /* bytes of input for the measurements that come last */

/* --- what is measured ------------------------------------------------------------------------- */

struct engine_result {
    double per_s, bytes_per_item;
    uint64_t rounds;
    double ms;
    double cpu_s[3]; /* filled in by each server */
};

struct engine_measurement {
    const char *name, *unit;
    size_t sizes[6];
    enum err (*prepare)(struct party *p, struct work *w);
    enum err (*run)(struct party *p, struct work *w);
    size_t (*items)(size_t n); /* of one run; NULL: n */
    size_t item_bytes;         /* of an input, roughly */
};

static size_t cubed(size_t n)
{
    return n * n * n;
}

static const struct engine_measurement measurements[] = {
    {"and",
     "gates",
     {10000, 1000000, 100000000, 1000000000},
     work_prepare_and,
     work_run_and,
     NULL,
     0},
    {"mul64",
     "words",
     {10000, 100000, 1000000, 10000000, 100000000},
     work_prepare_words,
     work_run_multiply,
     NULL,
     8},
    {"open64",
     "words",
     {10000, 100000, 1000000, 10000000, 100000000},
     work_prepare_words,
     work_run_open,
     NULL,
     8},
    {"lt64",
     "pairs",
     {10000, 100000, 1000000, 10000000},
     work_prepare_words,
     work_run_less,
     NULL,
     8},
    {"bit_to_ring64",
     "bits",
     {10000, 100000, 1000000, 10000000},
     work_prepare_words,
     work_run_bit_to_ring,
     NULL,
     8},
    {"l1",
     "cells",
     {10000, 100000, 1000000, 10000000, 100000000},
     work_prepare_cached,
     work_run_distances,
     NULL,
     8},
    {"l1_with_caching",
     "cells",
     {100000, 1000000, 10000000},
     work_prepare_counts,
     work_run_caching_and_distances,
     NULL,
     8},
    {"matmul",
     "16-bit multiply-adds",
     {128, 512, 1024},
     work_prepare_matrix,
     work_run_matrix,
     cubed,
     2},
    {"argmax", "values", {100, 1000}, work_prepare_values, work_run_argmax, NULL, 8},
    {"link", "rows", {10000, 200000, 1000000}, work_prepare_two_owners, work_run_link, NULL, 16},
    {"bound", "rows", {10000, 48842}, work_prepare_many_owners, work_run_bound, NULL, 16},
};
#define MEASUREMENTS (sizeof measurements / sizeof *measurements)

/* --- three processes -------------------------------------------------------------------------- */

struct engine_options {
    const char *only;
    double largest;
    double seconds, budget;
    bool smoke;
};

/* In memory that the processes share. */
struct engine_board {
    struct engine_options options;
    struct engine_result result[MEASUREMENTS][6];
    double peak_rss_mib[3];
};

static enum err timed(struct party *p, const struct engine_measurement *m, struct work *w,
                      uint64_t runs, double *seconds)
{
    uint64_t zero = 0;
    TRY(forked_barrier(p, &zero));
    double begin = clock_now_s();
    for (uint64_t i = 0; i < runs; i++)
        TRY(m->run(p, w));
    TRY(forked_barrier(p, &zero));
    *seconds = clock_now_s() - begin;
    return ERR_OK;
}

static enum err measure(struct party *p, const struct engine_options *o,
                        const struct engine_measurement *m, size_t n, struct engine_result *r)
{
    struct work w = {.n = n};
    double seconds = 0, cpu = cpu_s();
    uint64_t runs = 1, more;
    const double items = (double)(m->items == NULL ? n : m->items(n));
    enum err e = m->prepare(p, &w);
    struct net_counters before = net_total(p->net);
    cpu = cpu_s();
    if (e == ERR_OK)
        e = timed(p, m, &w, 1, &seconds); /* to warm up, and to find out how often */
    more = seconds > 1 && n * m->item_bytes >= LARGE
               ? 0
               : 1 + (uint64_t)(o->seconds / (seconds > 1e-6 ? seconds : 1e-6));
    if (e == ERR_OK)
        e = forked_barrier(p, &more);
    if (more > 0) {
        runs = more;
        before = net_total(p->net);
        cpu = cpu_s();
        if (e == ERR_OK)
            e = timed(p, m, &w, runs, &seconds);
    }
    r->cpu_s[p->index] = (cpu_s() - cpu) / (double)runs;
    if (p->index == 0 && e == ERR_OK) {
        struct net_counters after = net_total(p->net);
        r->per_s = items * (double)runs / seconds;
        r->ms = 1e3 * seconds / (double)runs;
        r->rounds = (after.exchanges - before.exchanges - (more > 0 ? 4 : 6)) / runs;
        r->bytes_per_item = (double)(after.payload_sent - before.payload_sent -
                                     (more > 0 ? 32 : 48)) /
                            items / (double)runs;
    }
    work_free(&w);
    return e;
}

static void print_line(const struct engine_measurement *m, size_t n, const struct engine_result *r)
{
    const double items = (double)(m->items == NULL ? n : m->items(n));
    printf("%-16s %10zu  %12.4g %s/s  %9.3f ms  %3lu rounds  %8.3f bytes each, CPU %.3g ns each\n",
           m->name, n, r->per_s, m->unit, r->ms, (unsigned long)r->rounds, r->bytes_per_item,
           1e9 * (r->cpu_s[0] + r->cpu_s[1] + r->cpu_s[2]) / items);
    fflush(stdout);
}

/* The largest sizes come last, if there is time: server 0's clock decides. */
static enum err all_measurements(struct party *p, void *shared)
{
    struct engine_board *board = shared;
    const struct engine_options *o = &board->options;
    const double begin = clock_now_s();
    for (size_t i = 0; i < 2 * 6 * MEASUREMENTS; i++) {
        const bool large = i >= 6 * MEASUREMENTS;
        const size_t k = i / 6 % MEASUREMENTS, s = i % 6;
        const struct engine_measurement *m = &measurements[k];
        const size_t n = m->sizes[s];
        uint64_t go = clock_now_s() - begin < o->budget;
        if (n == 0 || (double)n > o->largest || (n * m->item_bytes >= LARGE) != large ||
            (o->only != NULL && strcmp(o->only, m->name) != 0))
            continue;
        TRY(forked_barrier(p, &go));
        if (go == 0) {
            if (p->index == 0)
                printf("%-16s %10zu  left out: %.0f seconds have passed\n", m->name, n, o->budget);
            continue;
        }
        TRY(measure(p, o, m, n, &board->result[k][s]));
        TRY(forked_barrier(p, &go)); /* all have written their measurements */
        if (p->index == 0)
            print_line(m, n, &board->result[k][s]);
    }
    return ERR_OK;
}

/* --- the report ------------------------------------------------------------------------------- */

static const struct engine_result *find(const struct engine_board *b, const char *name, size_t n)
{
    const struct engine_result *found = NULL;
    for (size_t k = 0; k < MEASUREMENTS; k++)
        for (size_t s = 0; s < 6 && strcmp(measurements[k].name, name) == 0; s++)
            if (b->options.smoke ? measurements[k].sizes[s] <= n && b->result[k][s].per_s > 0
                                 : measurements[k].sizes[s] == n)
                found = &b->result[k][s];
    return found;
}

static void put_curves(json_t *out, const struct engine_board *b)
{
    for (size_t k = 0; k < MEASUREMENTS; k++) {
        json_t *list = figures_list(out, measurements[k].name);
        for (size_t s = 0; s < 6; s++) {
            const struct engine_result *r = &b->result[k][s];
            if (measurements[k].sizes[s] == 0 || r->per_s <= 0)
                continue;
            json_array_append_new(list, json_pack("{sIsfsfsIsfs[fff]}", "n",
                                                  (json_int_t)measurements[k].sizes[s], "per_s",
                                                  r->per_s, "ms", r->ms, "rounds",
                                                  (json_int_t)r->rounds, "bytes", r->bytes_per_item,
                                                  "cpu_s", r->cpu_s[0], r->cpu_s[1], r->cpu_s[2]));
        }
    }
}

static void put_figures(json_t *out, const struct engine_board *b,
                        const struct calibrate_figures *c)
{
    double peak = 0;
    for (int i = 0; i < 3; i++)
        peak = b->peak_rss_mib[i] > peak ? b->peak_rss_mib[i] : peak;
    json_object_set_new(out, "kernel", json_string(kernel_best(NULL)->name));
    figures_put(out, find(b, "and", 1000000000)->per_s, "and_per_s");
    figures_put(out, find(b, "mul64", 10000000)->per_s, "mul64_per_s");
    figures_put(out, find(b, "open64", 10000000)->per_s, "open64_per_s");
    figures_put(out, find(b, "lt64", 1000000)->per_s, "lt64_per_s");
    figures_put(out, find(b, "l1", 10000000)->per_s, "l1_cells_per_s");
    figures_put(out, find(b, "l1_with_caching", 10000000)->per_s, "l1_cells_per_s_with_caching");
    figures_put(out, find(b, "l1", 10000000)->bytes_per_item, "l1_bytes_per_cell");
    figures_put(out, find(b, "matmul", 512)->per_s, "matmul_mac_per_s");
    figures_put(out, (double)find(b, "argmax", 1000)->rounds, "argmax1000_rounds");
    figures_put(out, find(b, "argmax", 1000)->ms, "argmax1000_ms");
    figures_put(out, peak, "peak_rss_mib");
    figures_put(out, c->aes_gcm, "aes_gcm_gb_s");
    figures_put(out, c->aes_ctr, "aes_ctr_gb_s");
    figures_put(out, c->memory_copy, "memcpy_gb_s");
    figures_put(out, c->zmq, "zmq_gb_s");
    figures_put(out, c->matrix16, "matrix16_mac_per_s");
    figures_put(out, c->dgemm, "dgemm_mac_per_s");
    put_curves(out, b);
}

/* The largest sizes need memory: some 35 bytes a cell for each of 3 servers. */
static void fit_memory(struct engine_options *o)
{
    double available = 0;
    char line[200];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %lf", &available) == 1)
            break;
    if (f != NULL)
        fclose(f);
    if (available < 20e6 && o->largest > 1e8) {
        printf("%.1f GB of memory are free: sizes of 10^8 words are left out\n", available / 1e6);
        o->largest = 10000000;
    }
}

int main(int argc, char **argv)
{
    struct figures f;
    struct engine_options o = {.largest = 1e18, .seconds = 0.3, .budget = 75};
    const struct figures_option options[] = {{.name = "only", .text = &o.only},
                                             {.name = "largest", .number = &o.largest},
                                             {.name = "seconds", .number = &o.seconds},
                                             {.name = "budget", .number = &o.budget}};
    struct calibrate_figures c;
    struct engine_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool failed;
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    if (board == MAP_FAILED || secret_start() != ERR_OK)
        return 1;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    o.smoke = f.smoke;
    if (o.smoke) {
        o.largest = 100000;
        o.seconds = 0.001;
    }
    fit_memory(&o);
    board->options = o;
    failed = !forked_run("bench_engine", all_measurements, board, board->peak_rss_mib);
    c = calibrate(o.seconds);
    printf("peak memory: %.0f, %.0f, %.0f MiB\n", board->peak_rss_mib[0], board->peak_rss_mib[1],
           board->peak_rss_mib[2]);
    put_figures(f.out, board, &c);
    return figures_end(&f, failed);
}
