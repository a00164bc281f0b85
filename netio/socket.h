/*
 * netio/socket.h - what every ZeroMQ socket of netio/ has in common: options, who is admitted,
 * binding and dialling with errors that say what to do, and whole messages of one frame.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a last message, such as an ABORT, may take to leave after a socket is closed. */
#define SOCKET_LINGER_MS 200
/* Whoever has not proved a key by then is cut. */
#define SOCKET_HANDSHAKE_MS 10000

struct socket_options {
    int type;       /* ZMQ_PUSH, ... */
    int send_depth; /* messages; 0 means ZeroMQ's default */
    int receive_depth;
    size_t max_message; /* 0: no bound */
    /* CURVE, if there is own_public: a server names its allow-list, a client the server's key */
    const uint8_t *own_public, *own_secret;
    const uint8_t *server_public;
    const char *zap_domain;
    /*
     * or passes (netio_allow_pass()): a server that has an allow-list wants one, a client shows one
     */
    bool wants_pass;
    const uint8_t *pass;
};

/* The bytes that a message of one frame takes on a CURVE connection. */
size_t socket_wire_bytes(size_t message);

/* NULL where it fails, which is logged. Close it with zmq_close(). */
enum err socket_new(void **socket, void *context, const struct socket_options *o,
                    struct log *log) MUST_CHECK;

enum err socket_bind(void *socket, const char *endpoint, struct log *log) MUST_CHECK;
enum err socket_dial(void *socket, const char *endpoint, struct log *log) MUST_CHECK;
enum err socket_option(void *socket, int option, int value, struct log *log) MUST_CHECK;

/* Queues a message of one frame without waiting. ERR_AGAIN: no room. */
enum err socket_send(void *socket, const void *p, size_t n) MUST_CHECK;
/*
 * Queues a message of two frames. Both get their memory before the first is queued; otherwise the
 * next message would become the second frame of this one.
 */
enum err socket_send_two(void *socket, const void *head, size_t head_size, const void *p,
                         size_t n) MUST_CHECK;

/*
 * The next message, replacing what `message` held. One in parts is not ours: it is dropped with a
 * warning that names the link. ERR_AGAIN: none, or one that was dropped.
 */
enum err socket_receive(void *socket, struct bytes *message, const char *link,
                        struct log *log) MUST_CHECK;

/*
 * The same for a zmq_msg_t, without a copy. socket_push() leaves the message with its caller unless
 * it succeeds; socket_pull() initialises it, and leaves nothing to close unless it succeeds.
 */
enum err socket_push(void *socket, void *zmq_message) MUST_CHECK;
enum err socket_pull(void *socket, void *zmq_message, const char *link, struct log *log) MUST_CHECK;

/*
 * For messages of several frames: receive the next frame into an initialised zmq_msg_t; drop the
 * rest of that message.
 */
enum err socket_part(void *socket, void *zmq_message) MUST_CHECK;
void socket_skip(void *socket, void *zmq_message);

/* Whether the socket can be written now, without a system call in most cases. */
bool socket_writable(void *socket);

/*
 * Waits until one of at most SOCKET_WAIT_MAX sockets is ready; ERR_TIMEOUT at the deadline,
 * ERR_MISUSE once the context is being freed.
 */
#define SOCKET_WAIT_MAX 6
struct socket_wait {
    void *socket;
    bool readable, writable;
};
enum err socket_wait(const struct socket_wait *w, size_t count, int64_t deadline) MUST_CHECK;
