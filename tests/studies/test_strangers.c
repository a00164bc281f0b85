/*
 * Servers as real processes, and somebody without a key who reaches the four ports that are for
 * neighbours: what they send takes no memory, connections alone take no descriptors, and studies go
 * on meanwhile.
 */
#include "harness/cmocka.h"
#include "harness/process.h"
#include "tests/support/socket.h"
#include "tests/support/withhold.h"

#include "harness/netio.h"
#include "netio/events.h"
#include "netio/porter.h"
#include "netio/socket.h"
#include "parties/study/study_ports.h"

#include <errno.h>
#include <sys/resource.h>
#include <zmq.h>

#define MIB ((size_t)1 << 20)

struct strangers_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    uint16_t status; /* of server 0 */
};

static void serve(struct strangers_scene *c, unsigned i)
{
    char port[8];
    snprintf(port, sizeof port, "%u", c->status);
    c->server[i] = START(file(c, "server%u.log", i), "serve", c->s.path, "--key",
                         file(c, "s%u.key", i), "--folder", file(c, "server%u", i), "--listen",
                         c->s.host, i == 0 ? "--status" : NULL, port);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

/* Server 0 may have this many files open; 0: as many as this process. */
static void scene_new(struct strangers_scene *c, const struct study_options *o,
                      unsigned descriptors)
{
    struct rlimit before, limit;
    *c = (struct strangers_scene){.status = support_ports(1)};
    c->s = support_study_of(o, &quiet);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    if (descriptors > 0)
        limit.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    serve(c, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
        serve(c, i);
}

static void scene_free(struct strangers_scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

static void share_all(struct strangers_scene *c)
{
    for (unsigned i = 0; i < c->s.owners; i++) {
        const char *data = file(c, "o%u.csv", i);
        OK(support_csv(data, c->s.study->domain, 400, 10 + i));
        EXPECT(0, file(c, "share.log"), 30, "share", c->s.path, data, "--key",
               file(c, "o%u.key", i));
    }
}

static pid_t start_run(struct strangers_scene *c)
{
    return START(file(c, "run.log"), "run", c->s.path, "--key", file(c, "a.key"), "--out",
                 file(c, "out"));
}

static unsigned port_of(const struct strangers_scene *c, enum study_port which)
{
    return c->s.port + (unsigned)which; /* server 0's come first */
}

static uint64_t resident(const struct strangers_scene *c)
{
    return support_resident(c->server[0]);
}

/* --- messages --------------------------------------------------------------------------------- */

/*
 * Sockets that speak ZeroMQ, with an invented pass or none, and send what they can until they are
 * turned away.
 */
static void flood(const struct strangers_scene *c, struct netio *netio)
{
    enum { SOCKETS = 24, MESSAGES = 8 };
    static const uint8_t junk[MIB];
    void *socket[SOCKETS], *events[SOCKETS];
    uint8_t pass[NETIO_PASS_SIZE];
    for (unsigned i = 0; i < SOCKETS; i++) {
        const struct socket_options o = {
            .type = ZMQ_PUSH, .send_depth = MESSAGES, .pass = i % 2 == 0 ? NULL : pass};
        char endpoint[64];
        secret_random(pass, sizeof pass);
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u",
                 port_of(c, i % 4 < 2 ? STUDY_BULK_PREV : STUDY_BULK_NEXT));
        OK(socket_new(&socket[i], netio_zmq(netio), &o, &quiet));
        OK(events_new(&events[i], netio_zmq(netio), socket[i], ZMQ_EVENT_DISCONNECTED, &quiet));
        OK(socket_dial(socket[i], endpoint, &quiet));
        for (unsigned k = 0; k < MESSAGES; k++)
            (void)!socket_send(socket[i], junk, sizeof junk);
    }
    for (unsigned i = 0; i < SOCKETS; i++) {
        const struct socket_wait w = {.socket = events[i], .readable = true};
        OK(socket_wait(&w, 1, support_end_ms(10)));
        events_free(events[i], socket[i]);
        zmq_close(socket[i]);
    }
}

TEST(strangers_fill_no_memory)
{
    struct netio *netio CLEAN(netio_free);
    struct strangers_scene c CLEAN(scene_free);
    scene_new(&c, OPTIONS(.owners = 2, .rounds = 30, .connect_s = 20, .round_s = 20, .epsilon = 8),
              0);
    share_all(&c);
    OK(netio_new(&netio, &quiet));
    uint64_t before = resident(&c);
    flood(&c, netio);
    assert_true(resident(&c) < before + 32 * MIB); /* of 192 */
    pid_t run = start_run(&c);
    assert_true(support_wait_for(file(&c, "run.log"), "\n5/30 ", 20));
    before = resident(&c);
    flood(&c, netio);
    assert_true(resident(&c) < before + 32 * MIB);
    assert_int_equal(support_wait(run, 60), 0);
    assert_false(support_contains(file(&c, "run.log"), "trying again"));
    /* those that never had a name do not leave a line each */
    assert_false(support_contains(file(&c, "server0.log"), "turned away"));
}

/* --- connections ------------------------------------------------------------------------------ */

/* From a different address of this machine than the servers', like a stranger. */
static int connect_from_afar(unsigned port)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)},
                       to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

TEST(who_only_connects_takes_no_descriptors)
{
    enum { IDLE = 240, DESCRIPTORS = 180 };
    struct bytes answer CLEAN(bytes_clear) = {0};
    int fd[IDLE];
    struct strangers_scene c CLEAN(scene_free);
    scene_new(&c, OPTIONS(.owners = 2, .connect_s = 20, .round_s = 20), DESCRIPTORS);
    for (unsigned i = 0; i < IDLE; i++)
        fd[i] = connect_from_afar(port_of(&c, (enum study_port)(STUDY_CONTROL_PREV + i % 4)));
    support_says(support_ask(c.status, "GET /healthz", &answer), " 200 ");
    share_all(&c);
    assert_int_equal(support_wait(start_run(&c), 60), 0);
    assert_false(support_contains(file(&c, "run.log"), "trying again"));
    file_says(file(&c, "server0.log"), "connections at a time");
    for (unsigned i = 0; i < IDLE; i++)
        close(fd[i]);
}

static unsigned count_cut(const int *fd, unsigned n)
{
    unsigned cut = 0;
    for (unsigned i = 0; i < n; i++)
        cut += support_is_cut(fd[i]);
    return cut;
}

/*
 * A client that has stayed for long has proved what it must, and cannot be crowded out by
 * neighbours at the same address.
 */
TEST(who_is_settled_stays)
{
    enum { CROWD = 12 };
    const struct socket_options pull = {.type = ZMQ_PULL}, push = {.type = ZMQ_PUSH};
    struct porter_options o = {.connections = 3, .settled_ms = 200, .log = &quiet};
    char endpoint[1][ENDPOINT_SIZE];
    struct netio *netio CLEAN(netio_free) = NULL;
    struct bytes b CLEAN(bytes_clear) = {0};
    void *in, *out;
    int fd[CROWD];
    OK(netio_new(&netio, &quiet));
    free_endpoints(endpoint, 1);
    OK(socket_new(&in, netio_zmq(netio), &pull, &quiet));
    OK(socket_new(&out, netio_zmq(netio), &push, &quiet));
    o.context = netio_zmq(netio);
    o.socket = in;
    struct porter *porter = MADE(porter, porter_new, &o);
    OK(socket_bind(in, endpoint[0], &quiet));
    OK(socket_dial(out, endpoint[0], &quiet));
    OK(socket_send(out, "first", 5));
    OK(socket_wait(&(struct socket_wait){.socket = in, .readable = true}, 1, support_end_ms(5)));
    support_pause_ms(400);
    for (unsigned i = 0; i < CROWD; i++)
        fd[i] = support_connect("127.0.0.1", (uint16_t)atoi(strrchr(endpoint[0], ':') + 1));
    for (double end = support_deadline(10); count_cut(fd, CROWD) < CROWD - 2;) /* all but two */
        assert_true(support_again(end));
    support_pause_ms(300);
    assert_int_equal(count_cut(fd, CROWD), CROWD - 2);
    for (unsigned i = 0; i < CROWD; i++)
        close(fd[i]);
    OK(socket_send(out, "second", 6));
    for (unsigned k = 0; k < 2; k++) {
        const struct socket_wait w = {.socket = in, .readable = true};
        OK(socket_wait(&w, 1, support_end_ms(5)));
        OK(socket_receive(in, &b, "link", &quiet));
    }
    assert_memory_equal(b.data, "second", 6);
    porter_free(&porter);
    zmq_close(in);
    zmq_close(out);
}
