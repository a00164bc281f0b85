/* Lanes of real servers: how many there are, what comes out, and what a crash changes. */
#include "parties/settings/three/ranks.h"
#include "parties/study/study_ports.h"
#include "tests/support/scene.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

static void expect_lanes(struct scene *c, unsigned server, unsigned lanes)
{
    char words[32];
    snprintf(words, sizeof words, "and %u %s\n", lanes, lanes == 1 ? "lane" : "lanes");
    if (!support_wait_for(file(c, "server%u.log", server), words, 10))
        fail_msg("server %u has another number of lanes than %u", server, lanes);
}

static void restart(struct scene *c, unsigned server, unsigned lanes)
{
    c->s.lanes[server] = lanes;
    start_server(c, server, c->s.path);
    expect_lanes(c, server, lanes);
}

/* Server 0 could use three lanes, the others two. */
TEST(servers_of_different_size_share_a_study)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .lanes = 3));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        expect_lanes(&c, i, 3);
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(support_stop(&c.server[i]), 0);
        restart(&c, i, 2);
    }
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run%u.log", 0));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0), 8);
}

/* In the middle of a run, a server with two lanes ends; the one that comes back has one. */
TEST(a_run_goes_on_with_other_lanes)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .rounds = 3, .lanes = 2));
    share_everything(&c);
    pid_t run = start_study(&c, "a.key", 0);
    assert_true(support_wait_for(file(&c, "run%u.log", 0), "\n1/3", 20));
    kill(c.server[1], SIGKILL);
    support_wait(c.server[1], 10);
    restart(&c, 1, 1);
    expect_code(support_wait(run, 60), 0, file(&c, "run%u.log", 0));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0), 8);
}

/* --- a firewall ------------------------------------------------------------------------------- */

#define SERVER "127.0.0.2"
#define FIRST 6 /* connections, two descriptors each, from the ports of lane 0 onwards */

static int loopback(const char *host, uint16_t port, bool listening)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, host, &a.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listening ? bind(fd, (const struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 16) == 0
                  : connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Passes the first five ports on to the server, and no others. */
static void pass_on(uint16_t port)
{
    struct pollfd fd[FIRST + 128];
    nfds_t n = FIRST;
    for (unsigned k = 0; k < FIRST; k++)
        fd[k] = (struct pollfd){
            .fd = k < STUDY_PORTS ? loopback("127.0.0.1", (uint16_t)(port + k), true) : -1,
            .events = POLLIN};
    while (poll(fd, n, -1) > 0) {
        for (unsigned k = 0; k < STUDY_PORTS && n < FIRST + 128; k++)
            if (fd[k].revents != 0) {
                fd[n] = (struct pollfd){.fd = accept(fd[k].fd, NULL, NULL), .events = POLLIN};
                fd[n + 1] = (struct pollfd){.fd = loopback(SERVER, (uint16_t)(port + k), false),
                                            .events = POLLIN};
                n += 2;
            }
        for (nfds_t i = FIRST; i < n; i++) {
            char block[65536];
            if (fd[i].fd < 0 || fd[i].revents == 0)
                continue;
            ssize_t got = recv(fd[i].fd, block, sizeof block, 0);
            if (got > 0 && send(fd[i ^ 1].fd, block, (size_t)got, MSG_NOSIGNAL) == got)
                continue;
            close(fd[i].fd);
            close(fd[i ^ 1].fd);
            fd[i].fd = fd[i ^ 1].fd = -1;
        }
    }
}

TEST(a_lane_that_a_firewall_stops_is_named)
{
    static const char words[] = "lane 1 does not get through: open the ports + 5 and + 6 of each "
                                "server to the other two, or start one of them with --lanes 1";
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .round_s = support_slow(4), .lanes = 2));
    share_everything(&c);
    assert_int_equal(support_stop(&c.server[0]), 0);
    c.s.host = SERVER;
    restart(&c, 0, 2);
    pid_t firewall = fork();
    if (firewall == 0) {
        pass_on(c.s.port);
        _exit(1);
    }
    EXPECT(4, file(&c, "run0.log"), 60, "run", c.s.path, "--key", file(&c, "a.key"), "--out",
           file(&c, "out0"), "--wait", "1");
    file_says(file(&c, "run0.log"), words);
    kill(firewall, SIGKILL);
    support_wait(firewall, 10);
}

/* --- a false place ---------------------------------------------------------------------------- */

#define ELSEWHERE "127.0.0.9"
#define LIAR 1

static struct ranks_place place = {.host = ELSEWHERE}; /* with a port in the process that lies */

/* A server that has a rank there, though its own program may look before that. */
static bool looks = true;
__typeof__(ranks_lanes) __real_ranks_lanes, __wrap_ranks_lanes;
size_t __wrap_ranks_lanes(const struct ranks *ranks)
{
    static atomic_uint calls;
    const bool first = atomic_fetch_add(&calls, 1) == 0;
    return place.port[0] == 0 || (first && !looks) ? __real_ranks_lanes(ranks) : 1;
}

__typeof__(ranks_place) __wrap_ranks_place;
const struct ranks_place *__wrap_ranks_place(const struct ranks *ranks, size_t j)
{
    return &place;
}

static void serve_elsewhere(struct scene *c, uint16_t port, bool lies)
{
    unlink(file(c, "server%u.log", LIAR));
    c->server[LIAR] = fork();
    if (c->server[LIAR] != 0)
        return;
    place.port[NET_PREV] = place.port[NET_NEXT] = port;
    looks = !lies;
    support_serve_here(&c->s, LIAR);
}

/* A port that nobody has, and that listens. */
static uint16_t listen_elsewhere(int *fd)
{
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    *fd = loopback(ELSEWHERE, 0, true);
    assert_true(*fd >= 0 && getsockname(*fd, (struct sockaddr *)&a, &n) == 0);
    return ntohs(a.sin_port);
}

TEST(nobody_connects_to_a_host_that_is_not_in_the_study)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .round_s = 5, .lanes = 2));
    struct pollfd trap = {.events = POLLIN};
    const uint16_t port = listen_elsewhere(&trap.fd);
    unsigned told = 0;
    share_everything(&c);
    assert_int_equal(support_stop(&c.server[LIAR]), 0);
    c.s.lanes[LIAR] = 1;
    serve_elsewhere(&c, port, false);
    assert_int_equal(support_wait(c.server[LIAR], 10), 1);
    file_says(file(&c, "server%u.log", LIAR),
              "--ranks has the host " ELSEWHERE ", which the study does not");
    serve_elsewhere(&c, port, true);
    assert_true(support_wait_for(file(&c, "server%u.log", LIAR), "is ready", 60));
    expect_code(run_study(&c, "a.key", 0), 3, file(&c, "run0.log"));
    assert_int_equal(poll(&trap, 1, 0), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        told += support_contains(file(&c, "server%u.log", i),
                                 "server 1 says that its lane 1 listens on " ELSEWHERE ", a host "
                                 "that the study does not have for it");
    assert_in_range(told, 1, 2);
    close(trap.fd);
    support_kill(&c.server[LIAR]);
}

TEST(lanes_without_ports_are_refused)
{
    static const char *const wrong[] = {"0", "2", "17"};
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS));
    for (size_t k = 0; k < 3; k++) {
        const char *const a[] = {"serve",    c.s.path,          "--key",   file(&c, "s0.key"),
                                 "--folder", file(&c, "other"), "--lanes", wrong[k],
                                 NULL};
        assert_int_equal(support_run(file(&c, "refused.log"), 10, a), 2);
        file_says(file(&c, "refused.log"), k == 1
                                               ? "--lanes 2 takes 7 ports in a row at each server; "
                                                 "those in the study have room for 1 lane"
                                               : "lanes");
    }
}
