/*
 * bench/bench_abort.c - what security with abort costs: three processes over loopback TCP with
 * sealed links, with a check and without one in turn.
 *
 *   bench_abort [--json FILE] [--only NAME|study|records|wan] [--pairs N] [--smoke]
 *
 * A figure is CPU time of the three processes with their ZeroMQ threads, the flush included; a
 * ratio is the median over the pairs, with a check over without. Under every instruction set that
 * runs here. And whole studies, of counts (study) and of records: bench/abort_study.h, and over a
 * WAN bench/support_studies.h.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "bench/abort_study.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/support_studies.h"
#include "bench/work.h"
#include "harness/forked.h"
#include "mpc/check/check.h"
#include "protocols/tape.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAIRS_MAX 64
#define KERNELS 3

static const char *const kernels[KERNELS] = {"neon", "avx2", "avx512"};

/* --- what is measured ------------------------------------------------------------------------- */

static enum err nothing(struct party *p, struct work *w)
{
    (void)p;
    (void)w;
    return ERR_OK;
}

static enum err make_noise(struct party *p, enum noise_law kind, enum noise_kind noise, size_t n)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct tape tape;
    tape_start(&tape, id, noise);
    tape_plan(&tape, kind, n);
    net_enter(p->net, NET_NOISE);
    const enum err e = tape_reserve(p, &tape, kind, n);
    net_enter(p->net, NET_OTHER);
    tape_free(&tape);
    return e;
}

static enum err run_gauss(struct party *p, struct work *w)
{
    return make_noise(p, NOISE_GAUSS, NOISE_BOX_MULLER, w->n);
}

static enum err run_discrete(struct party *p, struct work *w)
{
    return make_noise(p, NOISE_GAUSS, NOISE_DISCRETE, w->n);
}

static enum err run_gumbel(struct party *p, struct work *w)
{
    return make_noise(p, NOISE_GUMBEL, NOISE_BOX_MULLER, w->n);
}

#define NOISE "noise_"

static const struct abort_figure {
    const char *name, *unit;
    size_t n, smoke;
    enum err (*prepare)(struct party *p, struct work *w);
    enum err (*run)(struct party *p, struct work *w);
} figures[] = {
    {"and", "gates", 100000000, 100000, work_prepare_and, work_run_and},
    {"mul64", "words", 1000000, 10000, work_prepare_words, work_run_multiply},
    {"l1", "cells", 1000000, 10000, work_prepare_cached, work_run_distances},
    {NOISE "gauss", "samples", 131072, 1024, nothing, run_gauss},
    {NOISE "discrete", "samples", 131072, 1024, nothing, run_discrete},
    {NOISE "gumbel", "samples", 131072, 1024, nothing, run_gumbel},
};
#define FIGURES (sizeof figures / sizeof *figures)

struct sample {
    double cpu_s[3], s; /* by server; at server 0 */
};

struct abort_options {
    const char *only;
    unsigned pairs;
    bool smoke;
};

/* In memory that the processes share. */
struct abort_board {
    struct abort_options options;
    struct sample sample[FIGURES][KERNELS][PAIRS_MAX][2]; /* checked or not */
};

static bool is_asked(const struct abort_options *o, const char *name)
{
    return o->only == NULL || strcmp(o->only, name) == 0;
}

static size_t size_of(const struct abort_options *o, const struct abort_figure *f)
{
    return o->smoke ? f->smoke : f->n;
}

/* One run with or without the check; both servers that hold it go on when all are done. */
static enum err run(struct party *p, struct party_recorder *check, const struct abort_figure *f,
                    struct work *w, struct sample *sample)
{
    uint64_t zero = 0;
    double cpu, begin;
    TRY(forked_barrier(p, &zero));
    cpu = cpu_s();
    begin = clock_now_s();
    p->recorder = check;
    TRY(f->run(p, w));
    TRY(record_prove(p));
    p->recorder = NULL;
    TRY(forked_barrier(p, &zero));
    sample->cpu_s[p->index] = cpu_s() - cpu;
    if (p->index == 0)
        sample->s = clock_now_s() - begin;
    return ERR_OK;
}

static enum err run_in_turn(struct party *p, struct abort_board *b, size_t figure,
                            struct party_recorder *check)
{
    const struct abort_figure *f = &figures[figure];
    struct work w = {.n = size_of(&b->options, f)};
    enum err e;
    p->recorder = NULL;
    e = f->prepare(p, &w);
    for (unsigned k = 0; e == ERR_OK && k < KERNELS; k++) {
        p->kernel = kernel_by_name(kernels[k]);
        for (size_t i = 0; e == ERR_OK && p->kernel != NULL && i < 2 * (b->options.pairs + 1);
             i++) {
            const size_t pair = i / 2 == 0 ? 0 : i / 2 - 1; /* the first warms up */
            e = run(p, i % 2 == 0 ? NULL : check, f, &w, &b->sample[figure][k][pair][i % 2]);
        }
    }
    p->kernel = kernel_best(NULL);
    work_free(&w);
    return e;
}

static enum err measure(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct abort_board *b = shared;
    struct party_recorder *check;
    enum err e = check_new(p, &limits);
    check = p->recorder;
    for (size_t k = 0; e == ERR_OK && k < FIGURES; k++)
        if (is_asked(&b->options, figures[k].name))
            e = run_in_turn(p, b, k, check);
    p->recorder = check;
    return e;
}

/* --- the report ------------------------------------------------------------------------------- */

static double all_three(const struct sample *s)
{
    return s->cpu_s[0] + s->cpu_s[1] + s->cpu_s[2];
}

/* Medians: of the ratio; with a check, of nanoseconds an item and of items a second. */
struct abort_result {
    double ratio, cpu_ns, per_s;
};

static struct abort_result result_of(const struct abort_board *b, size_t figure, unsigned kernel)
{
    const double items = (double)size_of(&b->options, &figures[figure]);
    const size_t pairs = b->options.pairs;
    double ratio[PAIRS_MAX], ns[PAIRS_MAX], per_s[PAIRS_MAX];
    for (size_t i = 0; i < pairs; i++) {
        const struct sample *s = b->sample[figure][kernel][i];
        ratio[i] = all_three(&s[1]) / all_three(&s[0]);
        ns[i] = 1e9 * all_three(&s[1]) / items;
        per_s[i] = items / s[1].s;
    }
    return (struct abort_result){cpu_median(ratio, pairs), cpu_median(ns, pairs),
                                 cpu_median(per_s, pairs)};
}

/* Keys for one instruction set end in `of`. */
static void report_kernel(json_t *out, const struct abort_board *b, unsigned kernel, const char *of)
{
    double noise = 0;
    for (size_t k = 0; k < FIGURES; k++) {
        struct abort_result r;
        if (!is_asked(&b->options, figures[k].name))
            continue;
        r = result_of(b, k, kernel);
        if (strncmp(figures[k].name, NOISE, strlen(NOISE)) == 0 && r.ratio > noise)
            noise = r.ratio;
        if (*of != '\0')
            printf("%-14s %10zu %-7s  %-6s  CPU with a check %.4g ns each, %.2f times that "
                   "without; %.4g /s\n",
                   figures[k].name, size_of(&b->options, &figures[k]), figures[k].unit,
                   kernels[kernel], r.cpu_ns, r.ratio, r.per_s);
        figures_put(out, r.ratio, "%s_ratio%s", figures[k].name, of);
        figures_put(out, r.cpu_ns, "%s_checked_cpu_ns%s", figures[k].name, of);
        figures_put(out, r.per_s, "%s_checked_per_s%s", figures[k].name, of);
    }
    if (noise > 0)
        figures_put(out, noise, "noise_ratio%s", of);
}

static void report(json_t *out, const struct abort_board *b)
{
    unsigned best = KERNELS;
    for (unsigned k = 0; k < KERNELS; k++) {
        char of[16];
        if (kernel_by_name(kernels[k]) == NULL)
            continue;
        snprintf(of, sizeof of, "_%s", kernels[k]);
        report_kernel(out, b, best = k, of);
    }
    if (best < KERNELS)
        report_kernel(out, b, best, "");
}

static bool bench_figures(struct abort_board *b, json_t *out)
{
    double peak_mib[3];
    if (!forked_run("bench_abort", measure, b, peak_mib))
        return false;
    printf("peak memory: %.0f, %.0f, %.0f MiB\n", peak_mib[0], peak_mib[1], peak_mib[2]);
    report(out, b);
    return true;
}

static bool bench(struct abort_board *b, json_t *out)
{
    const struct abort_options *o = &b->options;
    const bool counts = is_asked(o, "study"), records = is_asked(o, "records"),
               wan = is_asked(o, "wan");
    bool right = true;
    if (o->only == NULL || (!counts && !records && !wan))
        right = bench_figures(b, out);
    if (counts)
        right = abort_study_counts(out, o->pairs, o->smoke) && right;
    if (records)
        right = abort_study_records(out, o->pairs, o->smoke) && right;
    if (wan)
        right = studies_wan_ratio(out, o->smoke) && right;
    json_object_set_new(out, "kernel", json_string(kernel_best(NULL)->name));
    return right;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct abort_options o = {.pairs = 5};
    const struct figures_option options[] = {{.name = "only", .text = &o.only},
                                             {.name = "pairs", .count = &o.pairs}};
    struct abort_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    o.smoke = f.smoke;
    o.pairs = o.smoke ? 1 : o.pairs;
    if (o.pairs == 0 || o.pairs > PAIRS_MAX || b == MAP_FAILED || secret_start() != ERR_OK)
        return 1;
    b->options = o;
    return figures_end(&f, !bench(b, f.out));
}
