#include "netio/socket.h"

#include "base/clock.h"
#include "netio/context.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zmq.h>

/*
 * What CURVE's MESSAGE command adds to a message: ZeroMQ's bound counts it. Name, nonce, tag,
 * flags.
 */
#define CURVE_OVERHEAD (8 + 8 + 16 + 1)

size_t socket_wire_bytes(size_t message)
{
    size_t body = message + CURVE_OVERHEAD;
    return body + (body > 255 ? 9 : 2); /* flags and size */
}

/* What a failed call means to the callers. */
static enum err meaning(int code)
{
    switch (code) {
    case EAGAIN:
        return ERR_AGAIN;
    case ENOMEM:
        return ERR_NOMEM;
    case EMFILE:
        return ERR_SYSTEM;
    default: /* ETERM and the like: no socket any more, or not now */
        return ERR_MISUSE;
    }
}

enum err socket_option(void *socket, int option, int value, struct log *log)
{
    if (zmq_setsockopt(socket, option, &value, sizeof value) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "ZeroMQ refused option %d: %s", option, zmq_strerror(errno));
}

static enum err set_key(void *socket, int option, const uint8_t key[32], struct log *log)
{
    if (zmq_setsockopt(socket, option, key, 32) == 0)
        return ERR_OK;
    return log_fail(log, ERR_CRYPTO, "ZeroMQ refused a CURVE key: %s; is libzmq built with CURVE?",
                    zmq_strerror(errno));
}

/*
 * libzmq admits every key when nobody answers for admission, unless this option is set. Its number
 * is fixed, but stable headers leave out its name. A library that lacks it depends on the answer of
 * context.c alone, and tests make sure of that answer.
 */
static void fail_closed(void *socket)
{
    enum { ZAP_ENFORCE_DOMAIN = 93 };
    const int on = 1;
    (void)zmq_setsockopt(socket, ZAP_ENFORCE_DOMAIN, &on, sizeof on);
}

/* Only those on the list get in. */
static enum err set_domain(void *socket, const char *domain, struct log *log)
{
    fail_closed(socket);
    if (zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "ZeroMQ refused the domain %s: %s", domain,
                    zmq_strerror(errno));
}

static enum err set_pass(void *socket, const struct socket_options *o, struct log *log)
{
    if (o->pass != NULL &&
        zmq_setsockopt(socket, ZMQ_PLAIN_USERNAME, o->pass, NETIO_PASS_SIZE) != 0)
        return log_fail(log, ERR_SYSTEM, "ZeroMQ refused a pass: %s", zmq_strerror(errno));
    if (!o->wants_pass)
        return ERR_OK;
    TRY(socket_option(socket, ZMQ_PLAIN_SERVER, 1, log));
    return set_domain(socket, o->zap_domain, log);
}

static enum err set_curve(void *socket, const struct socket_options *o, struct log *log)
{
    TRY(set_key(socket, ZMQ_CURVE_PUBLICKEY, o->own_public, log));
    TRY(set_key(socket, ZMQ_CURVE_SECRETKEY, o->own_secret, log));
    if (o->server_public != NULL)
        return set_key(socket, ZMQ_CURVE_SERVERKEY, o->server_public, log);
    TRY(socket_option(socket, ZMQ_CURVE_SERVER, 1, log));
    return set_domain(socket, o->zap_domain, log);
}

static enum err set_options(void *socket, const struct socket_options *o, struct log *log)
{
    static const struct {
        int option, value;
    } common[] = {
        {ZMQ_LINGER, SOCKET_LINGER_MS},
        /*
         * not ZeroMQ's own heartbeats: they cut a link whose reader computes while its queue is
         * full
         */
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 30},
        {ZMQ_TCP_KEEPALIVE_INTVL, 10},
        {ZMQ_TCP_KEEPALIVE_CNT, 3},
        {ZMQ_HANDSHAKE_IVL, SOCKET_HANDSHAKE_MS},
        {ZMQ_RECONNECT_IVL, 50},
        {ZMQ_RECONNECT_IVL_MAX, 1000},
    };
    int64_t max_message = o->max_message > 0 ? (int64_t)o->max_message : -1;
    if (max_message > 0 && o->own_public != NULL)
        max_message += CURVE_OVERHEAD;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        TRY(socket_option(socket, common[i].option, common[i].value, log));
    if (o->send_depth > 0)
        TRY(socket_option(socket, ZMQ_SNDHWM, o->send_depth, log));
    if (o->receive_depth > 0)
        TRY(socket_option(socket, ZMQ_RCVHWM, o->receive_depth, log));
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_message, sizeof max_message) != 0)
        return log_fail(log, ERR_SYSTEM, "ZeroMQ refused a bound on messages: %s",
                        zmq_strerror(errno));
    return o->own_public != NULL ? set_curve(socket, o, log) : set_pass(socket, o, log);
}

enum err socket_new(void **socket, void *context, const struct socket_options *o, struct log *log)
{
    enum err e;
    *socket = zmq_socket(context, o->type);
    if (*socket == NULL)
        return log_fail(log, meaning(errno), "no ZeroMQ socket: %s", zmq_strerror(errno));
    e = set_options(*socket, o, log);
    if (e != ERR_OK) {
        zmq_close(*socket);
        *socket = NULL;
    }
    return e;
}

/*
 * A name that has both kinds of address means IPv4 unless the endpoint is an IPv6 literal: with
 * IPv6 on, "localhost" dials ::1 where the other side most often listens on 127.0.0.1.
 */
static enum err set_family(void *socket, const char *endpoint, struct log *log)
{
    return strchr(endpoint, '[') != NULL ? socket_option(socket, ZMQ_IPV6, 1, log) : ERR_OK;
}

static const char *endpoint_advice(int code)
{
    switch (code) {
    case EADDRINUSE:
        return "another program, or another trefoil, has this port: stop it or choose another";
    case EADDRNOTAVAIL:
    case ENODEV:
        return "this machine has no such address: use one of its own, or 0.0.0.0 for all";
    case EACCES:
        return "ports below 1024 need privileges: choose a higher one";
    case EINVAL:
    case EPROTONOSUPPORT:
        return "write endpoints as tcp://host:port";
    default:
        return "see that the endpoint is right";
    }
}

enum err socket_bind(void *socket, const char *endpoint, struct log *log)
{
    TRY(set_family(socket, endpoint, log));
    if (zmq_bind(socket, endpoint) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot listen on %s: %s (%s)", endpoint, zmq_strerror(errno),
                    endpoint_advice(errno));
}

enum err socket_dial(void *socket, const char *endpoint, struct log *log)
{
    TRY(set_family(socket, endpoint, log));
    if (zmq_connect(socket, endpoint) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot dial %s: %s (%s)", endpoint, zmq_strerror(errno),
                    endpoint_advice(errno));
}

/* The caller closes the message, even if there was no memory for it. */
static enum err fill(zmq_msg_t *m, const void *p, size_t n)
{
    if (zmq_msg_init_size(m, n) != 0) {
        zmq_msg_init(m); /* what failed cannot be closed */
        return ERR_NOMEM;
    }
    if (n > 0)
        memcpy(zmq_msg_data(m), p, n);
    return ERR_OK;
}

/* A signal must not come between the frames of a message, here or in socket_part(). */
static enum err push(void *socket, zmq_msg_t *m, int flags)
{
    int sent;
    do
        sent = zmq_msg_send(m, socket, ZMQ_DONTWAIT | flags);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? ERR_OK : meaning(errno);
}

/* A message that was sent needs no closing. */
enum err socket_send(void *socket, const void *p, size_t n)
{
    zmq_msg_t m CLEAN(zmq_msg_close);
    TRY(fill(&m, p, n));
    return push(socket, &m, 0);
}

enum err socket_send_two(void *socket, const void *head, size_t head_size, const void *p, size_t n)
{
    zmq_msg_t first CLEAN(zmq_msg_close), second CLEAN(zmq_msg_close);
    zmq_msg_init(&second);
    TRY(fill(&first, head, head_size));
    TRY(fill(&second, p, n));
    TRY(push(socket, &first, ZMQ_SNDMORE));
    return push(socket, &second, 0);
}

enum err socket_push(void *socket, void *zmq_message)
{
    return push(socket, zmq_message, 0);
}

enum err socket_part(void *socket, void *zmq_message)
{
    int got;
    do
        got = zmq_msg_recv(zmq_message, socket, ZMQ_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? ERR_OK : meaning(errno);
}

void socket_skip(void *socket, void *zmq_message)
{
    /* parts of a message are there together, or none */
    while (zmq_msg_more(zmq_message) && socket_part(socket, zmq_message) == ERR_OK)
        ;
}

enum err socket_pull(void *socket, void *zmq_message, const char *link, struct log *log)
{
    enum err e;
    zmq_msg_init(zmq_message);
    e = socket_part(socket, zmq_message);
    if (e == ERR_OK && zmq_msg_more(zmq_message)) {
        socket_skip(socket, zmq_message);
        log_warn(log, "dropped a message in parts on %s: trefoil sends none; what is connected?",
                 link);
        e = ERR_AGAIN;
    }
    if (e != ERR_OK)
        zmq_msg_close(zmq_message);
    return e;
}

enum err socket_receive(void *socket, struct bytes *message, const char *link, struct log *log)
{
    zmq_msg_t m;
    TRY(socket_pull(socket, &m, link, log));
    bytes_set(message, zmq_msg_data(&m), zmq_msg_size(&m));
    zmq_msg_close(&m);
    return bytes_ok(message);
}

bool socket_writable(void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLOUT) != 0;
}

enum err socket_wait(const struct socket_wait *w, size_t count, int64_t deadline)
{
    zmq_pollitem_t items[SOCKET_WAIT_MAX];
    for (size_t i = 0; i < count; i++)
        items[i] = (zmq_pollitem_t){
            .socket = w[i].socket,
            .events = (short)((w[i].readable ? ZMQ_POLLIN : 0) | (w[i].writable ? ZMQ_POLLOUT : 0)),
        };
    for (;;) {
        int64_t left = clock_left_ms(deadline);
        int ready = zmq_poll(items, (int)count, left < INT_MAX ? (long)left : INT_MAX);
        if (ready > 0)
            return ERR_OK;
        if (ready < 0 && errno != EINTR)
            return meaning(errno);
        if (clock_left_ms(deadline) == 0)
            return ERR_TIMEOUT;
    }
}
