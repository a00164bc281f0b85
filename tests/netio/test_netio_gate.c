/* netio/: the gate and those who knock, over real CURVE sockets. */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "harness/netio.h"
#include "harness/patience.h"
#include "netio/context.h"
#include "netio/dial.h"
#include "netio/events.h"
#include "netio/gate.h"
#include "netio/socket.h"
#include "netio/watch.h"
#include "tests/support/socket.h"
#include "tests/support/withhold.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

#define MAX_MESSAGE 4096

struct gate_house {
    struct netio *inside, *outside; /* the server's process and the clients' */
    struct gate *gate;
    char endpoint[1][ENDPOINT_SIZE];
    struct netio_key_pair server, client[3]; /* client i is user 100 + i */
    struct log log, outside_log;
    char sink[32768], outside_sink[4096];
    size_t connections, of_a_key, memory; /* of the gate; 0: its default bounds */
    int64_t message_ms;
    struct gate_client from; /* who was last heard */
    struct bytes b;          /* and what it said */
};

static struct gate_options gate_of(struct gate_house *h)
{
    return (struct gate_options){.netio = h->inside,
                                 .listen = h->endpoint[0],
                                 .curve_public = h->server.public,
                                 .curve_secret = h->server.secret,
                                 .max_message = MAX_MESSAGE,
                                 .max_connections = h->connections,
                                 .max_of_a_key = h->of_a_key,
                                 .max_memory = h->memory,
                                 .message_ms = h->message_ms,
                                 .log = &h->log};
}

static struct gate_house *build_at(const char *host, const struct gate_house *bounds)
{
    struct gate_house *h = memory_array(1, sizeof *h);
    char port[8];
    assert_non_null(h);
    *h = *bounds;
    h->log = (struct log){.buffer = h->sink, .buffer_size = sizeof h->sink, .level = LOG_DEBUG};
    h->outside_log = (struct log){
        .buffer = h->outside_sink, .buffer_size = sizeof h->outside_sink, .level = LOG_DEBUG};
    h->server = new_key_pair();
    OK(netio_new(&h->inside, NULL));
    OK(netio_new(&h->outside, NULL));
    for (uint32_t i = 0; i < 3; i++) {
        h->client[i] = new_key_pair();
        OK(netio_allow(h->inside, "gate", h->client[i].public, 100 + i));
    }
    free_endpoints(h->endpoint, 1);
    snprintf(port, sizeof port, "%s", strrchr(h->endpoint[0], ':') + 1);
    snprintf(h->endpoint[0], ENDPOINT_SIZE, "tcp://%s:%s", host, port);
    struct gate_options o = gate_of(h);
    OK(gate_new(&h->gate, &o));
    return h;
}

#define BUILD(...) build_at("127.0.0.1", &(const struct gate_house){__VA_ARGS__})

static void pull_down(struct gate_house **house)
{
    struct gate_house *h = *house;
    bytes_clear(&h->b);
    gate_free(&h->gate);
    netio_free(&h->outside);
    netio_free(&h->inside);
    memory_free(house);
}

static struct dial_options dial_as(struct gate_house *h, const struct netio_key_pair *key)
{
    return (struct dial_options){.netio = h->outside,
                                 .endpoint = h->endpoint[0],
                                 .server_public = h->server.public,
                                 .curve_public = key->public,
                                 .curve_secret = key->secret,
                                 .max_message = MAX_MESSAGE,
                                 .log = &h->outside_log};
}

static struct dial *knock(struct gate_house *h, const struct netio_key_pair *key,
                          const uint8_t *server)
{
    struct dial_options o = dial_as(h, key);
    o.server_public = server;
    struct dial *d = MADE(dial, dial_new, &o);
    return d;
}

static void expect_message(const struct bytes *b, const char *text)
{
    SAME_BYTES(b, text, strlen(text));
}

static void say(struct dial *d, const char *text)
{
    OK(dial_send(d, false, text, strlen(text), support_end_ms(10)));
}

/* The next message from anybody: with that text, or with any if it is NULL. */
static void hear(struct gate_house *h, const char *text)
{
    OK(gate_receive(h->gate, &h->from, &h->b, support_end_ms(10)));
    if (text != NULL)
        expect_message(&h->b, text);
}

static void hear_nothing(struct gate_house *h, int64_t ms)
{
    assert_int_equal(gate_receive(h->gate, &h->from, &h->b, support_moment(ms)), ERR_TIMEOUT);
}

static void expect_answer(struct gate_house *h, struct dial *d, const char *text)
{
    OK(dial_receive(d, &h->b, support_end_ms(10)));
    expect_message(&h->b, text);
}

static void ask_and_answer(struct gate_house *h, struct dial *d, uint32_t user)
{
    say(d, "who?");
    hear(h, NULL);
    assert_int_equal(h->from.user, user);
    OK(gate_reply(h->gate, &h->from, "you", 3));
    expect_answer(h, d, "you");
}

TEST(users_are_known_by_their_keys)
{
    struct dial *d[3];
    struct gate_client from[3];
    char text[16];
    struct gate_house *h CLEAN(pull_down) = BUILD();
    for (uint32_t i = 0; i < 3; i++) {
        d[i] = knock(h, &h->client[i], h->server.public);
        snprintf(text, sizeof text, "I am %u", i);
        OK(dial_send(d[i], false, text, strlen(text), support_end_ms(10)));
        OK(gate_receive(h->gate, &from[i], &h->b, support_end_ms(10)));
        expect_message(&h->b, text);
        assert_int_equal(from[i].user, 100 + i);
    }
    /* answers find their way in any order */
    for (uint32_t i = 3; i-- > 0;) {
        snprintf(text, sizeof text, "you are %u", i);
        OK(gate_reply(h->gate, &from[i], text, strlen(text)));
    }
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t sent = 0, received = 0;
        snprintf(text, sizeof text, "you are %u", i);
        expect_answer(h, d[i], text);
        dial_traffic(d[i], &sent, &received);
        assert_int_equal(sent, 6);
        assert_int_equal(received, 9);
        assert_int_equal(dial_receive(d[i], &h->b, support_moment(20)), ERR_TIMEOUT);
        dial_free(&d[i]);
    }
}

/*
 * If events found no room, ZeroMQ's thread would wait for us, and no connection of the program
 * would work.
 */
TEST(what_a_watch_sees_has_room)
{
    struct watch *watch;
    int bound = -1;
    size_t size = sizeof bound;
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, NULL);
    void *socket = zmq_socket(netio_zmq(netio), ZMQ_DEALER);
    OK(watch_new(&watch, netio_zmq(netio), socket, "tcp://127.0.0.1:1", NULL));
    assert_int_equal(zmq_getsockopt(watch_socket(watch), ZMQ_RCVHWM, &bound, &size), 0);
    assert_int_equal(bound, 0);
    watch_free(&watch);
    zmq_close(socket);
}

/* Whoever is away is dialled at least once a second. */
TEST(links_are_dialled_again_within_a_second)
{
    const struct socket_options o = {.type = ZMQ_DEALER};
    void *socket;
    int first = 0, most = 0;
    size_t size = sizeof first;
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, NULL);
    OK(socket_new(&socket, netio_zmq(netio), &o, NULL));
    assert_int_equal(zmq_getsockopt(socket, ZMQ_RECONNECT_IVL, &first, &size), 0);
    assert_int_equal(zmq_getsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &most, &size), 0);
    assert_in_range(first, 1, 100);
    assert_in_range(most, first, 1000); /* 0: no more than the first; here it doubles */
    zmq_close(socket);
}

/* Breaks and refusals that ZeroMQ would not tell of. */
TEST(a_watched_dial_notices_and_comes_back)
{
    struct netio_key_pair late = new_key_pair();
    enum err e = ERR_TIMEOUT;
    double end = support_deadline(10);
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d CLEAN(dial_free) = knock(h, &late, h->server.public);
    OK(dial_watch(d));
    assert_int_equal(dial_send(d, false, "let me in", 9, support_moment(300)), ERR_TIMEOUT);
    /* the list is amended: the same dial gets through */
    OK(netio_allow(h->inside, "gate", late.public, 9));
    while (e == ERR_TIMEOUT && support_again(end))
        e = dial_send(d, false, "now?", 4, support_moment(500));
    OK(e);
    hear(h, NULL);
    assert_int_equal(h->from.user, 9);
    OK(gate_reply(h->gate, &h->from, "yes", 3));
    expect_answer(h, d, "yes");
    assert_int_equal(dial_receive(d, &h->b, support_moment(50)), ERR_TIMEOUT);
    /* the gate ends before it answers */
    say(d, "still there?");
    gate_free(&h->gate);
    GIVES(dial_receive(d, &h->b, support_end_ms(10)), ERR_PEER, h->outside_sink, "broke");
}

/* Even a connection that stood before it was watched. */
TEST(a_break_is_told_to_one_who_watches_late)
{
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    OK(dial_reach(d, support_end_ms(10)));
    OK(dial_watch(d));
    say(d, "still there?");
    hear(h, NULL);
    gate_free(&h->gate);
    assert_int_equal(dial_receive(d, &h->b, support_end_ms(10)), ERR_PEER);
}

/* ZeroMQ closes a socket's port in its own thread: until then a client may still get in. */
static void wait_until_closed(const char *endpoint)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    double end = support_deadline(5);
    bool open = true;
    a.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    while (open && support_again(end)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        open = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
        close(fd);
    }
    assert_false(open);
}

/*
 * Two answers and a break: none, one or both arrive, in order, and then the break is reported;
 * nobody waits in vain.
 */
TEST(a_break_is_told_until_something_is_sent)
{
    struct dial *d;
    for (int already = 0; already <= 2; already++) {
        enum err e = ERR_OK;
        struct gate_house *h CLEAN(pull_down) = BUILD();
        d = knock(h, &h->client[0], h->server.public);
        OK(dial_watch(d));
        say(d, "both, please");
        hear(h, NULL);
        OK(gate_reply(h->gate, &h->from, "1", 1));
        OK(gate_reply(h->gate, &h->from, "2", 1));
        for (int i = 1; i <= already; i++) {
            expect_answer(h, d, i == 1 ? "1" : "2");
        }
        gate_free(&h->gate);
        for (int i = already + 1; e == ERR_OK; i++) {
            e = dial_receive(d, &h->b, support_end_ms(10));
            if (e == ERR_OK)
                expect_message(&h->b, i == 1 ? "1" : "2");
        }
        assert_int_equal(e, ERR_PEER);
        assert_int_equal(dial_receive(d, &h->b, support_end_ms(10)), ERR_PEER);
        dial_free(&d);
    }
}

TEST(strangers_get_nothing)
{
    struct netio_key_pair stranger = new_key_pair(), other_server = new_key_pair();
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d = knock(h, &stranger, h->server.public);
    assert_int_equal(dial_send(d, false, "let me in", 9, support_moment(200)), ERR_TIMEOUT);
    dial_free(&d);
    d = knock(h, &h->client[0], other_server.public); /* not the server that we expect */
    assert_int_equal(dial_send(d, false, "hello", 5, support_moment(200)), ERR_TIMEOUT);
    support_says(h->outside_sink, h->endpoint[0]);
    dial_free(&d);
    hear_nothing(h, 20);

    /* admitted later, and dismissed again: the list may change while the gate stands */
    OK(netio_allow(h->inside, "gate", stranger.public, 7));
    d = knock(h, &stranger, h->server.public);
    say(d, "now?");
    hear(h, NULL);
    assert_int_equal(h->from.user, 7);
    dial_free(&d);
    netio_disallow(h->inside, "gate", stranger.public);
    netio_disallow(h->inside, "gate", stranger.public); /* it has gone already */
    d = knock(h, &stranger, h->server.public);
    assert_int_equal(dial_send(d, false, "still?", 6, support_moment(200)), ERR_TIMEOUT);
    dial_free(&d);
    /* and a key of another domain is not a key of the gate */
    OK(netio_allow(h->inside, "cellar", stranger.public, 7));
    d = knock(h, &stranger, h->server.public);
    assert_int_equal(dial_send(d, false, "and now?", 8, support_moment(200)), ERR_TIMEOUT);
    dial_free(&d);
}

TEST(nobody_there_is_a_timeout)
{
    uint64_t sent = 0, received = 0;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    gate_free(&h->gate);
    wait_until_closed(h->endpoint[0]);
    struct dial *d CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    assert_int_equal(dial_send(d, false, "hello", 5, support_moment(150)), ERR_TIMEOUT);
    dial_traffic(d, &sent, &received);
    assert_int_equal(sent, 0);
}

/*
 * A dial that is in a hurry hears at once that nobody listens, that there is no such host, or that
 * its key is turned away.
 */
TEST(an_impatient_dial_hears_why)
{
    struct netio_key_pair stranger = new_key_pair();
    enum err e = ERR_OK;
    double end = support_deadline(20);
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial_options o = dial_as(h, &stranger);
    o.impatient = true;
    struct dial *d = MADE(dial, dial_new, &o);
    OK(dial_watch(d));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(dial_send(d, false, "hello", 5, support_end_ms(10)), ERR_AUTH);
    support_says(h->outside_sink, "does not admit this key: it is revoked");
    /* let in a moment later, it gets through */
    OK(netio_allow(h->inside, "gate", stranger.public, 103));
    ask_and_answer(h, d, 103);
    gate_free(&h->gate);
    wait_until_closed(h->endpoint[0]);
    /* ZeroMQ may take one more message at the end for the connection that stood */
    while (e == ERR_OK && support_again(end))
        e = dial_send(d, false, "hello", 5, support_end_ms(10));
    GIVES(e, ERR_TIMEOUT, h->outside_sink, ": nobody listens there");
    dial_free(&d);
    o.endpoint = "tcp://no-such-host.invalid:7100";
    OK(dial_new(&d, &o));
    OK(dial_watch(d));
    assert_int_equal(dial_send(d, false, "hello", 5, support_end_ms(10)), ERR_TIMEOUT);
    support_says(h->outside_sink, "tcp://no-such-host.invalid:7100: nobody");
    dial_free(&d);
}

/* --- front and worker ------------------------------------------------------------------------- */

struct gate_worker {
    struct gate_port *port;
    enum err e;
    size_t seen;
    atomic_bool ended;
};

/* Answers each message with "user: message", until one says "stop". */
static void *work(void *argument)
{
    struct gate_worker *w = argument;
    struct bytes b = {0};
    bool stop = false;
    while (w->e == ERR_OK && !stop) {
        struct gate_client from;
        char text[64];
        int n;
        w->e = gate_port_receive(w->port, &from, &b, NULL, support_end_ms(10));
        if (w->e != ERR_OK)
            break;
        stop = b.size == 4 && memcmp(b.data, "stop", 4) == 0;
        n = snprintf(text, sizeof text, "%u: %.*s", from.user, (int)b.size, (const char *)b.data);
        w->e = gate_port_reply(w->port, &from, text, (size_t)n);
        w->seen++;
    }
    bytes_clear(&b);
    gate_port_free(&w->port);
    atomic_store(&w->ended, true);
    return NULL;
}

struct customer {
    struct dial *dial;
    unsigned user;
    size_t count;
    enum err e;
    bool right;
    atomic_bool ended;
};

static void *buy(void *argument)
{
    struct customer *c = argument;
    struct bytes b CLEAN(bytes_clear) = {0};
    c->right = true;
    for (size_t i = 0; i < c->count && c->e == ERR_OK; i++) {
        char text[32], answer[64];
        snprintf(text, sizeof text, "order %zu", i);
        snprintf(answer, sizeof answer, "%u: order %zu", c->user, i);
        c->e = dial_send(c->dial, false, text, strlen(text), support_end_ms(10));
        if (c->e == ERR_OK)
            c->e = dial_receive(c->dial, &b, support_end_ms(10));
        if (c->e == ERR_OK)
            c->right = c->right && b.size == strlen(answer) && memcmp(b.data, answer, b.size) == 0;
    }
    atomic_store(&c->ended, true);
    return NULL;
}

/* Three clients with 400 orders each; every second order goes through the worker. */
TEST(many_clients_are_served)
{
    struct gate_worker w = {0};
    struct customer c[3] = {{0}};
    struct gate_client from = {0};
    pthread_t worker, customer[3];
    size_t got = 0;
    enum err e = ERR_OK;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    w.port = gate_port(h->gate);
    assert_non_null(w.port);
    for (unsigned i = 0; i < 3; i++)
        c[i] = (struct customer){
            .dial = knock(h, &h->client[i], h->server.public), .user = 100 + i, .count = 400};
    assert_int_equal(pthread_create(&worker, NULL, work, &w), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&customer[i], NULL, buy, &c[i]), 0);
    for (; got < 1200 && e == ERR_OK; got++) {
        char text[64];
        int n;
        e = gate_receive(h->gate, &from, &h->b, support_end_ms(10));
        if (e == ERR_OK && got % 2 == 0) {
            e = gate_pass(h->gate, &from, h->b.data, h->b.size);
        } else if (e == ERR_OK) {
            n = snprintf(text, sizeof text, "%u: %.*s", from.user, (int)h->b.size,
                         (const char *)h->b.data);
            e = gate_reply(h->gate, &from, text, (size_t)n);
        }
    }
    if (e == ERR_OK)
        e = gate_pass(h->gate, &from, "stop", 4);
    /* the last answers of the worker still go through the front */
    do
        hear_nothing(h, 20);
    while (!atomic_load(&w.ended) || !atomic_load(&c[0].ended) || !atomic_load(&c[1].ended) ||
           !atomic_load(&c[2].ended));
    for (unsigned i = 0; i < 3; i++)
        pthread_join(customer[i], NULL);
    pthread_join(worker, NULL);
    OK(e);
    OK(w.e);
    assert_int_equal(w.seen, 601);
    for (unsigned i = 0; i < 3; i++) {
        OK(c[i].e);
        assert_true(c[i].right);
        dial_free(&c[i].dial);
    }
}

/* A client that asks a thousand times before it reads. */
TEST(a_thousand_messages_wait_for_their_reader)
{
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d CLEAN(dial_free) = knock(h, &h->client[1], h->server.public);
    for (uint32_t i = 0; i < 1000; i++) {
        if (i % (GATE_REPLIES / 4) == 0)
            support_pause_ms(
                2); /* ZeroMQ checks no more often how many answers have left the gate */
        OK(dial_send(d, false, &i, sizeof i, support_end_ms(10)));
        hear(h, NULL);
        SAME_BYTES(&h->b, &i, sizeof i);
        OK(gate_reply(h->gate, &h->from, &i, sizeof i));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        OK(dial_receive(d, &h->b, support_end_ms(10)));
        assert_memory_equal(h->b.data, &i, sizeof i);
    }
}

TEST(a_client_that_never_reads_holds_nobody)
{
    static const uint8_t big[MAX_MESSAGE];
    struct gate_client lazy, keen;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d = knock(h, &h->client[0], h->server.public);
    say(d, "x");
    OK(gate_receive(h->gate, &lazy, &h->b, support_end_ms(10)));
    for (int i = 0; i < 20000; i++) /* 80 MB: far beyond what any queue on the way holds */
        OK(gate_reply(h->gate, &lazy, big, sizeof big));
    struct dial *other = knock(h, &h->client[1], h->server.public);
    say(other, "y");
    OK(gate_receive(h->gate, &keen, &h->b, support_end_ms(10)));
    OK(gate_reply(h->gate, &keen, "z", 1));
    expect_answer(h, other, "z");
    dial_free(&other);
    dial_free(&d);
    /* nor does one that has left */
    OK(gate_reply(h->gate, &lazy, "z", 1));
}

/*
 * Messages too large for memory are not half sent: the next answer, and the next message to the
 * worker, arrive where they should.
 */
TEST(what_fails_leaves_nothing_behind)
{
    struct gate_client alice, bob, from;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct gate_port *port CLEAN(gate_port_free) = gate_port(h->gate);
    assert_non_null(port);
    struct dial *a CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    struct dial *other CLEAN(dial_free) = knock(h, &h->client[1], h->server.public);
    say(a, "x");
    OK(gate_receive(h->gate, &alice, &h->b, support_end_ms(10)));
    say(other, "x");
    OK(gate_receive(h->gate, &bob, &h->b, support_end_ms(10)));
    assert_int_equal(gate_reply(h->gate, &alice, "x", SIZE_MAX), ERR_NOMEM);
    OK(gate_reply(h->gate, &bob, "for bob", 7));
    expect_answer(h, other, "for bob");
    OK(gate_reply(h->gate, &alice, "for alice", 9));
    expect_answer(h, a, "for alice");
    assert_int_equal(gate_pass(h->gate, &alice, "x", SIZE_MAX), ERR_NOMEM);
    OK(gate_pass(h->gate, &bob, "of bob", 6));
    OK(gate_port_receive(port, &from, &h->b, NULL, support_end_ms(10)));
    assert_int_equal(from.user, bob.user);
    expect_message(&h->b, "of bob");
    assert_int_equal(gate_port_reply(port, &alice, "x", SIZE_MAX), ERR_NOMEM);
    OK(gate_port_reply(port, &bob, "again", 5));
    assert_int_equal(gate_receive(h->gate, &from, &h->b, support_moment(100)), ERR_TIMEOUT);
    expect_answer(h, other, "again");
    assert_int_equal(dial_receive(a, &h->b, support_moment(20)), ERR_TIMEOUT);
}

/*
 * GATE_WAITING_OF_A_KEY messages of one key wait, so that others find room; GATE_BACKLOG of all
 * keys together.
 */
TEST(the_worker_may_be_busy_or_gone)
{
    struct gate_client from = {.user = 1}, other = from;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    assert_int_equal(gate_pass(h->gate, &from, "x", 1), ERR_AGAIN); /* there never was one */
    struct gate_port *port CLEAN(gate_port_free) = gate_port(h->gate);
    assert_non_null(port);
    assert_int_equal(gate_port_receive(port, &from, &h->b, NULL, support_moment(20)), ERR_TIMEOUT);
    for (unsigned round = 0; round < 3; round++) {
        size_t passed = 0;
        for (from.user = 1; passed < GATE_BACKLOG; from.user++) {
            for (unsigned i = 0; i < GATE_WAITING_OF_A_KEY; i++, passed++)
                OK(gate_pass(h->gate, &from, "x", 1));
            assert_int_equal(gate_pass(h->gate, &from, "x", 1), ERR_AGAIN);
        }
        assert_int_equal(gate_pass(h->gate, &from, "x", 1), ERR_AGAIN);
        for (; passed > 0; passed--)
            OK(gate_port_receive(port, &other, &h->b, NULL, support_end_ms(10)));
    }
}

/* --- clients that do not behave --------------------------------------------------------------- */

static void *raw_client(struct gate_house *h, const void *route, size_t size)
{
    void *s = zmq_socket(netio_zmq(h->outside), ZMQ_DEALER);
    const int linger = 0;
    assert_non_null(s);
    if (route != NULL)
        zmq_setsockopt(s, ZMQ_ROUTING_ID, route, size);
    zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, h->client[2].public, 32);
    zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, h->client[2].secret, 32);
    zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, h->server.public, 32);
    assert_int_equal(zmq_connect(s, h->endpoint[0]), 0);
    return s;
}

/*
 * Messages that no program of ours sends are ignored, and end the connection: each costs one of the
 * key's dials.
 */
TEST(garbage_ends_the_connection)
{
    static const char name[] = "a route far longer than any that the gate would make or keep";
    static const struct {
        const char *route, *says;
        unsigned frames;
        size_t size;
    } kinds[] = {
        {NULL, "that is empty", 1, 0},          {NULL, "in several frames", 20, 4},
        {NULL, "in several frames", 2, 0},      {name, "names its own route", 1, 4},
        {"route", "names its own route", 1, 4}, /* as long as the gate's own */
    };
    struct gate_house *h CLEAN(pull_down) = BUILD();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *route = kinds[k].route;
        void *s = raw_client(h, route, route != NULL ? strlen(route) : 0), *watch;
        uint16_t kind = 0;
        int32_t value;
        OK(events_new(&watch, netio_zmq(h->outside), s, ZMQ_EVENT_DISCONNECTED, NULL));
        h->sink[0] = '\0';
        for (unsigned i = 1; i <= kinds[k].frames; i++)
            zmq_send(s, "part", kinds[k].size, i < kinds[k].frames ? ZMQ_SNDMORE : 0);
        for (double end = support_deadline(10); kind == 0 && support_again(end);) {
            hear_nothing(h, 10);
            (void)events_take(watch, &kind, &value);
        }
        assert_int_equal(kind, ZMQ_EVENT_DISCONNECTED);
        support_says(h->sink, kinds[k].says);
        events_free(watch, s);
        zmq_close(s);
    }
}

/* `next`: ZeroMQ's version of a function that this program also has. */
#define NEXT(name, declaration)                                                                    \
    declaration;                                                                                   \
    void *const found = dlsym(RTLD_NEXT, #name);                                                   \
    memcpy(&next, &found, sizeof next)

static bool refuses;
int zmq_connect(void *socket, const char *endpoint)
{
    NEXT(zmq_connect, int (*next)(void *, const char *));
    if (!refuses)
        return next(socket, endpoint);
    errno = EMFILE;
    return -1;
}

TEST(events_that_cannot_be_heard_are_an_error)
{
    void *s, *watch;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    s = raw_client(h, NULL, 0);
    refuses = true;
    assert_int_equal(events_new(&watch, netio_zmq(h->outside), s,
                                ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED, NULL),
                     ERR_SYSTEM);
    refuses = false;
    assert_null(watch);
    zmq_close(s);
}

TEST(what_is_too_long_does_not_arrive)
{
    static const uint8_t big[MAX_MESSAGE + 1];
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *d CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    OK(dial_send(d, false, big, MAX_MESSAGE, support_end_ms(10)));
    hear(h, NULL);
    assert_int_equal(h->b.size, MAX_MESSAGE);
    OK(dial_watch(d));
    OK(dial_send(d, false, big, MAX_MESSAGE + 1, support_end_ms(10)));
    assert_int_equal(dial_receive(d, &h->b, support_end_ms(10)), ERR_PEER);
    hear_nothing(h, 20);
    /* the library cut that connection; a new one is made, and the gate stands */
    say(d, "short");
    hear(h, "short");
}

/* Plain TCP bytes and a client without CURVE at all. */
TEST(other_protocols_get_nothing)
{
    const int linger = 0;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct gate_house *h CLEAN(pull_down) = BUILD();
    a.sin_port = htons((uint16_t)atoi(strrchr(h->endpoint[0], ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(write(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
    void *plain = zmq_socket(netio_zmq(h->outside), ZMQ_DEALER);
    zmq_setsockopt(plain, ZMQ_LINGER, &linger, sizeof linger);
    zmq_connect(plain, h->endpoint[0]);
    zmq_send(plain, "hello", 5, 0);
    hear_nothing(h, 200);
    zmq_close(plain);
    close(fd);
}

/* A bare connection from a loopback address, which sends what a half-open client would send. */
static int stranger_from(struct gate_house *h, const char *address, size_t words)
{
    static const uint8_t greeting[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,  1,
                                         0x7f, 3, 1, 'C', 'U', 'R', 'V', 'E'};
    const uint16_t port = htons((uint16_t)atoi(strrchr(h->endpoint[0], ':') + 1));
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = port};
    bool six = strchr(address, ':') != NULL;
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (six) {
        assert_int_equal(inet_pton(AF_INET6, address, &a6.sin6_addr), 1);
        assert_int_equal(connect(fd, (struct sockaddr *)&a6, sizeof a6), 0);
    } else {
        assert_int_equal(inet_pton(AF_INET, address, &a.sin_addr), 1);
        assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a.sin_port = port;
        assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    }
    assert_int_equal(send(fd, greeting, words, MSG_NOSIGNAL), words);
    return fd;
}

#define CROWD 40

/*
 * Many connections from one address, silent or half-open, cut each other. If they can be told apart
 * from others, nobody else is cut. `descriptors`: how many the gate's program may have; 0: enough.
 */
static void crowd_at(const char *host, const char *crowded, bool apart, unsigned descriptors)
{
    const size_t most = descriptors != 0 ? descriptors / 2 : 8;
    struct rlimit limit, before;
    char words[64];
    int crowd[CROWD];
    size_t cut = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    if (descriptors != 0)
        limit.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct gate_house *h CLEAN(pull_down) = build_at(
        host, &(struct gate_house){.connections = descriptors != 0 ? 0 : most});
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    struct dial *early CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    OK(dial_watch(early));
    ask_and_answer(h, early, 100);
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = stranger_from(h, crowded, i % 2 == 0 ? 0 : i % 64);
        hear_nothing(h, 20);
    }
    if (apart) /* otherwise it would be told that its connection broke */
        assert_int_equal(dial_receive(early, &h->b, support_moment(20)), ERR_TIMEOUT);
    ask_and_answer(h, early, 100);
    struct dial *late CLEAN(dial_free) = knock(h, &h->client[1], h->server.public);
    ask_and_answer(h, late, 101);
    for (double end = support_deadline(10); cut < CROWD - most && support_again(end);) {
        cut = 0;
        for (size_t i = 0; i < CROWD; i++)
            cut += support_is_cut(crowd[i]);
    }
    assert_true(cut >= CROWD - most);
    snprintf(words, sizeof words, "more than %zu connections at a time", most);
    support_says(h->sink, words);
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

TEST(a_crowd_is_in_its_own_way)
{
    crowd_at("127.0.0.1", "127.0.0.9", true, 0);
    crowd_at("127.0.0.1", "127.0.0.9", true, 64); /* half of them are for connections */
}

/* A gate that listens for IPv6 sees IPv4 addresses too, and tells them apart. */
TEST(a_crowd_of_ipv6_is_in_its_own_way)
{
    support_needs(has_ipv6(), "no IPv6 here");
    crowd_at("[::ffff:127.0.0.1]", "127.0.0.9", true, 0);
    crowd_at("[::1]", "::1", false, 0);
}

/* Descriptors are reused: what is said about a client that left is not said about the next one. */
TEST(only_the_connection_that_was_named_is_cut)
{
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *first = knock(h, &h->client[1], h->server.public);
    ask_and_answer(h, first, 101);
    struct gate_client gone = h->from;
    dial_free(&first);
    struct dial *second = knock(h, &h->client[1], h->server.public);
    OK(dial_watch(second));
    ask_and_answer(h, second, 101);
    assert_int_not_equal(memcmp(gone.route, h->from.route, GATE_ROUTE), 0);
    struct gate_client stays = h->from;
    gone.fd = stays.fd; /* as often happens by itself */
    gate_cut(h->gate, &gone);
    for (unsigned i = 0; i < 10; i++) {
        hear_nothing(h, 20);
        ask_and_answer(h, second, 101);
        assert_memory_equal(h->from.route, stays.route, GATE_ROUTE); /* not dialled again */
    }
    gate_cut(h->gate, &h->from);
    assert_int_equal(dial_receive(second, &h->b, support_end_ms(10)), ERR_PEER);
    dial_free(&second);
}

/* The gate's end of its one connection; -1: it has none. */
static int gate_end(const struct gate_house *h)
{
    const int port = atoi(strrchr(h->endpoint[0], ':') + 1);
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in own, peer;
        socklen_t own_size = sizeof own, peer_size = sizeof peer;
        if (getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own.sin_family == AF_INET &&
            ntohs(own.sin_port) == port &&
            getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0)
            return fd;
    }
    return -1;
}

/* Nor is it said about one that was not heard yet. */
TEST(a_newcomer_is_not_cut_for_another)
{
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *first = knock(h, &h->client[0], h->server.public);
    ask_and_answer(h, first, 100);
    struct gate_client gone = h->from;
    dial_free(&first);
    for (double end = support_deadline(20); gate_end(h) >= 0 && support_again(end);)
        hear_nothing(h, 20);
    assert_int_equal(gate_end(h), -1);
    struct dial *second = knock(h, &h->client[1], h->server.public);
    OK(dial_watch(second));
    say(second, "hello");
    for (double end = support_deadline(20); gate_end(h) < 0 && support_again(end);)
        continue;
    gone.fd = gate_end(h); /* as often happens by itself */
    gate_cut(h->gate, &gone);
    assert_int_equal(dial_receive(second, &h->b, support_end_ms(0.2)), ERR_TIMEOUT);
    hear(h, "hello");
    assert_int_equal(h->from.fd, gone.fd);
    dial_free(&second);
}

/* A client can name a route like those that the gate makes. That costs others nothing. */
TEST(a_chosen_number_of_a_line_is_of_no_use)
{
    uint8_t route[5];
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial *first CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    ask_and_answer(h, first, 100);
    memcpy(route, h->from.route, sizeof route);
    route[1] += 0x40; /* as if 2^30 connections had come since */
    void *s = raw_client(h, route, sizeof route);
    assert_int_equal(zmq_send(s, "x", 1, 0), 1);
    hear(h, "x");
    assert_memory_equal(h->from.route, route, sizeof route);
    hear_nothing(h, 200);
    struct dial *second CLEAN(dial_free) = knock(h, &h->client[1], h->server.public);
    OK(dial_watch(second));
    ask_and_answer(h, second, 101);
    gate_cut(h->gate, &h->from);
    assert_int_equal(dial_receive(second, &h->b, support_end_ms(10)), ERR_PEER);
    zmq_close(s);
}

/* A client that names the number of the next connection would end the server. */
TEST(numbers_of_lines_cannot_be_guessed)
{
    uint8_t route[2][5];
    for (unsigned i = 0; i < 2; i++) {
        srand(1); /* as in each program that begins */
        struct gate_house *h CLEAN(pull_down) = BUILD();
        struct dial *d CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
        ask_and_answer(h, d, 100);
        memcpy(route[i], h->from.route, sizeof route[i]);
    }
    assert_memory_not_equal(route[0], route[1], sizeof route[0]);
}

/* Of one key's connections those that are silent longest are cut; others stay. */
TEST(a_key_has_so_many_connections)
{
    enum { MINE = 6, MOST = 4 };
    struct gate_house *h CLEAN(pull_down) = BUILD(.of_a_key = MOST);
    struct dial *other CLEAN(dial_free) = NULL, *d[MINE];
    unsigned cut = 0;
    other = knock(h, &h->client[1], h->server.public);
    OK(dial_watch(other));
    ask_and_answer(h, other, 101);
    for (size_t i = 0; i < MINE; i++) {
        d[i] = knock(h, &h->client[0], h->server.public);
        OK(dial_watch(d[i]));
        ask_and_answer(h, d[i], 100);
        hear_nothing(h, 120);
    }
    for (size_t i = 0; i < MINE; i++) {
        enum err e = dial_receive(d[i], &h->b,
                                  i < MINE - MOST ? support_end_ms(10) : support_moment(20));
        assert_int_equal(e, i < MINE - MOST ? ERR_PEER : ERR_TIMEOUT);
        cut += e == ERR_PEER;
        dial_free(&d[i]);
    }
    assert_int_equal(cut, MINE - MOST);
    support_says(h->sink, "more than 4 connections of one key");
    ask_and_answer(h, other, 101);
    assert_int_equal(dial_receive(other, &h->b, support_moment(20)), ERR_TIMEOUT);
}

/*
 * ZMTP's greeting from a client that speaks CURVE, and a command longer than the `n` bytes of it
 * that follow.
 */
static void send_the_head_of_a_message(int fd, size_t size, size_t n)
{
    uint8_t greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'}, head[9] = {6};
    uint8_t *body = calloc(1, n);
    assert_non_null(body);
    for (unsigned i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(size >> (56 - 8 * i));
    assert_int_equal(send(fd, greeting, sizeof greeting, MSG_NOSIGNAL), sizeof greeting);
    assert_int_equal(send(fd, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    assert_int_equal(send(fd, body, n, MSG_NOSIGNAL), (ssize_t)n);
    free(body);
}

/*
 * The gate waits this long for the rest of a message; a client that is silent between messages is
 * left alone.
 */
TEST(a_message_has_a_time_to_arrive)
{
    struct gate_house *h CLEAN(pull_down) = BUILD(.message_ms = 300);
    struct dial *honest CLEAN(dial_free) = knock(h, &h->client[0], h->server.public);
    OK(dial_watch(honest));
    ask_and_answer(h, honest, 100);
    /* every byte of whole messages is accounted for, whatever their length */
    for (size_t i = 0; i < 2000; i++) {
        static const uint8_t some[MAX_MESSAGE];
        OK(dial_send(honest, false, some, 150 + i % 150, support_end_ms(10)));
        hear(h, NULL);
    }
    int fd = stranger_from(h, "127.0.0.1", 0);
    send_the_head_of_a_message(fd, MAX_MESSAGE, MAX_MESSAGE - 16);
    for (double end = support_deadline(10); !support_is_cut(fd);) {
        assert_true(support_again(end));
        hear_nothing(h, 20);
    }
    assert_int_equal(dial_receive(honest, &h->b, support_moment(20)), ERR_TIMEOUT);
    ask_and_answer(h, honest, 100);
    close(fd);
}

/*
 * Messages that are never complete wait in ZeroMQ, where the reader cannot see them: all together
 * have this much memory.
 */
TEST(nobody_fills_memory)
{
    struct withhold_record attack = {
        .connections = 20, .frames = 2000, .frame = 4000}; /* 160 MB in all */
    uint64_t before, most = 0;
    unsigned served = 0;
    int64_t end;
    support_needs(SUPPORT_WITHHOLDS, "neither a sanitizer nor qemu lets a child have threads");
    struct gate_house *h CLEAN(pull_down) = BUILD(.memory = (size_t)8 << 20);
    struct dial *honest CLEAN(dial_free) = knock(h, &h->client[1], h->server.public);
    ask_and_answer(h, honest, 101);
    before = support_resident(getpid());
    attack.endpoint = h->endpoint[0];
    attack.server_public = h->server.public;
    attack.curve_public = h->client[0].public;
    attack.curve_secret = h->client[0].secret;
    pid_t child = support_withhold(&attack);
    for (end = support_moment(WITHHOLD_MS); clock_now_ms() < end || served < 10; served++) {
        hear_nothing(h, 10);
        ask_and_answer(h, honest, 101);
        most = support_resident(getpid()) > most ? support_resident(getpid()) : most;
    }
    assert_true(support_withhold_end(child));
    if (most - before >= (uint64_t)64 << 20)
        fail_msg("%llu bytes more", (unsigned long long)(most - before));
}

/* A key that dials without end is let in later, another one at once. */
TEST(a_key_that_dials_without_end_waits)
{
    struct dial *d;
    unsigned served = 0;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    for (; served < 400; served++) {
        d = knock(h, &h->client[0], h->server.public);
        enum err e = dial_send(d, false, "again", 5,
                               served < 100 ? support_end_ms(10) : support_moment(1000));
        if (e == ERR_OK)
            e = gate_receive(h->gate, &h->from, &h->b, support_end_ms(10));
        dial_free(&d);
        if (e != ERR_OK)
            break;
    }
    assert_in_range(served, 100, 300);
    d = knock(h, &h->client[1], h->server.public);
    ask_and_answer(h, d, 101);
    dial_free(&d);
}

/* --- admission -------------------------------------------------------------------------------- */

struct frame {
    const void *data;
    size_t size;
};

/* Admission's answer to a request as ZeroMQ makes it: a status, and the user in `user`. */
static unsigned admission_of(void *asker, const struct frame *frames, size_t count, char user[16])
{
    char status[8] = "", rest[64];
    int more = 1;
    size_t size = sizeof more;
    memset(user, 0, 16);
    for (size_t i = 0; i < count; i++)
        assert_true(
            zmq_send(asker, frames[i].data, frames[i].size, i + 1 < count ? ZMQ_SNDMORE : 0) >= 0);
    for (int i = 0; more; i++) {
        char *to = i == 2 ? status : i == 4 ? user : rest;
        assert_true(zmq_recv(asker, to, i == 2 ? sizeof status - 1 : 15, 0) >= 0);
        assert_int_equal(zmq_getsockopt(asker, ZMQ_RCVMORE, &more, &size), 0);
    }
    return (unsigned)atoi(status);
}

/* libzmq makes no such requests; whatever answers for admission still reads them with care. */
TEST(only_a_whole_request_admits)
{
    static const char far_too_long[300] = "gate";
    struct netio_key_pair key = new_key_pair();
    const struct frame good[8] = {{"1.0", 3}, {"a", 1},     {"gate", 4},      {"127.0.0.1", 9},
                                  {"", 0},    {"CURVE", 5}, {key.public, 32}, {"more", 4}};
    const struct {
        size_t frame; /* that is another one */
        struct frame other;
        size_t count;
    } bad[] = {
        {0, {"1.1", 3}, 7},       {2, {"cellar", 6}, 7},
        {2, {"gates", 5}, 7},     {2, {far_too_long + 1, 299}, 7},
        {5, {"PLAIN", 5}, 7},     {5, {"NULL", 4}, 6},
        {6, {key.public, 31}, 7}, {6, {far_too_long, 300}, 7},
        {6, {key.public, 32}, 8}, {0, {"1.0", 3}, 1},
    };
    char sink[4096] = "", user[16], name[65] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_WARN};
    struct netio *netio = MADE(netio, netio_new, &log);
    OK(netio_allow(netio, far_too_long, key.public, 7));
    memset(name, 'd', sizeof name - 1);
    assert_int_equal(netio_allow(netio, name, key.public, 7), ERR_RANGE);
    void *asker = zmq_socket(netio_zmq(netio), ZMQ_REQ);
    assert_int_equal(zmq_connect(asker, "inproc://zeromq.zap.01"), 0);
    assert_int_equal(admission_of(asker, good, 7, user), 200);
    assert_string_equal(user, "7");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct frame frames[8];
        memcpy(frames, good, sizeof frames);
        frames[bad[i].frame] = bad[i].other;
        assert_int_equal(admission_of(asker, frames, bad[i].count, user), 400);
        assert_string_equal(user, "");
    }
    zmq_close(asker);
    netio_free(&netio); /* and with it the thread that writes there */
    support_says(sink, "turned away a connection from 127.0.0.1 to \"cellar\": its key");
    support_says(sink, "to \"gate\": its key none is not in the study");
}

/* Which call of admission fails, once, from now on; 0: none. Those of `asking` do not count. */
static atomic_int failing;
static void *_Atomic asking;
/* It reads, or waits for something to read. */
static atomic_bool reading;

static bool fails(void *socket)
{
    if (asking == NULL || socket == asking || atomic_load(&failing) == 0 ||
        atomic_fetch_sub(&failing, 1) != 1)
        return false;
    errno = ENOMEM;
    return true;
}

int zmq_recv(void *socket, void *p, size_t n, int flags)
{
    NEXT(zmq_recv, int (*next)(void *, void *, size_t, int));
    if (fails(socket))
        return -1;
    if (socket != asking)
        atomic_store(&reading, true);
    return next(socket, p, n, flags);
}

int zmq_send(void *socket, const void *p, size_t n, int flags)
{
    NEXT(zmq_send, int (*next)(void *, const void *, size_t, int));
    if (fails(socket))
        return -1;
    if (socket != asking)
        atomic_store(&reading, false);
    return next(socket, p, n, flags);
}

int zmq_getsockopt(void *socket, int option, void *value, size_t *size)
{
    NEXT(zmq_getsockopt, int (*next)(void *, int, void *, size_t *));
    return fails(socket) ? -1 : next(socket, option, value, size);
}

/* Wherever it runs out of memory: half a request or answer would end all admission. */
TEST(admission_outlives_what_fails)
{
    const struct netio_key_pair key = new_key_pair();
    const struct frame frames[7] = {{"1.0", 3}, {"a", 1},     {"gate", 4},     {"127.0.0.1", 9},
                                    {"", 0},    {"CURVE", 5}, {key.public, 32}};
    const int soon = (int)support_patience_ms(5);
    char user[16];
    int call = 0;
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, NULL);
    OK(netio_allow(netio, "gate", key.public, 7));
    void *asker = zmq_socket(netio_zmq(netio), ZMQ_REQ);
    assert_int_equal(zmq_setsockopt(asker, ZMQ_RCVTIMEO, &soon, sizeof soon), 0);
    assert_int_equal(zmq_connect(asker, "inproc://zeromq.zap.01"), 0);
    asking = asker;
    do {
        atomic_store(&failing, ++call);
        assert_int_equal(admission_of(asker, frames, 7, user), 200);
        while (!atomic_load(&reading)) /* so the next read is always one of these calls */
            support_pause_ms(1);
    } while (atomic_load(&failing) == 0);
    assert_true(call > 7 + 7 + 6); /* of frames read, of whether more come, of frames sent */
    asking = NULL;
    zmq_close(asker);
}

/* Without CURVE nobody asks admission: whatever comes then is ignored. */
TEST(a_gate_without_keys_hears_nobody)
{
    const int linger = 0;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    gate_free(&h->gate);
    wait_until_closed(h->endpoint[0]);
    struct gate_options o = gate_of(h);
    o.curve_public = NULL;
    OK(gate_new(&h->gate, &o));
    void *plain = zmq_socket(netio_zmq(h->outside), ZMQ_DEALER);
    zmq_setsockopt(plain, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_connect(plain, h->endpoint[0]), 0);
    assert_int_equal(zmq_send(plain, "hello", 5, 0), 5);
    for (double end = support_deadline(10); strstr(h->sink, "nobody has admitted") == NULL;) {
        assert_true(support_again(end));
        hear_nothing(h, 20);
    }
    zmq_close(plain);
}

/* --- what gives out --------------------------------------------------------------------------- */

static void *listen_in_vain(void *argument)
{
    struct gate_house *h = argument;
    static enum err e[2];
    struct gate_client from;
    struct bytes b CLEAN(bytes_clear) = {0};
    e[0] = gate_receive(h->gate, &from, &b, support_end_ms(10));
    e[1] = gate_receive(h->gate, &from, &b, support_end_ms(10));
    return e;
}

#define TAKEN_LEAST 16 /* answers, before the gate's front has taken any */

struct talker {
    struct gate_port *port;
    enum err e;
    atomic_size_t taken;
};

/* Endless answers that nobody takes. */
static void *talk(void *argument)
{
    struct talker *t = argument;
    const struct gate_client to = {.user = 100};
    while (t->e == ERR_OK) {
        t->e = gate_port_reply(t->port, &to, "x", 1);
        atomic_fetch_add(&t->taken, t->e == ERR_OK);
    }
    gate_port_free(&t->port);
    return NULL;
}

/*
 * ZeroMQ's context ends under a gate and its clients: no call hangs, and each says why it failed.
 */
TEST(a_gate_that_is_closed_under_us_says_so)
{
    struct talker t = {0};
    struct gate_client client = {.user = 100};
    struct gate *gate;
    struct dial *d, *other;
    pthread_t front, worker;
    void *heard;
    const double end = support_deadline(10);
    enum err e;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    t.port = gate_port(h->gate);
    assert_non_null(t.port);
    d = knock(h, &h->client[0], h->server.public);
    OK(dial_watch(d));
    ask_and_answer(h, d, 100);
    assert_int_equal(pthread_create(&worker, NULL, talk, &t), 0);
    while (atomic_load(&t.taken) < TAKEN_LEAST)
        support_pause_ms(1);
    assert_int_equal(zmq_ctx_shutdown(netio_zmq(h->inside)), 0);
    pthread_join(worker, NULL);
    assert_int_equal(t.e, ERR_MISUSE);
    assert_in_range(t.taken, TAKEN_LEAST, 64);
    support_says(h->sink, "the gate's front did not take an answer to user 100");
    assert_int_equal(gate_receive(h->gate, &client, &h->b, support_end_ms(10)), ERR_MISUSE);
    /* a socket that has just been used does not look whether its context has ended */
    while ((e = gate_reply(h->gate, &client, "x", 1)) == ERR_OK && support_again(end))
        ;
    GIVES(e, ERR_MISUSE, h->sink, "cannot answer user 100");
    assert_int_equal(gate_pass(h->gate, &client, "x", 1), ERR_MISUSE);
    assert_int_equal(gate_pass(h->gate, &client, "x", 1), ERR_MISUSE); /* and it waits for nobody */
    assert_int_equal(gate_pass(h->gate, &client, "x", 1), ERR_MISUSE);
    assert_null(gate_port(h->gate));
    struct gate_options o = gate_of(h);
    assert_int_equal(gate_new(&gate, &o), ERR_MISUSE);
    assert_null(gate);
    support_says(h->sink, "no ZeroMQ socket");
    assert_int_equal(zmq_ctx_shutdown(netio_zmq(h->outside)), 0);
    assert_int_equal(dial_send(d, false, "x", 1, support_end_ms(10)), ERR_MISUSE);
    assert_int_equal(dial_receive(d, &h->b, support_end_ms(10)), ERR_MISUSE);
    struct dial_options dials = dial_as(h, &h->client[0]);
    assert_int_equal(dial_new(&other, &dials), ERR_MISUSE);
    assert_null(other);
    dial_free(&d);
    pull_down(&h);

    /* and a front that waits */
    h = BUILD();
    assert_int_equal(pthread_create(&front, NULL, listen_in_vain, h), 0);
    support_pause_ms(50);
    assert_int_equal(zmq_ctx_shutdown(netio_zmq(h->inside)), 0);
    pthread_join(front, &heard);
    assert_int_equal(((enum err *)heard)[0], ERR_MISUSE);
    assert_int_equal(((enum err *)heard)[1], ERR_MISUSE);
}

static unsigned count_descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/*
 * One more descriptor at a time, until there are enough: each time everything fails, with a
 * message. A dial that is over gives its descriptors back a moment later, in a thread of ZeroMQ.
 */
TEST(descriptors_may_run_out)
{
    enum err e = ERR_SYSTEM;
    unsigned failures = 0;
    struct rlimit limit, before;
    struct gate_house *h CLEAN(pull_down) = BUILD();
    struct dial_options o = dial_as(h, &h->client[0]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    unsigned at_first = count_descriptors();
    for (rlim_t more = 0; e == ERR_SYSTEM && more < 40; more++) {
        int lowest = dup(STDERR_FILENO);
        struct dial *d;
        assert_true(lowest >= 0);
        close(lowest);
        limit.rlim_cur = (rlim_t)lowest + more;
        h->outside_sink[0] = '\0';
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        e = dial_new(&d, &o);
        if (e == ERR_OK)
            e = dial_watch(d);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        dial_free(&d);
        /* counted once: the gate may still take, for a moment, a connection that was given up */
        for (double end = support_deadline(5); count_descriptors() > at_first;)
            assert_true(support_again(end));
        failures += e == ERR_SYSTEM;
        if (e != ERR_OK && strstr(h->outside_sink, "Too many open files") == NULL)
            fail_msg("with %u: %s\n%s", (unsigned)more, error_text(e), h->outside_sink);
    }
    OK(e);
    assert_true(failures > 2);
}
