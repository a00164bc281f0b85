#include "bench/abort_study.h"

#include "bench/data.h"
#include "bench/table_study.h"

#include <stdlib.h>
#include <string.h>

/* What one run took. */
struct cost {
    double cpu_s, seconds, bytes;
    double select_rounds, measure_rounds; /* of each: its iterations' alone */
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

static enum err run(bool proved, unsigned rounds, struct cost *cost, struct log *log)
{
    const struct table_study study = {.table = "adult",
                                      .as = "counts",
                                      .more = proved ? "security: abort\n" : NULL,
                                      .rounds = rounds};
    struct table_study_figures f;
    const json_t *servers, *zero;
    TRY(table_study_run(&study, &f, log));
    servers = json_object_get(f.stats, "servers");
    zero = json_array_get(servers, 0);
    *cost = (struct cost){
        .cpu_s = f.cpu_s,
        .seconds = json_number_value(json_object_get(f.stats, "mpc_s")),
        .bytes = bytes_sent(servers),
        .select_rounds = number(zero, "select", "rounds") / rounds,
        .measure_rounds = number(zero, "measure", "rounds") / (rounds + 1),
    };
    json_decref(f.stats);
    return ERR_OK;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

static void put(FILE *json, const char *key, double figure)
{
    printf("  %-28s %8.3f\n", key, figure);
    if (json != NULL)
        fprintf(json, "  \"%s\": %.6g,\n", key, figure);
}

bool abort_study(FILE *json, size_t pairs, bool smoke)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "bench_abort: "};
    double cpu[ABORT_STUDY_PAIRS_MAX], seconds[ABORT_STUDY_PAIRS_MAX];
    struct cost cost[2] = {{0}};
    if (!data_present("adult")) {
        printf("%s/adult.csv is absent and left out (set TREFOIL_DATA)\n", data_folder());
        return true;
    }
    for (size_t i = 0; i < pairs; i++) {
        for (unsigned proved = 0; proved < 2; proved++)
            if (run(proved, smoke ? 2 : 10, &cost[proved], &log) != ERR_OK)
                return false;
        cpu[i] = cost[1].cpu_s / cost[0].cpu_s;
        seconds[i] = cost[1].seconds / cost[0].seconds;
        printf("adult as counts, pair %zu: CPU %.2f s and %.2f s without, %.2f s and %.2f s long\n",
               i, cost[1].cpu_s, cost[0].cpu_s, cost[1].seconds, cost[0].seconds);
    }
    put(json, "adult_answers_ratio", median(cpu, pairs));
    put(json, "adult_answers_seconds_ratio", median(seconds, pairs));
    put(json, "bytes_ratio", cost[1].bytes / cost[0].bytes);
    put(json, "selection_rounds_extra", cost[1].select_rounds - cost[0].select_rounds);
    put(json, "measure_rounds_extra", cost[1].measure_rounds - cost[0].measure_rounds);
    return true;
}
