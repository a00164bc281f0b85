/*
 * harness/transport.h - three parties as threads of one process: a transport of in-process
 * queues; and waiting for a message from any transport.
 */
#pragma once

#include "netio/transport.h"

/*
 * Three connected transports, one for each server of one process; `depth` messages a queue. A freed
 * one is a silent neighbour to the others, as a dead server is over a network.
 */
enum err transport_memory_new(struct transport *three[3], size_t depth) MUST_CHECK;
/* The same for two servers, each with one neighbour. */
enum err transport_memory_pair(struct transport *two[2], size_t depth) MUST_CHECK;

/*
 * From now on this one waits for nothing: what is not there when it looks never comes. So a script
 * of what its neighbours say, sent before, is heard to its end and no longer, on a slow machine
 * too.
 */
void transport_memory_hurry(struct transport *t);

/* Waits for a message until the deadline. */
enum err transport_receive_by(struct transport *t, enum net_peer from, struct bytes *message,
                              int64_t deadline) MUST_CHECK;
