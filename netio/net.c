/*
 * Sealed rounds. Invariants:
 *
 *   1. A sequence number is sealed once: a frame that the transport has no room for stays sealed in
 *      its message and is offered again as it is.
 *   2. Nothing is opened of a neighbour beyond the payload that this round expects of it: a
 *      neighbour that is a round ahead waits in the transport's queue. While another one is silent,
 *      the first message of that queue is held to see whether it is an ABORT; nothing can stand
 *      before an ABORT of this round, since all that the neighbour sent for the round has been taken.
 *   3. What a frame's header must say is known before it comes; it is compared, never believed.
 *   4. The ABORT frame has a key of its own, used for one frame. It may overtake a frame that is
 *      sealed and not sent yet without touching the order of the others.
 *   5. A transport's message holds cipher text: payloads are sealed from where they lie into the
 *      message, and opened from it to where they shall lie. A streamed tile lies in `tile`, which
 *      stays in the cache and is wiped in the end.
 */
#include "netio/net.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "netio/frame.h"
#include "netio/hkdf.h"
#include "netio/seal.h"

#include <inttypes.h>
#include <string.h>

#define DEADLINE_MS 60000
#define ABORT_MS 200 /* how long giving up may wait for room to say so */
#define WATCH_MS 20  /* silence after which the other neighbour is watched for an ABORT */

_Static_assert(FRAME_HEADER + SEAL_TAG == NET_FRAME_OVERHEAD, "the overhead is public");
_Static_assert(FRAME_SESSION == SESSION_ID_SIZE, "the header holds a session id");

/* One payload of a round, in memory or made and used by a flow tile by tile; `done` bytes moved. */
struct outgoing {
    const uint8_t *from;
    const struct net_flow *flow;
    size_t size, done, tile;
};

struct incoming {
    uint8_t *to;
    const struct net_flow *flow;
    size_t size, done, tile;
};

struct link {
    unsigned index; /* the neighbour's */
    struct seal *out, *in;
    uint64_t out_sequence, in_sequence;
    struct transport_message sealed; /* a frame that the transport had no room for */
    struct transport_message ahead;  /* what came while we watched for an ABORT; read next */
    /* of this round */
    struct outgoing outgoing;
    struct incoming incoming;
    int64_t send_by, receive_by; /* when its silence is too long */
    bool gave_up;                /* it sent an ABORT */
};

struct net {
    struct transport *transport;
    struct log *log;
    unsigned index;
    uint32_t lane;
    uint8_t session[SESSION_ID_SIZE];
    int64_t deadline_ms;
    struct link link[2];
    uint8_t *abort_key[2][2]; /* [peer][0: to send, 1: to receive] */
    struct transport_message message;
    uint8_t *tile; /* plain text of the tile that a callback makes or uses */
    size_t tile_size;
    bool dead;
    uint64_t round, strangers;
    enum net_phase phase;
    double entered; /* up to when time has been charged */
    struct net_counters counters[NET_PHASES];
};

const char *net_phase_name(enum net_phase phase)
{
    static const char *const names[NET_PHASES] = {"other",   "noise",  "collect",
                                                  "compute", "select", "measure"};
    return (unsigned)phase < NET_PHASES ? names[phase] : "unknown";
}

/* --- counters ----------------------------------------------------------------------------------
 */

static void charge_time(struct net *net)
{
    double now = clock_now_s();
    net->counters[net->phase].seconds += now - net->entered;
    net->entered = now;
}

void net_enter(struct net *net, enum net_phase phase)
{
    charge_time(net);
    net->phase = phase;
}

const struct net_counters *net_counters(const struct net *net, enum net_phase phase)
{
    return &net->counters[phase];
}

struct net_counters net_total(const struct net *net)
{
    struct net_counters sum = {0};
    for (int p = 0; p < NET_PHASES; p++) {
        const struct net_counters *c = &net->counters[p];
        sum.rounds += c->rounds;
        sum.payload_sent += c->payload_sent;
        sum.payload_received += c->payload_received;
        sum.wire_sent += c->wire_sent;
        sum.wire_received += c->wire_received;
        sum.frames_sent += c->frames_sent;
        sum.frames_received += c->frames_received;
        sum.seconds += c->seconds;
    }
    return sum;
}

static void count_sent(struct net *net, size_t body)
{
    struct net_counters *c = &net->counters[net->phase];
    c->payload_sent += body;
    c->wire_sent += body + NET_FRAME_OVERHEAD;
    c->frames_sent++;
}

static void count_received(struct net *net, size_t body)
{
    struct net_counters *c = &net->counters[net->phase];
    c->payload_received += body;
    c->wire_received += body + NET_FRAME_OVERHEAD;
    c->frames_received++;
}

unsigned net_index(const struct net *net)
{
    return net->index;
}

uint64_t net_rounds(const struct net *net)
{
    return net->round;
}

uint64_t net_strangers(const struct net *net)
{
    return net->strangers;
}

/* --- making one --------------------------------------------------------------------------------
 */

static enum err derive_abort_key(const uint8_t bulk[SEAL_KEY], uint8_t **key)
{
    struct bytes info = {0};
    enum err e;
    *key = secret_new(SEAL_KEY);
    if (*key == NULL)
        return ERR_NOMEM;
    bytes_put_string(&info, "trefoil-abort-1");
    e = hkdf_sha256(bulk, SEAL_KEY, &info, *key, SEAL_KEY);
    bytes_clear(&info);
    return e;
}

static enum err open_direction(struct net *net, const struct net_options *o, enum net_peer peer,
                               enum seal_side side)
{
    struct link *link = &net->link[peer];
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
    net->link[peer].index = net_index_of(net->index, peer);
    TRY(open_direction(net, o, peer, SEAL_SENDER));
    return open_direction(net, o, peer, SEAL_RECEIVER);
}

enum err net_new(struct net **net, const struct net_options *o)
{
    struct net *n;
    enum err e;

    *net = NULL;
    TRY(secret_start());
    n = memory_array(1, sizeof *n);
    if (n == NULL)
        return ERR_NOMEM;
    n->transport = o->transport;
    n->log = o->log;
    n->index = o->session->index;
    n->lane = o->lane;
    memcpy(n->session, o->session->id, sizeof n->session);
    n->deadline_ms = o->deadline_ms > 0 ? o->deadline_ms : DEADLINE_MS;
    n->entered = clock_now_s();
    e = open_link(n, o, NET_PREV);
    if (e == ERR_OK)
        e = open_link(n, o, NET_NEXT);
    if (e != ERR_OK) {
        log_error(o->log, "cannot set up the sealed links of lane %u: %s", o->lane, error_text(e));
        net_free(&n);
    }
    *net = n;
    return e;
}

void net_free(struct net **net)
{
    if (*net == NULL)
        return;
    for (int p = 0; p < 2; p++) {
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

/* --- frames ------------------------------------------------------------------------------------
 */

static struct frame_header header(const struct net *net, enum net_peer peer, enum seal_side side)
{
    unsigned other = net->link[peer].index;
    struct frame_header h = {
        .kind = FRAME_DATA,
        .sender = (uint16_t)(side == SEAL_SENDER ? net->index : other),
        .receiver = (uint16_t)(side == SEAL_SENDER ? other : net->index),
        .lane = net->lane,
        .round = net->round,
    };
    memcpy(h.session, net->session, sizeof h.session);
    return h;
}

static size_t frame_body(size_t total, size_t done, size_t tile)
{
    return total - done < tile ? total - done : tile;
}

/* Makes the next frame of a payload, sealed where the transport will send it from. */
static enum err seal_next(struct net *net, enum net_peer peer)
{
    struct link *link = &net->link[peer];
    const struct outgoing *o = &link->outgoing;
    size_t n = frame_body(o->size, o->done, o->tile);
    struct frame_header h = header(net, peer, SEAL_SENDER);
    const uint8_t *plain = net->tile;
    uint8_t *frame;
    enum err e;

    if (o->flow == NULL)
        plain = o->from + o->done;
    else
        TRY(o->flow->produce(o->flow->self, o->done, net->tile, n));
    TRY(transport_make(net->transport, FRAME_HEADER + n + SEAL_TAG, &link->sealed));
    frame = link->sealed.data;
    h.sequence = link->out_sequence;
    h.total = o->size;
    h.length = (uint32_t)n;
    frame_encode(&h, frame);
    e = seal_frame(link->out, h.sequence, frame, FRAME_HEADER, plain, n, frame + FRAME_HEADER);
    if (e != ERR_OK) {
        log_error(net->log, "cannot seal a frame for server %u: %s", link->index, error_text(e));
        return e;
    }
    link->out_sequence++;
    return ERR_OK;
}

static enum err push(struct net *net, enum net_peer peer, bool *moved)
{
    struct link *link = &net->link[peer];
    size_t n;
    enum err e;

    if (link->outgoing.done == link->outgoing.size)
        return ERR_OK;
    if (!link->sealed.held)
        TRY(seal_next(net, peer));
    n = link->sealed.size - NET_FRAME_OVERHEAD;
    e = transport_push(net->transport, peer, &link->sealed);
    if (e == ERR_AGAIN)
        return ERR_OK;
    if (e != ERR_OK) {
        log_error(net->log, "the link to server %u failed in round %" PRIu64 " (%s): %s",
                  link->index, net->round, net_phase_name(net->phase), error_text(e));
        return e;
    }
    link->outgoing.done += n;
    count_sent(net, n);
    link->send_by = clock_now_ms() + net->deadline_ms;
    *moved = true;
    return ERR_OK;
}

/* One place for the words that end a session over a frame. */
static enum err bad_frame(struct net *net, enum net_peer peer, enum err e, const char *what)
{
    log_error(net->log,
              "server %u sent a frame %s in round %" PRIu64 " (%s), lane %u: the session ends; "
              "start a new one, and look at the network between the servers if it happens again",
              net->link[peer].index, what, net->round, net_phase_name(net->phase), net->lane);
    return e;
}

static enum err take_abort(struct net *net, enum net_peer peer, const struct transport_message *m)
{
    struct link *link = &net->link[peer];
    struct seal *seal;
    uint8_t nothing;
    enum err e;

    if (m->size != FRAME_HEADER + SEAL_TAG)
        return bad_frame(net, peer, ERR_AUTH, "that says ABORT and has a body");
    TRY(seal_new(&seal, SEAL_RECEIVER, net->abort_key[peer][SEAL_RECEIVER], 0));
    e = seal_open(seal, 0, m->data, FRAME_HEADER, m->data + FRAME_HEADER, 0, &nothing);
    seal_free(&seal);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that says ABORT and does not authenticate");
    link->gave_up = true;
    log_error(net->log,
              "server %u gave up in round %" PRIu64 " (%s), lane %u: its log has the reason; the "
              "session ends, start a new one",
              link->index, net->round, net_phase_name(net->phase), net->lane);
    return ERR_PEER;
}

/*
 * The header is well-formed and not what this round expects. A frame that authenticates all the
 * same comes from a neighbour whose program does something else than ours; any other was altered,
 * replayed or moved on its way.
 */
static enum err unexpected(struct net *net, enum net_peer peer, struct transport_message *m,
                           const struct frame_header *h, const struct frame_header *expected)
{
    struct link *link = &net->link[peer];
    uint8_t *body = m->data + FRAME_HEADER;
    enum err e;

    if (h->sequence != expected->sequence)
        return bad_frame(net, peer, ERR_AUTH,
                         h->sequence < expected->sequence ? "that came before (a replay)"
                                                          : "out of order (frames are missing)");
    e = seal_open(link->in, h->sequence, m->data, FRAME_HEADER, body, h->length, body);
    secret_wipe(body, h->length);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that does not authenticate");
    log_error(net->log,
              "server %u sent %" PRIu64 " bytes for round %" PRIu64 " where we expect %" PRIu64
              " bytes for round %" PRIu64 " (tiles of %u and %u; %s), lane %u: the servers do not "
              "run the same protocol; compare their versions and studies",
              link->index, h->total, h->round, expected->total, expected->round, h->length,
              expected->length, net_phase_name(net->phase), net->lane);
    return ERR_MISMATCH;
}

/* What no frame of this link may have otherwise. */
static enum err check_path(struct net *net, enum net_peer peer, const struct frame_header *h)
{
    if (h->sender != net->link[peer].index || h->receiver != net->index)
        return bad_frame(net, peer, ERR_AUTH, "of another pair of servers");
    if (h->lane != net->lane)
        return bad_frame(net, peer, ERR_AUTH, "of another lane");
    return ERR_OK;
}

static enum err unreadable(struct net *net, enum net_peer peer, const struct transport_message *m)
{
    unsigned version = frame_version(m->data, m->size);
    if (version == 0 || version == FRAME_VERSION)
        return bad_frame(net, peer, ERR_FORMAT, "that does not parse");
    log_error(net->log,
              "server %u sent a frame of version %u, and this trefoil (%s) reads version %u: the "
              "session ends; install the same version at all three",
              net->link[peer].index, version, TREFOIL_VERSION, FRAME_VERSION);
    return ERR_FORMAT;
}

static enum err take_frame(struct net *net, enum net_peer peer, struct transport_message *m)
{
    struct link *link = &net->link[peer];
    struct incoming *in = &link->incoming;
    struct frame_header h, expected = header(net, peer, SEAL_RECEIVER);
    uint8_t expected_bytes[FRAME_HEADER];
    uint8_t *plain = in->flow != NULL ? net->tile : in->to + in->done;
    enum err e;

    e = frame_parse(&h, m->data, m->size, SEAL_TAG);
    if (e != ERR_OK)
        return unreadable(net, peer, m);
    TRY(check_path(net, peer, &h));
    if (h.kind == FRAME_ABORT)
        return take_abort(net, peer, m);
    expected.sequence = link->in_sequence;
    expected.total = in->size;
    expected.length = (uint32_t)frame_body(in->size, in->done, in->tile);
    frame_encode(&expected, expected_bytes);
    if (memcmp(expected_bytes, m->data, FRAME_HEADER) != 0)
        return unexpected(net, peer, m, &h, &expected);
    e = seal_open(link->in, h.sequence, m->data, FRAME_HEADER, m->data + FRAME_HEADER, h.length,
                  plain);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that does not authenticate");
    transport_drop(net->transport, m); /* before the callback: the sender may want the room */
    link->in_sequence++;
    if (in->flow != NULL)
        TRY(in->flow->consume(in->flow->self, in->done, plain, h.length));
    in->done += h.length;
    count_received(net, h.length);
    link->receive_by = clock_now_ms() + net->deadline_ms;
    return ERR_OK;
}

/* The next message of a neighbour, into `m`. */
static enum err next_message(struct net *net, enum net_peer peer, struct transport_message *m)
{
    const struct link *link = &net->link[peer];
    enum err e = transport_pull(net->transport, peer, m);

    if (e != ERR_OK && e != ERR_AGAIN)
        log_error(net->log, "the link from server %u failed in round %" PRIu64 " (%s): %s",
                  link->index, net->round, net_phase_name(net->phase), error_text(e));
    return e;
}

/* Drops a message of another session. */
static bool is_stranger(struct net *net, struct transport_message *m)
{
    if (!frame_is_foreign(m->data, m->size, net->session))
        return false;
    net->strangers++;
    transport_drop(net->transport, m);
    return true;
}

static enum err pull(struct net *net, enum net_peer peer, bool *moved)
{
    struct link *link = &net->link[peer];
    struct transport_message *m = link->ahead.held ? &link->ahead : &net->message;
    enum err e = ERR_OK;

    if (link->incoming.done == link->incoming.size)
        return ERR_OK;
    if (!m->held)
        e = next_message(net, peer, m);
    if (e != ERR_OK)
        return e == ERR_AGAIN ? ERR_OK : e;
    *moved = true;
    if (is_stranger(net, m))
        return ERR_OK;
    e = take_frame(net, peer, m);
    transport_drop(net->transport, m);
    return e;
}

/*
 * Holds the first message of a neighbour of which this round expects nothing more. Only an ABORT of
 * this round or an earlier one is heeded: a neighbour that gives up in a later round has done its
 * part in this one.
 */
static enum err look_ahead(struct net *net, enum net_peer peer)
{
    struct transport_message *m = &net->link[peer].ahead;
    struct frame_header h;

    while (!m->held) {
        enum err e = next_message(net, peer, m);
        if (e != ERR_OK)
            return e == ERR_AGAIN ? ERR_OK : e;
        (void)is_stranger(net, m);
    }
    if (frame_parse(&h, m->data, m->size, SEAL_TAG) != ERR_OK || h.kind != FRAME_ABORT ||
        h.round > net->round)
        return ERR_OK;
    TRY(check_path(net, peer, &h));
    return take_abort(net, peer, m);
}

/* --- rounds ------------------------------------------------------------------------------------
 */

/* What is still to be moved, as masks for transport_wait(), and when the first patience ends. */
struct outstanding {
    unsigned readable, writable;
    int64_t until;
};

static struct outstanding outstanding(const struct net *net)
{
    struct outstanding o = {.until = INT64_MAX};
    for (unsigned p = 0; p < 2; p++) {
        const struct link *link = &net->link[p];
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

static enum err too_late(struct net *net, int64_t now)
{
    for (int p = 0; p < 2; p++) {
        const struct link *link = &net->link[p];
        bool silent = link->incoming.done < link->incoming.size && now >= link->receive_by;
        bool full = link->outgoing.done < link->outgoing.size && now >= link->send_by;
        if (silent || full)
            log_error(net->log,
                      "server %u %s for %" PRId64 " ms in round %" PRIu64
                      " (%s), lane %u: see that it runs and can be reached, then start a new "
                      "session",
                      link->index, silent ? "was silent" : "took nothing", net->deadline_ms,
                      net->round, net_phase_name(net->phase), net->lane);
    }
    return ERR_TIMEOUT;
}

/*
 * Waits for what is outstanding. After a while also for a word of a neighbour that has done its part
 * of the round: it may give up over the silence of the other, or over a bad frame.
 *
 * Not preceded by trying again with sched_yield() between: with three processes on two cores that
 * left a small round in one direction at 40 - 50 us, gained a twentieth in two, and cost 15 to 60 %
 * more CPU, which the neighbours need.
 */
static enum err wait_for(struct net *net, const struct outstanding *left)
{
    int64_t first = clock_now_ms() + WATCH_MS;
    unsigned watched = 0;
    enum err e;

    for (unsigned p = 0; p < 2; p++)
        if (!(left->readable >> p & 1) && !net->link[p].ahead.held)
            watched |= 1u << p;
    if (watched == 0 || first > left->until)
        first = left->until;
    e = transport_wait(net->transport, left->readable, left->writable, first);
    if (e == ERR_TIMEOUT && first < left->until)
        e = transport_wait(net->transport, left->readable | watched, left->writable, left->until);
    else
        watched = 0;
    for (unsigned p = 0; p < 2 && e == ERR_OK; p++)
        if (watched >> p & 1)
            TRY(look_ahead(net, (enum net_peer)p));
    if (e == ERR_OK || e == ERR_TIMEOUT)
        return ERR_OK;
    log_error(net->log, "waiting for the neighbours failed in round %" PRIu64 ": %s", net->round,
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

        for (unsigned p = 0; p < 2; p++) {
            TRY(push(net, (enum net_peer)p, &moved));
            TRY(pull(net, (enum net_peer)p, &moved));
        }
        left = outstanding(net);
        if (left.readable == 0 && left.writable == 0)
            return ERR_OK;
        if (now >= left.until)
            return too_late(net, now);
        if (!moved)
            TRY(wait_for(net, &left));
    }
}

static enum err send_abort(struct net *net, enum net_peer peer, int64_t deadline)
{
    struct link *link = &net->link[peer];
    struct frame_header h = header(net, peer, SEAL_SENDER);
    uint8_t message[FRAME_HEADER + SEAL_TAG];
    struct seal *seal;
    enum err e;

    h.kind = FRAME_ABORT;
    frame_encode(&h, message);
    TRY(seal_new(&seal, SEAL_SENDER, net->abort_key[peer][SEAL_SENDER], 0));
    e = seal_frame(seal, 0, message, FRAME_HEADER, NULL, 0, message + FRAME_HEADER);
    seal_free(&seal);
    if (e == ERR_OK)
        e = transport_send_by(net->transport, peer, message, sizeof message, deadline);
    if (e == ERR_OK)
        count_sent(net, 0);
    else
        log_debug(net->log, "server %u could not be told that we give up: %s", link->index,
                  error_text(e));
    return e;
}

static enum err give_up(struct net *net, enum err e)
{
    int64_t deadline = clock_now_ms() + ABORT_MS;

    net->dead = true;
    for (unsigned p = 0; p < 2; p++) {
        enum err told = ERR_OK;
        transport_drop(net->transport, &net->link[p].sealed);
        if (!net->link[p].gave_up)
            told = send_abort(net, (enum net_peer)p, deadline);
        (void)told; /* best effort; the neighbour's own deadline does the rest */
        /* abort keys serve once */
        secret_free(&net->abort_key[p][SEAL_SENDER]);
    }
    return e;
}

void net_abort(struct net *net)
{
    enum err e;
    if (net == NULL || net->dead)
        return;
    e = give_up(net, ERR_OK);
    (void)e;
}

/* One round of what the links have been given to move. */
static enum err run_round(struct net *net)
{
    int64_t by = clock_now_ms() + net->deadline_ms;
    enum err e;

    for (int p = 0; p < 2; p++)
        net->link[p].send_by = net->link[p].receive_by = by;
    e = move_all(net);
    if (e == ERR_OK) {
        net->round++;
        net->counters[net->phase].rounds++;
    } else {
        e = give_up(net, e);
    }
    charge_time(net);
    return e;
}

static enum err check_alive(const struct net *net)
{
    if (!net->dead)
        return ERR_OK;
    log_error(net->log, "this session has ended: start a new one");
    return ERR_MISUSE;
}

enum err net_exchange(struct net *net, const struct net_round *round)
{
    TRY(check_alive(net));
    for (int p = 0; p < 2; p++) {
        net->link[p].outgoing = (struct outgoing){
            .from = round->send[p], .size = round->send_size[p], .tile = NET_FRAME_BODY};
        net->link[p].incoming = (struct incoming){
            .to = round->receive[p], .size = round->receive_size[p], .tile = NET_FRAME_BODY};
    }
    return run_round(net);
}

static enum err check_flows(const struct net_flow *flows, size_t count)
{
    if (count > 2 || (count == 2 && (flows[0].to == flows[1].to || flows[0].from == flows[1].from)))
        return ERR_MISUSE;
    for (size_t k = 0; k < count; k++)
        if (flows[k].tile > NET_FRAME_BODY)
            return ERR_RANGE;
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
    e = check_flows(flows, count);
    if (e == ERR_OK)
        e = fit_tile(net, flows, count);
    if (e != ERR_OK) {
        log_error(net->log, "cannot stream round %" PRIu64 ": %s", net->round, error_text(e));
        return give_up(net, e);
    }
    for (int p = 0; p < 2; p++) {
        net->link[p].outgoing = (struct outgoing){0};
        net->link[p].incoming = (struct incoming){0};
    }
    for (size_t k = 0; k < count; k++) {
        const struct net_flow *f = &flows[k];
        size_t tile = f->tile > 0 ? f->tile : NET_TILE;
        net->link[f->to].outgoing = (struct outgoing){
            .flow = f, .size = f->send_size, .tile = tile};
        net->link[f->from].incoming = (struct incoming){
            .flow = f, .size = f->receive_size, .tile = tile};
    }
    return run_round(net);
}
