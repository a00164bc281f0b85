#include "bench/abort_study.h"

#include "bench/count.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/table_study.h"

/* What one run took. */
struct cost {
    double cpu_s, seconds, bytes;
    double select_rounds, measure_rounds; /* of each kind, in the iterations alone */
    double noise_rounds;
};

static double number(const json_t *of, const char *name, const char *key)
{
    return json_number_value(json_object_get(json_object_get(of, name), key));
}

static double bytes_sent(const json_t *servers)
{
    double sum = 0;
    size_t i;
    const char *name;
    json_t *server, *phase;
    json_array_foreach((json_t *)(uintptr_t)servers, i, server)
    {
        json_object_foreach(server, name, phase) sum += number(server, name, "wire_sent");
    }
    return sum;
}

static struct log quiet(void)
{
    return (struct log){.file = stderr, .level = LOG_WARN, .prefix = "bench_abort: "};
}

static enum err run(const char *as, bool proved, unsigned rounds, struct cost *cost)
{
    const struct table_study study = {
        .table = "adult", .as = as, .more = proved ? "security: abort\n" : NULL, .rounds = rounds};
    struct log log = quiet();
    struct table_study_figures f;
    const json_t *servers, *zero;
    TRY(table_study_run(&study, &f, &log));
    servers = json_object_get(f.stats, "servers");
    zero = json_array_get(servers, 0);
    *cost = (struct cost){
        .cpu_s = f.cpu_s,
        .seconds = json_number_value(json_object_get(f.stats, "mpc_s")),
        .bytes = bytes_sent(servers),
        .select_rounds = number(zero, "select", "rounds") / rounds,
        .measure_rounds = number(zero, "measure", "rounds") / (rounds + 1),
        .noise_rounds = number(zero, "noise", "rounds"),
    };
    json_decref(f.stats);
    return ERR_OK;
}

static void put(json_t *out, const char *key, double figure)
{
    printf("  %-28s %8.3f\n", key, figure);
    figures_put(out, figure, "%s", key);
}

/* Whole studies with and without a check, in turn: the medians, and the costs of the last pair. */
struct studies {
    double cpu, seconds;
    struct cost cost[2]; /* without a check, with one */
};

static bool run_studies(const char *as, size_t pairs, bool smoke, struct studies *s)
{
    double cpu[ABORT_STUDY_PAIRS_MAX], seconds[ABORT_STUDY_PAIRS_MAX];
    struct cost *cost = s->cost;
    for (size_t i = 0; i < pairs; i++) {
        for (unsigned proved = 0; proved < 2; proved++)
            if (run(as, proved, smoke ? 2 : 10, &cost[proved]) != ERR_OK)
                return false;
        cpu[i] = cost[1].cpu_s / cost[0].cpu_s;
        seconds[i] = cost[1].seconds / cost[0].seconds;
        printf("adult as %s, pair %zu: CPU %.2f s and %.2f s without, %.2f s and %.2f s long\n", as,
               i, cost[1].cpu_s, cost[0].cpu_s, cost[1].seconds, cost[0].seconds);
    }
    s->cpu = cpu_median(cpu, pairs);
    s->seconds = cpu_median(seconds, pairs);
    return true;
}

bool abort_study_counts(json_t *out, size_t pairs, bool smoke)
{
    struct studies s = {0};
    if (data_absent("adult"))
        return true;
    if (!run_studies("counts", pairs, smoke, &s))
        return false;
    put(out, "adult_counts_ratio", s.cpu);
    put(out, "adult_counts_seconds_ratio", s.seconds);
    put(out, "bytes_ratio", s.cost[1].bytes / s.cost[0].bytes);
    put(out, "selection_rounds_extra", s.cost[1].select_rounds - s.cost[0].select_rounds);
    put(out, "measure_rounds_extra", s.cost[1].measure_rounds - s.cost[0].measure_rounds);
    put(out, "noise_rounds_extra", s.cost[1].noise_rounds - s.cost[0].noise_rounds);
    return true;
}

static bool count_pairs(const struct bench_data *data, size_t pairs, bool smoke, double *ratio)
{
    double cpu[ABORT_STUDY_PAIRS_MAX];
    for (size_t i = 0; i < pairs; i++) {
        struct count_result r[2];
        for (unsigned proved = 0; proved < 2; proved++)
            if (!count_table(data, TABLE_STUDY_OWNERS, smoke ? 64 : TABLE_STUDY_ROWS, proved,
                             &r[proved]))
                return false;
        cpu[i] = r[1].cpu_s / r[0].cpu_s;
        printf("counting records of adult, pair %zu: CPU %.2f s and %.2f s without, %.0f and %.0f "
               "MiB, %.0f and %.0f rounds\n",
               i, r[1].cpu_s, r[0].cpu_s, r[1].peak_rss_mib, r[0].peak_rss_mib, r[1].rounds,
               r[0].rounds);
    }
    *ratio = cpu_median(cpu, pairs);
    return true;
}

bool abort_study_records(json_t *out, size_t pairs, bool smoke)
{
    struct log log = quiet();
    struct studies s = {0};
    struct bench_data data CLEAN(bench_data_clear) = {0};
    double count;
    if (data_absent("adult"))
        return true;
    if (bench_data_terms(&data, "adult", &log) != ERR_OK ||
        !count_pairs(&data, pairs, smoke, &count) || !run_studies("records", pairs, smoke, &s))
        return false;
    put(out, "records_count_ratio", count);
    put(out, "adult_records_ratio", s.cpu);
    put(out, "adult_records_seconds_ratio", s.seconds);
    put(out, "records_bytes_ratio", s.cost[1].bytes / s.cost[0].bytes);
    return true;
}
