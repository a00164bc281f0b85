/*
 * ZeroMQ names a connection by its descriptor, which belongs to the I/O thread and may be closed
 * and used for another at any time. So the porter cuts a descriptor only if its peer is still the
 * one that came, and if the line last heard of on it is the one to be cut. The worst that a race
 * can do is to cut a connection that has not spoken since it came, and will be dialled again. The
 * numbers of lines are only compared for equality: a client can choose its own.
 *
 * What waits in memory is what the kernel has received, less what it still holds, less the messages
 * that were taken. Messages taken are noted first and applied after the events that were there by
 * then. So each note finds its connection, which was announced before its first byte was read.
 */
#include "netio/porter.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "netio/crowd.h"
#include "netio/events.h"
#include "netio/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <zmq.h>

/* Between looks: while nothing waits, and while something does. */
#define LOOK_MS 50
#define SOON_MS 10
/*
 * Greeting and handshake: bytes on the wire that belong to no message. Whoever holds less than that
 * is left alone.
 */
#define ALLOWANCE 4096
/* Both have more than this, with CURVE: 64 + 202 + 266 bytes, and what a peer says of itself. */
#define HANDSHAKE 512

struct guest {
    int fd;
    uint32_t number; /* of the line heard last; 0: none yet */
    struct sockaddr_storage peer;
    struct crowd_name host, who; /* who: its key once that is known, else its host */
    uint64_t taken;              /* bytes on the wire of the messages that were taken */
    uint64_t received;           /* by the kernel */
    uint64_t waiting;            /* in this program's memory */
    int64_t came_ms;
    int64_t heard_ms, whole_ms; /* when bytes last came; when no part of a message last waited */
};

/* What the other thread says of a connection. */
struct note {
    struct porter_line line;
    uint32_t user;
    bool cut;
    uint64_t bytes;
};

struct porter {
    struct porter_options o;
    void *events; /* PAIR; of the thread once that runs */
    struct thread thread;
    /* of the thread */
    struct guest *guest;     /* connections + 1 */
    struct crowd_pile *pile; /* as many */
    size_t count;
    struct note *heard; /* those being applied */
    int64_t next_ms;    /* when the kernel is asked again */
    int64_t whole_ms;   /* when every whole message had been taken */
    /* between the threads */
    atomic_bool stop;
    pthread_mutex_t mutex;
    struct note *note; /* one for each connection of which there is news */
    size_t notes, capacity;
    int64_t idle_ms;
};

/* --- who comes and goes ----------------------------------------------------------------------- */

static bool peer_of(int fd, struct sockaddr_storage *peer)
{
    socklen_t size = sizeof *peer;
    memset(peer, 0, sizeof *peer);
    return getpeername(fd, (struct sockaddr *)peer, &size) == 0;
}

static struct guest *find(struct porter *p, int fd)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->guest[i].fd == fd)
            return &p->guest[i];
    return NULL;
}

static void forget(struct porter *p, int fd)
{
    struct guest *g = find(p, fd);
    if (g != NULL)
        *g = p->guest[--p->count];
}

static void cut(struct porter *p, const struct guest *g)
{
    struct sockaddr_storage now;
    if (peer_of(g->fd, &now) && memcmp(&now, &g->peer, sizeof now) == 0)
        (void)shutdown(g->fd, SHUT_RDWR);
    forget(p, g->fd);
}

static bool settled(const struct porter *p, const struct guest *g, int64_t now)
{
    return p->o.settled_ms > 0 && now - g->came_ms > p->o.settled_ms;
}

/* Among the guests with this name that may be cut, the one that was silent longest. */
static struct guest *longest_silent(struct porter *p, const struct crowd_name *name, int64_t now)
{
    struct guest *worst = NULL;
    for (size_t i = 0; i < p->count; i++) {
        struct guest *g = &p->guest[i];
        if ((crowd_same(&g->host, name) || crowd_same(&g->who, name)) && !settled(p, g, now) &&
            (worst == NULL || g->heard_ms < worst->heard_ms))
            worst = g;
    }
    return worst;
}

static void measure(struct guest *g, int64_t now)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int unread = 0;
    uint64_t gone;
    if (getsockopt(g->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    g->heard_ms = now - info.tcpi_last_data_recv;
    g->received = info.tcpi_bytes_received;
    if (g->received > g->taken + ALLOWANCE && ioctl(g->fd, FIONREAD, &unread) != 0)
        unread = 0;
    gone = g->taken + (uint64_t)unread;
    g->waiting = g->received > gone ? g->received - gone : 0;
}

/* Makes room where there are too many. The newest, which is never settled, is one of them. */
static void cut_one(struct porter *p)
{
    const int64_t now = p->guest[p->count - 1].came_ms;
    struct crowd_pile crowd;
    for (size_t i = 0; i < p->count; i++) {
        struct guest *g = &p->guest[i];
        if (p->o.memory == 0) /* else they are measured all the time */
            measure(g, now);
        p->pile[i] = (struct crowd_pile){.name = g->host, .weight = !settled(p, g, now)};
    }
    crowd = crowd_heaviest(p->pile, p->count);
    log_warn(p->o.log, "more than %zu connections at a time: the longest silent are cut",
             p->o.connections);
    cut(p, longest_silent(p, &crowd.name, now));
}

static void welcome(struct porter *p, int fd)
{
    struct guest *g;
    forget(p, fd);
    g = &p->guest[p->count];
    *g = (struct guest){.fd = fd, .came_ms = clock_now_ms()};
    if (!peer_of(fd, &g->peer))
        return; /* already gone */
    g->host = g->who = crowd_of_host(&g->peer);
    g->whole_ms = g->heard_ms = g->came_ms;
    if (++p->count > p->o.connections)
        cut_one(p);
}

static void take_events(struct porter *p)
{
    uint16_t kind;
    int32_t fd;
    while (events_take(p->events, &kind, &fd))
        if (kind == ZMQ_EVENT_ACCEPTED)
            welcome(p, fd);
        else if (kind == ZMQ_EVENT_DISCONNECTED)
            forget(p, fd);
}

/* --- what they send --------------------------------------------------------------------------- */

/* A guest's first message says whose it is. */
static void recognise(struct porter *p, struct guest *g, uint32_t user)
{
    const struct crowd_name key = crowd_of_key(user);
    const int64_t now = clock_now_ms();
    size_t others = 0;
    if (crowd_same(&g->who, &key))
        return;
    g->who = key;
    for (size_t i = 0; i < p->count; i++)
        if (crowd_same(&p->guest[i].who, &key)) {
            measure(&p->guest[i], now);
            others++;
        }
    if (others <= p->o.of_a_key)
        return;
    log_warn(p->o.log, "more than %zu connections of one key: the longest silent is cut",
             p->o.of_a_key);
    cut(p, longest_silent(p, &key, now));
}

/*
 * Messages that were taken. They may be of a connection that has gone, whose descriptor another one
 * has by now: that has its own number once it was heard, and is not cut for another's; before, it
 * has brought less than they and its handshake are.
 */
static void apply(struct porter *p, struct note *note)
{
    struct guest *g = find(p, note->line.fd);
    if (g == NULL || note->bytes == 0)
        return;
    if (g->number == 0 || g->number != note->line.number) {
        const uint64_t least = g->taken + note->bytes + (g->number == 0 ? HANDSHAKE : 0);
        measure(g, clock_now_ms());
        note->cut = note->cut && g->number == 0 && g->received >= least;
        if (g->received < least)
            return;
    }
    g->number = note->line.number;
    g->taken += note->bytes;
    g->whole_ms = clock_now_ms();
    if (!note->cut)
        recognise(p, g, note->user);
}

/* Once all notes are applied, so that the connection has its own number if it was heard. */
static void apply_cut(struct porter *p, const struct note *note)
{
    const struct guest *g = find(p, note->line.fd);
    if (note->cut && g != NULL && g->number == note->line.number)
        cut(p, g);
}

/* Once every whole message has been taken, what still waits is parts of messages. */
static void measure_all(struct porter *p)
{
    const int64_t now = clock_now_ms();
    for (size_t i = 0; i < p->count;) {
        struct guest *g = &p->guest[i];
        measure(g, now);
        if (g->waiting <= ALLOWANCE)
            g->whole_ms = now;
        if (p->whole_ms - g->whole_ms < p->o.message_ms) {
            i++;
            continue;
        }
        log_warn(p->o.log, "a connection is cut: its message was not whole after %.3g s",
                 (double)p->o.message_ms / 1000);
        cut(p, g);
    }
}

static uint64_t waiting(const struct porter *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->guest[i].waiting;
    return sum;
}

static void keep_within_memory(struct porter *p)
{
    while (waiting(p) > p->o.memory) {
        struct guest *worst = NULL;
        struct crowd_pile most;
        for (size_t i = 0; i < p->count; i++)
            p->pile[i] = (struct crowd_pile){.name = p->guest[i].who,
                                             .weight = p->guest[i].waiting};
        most = crowd_heaviest(p->pile, p->count);
        for (size_t i = 0; i < p->count; i++)
            if (crowd_same(&p->guest[i].who, &most.name) &&
                (worst == NULL || p->guest[i].waiting > worst->waiting))
                worst = &p->guest[i];
        log_warn(p->o.log,
                 "messages that wait take more than %zu MiB: a connection of whoever has most of "
                 "them is cut",
                 p->o.memory >> 20);
        cut(p, worst);
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

/* What was noted so far, into p->heard. */
static size_t take_notes(struct porter *p)
{
    struct note *mine;
    size_t n;
    pthread_mutex_lock(&p->mutex);
    mine = p->note;
    n = p->notes;
    p->note = p->heard;
    p->notes = 0;
    p->whole_ms = p->idle_ms;
    pthread_mutex_unlock(&p->mutex);
    p->heard = mine;
    return n;
}

static void attend(struct porter *p)
{
    size_t n = take_notes(p);
    take_events(p);
    for (size_t i = 0; i < n; i++)
        apply(p, &p->heard[i]);
    for (size_t i = 0; i < n; i++)
        apply_cut(p, &p->heard[i]);
    if (p->o.memory == 0)
        p->next_ms = INT64_MAX;
    if (clock_now_ms() < p->next_ms)
        return;
    measure_all(p);
    keep_within_memory(p);
    p->next_ms = clock_now_ms() + (waiting(p) > 0 ? SOON_MS : LOOK_MS);
}

static void *watch_over(void *self)
{
    struct porter *p = self;
    const struct socket_wait w = {.socket = p->events, .readable = true};
    while (!atomic_load(&p->stop)) {
        enum err e = socket_wait(&w, 1, p->next_ms);
        if (e == ERR_MISUSE)
            break; /* ZeroMQ's context ends */
        if (e != ERR_OK && e != ERR_TIMEOUT)
            clock_pause(LOOK_MS);
        attend(p);
    }
    return NULL;
}

enum err porter_new(struct porter **porter, const struct porter_options *o)
{
    struct porter *p CLEAN(porter_free) = NULL;
    *porter = NULL;
    TRY(memory_new(&p, 1));
    p->o = *o;
    p->o.message_ms = o->message_ms != 0 ? o->message_ms : PORTER_MESSAGE_MS;
    p->capacity = 2 * (o->connections + 1);
    pthread_mutex_init(&p->mutex, NULL);
    TRY(memory_new(&p->guest, o->connections + 1));
    TRY(memory_new(&p->pile, o->connections + 1));
    TRY(memory_new(&p->note, p->capacity));
    TRY(memory_new(&p->heard, p->capacity));
    TRY(events_new(&p->events, o->context, o->socket,
                   ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED,
                   o->log));
    TRY(thread_start(&p->thread, watch_over, p, o->log));
    return memory_hand_over(porter, &p);
}

void porter_free(struct porter **porter)
{
    struct porter *p = *porter;
    if (p == NULL)
        return;
    atomic_store(&p->stop, true);
    (void)zmq_socket_monitor(p->o.socket, NULL, 0); /* the last event wakes the thread */
    thread_join(&p->thread);
    events_free(p->events, p->o.socket);
    pthread_mutex_destroy(&p->mutex);
    memory_free_all(&p->guest, &p->pile, &p->note, &p->heard);
    memory_free(porter);
}

/* --- the other thread ------------------------------------------------------------------------- */

/*
 * A connection has one note. If none is left, which takes twice as many connections as are allowed,
 * it is cut a little later.
 */
static void note(struct porter *p, const struct note *news)
{
    size_t i = 0;
    pthread_mutex_lock(&p->mutex);
    while (i < p->notes &&
           (p->note[i].line.fd != news->line.fd || p->note[i].line.number != news->line.number))
        i++;
    if (i == p->notes && i < p->capacity)
        p->note[p->notes++] = (struct note){.line = news->line};
    if (i < p->capacity) {
        p->note[i].user = news->bytes > 0 && !news->cut ? news->user : p->note[i].user;
        p->note[i].cut = p->note[i].cut || news->cut;
        p->note[i].bytes += news->bytes;
    }
    pthread_mutex_unlock(&p->mutex);
}

void porter_took(struct porter *p, struct porter_line line, uint32_t user, size_t bytes)
{
    note(p, &(struct note){.line = line, .user = user, .bytes = socket_wire_bytes(bytes)});
}

void porter_cut(struct porter *p, struct porter_line line, size_t bytes)
{
    note(p, &(struct note){
                .line = line, .bytes = bytes > 0 ? socket_wire_bytes(bytes) : 0, .cut = true});
}

void porter_idle(struct porter *p)
{
    pthread_mutex_lock(&p->mutex);
    p->idle_ms = clock_now_ms();
    pthread_mutex_unlock(&p->mutex);
}
