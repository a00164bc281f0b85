/*
 * bench/bench_abort.c - what security with abort costs: three processes over loopback TCP with
 * sealed links, with a check and without one in turn.
 *
 *   bench_abort [--json FILE] [--pairs N] [--only gates|study] [--smoke]
 *
 * A figure is CPU time of the three processes with their ZeroMQ threads, the flush included; a
 * ratio the median over the pairs of checked over not. Under every instruction set that runs here.
 * And a whole study: bench/abort_study.h.
 */
#include "base/memory.h"
#include "base/secret.h"
#include "bench/abort_study.h"
#include "bench/cpu.h"
#include "mpc/bits.h"
#include "mpc/check.h"
#include "tests/support_forked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAIRS_MAX 64
#define KERNELS 2

static const char *const kernels[KERNELS] = {"avx2", "avx512"};

struct board {
    size_t n, pairs;
    double cpu_s[KERNELS][PAIRS_MAX][2][3]; /* checked or not, by server */
};

static enum err take(struct party *p, struct bits *x, size_t n)
{
    x->n = n;
    x->a = memory_words(bits_words(n), sizeof *x->a);
    x->b = memory_words(bits_words(n), sizeof *x->b);
    return x->a == NULL || x->b == NULL ? ERR_NOMEM : party_random_bits(p, x);
}

static void give(struct bits *x)
{
    memory_free(&x->a);
    memory_free(&x->b);
}

/* One run with or without the check; both holders of it go on when all are done. */
static enum err run(struct party *p, struct check *check, const struct bits x[3], double *cpu)
{
    uint64_t zero = 0;
    TRY(forked_barrier(p, &zero));
    *cpu = cpu_s();
    p->check = check;
    TRY(bits_and(p, x[2], x[0], x[1]));
    TRY(check_flush(p));
    p->check = NULL;
    TRY(forked_barrier(p, &zero));
    *cpu = cpu_s() - *cpu;
    return ERR_OK;
}

static enum err all_runs(struct party *p, struct board *b, const struct bits x[3])
{
    static const struct check_limits limits;
    struct check *check;
    enum err e = check_new(p, &limits);
    check = p->check;
    for (unsigned k = 0; e == ERR_OK && k < KERNELS; k++) {
        p->kernel = kernel_by_name(kernels[k]);
        for (size_t i = 0; e == ERR_OK && p->kernel != NULL && i < 2 * (b->pairs + 1); i++) {
            const size_t pair = i / 2 == 0 ? 0 : i / 2 - 1; /* the first warms up */
            e = run(p, i % 2 == 0 ? NULL : check, x, &b->cpu_s[k][pair][i % 2][p->index]);
        }
    }
    p->check = check;
    return e;
}

static enum err measure(struct party *p, void *shared)
{
    struct board *b = shared;
    struct bits x[3] = {{0}};
    enum err e = ERR_OK;
    for (unsigned k = 0; e == ERR_OK && k < 3; k++)
        e = take(p, &x[k], b->n);
    if (e == ERR_OK)
        e = all_runs(p, b, x);
    for (unsigned k = 0; k < 3; k++)
        give(&x[k]);
    return e;
}

/* --- the report ------------------------------------------------------------------------------- */

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double all_three(const double cpu_s[3])
{
    return cpu_s[0] + cpu_s[1] + cpu_s[2];
}

/* Medians: of the ratio, and of nanoseconds a gate with a check. */
static double ratio_of(const struct board *b, unsigned kernel, double *checked_ns)
{
    double ratio[PAIRS_MAX], ns[PAIRS_MAX];
    for (size_t i = 0; i < b->pairs; i++) {
        ratio[i] = all_three(b->cpu_s[kernel][i][1]) / all_three(b->cpu_s[kernel][i][0]);
        ns[i] = 1e9 * all_three(b->cpu_s[kernel][i][1]) / (double)b->n;
    }
    qsort(ratio, b->pairs, sizeof *ratio, ascending);
    qsort(ns, b->pairs, sizeof *ns, ascending);
    *checked_ns = ns[b->pairs / 2];
    return ratio[b->pairs / 2];
}

static void report(const struct board *b, FILE *f)
{
    double ratio = 0, ns = 0;
    for (unsigned k = 0; k < KERNELS; k++) {
        if (kernel_by_name(kernels[k]) == NULL)
            continue;
        ratio = ratio_of(b, k, &ns);
        printf("and  %10zu gates  %-6s  CPU with a check %.4f ns each, %.2f times that without\n",
               b->n, kernels[k], ns, ratio);
        if (f != NULL)
            fprintf(f, "  \"and_ratio_%s\": %.6g,\n  \"and_checked_cpu_ns_%s\": %.6g,\n",
                    kernels[k], ratio, kernels[k], ns);
    }
    if (f != NULL)
        fprintf(f, "  \"and_ratio\": %.6g,\n  \"and_checked_cpu_ns\": %.6g,\n", ratio, ns);
}

static bool bench_gates(struct board *b, FILE *f)
{
    double peak_mib[3];
    if (!forked_run("bench_abort", measure, b, peak_mib))
        return false;
    printf("peak memory: %.0f, %.0f, %.0f MiB\n", peak_mib[0], peak_mib[1], peak_mib[2]);
    report(b, f);
    return true;
}

/* `only`: gates, study, or NULL for both. */
static bool bench(struct board *b, const char *only, FILE *f, bool smoke)
{
    bool right = true;
    if (f != NULL)
        fprintf(f, "{\n%s", smoke ? "  \"smoke\": true,\n" : "");
    if (only == NULL || strcmp(only, "gates") == 0)
        right = bench_gates(b, f);
    if (only == NULL || strcmp(only, "study") == 0)
        right = abort_study(f, b->pairs, smoke) && right;
    if (f != NULL)
        fprintf(f, "  \"kernel\": \"%s\"\n}\n", kernel_name());
    return right;
}

int main(int argc, char **argv)
{
    const char *json = NULL, *only = NULL;
    FILE *f = NULL;
    bool smoke = false, right;
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                           0);
    if (b == MAP_FAILED || secret_start() != ERR_OK)
        return 1;
    b->n = 100000000;
    b->pairs = 9;
    for (int i = 1; i < argc; i++) {
        const bool value = i + 1 < argc;
        if (strcmp(argv[i], "--smoke") == 0)
            smoke = true;
        else if (value && strcmp(argv[i], "--json") == 0)
            json = argv[++i];
        else if (value && strcmp(argv[i], "--only") == 0)
            only = argv[++i];
        else if (value && strcmp(argv[i], "--pairs") == 0)
            b->pairs = (size_t)strtod(argv[++i], NULL);
        else {
            fprintf(stderr, "usage: bench_abort [--json FILE] [--pairs N] [--only gates|study] "
                            "[--smoke]\n");
            return 2;
        }
    }
    if (smoke) {
        b->n = 100000;
        b->pairs = 1;
    }
    if (b->pairs == 0 || b->pairs > PAIRS_MAX)
        return 2;
    if (json != NULL && (f = fopen(json, "w")) == NULL) {
        fprintf(stderr, "bench_abort: cannot write %s\n", json);
        return 1;
    }
    right = bench(b, only, f, smoke);
    return (f == NULL || fclose(f) == 0) && right ? 0 : 1;
}
