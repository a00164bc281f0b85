/*
 * The links between the servers: three processes on loopback, sealed, each sending to its next
 * neighbour (a ring, as multiplications do) or to both. Printed as a table and, given --json FILE,
 * written as JSON. For comparison, from the same run: AES-128-GCM and AES-128-CTR of a frame on one
 * core, a memory copy, and the ring over bare ZeroMQ without our code, with frames that ZeroMQ
 * makes and frees.
 *
 * Then whole studies over networks that are slower than loopback (bench/support_studies.h), which
 * need root and the table Adult; --studies runs only these. --smoke: each link with little to send,
 * once, and studies of two rounds.
 *
 * Figures are medians of REPEATS runs. GB is 10^9 bytes of payload sent by the three together; CPU
 * is user and system time of all threads of the three, filling each payload (memset) included.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/support_studies.h"
#include "harness/netio.h"
#include "harness/session.h"
#include "netio/net.h"
#include "netio/seal.h"

#include <openssl/evp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zmq.h>

#define REPEATS 3
#define DEPTH 8
#define LIMIT_S 20 /* a child that takes longer is stuck */
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum net_kind { EXCHANGE, BOTH_WAYS, STREAM, BARE };

struct job {
    enum net_kind kind;
    size_t payload; /* of one server, one direction, one round */
    size_t tile;    /* of a stream; the frame of bare ZeroMQ */
    size_t rounds;
};

struct net_figure {
    double wall, cpu, system;
};

/* What the three processes share. */
struct net_board {
    _Atomic unsigned ready, finished;
    struct net_figure of[3];
    bool done[3];
};

struct net_seat {
    unsigned index;
    const struct job *job;
    struct net_board *board;
    char (*endpoint)[ENDPOINT_SIZE];
};

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "bench_net: %s failed\n", what);
    _exit(1);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static struct net_figure now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (struct net_figure){.wall = clock_now_s(),
                               .cpu = seconds(u.ru_utime) + seconds(u.ru_stime),
                               .system = seconds(u.ru_stime)};
}

static struct net_figure begin_together(struct net_board *board)
{
    atomic_fetch_add(&board->ready, 1);
    while (atomic_load(&board->ready) < 3)
        usleep(50);
    return now();
}

static void report(const struct net_seat *s, struct net_figure begin)
{
    struct net_figure end = now();
    s->board->of[s->index] = (struct net_figure){.wall = end.wall - begin.wall,
                                                 .cpu = end.cpu - begin.cpu,
                                                 .system = end.system - begin.system};
    s->board->done[s->index] = true;
    /* nobody closes links while another may still wait for what they hold */
    atomic_fetch_add(&s->board->finished, 1);
    while (atomic_load(&s->board->finished) < 3)
        usleep(50);
}

/* --- sealed ----------------------------------------------------------------------------------- */

static enum err fill(void *self, size_t offset, uint8_t *out, size_t n)
{
    (void)self;
    memset(out, (int)(offset >> 12), n);
    return ERR_OK;
}

static enum err look(void *self, size_t offset, const uint8_t *in, size_t n)
{
    uint8_t *last = self;
    (void)offset;
    *last ^= in[n - 1];
    return ERR_OK;
}

static enum err sealed_rounds(const struct job *job, struct net *net, uint8_t *buffer[4])
{
    uint8_t last = 0;
    struct net_flow flow = {.to = NET_NEXT,
                            .from = NET_PREV,
                            .send_size = job->payload,
                            .receive_size = job->payload,
                            .tile = job->tile,
                            .produce = fill,
                            .consume = look,
                            .self = &last};
    struct net_exchange round = {.send = {[NET_NEXT] = buffer[0]},
                                 .send_size = {[NET_NEXT] = job->payload},
                                 .receive = {[NET_PREV] = buffer[1]},
                                 .receive_size = {[NET_PREV] = job->payload}};
    if (job->kind == BOTH_WAYS) {
        round.send[NET_PREV] = buffer[2];
        round.receive[NET_NEXT] = buffer[3];
        round.send_size[NET_PREV] = round.receive_size[NET_NEXT] = job->payload;
    }
    for (size_t i = 0; i < job->rounds; i++) {
        if (job->kind == STREAM) {
            TRY(net_stream(net, &flow, 1));
        } else {
            memset(buffer[0], (int)i, job->payload);
            TRY(net_exchange(net, &round));
        }
    }
    return ERR_OK;
}

static void sit_sealed(const struct net_seat *s)
{
    struct log log = {.file = stderr, .level = LOG_ERROR};
    unsigned prev = net_index_of(s->index, NET_PREV), next = net_index_of(s->index, NET_NEXT);
    struct transport_zmq_options o = {
        .servers = 3,
        .index = s->index,
        .listen = {s->endpoint[2 * s->index + NET_PREV], s->endpoint[2 * s->index + NET_NEXT]},
        .dial = {s->endpoint[2 * prev + NET_NEXT], s->endpoint[2 * next + NET_PREV]},
        .max_message = 2 * MIB,
        .depth = DEPTH,
        .log = &log};
    struct net_options n = {.deadline_ms = 10000, .log = &log};
    struct session *session = NULL;
    uint8_t *buffer[4] = {NULL};
    struct net *net = NULL;
    struct job warm_up = {BOTH_WAYS, 16, 0, 20};
    struct net_figure begin;

    must(netio_new(&o.netio, &log) == ERR_OK, "starting ZeroMQ");
    must(transport_zmq_new(&n.transport, &o) == ERR_OK, "binding");
    must(session_for_test(&session, s->index, 1) == ERR_OK, "making a session");
    must(open_bare(n.transport, s->index) == ERR_OK, "dialling");
    n.session = session;
    must(net_new(&net, &n) == ERR_OK, "setting up the links");
    for (int i = 0; i < (s->job->kind == STREAM ? 0 : 4); i++) {
        buffer[i] = memory_words(s->job->payload, 1);
        must(buffer[i] != NULL, "allocating payloads");
    }
    if (s->job->kind != STREAM)
        must(s->job->payload < 16 || sealed_rounds(&warm_up, net, buffer) == ERR_OK, "warming up");
    begin = begin_together(s->board);
    must(sealed_rounds(s->job, net, buffer) == ERR_OK, "a round");
    report(s, begin);
    for (int i = 0; i < 4; i++)
        memory_free(&buffer[i]);
    net_free(&net);
    session_free(&session);
    transport_free(&n.transport);
    netio_free(&o.netio);
}

/* --- bare ZeroMQ ------------------------------------------------------------------------------ */

static void sit_bare(const struct net_seat *s)
{
    void *context = zmq_ctx_new(), *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    const int depth = DEPTH;
    size_t total = s->job->payload / s->job->tile, sent = 0, received = 0;
    zmq_msg_t out, in;
    bool made = false;
    struct net_figure begin;

    zmq_setsockopt(pull, ZMQ_RCVHWM, &depth, sizeof depth);
    zmq_setsockopt(push, ZMQ_SNDHWM, &depth, sizeof depth);
    must(zmq_bind(pull, s->endpoint[s->index]) == 0, "binding");
    must(zmq_connect(push, s->endpoint[net_index_of(s->index, NET_NEXT)]) == 0, "dialling");
    begin = begin_together(s->board);
    while (sent < total || received < total) {
        bool moved = false;
        if (sent < total && !made) {
            must(zmq_msg_init_size(&out, s->job->tile) == 0, "making a message");
            memset(zmq_msg_data(&out), (int)sent, s->job->tile);
            made = true;
        }
        if (made && zmq_msg_send(&out, push, ZMQ_DONTWAIT) >= 0) {
            made = false;
            moved = true;
            sent++;
        }
        zmq_msg_init(&in);
        if (zmq_msg_recv(&in, pull, ZMQ_DONTWAIT) >= 0) {
            moved = true;
            received++;
        }
        zmq_msg_close(&in);
        if (!moved) {
            zmq_pollitem_t item[2] = {{.socket = pull, .events = ZMQ_POLLIN},
                                      {.socket = push, .events = ZMQ_POLLOUT}};
            zmq_poll(item, sent < total ? 2 : 1, 1000);
        }
    }
    report(s, begin);
    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(context);
}

/* --- three processes -------------------------------------------------------------------------- */

static struct net_figure run_once(const struct job *job)
{
    char endpoint[6][ENDPOINT_SIZE];
    struct net_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct net_figure sum = {0};
    pid_t child[3];

    must(board != MAP_FAILED, "sharing memory");
    free_endpoints(endpoint, 6);
    fflush(NULL);
    for (unsigned i = 0; i < 3; i++) {
        struct net_seat s = {i, job, board, endpoint};
        child[i] = fork();
        must(child[i] >= 0, "forking");
        if (child[i] == 0) {
            alarm(LIMIT_S);
            if (job->kind == BARE)
                sit_bare(&s);
            else
                sit_sealed(&s);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        int status = 0;
        waitpid(child[i], &status, 0);
        if (status != 0) /* the others would wait for their alarm */
            for (unsigned j = i + 1; j < 3; j++)
                kill(child[j], SIGTERM);
    }
    for (unsigned i = 0; i < 3; i++) {
        must(board->done[i], "a server");
        sum.wall = sum.wall > board->of[i].wall ? sum.wall : board->of[i].wall;
        sum.cpu += board->of[i].cpu;
        sum.system += board->of[i].system;
    }
    munmap(board, sizeof *board);
    return sum;
}

static struct net_figure run(const struct job *job)
{
    double wall[REPEATS], cpu[REPEATS], system[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        struct net_figure f = run_once(job);
        wall[i] = f.wall, cpu[i] = f.cpu, system[i] = f.system;
    }
    return (struct net_figure){cpu_median(wall, REPEATS), cpu_median(cpu, REPEATS),
                               cpu_median(system, REPEATS)};
}

/* At most two tiles or rounds. */
static struct job smaller(const struct job *job)
{
    struct job j = *job;
    j.rounds = j.rounds > 2 ? 2 : j.rounds;
    if (j.payload > 2 * MIB)
        j.payload = 2 * MIB;
    return j;
}

/* --- one core --------------------------------------------------------------------------------- */

struct net_bench {
    struct seal *seal;
    EVP_CIPHER_CTX *ctr;
    uint8_t *a, *b;
    uint64_t sequence;
    size_t frame;
};

static void do_seal(struct net_bench *k)
{
    must(seal_frame(k->seal, k->sequence++, k->b, 80, k->a, k->frame, k->b) == ERR_OK, "sealing");
}

static void do_ctr(struct net_bench *k)
{
    int n;
    must(EVP_EncryptUpdate(k->ctr, k->b, &n, k->a, (int)k->frame) == 1, "AES-CTR");
}

static void do_copy(struct net_bench *k)
{
    memcpy(k->b, k->a, k->frame);
    __asm__ volatile("" : : "r"(k->b) : "memory");
}

/* GB/s of CPU time, the median of some short runs. */
static double core_speed(struct net_bench *k, double seconds, void (*f)(struct net_bench *))
{
    double v[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        double bytes = 0, begin;
        f(k);
        begin = now().cpu;
        while (now().cpu - begin < seconds)
            for (int i = 0; i < 32; i++, bytes += (double)k->frame)
                f(k);
        v[r] = bytes / (now().cpu - begin) / 1e9;
    }
    return cpu_median(v, REPEATS);
}

/* --- the report ------------------------------------------------------------------------------- */

static void row(struct figures *o, const char *name, const struct job *job)
{
    const struct job small = smaller(job);
    if (o->smoke)
        job = &small;
    struct net_figure f = o->smoke ? run_once(job) : run(job);
    double bytes = 3.0 * (double)job->payload * (double)job->rounds *
                   (job->kind == BOTH_WAYS ? 2 : 1);
    double us = f.wall / (double)job->rounds * 1e6;
    json_t *item;

    printf("%-22s %11zu %9zu %8.3f %9.1f %10.0f %8.3f %8.3f\n", name, job->payload, job->tile,
           bytes / f.wall / 1e9, us, 1e6 / us, f.cpu / bytes * 1e9, f.system / bytes * 1e9);
    item = figures_item(figures_list(o->out, "links"));
    json_object_set_new(item, "name", json_string(name));
    figures_put(item, (double)job->payload, "payload");
    figures_put(item, (double)job->tile, "tile");
    figures_put(item, bytes / f.wall / 1e9, "gb_per_s");
    figures_put(item, 1e6 / us, "rounds_per_s");
    figures_put(item, f.cpu / bytes * 1e9, "cpu_s_per_gb");
    figures_put(item, f.system / bytes * 1e9, "system_s_per_gb");
    figures_put(item, f.cpu / (double)job->rounds * 1e6, "cpu_us_per_round");
}

static void calibrate(struct figures *o, size_t frame)
{
    static const uint8_t key[16] = {1};
    struct net_bench k = {
        .frame = frame, .a = memory_words(frame, 1), .b = memory_words(frame + 16, 1)};
    const double seconds = o->smoke ? 0.001 : 0.1;
    double gcm, ctr, copy;
    json_t *item;

    k.ctr = EVP_CIPHER_CTX_new();
    must(k.a != NULL && k.b != NULL && k.ctr != NULL &&
             seal_new(&k.seal, SEAL_SENDER, key, 0) == ERR_OK &&
             EVP_EncryptInit_ex(k.ctr, EVP_aes_128_ctr(), NULL, key, key) == 1,
         "setting up ciphers");
    gcm = core_speed(&k, seconds, do_seal);
    ctr = core_speed(&k, seconds, do_ctr);
    copy = core_speed(&k, seconds, do_copy);
    printf("one core, %7zu B: AES-128-GCM %.2f GB/s, AES-128-CTR %.2f GB/s, memcpy %.2f GB/s\n",
           frame, gcm, ctr, copy);
    item = figures_item(figures_list(o->out, "one_core"));
    figures_put(item, (double)frame, "frame");
    figures_put(item, gcm, "aes_gcm_gb_per_s");
    figures_put(item, ctr, "aes_ctr_gb_per_s");
    figures_put(item, copy, "memcpy_gb_per_s");
    EVP_CIPHER_CTX_free(k.ctr);
    seal_free(&k.seal);
    memory_free_all(&k.a, &k.b);
}

static void ring_rows(struct figures *o)
{
    static const struct job exchange[] = {
        {EXCHANGE, 16, 0, 4000},       {EXCHANGE, 256, 0, 4000}, {EXCHANGE, 4 * KIB, 0, 4000},
        {EXCHANGE, 64 * KIB, 0, 1000}, {EXCHANGE, MIB, 0, 200},  {EXCHANGE, 16 * MIB, 0, 12},
        {EXCHANGE, 256 * MIB, 0, 1},
    };
    for (size_t i = 0; i < sizeof exchange / sizeof *exchange; i++)
        row(o, "exchange, ring", &exchange[i]);
    row(o, "exchange, both ways", &(struct job){BOTH_WAYS, 16, 0, 2000});
    row(o, "exchange, both ways", &(struct job){BOTH_WAYS, 4 * KIB, 0, 2000});
    for (size_t tile = 64 * KIB; tile <= MIB; tile *= 2)
        row(o, "stream, ring", &(struct job){STREAM, 256 * MIB, tile, 1});
    row(o, "stream, ring", &(struct job){STREAM, 4 * MIB, 128 * KIB, 48});
    for (size_t tile = 64 * KIB; tile <= MIB; tile *= 4)
        row(o, "bare ZeroMQ, ring", &(struct job){BARE, 256 * MIB, tile, 1});
}

static void measure_links(struct figures *o)
{
    for (size_t frame = 64 * KIB; frame <= MIB; frame *= 4)
        calibrate(o, frame);
    printf("\n%-22s %11s %9s %8s %9s %10s %8s %8s\n", "three processes", "payload B", "tile B",
           "GB/s", "us/round", "rounds/s", "CPU s/GB", "system");
    ring_rows(o);
}

int main(int argc, char **argv)
{
    struct figures f;
    bool only_studies = false;
    const struct figures_option options[] = {{.name = "studies", .flag = &only_studies}};
    figures_begin(&f, argc, argv, options, 1);
    if (!only_studies)
        measure_links(&f);
    return figures_end(&f, studies_run(f.out, f.smoke) != 0);
}
