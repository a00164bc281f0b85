#include "bench/tap.h"

#include "base/memory.h"
#include "harness/process.h"
#include "parties/study/study_ports.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPES 16

struct pipe_pair {
    int client, server;
};

struct tap {
    uint16_t port, real;
    int listening[STUDY_SERVERS_MOST], stop[2];
    struct pipe_pair pair[PIPES];
    size_t pairs;
    uint64_t sent, received; /* by the client */
    pthread_t thread;
};

static struct sockaddr_in at(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* -1 on failure. */
static int listen_at(uint16_t port)
{
    const struct sockaddr_in a = at(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 &&
        (bind(fd, (const struct sockaddr *)&a, sizeof a) != 0 || listen(fd, PIPES) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void close_pair(struct tap *t, size_t k)
{
    close(t->pair[k].client);
    close(t->pair[k].server);
    t->pair[k] = t->pair[--t->pairs];
}

static void accept_from(struct tap *t, unsigned server)
{
    const struct sockaddr_in a = at((uint16_t)(t->real + server * STUDY_PORTS));
    struct pipe_pair *p = &t->pair[t->pairs];
    p->client = accept(t->listening[server], NULL, NULL);
    if (p->client < 0)
        return;
    p->server = socket(AF_INET, SOCK_STREAM, 0);
    t->pairs++;
    if (p->server < 0 || connect(p->server, (const struct sockaddr *)&a, sizeof a) != 0)
        close_pair(t, t->pairs - 1); /* the client dials again */
}

/* False when the connection ends. */
static bool pass_on(int from, int to, uint64_t *count)
{
    char buffer[65536];
    ssize_t n = read(from, buffer, sizeof buffer);
    for (ssize_t done = 0, m; done < n; done += m)
        if ((m = write(to, buffer + done, (size_t)(n - done))) <= 0)
            return false;
    *count += n > 0 ? (uint64_t)n : 0;
    return n > 0;
}

static void *run(void *argument)
{
    struct tap *t = argument;
    for (;;) {
        struct pollfd w[1 + STUDY_SERVERS_MOST + 2 * PIPES] = {
            {.fd = t->stop[0], .events = POLLIN}};
        struct pollfd *of_pair = w + 1 + STUDY_SERVERS_MOST;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) /* takes none while there is no room */
            w[1 + i] = (struct pollfd){.fd = t->pairs < PIPES ? t->listening[i] : -1,
                                       .events = POLLIN};
        for (size_t k = 0; k < t->pairs; k++) {
            of_pair[2 * k] = (struct pollfd){.fd = t->pair[k].client, .events = POLLIN};
            of_pair[2 * k + 1] = (struct pollfd){.fd = t->pair[k].server, .events = POLLIN};
        }
        (void)poll(w, 1 + STUDY_SERVERS_MOST + 2 * t->pairs, -1);
        if (w[0].revents != 0)
            return NULL;
        for (size_t k = t->pairs; k-- > 0;)
            if ((of_pair[2 * k].revents != 0 &&
                 !pass_on(t->pair[k].client, t->pair[k].server, &t->sent)) ||
                (of_pair[2 * k + 1].revents != 0 &&
                 !pass_on(t->pair[k].server, t->pair[k].client, &t->received)))
                close_pair(t, k);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            if (w[1 + i].revents != 0 && t->pairs < PIPES)
                accept_from(t, i);
    }
}

static void clear(struct tap *t)
{
    while (t->pairs > 0)
        close_pair(t, t->pairs - 1);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (t->listening[i] >= 0)
            close(t->listening[i]);
    for (int i = 0; i < 2; i++)
        if (t->stop[i] >= 0)
            close(t->stop[i]);
}

enum err tap_open(struct tap **tap, uint16_t real)
{
    struct tap *t = memory_array(1, sizeof *t);
    bool right;
    *tap = t;
    if (t == NULL)
        return ERR_NOMEM;
    t->real = real;
    t->port = support_ports(STUDY_SERVERS_MOST * STUDY_PORTS);
    t->stop[0] = t->stop[1] = -1;
    right = pipe(t->stop) == 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        t->listening[i] = listen_at((uint16_t)(t->port + i * STUDY_PORTS));
        right = right && t->listening[i] >= 0;
    }
    if (right && pthread_create(&t->thread, NULL, run, t) == 0)
        return ERR_OK;
    clear(t);
    memory_free(tap);
    return ERR_SYSTEM;
}

void tap_close(struct tap **tap, uint64_t *sent, uint64_t *received)
{
    struct tap *t = *tap;
    close(t->stop[1]); /* this wakes the thread */
    t->stop[1] = -1;
    pthread_join(t->thread, NULL);
    *sent = t->sent;
    *received = t->received;
    clear(t);
    memory_free(tap);
}

enum err tap_study(const struct tap *t, const char *from, const char *to, struct log *log)
{
    char endpoint[2 * STUDY_SERVERS_MOST][32];
    const char *pairs[2 * STUDY_SERVERS_MOST + 1] = {NULL};
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        snprintf(endpoint[2 * i], sizeof endpoint[0], "tcp://127.0.0.1:%u\n",
                 t->real + i * STUDY_PORTS);
        snprintf(endpoint[2 * i + 1], sizeof endpoint[0], "tcp://127.0.0.1:%u\n",
                 t->port + i * STUDY_PORTS);
        pairs[2 * i] = endpoint[2 * i];
        pairs[2 * i + 1] = endpoint[2 * i + 1];
    }
    if (support_edit(from, to, pairs))
        return ERR_OK;
    log_error(log, "%s does not name the gates that are tapped", from);
    return ERR_SYSTEM;
}
