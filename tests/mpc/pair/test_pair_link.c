/*
 * mpc/pair/ over a link: two servers as threads, ZeroMQ on loopback, sealed frames. A selection as
 * a study makes it, five messages, on breast cancer's pairs: the index is that of plain integers,
 * and exchanges and bytes are what they should be.
 */
#include "harness/cmocka.h"

#include "harness/netio.h"
#include "harness/patience.h"
#include "harness/session.h"
#include "mpc/pair/distance.h"
#include "mpc/pair/own_noise.h"
#include "mpc/pair/pick.h"
#include "netio/net.h"

#define CANDIDATES 55
#define CELLS 917
#define BITS 8
#define WIDTH 40
#define FACTOR 300 /* m */

static const size_t values[] = {2, 6, 3, 11, 7, 3, 3, 2, 6, 2};

struct selection {
    uint64_t x[CELLS], estimate[CELLS], penalty[CANDIDATES];
    uint64_t share[2][CELLS], gumbel[2][CANDIDATES];
    size_t size[CANDIDATES];
    struct selecting {
        unsigned index;
        struct selection *of;
        struct netio *netio;
        struct transport *link;
        enum err e;
        size_t picked;
        uint64_t sent, exchanges;
    } at[2];
};

/* One message of a run: the keeper's or the provider's. */
static enum err pass(struct net *net, struct pair_run *run, bool tables)
{
    const bool sends = (net_index(net) == PAIR_PROVIDER) == tables;
    const size_t size = tables ? pair_run_tables(run) : pair_run_matrix(run);
    const struct net_flow flow = {.to = NET_PREV,
                                  .from = NET_PREV,
                                  .send_size = sends ? size : 0,
                                  .receive_size = sends ? 0 : size,
                                  .produce = tables ? pair_send_tables : pair_send_matrix,
                                  .consume = tables ? pair_take_tables : pair_take_matrix,
                                  .self = run};
    return net_stream(net, &flow, 1);
}

static enum err say(struct net *net, enum pair_end by, void *bytes, size_t n)
{
    const bool sends = net_index(net) == by;
    return net_exchange(net, &(struct net_exchange){.send = {bytes},
                                                    .send_size = {sends ? n : 0},
                                                    .receive = {sends ? NULL : bytes},
                                                    .receive_size = {sends ? 0 : n}});
}

static enum err introduce(struct net *net, struct pair **pair, const uint8_t *id)
{
    const enum pair_end end = net_index(net) == 0 ? PAIR_PROVIDER : PAIR_KEEPER;
    uint8_t hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE];
    TRY(pair_new(pair, end, id));
    if (end == PAIR_KEEPER)
        TRY(pair_hello(*pair, hello));
    TRY(say(net, PAIR_KEEPER, hello, sizeof hello));
    if (end == PAIR_PROVIDER)
        TRY(pair_choose(*pair, hello, choices));
    TRY(say(net, PAIR_PROVIDER, choices, sizeof choices));
    return end == PAIR_KEEPER ? pair_chosen(*pair, choices) : ERR_OK;
}

/* Messages 1 and 2, then scores from shares of distances, each server with its own noise. */
static enum err score(struct selecting *s, struct net *net, struct pair *pair, uint64_t *value)
{
    struct pair_run *run CLEAN(pair_run_free) = NULL;
    struct pair_candidate candidate[CANDIDATES];
    size_t cell = 0;
    for (size_t k = 0; k < CANDIDATES; cell += s->of->size[k++])
        candidate[k] = (struct pair_candidate){s->of->size[k], s->of->share[s->index] + cell,
                                               s->of->estimate + cell, 3 << BITS};
    TRY(pair_distance_new(&run, pair,
                          &(struct pair_distance){candidate, CANDIDATES, BITS, 1 << 10, value}));
    TRY(pass(net, run, false));
    TRY(pass(net, run, true));
    for (size_t k = 0; k < CANDIDATES; k++) {
        value[k] -= s->index == PAIR_PROVIDER ? s->of->penalty[k] : 0;
        value[k] = FACTOR * value[k] + s->of->gumbel[s->index][k];
    }
    return ERR_OK;
}

static enum err pick(struct selecting *s, struct net *net, struct pair *pair)
{
    struct pair_run *run CLEAN(pair_run_free) = NULL;
    uint64_t value[CANDIDATES];
    struct pair_pick p = {.value = value, .candidates = CANDIDATES, .width = WIDTH};
    uint8_t proof[6 * 16];
    TRY(score(s, net, pair, value));
    TRY(pair_pick_new(&run, pair, &p));
    TRY(pass(net, run, false));
    TRY(pass(net, run, true));
    if (s->index == PAIR_KEEPER)
        TRY(pair_pick_prove(run, proof));
    TRY(say(net, PAIR_KEEPER, proof, pair_pick_proof(CANDIDATES)));
    if (s->index == PAIR_PROVIDER)
        TRY(pair_pick_verify(run, proof));
    s->picked = p.index;
    return ERR_OK;
}

static enum err serve(struct selecting *s)
{
    struct session *session CLEAN(session_free) = NULL;
    struct net *net CLEAN(net_free) = NULL;
    struct pair *pair CLEAN(pair_free) = NULL;
    struct net_options o = {.transport = s->link, .deadline_ms = support_patience_ms(10)};
    TRY(session_of_two_for_test(&session, s->index, 1));
    o.session = session;
    TRY(net_new(&net, &o));
    TRY(introduce(net, &pair, session->id));
    s->sent = net_total(net).payload_sent;
    s->exchanges = net_exchanges(net);
    TRY(pick(s, net, pair));
    s->sent = net_total(net).payload_sent - s->sent;
    s->exchanges = net_exchanges(net) - s->exchanges;
    return ERR_OK;
}

static void *run_server(void *self)
{
    struct selecting *s = self;
    s->e = serve(s);
    return NULL;
}

static void link_up(struct selection *s, struct netio *netio)
{
    char endpoint[2][ENDPOINT_SIZE];
    free_endpoints(endpoint, 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct transport_zmq_options o = {.netio = netio,
                                                .servers = 2,
                                                .index = i,
                                                .listen = {endpoint[i]},
                                                .dial = {endpoint[1 - i]},
                                                .max_message = (size_t)2 << 20,
                                                .depth = 4};
        static const uint8_t pass[2][TRANSPORT_PASS_SIZE] = {{1}, {1}};
        OK(transport_zmq_new(&s->at[i].link, &o));
        OK(transport_zmq_admit(s->at[i].link, pass));
    }
    for (unsigned i = 0; i < 2; i++) {
        static const uint8_t pass[2][TRANSPORT_PASS_SIZE] = {{1}, {1}};
        OK(transport_zmq_dial(s->at[i].link, pass));
    }
}

static void fill(struct selection *s, uint64_t seed)
{
    struct random r = random_of(seed);
    size_t n = 0;
    for (size_t a = 0; a < 10; a++) {
        s->size[n++] = values[a];
        for (size_t b = a + 1; b < 10; b++)
            s->size[n++] = values[a] * values[b];
    }
    for (size_t i = 0; i < CELLS; i++) {
        s->x[i] = random_below(&r, i % 3 == 0 ? 200 : 5);
        s->estimate[i] = random_below(&r, 9 << 10);
        s->share[0][i] = random_u64(&r);
        s->share[1][i] = s->x[i] - s->share[0][i];
    }
    for (size_t k = 0; k < CANDIDATES; k++)
        s->penalty[k] = random_below(&r, s->size[k] << 15);
    own_gumbel(&r, s->gumbel[0], CANDIDATES);
    own_gumbel(&r, s->gumbel[1], CANDIDATES);
}

/* In plain integers. */
static size_t largest(const struct selection *s)
{
    int64_t best = INT64_MIN;
    size_t index = 0, cell = 0;
    for (size_t k = 0; k < CANDIDATES; cell += s->size[k++]) {
        uint64_t sum = 0;
        for (size_t i = cell; i < cell + s->size[k]; i++)
            sum += s->x[i] << 10 > s->estimate[i] ? (s->x[i] << 10) - s->estimate[i]
                                                  : s->estimate[i] - (s->x[i] << 10);
        sum = sum < 3 << BITS << 10 ? sum : 3 << BITS << 10;
        int64_t v = (int64_t)(FACTOR * (sum - s->penalty[k]) + s->gumbel[0][k] + s->gumbel[1][k]);
        if (v > best) {
            best = v;
            index = k;
        }
    }
    return index;
}

static void select_over_a_link(struct selection *s)
{
    pthread_t thread[2];
    OK(secret_start());
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, NULL);
    link_up(s, netio);
    for (unsigned i = 0; i < 2; i++) {
        s->at[i].index = i;
        s->at[i].of = s;
        assert_int_equal(pthread_create(&thread[i], NULL, run_server, &s->at[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 2; i++) {
        OK(s->at[i].e);
        transport_free(&s->at[i].link);
    }
}

TEST(a_selection_takes_five_messages)
{
    unsigned different = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct selection s = {0};
        const uint64_t ands[2] = {29870, 39 * 55 + 80 * 54 - 40 + 50};
        fill(&s, seed);
        select_over_a_link(&s);
        assert_int_equal(s.at[0].picked, largest(&s));
        assert_int_equal(s.at[1].picked, largest(&s));
        different |= 1u << largest(&s) % 32;
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(s.at[i].exchanges, 5);
        assert_int_equal(s.at[0].sent, 2 * 32 + 32 * (ands[0] + ands[1]) + 8 * 55 + 1);
        assert_int_equal(s.at[1].sent, 16 * 8320 + 16 * 2304 + 6 * 16);
        assert_true(s.at[0].sent + s.at[1].sent < 1460000);
    }
    assert_true(__builtin_popcount(different) > 1);
}
