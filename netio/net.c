#include "netio/net_private.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "netio/hkdf.h"
#include "netio/seal.h"

#include <inttypes.h>
#include <string.h>

#define DEADLINE_MS 60000
#define ABORT_MS 200 /* how long giving up may wait for room to say so */
#define WATCH_MS 20  /* silence after which neighbours are watched: for an ABORT, and for leaving */
#define LEFT_MS 100  /* after a neighbour has left, for what it sent before */

/* --- making one ------------------------------------------------------------------------------- */

static enum err derive_abort_key(const uint8_t bulk[SEAL_KEY], uint8_t **key)
{
    struct bytes info CLEAN(bytes_clear) = {0};
    *key = secret_new(SEAL_KEY);
    if (*key == NULL)
        return ERR_NOMEM;
    bytes_put_string(&info, "trefoil-abort-1");
    return hkdf_sha256(bulk, SEAL_KEY, &info, *key, SEAL_KEY);
}

static enum err open_direction(struct net *net, const struct net_options *o, enum net_peer peer,
                               enum seal_side side)
{
    struct net_link *link = &net->link[peer];
    uint8_t key[SEAL_KEY];
    enum err e = session_bulk_key(o->session, peer, side == SEAL_SENDER, o->lane, key);
    if (e == ERR_OK)
        e = seal_new(side == SEAL_SENDER ? &link->out : &link->in, side, key, o->rekey_blocks);
    if (e == ERR_OK)
        e = derive_abort_key(key, &net->abort_key[peer][side]);
    secret_wipe(key, sizeof key);
    return e;
}

static enum err open_link(struct net *net, const struct net_options *o, enum net_peer peer)
{
    net->link[peer].index = net_neighbour_of(net->servers, net->index, peer);
    TRY(open_direction(net, o, peer, SEAL_SENDER));
    return open_direction(net, o, peer, SEAL_RECEIVER);
}

enum err net_new(struct net **net, const struct net_options *o)
{
    struct net *n;
    enum err e = ERR_OK;
    *net = NULL;
    TRY(memory_new(&n, 1));
    n->transport = o->transport;
    n->control = o->control;
    n->log = o->log;
    n->servers = o->session->servers;
    n->index = o->session->index;
    n->lane = o->lane;
    n->ended = o->ended;
    memcpy(n->session, o->session->id, sizeof n->session);
    n->deadline_ms = o->deadline_ms > 0 ? o->deadline_ms : DEADLINE_MS;
    n->left_by = INT64_MAX;
    n->entered = clock_now_s();
    transport_forget(o->transport);
    for (unsigned p = 0; p + 1 < n->servers && e == ERR_OK; p++)
        e = open_link(n, o, (enum net_peer)p);
    if (e != ERR_OK) {
        log_error(o->log, "cannot set up the sealed links to the other servers: %s", error_text(e));
        net_free(&n);
    }
    *net = n;
    return e;
}

void net_free(struct net **net)
{
    if (*net == NULL)
        return;
    for (unsigned p = 0; p < 2; p++) {
        seal_free(&(*net)->link[p].out);
        seal_free(&(*net)->link[p].in);
        transport_drop((*net)->transport, &(*net)->link[p].sealed);
        transport_drop((*net)->transport, &(*net)->link[p].ahead);
        secret_free(&(*net)->abort_key[p][SEAL_SENDER]);
        secret_free(&(*net)->abort_key[p][SEAL_RECEIVER]);
    }
    transport_drop((*net)->transport, &(*net)->message);
    memory_wipe_free(&(*net)->tile, (*net)->tile_size);
    memory_free(net);
}

/* --- exchanges -------------------------------------------------------------------------------- */

/* What is still to be moved, as masks for transport_wait(), and when the first patience ends. */
struct outstanding {
    unsigned readable, writable;
    int64_t until;
};

static struct outstanding outstanding(const struct net *net)
{
    struct outstanding o = {.until = net->left_by};
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        const struct net_link *link = &net->link[p];
        if (link->incoming.done < link->incoming.size) {
            o.readable |= 1u << p;
            o.until = link->receive_by < o.until ? link->receive_by : o.until;
        }
        if (link->outgoing.done < link->outgoing.size) {
            o.writable |= 1u << p;
            o.until = link->send_by < o.until ? link->send_by : o.until;
        }
    }
    return o;
}

/* Whether the first exchange is not over, in which neighbours are also watched elsewhere. */
static bool greets(const struct net *net)
{
    return net->control != NULL && net->exchange == 0;
}

/* Notes which servers have left since the last call. What they sent before may still arrive. */
static void see_who_left(struct net *net)
{
    unsigned broken = transport_broken(net->transport);
    if (greets(net))
        broken |= transport_broken(net->control);
    for (unsigned p = 0; p + 1 < net->servers; p++)
        net->link[p].left = net->link[p].left || (broken >> p & 1);
    if (broken != 0 && net->left_by == INT64_MAX)
        net->left_by = clock_now_ms() + LEFT_MS;
}

static enum err too_late(struct net *net, int64_t now)
{
    if (now >= net->left_by)
        return ERR_PEER;
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        const struct net_link *link = &net->link[p];
        bool silent = link->incoming.done < link->incoming.size && now >= link->receive_by;
        bool full = link->outgoing.done < link->outgoing.size && now >= link->send_by;
        if (silent || full)
            log_error(net->log,
                      "server %u %s for %" PRId64
                      " ms in %s: see that it runs and can be reached; the session ends",
                      link->index, silent ? "was silent" : "took nothing", net->deadline_ms,
                      net_place(net).text);
    }
    return ERR_TIMEOUT;
}

/*
 * Waits for what is outstanding. After a while it also heeds a neighbour that has done its part of
 * the exchange, since that one may give up over the other's silence or over a bad frame, and a
 * neighbour that leaves.
 *
 * It does not try again with sched_yield() first. With three processes on two cores that left a
 * small exchange in one direction at 40 - 50 us, gained a twentieth in two directions, and cost 15
 * to 60 % more CPU, which the neighbours need.
 */
static enum err wait_for(struct net *net, const struct outstanding *left)
{
    int64_t first = clock_now_ms() + WATCH_MS;
    unsigned watched = 0;
    enum err e;
    for (unsigned p = 0; p + 1 < net->servers; p++)
        if (!(left->readable >> p & 1) && !net->link[p].ahead.held)
            watched |= 1u << p;
    if (first > left->until)
        first = left->until;
    e = transport_wait(net->transport, left->readable, left->writable, first);
    if (e != ERR_TIMEOUT || first == left->until)
        watched = 0;
    else {
        see_who_left(net);
        if (net->left_by == INT64_MAX)
            e = transport_wait(net->transport, left->readable | watched | TRANSPORT_NEWS,
                               left->writable,
                               greets(net) ? clock_now_ms() + WATCH_MS : left->until);
    }
    for (unsigned p = 0; p + 1 < net->servers && e == ERR_OK; p++)
        if (watched >> p & 1)
            TRY(net_look_ahead(net, (enum net_peer)p));
    if (e == ERR_OK || e == ERR_TIMEOUT)
        return ERR_OK;
    log_error(net->log, "waiting for the other servers failed in %s: %s", net_place(net).text,
              error_text(e));
    return e;
}

/*
 * A pass tries all that is outstanding once. Patience is judged by the time before the pass: a
 * neighbour whose frames came while a callback computed has not been silent.
 */
static enum err move_all(struct net *net)
{
    for (;;) {
        int64_t now = clock_now_ms();
        struct outstanding left;
        bool moved = false;
        if (net->ended != NULL && atomic_load(net->ended))
            return ERR_PEER;
        for (unsigned p = 0; p + 1 < net->servers; p++) {
            TRY(net_push(net, (enum net_peer)p, &moved));
            net_say(&net->link[p]);
            TRY(net_pull(net, (enum net_peer)p, &moved));
        }
        TRY(net_hear(net, &moved));
        left = outstanding(net);
        if (left.readable == 0 && left.writable == 0)
            return ERR_OK;
        if (now >= left.until)
            return too_late(net, now);
        if (!moved)
            TRY(wait_for(net, &left));
    }
}

/* Even where the other neighbour saw it first, and told us only that it gave up. */
static void name_who_left(struct net *net)
{
    see_who_left(net);
    for (unsigned p = 0; p + 1 < net->servers; p++)
        if (net->link[p].left)
            log_error(net->log,
                      "server %u closed its connection, or the network broke it, in %s: the "
                      "session ends, and the run goes on when that server is back",
                      net->link[p].index, net_place(net).text);
}

static enum err give_up(struct net *net, enum err e)
{
    int64_t deadline = clock_now_ms() + ABORT_MS;
    net->dead = true;
    if (net->ended != NULL)
        atomic_store(net->ended, true);
    if (e != ERR_OK)
        name_who_left(net);
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        enum err told = ERR_OK;
        transport_drop(net->transport, &net->link[p].sealed);
        if (!net->link[p].gave_up && !net->link[p].left)
            told = net_send_abort(net, (enum net_peer)p, deadline);
        (void)told; /* best effort; the neighbour's own deadline does the rest */
        /* abort keys are used once */
        secret_free(&net->abort_key[p][SEAL_SENDER]);
    }
    return e;
}

static enum err check_alive(const struct net *net)
{
    if (!net->dead)
        return ERR_OK;
    return log_fail(net->log, ERR_MISUSE, "this session has ended: start a new one");
}

enum err net_listen(struct net *net)
{
    TRY(check_alive(net));
    see_who_left(net);
    return net->left_by == INT64_MAX ? ERR_OK : give_up(net, ERR_PEER);
}

void net_abort(struct net *net)
{
    enum err e;
    if (net == NULL || net->dead)
        return;
    e = give_up(net, ERR_OK);
    (void)e;
}

/* One exchange of what the links have been given to move. */
static enum err run_exchange(struct net *net)
{
    int64_t by = clock_now_ms() + net->deadline_ms;
    enum err e;
    net_mount(net);
    for (unsigned p = 0; p + 1 < net->servers; p++)
        net->link[p].send_by = net->link[p].receive_by = by;
    e = move_all(net);
    if (e == ERR_OK) {
        net->exchange++;
        net->counters[net->phase].exchanges++;
    } else {
        e = give_up(net, e);
    }
    net_charge(net);
    return e;
}

enum err net_exchange(struct net *net, const struct net_exchange *exchange)
{
    TRY(check_alive(net));
    net_load(net, exchange);
    return run_exchange(net);
}

enum err net_greet(struct net *net)
{
    static const uint8_t byte = 0;
    uint8_t answer[2];
    return net_exchange(net, &(struct net_exchange){.send = {&byte, &byte},
                                                    .send_size = {1, 1},
                                                    .receive = {&answer[0], &answer[1]},
                                                    .receive_size = {1, 1}});
}

enum err net_settle(struct net *net)
{
    static const struct net_exchange nothing = {0};
    while (net->next_rider.heard != NULL)
        TRY(net_exchange(net, &nothing));
    return ERR_OK;
}

static enum err check_flows(const struct net *net, const struct net_flow *flows, size_t count)
{
    const unsigned peers = net->servers - 1;
    if (count > peers ||
        (count == 2 && (flows[0].to == flows[1].to || flows[0].from == flows[1].from)))
        return ERR_MISUSE;
    for (size_t k = 0; k < count; k++) {
        if ((unsigned)flows[k].to >= peers || (unsigned)flows[k].from >= peers)
            return ERR_MISUSE;
        if (flows[k].tile > NET_FRAME_BODY)
            return ERR_RANGE;
    }
    return ERR_OK;
}

/* Room for the longest tile of the flows. */
static enum err fit_tile(struct net *net, const struct net_flow *flows, size_t count)
{
    size_t need = 0;
    for (size_t k = 0; k < count; k++) {
        size_t tile = flows[k].tile > 0 ? flows[k].tile : NET_TILE;
        size_t most = flows[k].send_size > flows[k].receive_size ? flows[k].send_size
                                                                 : flows[k].receive_size;
        tile = tile < most ? tile : most;
        need = need > tile ? need : tile;
    }
    if (need <= net->tile_size)
        return ERR_OK;
    memory_wipe_free(&net->tile, net->tile_size);
    net->tile = memory_words(need, 1);
    net->tile_size = net->tile != NULL ? need : 0;
    return net->tile != NULL ? ERR_OK : ERR_NOMEM;
}

enum err net_stream(struct net *net, const struct net_flow *flows, size_t count)
{
    enum err e;
    TRY(check_alive(net));
    e = check_flows(net, flows, count);
    if (e == ERR_OK)
        e = fit_tile(net, flows, count);
    if (e != ERR_OK) {
        log_error(net->log, "cannot stream %s: %s", net_place(net).text, error_text(e));
        return give_up(net, e);
    }
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        net->link[p].outgoing = (struct net_outgoing){0};
        net->link[p].incoming = (struct net_incoming){0};
    }
    for (size_t k = 0; k < count; k++) {
        const struct net_flow *f = &flows[k];
        size_t tile = f->tile > 0 ? f->tile : NET_TILE;
        net->link[f->to].outgoing = (struct net_outgoing){
            .flow = f, .size = f->send_size, .tile = tile};
        net->link[f->from].incoming = (struct net_incoming){
            .flow = f, .size = f->receive_size, .tile = tile};
    }
    return run_exchange(net);
}
