/*
 * netio/: rounds between three parties as threads, over in-process queues and over ZeroMQ, with
 * frames damaged on their way by a relay of this test. Threads collect results; the main thread
 * asserts.
 */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "harness/netio.h"
#include "harness/patience.h"
#include "harness/session.h"
#include "harness/transport.h"
#include "netio/frame.h"
#include "netio/net_private.h"
#include "netio/socket.h"

#include <zmq.h>

#define MIB ((size_t)1 << 20)
#define OVERHEAD ((uint64_t)NET_FRAME_OVERHEAD)

/* --- the relay: a transport that damages what one server sends to one neighbour --------------- */

enum damage {
    NONE,
    FLIP,      /* flips a bit of byte `at` */
    CUT,       /* cuts to `at` bytes */
    GROW,      /* longer by a byte */
    DROP,      /* the frame is lost */
    DUPLICATE, /* it arrives twice */
    REPLAY,    /* the first frame arrives again before it */
    SWAP,      /* it arrives after its successor */
    UNSEAL,    /* the body is replaced by other bytes, with a plausible header */
    GARBAGE,   /* random bytes arrive before it */
    FORGED_ABORT,
    LONG_ABORT, /* with a body */
    STRANGER    /* frames of another session arrive before each frame */
};

struct net_relay {
    struct transport *inner;
    struct transport outer;
    enum net_peer to;
    enum damage damage;
    size_t which, at; /* the affected frame, counted from 0 */
    size_t count;
    uint8_t first[400], held[400];
    size_t first_size, held_size;
    void *ends; /* ZeroMQ's context, which ends where one begins to wait; or NULL */
};

static enum err pass(struct net_relay *r, const uint8_t *p, size_t n)
{
    return transport_send(r->inner, r->to, p, n);
}

/* The queue of these tests has room for every frame, so a send that adds some never waits. */
static enum err damaged_send(struct net_relay *r, uint8_t *p, size_t n)
{
    uint8_t other[400];
    switch (r->damage) {
    case FLIP:
        p[r->at] ^= (uint8_t)(1u << r->at % 8);
        break;
    case CUT:
        n = r->at;
        break;
    case GROW:
        p[n++] = 0;
        break;
    case DROP:
        return ERR_OK;
    case DUPLICATE:
        TRY(pass(r, p, n));
        break;
    case REPLAY:
        TRY(pass(r, r->first, r->first_size));
        break;
    case SWAP:
        memcpy(r->held, p, n);
        r->held_size = n;
        return ERR_OK;
    case UNSEAL:
        pattern_fill(p + FRAME_HEADER, n - FRAME_HEADER, 99);
        break;
    case GARBAGE: /* too short to name a session: it cannot pass for a stranger's */
        pattern_fill(other, 39, 7);
        TRY(pass(r, other, 39));
        break;
    case LONG_ABORT:
        p[6] = FRAME_ABORT;
        break;
    case FORGED_ABORT:
        p[6] = FRAME_ABORT;
        memset(p + 72, 0, 4);
        n = FRAME_HEADER + 16;
        break;
    default:
        break;
    }
    return pass(r, p, n);
}

static enum err relay_bytes(struct net_relay *r, const uint8_t *p, size_t n)
{
    uint8_t whole[400 + 1];
    size_t number = r->count++;
    memcpy(whole, p, n);
    if (number == 0) {
        memcpy(r->first, whole, n);
        r->first_size = n;
    }
    if (r->damage == STRANGER) {
        uint8_t other[sizeof whole];
        memcpy(other, whole, n);
        other[8] ^= 0x40;
        TRY(pass(r, other, n));
        other[20] ^= 0x40;
        TRY(pass(r, other, 77));
    }
    if (number == r->which)
        return damaged_send(r, whole, n);
    TRY(pass(r, whole, n));
    if (r->held_size > 0) {
        n = r->held_size;
        r->held_size = 0;
        return pass(r, r->held, n);
    }
    return ERR_OK;
}

static enum err relay_make(void *self, size_t size, struct transport_message *m)
{
    struct net_relay *r = self;
    return transport_make(r->inner, size, m);
}

static enum err relay_send(void *self, enum net_peer to, struct transport_message *m)
{
    struct net_relay *r = self;
    if (to != r->to || m->size > 400)
        return transport_push(r->inner, to, m);
    TRY(relay_bytes(r, m->data, m->size));
    transport_drop(r->inner, m);
    return ERR_OK;
}

static enum err relay_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct net_relay *r = self;
    return transport_pull(r->inner, from, m);
}

static void relay_drop(void *self, struct transport_message *m)
{
    struct net_relay *r = self;
    transport_drop(r->inner, m);
}

static enum err relay_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct net_relay *r = self;
    if (r->ends != NULL)
        assert_int_equal(zmq_ctx_shutdown(r->ends), 0);
    return transport_wait(r->inner, readable, writable, deadline);
}

static const struct transport_ops relay_ops = {
    .make = relay_make,
    .send = relay_send,
    .receive = relay_receive,
    .drop = relay_drop,
    .wait = relay_wait,
};

/* --- a party: some rounds of payloads that both sides know ------------------------------------ */

struct net_plan {
    size_t rounds;
    /* bytes that server `from` sends to its previous and next neighbour in a round */
    size_t (*size)(size_t round, unsigned from, enum net_peer to);
    int64_t deadline_ms; /* 0: longer than any test should need */
    uint64_t rekey_blocks;
};

struct net_party {
    unsigned index;
    struct transport *transport;
    const struct net_plan *plan;
    uint32_t lane;
    size_t extra;  /* bytes that this party wrongly adds to what it sends */
    size_t rounds; /* then it leaves without a word */
    bool says_so;  /* it does not leave without a word */
    bool closes;   /* it takes its links along */
    /* results */
    enum err e, after;
    size_t done;
    bool intact;
    double seconds;
    uint64_t strangers, counted;
    struct net_counters total, select;
    char sink[2048];
};

static uint64_t tag_of(size_t round, unsigned from, unsigned to)
{
    return round * 16 + from * 4 + to + 1;
}

static enum err one_round(struct net_party *p, struct net *net, size_t round)
{
    struct net_exchange r = {0};
    uint8_t *out[2] = {0}, *in[2] = {0};
    for (unsigned n = 0; n < 2; n++) {
        enum net_peer peer = (enum net_peer)n;
        unsigned other = net_index_of(p->index, peer);
        r.send_size[n] = p->plan->size(round, p->index, peer);
        r.receive_size[n] = p->plan->size(round, other, peer == NET_PREV ? NET_NEXT : NET_PREV);
        r.send_size[n] += r.send_size[n] > 0 ? p->extra : 0;
        r.send[n] = out[n] = malloc(r.send_size[n] + 1);
        r.receive[n] = in[n] = malloc(r.receive_size[n] + 1);
        if (out[n] == NULL || in[n] == NULL)
            abort();
        pattern_fill(out[n], r.send_size[n], tag_of(round, p->index, other));
        in[n][r.receive_size[n]] = 0x5a;
    }
    enum err e = net_exchange(net, &r);
    for (unsigned n = 0; n < 2; n++) {
        unsigned other = net_index_of(p->index, (enum net_peer)n);
        if (e == ERR_OK && !pattern_holds(in[n], r.receive_size[n], tag_of(round, other, p->index)))
            p->intact = false;
        if (in[n][r.receive_size[n]] != 0x5a)
            p->intact = false;
        free(out[n]);
        free(in[n]);
    }
    return e;
}

static void *run_party(void *argument)
{
    struct net_party *p = argument;
    struct log log = {.buffer = p->sink, .buffer_size = sizeof p->sink, .level = LOG_WARN};
    struct session *session = NULL;
    struct net *net = NULL;
    double begin = clock_now_s();
    p->intact = true;
    p->e = session_for_test(&session, p->index, 11);
    if (p->e == ERR_OK)
        p->e = net_new(&net, &(struct net_options){.transport = p->transport,
                                                   .session = session,
                                                   .lane = p->lane,
                                                   .deadline_ms = p->plan->deadline_ms > 0
                                                                      ? p->plan->deadline_ms
                                                                      : support_patience_ms(10),
                                                   .rekey_blocks = p->plan->rekey_blocks,
                                                   .log = &log});
    session_free(&session); /* keys are derived once */
    for (p->done = 0; p->e == ERR_OK && p->done < p->rounds; p->done++) {
        net_enter(net, p->done % 2 == 0 ? NET_SELECT : NET_OTHER);
        p->e = one_round(p, net, p->done);
    }
    p->seconds = clock_now_s() - begin;
    if (net != NULL) {
        p->total = net_total(net);
        p->select = *net_counters(net, NET_SELECT);
        p->strangers = net->strangers;
        p->counted = net_exchanges(net);
        if (p->says_so)
            net_abort(net);
        p->after = p->e != ERR_OK || p->says_so ? net_exchange(net, &(struct net_exchange){0})
                                                : ERR_OK;
    }
    net_free(&net);
    if (p->closes)
        transport_free(&p->transport);
    return NULL;
}

static void start(struct net_party party[3], struct transport *t[3], const struct net_plan *plan)
{
    memset(party, 0, 3 * sizeof *party);
    for (unsigned i = 0; i < 3; i++) {
        party[i].index = i;
        party[i].transport = t[i];
        party[i].plan = plan;
        party[i].rounds = plan->rounds;
    }
}

/* Over in-process queues. */
static void start_in_memory(struct net_party party[3], struct transport *t[3], size_t depth,
                            const struct net_plan *plan)
{
    OK(transport_memory_new(t, depth));
    start(party, t, plan);
}

static struct net *net_of(struct transport *t, const struct session *session, int64_t deadline_ms,
                          struct log *log)
{
    struct net *net;
    OK(net_new(&net,
               &(struct net_options){
                   .transport = t, .session = session, .deadline_ms = deadline_ms, .log = log}));
    return net;
}

static void put_relay(struct net_party *party, struct transport *t, struct net_relay *relay)
{
    relay->inner = t;
    relay->outer = (struct transport){.ops = &relay_ops, .self = relay};
    party->transport = &relay->outer;
}

/* Runs a plan with a relay for what server `from` sends to its neighbour `to`. */
static void run_damaged(struct net_party party[3], const struct net_plan *plan, unsigned from,
                        const struct net_relay *damage)
{
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_relay relay = *damage;
    start_in_memory(party, t, 64, plan);
    put_relay(&party[from], t[from], &relay);
    run_three(run_party, party, sizeof *party);
}

static size_t hundred(size_t round, unsigned from, enum net_peer to)
{
    return 100;
}

static const struct net_plan small_rounds = {.rounds = 4, .size = hundred};

/* --- tests ------------------------------------------------------------------------------------ */

/* Server 0 sends to 1; frame 1, in round 1, is damaged. 1 must see it, 0 and 2 must hear of it. */
static void expect_end(const struct net_relay *damage, enum err seen, enum err or_seen)
{
    struct net_party p[3];
    run_damaged(p, &small_rounds, 0, damage);
    if (p[1].e != seen && p[1].e != or_seen)
        fail_msg("damage %d at %zu: server 1 says %s\n%s", damage->damage, damage->at,
                 error_text(p[1].e), p[1].sink);
    for (unsigned i = 0; i < 3; i += 2)
        if (p[i].e != ERR_PEER || strstr(p[i].sink, "gave up") == NULL)
            fail_msg("damage %d at %zu: server %u says %s\n%s", damage->damage, damage->at, i,
                     error_text(p[i].e), p[i].sink);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(p[i].after, ERR_MISUSE);
        assert_true(p[i].intact);
    }
    support_says(p[1].sink, "server 0 sent");
}

TEST(altered_frames_end_the_session)
{
    for (size_t at = 0; at < FRAME_HEADER + 100 + 16; at++)
        expect_end(&(struct net_relay){.to = NET_NEXT, .damage = FLIP, .which = 1, .at = at},
                   ERR_AUTH, ERR_FORMAT);
}

TEST(frames_of_another_version_are_named)
{
    struct net_party p[3];
    run_damaged(p, &small_rounds, 0,
                &(struct net_relay){.to = NET_NEXT, .damage = FLIP, .which = 1, .at = 4});
    support_says(p[1].sink, "server 0 sent a frame of version 17, and this trefoil");
    support_says(p[1].sink, "reads version 1: the session ends; install the same");
}

TEST(short_and_long_frames_end_the_session)
{
    for (size_t at = 0; at < FRAME_HEADER + 100 + 16; at += at < 100 ? 1 : 13)
        expect_end(&(struct net_relay){.to = NET_NEXT, .damage = CUT, .which = 1, .at = at},
                   ERR_FORMAT, ERR_FORMAT);
    expect_end(&(struct net_relay){.to = NET_NEXT, .damage = GROW, .which = 1}, ERR_FORMAT,
               ERR_FORMAT);
}

TEST(lost_moved_and_foreign_frames_end_the_session)
{
    static const enum damage all[] = {DROP,   DUPLICATE,    REPLAY,    SWAP,
                                      UNSEAL, FORGED_ABORT, LONG_ABORT};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_end(&(struct net_relay){.to = NET_NEXT, .damage = all[i], .which = 1}, ERR_AUTH,
                   ERR_AUTH);
    expect_end(&(struct net_relay){.to = NET_NEXT, .damage = GARBAGE, .which = 1}, ERR_FORMAT,
               ERR_FORMAT);
}

TEST(frames_of_other_sessions_are_dropped_and_counted)
{
    struct net_party p[3];
    run_damaged(p, &small_rounds, 0,
                &(struct net_relay){.to = NET_NEXT, .damage = STRANGER, .which = SIZE_MAX});
    for (unsigned i = 0; i < 3; i++) {
        OK(p[i].e);
        assert_true(p[i].intact);
        assert_int_equal(p[i].strangers, i == 1 ? 8 : 0);
        assert_int_equal(p[i].total.frames_received, 8);
        assert_int_equal(p[i].total.wire_received, 8 * (100 + OVERHEAD));
    }
}

TEST(another_lane_ends_the_session)
{
    struct net_party p[3];
    struct transport *t[3] CLEAN(links_free) = {0};
    start_in_memory(p, t, 8, &small_rounds);
    p[0].lane = 1;
    run_three(run_party, p, sizeof *p);
    for (unsigned i = 0; i < 3; i++)
        assert_int_not_equal(p[i].e, ERR_OK);
    assert_true(strstr(p[0].sink, "another lane") != NULL ||
                strstr(p[1].sink, "another lane") != NULL ||
                strstr(p[2].sink, "another lane") != NULL);
}

/* An honest program that does something else can be told apart from an altered frame. */
TEST(another_size_is_a_mismatch)
{
    struct net_party p[3];
    struct transport *t[3] CLEAN(links_free) = {0};
    start_in_memory(p, t, 8, &small_rounds);
    p[0].extra = 1;
    run_three(run_party, p, sizeof *p);
    assert_true(p[1].e == ERR_MISMATCH || p[2].e == ERR_MISMATCH);
    assert_true(p[1].e == ERR_MISMATCH || p[1].e == ERR_PEER);
    assert_true(p[2].e == ERR_MISMATCH || p[2].e == ERR_PEER);
    assert_int_equal(p[0].e, ERR_PEER);
    if (p[1].e == ERR_MISMATCH)
        support_says(
            p[1].sink,
            "server 0 sent 101 bytes of exchange 0 (tiles of 101) where this server expects 100");
}

/*
 * Each sends only to its next neighbour, and what server 0 tells server 2 is lost, so the news must
 * be passed on: 0 sees it, 1 hears of it from 0, 2 from 1.
 */
static size_t ring(size_t round, unsigned from, enum net_peer to)
{
    return to == NET_NEXT ? 100 : 0;
}

TEST(an_abort_is_passed_on)
{
    static const struct net_plan plan = {.rounds = 4, .size = ring};
    struct net_relay flip = {.to = NET_NEXT, .damage = FLIP, .which = 1, .at = 90};
    struct net_relay mute = {.to = NET_PREV, .damage = DROP};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_party p[3];
    start_in_memory(p, t, 64, &plan);
    put_relay(&p[2], t[2], &flip);
    put_relay(&p[0], t[0], &mute);
    run_three(run_party, p, sizeof *p);
    assert_int_equal(p[0].e, ERR_AUTH);
    assert_int_equal(p[1].e, ERR_PEER);
    GIVES(p[2].e, ERR_PEER, p[1].sink, "server 0 gave up");
    support_says(p[2].sink, "server 1 gave up");
}

/* Every pair of sizes meets in one of the rounds, and both directions differ. */
static const size_t sizes[] = {0, 1, 63, MIB - 1, MIB, MIB + 1, 5 * MIB};
#define SIZES (sizeof sizes / sizeof *sizes)

static size_t varied(size_t round, unsigned from, enum net_peer to)
{
    return sizes[(round + 2 * from + 3 * (size_t)to * (round / SIZES + 1)) % SIZES];
}

static void expect_varied(struct net_party p[3], const struct net_plan *plan)
{
    for (unsigned i = 0; i < 3; i++) {
        uint64_t sent = 0, received = 0, out = 0, in = 0;
        for (size_t r = 0; r < plan->rounds; r++) {
            for (unsigned n = 0; n < 2; n++) {
                enum net_peer peer = (enum net_peer)n;
                size_t a = plan->size(r, i, peer);
                size_t b = plan->size(r, net_index_of(i, peer),
                                      peer == NET_PREV ? NET_NEXT : NET_PREV);
                sent += a, received += b;
                out += (a + MIB - 1) / MIB, in += (b + MIB - 1) / MIB;
            }
        }
        if (p[i].e != ERR_OK)
            fail_msg("server %u: %s\n%s", i, error_text(p[i].e), p[i].sink);
        assert_true(p[i].intact);
        assert_int_equal(p[i].counted, plan->rounds);
        assert_int_equal(p[i].total.exchanges, plan->rounds);
        assert_int_equal(p[i].total.payload_sent, sent);
        assert_int_equal(p[i].total.payload_received, received);
        assert_int_equal(p[i].total.frames_sent, out);
        assert_int_equal(p[i].total.frames_received, in);
        assert_int_equal(p[i].total.wire_sent, sent + OVERHEAD * out);
        assert_int_equal(p[i].total.wire_received, received + OVERHEAD * in);
    }
}

TEST(all_sizes_go_through_one_slot)
{
    static const struct net_plan plan = {
        .rounds = 2 * SIZES, .size = varied, .rekey_blocks = 70000};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_party p[3];
    start_in_memory(p, t, 1, &plan);
    run_three(run_party, p, sizeof *p);
    expect_varied(p, &plan);
}

TEST(all_sizes_go_over_zeromq)
{
    static const struct net_plan plan = {.rounds = SIZES, .size = varied};
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct netio *netio CLEAN(netio_free) = NULL;
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_party p[3];
    OK(netio_new(&netio, &log));
    /* bare links while admission runs: it must not be asked about them */
    OK(three_zmq(t, netio, 1, NULL, NULL, &log));
    start(p, t, &plan);
    run_three(run_party, p, sizeof *p);
    expect_varied(p, &plan);
}

TEST(counters_are_exact)
{
    struct net_party p[3];
    struct transport *t[3] CLEAN(links_free) = {0};
    start_in_memory(p, t, 8, &small_rounds);
    run_three(run_party, p, sizeof *p);
    for (unsigned i = 0; i < 3; i++) {
        OK(p[i].e);
        assert_int_equal(p[i].total.exchanges, 4);
        assert_int_equal(p[i].select.exchanges, 2);
        assert_int_equal(p[i].total.payload_sent, 800);
        assert_int_equal(p[i].total.payload_received, 800);
        assert_int_equal(p[i].total.wire_sent, 800 + 8 * 96);
        assert_int_equal(p[i].total.wire_received, 800 + 8 * 96);
        assert_int_equal(p[i].select.payload_sent, 400);
        assert_int_equal(p[i].select.wire_received, 400 + 4 * 96);
        assert_int_equal(p[i].select.frames_sent, 4);
        assert_true(p[i].total.seconds >= p[i].select.seconds && p[i].select.seconds >= 0);
        assert_true(p[i].total.seconds <= p[i].seconds);
    }
}

/* Rounds that move nothing, or only for some servers, count for all. */
static size_t sparse(size_t round, unsigned from, enum net_peer to)
{
    return round == 1 && from == 2 && to == NET_PREV ? 10 : 0;
}

TEST(empty_rounds_count)
{
    static const struct net_plan plan = {.rounds = 5, .size = sparse};
    struct net_party p[3];
    struct transport *t[3] CLEAN(links_free) = {0};
    start_in_memory(p, t, 1, &plan);
    run_three(run_party, p, sizeof *p);
    for (unsigned i = 0; i < 3; i++) {
        OK(p[i].e);
        assert_int_equal(p[i].counted, 5);
        assert_int_equal(p[i].total.frames_sent, i == 2 ? 1 : 0);
        assert_int_equal(p[i].total.frames_received, i == 1 ? 1 : 0);
    }
}

/*
 * Server 2 does `rounds` of a plan; the two others notice that it is dead. False if their patience
 * ended sooner, on a busy machine.
 */
static bool notice_death(struct transport *t[3], int64_t patience_ms, size_t rounds)
{
    const struct net_plan plan = {.rounds = 4, .size = hundred, .deadline_ms = patience_ms};
    bool timeout = false;
    struct net_party p[3];
    start(p, t, &plan);
    p[2].rounds = rounds;
    run_three(run_party, p, sizeof *p);
    for (unsigned i = 0; i < 3; i++)
        transport_free(&t[i]);
    for (unsigned i = 0; i < 3; i++)
        if (p[i].done < rounds)
            return false;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(p[i].e == ERR_TIMEOUT || p[i].e == ERR_PEER);
        if (p[i].e == ERR_TIMEOUT) {
            timeout = true;
            support_says(p[i].sink, "server 2 was silent for");
        }
        assert_int_equal(p[i].done, rounds + 1); /* the failed round is counted as tried */
        assert_int_equal(p[i].after, ERR_MISUSE);
    }
    assert_true(timeout);
    return true;
}

TEST(a_dead_neighbour_is_noticed)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct transport *t[3];
    int64_t patience = 100;
    OK(transport_memory_new(t, 4));
    assert_true(notice_death(t, patience, 0));
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &log);
    do {
        patience *= 4;
        assert_true(patience < support_patience_ms(60));
        OK(three_zmq(t, netio, 4, NULL, NULL, &log));
    } while (!notice_death(t, patience, 2));
}

/* A process that ends takes its connections with it: nobody waits for the deadline. */
TEST(a_neighbour_that_leaves_is_noticed_at_once)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &log);
    for (size_t rounds = 1; rounds < 3; rounds++) {
        struct transport *t[3] CLEAN(links_free) = {0};
        bool seen = false;
        struct net_party p[3];
        OK(three_zmq(t, netio, 4, NULL, NULL, &log));
        start(p, t, &small_rounds);
        p[2].rounds = rounds;
        p[2].closes = true;
        run_three(run_party, p, sizeof *p);
        t[2] = NULL; /* it has taken its own connection with it */
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(p[i].e, ERR_PEER);
            assert_int_equal(p[i].done, rounds + 1);
            assert_int_equal(p[i].after, ERR_MISUSE);
            assert_null(strstr(p[i].sink, "silent"));
            /* the other may hear of it from the first */
            seen = seen || strstr(p[i].sink, "server 2 closed its connection, or the") != NULL;
        }
        assert_true(seen);
    }
}

/* Between rounds nobody waits for it, but whoever asks is told. */
TEST(one_that_leaves_between_rounds_is_noticed_too)
{
    LOG_INTO(log, sink, LOG_WARN);
    struct session *session CLEAN(session_free) = NULL;
    struct netio *netio CLEAN(netio_free) = NULL;
    struct transport *t[3] CLEAN(links_free) = {0};
    struct bytes b CLEAN(bytes_clear) = {0};
    OK(netio_new(&netio, &log));
    OK(three_zmq(t, netio, 4, NULL, NULL, &log));
    OK(session_for_test(&session, 0, 11));
    struct net *net CLEAN(net_free) = net_of(t[0], session, 0, &log);
    OK(transport_send_by(t[0], NET_NEXT, "there?", 6, support_end_ms(5)));
    OK(transport_receive_by(t[1], NET_PREV, &b, support_end_ms(5)));
    OK(net_listen(net));
    transport_free(&t[1]);
    OK(transport_wait(t[0], TRANSPORT_NEWS, 0, support_end_ms(5)));
    GIVES(net_listen(net), ERR_PEER, sink, "server 1 closed its connection");
    assert_int_equal(net_listen(net), ERR_MISUSE);
}

/* Its links for payloads were never up, so that they cannot break. */
TEST(one_that_leaves_before_the_first_exchange_is_noticed)
{
    LOG_INTO(log, sink, LOG_WARN);
    struct session *session CLEAN(session_free) = NULL;
    struct netio *netio CLEAN(netio_free) = NULL;
    struct transport *t[3] CLEAN(links_free) = {0}, *control[3] CLEAN(links_free) = {0};
    struct net *net CLEAN(net_free) = NULL;
    struct bytes b CLEAN(bytes_clear) = {0};
    OK(netio_new(&netio, &log));
    OK(transport_memory_new(t, 4));
    OK(three_zmq(control, netio, 4, NULL, NULL, &log));
    OK(session_for_test(&session, 0, 11));
    OK(transport_send_by(control[0], NET_NEXT, "there?", 6, support_end_ms(5)));
    OK(transport_receive_by(control[1], NET_PREV, &b, support_end_ms(5)));
    OK(net_new(&net, &(const struct net_options){.transport = t[0],
                                                 .control = control[0],
                                                 .session = session,
                                                 .deadline_ms = support_patience_ms(20),
                                                 .log = &log}));
    transport_free(&control[1]);
    GIVES(net_greet(net), ERR_PEER, sink, "server 1 closed its connection");
}

TEST(a_party_may_give_up_by_itself)
{
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_party p[3];
    start_in_memory(p, t, 4, &small_rounds);
    p[2].rounds = 2;
    p[2].says_so = true;
    run_three(run_party, p, sizeof *p);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(p[i].e, i == 2 ? ERR_OK : ERR_PEER);
        assert_int_equal(p[i].after, ERR_MISUSE);
    }
}

/* Nothing to receive: only a full queue can show it. */
static size_t one_way(size_t round, unsigned from, enum net_peer to)
{
    return from == 0 && to == NET_PREV ? 4 * MIB : 0;
}

TEST(a_neighbour_that_takes_nothing_is_noticed)
{
    static const struct net_plan plan = {.rounds = 3, .size = one_way, .deadline_ms = 300};
    struct transport *t[3] CLEAN(links_free) = {0};
    struct net_party p[3];
    start_in_memory(p, t, 1, &plan);
    p[2].rounds = 0; /* in its own round it might find the other late, and say so */
    run_three(run_party, p, sizeof *p);
    GIVES(p[0].e, ERR_TIMEOUT, p[0].sink, "server 2 took nothing");
}

/* --- what a silent round hears ---------------------------------------------------------------- */

enum news { GARBAGE_AHEAD, DATA_AHEAD, LATER_ABORT, STRANGER_AHEAD, STRAY_ABORT, FALSE_ABORT };

static size_t write_news(enum news news, const struct session *from, uint8_t *message)
{
    struct frame_header h = {.kind = FRAME_ABORT, .sender = 0, .receiver = 1};
    memcpy(h.session, from->id, sizeof h.session);
    memset(message, 7, FRAME_HEADER + 16);
    if (news == GARBAGE_AHEAD)
        return 30;
    if (news == DATA_AHEAD)
        h.kind = FRAME_DATA;
    else if (news == LATER_ABORT)
        h.exchange = 1;
    else if (news == STRANGER_AHEAD)
        h.session[0] ^= 1;
    else if (news == STRAY_ABORT) /* as if one of server 2's were sent back to us by server 0 */
        h.sender = 2;
    frame_encode(&h, message);
    return FRAME_HEADER + 16;
}

static enum err hear_beside_silence(const struct session *session, enum news news,
                                    int64_t patience_ms, struct log *log, uint64_t *strangers)
{
    uint8_t word, message[FRAME_HEADER + 16];
    const struct net_exchange r = {.receive[NET_NEXT] = &word, .receive_size[NET_NEXT] = 1};
    struct transport *t[3] CLEAN(links_free) = {0};
    size_t n = write_news(news, session, message);
    OK(transport_memory_new(t, 4));
    OK(transport_send(t[0], NET_NEXT, message, n));
    struct net *net CLEAN(net_free) = net_of(t[1], session, patience_ms, log);
    enum err e = net_exchange(net, &r);
    *strangers = net->strangers;
    return e;
}

/*
 * Server 1 waits only for a word from server 2; meanwhile something arrives from server 0. Where
 * that does not end the wait, patience does; there is more of it until the stranger was seen.
 */
TEST(while_one_is_silent_the_other_is_heard)
{
    static const struct {
        enum err e;
        const char *words;
        uint64_t strangers;
    } expected[] = {
        [GARBAGE_AHEAD] = {ERR_TIMEOUT, "server 2 was silent for ", 0},
        [DATA_AHEAD] = {ERR_TIMEOUT, "server 2 was silent for ", 0},
        [LATER_ABORT] = {ERR_TIMEOUT, "server 2 was silent for ", 0},
        [STRANGER_AHEAD] = {ERR_TIMEOUT, "server 2 was silent for ", 1},
        [STRAY_ABORT] = {ERR_AUTH, "server 0 sent a frame of another pair of servers", 0},
        [FALSE_ABORT] = {ERR_AUTH, "that says ABORT and does not authenticate", 0},
    };
    struct session *session CLEAN(session_free) = MADE(session, session_for_test, 1, 11);
    for (enum news news = GARBAGE_AHEAD; news <= FALSE_ABORT; news++) {
        const bool ends = expected[news].e != ERR_TIMEOUT;
        uint64_t strangers = UINT64_MAX;
        for (int64_t ms = ends ? support_patience_ms(10) : 60;
             strangers != expected[news].strangers; ms *= 4) {
            LOG_INTO(log, sink, LOG_WARN);
            assert_true(ms < support_patience_ms(60));
            assert_int_equal(hear_beside_silence(session, news, ms, &log, &strangers),
                             expected[news].e);
            support_says(sink, expected[news].words);
        }
    }
}

/* Frames of another session keep arriving from server 0. */
static enum err flood_receive(void *self, enum net_peer from, struct transport_message *m)
{
    const struct frame_header h = {.kind = FRAME_DATA};
    struct net_relay *r = self;
    if (from != NET_PREV)
        return transport_pull(r->inner, from, m);
    TRY(transport_make(r->inner, FRAME_HEADER + 16, m));
    memset(m->data, 7, FRAME_HEADER + 16);
    frame_encode(&h, m->data);
    return ERR_OK;
}

static enum err flood_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct net_relay *r = self;
    return (readable >> NET_PREV & 1) != 0 ? ERR_OK
                                           : transport_wait(r->inner, readable, writable, deadline);
}

TEST(a_flood_of_strangers_ends_with_our_patience)
{
    static const struct transport_ops ops = {.make = relay_make,
                                             .send = relay_send,
                                             .receive = flood_receive,
                                             .drop = relay_drop,
                                             .wait = flood_wait};
    LOG_INTO(log, sink, LOG_WARN);
    uint8_t word[2];
    /* waiting for server 2 alone, and for both */
    const struct net_exchange rounds[] = {
        {.receive[NET_NEXT] = word, .receive_size[NET_NEXT] = 1},
        {.receive = {word, word + 1}, .receive_size = {1, 1}},
    };
    struct session *session CLEAN(session_free) = MADE(session, session_for_test, 1, 11);
    for (int i = 0; i < 2; i++) {
        uint64_t strangers = 0;
        for (int64_t ms = 60; strangers == 0; ms *= 4) { /* more, until it has looked at them */
            struct net_relay flood = {.damage = NONE};
            struct transport *t[3] CLEAN(links_free) = {0}, outer = {.ops = &ops, .self = &flood};
            assert_true(ms < support_patience_ms(60));
            OK(transport_memory_new(t, 4));
            flood.inner = t[1];
            struct net *net CLEAN(net_free) = net_of(&outer, session, ms, &log);
            assert_int_equal(net_exchange(net, &rounds[i]), ERR_TIMEOUT);
            strangers = net->strangers;
        }
    }
    EACH(support_says, sink, "server 0 was silent", "server 2 was silent");
}

/* Shorter than what anybody waits for, and in both directions at once. */
TEST(a_short_patience_ends_as_well)
{
    LOG_INTO(log, sink, LOG_WARN);
    uint8_t word;
    const struct net_exchange r = {.send[NET_PREV] = "x",
                                   .send_size[NET_PREV] = 1,
                                   .receive[NET_NEXT] = &word,
                                   .receive_size[NET_NEXT] = 1};
    struct session *session CLEAN(session_free) = NULL;
    struct transport *t[3] CLEAN(links_free) = {0};
    OK(session_for_test(&session, 1, 11));
    OK(transport_memory_new(t, 1));
    OK(transport_send(t[1], NET_PREV, "no room is left", 15));
    struct net *net CLEAN(net_free) = net_of(t[1], session, 5, &log);
    assert_int_equal(net_exchange(net, &r), ERR_TIMEOUT);
    EACH(support_says, sink, "server 0 took nothing for 5 ms", "server 2 was silent for 5 ms");
}

/* --- links ------------------------------------------------------------------------------------ */

TEST(queues_keep_order_and_bounds)
{
    struct transport *t[3] CLEAN(links_free) = {0};
    struct bytes b CLEAN(bytes_clear) = {0};
    assert_int_equal(transport_memory_new(t, 0), ERR_RANGE);
    assert_int_equal(transport_memory_new(t, SIZE_MAX), ERR_NOMEM);
    assert_null(t[0]);
    OK(transport_memory_new(t, 2));
    assert_int_equal(transport_receive(t[1], NET_PREV, &b), ERR_AGAIN);
    OK(transport_send(t[0], NET_NEXT, "abc", 3));
    OK(transport_send(t[0], NET_NEXT, "d", 1));
    assert_int_equal(transport_send(t[0], NET_NEXT, "e", 1), ERR_AGAIN);
    assert_int_equal(transport_wait(t[0], 0, 1u << NET_NEXT, clock_now_ms()), ERR_TIMEOUT);
    OK(transport_wait(t[0], 0, 1u << NET_PREV, clock_now_ms()));
    OK(transport_wait(t[1], 1u << NET_PREV, 0, clock_now_ms()));
    OK(transport_receive(t[1], NET_PREV, &b));
    SAME_BYTES(&b, "abc", 3);
    OK(transport_send(t[0], NET_NEXT, NULL, 0));
    OK(transport_receive(t[1], NET_PREV, &b));
    assert_memory_equal(b.data, "d", 1);
    OK(transport_receive(t[1], NET_PREV, &b));
    assert_int_equal(b.size, 0);
    assert_int_equal(transport_receive(t[2], NET_NEXT, &b), ERR_AGAIN);
    int64_t soon = support_moment(60);
    assert_int_equal(transport_receive_by(t[1], NET_PREV, &b, soon), ERR_TIMEOUT);
    assert_true(clock_now_ms() >= soon);
}

TEST(phases_have_names)
{
    assert_string_equal(net_phase_name(NET_OTHER), "other");
    assert_string_equal(net_phase_name(NET_MEASURE), "measure");
    assert_string_equal(net_phase_name(NET_PHASES), "unknown");
}

struct lonely {
    struct netio *netio;
    struct transport *t;
    char endpoint[4][ENDPOINT_SIZE], sink[4096];
    struct log log;
    struct transport_zmq_options o;
};

/* The bare links of server 0, whose neighbours are not there. */
static void be_lonely(struct lonely *l)
{
    memset(l, 0, sizeof *l);
    l->log = (struct log){.buffer = l->sink, .buffer_size = sizeof l->sink, .level = LOG_WARN};
    free_endpoints(l->endpoint, 4);
    OK(netio_new(&l->netio, &l->log));
    l->o = (struct transport_zmq_options){.netio = l->netio,
                                          .servers = 3,
                                          .listen = {l->endpoint[0], l->endpoint[1]},
                                          .dial = {l->endpoint[2], l->endpoint[3]},
                                          .max_message = 1000,
                                          .depth = 1,
                                          .log = &l->log};
    OK(transport_zmq_new(&l->t, &l->o));
    OK(open_bare(l->t, 0));
}

static void be_gone(struct lonely *l)
{
    transport_free(&l->t);
    netio_free(&l->netio);
}

static void expect_refusal(struct lonely *l, const char *listen, const char *dial,
                           const char *words)
{
    struct transport_zmq_options o = l->o;
    struct transport *t;
    char fresh[2][ENDPOINT_SIZE];
    free_endpoints(fresh, 2);
    o.listen[0] = listen != NULL ? listen : fresh[0];
    o.listen[1] = fresh[1];
    o.dial[0] = dial != NULL ? dial : o.dial[0];
    l->sink[0] = '\0';
    assert_int_equal(transport_zmq_new(&t, &o), dial == NULL ? ERR_SYSTEM : ERR_OK);
    if (dial != NULL)
        assert_int_equal(open_bare(t, 0), ERR_SYSTEM);
    transport_free(&t);
    if (strstr(l->sink, words) == NULL || strstr(l->sink, listen != NULL ? listen : dial) == NULL)
        fail_msg("no \"%s\" in: %s", words, l->sink);
}

TEST(an_address_that_cannot_be_had_is_named)
{
    struct lonely l CLEAN(be_gone);
    be_lonely(&l);
    expect_refusal(&l, l.endpoint[0], NULL, "another program, or another trefoil, has this port");
    expect_refusal(&l, "tcp://192.0.2.1:1", NULL, "no such address");
    expect_refusal(&l, "localhost", NULL, "tcp://host:port");
    expect_refusal(&l, "ipc:///nowhere/at/all", NULL, "see that the endpoint is right");
    expect_refusal(&l, NULL, "127.0.0.1:7100", "tcp://host:port");
}

/* Whether ports below 1024 are closed to those without privileges. */
static bool ports_are_guarded(void)
{
    FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    unsigned first = 0;
    if (f == NULL || fscanf(f, "%u", &first) != 1)
        first = 0;
    if (f != NULL)
        fclose(f);
    return first > 1;
}

TEST(a_port_that_needs_privileges_is_named)
{
    const uid_t before = geteuid(), nobody = 65534;
    struct lonely l CLEAN(be_gone);
    support_needs(ports_are_guarded() && (before != 0 || seteuid(nobody) == 0),
                  "every port is free for all here");
    be_lonely(&l);
    expect_refusal(&l, "tcp://127.0.0.1:1", NULL, "ports below 1024 need privileges");
    assert_int_equal(seteuid(before), 0);
}

/* Whoever has a pass can send anything. */
TEST(messages_in_parts_are_dropped)
{
    const struct transport_passes passes = passes_of(0);
    struct lonely l CLEAN(be_gone);
    struct bytes b CLEAN(bytes_clear) = {0};
    be_lonely(&l);
    void *foreign = zmq_socket(netio_zmq(l.netio), ZMQ_PUSH);
    assert_int_equal(zmq_setsockopt(foreign, ZMQ_PLAIN_USERNAME, passes.expect[NET_NEXT], 32), 0);
    assert_int_equal(zmq_connect(foreign, l.endpoint[NET_NEXT]), 0);
    for (int part = 0; part < 1000; part++)
        assert_int_equal(zmq_send(foreign, "part", 4, part < 999 ? ZMQ_SNDMORE : 0), 4);
    assert_int_equal(zmq_send(foreign, "whole", 5, 0), 5);
    OK(transport_receive_by(l.t, NET_NEXT, &b, support_end_ms(5)));
    SAME_BYTES(&b, "whole", 5);
    support_says(l.sink, "dropped a message in parts on link 0 from 1");
    zmq_close(foreign);
}

TEST(what_no_memory_can_hold_is_refused)
{
    struct transport_message m = {0};
    struct lonely l CLEAN(be_gone);
    be_lonely(&l);
    assert_int_equal(transport_make(l.t, SIZE_MAX, &m), ERR_NOMEM);
    assert_false(m.held);
}

TEST(what_zeromq_refuses_is_said)
{
    const struct netio_key_pair key = new_key_pair();
    char far_too_long[300];
    const struct {
        struct socket_options options;
        enum err e;
        const char *words;
    } bad[] = {
        {{.type = 9999}, ERR_MISUSE, "no ZeroMQ socket: Invalid argument"},
        {{.type = ZMQ_PULL,
          .own_public = key.public,
          .own_secret = key.secret,
          .zap_domain = far_too_long},
         ERR_SYSTEM,
         "ZeroMQ refused the domain ddd"},
    };
    struct lonely l CLEAN(be_gone);
    void *socket;
    be_lonely(&l);
    memset(far_too_long, 'd', sizeof far_too_long);
    far_too_long[sizeof far_too_long - 1] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(socket_new(&socket, netio_zmq(l.netio), &bad[i].options, &l.log),
                         bad[i].e);
        assert_null(socket);
        support_says(l.sink, bad[i].words);
    }
    OK(socket_new(&socket, netio_zmq(l.netio), &(struct socket_options){.type = ZMQ_PULL}, &l.log));
    assert_int_equal(socket_option(socket, 9999, 1, &l.log), ERR_SYSTEM);
    support_says(l.sink, "ZeroMQ refused option 9999: Invalid argument");
    zmq_close(socket);
}

static enum err wait_in_vain(struct net *net)
{
    uint8_t word;
    return net_exchange(
        net, &(struct net_exchange){.receive[NET_PREV] = &word, .receive_size[NET_PREV] = 1});
}

/* ZeroMQ's context ends under a session: nobody hangs, and nothing is mistaken for silence. */
TEST(links_that_are_closed_under_us_say_so)
{
    const struct net_exchange give = {.send[NET_NEXT] = "x", .send_size[NET_NEXT] = 1};
    struct session *session CLEAN(session_free);
    struct net_relay watch = {.damage = NONE};
    struct transport watched = {.ops = &relay_ops, .self = &watch};
    struct lonely l CLEAN(be_gone);
    be_lonely(&l);
    OK(session_for_test(&session, 0, 11));
    watch.inner = l.t;
    watch.ends = netio_zmq(l.netio);
    struct net *net CLEAN(net_free) = net_of(&watched, session, support_patience_ms(60), &l.log);
    assert_int_equal(wait_in_vain(net), ERR_MISUSE);
    support_says(l.sink, "waiting for the other servers failed in exchange 0 (other)");
    net_free(&net);
    net = net_of(l.t, session, support_patience_ms(60), &l.log);
    assert_int_equal(wait_in_vain(net), ERR_MISUSE);
    support_says(l.sink, "the link from server 2 failed in exchange 0 (other)");
    net_free(&net);
    net = net_of(l.t, session, support_patience_ms(60), &l.log);
    assert_int_equal(net_exchange(net, &give), ERR_MISUSE);
    support_says(l.sink, "the link to server 1 failed in exchange 0 (other)");
}
