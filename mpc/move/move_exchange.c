/*
 * An exchange of moves: messages to both neighbours, made and taken in steps as they travel. A
 * check plays its own exchanges with these too, so nothing here waits for one.
 */
#include "mpc/move/move_private.h"
#include "mpc/move/record.h"

#include <string.h>

/* --- an exchange ------------------------------------------------------------------------------ */

/* What goes to one neighbour and comes from the other. */
struct current {
    struct party *p;
    const struct move_exchange *exchange;
    enum net_peer to, from;
};

/*
 * The message that holds *offset of all, taken end to end. *offset is then within it, and *n at
 * most what is left of it.
 */
static size_t message_at(const struct move_message *all, size_t *offset, size_t *n)
{
    size_t m = 0;
    for (; *offset >= all[m].bytes; m++)
        *offset -= all[m].bytes;
    *n = all[m].bytes - *offset < *n ? all[m].bytes - *offset : *n;
    return m;
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct current *c = self;
    const struct move_message *all = c->exchange->send[c->to];
    for (size_t end = offset + n, k; offset < end; offset += k, out += k) {
        size_t at = offset, m = message_at(all, &at, (k = end - offset, &k));
        TRY(all[m].make(all[m].self, at, out, k));
        if (all[m].both && c->to == NET_NEXT)
            TRY(RECORD(c->p, ERR_OK, hear(c->p, c->p->index, out, k)));
    }
    return ERR_OK;
}

static enum err consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct current *c = self;
    const struct move_message *all = c->exchange->receive[c->from];
    for (size_t end = offset + n, k; offset < end; offset += k, in += k) {
        size_t at = offset, m = message_at(all, &at, (k = end - offset, &k));
        TRY(all[m].take(all[m].self, at, in, k));
        if (all[m].both)
            TRY(RECORD(c->p, ERR_OK,
                       hear(c->p, (c->p->index + (c->from == NET_NEXT ? 1 : 2)) % 3, in, k)));
    }
    return ERR_OK;
}

static size_t total(const struct move_message *all)
{
    size_t bytes = 0;
    for (unsigned m = 0; m < MOVE_MESSAGES; m++)
        bytes += all[m].bytes;
    return bytes;
}

static bool went_to_both(const struct move_message *all)
{
    bool both = false;
    for (unsigned m = 0; m < MOVE_MESSAGES; m++)
        both = both || all[m].both;
    return both;
}

enum err move_exchange(struct party *p, const struct move_exchange *exchange)
{
    struct current current[2];
    struct net_flow flows[2];
    for (unsigned k = 0; k < 2; k++) {
        const enum net_peer to = k == 0 ? NET_PREV : NET_NEXT, from = k == 0 ? NET_NEXT : NET_PREV;
        current[k] = (struct current){p, exchange, to, from};
        flows[k] = (struct net_flow){
            .to = to,
            .from = from,
            .send_size = total(exchange->send[to]),
            .receive_size = total(exchange->receive[from]),
            .tile = MOVE_TILE,
            .produce = produce,
            .consume = consume,
            .self = &current[k],
        };
    }
    TRY(net_stream(p->net, flows, 2));
    return went_to_both(exchange->send[NET_NEXT]) ? RECORD(p, ERR_OK, heard(p)) : ERR_OK;
}

/* --- messages in memory ----------------------------------------------------------------------- */

static enum err copy_out(void *self, size_t offset, uint8_t *out, size_t n)
{
    const uint8_t *words = self;
    memcpy(out, words + offset, n);
    return ERR_OK;
}

static enum err copy_in(void *self, size_t offset, const uint8_t *in, size_t n)
{
    uint8_t *words = self;
    memcpy(words + offset, in, n);
    return ERR_OK;
}

struct move_message move_whole(const void *words, size_t bytes)
{
    return (struct move_message){
        .bytes = bytes, .make = copy_out, .self = (void *)(uintptr_t)words};
}

struct move_message move_kept(void *words, size_t bytes)
{
    return (struct move_message){.bytes = bytes, .take = copy_in, .self = words};
}
