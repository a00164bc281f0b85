/*
 * bench/bench_solo.c - one server alone on the machine, on 1, 2, .. lanes.
 *
 *   bench_solo [--json FILE] [--only NAME] [--lanes MOST] [--runs N] [--smoke]
 *
 * Three servers on one machine share its cores, which hides what a server gains from more lanes. So
 * each computation is first played by three servers in this process, for each number of lanes, and
 * what comes to server 0 is kept (bench/recording.h). Then server 0 plays the same part alone
 * against what was kept, which is there as soon as it is asked for: N times (5), alternating the
 * numbers of lanes. Frames are sealed and opened as always.
 *
 * The time is the shortest. If others use the machine, trust that of lane 0's thread: what it
 * computes before, with and after the other lanes is what a call takes if each has a core.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/recording.h"
#include "harness/session.h"
#include "harness/transport.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "protocols/counts_sum.h"
#include "protocols/mask.h"
#include "protocols/records.h"
#include "protocols/score.h"
#include "protocols/tape.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define SEED 11
#define QUEUE 64
#define COUNT_BITS 17
#define STEPS 4 /* numbers of lanes: 1, 2, 4, 8 */

/* --- what is measured ------------------------------------------------------------------------- */

struct sizes {
    size_t owners, cells;  /* of uploads as counts */
    size_t records;        /* of one owner's, in 12 columns of 16 values */
    size_t samples;        /* Gaussians */
    size_t candidates, of; /* each of so many cells */
};

static const struct sizes full = {100, 40000, 20000, 65536, 64, 16384},
                          smoke = {3, 1000, 200, 256, 4, 256};

struct solo_work {
    const struct sizes *size;
    struct share64 sums;
    struct counts_upload *uploads;
    uint8_t *vector;
    struct counts *counts;
    uint64_t *estimates;
    struct score_candidate *candidates;
    struct share64 scores;
    struct tape tape;
};

static const uint8_t seeds[3][MASK_SEED_SIZE] = {{1}, {2}, {3}};

/* The components of an upload that server `index` has, with any contents. */
static void seeds_of(unsigned index, const uint8_t *seed[2])
{
    for (unsigned k = 0; k < 2; k++)
        seed[k] = (index + k) % 3 == 2 ? NULL : seeds[(index + k) % 3];
}

static enum err prepare_count(struct party *p, struct solo_work *w)
{
    const size_t bytes = counts_bytes(w->size->cells, 12);
    w->vector = memory_array(bytes, 1);
    w->uploads = memory_array(w->size->owners, sizeof *w->uploads);
    if (w->vector == NULL || w->uploads == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < w->size->owners; i++) {
        w->uploads[i] = (struct counts_upload){.bits = 12, .vector = w->vector};
        seeds_of(p->index, w->uploads[i].seed);
    }
    return share64_new(&w->sums, w->size->cells);
}

static enum err run_count(struct party *p, struct solo_work *w)
{
    return counts_sum(p, w->sums, w->uploads, w->size->owners, 20);
}

static enum err prepare_records(struct party *p, struct solo_work *w)
{
    (void)p;
    w->vector = memory_array(12 * 4 + 1, (w->size->records + 7) / 8);
    return w->vector != NULL ? share64_new(&w->sums, 66 * 256) : ERR_NOMEM;
}

/* All pairs of 12 columns. */
static enum err run_records(struct party *p, struct solo_work *w)
{
    static const uint16_t column[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const uint32_t size[12] = {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
    const struct records_shape shape = {12, size};
    struct records_part part = {.attributes = 12, .attribute = column, .vector = w->vector};
    const struct records_batch batch = {.records = w->size->records, .parts = 1, .part = &part};
    struct records_query queries[66];
    size_t n = 0;
    seeds_of(p->index, part.seed);
    for (uint16_t a = 0; a < 12; a++)
        for (uint16_t b = (uint16_t)(a + 1); b < 12; b++, n++)
            queries[n] = (struct records_query){2, {a, b}, share64_view(w->sums, n * 256, 256)};
    return records_count(p, &shape, &batch, 1, queries, n);
}

static enum err prepare_noise(struct party *p, struct solo_work *w)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    (void)p;
    tape_start(&w->tape, id, NOISE_BOX_MULLER);
    return ERR_OK;
}

static enum err run_noise(struct party *p, struct solo_work *w)
{
    return tape_reserve(p, &w->tape, NOISE_GAUSS, w->size->samples);
}

/* Counts of zero, as good as any, and estimates up to the largest. */
static enum err prepare_score(struct party *p, struct solo_work *w)
{
    const size_t n = w->size->candidates, of = w->size->of;
    uint64_t *cells = memory_array(n, sizeof *cells);
    enum err e = cells == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t k = 0; e == ERR_OK && k < n; k++)
        cells[k] = of;
    if (e == ERR_OK)
        e = counts_new(&w->counts, cells, n, COUNT_BITS);
    memory_free(&cells);
    TRY(e);
    TRY(counts_finish(p, w->counts));
    TRY(share64_new(&w->scores, n));
    w->estimates = memory_array(of, sizeof *w->estimates);
    w->candidates = memory_array(n, sizeof *w->candidates);
    if (w->estimates == NULL || w->candidates == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < of; i++)
        w->estimates[i] = (2 + i * 7 % 16) << SCORE_BITS;
    for (size_t k = 0; k < n; k++)
        w->candidates[k] = (struct score_candidate){k, w->estimates};
    return ERR_OK;
}

static enum err run_score(struct party *p, struct solo_work *w)
{
    return score_l1(p, w->scores, w->counts, w->candidates, SCORE_UNIT);
}

/* The scores of zeros are all the same: one number makes them differ. */
static enum err run_select(struct party *p, struct solo_work *w)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1};
    size_t index;
    TRY(run_score(p, w));
    for (size_t k = 0; k < w->scores.n; k++)
        ring64_add_public(p, share64_view(w->scores, k, 1), k);
    return argmax_open(p, w->scores, 48, seed, &index);
}

static void work_free(struct solo_work *w)
{
    share64_free(&w->sums);
    share64_free(&w->scores);
    memory_free_all(&w->uploads, &w->vector, &w->estimates, &w->candidates);
    counts_free(&w->counts);
    tape_free(&w->tape);
}

static size_t cells_added(const struct sizes *s)
{
    return s->owners * s->cells;
}

static size_t records_counted(const struct sizes *s)
{
    return s->records;
}

static size_t samples_made(const struct sizes *s)
{
    return s->samples;
}

static size_t cells_scored(const struct sizes *s)
{
    return s->candidates * s->of;
}

static const struct solo_measurement {
    const char *name, *unit;
    enum err (*prepare)(struct party *p, struct solo_work *w);
    enum err (*run)(struct party *p, struct solo_work *w);
    size_t (*items)(const struct sizes *s);
} measurements[] = {
    {"count", "uploaded cells", prepare_count, run_count, cells_added},
    {"records", "records", prepare_records, run_records, records_counted},
    {"noise", "Gaussians", prepare_noise, run_noise, samples_made},
    {"score", "cells", prepare_score, run_score, cells_scored},
    {"select", "cells", prepare_score, run_select, cells_scored},
};
#define MEASUREMENTS (sizeof measurements / sizeof *measurements)

/* --- a server --------------------------------------------------------------------------------- */

struct solo_times {
    double wall, cpu, lane0; /* seconds; CPU of all threads, and of lane 0's thread */
};

struct solo_server {
    unsigned index;
    size_t lanes;
    struct transport *transport[SESSION_LANES_MAX];
    const struct solo_measurement *m;
    const struct sizes *size;
    struct solo_times times;
    enum err result;
};

static double thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum err measure(struct solo_server *s, struct party *p)
{
    struct solo_work w = {.size = s->size};
    enum err e = s->m->prepare(p, &w);
    const struct solo_times begin = {clock_now_s(), cpu_s(), thread_s()};
    if (e == ERR_OK)
        e = s->m->run(p, &w);
    s->times = (struct solo_times){clock_now_s() - begin.wall, cpu_s() - begin.cpu,
                                   thread_s() - begin.lane0};
    work_free(&w);
    return e;
}

static enum err open_nets(const struct solo_server *s, const struct session *session,
                          atomic_bool *ended, struct log *log, struct net *nets[SESSION_LANES_MAX])
{
    for (size_t k = 0; k < s->lanes; k++)
        TRY(net_new(&nets[k], &(struct net_options){.transport = s->transport[k],
                                                    .session = session,
                                                    .lane = (uint32_t)k,
                                                    .ended = ended,
                                                    .log = log}));
    return ERR_OK;
}

static void *serve(void *arg)
{
    struct solo_server *s = arg;
    struct log log = {.file = stderr, .level = LOG_ERROR, .prefix = "bench_solo: "};
    struct session *session = NULL;
    struct net *nets[SESSION_LANES_MAX] = {NULL};
    struct party *party = NULL;
    struct crew *crew = NULL;
    atomic_bool ended = false;
    enum err e = session_for_test(&session, s->index, SEED);
    if (e == ERR_OK)
        e = open_nets(s, session, &ended, &log, nets);
    if (e == ERR_OK)
        e = party_new(&party, nets[0], session, 0, &log);
    if (e == ERR_OK)
        e = crew_new(&crew, party, nets, s->lanes, session);
    if (e == ERR_OK)
        e = measure(s, party);
    crew_free(&crew);
    party_free(&party);
    for (size_t k = 0; k < s->lanes; k++)
        net_free(&nets[k]);
    session_free(&session);
    s->result = e;
    return NULL;
}

/* --- three, then one -------------------------------------------------------------------------- */

/* What server 0 received, for a number of lanes. */
struct take {
    size_t lanes;
    struct recording *lane[SESSION_LANES_MAX];
    struct solo_times best;
};

static enum err run_three(struct solo_server server[3])
{
    pthread_t thread[3];
    enum err e = ERR_OK;
    for (unsigned i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, serve, &server[i]) != 0)
            return ERR_SYSTEM;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        e = e == ERR_OK ? server[i].result : e;
    }
    return e;
}

static enum err record(struct take *t, const struct solo_measurement *m, const struct sizes *size)
{
    struct transport *three[SESSION_LANES_MAX][3] = {{NULL}}, kept[SESSION_LANES_MAX];
    struct solo_server server[3];
    enum err e = ERR_OK;
    for (unsigned i = 0; i < 3; i++)
        server[i] = (struct solo_server){.index = i, .lanes = t->lanes, .m = m, .size = size};
    for (size_t k = 0; k < t->lanes && e == ERR_OK; k++) {
        e = recording_new(&t->lane[k]);
        if (e == ERR_OK)
            e = transport_memory_new(three[k], QUEUE);
        if (e != ERR_OK)
            break;
        kept[k] = recording_keep(t->lane[k], three[k][0]);
        for (unsigned i = 0; i < 3; i++)
            server[i].transport[k] = i == 0 ? &kept[k] : three[k][i];
    }
    if (e == ERR_OK)
        e = run_three(server);
    for (size_t k = 0; k < t->lanes; k++)
        for (unsigned i = 0; i < 3; i++)
            transport_free(&three[k][i]);
    return e;
}

static void keep_best(double *best, double x)
{
    if (*best == 0 || x < *best)
        *best = x;
}

static enum err play(struct take *t, const struct solo_measurement *m, const struct sizes *size)
{
    struct transport played[SESSION_LANES_MAX];
    struct solo_server s = {.index = 0, .lanes = t->lanes, .m = m, .size = size};
    for (size_t k = 0; k < t->lanes; k++) {
        played[k] = recording_play(t->lane[k]);
        s.transport[k] = &played[k];
    }
    serve(&s);
    keep_best(&t->best.wall, s.times.wall);
    keep_best(&t->best.cpu, s.times.cpu);
    keep_best(&t->best.lane0, s.times.lane0);
    return s.result;
}

struct solo_options {
    const char *only;
    size_t steps;
    unsigned runs;
    bool smoke;
};

static enum err measure_all(const struct solo_options *o, const struct solo_measurement *m,
                            const struct sizes *size, struct take takes[STEPS])
{
    enum err e = ERR_OK;
    for (size_t k = 0; k < o->steps && e == ERR_OK; k++) {
        takes[k] = (struct take){.lanes = (size_t)1 << k};
        e = record(&takes[k], m, size);
    }
    for (size_t i = 0; i < o->runs; i++)
        for (size_t k = 0; k < o->steps && e == ERR_OK; k++)
            e = play(&takes[k], m, size);
    for (size_t k = 0; k < o->steps; k++)
        for (size_t lane = 0; lane < takes[k].lanes; lane++)
            recording_free(&takes[k].lane[lane]);
    return e;
}

/* --- the report ------------------------------------------------------------------------------- */

static void print_takes(const struct solo_measurement *m, const struct solo_options *o,
                        double items, const struct take takes[STEPS])
{
    for (size_t k = 0; k < o->steps; k++) {
        const struct solo_times *t = &takes[k].best;
        printf("%-8s %zu lane%s  %10.4g %s/s  %9.2f ms, lane 0's thread %9.2f ms, CPU %9.2f ms",
               m->name, takes[k].lanes, takes[k].lanes == 1 ? " " : "s", items / t->wall, m->unit,
               1e3 * t->wall, 1e3 * t->lane0, 1e3 * t->cpu);
        if (k > 0)
            printf("  %.2f (%.2f) times as fast as 1", takes[0].best.wall / t->wall,
                   takes[0].best.lane0 / t->lane0);
        putchar('\n');
    }
    fflush(stdout);
}

static void put_takes(json_t *out, const struct solo_measurement *m, const struct solo_options *o,
                      double items, const struct take takes[STEPS])
{
    const struct solo_times *one = &takes[0].best, *two = &takes[1].best;
    json_t *list = figures_list(out, m->name);
    figures_put(out, one->wall / two->wall, "%s_2_over_1", m->name);
    figures_put(out, one->lane0 / two->lane0, "%s_2_over_1_cpu", m->name);
    for (size_t k = 0; k < o->steps; k++) {
        const struct solo_times *t = &takes[k].best;
        json_t *item = figures_item(list);
        figures_put(item, (double)takes[k].lanes, "lanes");
        figures_put(item, items / t->wall, "per_s");
        figures_put(item, t->wall, "wall_s");
        figures_put(item, t->lane0, "lane0_cpu_s");
        figures_put(item, t->cpu, "cpu_s");
    }
}

static enum err run(const struct solo_options *o, json_t *out)
{
    const struct sizes *size = o->smoke ? &smoke : &full;
    cpu_set_t cores;
    const int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
    printf(
        "one server against recorded neighbours, kernel %s, %d processors; times as fast: by the "
        "clock (by lane 0's CPU time)\n",
        kernel_best(NULL)->name, count);
    json_object_set_new(out, "kernel", json_string(kernel_best(NULL)->name));
    figures_put(out, count, "processors");
    for (size_t k = 0; k < MEASUREMENTS; k++) {
        const struct solo_measurement *m = &measurements[k];
        const double items = (double)m->items(size);
        struct take takes[STEPS] = {{0}};
        if (o->only != NULL && strcmp(o->only, m->name) != 0)
            continue;
        TRY(measure_all(o, m, size, takes));
        print_takes(m, o, items, takes);
        put_takes(out, m, o, items, takes);
    }
    return ERR_OK;
}

int main(int argc, char **argv)
{
    struct figures f;
    struct solo_options o = {.steps = 2, .runs = 5};
    unsigned lanes = 2;
    const struct figures_option options[] = {{.name = "only", .text = &o.only},
                                             {.name = "runs", .count = &o.runs},
                                             {.name = "lanes", .count = &lanes}};
    enum err e;
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    o.smoke = f.smoke;
    o.runs = o.smoke ? 1 : o.runs;
    while (o.steps < STEPS && 1u << o.steps <= lanes)
        o.steps++;
    e = secret_start();
    if (e == ERR_OK)
        e = run(&o, f.out);
    if (e != ERR_OK)
        fprintf(stderr, "bench_solo: %s\n", error_text(e));
    return figures_end(&f, e != ERR_OK);
}
