/*
 * bench/scale_ranks.c - one server of several ranks, alone on the machine.
 *
 *   mpirun -n R scale_ranks --json FILE [--smoke]     (bench_scale starts it)
 *
 * As in bench_solo the neighbours are recordings: each rank plays the three servers in its own
 * process, a lane for each rank, and keeps what comes to its own lane of server 1, which holds
 * vectors. Then ranks compute as server 1 does: the tally, the tape, and all that passes between
 * ranks are the product's. Only links are not: what the linker wraps below gives what was kept.
 *
 *   ranks_2_over_1       by the clock: how many times as fast two ranks are as one, for counting
 *                        uploads (counts, records) and for noise; from one run, in turn
 *   ranks_2_over_1_cpu   the same in CPU time on the longest path: rank 0 without its lane's work,
 *                        plus the lane that takes most
 *   rank0_share_R        rank 0's CPU time without its lane's work, as a share of all ranks'
 *
 *   rank0_share_4_model, rank0_share_8_of   the same from a model, given what two ranks take (see
 *                        predict()); four are then measured. rank0_share_8 is the largest for 8
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/prg.h"
#include "bench/cast.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/recording.h"
#include "harness/session.h"
#include "harness/transport.h"
#include "mpc/move/crew.h"
#include "parties/settings/three/ranks_mpi.h"
#include "parties/settings/three/tally.h"
#include "parties/study/study_uploads.h"
#include "protocols/tape.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define SERVER 1 /* that is measured */
#define SEED 12
#define QUEUE 64
#define RUNS 5
#define RANKS_MOST SESSION_LANES_MAX
#define GROUP 64 /* owners that are counted at a time (parties/server/collect.c) */

static const char domain[] = "domain:\n"
                             "  - {name: a, kind: integer, min: 0, max: 15}\n"
                             "  - {name: b, kind: integer, min: 0, max: 15}\n"
                             "  - {name: c, kind: integer, min: 0, max: 15}\n"
                             "  - {name: d, kind: integer, min: 0, max: 15}\n"
                             "  - {name: e, kind: integer, min: 0, max: 15}\n"
                             "  - {name: f, kind: integer, min: 0, max: 15}\n"
                             "  - {name: g, kind: integer, min: 0, max: 15}\n"
                             "  - {name: h, kind: integer, min: 0, max: 15}\n"
                             "  - {name: i, kind: integer, min: 0, max: 15}\n"
                             "  - {name: j, kind: integer, min: 0, max: 15}\n"
                             "  - {name: k, kind: integer, min: 0, max: 15}\n"
                             "  - {name: l, kind: integer, min: 0, max: 15}\n";

/* Uploads, or samples. */
static const struct measure {
    const char *name, *as;
    unsigned owners, rows;
    size_t samples;
} measures[] =
    {
        {.name = "count", .as = "counts", .owners = 16 * GROUP, .rows = 4000},
        {.name = "records", .as = "records", .owners = GROUP, .rows = 5120},
        {.name = "noise", .samples = 262144},
},
  smokes[] = {
      {.name = "count", .as = "counts", .owners = 3, .rows = 60},
      {.name = "records", .as = "records", .owners = 2, .rows = 128},
      {.name = "noise", .samples = 1024},
};
#define MEASURES (sizeof measures / sizeof *measures)

/* Seconds of CPU, except `wall`. */
struct scale_ranks_times {
    double wall, cpu, lane; /* rank 0: all; its lane's work */
    double begin, end, sum; /* rank 0: its messages to ranks, those from them, and adding up */
    double others, slowest; /* ranks */
    double words;           /* of sums */
};

/* --- work ------------------------------------------------------------------------------------- */

/* A study and its uploads as a server holds them, the same in every process. */
struct scale_ranks_scene {
    struct cast cast;
    struct bounds *bounds;
    struct upload *upload[STUDY_SERVERS_MOST];
};

static void fill(struct scale_ranks_scene *c, const struct measure *m, unsigned owner)
{
    const struct study *study = c->cast.s.study;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct upload *u = &c->upload[i][owner];
        u->split = &three_split;
        u->whole = true;
        u->owner = owner;
        u->form = (uint8_t)study_upload_form(study, owner);
        for (unsigned slot = 0; slot < 2; slot++) {
            u->seed[slot][0] = (uint8_t)((i + slot) % 3 + 1);
            integer_put(u->seed[slot] + 1, owner, 4);
        }
        if (i != 0)
            cast_must(bytes_extend(&u->vector, (size_t)study_upload_bytes(study, owner)) != NULL,
                      "memory");
    }
    cast_must((c->upload[0][owner].form == UPLOAD_RECORDS) == (strcmp(m->as, "records") == 0),
              "an upload of that form");
}

static void scene_new(struct scale_ranks_scene *c, const struct measure *m)
{
    const struct cast_plan plan = {.domain = domain,
                                   .workload = "{all: 2}",
                                   .owners = m->owners,
                                   .max_rows = m->rows,
                                   .as = m->as};
    *c = (struct scale_ranks_scene){0};
    if (m->owners == 0)
        return;
    cast_new(&c->cast, &plan);
    cast_done(bounds_new(&c->bounds, c->cast.s.study, &cast_log), "bounds");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        cast_done(memory_new(&c->upload[i], m->owners), "memory");
    for (unsigned k = 0; k < m->owners; k++)
        fill(c, m, k);
}

static void scene_free(struct scale_ranks_scene *c, const struct measure *m)
{
    if (m->owners == 0)
        return;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        for (unsigned k = 0; k < m->owners; k++)
            upload_clear(&c->upload[i][k]);
        memory_free(&c->upload[i]);
    }
    bounds_free(&c->bounds);
    cast_free(&c->cast);
}

static enum err count(struct party *p, const struct scale_ranks_scene *c, const struct measure *m)
{
    struct tally t CLEAN(tally_free) = {0};
    TRY(tally_new(&t, c->cast.s.study, c->bounds));
    for (unsigned k = 0; k < m->owners; k += GROUP)
        TRY(tally_add(p, &t, c->upload[p->index] + k,
                      m->owners - k < GROUP ? m->owners - k : GROUP));
    return tally_gather(p, &t);
}

static enum err work(struct party *p, const struct scale_ranks_scene *c, const struct measure *m)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct tape tape CLEAN(tape_free) = {0};
    if (m->owners > 0)
        return count(p, c, m);
    tape_start(&tape, id, NOISE_BOX_MULLER);
    return tape_reserve(p, &tape, NOISE_GAUSS, m->samples);
}

/* --- what passes between ranks, with its time ------------------------------------------------- */

struct timed {
    const struct crew_far *inner;
    struct scale_ranks_times *times;
    double begun; /* when rank 0's own lane began */
};

static enum err timed_topic(void *self, const uint8_t topic[SESSION_ID_SIZE])
{
    const struct timed *t = self;
    return t->inner->topic(t->inner->self, topic);
}

/* For each far lane in turn; rank 0's own begins after the last. */
static enum err timed_give(void *self, const struct crew_task *task)
{
    struct timed *t = self;
    const double at = cpu_s();
    TRY(t->inner->give(t->inner->self, task));
    t->begun = cpu_s();
    t->times->begin += t->begun - at;
    return ERR_OK;
}

static enum err timed_end(void *self, bool call_off, struct bytes *results,
                          struct net_counters *counted)
{
    struct timed *t = self;
    const double at = cpu_s();
    t->times->lane += at - t->begun;
    TRY(t->inner->end(t->inner->self, call_off, results, counted));
    t->times->end += cpu_s() - at;
    return ERR_OK;
}

static enum err timed_sum(void *self, struct share64 sums)
{
    struct timed *t = self;
    const double at = cpu_s();
    TRY(t->inner->sum(t->inner->self, sums));
    t->times->sum += cpu_s() - at;
    t->times->words = 2 * (double)sums.n;
    return ERR_OK;
}

/* --- a server --------------------------------------------------------------------------------- */

struct scale_ranks_server {
    unsigned index;
    size_t here, lanes; /* that this process has; of the session */
    struct transport *transport[SESSION_LANES_MAX];
    struct ranks *ranks; /* or NULL, where it has all */
    const struct measure *m;
    size_t number; /* of the measure */
    const struct scale_ranks_scene *scene;
    struct scale_ranks_times times;
    enum err result;
};

static double cpu_of_rank(const struct ranks_end *end)
{
    struct timespec t;
    clockid_t clock;
    cast_must(clock_getcpuclockid((pid_t)end->pid, &clock) == 0 && clock_gettime(clock, &t) == 0,
              "a rank's clock");
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum err measure(struct scale_ranks_server *s, struct party *p)
{
    const size_t others = s->ranks != NULL ? s->lanes - 1 : 0;
    double before[RANKS_MOST] = {0};
    struct scale_ranks_times *t = &s->times;
    const double wall = clock_now_s(), cpu = cpu_s();
    enum err e;
    for (size_t k = 0; k < others; k++)
        before[k] = cpu_of_rank(&s->ranks->end[k]);
    e = work(p, s->scene, s->m);
    t->wall = clock_now_s() - wall;
    t->cpu = cpu_s() - cpu;
    for (size_t k = 0; k < others; k++) {
        const double took = cpu_of_rank(&s->ranks->end[k]) - before[k];
        t->others += took;
        t->slowest = fmax(t->slowest, took);
    }
    return e;
}

static enum err open_ranks(const struct scale_ranks_server *s, const struct session *session)
{
    struct ranks_place *place CLEAN(memory_release) = NULL;
    uint8_t show[2][TRANSPORT_PASS_SIZE] = {{(uint8_t)s->number}};
    TRY(memory_new(&place, s->lanes));
    return ranks_open(
        s->ranks, &(const struct ranks_session){.session = session,
                                                .first = s->here,
                                                .lanes = s->lanes - s->here,
                                                .dial = {place, place},
                                                .show = (const uint8_t(*)[TRANSPORT_PASS_SIZE])show,
                                                .deadline_ms = 600000});
}

static enum err play_session(struct scale_ranks_server *s, struct session *session,
                             struct net **nets)
{
    struct party *party CLEAN(party_free) = NULL;
    struct crew *crew CLEAN(crew_free) = NULL;
    struct timed timed = {.times = &s->times};
    const struct crew_far far = {timed_topic, timed_give, timed_end, timed_sum, &timed};
    atomic_bool ended = false;
    for (size_t k = 0; k < s->here; k++)
        TRY(net_new(&nets[k], &(struct net_options){.transport = s->transport[k],
                                                    .session = session,
                                                    .lane = (uint32_t)k,
                                                    .ended = &ended,
                                                    .log = &cast_log}));
    if (s->ranks != NULL)
        TRY(open_ranks(s, session));
    timed.inner = ranks_far(s->ranks);
    TRY(party_new(&party, nets[0], session, 0, &cast_log));
    TRY(crew_new(&crew, party, nets, s->here, session));
    crew_extend(crew, 1, s->lanes, 1, timed.inner != NULL ? &far : NULL);
    return measure(s, party);
}

static void *serve(void *arg)
{
    struct scale_ranks_server *s = arg;
    struct session *session = NULL;
    struct net *nets[SESSION_LANES_MAX] = {NULL};
    s->result = session_for_test(&session, s->index, SEED);
    if (s->result == ERR_OK)
        s->result = play_session(s, session, nets);
    for (size_t k = 0; k < s->here; k++)
        net_free(&nets[k]);
    session_free(&session);
    ranks_close(s->ranks);
    return NULL;
}

/* --- three, and what came to one lane --------------------------------------------------------- */

static struct recording *record(const struct scale_ranks_server *s, size_t lane)
{
    struct transport *three[SESSION_LANES_MAX][STUDY_SERVERS_MOST] = {{NULL}}, kept;
    struct scale_ranks_server server[STUDY_SERVERS_MOST];
    pthread_t thread[STUDY_SERVERS_MOST];
    struct recording *r;
    cast_done(recording_new(&r), "memory");
    for (size_t k = 0; k < s->lanes; k++)
        cast_done(transport_memory_new(three[k], QUEUE), "memory");
    kept = recording_keep(r, three[lane][SERVER]);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        server[i] = *s;
        server[i].index = i;
        for (size_t k = 0; k < s->lanes; k++)
            server[i].transport[k] = k == lane && i == SERVER ? &kept : three[k][i];
        cast_must(pthread_create(&thread[i], NULL, serve, &server[i]) == 0, "a thread");
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        pthread_join(thread[i], NULL);
        cast_done(server[i].result, "recording");
    }
    for (size_t k = 0; k < s->lanes; k++)
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            transport_free(&three[k][i]);
    return r;
}

/* --- ranks: their one lane's link ------------------------------------------------------------- */

static struct recording *kept[MEASURES];
static struct transport own_link;

enum err __wrap_transport_zmq_new(struct transport **t, const struct transport_zmq_options *o);
enum err __wrap_transport_zmq_admit(struct transport *t,
                                    const uint8_t expect[2][TRANSPORT_PASS_SIZE]);
enum err __wrap_transport_zmq_aim(struct transport *t, const char *const dial[2]);
enum err __wrap_transport_zmq_dial(struct transport *t, const uint8_t show[2][TRANSPORT_PASS_SIZE]);
void __wrap_transport_zmq_close(struct transport *t);

enum err __wrap_transport_zmq_new(struct transport **t, const struct transport_zmq_options *o)
{
    (void)o;
    own_link = recording_play(kept[0]);
    *t = &own_link;
    return ERR_OK;
}

enum err __wrap_transport_zmq_admit(struct transport *t,
                                    const uint8_t expect[2][TRANSPORT_PASS_SIZE])
{
    (void)t;
    (void)expect;
    return ERR_OK;
}

enum err __wrap_transport_zmq_aim(struct transport *t, const char *const dial[2])
{
    (void)t;
    (void)dial;
    return ERR_OK;
}

/* What a rank shows its neighbours is the number of the measure. */
enum err __wrap_transport_zmq_dial(struct transport *t, const uint8_t show[2][TRANSPORT_PASS_SIZE])
{
    *t = recording_play(kept[show[0][0] % MEASURES]);
    return ERR_OK;
}

void __wrap_transport_zmq_close(struct transport *t)
{
    (void)t;
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

static void keep_best(struct scale_ranks_times *best, const struct scale_ranks_times *t)
{
    double *const to = &best->wall;
    const double *const from = &t->wall;
    for (size_t i = 0; i < sizeof *best / sizeof *to; i++)
        to[i] = to[i] == 0 || from[i] < to[i] ? from[i] : to[i];
}

static void play(struct scale_ranks_server s, struct recording *r, struct scale_ranks_times *best)
{
    struct transport played = recording_play(r);
    s.index = SERVER;
    s.here = 1;
    s.transport[0] = &played;
    serve(&s);
    cast_done(s.result, "playing");
    keep_best(best, &s.times);
}

static double outside(const struct scale_ranks_times *t)
{
    return t->cpu - t->lane;
}

static double path(const struct scale_ranks_times *t)
{
    return outside(t) + fmax(t->lane, t->slowest);
}

static double share(const struct scale_ranks_times *t)
{
    return outside(t) / (t->cpu + t->others);
}

/* The time to take a rank's masks off sums of so many words. */
static double unmask_s(double words)
{
    static const uint8_t key[16] = {1};
    uint64_t masks[512], sum = 0;
    struct prg *prg;
    const double at = cpu_s();
    cast_done(prg_new(&prg, key), "a stream");
    for (double done = 0; done < words; done += 512) {
        cast_done(prg_fill(prg, masks, sizeof masks), "masks");
        for (size_t i = 0; i < 512; i++)
            sum += masks[i];
    }
    prg_free(&prg);
    return sum != 0 ? cpu_s() - at : 0;
}

/*
 * Rank 0's share with so many ranks, from `t` with two. The work of all lanes stays the same, and
 * so does cutting and putting together. What passes to and from other ranks is (ranks - 1) / ranks
 * of all. Each further rank's masks have to be taken off the sums.
 */
static double predict(const struct scale_ranks_times *t, double ranks)
{
    const double passed = t->begin + t->end, fixed = outside(t) - passed;
    const double more = fixed + passed * 2 * (ranks - 1) / ranks + unmask_s(t->words) * (ranks - 2);
    return more / (t->cpu + t->others - outside(t) + more);
}

static void put(json_t *out, const char *key, const char *name, double figure)
{
    figures_put(figures_object(out, key), figure, "%s", name);
    printf("  %-8s %-20s %8.4f\n", name, key, figure);
}

static void report(json_t *out, const char *name, const struct scale_ranks_times *one,
                   const struct scale_ranks_times *all, unsigned ranks)
{
    char key[32];
    printf("%s, %u ranks: %.1f ms by the clock; rank 0 %.1f ms of CPU, of which its lane %.1f, to "
           "ranks %.2f, from them %.2f, sums %.2f; the others %.1f, the slowest %.1f\n",
           name, ranks, 1e3 * all->wall, 1e3 * all->cpu, 1e3 * all->lane, 1e3 * all->begin,
           1e3 * all->end, 1e3 * all->sum, 1e3 * all->others, 1e3 * all->slowest);
    snprintf(key, sizeof key, "rank0_share_%u", ranks);
    put(out, key, name, share(all));
    if (ranks != 2)
        return;
    printf("%s, 1 rank: %.1f ms by the clock, %.1f ms of CPU\n", name, 1e3 * one->wall,
           1e3 * one->cpu);
    put(out, "ranks_2_over_1", name, one->wall / all->wall);
    put(out, "ranks_2_over_1_cpu", name, one->cpu / path(all));
    put(out, "rank0_share_4_model", name, predict(all, 4));
    put(out, "rank0_share_8_of", name, predict(all, 8));
    if (!(predict(all, 8) < json_number_value(json_object_get(out, "rank0_share_8"))))
        figures_put(out, predict(all, 8), "rank0_share_8");
}

/* One rank against all of them, in turn; more than two share processors, so those run alone. */
static void lead(struct ranks *ranks, const struct measure *list, unsigned runs, json_t *out)
{
    const size_t lanes = ranks_lanes(ranks) + 1;
    const uint8_t expect[2][TRANSPORT_PASS_SIZE] = {{0}};
    cast_done(ranks_admit(ranks, SERVER, expect, 600000), "ranks");
    for (size_t i = 0; i < MEASURES; i++) {
        struct scale_ranks_scene scene;
        struct scale_ranks_server s = {
            .m = &list[i], .number = i, .scene = &scene, .here = 1, .lanes = 1};
        struct scale_ranks_times one = {0}, all = {0};
        struct recording *alone = NULL;
        scene_new(&scene, s.m);
        if (lanes == 2)
            alone = record(&s, 0);
        for (unsigned run = 0; run < runs; run++) {
            if (alone != NULL)
                play(s, alone, &one);
            play(
                (struct scale_ranks_server){
                    .m = s.m, .number = i, .scene = &scene, .lanes = lanes, .ranks = ranks},
                kept[i], &all);
        }
        report(out, s.m->name, &one, &all, (unsigned)lanes);
        recording_free(&alone);
        scene_free(&scene, s.m);
    }
}

static void record_own(const struct measure *list, size_t lane, size_t lanes)
{
    for (size_t i = 0; i < MEASURES; i++) {
        struct scale_ranks_scene scene;
        const struct scale_ranks_server s = {
            .m = &list[i], .number = i, .scene = &scene, .here = lanes, .lanes = lanes};
        scene_new(&scene, s.m);
        kept[i] = record(&s, lane);
        scene_free(&scene, s.m);
    }
}

int main(int argc, char **argv)
{
    char places[32 * RANKS_MOST] = "";
    struct figures f;
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    const unsigned count_of = size != NULL ? (unsigned)strtoul(size, NULL, 10) : 0;
    const struct measure *list;
    const struct ranks_options o = {.places = places, .lanes = 1, .log = &cast_log};
    struct ranks *ranks;
    figures_begin(&f, argc, argv, NULL, 0);
    if (count_of < 2 || count_of > RANKS_MOST) {
        fprintf(stderr, "usage: mpirun -n R %s --json FILE [--smoke]\n", argv[0]);
        return 2;
    }
    list = f.smoke ? smokes : measures;
    cast_begin();
    for (unsigned k = 1; k < count_of; k++)
        snprintf(places + strlen(places), sizeof places - strlen(places), "%s127.0.0.1:%u",
                 k > 1 ? "," : "", 7000 + 2 * k);
    cast_done(ranks_start(&ranks, &o), "ranks");
    record_own(list, (size_t)ranks->rank, count_of);
    if (ranks_is_first(ranks))
        lead(ranks, list, f.smoke ? 1 : RUNS, f.out);
    else
        cast_done(ranks_follow(ranks), "a rank");
    if (!ranks_is_first(ranks))
        f.path = NULL;
    ranks_stop(&ranks);
    for (size_t i = 0; i < MEASURES; i++)
        recording_free(&kept[i]);
    return figures_end(&f, false);
}
