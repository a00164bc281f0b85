/*
 * netio/: streamed rounds, lanes, bounded memory, and what happens when a server stops: over
 * in-process queues and over ZeroMQ, as threads and as processes. Threads and processes collect
 * results; the main thread asserts.
 */
#include "harness/cmocka.h"

#include "harness/netio.h"
#include "harness/patience.h"
#include "harness/session.h"
#include "harness/transport.h"
#include "netio/net_private.h"
#include "netio/pool.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define TILE ((size_t)4096)

/* --- a party that streams --------------------------------------------------------------------- */

enum stream_shape { RING, COUNTER_RING, BOTH };

struct stream_plan {
    enum stream_shape shape;
    size_t rounds, tile;
    size_t (*size)(size_t round, unsigned from, enum net_peer to);
    int64_t deadline_ms; /* 0: longer than any test should need */
};

struct stream_party {
    unsigned index;
    uint32_t lane;
    uint64_t seed;
    struct transport *transport;
    const struct stream_plan *plan;
    size_t tile;         /* instead of the plan's */
    bool whole;          /* net_exchange() instead of net_stream() */
    size_t fail_at;      /* the tile, counted from 1, at which a callback fails; 0: never */
    bool fail_consuming; /* and which callback */
    int64_t pause_ms;    /* each callback computes until the next tile is here, and then so long */
    size_t stop_at;      /* the round, counted from 1, before which it leaves; 0: never */
    /* results */
    enum err e;
    bool intact;
    uint64_t rounds, strangers;
    struct net_counters total;
    char sink[2048];
};

/* One direction: what should arrive, and how far it is. */
struct pipe {
    struct stream_party *party;
    uint8_t *out, *in;
    size_t send_size, receive_size, tile, sent, received, calls;
};

static bool is_tile(const struct pipe *s, size_t offset, size_t n, size_t size)
{
    return n == (size - offset < s->tile ? size - offset : s->tile);
}

static void compute(const struct pipe *s, size_t received)
{
    struct stream_party *p = s->party;
    if (p->pause_ms == 0)
        return;
    if (received < s->receive_size &&
        transport_wait(p->transport, 1u << NET_PREV, 0, support_end_ms(10)) != ERR_OK)
        p->intact = false;
    support_pause_ms(p->pause_ms);
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct pipe *s = self;
    if (offset != s->sent || !is_tile(s, offset, n, s->send_size) || (uintptr_t)out % 64 != 0)
        s->party->intact = false;
    compute(s, s->received);
    if (++s->calls == s->party->fail_at && !s->party->fail_consuming)
        return ERR_DATA;
    memcpy(out, s->out + offset, n);
    s->sent += n;
    return ERR_OK;
}

static enum err consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct pipe *s = self;
    if (offset != s->received || !is_tile(s, offset, n, s->receive_size) || (uintptr_t)in % 64 != 0)
        s->party->intact = false;
    compute(s, s->received + n);
    if (s->party->fail_consuming && offset / s->tile + 1 == s->party->fail_at)
        return ERR_DATA;
    memcpy(s->in + offset, in, n);
    s->received += n;
    return ERR_OK;
}

static uint64_t tag_of(size_t round, unsigned from, unsigned to)
{
    return round * 16 + from * 4 + to + 1;
}

static enum err one_round(struct stream_party *p, struct net *net, size_t round)
{
    const struct stream_plan *plan = p->plan;
    size_t first = plan->shape == COUNTER_RING ? 1 : 0, count = plan->shape == BOTH ? 2 : 1;
    struct net_flow flow[2];
    struct pipe pipe[2];
    struct net_exchange r = {0};
    for (size_t k = 0; k < count; k++) {
        enum net_peer to = k + first == 0 ? NET_NEXT : NET_PREV;
        enum net_peer from = to == NET_NEXT ? NET_PREV : NET_NEXT;
        struct pipe *s = &pipe[k];
        *s = (struct pipe){.party = p, .tile = p->tile > 0 ? p->tile : plan->tile};
        s->send_size = plan->size(round, p->index, to);
        s->receive_size = plan->size(round, net_index_of(p->index, from), to);
        s->out = malloc(s->send_size + 1);
        s->in = calloc(1, s->receive_size + 1);
        if (s->out == NULL || s->in == NULL)
            abort();
        pattern_fill(s->out, s->send_size, tag_of(round, p->index, net_index_of(p->index, to)));
        flow[k] = (struct net_flow){.to = to,
                                    .from = from,
                                    .send_size = s->send_size,
                                    .receive_size = s->receive_size,
                                    .tile = s->tile,
                                    .produce = produce,
                                    .consume = consume,
                                    .self = s};
        r.send[to] = s->out, r.send_size[to] = s->send_size;
        r.receive[from] = s->in, r.receive_size[from] = s->receive_size;
    }
    enum err e = p->whole ? net_exchange(net, &r) : net_stream(net, flow, count);
    for (size_t k = 0; k < count; k++) {
        struct pipe *s = &pipe[k];
        unsigned other = net_index_of(p->index, flow[k].from);
        if (e == ERR_OK && !p->whole && (s->sent != s->send_size || s->received != s->receive_size))
            p->intact = false;
        if (e == ERR_OK && !pattern_holds(s->in, s->receive_size, tag_of(round, other, p->index)))
            p->intact = false;
        free(s->out);
        free(s->in);
    }
    return e;
}

static void *run_party(void *argument)
{
    struct stream_party *p = argument;
    struct log log = {.buffer = p->sink, .buffer_size = sizeof p->sink, .level = LOG_WARN};
    struct session *session = NULL;
    struct net *net CLEAN(net_free) = NULL;
    p->intact = true;
    p->e = session_for_test(&session, p->index, p->seed);
    if (p->e == ERR_OK)
        p->e = net_new(&net, &(struct net_options){.transport = p->transport,
                                                   .session = session,
                                                   .lane = p->lane,
                                                   .deadline_ms = p->plan->deadline_ms > 0
                                                                      ? p->plan->deadline_ms
                                                                      : support_patience_ms(10),
                                                   .log = &log});
    session_free(&session);
    for (size_t r = 0; p->e == ERR_OK && r < p->plan->rounds && r + 1 != p->stop_at; r++)
        p->e = one_round(p, net, r);
    if (net != NULL) {
        p->rounds = net_exchanges(net);
        p->strangers = net->strangers;
        p->total = net_total(net);
    }
    return NULL;
}

static void start(struct stream_party p[3], struct transport *t[3], const struct stream_plan *plan)
{
    memset(p, 0, 3 * sizeof *p);
    for (unsigned i = 0; i < 3; i++)
        p[i] = (struct stream_party){.index = i, .transport = t[i], .plan = plan, .seed = 21};
}

static void expect_fine(const struct stream_party p[3], const struct stream_plan *plan)
{
    for (unsigned i = 0; i < 3; i++) {
        if (p[i].e != ERR_OK)
            fail_msg("server %u: %s\n%s", p[i].index, error_text(p[i].e), p[i].sink);
        assert_true(p[i].intact);
        assert_int_equal(p[i].rounds, plan->rounds);
    }
}

/* --- a server stops --------------------------------------------------------------------------- */

static size_t hundred(size_t round, unsigned from, enum net_peer to)
{
    return 100;
}

static const struct stream_plan six_rounds = {BOTH, 6, TILE, hundred, 0};

static void expect_end(const struct stream_party *p)
{
    assert_true(p->e == ERR_TIMEOUT || p->e == ERR_PEER);
}

/* Server 2 stalls: its queues fill with frames that no session will want. */
/* What three processes share. */
struct stream_board {
    _Atomic unsigned over; /* servers that have seen the end of the first session */
    struct stream_party party[2][3];
};

static void serve(unsigned index, char (*endpoint)[ENDPOINT_SIZE], struct stream_board *board,
                  size_t stop_at, bool again)
{
    unsigned prev = net_index_of(index, NET_PREV), next = net_index_of(index, NET_NEXT);
    struct transport_zmq_options o = {
        .servers = 3,
        .index = index,
        .listen = {endpoint[2 * index + NET_PREV], endpoint[2 * index + NET_NEXT]},
        .dial = {endpoint[2 * prev + NET_NEXT], endpoint[2 * next + NET_PREV]},
        .max_message = 2 * MIB,
        .depth = 4};
    struct transport *t = NULL;
    alarm((unsigned)(support_patience_ms(30) / 1000));
    if (netio_new(&o.netio, NULL) != ERR_OK || transport_zmq_new(&t, &o) != ERR_OK ||
        open_bare(t, index) != ERR_OK)
        _exit(1);
    for (int session = again ? 1 : 0; session < 2; session++) {
        struct stream_party *p = &board->party[session][index];
        p->transport = t;
        if (session == 0)
            p->stop_at = stop_at;
        (void)run_party(p);
        if (session == 0 && stop_at > 0)
            raise(SIGKILL); /* nothing is closed, nothing is sent */
        if (session == 0)
            atomic_fetch_add(&board->over, 1);
    }
    transport_free(&t);
    netio_free(&o.netio);
    _exit(0);
}

static pid_t start_process(unsigned index, char (*endpoint)[ENDPOINT_SIZE],
                           struct stream_board *board, size_t stop_at, bool again)
{
    pid_t child = fork();
    if (child == 0)
        serve(index, endpoint, board, stop_at, again);
    assert_true(child > 0);
    return child;
}

/* It forks, so it runs before any test starts a thread. */
TEST(a_killed_process_is_noticed_and_replaced)
{
    struct stream_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct stream_plan hasty = {BOTH, 6, TILE, hundred, support_patience_ms(0.04)};
    assert_true(board != MAP_FAILED);
    for (size_t k = 0; k < 6; k += k < 2 ? 1 : 3) {
        char endpoint[6][ENDPOINT_SIZE];
        double end = support_deadline(10);
        pid_t child[3];
        int status;

        free_endpoints(endpoint, 6);
        memset(board, 0, sizeof *board);
        for (int s = 0; s < 2; s++)
            for (unsigned i = 0; i < 3; i++)
                board->party[s][i] = (struct stream_party){
                    .index = i, .seed = 31 + (uint64_t)s, .plan = s == 0 ? &hasty : &six_rounds};
        for (unsigned i = 0; i < 3; i++)
            child[i] = start_process(i, endpoint, board, i == 2 ? k + 1 : 0, false);
        assert_int_equal(waitpid(child[2], &status, 0), child[2]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        /* like the handshake: the next session begins when the last one has ended */
        while (atomic_load(&board->over) < 2)
            assert_true(support_again(end));
        child[2] = start_process(2, endpoint, board, 0, true);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(waitpid(child[i], &status, 0), child[i]);
            assert_int_equal(status, 0);
        }
        expect_end(&board->party[0][0]);
        expect_end(&board->party[0][1]);
        expect_fine(board->party[1], &six_rounds);
    }
    munmap(board, sizeof *board);
}

/* False if the others' patience ended before server 2 stalled in round k, on a busy machine. */
static bool stall(struct netio *netio, size_t k, int64_t patience_ms)
{
    const struct stream_plan plan = {BOTH, 6, TILE, hundred, patience_ms};
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct stream_party p[3];
    OK(three_zmq(t, netio, 4, NULL, NULL, &log));
    start(p, t, &plan);
    p[2].stop_at = k + 1;
    run_three(run_party, p, sizeof *p);
    expect_end(&p[0]);
    expect_end(&p[1]);
    bool in_time = p[0].rounds == k && p[1].rounds == k;
    start(p, t, &six_rounds);
    for (unsigned i = 0; i < 3; i++)
        p[i].seed = 22;
    run_three(run_party, p, sizeof *p);
    expect_fine(p, &six_rounds);
    /*
     * the data of round k and the ABORT of both; but 2 may have held data of a neighbour that was
     * ahead of it. 0 and 1 also told each other, and may have heard it in time.
     */
    if (in_time) {
        assert_in_range(p[2].strangers, k == 0 ? 4 : 2, 4);
        assert_true(p[0].strangers + p[1].strangers <= 2);
    }
    return in_time;
}

TEST(a_new_session_follows_a_stalled_one)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    int64_t patience = 100;
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &log);
    for (size_t k = 0; k < 6; k += k < 2 ? 1 : 3)
        for (; !stall(netio, k, patience); patience *= 2)
            assert_true(patience < support_patience_ms(10));
}

/* --- streams ---------------------------------------------------------------------------------- */

static const size_t sizes[] = {0, 1, 63, 64, 65, TILE - 1, TILE, TILE + 1, 5 * TILE, 50 * TILE + 7};
#define SIZES (sizeof sizes / sizeof *sizes)

static size_t varied(size_t round, unsigned from, enum net_peer to)
{
    return sizes[(round + 3 * from + 7 * (size_t)to) % SIZES];
}

TEST(streams_of_all_sizes_go_through_one_slot)
{
    struct stream_party p[3];
    for (enum stream_shape shape = RING; shape <= BOTH; shape++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        struct stream_plan plan = {shape, SIZES, TILE, varied, 0};
        OK(transport_memory_new(t, 1));
        start(p, t, &plan);
        run_three(run_party, p, sizeof *p);
        expect_fine(p, &plan);
        for (unsigned i = 0; i < 3 && shape == RING; i++) {
            uint64_t bytes = 0, frames = 0;
            for (size_t r = 0; r < SIZES; r++) {
                bytes += varied(r, i, NET_NEXT);
                frames += (varied(r, i, NET_NEXT) + TILE - 1) / TILE;
            }
            assert_int_equal(p[i].total.payload_sent, bytes);
            assert_int_equal(p[i].total.frames_sent, frames);
            assert_int_equal(p[i].total.wire_sent, bytes + frames * NET_FRAME_OVERHEAD);
        }
    }
}

static size_t big(size_t round, unsigned from, enum net_peer to)
{
    return 3 * MIB + 17 * round + from;
}

TEST(streams_go_over_zeromq)
{
    static const size_t tiles[] = {16 << 10, 100016, 256 << 10, MIB};
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct stream_party p[3];
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &log);
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        struct stream_plan plan = {BOTH, 3, tiles[i], big, 0};
        OK(three_zmq(t, netio, i == 0 ? 1 : 4, NULL, NULL, &log));
        start(p, t, &plan);
        run_three(run_party, p, sizeof *p);
        expect_fine(p, &plan);
    }
}

/* The same bytes on the wire, whichever function sent them. */
TEST(a_stream_meets_an_exchange)
{
    static const struct stream_plan plan = {BOTH, 3, NET_FRAME_BODY, big, 0};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct stream_party p[3];
    OK(transport_memory_new(t, 2));
    start(p, t, &plan);
    p[1].whole = true;
    run_three(run_party, p, sizeof *p);
    expect_fine(p, &plan);
}

TEST(other_tiles_are_a_mismatch)
{
    static const struct stream_plan plan = {RING, 2, TILE, big, 0};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct stream_party p[3];
    OK(transport_memory_new(t, 4));
    start(p, t, &plan);
    p[0].tile = 2 * TILE;
    run_three(run_party, p, sizeof *p);
    /* 0 sends to 1 and receives from 2: either end may see it first */
    assert_true(p[0].e == ERR_MISMATCH || p[1].e == ERR_MISMATCH);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(p[i].e == ERR_MISMATCH || p[i].e == ERR_PEER);
        assert_true(p[i].e == ERR_PEER || strstr(p[i].sink, "tiles of") != NULL);
    }
}

TEST(a_callback_that_fails_ends_the_session)
{
    static const struct stream_plan plan = {RING, 2, TILE, big, 0};
    struct stream_party p[3];
    for (int consuming = 0; consuming < 2; consuming++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        OK(transport_memory_new(t, 4));
        start(p, t, &plan);
        p[1].fail_at = 40;
        p[1].fail_consuming = consuming;
        run_three(run_party, p, sizeof *p);
        assert_int_equal(p[0].e, ERR_PEER);
        assert_int_equal(p[1].e, ERR_DATA);
        assert_int_equal(p[2].e, ERR_PEER);
    }
}

/*
 * A server that computes for longer than its deadline must not think that its neighbours were
 * silent: what they sent has come meanwhile.
 */
static size_t few_tiles(size_t round, unsigned from, enum net_peer to)
{
    return 2 * TILE;
}

TEST(computing_is_not_silence)
{
    static const struct stream_plan plan = {RING, 1, TILE, few_tiles, 0};
    static const struct stream_plan hasty = {RING, 1, TILE, few_tiles, 60};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct stream_party p[3];
    OK(transport_memory_new(t, 8));
    start(p, t, &plan);
    p[1].plan = &hasty;
    p[1].pause_ms = 100;
    run_three(run_party, p, sizeof *p);
    expect_fine(p, &plan);
}

TEST(wrong_flows_are_refused)
{
    static const struct {
        struct net_flow flow[3];
        size_t count;
        enum err e;
    } wrong[] = {
        {{{0}}, 3, ERR_MISUSE},
        {{{.to = NET_NEXT, .from = NET_PREV}, {.to = NET_NEXT, .from = NET_NEXT}}, 2, ERR_MISUSE},
        {{{.to = NET_NEXT, .from = NET_PREV}, {.to = NET_PREV, .from = NET_PREV}}, 2, ERR_MISUSE},
        {{{.to = NET_NEXT, .from = NET_PREV}, {.to = NET_PREV, .from = NET_NEXT, .tile = MIB + 1}},
         2,
         ERR_RANGE},
    };
    struct net *net;
    struct session *session CLEAN(session_free) = MADE(session, session_for_test, 0, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        OK(transport_memory_new(t, 4));
        OK(net_new(&net, &(struct net_options){.transport = t[0], .session = session}));
        OK(net_stream(net, NULL, 0)); /* a round that moves nothing */
        assert_int_equal(net_exchanges(net), 1);
        assert_int_equal(net_stream(net, wrong[i].flow, wrong[i].count), wrong[i].e);
        assert_int_equal(net_stream(net, NULL, 0), ERR_MISUSE);
        net_free(&net);
    }
}

/* --- lanes ------------------------------------------------------------------------------------ */

#define LANES 3

static void run_lanes(struct transport *t[LANES][3])
{
    struct stream_plan plan[LANES];
    struct stream_party p[LANES][3];
    pthread_t thread[LANES][3];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        plan[lane] = (struct stream_plan){lane == 2 ? BOTH : RING, 12, TILE << lane, varied, 0};
        start(p[lane], t[lane], &plan[lane]);
        for (unsigned i = 0; i < 3; i++)
            p[lane][i].lane = lane;
    }
    for (size_t k = 0; k < LANES * 3; k++)
        assert_int_equal(pthread_create(&thread[k / 3][k % 3], NULL, run_party, &p[k / 3][k % 3]),
                         0);
    for (size_t k = 0; k < LANES * 3; k++)
        pthread_join(thread[k / 3][k % 3], NULL);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        expect_fine(p[lane], &plan[lane]);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(p[lane][i].strangers, 0);
        links_free(&t[lane]);
    }
}

TEST(lanes_run_side_by_side)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct transport *t[LANES][3];
    for (int lane = 0; lane < LANES; lane++)
        OK(transport_memory_new(t[lane], 2));
    run_lanes(t);
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &log);
    for (int lane = 0; lane < LANES; lane++)
        OK(three_zmq(t[lane], netio, 2, NULL, NULL, &log));
    run_lanes(t);
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t resident(void)
{
    unsigned long all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%lu %lu", &all, &pages) != 2)
        abort();
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

struct flood {
    unsigned index;
    struct transport *transport;
    size_t most;
    enum err e;
};

static enum err pour(void *self, size_t offset, uint8_t *out, size_t n)
{
    memset(out, (int)(offset >> 20), n);
    return ERR_OK;
}

static enum err drink(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct flood *f = self;
    size_t now = offset % (4 * MIB) == 0 ? resident() : 0;
    f->most = now > f->most ? now : f->most;
    return in[0] == (uint8_t)(offset >> 20) && in[n - 1] == in[0] ? ERR_OK : ERR_DATA;
}

static void *run_flood(void *argument)
{
    struct flood *f = argument;
    struct net_flow flow = {.to = NET_NEXT,
                            .from = NET_PREV,
                            .send_size = 256 * MIB,
                            .receive_size = 256 * MIB,
                            .produce = pour,
                            .consume = drink,
                            .self = f};
    struct session *session CLEAN(session_free) = NULL;
    struct net *net CLEAN(net_free) = NULL;
    f->e = session_for_test(&session, f->index, 3);
    if (f->e == ERR_OK)
        f->e = net_new(&net, &(struct net_options){.transport = f->transport, .session = session});
    if (f->e == ERR_OK)
        f->e = net_stream(net, &flow, 1);
    return NULL;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* All three in one process: three links, each with a queue at both ends, of 8 tiles of 256 KiB. */
TEST(a_long_stream_takes_little_memory)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct netio *netio CLEAN(netio_free) = NULL;
    struct transport *t[3] CLEAN(links_free) = {0};
    struct flood f[3];
    OK(netio_new(&netio, &log));
    OK(three_zmq(t, netio, 8, NULL, NULL, &log));
    size_t before = resident();
    for (unsigned i = 0; i < 3; i++)
        f[i] = (struct flood){.index = i, .transport = t[i]};
    run_three(run_flood, f, sizeof *f);
    for (unsigned i = 0; i < 3; i++) {
        OK(f[i].e);
        assert_true(f[i].most > 0);
        assert_true(IS_SANITIZED || f[i].most < before + 40 * MIB);
    }
}

TEST(pools_circulate_and_are_bounded)
{
    struct pool *pool CLEAN(pool_close) = pool_new(2);
    void *a = pool_get(pool, 100), *b = pool_get(pool, 50), *c = pool_get(pool, 70), *d;
    assert_non_null(a);
    assert_true((uintptr_t)a % 64 == 0 && b != NULL && c != NULL);
    pool_put(a);
    pool_put(b);
    assert_ptr_equal(pool_get(pool, 50), b); /* the last one returned */
    pool_put(b);
    assert_ptr_equal(pool_get(pool, 60), a); /* the last one that is large enough */
    pool_put(c);
    pool_put(a); /* b, the oldest, makes room */
    assert_ptr_equal(pool_get(pool, 80), a);
    d = pool_get(pool, 65);
    assert_ptr_equal(d, c);
    assert_null(pool_get(pool, SIZE_MAX));
    assert_null(pool_get(pool, SIZE_MAX - 64)); /* more than there is, but its head would fit */
    pool_close(&pool);
    assert_null(pool);
    pool_put(a); /* after its owner has gone, as libzmq's thread may */
    pool_put(d);
    pool = pool_new(0); /* keeps none */
    pool_put(pool_get(pool, 100));
}

/* --- a word in time --------------------------------------------------------------------------- */

enum conduct { GIVES_UP_AT_ONCE, RUNS_AHEAD, GIVES_UP_LATER };

/*
 * Round 0: 2 sends to 1, and is late or silent. Round 1: 0 sends to 1. So 0 is in round 1 at once,
 * while 1 waits for 2.
 */
struct actor {
    unsigned index;
    enum conduct conduct;
    struct transport *transport;
    enum err e[2];
    uint8_t got[2];
};

static void *act(void *argument)
{
    struct actor *a = argument;
    struct session *session CLEAN(session_free) = NULL;
    struct net *net CLEAN(net_free) = NULL;
    uint8_t word = (uint8_t)(10 + a->index);
    struct net_exchange r[2];
    if (session_for_test(&session, a->index, 5) != ERR_OK ||
        net_new(&net, &(struct net_options){.transport = a->transport,
                                            .session = session,
                                            .deadline_ms = support_patience_ms(60)}) != ERR_OK)
        abort();
    memset(r, 0, sizeof r);
    r[0].send[NET_PREV] = r[1].send[NET_NEXT] = &word;
    r[0].receive[NET_NEXT] = &a->got[0];
    r[1].receive[NET_PREV] = &a->got[1];
    r[0].send_size[NET_PREV] = a->index == 2;
    r[0].receive_size[NET_NEXT] = a->index == 1;
    r[1].send_size[NET_NEXT] = a->index == 0;
    r[1].receive_size[NET_PREV] = a->index == 1;
    if (a->index == 0 && a->conduct == GIVES_UP_AT_ONCE) {
        net_abort(net);
    } else if (a->index != 2 || a->conduct != GIVES_UP_AT_ONCE) { /* then 2 is silent for ever */
        support_pause_ms(a->index == 2 ? 200 : 0);
        a->e[0] = net_exchange(net, &r[0]);
        if (a->index == 0 && a->conduct == GIVES_UP_LATER)
            net_abort(net);
        else if (a->e[0] == ERR_OK)
            a->e[1] = net_exchange(net, &r[1]);
    }
    return NULL;
}

TEST(an_abort_is_heard_beside_a_silent_neighbour)
{
    struct actor a[3];
    for (enum conduct c = GIVES_UP_AT_ONCE; c <= GIVES_UP_LATER; c++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        OK(transport_memory_new(t, 4));
        memset(a, 0, sizeof a);
        for (unsigned i = 0; i < 3; i++)
            a[i] = (struct actor){.index = i, .conduct = c, .transport = t[i]};
        run_three(act, a, sizeof *a);
        assert_int_equal(a[1].e[0], c == GIVES_UP_AT_ONCE ? ERR_PEER : ERR_OK);
        if (c != GIVES_UP_AT_ONCE) /* the round that can be finished is */
            assert_int_equal(a[1].got[0], 12);
        if (c == RUNS_AHEAD) { /* and what arrived early is read when its turn comes */
            OK(a[1].e[1]);
            assert_int_equal(a[1].got[1], 10);
        }
        if (c == GIVES_UP_LATER)
            assert_int_equal(a[1].e[1], ERR_PEER);
    }
}
