/*
 * bench/bench_dp.c - noise, and whole studies of real tables: what they cost the servers.
 *
 *   bench_dp [--json FILE] [--only noise|tables] [--table NAME] [--samples N] [--rounds T]
 *   [--smoke]
 *
 * Noise: three processes over sealed links on loopback make N samples (393216) of each kind, as for
 * a study that needs so many. Tables: three `trefoil serve`, five `trefoil share` and one `trefoil
 * run` ($TREFOIL, or that of this build), T = 10 at (1, 1e-6); figures are those of the run's
 * stats.json, the seconds those of server 0. Five owners of at most 16383 rows each; those of Adult
 * send padded records, which are smaller, unless the study has them send counts. If they send
 * records, counting as many is also measured by itself, for the CPU time of all three servers.
 * Tables come from $TREFOIL_DATA, or ../shared/data; absent ones are named and left out. --smoke:
 * few samples, T = 2.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "bench/count.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/table_study.h"
#include "harness/forked.h"
#include "protocols/tape.h"

#include <jansson.h>
#include <string.h>
#include <sys/mman.h>

#define OWNERS TABLE_STUDY_OWNERS

struct dp_options {
    const char *only, *table;
    unsigned samples, rounds;
    bool smoke;
};

/* --- noise ------------------------------------------------------------------------------------ */

static const struct noise_row {
    const char *name, *key;
    enum noise_law kind;
    enum noise_kind noise;
} noise_kinds[] = {{"Box-Muller", "gauss", NOISE_GAUSS, NOISE_BOX_MULLER},
                   {"discrete", "discrete", NOISE_GAUSS, NOISE_DISCRETE},
                   {"Gumbel", "gumbel", NOISE_GUMBEL, NOISE_BOX_MULLER}};
#define NOISE_ROWS (sizeof noise_kinds / sizeof *noise_kinds)

struct noise_result {
    double per_s, bytes, cpu_s[3];
    uint64_t rounds;
};

/* In memory that the processes share. */
struct dp_board {
    size_t samples;
    struct noise_result noise[NOISE_ROWS];
    double peak_rss_mib[3];
};

static enum err make_noise(struct party *p, const struct noise_row *k, size_t samples,
                           struct noise_result *r)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct tape tape;
    uint64_t zero = 0;
    tape_start(&tape, id, k->noise);
    tape_plan(&tape, k->kind, samples);
    TRY(forked_barrier(p, &zero));
    const struct net_counters before = net_total(p->net);
    const double cpu = cpu_s(), begin = clock_now_s();
    enum err e = tape_reserve(p, &tape, k->kind, samples);
    const struct net_counters after = net_total(p->net);
    r->cpu_s[p->index] = cpu_s() - cpu;
    if (e == ERR_OK)
        e = forked_barrier(p, &zero);
    if (p->index == 0) {
        r->per_s = (double)samples / (clock_now_s() - begin);
        r->rounds = after.exchanges - before.exchanges;
        r->bytes = (double)(after.payload_sent - before.payload_sent) / (double)samples;
    }
    tape_free(&tape);
    return e;
}

static enum err all_noise(struct party *p, void *shared)
{
    struct dp_board *b = shared;
    for (size_t i = 0; i < NOISE_ROWS; i++)
        TRY(make_noise(p, &noise_kinds[i], b->samples, &b->noise[i]));
    return ERR_OK;
}

static bool bench_noise(const struct dp_options *o, json_t *root)
{
    struct dp_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                              -1, 0);
    if (b == MAP_FAILED)
        return false;
    b->samples = o->samples;
    if (!forked_run("bench_dp", all_noise, b, b->peak_rss_mib))
        return false;
    for (size_t i = 0; i < NOISE_ROWS; i++) {
        const struct noise_result *r = &b->noise[i];
        const double cpu_us = 1e6 * (r->cpu_s[0] + r->cpu_s[1] + r->cpu_s[2]) / (double)b->samples;
        printf("%-10s %8.0f /s  %5lu rounds  %5.0f bytes a server and %5.2f us of CPU of all "
               "three each: two free cores give %.0f /s\n",
               noise_kinds[i].name, r->per_s, (unsigned long)r->rounds, r->bytes, cpu_us,
               2e6 / cpu_us);
        figures_put(root, r->per_s, "%s_per_s", noise_kinds[i].key);
        figures_put(root, cpu_us, "%s_cpu_us", noise_kinds[i].key);
    }
    printf("peak memory of a server: %.0f MiB\n", b->peak_rss_mib[0]);
    figures_put(root, b->peak_rss_mib[0], "noise_peak_rss_mib");
    munmap(b, sizeof *b);
    return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define MAX_ROWS TABLE_STUDY_ROWS

static const struct bench_table {
    const char *name, *key, *as; /* the table, its name in the JSON, what owners send */
} tables[] = {{"adult", "adult", "auto"},         {"adult", "adult_counts", "counts"},
              {"adult_pgm", "adult_pgm", "auto"}, {"adult_pgm", "adult_pgm_counts", "counts"},
              {"nursery", "nursery", "auto"},     {"mushroom", "mushroom", "auto"}};

static double number(const json_t *phase, const char *key)
{
    return json_number_value(json_object_get(phase, key));
}

/* What server 0 spent in a phase, also added to `total`, without the wait for requests. */
static json_t *phase_of(const json_t *server, const char *name, double *total)
{
    json_t *phase = json_object_get(server, name);
    *total += number(phase, "seconds");
    printf("  %-9s %8.3f s  %6.0f rounds  %10.0f bytes sent\n", name, number(phase, "seconds"),
           number(phase, "rounds"), number(phase, "wire_sent"));
    return phase;
}

static double most_bytes(const json_t *servers)
{
    double most = 0;
    size_t i;
    const char *name;
    json_t *server, *phase;
    json_array_foreach((json_t *)(uintptr_t)servers, i, server)
    {
        double sent = 0;
        json_object_foreach(server, name, phase) sent += number(phase, "wire_sent");
        most = sent > most ? sent : most;
    }
    return most;
}

/*
 * The one-ways' measurement is counted as part of the iterations: it is one round of each kind
 * less.
 */
static void put_figures(json_t *out, const json_t *stats, double *rounds_per_iteration)
{
    static const char *const phases[] = {"collect", "compute", "noise", "select", "measure"};
    const json_t *servers = json_object_get(stats, "servers"), *zero = json_array_get(servers, 0);
    const double iterations = (double)json_array_size(json_object_get(stats, "rounds")) - 1;
    double total = 0, iteration;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        const json_t *phase = phase_of(zero, phases[i], &total);
        figures_put(out, number(phase, "seconds"), "%s_s", phases[i]);
    }
    iteration = (number(json_object_get(zero, "select"), "seconds") +
                 number(json_object_get(zero, "measure"), "seconds")) /
                iterations;
    *rounds_per_iteration = number(json_object_get(zero, "select"), "rounds") / iterations + 1;
    figures_put(out, iteration, "iteration_s");
    figures_put(out, total, "total_s");
    figures_put(out, most_bytes(servers), "bytes_per_server");
    figures_put(out, *rounds_per_iteration, "rounds_per_iteration");
    printf("  together  %8.3f s; score, select and measure %.4f s and %.0f rounds an iteration "
           "(the estimator took %.1f s)\n",
           total, iteration, *rounds_per_iteration, number(stats, "estimate_s"));
}

/* As many records as the owners may send, counted alone. */
static enum err bench_count(const struct dp_options *o, const struct bench_table *t,
                            json_t *figures, struct log *log)
{
    struct bench_data data;
    struct count_result r = {0};
    bool right;
    TRY(bench_data_terms(&data, t->name, log));
    right = count_table(&data, OWNERS, o->smoke ? 64 : MAX_ROWS, false, &r);
    bench_data_clear(&data);
    printf("  counting the records: %.2f s of CPU of all three, %.1f MB a server, %.0f rounds, "
           "%.0f MiB\n",
           r.cpu_s, r.bytes / 1e6, r.rounds, r.peak_rss_mib);
    figures_put(figures, r.cpu_s, "count_cpu_s");
    figures_put(figures, r.bytes, "count_bytes");
    figures_put(figures, r.rounds, "count_rounds");
    figures_put(figures, r.peak_rss_mib, "count_peak_rss_mib");
    return right ? ERR_OK : ERR_SYSTEM;
}

static enum err bench_table(const struct dp_options *o, const struct bench_table *t, json_t *list,
                            double *rounds)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "bench_dp: "};
    const struct table_study study = {.table = t->name, .as = t->as, .rounds = o->rounds};
    struct table_study_figures f;
    TRY(table_study_run(&study, &f, &log));
    printf("%s, T = %u, %d owners of at most %u rows, as %s:\n", t->name, o->rounds, OWNERS,
           MAX_ROWS, f.records ? "records" : "counts");
    put_figures(figures_object(list, t->key), f.stats, rounds);
    json_decref(f.stats);
    return strcmp(t->as, "counts") != 0 ? bench_count(o, t, json_object_get(list, t->key), &log)
                                        : ERR_OK;
}

static bool bench_tables(const struct dp_options *o, json_t *root)
{
    json_t *list = figures_object(root, "tables");
    double most = 0;
    bool right = true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        double rounds = 0;
        if (o->table != NULL && strcmp(o->table, tables[i].key) != 0)
            continue;
        if (data_absent(tables[i].name))
            continue;
        right = bench_table(o, &tables[i], list, &rounds) == ERR_OK && right;
        most = rounds > most ? rounds : most;
    }
    figures_put(root, most, "rounds_per_iteration");
    return right;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct dp_options o = {.samples = 393216, .rounds = 10};
    const struct figures_option options[] = {{.name = "only", .text = &o.only},
                                             {.name = "table", .text = &o.table},
                                             {.name = "samples", .count = &o.samples},
                                             {.name = "rounds", .count = &o.rounds}};
    bool right = secret_start() == ERR_OK;
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    if (f.smoke)
        o = (struct dp_options){o.only, o.table, .samples = 1024, .rounds = 2, .smoke = true};
    if (o.only == NULL || strcmp(o.only, "noise") == 0)
        right = bench_noise(&o, f.out) && right;
    if (o.only == NULL || strcmp(o.only, "tables") == 0)
        right = bench_tables(&o, f.out) && right;
    return figures_end(&f, !right);
}
