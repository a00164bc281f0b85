#include "tests/support/withhold.h"
#include "harness/cmocka.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <zmq.h>

static int reach(const char *endpoint)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        _exit(1);
    return fd;
}

/* Where ZeroMQ's sockets dial instead of the gate. */
static int listen_anywhere(char endpoint[64])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, WITHHOLD_CONNECTIONS) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) != 0)
        _exit(1);
    snprintf(endpoint, 64, "tcp://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

/* Passes on bytes from one to the other, no more than `most` in all; false at the end. */
static bool pass_on(int from, int to, size_t most, size_t *passed)
{
    static uint8_t buffer[65536];
    size_t room = most - *passed < sizeof buffer ? most - *passed : sizeof buffer;
    ssize_t n = recv(from, buffer, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN;
    *passed += (size_t)n;
    return n > 0 && send(to, buffer, (size_t)n, MSG_NOSIGNAL) == n;
}

static void relay(int listener, const struct withhold_record *w)
{
    struct pollfd at[2 * WITHHOLD_CONNECTIONS];
    size_t passed[2 * WITHHOLD_CONNECTIONS] = {0};
    for (unsigned i = 0; i < w->connections; i++) {
        at[2 * i] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
        at[2 * i + 1] = (struct pollfd){.fd = reach(w->endpoint), .events = POLLIN};
    }
    while (poll(at, 2 * w->connections, -1) >= 0) {
        for (unsigned i = 0; i < 2 * w->connections; i++) {
            /* the handshake and what seals the frames are more than this leaves out */
            size_t most = i % 2 == 0 ? w->frames * w->frame : SIZE_MAX;
            if (at[i].fd < 0 || at[i].revents == 0)
                continue;
            if (passed[i] == most) {
                at[i].events = 0;
                continue;
            }
            if (!pass_on(at[i].fd, at[i ^ 1].fd, most, &passed[i])) { /* it was cut */
                close(at[i].fd);
                close(at[i ^ 1].fd);
                at[i].fd = at[i ^ 1].fd = -1;
            }
        }
    }
}

static void attack(const struct withhold_record *w)
{
    uint8_t *frame = calloc(1, w->frame);
    const int linger = 0, once = -1;
    char endpoint[64];
    int listener = listen_anywhere(endpoint);
    void *context = zmq_ctx_new();
    for (unsigned i = 0; i < w->connections; i++) {
        void *s = zmq_socket(context, ZMQ_DEALER);
        zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
        zmq_setsockopt(s, ZMQ_RECONNECT_IVL, &once, sizeof once);
        zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, w->curve_public, 32);
        zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, w->curve_secret, 32);
        zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, w->server_public, 32);
        zmq_connect(s, endpoint);
        for (unsigned k = 1; k <= w->frames; k++)
            zmq_send(s, frame, w->frame, k < w->frames ? ZMQ_SNDMORE : 0);
    }
    relay(listener, w);
    _exit(1);
}

pid_t support_withhold(const struct withhold_record *w)
{
    assert_true(w->connections <= WITHHOLD_CONNECTIONS);
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        attack(w);
    return child;
}

bool support_withhold_end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

uint64_t support_resident(pid_t pid)
{
    unsigned long long pages = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %llu", &pages), 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
