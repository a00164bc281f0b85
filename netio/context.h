/*
 * netio/context.h - what the ZeroMQ sockets of one process share: the library's context, and lists
 * of who may connect (ZAP), by a CURVE key or by a pass. By default nobody may.
 */
#pragma once

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
/*
 * Admits any other key to sockets of one domain, as a guest. Whoever takes its messages decides
 * what it may ask; they come with its key (netio/gate.h).
 */
enum err netio_allow_guests(struct netio *netio, const char *domain) MUST_CHECK;
#define NETIO_GUEST "guest:" /* and the key's hexadecimal digits: a guest's user id */
/*
 * Admits whoever shows a pass to the sockets of a domain that does not use CURVE. A pass is a
 * secret that both sides know already. It travels in the clear, so it is good for a few connections
 * only. Whoever shows another one is turned away, and nothing is logged.
 */
#define NETIO_PASS_SIZE 32
enum err netio_allow_pass(struct netio *netio, const char *domain,
                          const uint8_t pass[NETIO_PASS_SIZE]) MUST_CHECK;
/* Takes back a key or a pass. Existing connections are not cut. */
void netio_disallow(struct netio *netio, const char *domain, const uint8_t key[32]);
