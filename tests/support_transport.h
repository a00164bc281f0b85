/*
 * tests/support_transport.h - three parties as threads of one process: a transport of in-process
 * queues.
 */
#ifndef TREFOIL_TESTS_SUPPORT_TRANSPORT_H
#define TREFOIL_TESTS_SUPPORT_TRANSPORT_H

#include "netio/transport.h"

/*
 * Three connected transports, one for each server of one process; `depth` messages a queue. A freed
 * one is a silent neighbour to the others, as a dead server is over a network.
 */
enum err transport_memory_new(struct transport *three[3], size_t depth) MUST_CHECK;

#endif
