/*
 * The admission thread answers ZAP (ZeroMQ RFC 27) requests of this context's sockets on
 * inproc://zeromq.zap.01. libzmq asks it for each CURVE connection before anything reaches a
 * socket, and for each that shows a pass, which ZeroMQ calls a user name (PLAIN, RFC 24). Without
 * that endpoint libzmq would admit every key: socket.c closes that door (fail_closed()).
 */
#include "netio/context.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rate.h"
#include "base/thread.h"
#include "netio/socket.h"

#include <errno.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <zmq.h>

#define DOMAIN_SIZE 64
#define KEY_SIZE 32
#define KEY_TEXT 41 /* Z85 and NUL */
/* Connections of one key to one domain: a flapping link stays below this. */
#define DIALS_AT_ONCE 100
#define DIALS_PER_SECOND 2
/* Connections of one pass: the first, and some that the network broke while they began. */
#define PASS_DIALS 4
#define ZAP_PAUSE_MS 10 /* before what failed is tried again */

_Static_assert(KEY_SIZE == NETIO_PASS_SIZE, "keys and passes are kept alike");

struct admitted {
    char domain[DOMAIN_SIZE];
    uint8_t key[KEY_SIZE]; /* or pass */
    uint32_t user;
    bool pass;
    unsigned dials;   /* of a pass, so far */
    struct rate rate; /* of a key's connections */
};

struct netio {
    void *zmq;
    void *zap; /* REP socket, of the admission thread once that runs */
    struct thread thread;
    struct log *log;
    pthread_mutex_t mutex; /* guards what follows */
    struct admitted *list;
    size_t count, capacity;
    char guests[DOMAIN_SIZE]; /* where they are admitted, or "" */
};

/* --- the lists -------------------------------------------------------------------------------- */

static struct admitted *find(struct netio *n, const char *domain, const uint8_t key[KEY_SIZE])
{
    for (size_t i = 0; i < n->count; i++)
        if (sodium_memcmp(n->list[i].key, key, KEY_SIZE) == 0 &&
            strcmp(n->list[i].domain, domain) == 0)
            return &n->list[i];
    return NULL;
}

static enum err allow(struct netio *n, const char *domain, const uint8_t key[KEY_SIZE],
                      uint32_t user, bool pass)
{
    struct admitted *a;
    if (strlen(domain) >= DOMAIN_SIZE)
        return ERR_RANGE;
    pthread_mutex_lock(&n->mutex);
    a = find(n, domain, key);
    if (a == NULL && memory_room(&n->list, &n->capacity, n->count + 1) == ERR_OK) {
        a = &n->list[n->count++];
        memset(a, 0, sizeof *a);
        memcpy(a->domain, domain, strlen(domain));
        memcpy(a->key, key, KEY_SIZE);
        a->pass = pass;
    }
    if (a != NULL)
        a->user = user;
    pthread_mutex_unlock(&n->mutex);
    return a != NULL ? ERR_OK : ERR_NOMEM;
}

enum err netio_allow(struct netio *n, const char *domain, const uint8_t public_key[32],
                     uint32_t user)
{
    return allow(n, domain, public_key, user, false);
}

enum err netio_allow_guests(struct netio *n, const char *domain)
{
    if (strlen(domain) >= DOMAIN_SIZE)
        return ERR_RANGE;
    pthread_mutex_lock(&n->mutex);
    snprintf(n->guests, sizeof n->guests, "%s", domain);
    pthread_mutex_unlock(&n->mutex);
    return ERR_OK;
}

enum err netio_allow_pass(struct netio *n, const char *domain, const uint8_t pass[NETIO_PASS_SIZE])
{
    return allow(n, domain, pass, 0, true);
}

void netio_disallow(struct netio *n, const char *domain, const uint8_t key[32])
{
    struct admitted *a;
    pthread_mutex_lock(&n->mutex);
    a = find(n, domain, key);
    if (a != NULL)
        *a = n->list[--n->count];
    pthread_mutex_unlock(&n->mutex);
}

/* --- the admission thread --------------------------------------------------------------------- */

/* The frames of a request. One that is too long is cut, and then matches nothing admitted. */
enum {
    ZAP_VERSION,
    ZAP_ID,
    ZAP_DOMAIN,
    ZAP_ADDRESS,
    ZAP_IDENTITY,
    ZAP_MECHANISM,
    ZAP_KEY,
    ZAP_MAX
};

struct zap_request {
    size_t frames;
    size_t size[ZAP_MAX];
    char data[ZAP_MAX][256];
};

/*
 * Half a request, or half an answer, would be the end of admission: this socket only takes what
 * comes next once all of it has been dealt with. So whatever fails is tried again until it works,
 * or ZeroMQ ends.
 */
static bool zap_again(int result)
{
    if (result >= 0 || errno == ETERM)
        return false;
    if (errno != EINTR)
        clock_pause(ZAP_PAUSE_MS);
    return true;
}

static int zap_receive(void *socket, void *p, size_t n)
{
    int size;
    do
        size = zmq_recv(socket, p, n, 0);
    while (zap_again(size));
    return size;
}

static int zap_more(void *socket)
{
    int more, result;
    size_t size = sizeof more;
    do
        result = zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
    while (zap_again(result));
    return result == 0 ? more : -1;
}

static bool zap_send(void *socket, const void *p, size_t n, int flags)
{
    int size;
    do
        size = zmq_send(socket, p, n, flags);
    while (zap_again(size));
    return size >= 0;
}

/* False, from any of these, means that ZeroMQ is ending. */
static bool zap_read(void *socket, struct zap_request *r)
{
    memset(r, 0, sizeof *r);
    for (int more = 1; more; r->frames++) {
        char rest[256];
        bool known = r->frames < ZAP_MAX;
        /* one byte less than there is room for: every text ends with NUL */
        int n = zap_receive(socket, known ? r->data[r->frames] : rest, sizeof rest - 1);
        if (n < 0)
            return false;
        if (known) /* n is the frame's size, even if it was cut */
            r->size[r->frames] = (size_t)n < sizeof rest ? (size_t)n : sizeof rest - 1;
        more = zap_more(socket);
        if (more < 0)
            return false;
    }
    return true;
}

enum context_verdict { ADMITTED, GUEST, LATER, TURNED_AWAY };

/* PLAIN also has a password, which we do not use. */
static bool shows_pass(const struct zap_request *r)
{
    return r->frames == ZAP_MAX + 1 && strcmp(r->data[ZAP_MECHANISM], "PLAIN") == 0;
}

/* A key that dials faster than any client of ours is turned away for now: it will try again. */
static enum context_verdict judge_key(struct admitted *a, uint32_t *user)
{
    *user = a->user;
    return rate_take(&a->rate, DIALS_PER_SECOND, DIALS_AT_ONCE, clock_now_ms()) ? ADMITTED : LATER;
}

static enum context_verdict judge(struct netio *n, const struct zap_request *r, uint32_t *user)
{
    const bool pass = shows_pass(r);
    const bool key = r->frames == ZAP_MAX && strcmp(r->data[ZAP_MECHANISM], "CURVE") == 0;
    enum context_verdict v = TURNED_AWAY;
    struct admitted *a;
    if (strcmp(r->data[ZAP_VERSION], "1.0") != 0 || (!pass && !key) || r->size[ZAP_KEY] != KEY_SIZE)
        return TURNED_AWAY;
    pthread_mutex_lock(&n->mutex);
    a = find(n, r->data[ZAP_DOMAIN], (const uint8_t *)r->data[ZAP_KEY]);
    if (a != NULL && a->pass == pass)
        v = !pass ? judge_key(a, user) : a->dials++ < PASS_DIALS ? ADMITTED : TURNED_AWAY;
    else if (a == NULL && !pass && n->guests[0] != '\0' &&
             strcmp(n->guests, r->data[ZAP_DOMAIN]) == 0)
        v = GUEST;
    pthread_mutex_unlock(&n->mutex);
    return v;
}

static void report_denial(struct netio *n, const struct zap_request *r)
{
    char text[KEY_TEXT] = "none";
    if (r->size[ZAP_KEY] == KEY_SIZE)
        zmq_z85_encode(text, (const uint8_t *)r->data[ZAP_KEY], KEY_SIZE);
    log_warn(n->log,
             "turned away a connection from %s to \"%s\": its key %s is not in the study; if it "
             "should be, amend the study's roster",
             r->data[ZAP_ADDRESS], r->data[ZAP_DOMAIN], text);
}

static bool zap_answer(void *socket, const struct zap_request *r, enum context_verdict v,
                       uint32_t user)
{
    const bool admitted = v == ADMITTED || v == GUEST;
    const char *status = admitted ? "200" : v == LATER ? "300" : "400";
    char name[sizeof NETIO_GUEST + 2 * KEY_SIZE] = NETIO_GUEST;
    /* a name comes as a message of its own, which would keep a place in the queue forever */
    if (v == GUEST)
        sodium_bin2hex(name + sizeof NETIO_GUEST - 1, 2 * KEY_SIZE + 1,
                       (const uint8_t *)r->data[ZAP_KEY], KEY_SIZE);
    else if (admitted && !shows_pass(r))
        snprintf(name, sizeof name, "%" PRIu32, user);
    else
        name[0] = '\0';
    return zap_send(socket, "1.0", 3, ZMQ_SNDMORE) &&
           zap_send(socket, r->data[ZAP_ID], r->size[ZAP_ID], ZMQ_SNDMORE) &&
           zap_send(socket, status, 3, ZMQ_SNDMORE) &&
           zap_send(socket, admitted ? "OK" : "no", 2, ZMQ_SNDMORE) &&
           zap_send(socket, name, strlen(name), ZMQ_SNDMORE) && zap_send(socket, "", 0, 0);
}

static void *admission(void *argument)
{
    struct netio *n = argument;
    struct zap_request r;
    bool done = true;
    while (done && zap_read(n->zap, &r)) {
        uint32_t user = 0;
        enum context_verdict v = judge(n, &r, &user);
        if (v == TURNED_AWAY && !shows_pass(&r)) /* a pass is nobody's name */
            report_denial(n, &r);
        done = zap_answer(n->zap, &r, v, user);
    }
    zmq_close(n->zap);
    return NULL;
}

/*
 * Long frames come and go in ZeroMQ's threads. By default the C library returns their pages to the
 * kernel each time and has them cleared again: a fifth to a quarter of a stream's CPU time. These
 * are the bounds that the library's own adaptation would reach.
 */
static void keep_pages(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

/* --- life ------------------------------------------------------------------------------------- */

static enum err start(struct netio *n)
{
    const struct socket_options o = {.type = ZMQ_REP};
    enum err e;
    keep_pages();
    n->zmq = zmq_ctx_new();
    if (n->zmq == NULL)
        return ERR_NOMEM;
    /*
     * One I/O thread, as by default: streams are as fast with one as with two or four, and with two
     * a small exchange costs a fifth more CPU (three processes on two cores).
     */
    TRY(socket_new(&n->zap, n->zmq, &o, n->log));
    /* bound before any other socket can exist, so that none is ever open without admission */
    e = socket_bind(n->zap, "inproc://zeromq.zap.01", n->log);
    if (e == ERR_OK)
        e = thread_start(&n->thread, admission, n, n->log);
    if (e != ERR_OK)
        zmq_close(n->zap);
    return e;
}

enum err netio_new(struct netio **netio, struct log *log)
{
    struct netio *n;
    enum err e;
    *netio = NULL;
    TRY(memory_new(&n, 1));
    n->log = log;
    pthread_mutex_init(&n->mutex, NULL);
    e = start(n);
    if (e != ERR_OK) {
        log_error(log, "cannot start ZeroMQ: %s", error_text(e));
        if (n->zmq != NULL)
            zmq_ctx_term(n->zmq);
        pthread_mutex_destroy(&n->mutex);
        memory_free(&n);
        return e;
    }
    *netio = n;
    return ERR_OK;
}

void netio_free(struct netio **netio)
{
    struct netio *n = *netio;
    if (n == NULL)
        return;
    zmq_ctx_shutdown(n->zmq); /* wakes the admission thread */
    thread_join(&n->thread);
    while (zmq_ctx_term(n->zmq) != 0 && errno == EINTR)
        ;
    pthread_mutex_destroy(&n->mutex);
    memory_free(&n->list);
    memory_free(netio);
}

void *netio_zmq(struct netio *netio)
{
    return netio->zmq;
}
