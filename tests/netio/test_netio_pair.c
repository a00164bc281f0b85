/*
 * netio/: two servers, each with one neighbour: handshake over CURVE links, rounds over bare ones.
 * Threads collect results; the main thread asserts.
 */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "harness/netio.h"
#include "harness/patience.h"
#include "harness/transport.h"
#include "netio/net.h"

#define LONG (((size_t)3 << 20) + 5)

struct pair_server {
    unsigned index;
    struct transport *control, *bulk;
    struct terms terms;
    struct session_offer offer;
    struct session *session;
    struct net *net;
    enum err (*job)(struct pair_server *s);
    enum err e;
    unsigned heard;     /* how often the statement was */
    bool early;         /* the payload was there before it */
    size_t made, used;  /* of a stream */
    uint8_t said, came; /* statements */
    uint8_t in[300];    /* a payload */
    char sink[4096];
};

/* --- two servers ------------------------------------------------------------------------------ */

static void link_up(struct pair_server s[2], struct netio *netio)
{
    char endpoint[4][ENDPOINT_SIZE];
    const struct netio_key_pair key[2] = {new_key_pair(), new_key_pair()};
    free_endpoints(endpoint, 4);
    for (unsigned i = 0; i < 2; i++) {
        struct transport_zmq_options o = {.netio = netio,
                                          .servers = 2,
                                          .index = i,
                                          .listen = {endpoint[2 + i]},
                                          .dial = {endpoint[3 - i]},
                                          .max_message = (size_t)2 << 20,
                                          .depth = 4};
        OK(transport_zmq_new(&s[i].bulk, &o));
        o.listen[NET_PREV] = endpoint[i];
        o.dial[NET_PREV] = endpoint[1 - i];
        o.curve_public = key[i].public;
        o.curve_secret = key[i].secret;
        o.peer_public[NET_PREV] = key[1 - i].public;
        OK(transport_zmq_new(&s[i].control, &o));
    }
}

static enum err meet(struct pair_server *s, struct log *log)
{
    const int64_t patience_ms = support_patience_ms(10);
    struct net_options o = {.transport = s->bulk, .deadline_ms = patience_ms, .log = log};
    struct bytes propose CLEAN(bytes_clear) = {0};
    secret_random(&s->offer.passes, sizeof s->offer.passes);
    TRY(transport_zmq_admit(s->bulk,
                            (const uint8_t(*)[TRANSPORT_PASS_SIZE])s->offer.passes.expect));
    while (s->index == 1 && !session_is_propose(&propose))
        TRY(transport_receive_by(s->control, NET_PREV, &propose, clock_now_ms() + patience_ms));
    TRY(session_open(&s->session, s->control, 2, s->index, &s->terms,
                     s->index == 0 ? NULL : &propose, &s->offer, patience_ms, log));
    TRY(transport_zmq_dial(s->bulk, (const uint8_t(*)[TRANSPORT_PASS_SIZE])s->offer.passes.show));
    o.session = s->session;
    TRY(net_new(&s->net, &o));
    return net_greet(s->net);
}

static void *run_server(void *self)
{
    struct pair_server *s = self;
    struct log log = {.buffer = s->sink, .buffer_size = sizeof s->sink, .level = LOG_INFO};
    s->e = meet(s, &log);
    if (s->e == ERR_OK && s->job != NULL)
        s->e = s->job(s);
    return NULL;
}

struct both {
    struct netio *netio;
    struct pair_server at[2];
};

static void run_pair(struct both *p, enum err (*job)(struct pair_server *s), uint8_t other_terms)
{
    pthread_t thread[2];
    OK(netio_new(&p->netio, NULL));
    for (unsigned i = 0; i < 2; i++)
        p->at[i] = (struct pair_server){.index = i,
                                        .terms = {.parts = 1, .digest = {i == 1 ? other_terms : 0}},
                                        .offer = {.lanes = 2 + i},
                                        .job = job};
    link_up(p->at, p->netio);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(p->at[i].terms.part[0].name, sizeof p->at[i].terms.part[0].name, "budget");
        memcpy(p->at[i].terms.part[0].digest, p->at[i].terms.digest, 32);
        assert_int_equal(pthread_create(&thread[i], NULL, run_server, &p->at[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

static void end_pair(struct both *p)
{
    for (unsigned i = 0; i < 2; i++) {
        net_free(&p->at[i].net);
        session_free(&p->at[i].session);
        transport_free(&p->at[i].bulk);
        transport_free(&p->at[i].control);
    }
    netio_free(&p->netio);
}

static void expect(const struct both *p, enum err zero, enum err one)
{
    if (p->at[0].e != zero || p->at[1].e != one)
        fail_msg("server 0: %s\n%s\nserver 1: %s\n%s", error_text(p->at[0].e), p->at[0].sink,
                 error_text(p->at[1].e), p->at[1].sink);
}

/* --- the session ------------------------------------------------------------------------------ */

TEST(two_agree_on_a_session_and_its_keys)
{
    struct both p CLEAN(end_pair) = {0};
    const struct pair_server *a = &p.at[0], *b = &p.at[1];
    uint8_t key[2][2][16];
    run_pair(&p, NULL, 0);
    expect(&p, ERR_OK, ERR_OK);
    assert_memory_equal(a->session->id, b->session->id, SESSION_ID_SIZE);
    assert_memory_equal(a->session->pair_secret[NET_PREV], b->session->pair_secret[NET_PREV],
                        SESSION_SECRET_SIZE);
    assert_null(a->session->pair_secret[NET_NEXT]);
    assert_int_equal(a->offer.lanes, 2);
    assert_int_equal(b->offer.lanes, 2);
    assert_int_equal(b->offer.most, 3);
    for (unsigned sending = 0; sending < 2; sending++) {
        OK(session_bulk_key(a->session, NET_PREV, sending, 0, key[0][sending]));
        OK(session_bulk_key(b->session, NET_PREV, !sending, 0, key[1][sending]));
        assert_memory_equal(key[0][sending], key[1][sending], 16);
    }
    assert_memory_not_equal(key[0][0], key[0][1], 16);
    for (unsigned k = 0; k < 2; k++) { /* two servers have no secret from each other in these */
        OK(session_prg_key(a->session, k, 0, "x", key[0][k]));
        OK(session_prg_key(b->session, k, 0, "x", key[1][k]));
        assert_memory_equal(key[0][k], key[1][k], 16);
    }
    assert_memory_not_equal(key[0][0], key[0][1], 16);
    assert_int_equal(session_prg_key(a->session, 2, 0, "x", key[0][0]), ERR_MISUSE);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(net_servers(p.at[i].net), 2);
        assert_int_equal(net_index(p.at[i].net), i);
        assert_int_equal(net_neighbour(p.at[i].net, NET_PREV), 1 - i);
    }
}

TEST(both_name_what_differs)
{
    struct both p CLEAN(end_pair) = {0};
    run_pair(&p, NULL, 9);
    expect(&p, ERR_MISMATCH, ERR_MISMATCH);
    assert_non_null(strstr(p.at[0].sink, "server 1 has other terms than we: \"budget\" differs"));
    assert_non_null(strstr(p.at[1].sink, "server 0 has other terms than we: \"budget\" differs"));
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum err hear(void *self)
{
    struct pair_server *s = self;
    s->heard++;
    s->early = s->in[0] != 0;
    return ERR_OK;
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct pair_server *s = self;
    if (offset != s->made)
        return ERR_DATA;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((offset + i) % 251 + s->index);
    s->made += n;
    return ERR_OK;
}

static enum err consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct pair_server *s = self;
    for (size_t i = 0; i < n; i++)
        if (in[i] != (uint8_t)((offset + i) % 251 + 1 - s->index))
            return ERR_DATA;
    s->used += n;
    return ERR_OK;
}

/* Server i sends 100 i + 100 bytes under a statement, then a stream of its own length. */
static enum err talk(struct pair_server *s)
{
    const size_t mine = 100 * s->index + 100, theirs = 300 - mine;
    const struct net_flow flow = {.to = NET_PREV,
                                  .from = NET_PREV,
                                  .send_size = LONG + s->index,
                                  .receive_size = LONG + 1 - s->index,
                                  .produce = produce,
                                  .consume = consume,
                                  .self = s};
    uint8_t out[300];
    s->said = (uint8_t)(50 + s->index);
    memset(out, (int)(7 + s->index), sizeof out);
    net_ride(s->net, &(struct net_rider){.blocks = {.send = {&s->said},
                                                    .send_size = {1},
                                                    .receive = {&s->came},
                                                    .receive_size = {1}},
                                         .heard = hear,
                                         .self = s});
    TRY(net_exchange(s->net, &(struct net_exchange){.send = {out},
                                                    .send_size = {mine},
                                                    .receive = {s->in},
                                                    .receive_size = {theirs}}));
    return net_stream(s->net, &flow, 1);
}

TEST(two_exchange_ride_and_stream)
{
    struct both p CLEAN(end_pair) = {0};
    run_pair(&p, talk, 0);
    expect(&p, ERR_OK, ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        const struct pair_server *s = &p.at[i];
        const struct net_counters all = net_total(s->net);
        const size_t mine = 100 * i + 100, theirs = 300 - mine;
        assert_int_equal(s->heard, 1);
        assert_false(s->early);
        assert_int_equal(s->came, 50 + 1 - i);
        for (size_t k = 0; k < sizeof s->in; k++)
            assert_int_equal(s->in[k], k < theirs ? 7 + 1 - i : 0);
        assert_int_equal(s->made, LONG + i);
        assert_int_equal(s->used, LONG + 1 - i);
        assert_int_equal(all.exchanges, 3); /* the first is the greeting */
        assert_int_equal(all.payload_sent, 1 + 1 + mine + LONG + i);
        assert_int_equal(all.payload_received, 1 + 1 + theirs + LONG + 1 - i);
    }
}

/* Server 1 gives up; server 0 hears of it where it waits. */
static enum err give_up(struct pair_server *s)
{
    if (s->index == 1) {
        net_abort(s->net);
        return ERR_OK;
    }
    return net_exchange(s->net, &(struct net_exchange){.receive = {s->in}, .receive_size = {1}});
}

TEST(one_hears_that_the_other_gives_up)
{
    struct both p CLEAN(end_pair) = {0};
    run_pair(&p, give_up, 0);
    expect(&p, ERR_PEER, ERR_OK);
}

/* There is nobody at NET_NEXT: a flow there is a mistake, and ends the session. */
static enum err stream_to_nobody(struct pair_server *s)
{
    const struct net_flow flow = {.to = NET_NEXT, .from = NET_NEXT};
    return net_stream(s->net, &flow, 1);
}

static enum err stream_twice(struct pair_server *s)
{
    const struct net_flow flow[2] = {{.to = NET_PREV, .from = NET_PREV},
                                     {.to = NET_NEXT, .from = NET_NEXT}};
    return net_stream(s->net, flow, 2);
}

TEST(a_flow_to_nobody_is_refused)
{
    for (unsigned k = 0; k < 2; k++) {
        struct both p CLEAN(end_pair) = {0};
        run_pair(&p, k == 0 ? stream_to_nobody : stream_twice, 0);
        expect(&p, ERR_MISUSE, ERR_MISUSE);
    }
}
