/*
 * netio/context.h - what the ZeroMQ sockets of one process share: the library's context and the
 * allow-lists by which CURVE connections are admitted (ZAP). Nobody is admitted by default.
 */
#ifndef TREFOIL_NETIO_CONTEXT_H
#define TREFOIL_NETIO_CONTEXT_H

#include "base/error.h"
#include "base/log.h"

#include <stdint.h>

struct netio;

/* Starts the context and its admission thread. */
enum err netio_new(struct netio **netio, struct log *log) MUST_CHECK;
/* All sockets must be closed first. Waits at most 200 ms for their last messages to leave. */
void netio_free(struct netio **netio);

/* The library's context, for the files of netio/ alone. */
void *netio_zmq(struct netio *netio);

/*
 * Admits a CURVE public key to sockets of a domain ("gate", or a name that a socket's owner
 * chose). `user` is what the gate reports with the peer's messages.
 */
enum err netio_allow(struct netio *netio, const char *domain, const uint8_t public_key[32],
                     uint32_t user) MUST_CHECK;
/* Connections that stand already are not cut. */
void netio_disallow(struct netio *netio, const char *domain, const uint8_t public_key[32]);

#endif
