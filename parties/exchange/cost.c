#include "parties/exchange/cost.h"

#include <string.h>

void cost_put(struct bytes *out, const struct net *net)
{
    for (unsigned k = 0; k < NET_PHASES; k++) {
        const struct net_counters *c = net_counters(net, (enum net_phase)k);
        bytes_put_u64(out, c->exchanges);
        bytes_put_u64(out, c->payload_sent);
        bytes_put_u64(out, c->payload_received);
        bytes_put_u64(out, c->wire_sent);
        bytes_put_u64(out, c->wire_received);
        bytes_put_double(out, c->seconds);
    }
}

enum err cost_read(struct net_counters cost[NET_PHASES], const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    memset(cost, 0, NET_PHASES * sizeof *cost);
    for (unsigned k = 0; k < NET_PHASES; k++) {
        cost[k].exchanges = reader_u64(&in);
        cost[k].payload_sent = reader_u64(&in);
        cost[k].payload_received = reader_u64(&in);
        cost[k].wire_sent = reader_u64(&in);
        cost[k].wire_received = reader_u64(&in);
        cost[k].seconds = reader_double(&in);
    }
    return reader_done(&in);
}
