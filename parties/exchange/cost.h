/*
 * parties/exchange/cost.h - what a run has cost a server, by phase. The server sends this at the
 * run's end, and the analyst reads it.
 *
 * On the wire, for each of NET_PHASES: exchanges, payload sent and received, bytes on the wire sent
 * and received (u64 each), seconds (double).
 */
#pragma once

#include "base/bytes.h"
#include "netio/net.h"

void cost_put(struct bytes *out, const struct net *net);
/* Frames are not sent, and are read as 0. */
enum err cost_read(struct net_counters cost[NET_PHASES], const void *p, size_t n) MUST_CHECK;
