/*
 * Where a net is; what it has moved, by phase; and what lanes that work side by side have moved
 * together.
 */
#include "netio/net_private.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *net_phase_name(enum net_phase phase)
{
    static const char *const names[NET_PHASES] = {"other",   "noise",  "collect",
                                                  "compute", "select", "measure"};
    return (unsigned)phase < NET_PHASES ? names[phase] : "unknown";
}

struct net_place net_place(const struct net *net)
{
    struct net_place place;
    char lane[24] = "";
    if (net->lane > 0)
        snprintf(lane, sizeof lane, ", lane %" PRIu32, net->lane);
    snprintf(place.text, sizeof place.text, "exchange %" PRIu64 " (%s%s)", net->exchange,
             net_phase_name(net->phase), lane);
    return place;
}

void net_charge(struct net *net)
{
    double now = clock_now_s();
    net->counters[net->phase].seconds += now - net->entered;
    net->entered = now;
}

void net_enter(struct net *net, enum net_phase phase)
{
    net_charge(net);
    net->phase = phase;
}

enum net_phase net_phase(const struct net *net)
{
    return net->phase;
}

const struct net_counters *net_counters(const struct net *net, enum net_phase phase)
{
    return &net->counters[phase];
}

static void add_bytes(struct net_counters *sum, const struct net_counters *c)
{
    sum->payload_sent += c->payload_sent;
    sum->payload_received += c->payload_received;
    sum->wire_sent += c->wire_sent;
    sum->wire_received += c->wire_received;
    sum->frames_sent += c->frames_sent;
    sum->frames_received += c->frames_received;
}

struct net_counters net_total(const struct net *net)
{
    struct net_counters sum = {0};
    for (int p = 0; p < NET_PHASES; p++) {
        const struct net_counters *c = &net->counters[p];
        sum.exchanges += c->exchanges;
        add_bytes(&sum, c);
        sum.seconds += c->seconds;
    }
    return sum;
}

void net_begin(struct net *lane, enum net_phase phase)
{
    memset(lane->counters, 0, sizeof lane->counters);
    lane->phase = phase;
}

uint64_t net_part(const struct net *first, struct net *lane)
{
    net_begin(lane, first->phase);
    return first->counters[first->phase].exchanges;
}

/* Adds up lanes that work side by side. */
void net_counters_add(struct net_counters *sum, const struct net_counters *lane)
{
    if (lane->exchanges > sum->exchanges)
        sum->exchanges = lane->exchanges;
    add_bytes(sum, lane);
}

void net_add(struct net *first, const struct net_counters *counted, uint64_t since)
{
    struct net_counters all = *counted;
    all.exchanges += since;
    net_counters_add(&first->counters[first->phase], &all);
}

void net_join(struct net *first, const struct net *lane, uint64_t since)
{
    net_add(first, &lane->counters[first->phase], since);
}

unsigned net_servers(const struct net *net)
{
    return net->servers;
}

unsigned net_neighbour(const struct net *net, enum net_peer peer)
{
    return net->link[peer].index;
}

unsigned net_index(const struct net *net)
{
    return net->index;
}

struct log *net_log(const struct net *net)
{
    return net->log;
}

uint64_t net_exchanges(const struct net *net)
{
    return net->exchange;
}
