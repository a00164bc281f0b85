/*
 * bench/bench_persons.c - persons over all owners, with three real servers.
 *
 *   bench_persons [--json FILE] [--smoke] [--runs N]
 *
 * Adult over 100 owners, who send records; its rows are of 30,000 persons in turn. Studies with
 * `enforce_person` and without it in turn, medians of three runs each. Keys:
 *   bound_adult_extra_s         how much longer the servers compute until the first round can come:
 *                               bounding and counting, less counting
 *   bound_adult_abort_extra_s   the same with `security: abort`
 *   count_adult_s, count_adult_abort_s   counting alone
 *   bytes_per_row               by how much an upload grows
 * Adult is looked for in $TREFOIL_DATA, or ../shared/data, and left out aloud.
 */
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/table_study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 3
#define RUNS_MAX 99
#define OWNERS 100
#define ROWS 512 /* of an owner, at most */
#define MOST 1

struct bench {
    unsigned runs;
    bool smoke;
    json_t *out;
    struct log log;
};

static enum err put(struct bench *b, const char *key, double value)
{
    printf("%s %.4f\n", key, value);
    return json_object_set_new(b->out, key, json_real(value)) == 0 ? ERR_OK : ERR_NOMEM;
}

/* Seconds of the slowest server's phase. */
static double slowest(const json_t *stats, const char *phase)
{
    const json_t *servers = json_object_get(stats, "servers");
    double most = 0;
    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *of = json_object_get(json_array_get(servers, i), phase);
        const double s = json_number_value(json_object_get(of, "seconds"));
        most = s > most ? s : most;
    }
    return most;
}

/* How long the servers count, and the bytes of an owner's rows. */
static enum err count(struct bench *b, bool bound, bool proved, double *seconds, double *bytes)
{
    const struct table_study study = {.table = "adult",
                                      .as = "records",
                                      .more = proved ? "security: abort\n" : NULL,
                                      .rounds = 1,
                                      .most = b->smoke ? 256 : ROWS,
                                      .owners = b->smoke ? 5 : OWNERS,
                                      .enforce = bound ? MOST : 0};
    struct table_study_figures f;
    TRY(table_study_run(&study, &f, &b->log));
    *seconds = slowest(f.stats, "compute");
    *bytes = f.packed / study.most;
    json_decref(f.stats);
    return ERR_OK;
}

static enum err bound_adult(struct bench *b, bool proved)
{
    double seconds[2][RUNS_MAX], bytes[2] = {0};
    for (unsigned i = 0; i < b->runs; i++) {
        for (unsigned bound = 0; bound < 2; bound++)
            TRY(count(b, bound, proved, &seconds[bound][i], &bytes[bound]));
        printf("adult over %d owners%s, run %u: %.2f s, bounded %.2f s\n", b->smoke ? 5 : OWNERS,
               proved ? ", proved" : "", i, seconds[0][i], seconds[1][i]);
    }
    const double without = cpu_median(seconds[0], b->runs);
    TRY(put(b, proved ? "count_adult_abort_s" : "count_adult_s", without));
    TRY(put(b, proved ? "bound_adult_abort_extra_s" : "bound_adult_extra_s",
            cpu_median(seconds[1], b->runs) - without));
    return proved ? ERR_OK : put(b, "bytes_per_row", bytes[1] - bytes[0]);
}

static enum err measure(struct bench *b)
{
    if (!data_present("adult")) {
        printf("%s/adult.csv is absent and left out (set TREFOIL_DATA)\n", data_folder());
        return ERR_OK;
    }
    TRY(bound_adult(b, false));
    return bound_adult(b, true);
}

int main(int argc, char **argv)
{
    struct bench b = {.runs = RUNS, .log = {.file = stderr, .level = LOG_ERROR}};
    const char *json = NULL;
    enum err e;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0)
            b.smoke = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0 &&
                 atoi(argv[i + 1]) <= RUNS_MAX)
            b.runs = (unsigned)atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: bench_persons [--json FILE] [--smoke] [--runs N]\n");
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    b.runs = b.smoke ? 1 : b.runs;
    b.out = json_object();
    if (b.smoke)
        json_object_set_new(b.out, "smoke", json_true());
    e = measure(&b);
    if (e == ERR_OK && json != NULL && json_dump_file(b.out, json, JSON_INDENT(2)) != 0)
        e = ERR_SYSTEM;
    json_decref(b.out);
    return e == ERR_OK ? 0 : 1;
}
