/*
 * What owners and operators meet, end to end, with the real program as three servers on loopback:
 *
 *   uploads_1000_s                 1000 owners, each with keys and connections of its own, upload 4
 *                                  KB to all three servers; the time from the first connection to
 *                                  the last answer
 *   server_rss_mib_10000           the largest server's peak memory after 10 000 such uploads;
 *                                  beside it the same before the first, and the size of what it
 *                                  stored
 *   server_rss_mib_10000_counted   the same when all of them have been added up, as a run begins
 *   upload_bytes_records_adult     every byte that `trefoil share` sends for 488 records of Adult,
 *                                  counted on the wire by a proxy, and so with greetings,
 *                                  handshakes and sealing
 *   upload_bytes_counts_adult_pgm  the same as counts in the 64 marginals of adult_pgm
 *
 *   mpc_s, network_s, estimate_s, l1, l1_central      a whole run on Adult: bench/flaim/e2e_adult.h
 *
 * Tables are those of $TREFOIL_DATA, or ../shared/data. If one is absent, the program says so and
 * leaves out what needs it. --smoke has a hundredth of the owners under the same names.
 */
#include "base/bytes.h"
#include "bench/cast.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/flaim/e2e_adult.h"
#include "bench/study_text.h"
#include "bench/tap.h"
#include "parties/study/study_uploads.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS 488

static double stored_mib(const struct cast *c)
{
    struct stat s;
    cast_must(stat(support_path(&c->s, "server1/store.sqlite"), &s) == 0, "the store's size");
    return (double)s.st_size / (1 << 20);
}

/* 10 pairs of 5 columns of 17 values, 11 bits a cell: 3974 bytes. */
static const char four_kb_domain[] = "domain:\n"
                                     "  - {name: a, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: b, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: c, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: d, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: e, kind: integer, min: 0, max: 16}\n";

/* A figure named after a number of owners: "name_1000end". */
static void put(json_t *out, const char *name, unsigned owners, const char *end, double figure)
{
    figures_put(out, figure, "%s_%u%s", name, owners, end);
}

/* As many owners as the figures are named after; a hundredth of them in a smoke run. */
static void bench_uploads(json_t *out, unsigned named, bool smoke)
{
    const unsigned owners = smoke ? named / 100 : named;
    const struct cast_plan plan = {
        .domain = four_kb_domain, .workload = "{all: 2}", .owners = owners, .max_rows = 2047};
    struct cast c;
    double seconds, before;
    cast_new(&c, &plan);
    cast_start(&c);
    before = cast_mib(&c, "VmRSS");
    seconds = cast_upload(&c);
    printf("%u owners of %llu bytes: %.2f s; the largest server has %.1f MiB (peak %.1f; before "
           "%.1f), and stored %.1f\n",
           owners, (unsigned long long)study_upload_bytes(c.s.study, 0), seconds,
           cast_mib(&c, "VmRSS"), cast_mib(&c, "VmHWM"), before, stored_mib(&c));
    put(out, "uploads", named, "_s", seconds);
    put(out, "server_rss_mib", named, "", cast_mib(&c, "VmHWM"));
    put(out, "server_rss_mib_before", named, "", before);
    put(out, "server_stored_mib", named, "", stored_mib(&c));
    seconds = cast_count(&c).seconds;
    printf("adding them up: %.2f s; the largest server's peak is %.1f MiB\n", seconds,
           cast_mib(&c, "VmHWM"));
    put(out, "count", named, "_s", seconds);
    put(out, "server_rss_mib", named, "_counted", cast_mib(&c, "VmHWM"));
    cast_free(&c);
}

/* --- bytes on the wire ------------------------------------------------------------------------ */

/* The first rows of a table as a file of their own. */
static bool first_rows(const char *table, unsigned rows, const char *path)
{
    char from[4096], line[4096];
    FILE *in, *out;
    snprintf(from, sizeof from, "%s/%s.csv", data_folder(), table);
    in = fopen(from, "r");
    if (in == NULL)
        return false;
    out = fopen(path, "w");
    cast_must(out != NULL, "a file");
    for (unsigned i = 0; i <= rows && fgets(line, sizeof line, in) != NULL; i++)
        fputs(line, out);
    fclose(in);
    return fclose(out) == 0;
}

static void share_through(const struct cast *c, uint64_t *sent, uint64_t *received)
{
    const char *study = support_path(&c->s, "tapped.yaml");
    const char *output = support_path(&c->s, "share.log");
    const char *const a[] = {
        "share", study, support_path(&c->s, "o0.csv"), "--key", support_path(&c->s, "o0.key"),
        NULL};
    struct tap *tap;
    cast_done(tap_open(&tap, c->s.port), "a proxy");
    cast_done(tap_study(tap, c->s.path, study, &cast_log), "the proxy's study");
    if (support_run(output, 60, a) != 0) {
        fprintf(stderr, "see %s\n", output);
        _exit(1);
    }
    tap_close(&tap, sent, received);
}

static void bench_bytes(json_t *out, const char *table, const char *as, const char *name)
{
    struct bench_data data;
    struct bytes domain = {0}, workload = {0};
    struct cast_plan plan = {.owners = 1, .max_rows = ROWS, .as = as};
    struct cast c;
    uint64_t sent, received;
    if (data_absent(table))
        return;
    cast_done(bench_data_terms(&data, table, &cast_log), "the table's domain and workload");
    study_text_domain(data.domain, NULL, &domain);
    study_text_workload(data.workload, data.domain, &workload);
    cast_done(bytes_ok(&domain), "memory");
    cast_done(bytes_ok(&workload), "memory");
    plan.domain = (const char *)domain.data;
    plan.workload = (const char *)workload.data;
    cast_new(&c, &plan);
    cast_must(first_rows(table, ROWS, support_path(&c.s, "o0.csv")), "the table");
    cast_start(&c);
    share_through(&c, &sent, &received);
    printf("%u rows of %s as %s: the client sent %llu bytes on the wire, and received %llu\n", ROWS,
           table, as, (unsigned long long)sent, (unsigned long long)received);
    figures_put(out, (double)sent, "%s", name);
    cast_free(&c);
    bytes_clear(&domain);
    bytes_clear(&workload);
    bench_data_clear(&data);
}

int main(int argc, char **argv)
{
    struct figures f;
    figures_begin(&f, argc, argv, NULL, 0);
    cast_begin();
    cast_done(e2e_adult(f.out, &cast_log), "a run on Adult");
    bench_bytes(f.out, "adult", "records", "upload_bytes_records_adult");
    bench_bytes(f.out, "adult_pgm", "counts", "upload_bytes_counts_adult_pgm");
    bench_uploads(f.out, 1000, f.smoke);
    bench_uploads(f.out, 10000, f.smoke);
    return figures_end(&f, false);
}
