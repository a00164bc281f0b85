/* mpc/move/crew.h: many lanes compute what one does, at any speed; one that fails ends all. */
#include "harness/cmocka.h"

#include "base/thread.h"
#include "harness/patience.h"
#include "harness/session.h"
#include "harness/three.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/move/open.h"
#include "tests/support/withhold.h"

#include <malloc.h>

#define N 6000
#define TILE 1024
#define TILES ((N + TILE - 1) / TILE)

/* What the servers share, and what each may do differently. */
struct crew_bench {
    uint64_t x[N], y[N], product[3][2][N], opened[3][N];
    size_t lane_of[3][TILES], order[3][TILES];
    unsigned slow;         /* whether lanes are slow, each server in its own way */
    size_t tiles;          /* of work whose results are dropped; 0: the product */
    size_t fail_at;        /* tile at which server 1 fails */
    atomic_size_t done[3]; /* tiles */
    enum err (*odd)(struct party *lane, size_t tile); /* instead of failing */
};

struct crew_seat {
    struct crew_bench *b;
    unsigned index;
    struct share64 x, y, z;
};

/* Server i's lane k waits now and then: one server's slow lane is another's fast one. */
static void dawdle(const struct party *p, size_t tile)
{
    if ((p->index + p->lane + tile) % 3 == 0)
        support_pause_ms(3);
}

static enum err multiply(void *self, struct party *lane, size_t tile)
{
    struct crew_seat *s = self;
    const size_t from = tile * TILE, n = N - from < TILE ? N - from : TILE;
    if (s->b->slow)
        dawdle(lane, tile);
    s->b->lane_of[s->index][tile] = lane->lane;
    s->b->order[s->index][tile] = net_exchanges(lane->net);
    return ring64_multiply(lane, share64_view(s->z, from, n), share64_view(s->x, from, n),
                           share64_view(s->y, from, n));
}

static void seat_free(struct crew_seat *s)
{
    share64_free(&s->x);
    share64_free(&s->y);
    share64_free(&s->z);
}

static enum err product_job(struct party *p, void *shared)
{
    struct crew_bench *b = shared;
    struct crew_seat s CLEAN(seat_free) = {b, p->index, {0}, {0}, {0}};
    TRY(three_share64(p, &s.x, b->x, N, 1));
    TRY(three_share64(p, &s.y, b->y, N, 2));
    TRY(share64_new(&s.z, N));
    TRY(crew_run(p, TILES, multiply, &s));
    memcpy(b->product[p->index][0], s.z.a, sizeof b->x);
    memcpy(b->product[p->index][1], s.z.b, sizeof b->x);
    return open_ring64(p, OPEN_NOISY_MARGINAL, s.z, b->opened[p->index]);
}

static struct crew_bench *bench_new(void)
{
    struct crew_bench *b = memory_array(1, sizeof *b);
    uint64_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        b->x[i] = three_random(&seed);
        b->y[i] = three_random(&seed);
    }
    return b;
}

static void expect_product(const struct crew_bench *b, size_t lanes)
{
    for (unsigned s = 0; s < 3; s++) {
        assert_memory_equal(b->product[s][1], b->product[(s + 1) % 3][0], sizeof b->x);
        for (size_t i = 0; i < N; i++)
            assert_true(b->opened[s][i] == b->x[i] * b->y[i]);
        for (size_t t = 0; t < TILES; t++) {
            assert_int_equal(b->lane_of[s][t], t % lanes);
            assert_int_equal(b->order[s][t], t / lanes);
        }
    }
}

/* Bytes are the same; rounds are those of the lane with most; masks are each lane's own. */
TEST(many_lanes_do_what_one_does)
{
    static const size_t lanes[] = {1, 2, 3, 5, TILES + 3};
    struct crew_bench *b CLEAN(memory_release) = bench_new(),
                         *one CLEAN(memory_release) = bench_new();
    struct three_costs cost;
    for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++) {
        const size_t used = lanes[k] < TILES ? lanes[k] : TILES;
        OK(three_run_lanes(5, lanes[k], 64, product_job, b, &cost, NULL));
        expect_product(b, used);
        assert_int_equal(cost.rounds, (TILES + used - 1) / used + 1);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(cost.sent[s], 2 * N * 8);
        assert_int_equal(cost.opened_calls[OPEN_NOISY_MARGINAL], 1);
        if (k == 0)
            memcpy(one, b, sizeof *b);
        else /* the first tile is lane 0's in any case, the second lane 1's */
            for (size_t t = 0; t < 2; t++)
                assert_int_equal(
                    memcmp(b->product[0][0] + t * TILE, one->product[0][0] + t * TILE, TILE) == 0,
                    t == 0);
    }
}

/* With queues of one message, and no two servers with slow lanes in the same order. */
TEST(lanes_of_opposite_speed_do_not_wait_for_each_other)
{
    struct crew_bench *b CLEAN(memory_release) = bench_new();
    b->slow = 1;
    for (size_t lanes = 2; lanes < 5; lanes++) {
        OK(three_run_lanes(6, lanes, 1, product_job, b, NULL, NULL));
        expect_product(b, lanes);
    }
}

/* --- failures --------------------------------------------------------------------------------- */

static enum err toil(void *self, struct party *lane, size_t tile)
{
    struct crew_bench *b = self;
    struct share64 x;
    if (lane->index == 1 && tile == b->fail_at)
        return b->odd != NULL ? b->odd(lane, tile) : ERR_RANGE;
    TRY(party_share64(lane, &x, 64));
    TRY(party_random64(lane, &x));
    TRY(ring64_multiply(lane, x, x, x));
    atomic_fetch_add(&b->done[lane->index], 1);
    return ERR_OK;
}

static enum err toil_job(struct party *p, void *shared)
{
    struct crew_bench *b = shared;
    return crew_run(p, b->tiles, toil, b);
}

/* Lane 2 of server 1 fails at its second tile, when all the others have minutes of work left. */
TEST(a_lane_that_fails_ends_all_lanes_of_all_servers)
{
    struct crew_bench *b CLEAN(memory_release) = bench_new();
    enum err result[3];
    b->tiles = (size_t)1 << 30;
    b->fail_at = 5;
    assert_int_not_equal(three_run_lanes(7, 3, 4, toil_job, b, NULL, result), ERR_OK);
    assert_int_equal(result[1], ERR_RANGE);
    assert_int_equal(result[0], ERR_PEER);
    assert_int_equal(result[2], ERR_PEER);
    for (unsigned s = 0; s < 3; s++)
        assert_true(atomic_load(&b->done[s]) < b->tiles / 2);
}

static enum err try_to_open(struct party *lane, size_t tile)
{
    struct share64 x;
    uint64_t out[4];
    TRY(party_share64(lane, &x, 4));
    TRY(party_random64(lane, &x));
    return open_ring64(lane, OPEN_NOISY_MARGINAL, x, out);
}

TEST(only_lane_0_opens)
{
    struct crew_bench *b CLEAN(memory_release) = bench_new();
    enum err result[3];
    b->tiles = 8;
    b->fail_at = 3;
    b->odd = try_to_open;
    assert_int_not_equal(three_run_lanes(8, 2, 4, toil_job, b, NULL, result), ERR_OK);
    assert_int_equal(result[1], ERR_MISUSE);
}

static enum err tiles_job(struct party *p, void *shared)
{
    size_t *tile = shared;
    if (p->index == 0) {
        tile[0] = crew_tile(p, 100000, 16384, 64); /* seven each, below a third of the longest */
        tile[1] = crew_tile(p, 3000, 16384, 64);   /* work for all */
        tile[2] = crew_tile(p, 100, 16384, 64);
        tile[3] = crew_tile(p, 0, 16384, 64);
        tile[4] = crew_tile(p, 16384, 16384, 64); /* one each, so just as many rounds */
    }
    return ERR_OK;
}

TEST(tiles_bound_the_memory_of_all_lanes)
{
    size_t tile[5];
    OK(three_run_lanes(9, 3, 4, tiles_job, tile, NULL, NULL));
    assert_int_equal(tile[0], (100000 / 21 + 63) / 64 * 64);
    assert_int_equal(tile[1], (1000 + 63) / 64 * 64);
    assert_int_equal(tile[2], 64);
    assert_int_equal(tile[3], 64);
    assert_int_equal(tile[4], (16384 / 3 + 63) / 64 * 64);
    OK(three_run_lanes(9, 1, 4, tiles_job, tile, NULL, NULL));
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(tile[k], 16384);
}

/* What each lane of each server draws: for a topic, for the same topic again, and for another. */
static enum err draw(void *self, struct party *lane, size_t tile)
{
    uint64_t *drawn = self;
    struct share64 x;
    TRY(party_share64(lane, &x, 1));
    TRY(party_random64(lane, &x));
    drawn[tile] = x.a[0];
    return ERR_OK;
}

static enum err topics_job(struct party *p, void *shared)
{
    static const uint8_t topics[3][SESSION_ID_SIZE] = {{1}, {1}, {2}};
    uint64_t(*const drawn)[3][3] = shared; /* by server, topic and lane */
    struct session *session CLEAN(session_free) = NULL;
    TRY(session_for_test(&session, p->index, 1));
    for (size_t t = 0; t < 3; t++) {
        TRY(crew_topic(p, session, topics[t]));
        TRY(crew_run(p, 3, draw, drawn[p->index][t]));
    }
    return ERR_OK;
}

TEST(a_topic_begins_the_streams_of_all_lanes)
{
    uint64_t drawn[3][3][3];
    OK(three_run_lanes(10, 3, 4, topics_job, drawn, NULL, NULL));
    for (unsigned s = 0; s < 3; s++)
        for (size_t lane = 0; lane < 3; lane++) {
            assert_true(drawn[s][0][lane] == drawn[s][1][lane]);
            assert_true(drawn[s][0][lane] != drawn[s][2][lane]);
            assert_true(drawn[s][0][lane] != drawn[s][0][(lane + 1) % 3]);
        }
}

TEST(lanes_are_counted)
{
    struct crew *none;
    assert_int_equal(crew_new(&none, NULL, NULL, 0, NULL), ERR_RANGE);
    assert_null(none);
    assert_int_equal(crew_new(&none, NULL, NULL, SESSION_LANES_MAX + 1, NULL), ERR_RANGE);
}

#define MIB ((uint64_t)1 << 20)

static void *take_and_free(void *of)
{
    uint64_t *most = of; /* and what is left in the end */
    struct scratch *s = scratch_new();
    uint8_t *p;
    if (s == NULL || scratch_array(s, &p, 16 * MIB) != ERR_OK)
        return NULL;
    memset(p, 1, 16 * MIB);
    most[0] = support_resident(getpid());
    scratch_free(&s);
    most[1] = support_resident(getpid());
    return NULL;
}

TEST(what_scopes_within_gave_back_is_wiped_too)
{
    struct scratch *s CLEAN(scratch_free) = scratch_new();
    const struct scratch_mark mark = scratch_mark(s);
    uint8_t *p;
    OK(scratch_array(s, &p, 1));
    *p = 1;
    scratch_release(&mark); /* of a scope within */
    scratch_wipe(&mark);
    OK(scratch_array(s, &p, 1));
    assert_int_equal(*p, 0);
}

/* Whatever the allocator keeps for later threads, as in a server that has had sessions. */
TEST(scratch_that_a_lane_frees_goes_back_to_the_system)
{
    uint64_t most[2] = {0};
    struct thread lane;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("# SKIP a sanitizer has an allocator of its own\n");
    skip();
#endif
    assert_true(mallopt(M_MMAP_THRESHOLD, 32 << 20) && mallopt(M_TRIM_THRESHOLD, 64 << 20));
    OK(thread_start(&lane, take_and_free, most, NULL));
    thread_join(&lane);
    assert_true(most[0] >= most[1] + 15 * MIB);
}
