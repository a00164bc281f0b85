/* mpc/lanes.h: two lanes a server give what one lane gives; one that fails does not hold others. */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/bits.h"
#include "mpc/lanes.h"
#include "mpc/ring.h"
#include "tests/support_session.h"
#include "tests/support_three.h"
#include "tests/support_transport.h"

#include <pthread.h>

#define LANES 2
#define N 100000

struct seat {
    unsigned index;
    struct transport *transport[LANES];
    const uint64_t *x, *y;
    uint64_t *product[2]; /* this server's components of x y */
    uint64_t *both;       /* component a of the bits x & y */
    uint64_t rounds[LANES];
    size_t parts[LANES][2];
    bool fail;
    enum err result;
};

struct vectors {
    struct seat *seat;
    struct share64 x, y, z;
    struct bits u, v, w;
};

static enum err work(void *self, struct party *p, size_t from, size_t n)
{
    struct vectors *s = self;
    const size_t word = from / 64;
    size_t lane = from == 0 ? 0 : 1;
    s->seat->parts[lane][0] = from;
    s->seat->parts[lane][1] = n;
    if (s->seat->fail && lane == 1 && p->index == 1)
        return ERR_RANGE;
    TRY(ring64_multiply(p, share64_view(s->z, from, n), share64_view(s->x, from, n),
                        share64_view(s->y, from, n)));
    return bits_and(p, (struct bits){s->w.a + word, s->w.b + word, n},
                    (struct bits){s->u.a + word, s->u.b + word, n},
                    (struct bits){s->v.a + word, s->v.b + word, n});
}

static enum err sit_down(struct seat *s, struct lanes *lanes)
{
    struct vectors v = {.seat = s};
    struct planes u, w;
    enum err e;
    TRY(three_share64(lanes->lane[0], &v.x, s->x, N, 1));
    TRY(three_share64(lanes->lane[0], &v.y, s->y, N, 2));
    TRY(share64_new(&v.z, N));
    TRY(three_share_planes(lanes->lane[0], &u, s->x, N, 1, 3));
    TRY(three_share_planes(lanes->lane[0], &w, s->y, N, 1, 4));
    v.u = planes_plane(&u, 0);
    v.v = planes_plane(&w, 0);
    TRY(bits_new(&v.w, N));
    e = lanes_run(lanes, N, 64, work, &v);
    for (size_t i = 0; i < N; i++) {
        s->product[0][i] = v.z.a[i];
        s->product[1][i] = v.z.b[i];
    }
    for (size_t i = 0; i < bits_words(N); i++)
        s->both[i] = v.w.a[i];
    for (size_t k = 0; k < LANES; k++)
        s->rounds[k] = net_rounds(lanes->lane[k]->net);
    share64_free(&v.x);
    share64_free(&v.y);
    share64_free(&v.z);
    bits_free(&v.w);
    planes_free(&u);
    planes_free(&w);
    return e;
}

static void *sit(void *arg)
{
    struct seat *s = arg;
    struct session *session = NULL;
    struct net *nets[LANES] = {NULL};
    struct lanes *lanes = NULL;
    enum err e = session_for_test(&session, s->index, 5);
    for (uint32_t k = 0; k < LANES && e == ERR_OK; k++) {
        struct net_options o = {
            .transport = s->transport[k], .session = session, .lane = k, .deadline_ms = 10000};
        e = net_new(&nets[k], &o);
    }
    if (e == ERR_OK)
        e = lanes_new(&lanes, nets, LANES, session, NULL);
    if (e == ERR_OK)
        e = sit_down(s, lanes);
    lanes_free(&lanes);
    for (size_t k = 0; k < LANES; k++)
        net_free(&nets[k]);
    session_free(&session);
    s->result = e;
    return NULL;
}

static void run(struct seat seat[3], const uint64_t *x, const uint64_t *y, size_t depth, bool fail)
{
    struct transport *three[LANES][3];
    pthread_t thread[3];
    for (size_t k = 0; k < LANES; k++)
        assert_int_equal(transport_memory_new(three[k], depth), ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        seat[i] = (struct seat){.index = i, .x = x, .y = y, .fail = fail};
        seat[i].product[0] = memory_array(N, 8);
        seat[i].product[1] = memory_array(N, 8);
        seat[i].both = memory_array(bits_words(N), 8);
        for (size_t k = 0; k < LANES; k++)
            seat[i].transport[k] = three[k][i];
        assert_int_equal(pthread_create(&thread[i], NULL, sit, &seat[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (size_t k = 0; k < LANES; k++)
        for (unsigned i = 0; i < 3; i++)
            transport_free(&three[k][i]);
}

static void finish(struct seat seat[3])
{
    for (unsigned i = 0; i < 3; i++) {
        memory_free(&seat[i].product[0]);
        memory_free(&seat[i].product[1]);
        memory_free(&seat[i].both);
    }
}

static void check(const struct seat seat[3], const uint64_t *x, const uint64_t *y)
{
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seat[i].result, ERR_OK);
        assert_int_equal(seat[i].parts[0][0], 0);
        assert_int_equal(seat[i].parts[1][0], seat[i].parts[0][1]);
        assert_int_equal(seat[i].parts[0][1] + seat[i].parts[1][1], N);
        assert_int_equal(seat[i].parts[0][1] % 64, 0);
        for (size_t k = 0; k < LANES; k++)
            assert_int_equal(seat[i].rounds[k], 2);
    }
    for (size_t i = 0; i < N; i++) {
        assert_true(seat[0].product[0][i] + seat[1].product[0][i] + seat[2].product[0][i] ==
                    x[i] * y[i]);
        for (unsigned s = 0; s < 3; s++)
            assert_true(seat[s].product[1][i] == seat[(s + 1) % 3].product[0][i]);
    }
    for (size_t w = 0; w < bits_words(N); w++) { /* x's bits, by its low bits */
        uint64_t both = 0;
        size_t lanes = N - 64 * w < 64 ? N - 64 * w : 64;
        for (size_t i = 0; i < lanes; i++)
            both |= (x[64 * w + i] & y[64 * w + i] & 1) << i;
        both ^= seat[0].both[w] ^ seat[1].both[w] ^ seat[2].both[w];
        assert_int_equal(lanes < 64 ? both << (64 - lanes) : both, 0);
    }
}

static void two_lanes_do_what_one_does(void **state)
{
    static const size_t depths[] = {1, 2, 64};
    uint64_t seed = 1, *x = memory_array(N, 8), *y = memory_array(N, 8);
    (void)state;
    for (size_t i = 0; i < N; i++) {
        x[i] = three_random(&seed);
        y[i] = three_random(&seed);
    }
    for (size_t d = 0; d < 3; d++) {
        struct seat seat[3];
        run(seat, x, y, depths[d], false);
        check(seat, x, y);
        finish(seat);
    }
    memory_free(&x);
    memory_free(&y);
}

/* Lane 1 of server 1 gives up: all three hear of it at once, and lane 0 is done everywhere. */
static void a_lane_that_fails_does_not_hold_the_others(void **state)
{
    uint64_t *x = memory_array(N, 8);
    struct seat seat[3];
    (void)state;
    run(seat, x, x, 4, true);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seat[i].result, i == 1 ? ERR_RANGE : ERR_PEER);
        assert_int_equal(seat[i].rounds[0], 2);
        assert_true(seat[i].rounds[1] <=
                    (i == 2 ? 1 : 0)); /* server 2 hears from 0 alone in round 1 */
    }
    finish(seat);
    memory_free(&x);
}

static void lanes_are_counted(void **state)
{
    struct lanes *none;
    (void)state;
    assert_int_equal(lanes_new(&none, NULL, 0, NULL, NULL), ERR_RANGE);
    assert_null(none);
    assert_int_equal(lanes_new(&none, NULL, LANES_MAX + 1, NULL, NULL), ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_lanes_do_what_one_does),
        cmocka_unit_test(a_lane_that_fails_does_not_hold_the_others),
        cmocka_unit_test(lanes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
