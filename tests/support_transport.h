/*
 * tests/support_transport.h - three parties as threads of one process: a transport of in-process
 * queues; and waiting for a message from any transport.
 */
#ifndef TREFOIL_TESTS_SUPPORT_TRANSPORT_H
#define TREFOIL_TESTS_SUPPORT_TRANSPORT_H

#include "netio/transport.h"

/*
 * Three connected transports, one for each server of one process; `depth` messages a queue. A freed
 * one is a silent neighbour to the others, as a dead server is over a network.
 */
enum err transport_memory_new(struct transport *three[3], size_t depth) MUST_CHECK;

/* Waits for a message until the deadline. */
enum err transport_receive_by(struct transport *t, enum net_peer from, struct bytes *message,
                              int64_t deadline) MUST_CHECK;

#endif
