/*
 * netio/porter.h - who may stay connected to a socket, and how much memory all of them may take.
 *
 * ZeroMQ takes every connection and reads what each sends, before its messages can be seen. The porter, a thread of its
 * own, hears of each connection, asks the kernel what has come by it, and cuts
 *
 *   - above `connections`: of the address that has most, the one from which nothing has come for longest;
 *   - above `of_a_key` of one key: of these, the same;
 *   - above `memory` bytes that wait to be taken, of messages whole or not: of whoever has most there, the most;
 *   - one whose message is not whole after PORTER_MESSAGE_MS.
 *
 * So whoever opens many connections, or fills memory, crowds out himself, and an honest client that is cut dials again.
 */
#ifndef TREFOIL_NETIO_PORTER_H
#define TREFOIL_NETIO_PORTER_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

/* A message may take so long to arrive: 35 kbit/s for one of 256 KiB. */
#define PORTER_MESSAGE_MS 60000

struct porter;

struct porter_options {
    void *context, *socket; /* ZeroMQ's; a CURVE server */
    size_t connections;
    int64_t
        settled_ms; /* who has stayed for so long is not cut for another that comes; 0: may be */
    size_t memory;  /* 0: any, and what follows means nothing */
    size_t of_a_key;
    int64_t message_ms; /* 0: PORTER_MESSAGE_MS */
    struct log *log;
};

/* Before the socket is bound. Here and below: of the thread that has the socket. */
enum err porter_new(struct porter **porter, const struct porter_options *o) MUST_CHECK;
/* Before the socket is closed. */
void porter_free(struct porter **porter);

/* A message was taken: the connection that it came by (ZMQ_SRCFD), whose key that is, bytes of the message. */
void porter_took(struct porter *porter, int fd, uint32_t user, size_t bytes);
/* Nothing is left to take. */
void porter_idle(struct porter *porter);
/* This one breaks the protocol: it is cut. */
void porter_cut(struct porter *porter, int fd);

#endif
