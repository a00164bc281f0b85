/*
 * Parties as large as they get. If Open MPI is installed: one server of two ranks, and of four,
 * against recorded neighbours; see bench/scale_ranks.c for what it measures.
 *
 * And many owners that the study does not list, at three real servers on loopback. Each has a key,
 * a token and connections of its own, and uploads one row, 60 bytes:
 *
 *   open_100k_s            100 000 of them: the time from the first connection to the last answer
 *   listed_10k_s           the same of 10 000 owners that the study lists
 *   open_over_listed       the rate of the former (uploads a second) over that of the latter
 *   open_rss_mib           the largest server's peak memory, after all have been added up
 *   agreement_bytes_100k   the most that a server sent in the session that added them up, besides
 *                          adding up
 *   open_count_100k_s      how long that session took; listed_count_10k_s the same for the latter
 *   open_status_ms         until a server has said how many it holds; listed_status_ms: whose
 *   open_purge_s           until a server has purged them
 *   cpu_over_listed        the CPU that servers take for an open owner's upload over that for a
 *                          listed one's; other load on the machine disturbs it less than rates
 *
 * --owners N takes N owners instead of the 100 000, under the same names (`owners` says how many),
 * and a tenth as many listed ones, 10 000 at most, unless --listed says how many. --smoke is
 * --owners 200. --owners 0 leaves all that out.
 */
#include "base/clock.h"
#include "bench/cast.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "parties/study/study_uploads.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* 59 bits of codes and one of validity, a byte each since there is but one row. */
static const char domain[] = "domain:\n"
                             "  - {name: a, kind: integer, min: 0, max: 31}\n"
                             "  - {name: b, kind: integer, min: 0, max: 31}\n"
                             "  - {name: c, kind: integer, min: 0, max: 31}\n"
                             "  - {name: d, kind: integer, min: 0, max: 31}\n"
                             "  - {name: e, kind: integer, min: 0, max: 31}\n"
                             "  - {name: f, kind: integer, min: 0, max: 31}\n"
                             "  - {name: g, kind: integer, min: 0, max: 31}\n"
                             "  - {name: h, kind: integer, min: 0, max: 31}\n"
                             "  - {name: i, kind: integer, min: 0, max: 31}\n"
                             "  - {name: j, kind: integer, min: 0, max: 31}\n"
                             "  - {name: k, kind: integer, min: 0, max: 31}\n"
                             "  - {name: l, kind: integer, min: 0, max: 15}\n";

struct scale_costs {
    double upload_s, upload_cpu_s, count_s, mib, status_s, purge_s;
    uint64_t agreed;
};

static double servers_cpu(const struct cast *c)
{
    double sum = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        sum += cpu_of(c->server[i]);
    return sum;
}

static struct scale_costs measure(unsigned owners, bool open)
{
    const struct cast_plan plan = {
        .domain = domain, .workload = "{all: 2}", .owners = owners, .max_rows = 1, .open = open};
    struct scale_costs f;
    struct cast_session session;
    struct cast c;
    double cpu;
    cast_new(&c, &plan);
    cast_must(study_upload_bytes(c.s.study, 0) == 60, "an upload of 60 bytes");
    cast_start(&c);
    cpu = servers_cpu(&c);
    f.upload_s = cast_upload(&c);
    f.upload_cpu_s = servers_cpu(&c) - cpu;
    printf(
        "%u %s owners: %.2f s, %.0f uploads a second; servers took %.2f s of CPU, and the largest "
        "has %.1f MiB\n",
        owners, open ? "open" : "listed", f.upload_s, owners / f.upload_s, f.upload_cpu_s,
        cast_mib(&c, "VmHWM"));
    cpu = servers_cpu(&c);
    f.status_s = cast_ask(&c);
    session = cast_count(&c);
    f.count_s = session.seconds;
    f.agreed = session.agreed;
    f.mib = cast_mib(&c, "VmHWM");
    printf("adding them up: %.2f s, servers' CPU %.2f s; a server sent %.3f MB beside that; the "
           "largest has %.1f MiB\n",
           f.count_s, servers_cpu(&c) - cpu, (double)f.agreed / 1e6, f.mib);
    f.purge_s = cast_purge(&c);
    printf("status: %.1f ms; purge: %.2f s\n", 1e3 * f.status_s, f.purge_s);
    cast_free(&c);
    return f;
}

static void bench_open(json_t *out, unsigned owners, unsigned listed)
{
    const struct scale_costs few = measure(listed, false), many = measure(owners, true);
    const double ratio = owners / many.upload_s / (listed / few.upload_s);
    const double cpu = many.upload_cpu_s / owners / (few.upload_cpu_s / listed);
    printf("open owners at %.2f times the rate of listed ones, with %.2f times their CPU\n", ratio,
           cpu);
    figures_put(out, owners, "owners");
    figures_put(out, listed, "listed");
    figures_put(out, cpu, "cpu_over_listed");
    figures_put(out, 1e3 * many.status_s, "open_status_ms");
    figures_put(out, 1e3 * few.status_s, "listed_status_ms");
    figures_put(out, many.purge_s, "open_purge_s");
    figures_put(out, many.upload_s, "open_100k_s");
    figures_put(out, many.count_s, "open_count_100k_s");
    figures_put(out, many.mib, "open_rss_mib");
    figures_put(out, (double)many.agreed, "agreement_bytes_100k");
    figures_put(out, few.upload_s, "listed_10k_s");
    figures_put(out, few.count_s, "listed_count_10k_s");
    figures_put(out, ratio, "open_over_listed");
}

/* Its keys are added to ours. */
static void run_ranks(json_t *out, const char *program, const char *ranks, bool smoke)
{
    char file[] = "/tmp/trefoil-ranks-XXXXXX";
    const int fd = mkstemp(file);
    const char *const argv[] = {
        SUPPORT_MPIRUN,           "--bind-to", "none", "-n", ranks, program, "--json", file,
        smoke ? "--smoke" : NULL, NULL};
    char *copy[sizeof argv / sizeof *argv];
    json_t *more;
    int status;
    pid_t pid;
    cast_must(fd >= 0, "a file in /tmp");
    close(fd);
    memcpy(copy, argv, sizeof argv);
    pid = fork();
    if (pid == 0) {
        execvp(copy[0], copy);
        _exit(127);
    }
    cast_must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "mpirun");
    more = json_load_file(file, 0, NULL);
    unlink(file);
    cast_must(more != NULL && json_object_update(out, more) == 0, "what ranks wrote");
    json_decref(more);
}

/* Checks at four ranks what two predict; if they share processors, only CPU time is meaningful. */
static void bench_ranks(json_t *out, const char *self, bool smoke)
{
    char program[4096];
    const char *slash = strrchr(self, '/');
    snprintf(program, sizeof program, "%.*sscale_ranks",
             slash != NULL ? (int)(slash - self) + 1 : 0, self);
    if (access(program, X_OK) != 0) {
        printf("# SKIP ranks: no %s: install libopenmpi-dev and openmpi-bin\n", program);
        return;
    }
    run_ranks(out, program, "2", smoke);
    run_ranks(out, program, "4", smoke);
}

int main(int argc, char **argv)
{
    struct figures f;
    unsigned owners = 100000, listed = 0;
    const struct figures_option options[] = {{.name = "owners", .count = &owners, .zero = true},
                                             {.name = "listed", .count = &listed}};
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    cast_begin();
    cast_must(owners == 0 || owners >= 10, "--owners below 10");
    owners = f.smoke ? 200 : owners;
    bench_ranks(f.out, argv[0], f.smoke);
    if (listed == 0)
        listed = owners / 10 < 10000 ? owners / 10 : 10000;
    if (owners > 0)
        bench_open(f.out, owners, listed);
    return figures_end(&f, false);
}
