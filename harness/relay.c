/*
 * A wire for tests, where the kernel has no netem. It passes IP packets between network namespaces,
 * each after a delay; some are lost, and some hosts cut off.
 *
 *   relay NAME...          in the hub's namespace; host K has 10.77.K.2 behind interface NAME[K]
 *
 * It reads packets that hosts send to the hub, their gateway, and writes each to the interface of
 * its destination when its time has come. It reads commands, a line each, from standard input, and
 * ends when that ends:
 *
 *   delay MS      of every packet from now on; begins at 0
 *   loss PERMILLE of packets, at random from a fixed seed
 *   cut K         nothing from or to host K any more; heal K
 *
 * Segments that the kernel has not cut up yet pass in one piece (PACKET_VNET_HDR), with what it
 * says about their checksums. No packet overtakes another when the delay falls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOSTS_MAX 32
#define HEAD (sizeof(struct virtio_net_hdr) + ETH_HLEN)
#define FRAME_MAX (HEAD + 65536)
#define QUEUE_MAX ((size_t)256 << 20) /* bytes on the way; anything above is lost */
#define SOCKET_BUFFER (16 << 20)

struct packet {
    struct packet *next;
    double due;
    unsigned to;
    size_t size;
    uint8_t bytes[];
};

struct relay_running {
    unsigned hosts;
    int socket[HOSTS_MAX];
    bool cut[HOSTS_MAX];
    double delay;
    unsigned loss; /* permille */
    uint64_t random;
    struct packet *first, **last;
    size_t queued;
};

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_interface(const char *name)
{
    const int on = 1, buffer = SOCKET_BUFFER;
    struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    a.sll_ifindex = (int)if_nametoindex(name);
    must(fd >= 0 && a.sll_ifindex > 0, name);
    must(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) == 0 &&
             setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) == 0,
         "packet options");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
    must(bind(fd, (const struct sockaddr *)&a, sizeof a) == 0, name);
    return fd;
}

/* The host that 10.77.K.x belongs to, or HOSTS_MAX. */
static unsigned destination(const struct relay_running *r, const uint8_t *frame, size_t n)
{
    const uint8_t *ip = frame + HEAD;
    if (n < HEAD + 20 || ip[16] != 10 || ip[17] != 77 || ip[18] >= r->hosts || ip[19] != 2)
        return HOSTS_MAX;
    return ip[18];
}

static bool is_lost(struct relay_running *r)
{
    r->random = r->random * UINT64_C(6364136223846793005) + 1;
    return (r->random >> 33) % 1000 < r->loss;
}

/* Hosts' hardware addresses are 02:00:00:00:K:02, the hub's 02:00:00:00:K:01. */
static void address(uint8_t *frame, unsigned to)
{
    const uint8_t mac[12] = {2, 0, 0, 0, (uint8_t)to, 2, 2, 0, 0, 0, (uint8_t)to, 1};
    memcpy(frame + sizeof(struct virtio_net_hdr), mac, sizeof mac);
}

static void take(struct relay_running *r, unsigned from)
{
    static uint8_t frame[FRAME_MAX];
    ssize_t n;
    while ((n = recv(r->socket[from], frame, sizeof frame, MSG_DONTWAIT)) > 0) {
        unsigned to = destination(r, frame, (size_t)n);
        struct packet *p;
        if (to == HOSTS_MAX || r->cut[from] || r->cut[to] || is_lost(r) || r->queued > QUEUE_MAX)
            continue;
        p = malloc(sizeof *p + (size_t)n);
        must(p != NULL, "malloc");
        *p = (struct packet){.due = now() + r->delay, .to = to, .size = (size_t)n};
        memcpy(p->bytes, frame, (size_t)n);
        address(p->bytes, to);
        *r->last = p;
        r->last = &p->next;
        r->queued += p->size;
    }
}

static void pass_on(struct relay_running *r)
{
    while (r->first != NULL && r->first->due <= now()) {
        struct packet *p = r->first;
        r->first = p->next;
        if (r->first == NULL)
            r->last = &r->first;
        r->queued -= p->size;
        /* packets for which the interface has no room are lost, as on any wire */
        if (!r->cut[p->to] && send(r->socket[p->to], p->bytes, p->size, MSG_DONTWAIT) < 0 &&
            errno != EAGAIN && errno != ENOBUFS && errno != ENETDOWN)
            perror("send");
        free(p);
    }
}

static void obey(struct relay_running *r, const char *line)
{
    char word[16];
    unsigned n;
    if (sscanf(line, "%15s %u", word, &n) != 2) {
        fprintf(stderr, "relay: what is %s?\n", line);
        return;
    }
    if (strcmp(word, "delay") == 0)
        r->delay = 1e-3 * n;
    else if (strcmp(word, "loss") == 0)
        r->loss = n;
    else if (n < r->hosts && (strcmp(word, "cut") == 0 || strcmp(word, "heal") == 0))
        r->cut[n] = word[0] == 'c';
    else
        fprintf(stderr, "relay: what is %s?\n", line);
}

/* Standard input, line by line; false at its end. */
static bool listen_to(struct relay_running *r)
{
    static char text[256];
    static size_t used;
    char *end;
    ssize_t n = read(0, text + used, sizeof text - 1 - used);
    if (n <= 0)
        return false;
    used += (size_t)n;
    text[used] = '\0';
    while ((end = strchr(text, '\n')) != NULL) {
        *end = '\0';
        obey(r, text);
        used -= (size_t)(end + 1 - text);
        memmove(text, end + 1, used + 1);
    }
    return used < sizeof text - 1;
}

static struct timespec until(const struct relay_running *r)
{
    double left = r->first == NULL ? 1 : r->first->due - now();
    if (left < 0)
        left = 0;
    return (struct timespec){.tv_sec = (time_t)left,
                             .tv_nsec = (long)(1e9 * (left - (double)(time_t)left))};
}

int main(int argc, char **argv)
{
    struct pollfd poll_on[1 + HOSTS_MAX] = {{.fd = 0, .events = POLLIN}};
    struct relay_running r = {.hosts = (unsigned)argc - 1, .random = 1};
    r.last = &r.first;
    if (argc < 2 || argc > HOSTS_MAX + 1) {
        fprintf(stderr, "usage: relay INTERFACE...\n");
        return 2;
    }
    for (unsigned k = 0; k < r.hosts; k++) {
        r.socket[k] = open_interface(argv[k + 1]);
        poll_on[k + 1] = (struct pollfd){.fd = r.socket[k], .events = POLLIN};
    }
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct timespec wait = until(&r);
        ppoll(poll_on, r.hosts + 1, &wait, NULL);
        for (unsigned k = 0; k < r.hosts; k++)
            if (poll_on[k + 1].revents != 0)
                take(&r, k);
        pass_on(&r);
        if (poll_on[0].revents != 0 && !listen_to(&r))
            return 0;
    }
}
