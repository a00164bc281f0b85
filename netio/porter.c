/*
 * The monitor of a ZeroMQ socket names connections by their descriptors, which belong to the I/O thread and may
 * be closed and used anew at any time. So a descriptor is only ever touched after its peer has been found to be
 * the same as when it came; the worst that a race can do is to cut a connection that will be dialled again.
 */
#include "netio/porter.h"

#include "base/memory.h"
#include "netio/events.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

struct guest {
    int fd;
    struct sockaddr_storage peer;
};

struct porter {
    void *events; /* PAIR */
    size_t most, count;
    struct guest *guest; /* most + 1 */
    struct log *log;
    bool warned;
};

enum err porter_new(struct porter **porter, void *context, void *socket, size_t most,
                    struct log *log)
{
    struct porter *p = memory_array(1, sizeof *p);
    enum err e = ERR_NOMEM;
    *porter = p;
    if (p == NULL)
        return ERR_NOMEM;
    p->log = log;
    p->most = most;
    p->guest = memory_array(most + 1, sizeof *p->guest);
    if (p->guest != NULL)
        p->events = events_new(context, socket, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED, log,
                               &e);
    if (e != ERR_OK)
        porter_free(porter, socket);
    return e;
}

void porter_free(struct porter **porter, void *socket)
{
    struct porter *p = *porter;
    if (p == NULL)
        return;
    events_free(p->events, socket);
    memory_free(&p->guest);
    memory_free(porter);
}

void *porter_socket(struct porter *porter)
{
    return porter->events;
}

/* --- who comes and goes -------------------------------------------------------------------------- */

static bool peer_of(int fd, struct sockaddr_storage *peer)
{
    socklen_t size = sizeof *peer;
    memset(peer, 0, sizeof *peer);
    return getpeername(fd, (struct sockaddr *)peer, &size) == 0;
}

/* Of one socket all guests are of one family; those that IPv6 maps from IPv4 count as such. */
static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const struct sockaddr_in *)(const void *)a,
                             *b4 = (const struct sockaddr_in *)(const void *)b;
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)(const void *)a,
                              *b6 = (const struct sockaddr_in6 *)(const void *)b;
    if (a->ss_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    /* of IPv6 a subscriber has 64 bits to himself */
    bool mapped = IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr) || IN6_IS_ADDR_V4MAPPED(&b6->sin6_addr);
    return memcmp(&a6->sin6_addr, &b6->sin6_addr, mapped ? sizeof a6->sin6_addr : 8) == 0;
}

static void forget(struct porter *p, int fd)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->guest[i].fd == fd) {
            p->guest[i] = p->guest[--p->count];
            return;
        }
}

/* Milliseconds since the last byte came. */
static uint32_t silence(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_last_data_recv
                                                                    : UINT32_MAX;
}

static size_t neighbours(const struct porter *p, size_t of)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        n += same_host(&p->guest[i].peer, &p->guest[of].peer);
    return n;
}

static size_t choose(const struct porter *p)
{
    size_t crowd = 0, from = 0, worst;
    uint32_t longest = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t n = neighbours(p, i);
        if (n > crowd) {
            crowd = n;
            from = i;
        }
    }
    worst = from;
    for (size_t i = 0; i < p->count; i++)
        if (same_host(&p->guest[i].peer, &p->guest[from].peer)) {
            uint32_t ms = silence(p->guest[i].fd);
            if (ms > longest) {
                longest = ms;
                worst = i;
            }
        }
    return worst;
}

static void cut_one(struct porter *p)
{
    struct guest g = p->guest[choose(p)];
    struct sockaddr_storage now;
    if (peer_of(g.fd, &now) && memcmp(&now, &g.peer, sizeof now) == 0)
        (void)shutdown(g.fd, SHUT_RDWR);
    forget(p, g.fd);
    if (!p->warned)
        log_warn(p->log, "more than %zu connections at a time: the longest silent are cut",
                 p->most);
    p->warned = true;
}

static void welcome(struct porter *p, int fd)
{
    struct guest *g;
    forget(p, fd);
    g = &p->guest[p->count];
    g->fd = fd;
    if (!peer_of(fd, &g->peer))
        return; /* gone again */
    p->count++;
    if (p->count > p->most)
        cut_one(p);
}

void porter_look(struct porter *p)
{
    uint16_t kind;
    int32_t fd;
    while (events_take(p->events, &kind, &fd))
        if (kind == ZMQ_EVENT_ACCEPTED)
            welcome(p, fd);
        else
            forget(p, fd);
}
