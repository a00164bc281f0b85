/*
 * bench/bench_persons.c - persons over all owners, with three real servers.
 *
 *   bench_persons [--json FILE] [--smoke] [--runs N]
 *
 * Adult over 100 owners, who send records; its rows belong to 30,000 persons in turn. Studies with
 * `enforce_person` and without it alternate, medians of three runs each. Keys:
 *   bound_adult_extra_s         how much longer the servers compute before the first round:
 *                               bounding and counting, less counting
 *   bound_adult_abort_extra_s   the same with `security: abort`
 *   count_adult_s, count_adult_abort_s   counting alone
 *   bytes_per_row               by how much an upload grows
 * Two owners of 100,000 rows each, with three and two columns; 80,000 persons are at both. And two
 * of 500,000:
 *   link_200k_s                 seconds of the slowest server before the first round: linking and
 *                               counting all pairs of columns
 *   link_200k_abort_s           the same with `security: abort`
 *   link_200k_count_s, .._abort_s   counting alone: as many rows, joined by position
 *   link_1m_s, link_1m_rss_mib  a million rows; the largest server's peak memory
 * Adult is looked for in $TREFOIL_DATA, or ../shared/data. If it is absent, the program says so and
 * leaves it out.
 */
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/table_study.h"

#include <stdio.h>

#define RUNS 3
#define RUNS_MAX 99
#define OWNERS 100
#define ROWS 512 /* of an owner, at most */
#define MOST 1

struct persons_bench {
    unsigned runs;
    bool smoke;
    json_t *out;
    struct log log;
};

static void put(struct persons_bench *b, const char *key, double value)
{
    printf("%s %.4f\n", key, value);
    figures_put(b->out, value, "%s", key);
}

/* Seconds of counting, at the slowest server. */
static double slowest(const json_t *stats)
{
    const json_t *servers = json_object_get(stats, "servers");
    double most = 0;
    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *of = json_object_get(json_array_get(servers, i), "compute");
        const double s = json_number_value(json_object_get(of, "seconds"));
        most = s > most ? s : most;
    }
    return most;
}

/* How long the servers count, and the bytes of an owner's rows. */
static enum err count(struct persons_bench *b, bool bound, bool proved, double *seconds,
                      double *bytes)
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
    *seconds = slowest(f.stats);
    *bytes = f.packed / study.most;
    json_decref(f.stats);
    return ERR_OK;
}

static enum err bound_adult(struct persons_bench *b, bool proved)
{
    double seconds[2][RUNS_MAX], bytes[2] = {0};
    for (unsigned i = 0; i < b->runs; i++) {
        for (unsigned bound = 0; bound < 2; bound++)
            TRY(count(b, bound, proved, &seconds[bound][i], &bytes[bound]));
        printf("adult over %d owners%s, run %u: %.2f s, bounded %.2f s\n", b->smoke ? 5 : OWNERS,
               proved ? ", proved" : "", i, seconds[0][i], seconds[1][i]);
    }
    const double without = cpu_median(seconds[0], b->runs);
    put(b, proved ? "count_adult_abort_s" : "count_adult_s", without);
    put(b, proved ? "bound_adult_abort_extra_s" : "bound_adult_extra_s",
        cpu_median(seconds[1], b->runs) - without);
    if (!proved)
        put(b, "bytes_per_row", bytes[1] - bytes[0]);
    return ERR_OK;
}

/* --- linking ---------------------------------------------------------------------------------- */

static const char linked_domain[] = "domain:\n"
                                    "  - {name: age, kind: integer, min: 0, max: 15}\n"
                                    "  - {name: sex, kind: integer, min: 0, max: 1}\n"
                                    "  - {name: ward, kind: integer, min: 0, max: 7}\n"
                                    "  - {name: test, kind: integer, min: 0, max: 9}\n"
                                    "  - {name: died, kind: integer, min: 0, max: 1}\n";

/* Owner 0 has persons 0 .. n - 1, owner 1 those from n / 5 on, each in an order of its own. */
static enum err write_owner(void *self, unsigned owner, FILE *csv)
{
    const uint64_t n = *(const unsigned *)self;
    fputs(owner == 0 ? "who,age,sex,ward\n" : "who,test,died\n", csv);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i * (owner == 0 ? 7919 : 104729) % n;
        const uint64_t x = row * UINT64_C(0x9e3779b97f4a7c15);
        if (owner == 0)
            fprintf(csv, "p%u,%u,%u,%u\n", (unsigned)row, (unsigned)(x >> 60),
                    (unsigned)(x >> 40 & 1), (unsigned)(x >> 30 & 7));
        else
            fprintf(csv, "p%u,%u,%u\n", (unsigned)(row + n / 5), (unsigned)(x >> 20) % 10,
                    (unsigned)(x >> 50 & 1));
    }
    return ERR_OK;
}

/* Two owners of so many rows, linked or joined by position. */
static enum err link_two(struct persons_bench *b, unsigned rows, bool linked, bool proved,
                         double *seconds, double *mib)
{
    char part[2][128];
    const char *const parts[] = {part[0], part[1]};
    const struct table_study study = {.domain = linked_domain,
                                      .write = write_owner,
                                      .self = &rows,
                                      .part = parts,
                                      .link = linked ? "true" : NULL,
                                      .more = proved ? "security: abort\n" : NULL,
                                      .rounds = 1,
                                      .owners = 2};
    struct table_study_figures f;
    for (unsigned i = 0; i < 2; i++)
        snprintf(part[i], sizeof part[i], "    max_rows: %u\n    batch: x\n    columns: [%s]\n",
                 rows, i == 0 ? "age, sex, ward" : "test, died");
    TRY(table_study_run(&study, &f, &b->log));
    *seconds = slowest(f.stats);
    *mib = f.peak_mib;
    json_decref(f.stats);
    return ERR_OK;
}

static enum err link_200k(struct persons_bench *b, bool proved)
{
    const unsigned rows = b->smoke ? 700 : 100000;
    double seconds[2][RUNS_MAX], mib;
    for (unsigned i = 0; i < b->runs; i++) {
        for (unsigned linked = 0; linked < 2; linked++)
            TRY(link_two(b, rows, linked, proved, &seconds[linked][i], &mib));
        printf("two owners of %u rows%s, run %u: by position %.2f s, linked %.2f s, %.0f MiB\n",
               rows, proved ? ", proved" : "", i, seconds[0][i], seconds[1][i], mib);
    }
    put(b, proved ? "link_200k_count_abort_s" : "link_200k_count_s",
        cpu_median(seconds[0], b->runs));
    put(b, proved ? "link_200k_abort_s" : "link_200k_s", cpu_median(seconds[1], b->runs));
    return ERR_OK;
}

static enum err link_1m(struct persons_bench *b)
{
    double seconds, mib;
    TRY(link_two(b, b->smoke ? 900 : 500000, true, false, &seconds, &mib));
    put(b, "link_1m_s", seconds);
    put(b, "link_1m_rss_mib", mib);
    return ERR_OK;
}

static enum err measure(struct persons_bench *b)
{
    TRY(link_200k(b, false));
    TRY(link_200k(b, true));
    TRY(link_1m(b));
    if (data_absent("adult"))
        return ERR_OK;
    TRY(bound_adult(b, false));
    return bound_adult(b, true);
}

int main(int argc, char **argv)
{
    struct figures f;
    struct persons_bench b = {.runs = RUNS, .log = {.file = stderr, .level = LOG_ERROR}};
    const struct figures_option options[] = {{.name = "runs", .count = &b.runs}};
    figures_begin(&f, argc, argv, options, 1);
    b.smoke = f.smoke;
    b.runs = b.smoke ? 1 : b.runs < RUNS_MAX ? b.runs : RUNS_MAX;
    b.out = f.out;
    return figures_end(&f, measure(&b) != ERR_OK);
}
