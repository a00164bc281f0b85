/*
 * Sealed rounds. Invariants:
 *
 *   1. A sequence number is sealed once: a frame that the transport has no room for stays sealed in
 *      its buffer and is offered again as it is.
 *   2. Nothing is read from a neighbour beyond the payload that this round expects of it: a
 *      neighbour that is a round ahead waits in the transport's queue.
 *   3. What a frame's header must say is known before it comes; it is compared, never believed.
 *   4. The ABORT frame has a key of its own, used for one frame. It may overtake a frame that is
 *      sealed and not sent yet without touching the order of the others.
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

_Static_assert(FRAME_HEADER + SEAL_TAG == NET_FRAME_OVERHEAD, "the overhead is public");
_Static_assert(FRAME_SESSION == SESSION_ID_SIZE, "the header holds a session id");

struct link {
    unsigned index; /* the neighbour's */
    struct seal *out, *in;
    uint64_t out_sequence, in_sequence;
    uint8_t head[FRAME_HEADER];
    uint8_t *body;  /* cipher text and tag of the frame that is being sent */
    size_t pending; /* bytes in it; 0: none */
    /* of this round */
    size_t sent, received;
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
    struct bytes message;
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
    net->link[peer].body = memory_array(NET_FRAME_BODY + SEAL_TAG, 1);
    if (net->link[peer].body == NULL)
        return ERR_NOMEM;
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
        memory_free(&(*net)->link[p].body);
        secret_free(&(*net)->abort_key[p][SEAL_SENDER]);
        secret_free(&(*net)->abort_key[p][SEAL_RECEIVER]);
    }
    bytes_clear(&(*net)->message);
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

static size_t frame_body(size_t total, size_t done)
{
    return total - done < NET_FRAME_BODY ? total - done : NET_FRAME_BODY;
}

static enum err seal_next(struct net *net, enum net_peer peer, const struct net_round *round)
{
    struct link *link = &net->link[peer];
    const uint8_t *payload = round->send[peer];
    size_t n = frame_body(round->send_size[peer], link->sent);
    struct frame_header h = header(net, peer, SEAL_SENDER);
    enum err e;

    h.sequence = link->out_sequence;
    h.total = round->send_size[peer];
    h.length = (uint32_t)n;
    frame_encode(&h, link->head);
    e = seal_frame(link->out, h.sequence, link->head, FRAME_HEADER, payload + link->sent, n,
                   link->body);
    if (e != ERR_OK) {
        log_error(net->log, "cannot seal a frame for server %u: %s", link->index, error_text(e));
        return e;
    }
    link->out_sequence++;
    link->pending = n + SEAL_TAG;
    return ERR_OK;
}

static enum err push(struct net *net, enum net_peer peer, const struct net_round *round,
                     bool *moved)
{
    struct link *link = &net->link[peer];
    enum err e;

    if (link->sent == round->send_size[peer])
        return ERR_OK;
    if (link->pending == 0)
        TRY(seal_next(net, peer, round));
    e = transport_send(net->transport, peer, link->head, FRAME_HEADER, link->body, link->pending);
    if (e == ERR_AGAIN)
        return ERR_OK;
    if (e != ERR_OK) {
        log_error(net->log, "the link to server %u failed in round %" PRIu64 " (%s): %s",
                  link->index, net->round, net_phase_name(net->phase), error_text(e));
        return e;
    }
    link->sent += link->pending - SEAL_TAG;
    count_sent(net, link->pending - SEAL_TAG);
    link->pending = 0;
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

static enum err take_abort(struct net *net, enum net_peer peer)
{
    struct link *link = &net->link[peer];
    struct seal *seal;
    enum err e;

    if (net->message.size != FRAME_HEADER + SEAL_TAG)
        return bad_frame(net, peer, ERR_AUTH, "that says ABORT and has a body");
    TRY(seal_new(&seal, SEAL_RECEIVER, net->abort_key[peer][SEAL_RECEIVER], 0));
    e = seal_open(seal, 0, net->message.data, FRAME_HEADER, net->message.data + FRAME_HEADER, 0,
                  link->body);
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
static enum err unexpected(struct net *net, enum net_peer peer, const struct frame_header *h,
                           const struct frame_header *expected)
{
    struct link *link = &net->link[peer];
    uint8_t *body = net->message.data + FRAME_HEADER;
    enum err e;

    if (h->sequence != expected->sequence)
        return bad_frame(net, peer, ERR_AUTH,
                         h->sequence < expected->sequence ? "that came before (a replay)"
                                                          : "out of order (frames are missing)");
    e = seal_open(link->in, h->sequence, net->message.data, FRAME_HEADER, body, h->length, body);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that does not authenticate");
    log_error(net->log,
              "server %u sent %" PRIu64 " bytes for round %" PRIu64 " where we expect %" PRIu64
              " bytes for round %" PRIu64 " (%s), lane %u: the servers do not run the same "
              "protocol; compare their versions and studies",
              link->index, h->total, h->round, expected->total, expected->round,
              net_phase_name(net->phase), net->lane);
    return ERR_MISMATCH;
}

/* One frame in net->message. */
static enum err take_frame(struct net *net, enum net_peer peer, const struct net_round *round)
{
    struct link *link = &net->link[peer];
    uint8_t *payload = round->receive[peer];
    const uint8_t *p = net->message.data;
    struct frame_header h, expected = header(net, peer, SEAL_RECEIVER);
    uint8_t expected_bytes[FRAME_HEADER];
    enum err e;

    e = frame_parse(&h, p, net->message.size, SEAL_TAG);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that does not parse");
    if (h.sender != expected.sender || h.receiver != expected.receiver)
        return bad_frame(net, peer, ERR_AUTH, "of another pair of servers");
    if (h.lane != expected.lane)
        return bad_frame(net, peer, ERR_AUTH, "of another lane");
    if (h.kind == FRAME_ABORT)
        return take_abort(net, peer);
    expected.sequence = link->in_sequence;
    expected.total = round->receive_size[peer];
    expected.length = (uint32_t)frame_body(round->receive_size[peer], link->received);
    frame_encode(&expected, expected_bytes);
    if (memcmp(expected_bytes, p, FRAME_HEADER) != 0)
        return unexpected(net, peer, &h, &expected);
    e = seal_open(link->in, h.sequence, p, FRAME_HEADER, p + FRAME_HEADER, h.length,
                  payload + link->received);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that does not authenticate");
    link->in_sequence++;
    link->received += h.length;
    count_received(net, h.length);
    link->receive_by = clock_now_ms() + net->deadline_ms;
    return ERR_OK;
}

static enum err pull(struct net *net, enum net_peer peer, const struct net_round *round,
                     bool *moved)
{
    struct link *link = &net->link[peer];
    enum err e;

    if (link->received == round->receive_size[peer])
        return ERR_OK;
    e = transport_receive(net->transport, peer, &net->message);
    if (e == ERR_AGAIN)
        return ERR_OK;
    if (e != ERR_OK) {
        log_error(net->log, "the link from server %u failed in round %" PRIu64 " (%s): %s",
                  link->index, net->round, net_phase_name(net->phase), error_text(e));
        return e;
    }
    *moved = true;
    if (frame_is_foreign(net->message.data, net->message.size, net->session)) {
        net->strangers++;
        return ERR_OK;
    }
    return take_frame(net, peer, round);
}

/* --- rounds ------------------------------------------------------------------------------------
 */

static void begin_round(struct net *net)
{
    for (int p = 0; p < 2; p++) {
        struct link *link = &net->link[p];
        link->sent = link->received = 0;
        link->send_by = link->receive_by = clock_now_ms() + net->deadline_ms;
    }
}

/* What is still to be moved, as masks for transport_wait(), and when the first patience ends. */
struct outstanding {
    unsigned readable, writable;
    int64_t until;
};

static struct outstanding outstanding(const struct net *net, const struct net_round *round)
{
    struct outstanding o = {.until = INT64_MAX};
    for (unsigned p = 0; p < 2; p++) {
        const struct link *link = &net->link[p];
        if (link->received < round->receive_size[p]) {
            o.readable |= 1u << p;
            o.until = link->receive_by < o.until ? link->receive_by : o.until;
        }
        if (link->sent < round->send_size[p]) {
            o.writable |= 1u << p;
            o.until = link->send_by < o.until ? link->send_by : o.until;
        }
    }
    return o;
}

static enum err too_late(struct net *net, const struct net_round *round)
{
    int64_t now = clock_now_ms();
    for (int p = 0; p < 2; p++) {
        const struct link *link = &net->link[p];
        bool silent = link->received < round->receive_size[p] && now >= link->receive_by;
        bool full = link->sent < round->send_size[p] && now >= link->send_by;
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

static enum err move_all(struct net *net, const struct net_round *round)
{
    for (;;) {
        struct outstanding left = outstanding(net, round);
        bool moved = false;
        enum err e;

        if (left.readable == 0 && left.writable == 0)
            return ERR_OK;
        for (unsigned p = 0; p < 2; p++) {
            TRY(push(net, (enum net_peer)p, round, &moved));
            TRY(pull(net, (enum net_peer)p, round, &moved));
        }
        if (moved && clock_now_ms() < left.until)
            continue;
        left = outstanding(net, round);
        if (left.readable == 0 && left.writable == 0)
            return ERR_OK;
        e = transport_wait(net->transport, left.readable, left.writable, left.until);
        if (e == ERR_TIMEOUT || (e == ERR_OK && clock_now_ms() >= left.until))
            return too_late(net, round);
        if (e != ERR_OK) {
            log_error(net->log, "waiting for the neighbours failed in round %" PRIu64 ": %s",
                      net->round, error_text(e));
            return e;
        }
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

enum err net_exchange(struct net *net, const struct net_round *round)
{
    enum err e;

    if (net->dead) {
        log_error(net->log, "this session has ended: start a new one");
        return ERR_MISUSE;
    }
    begin_round(net);
    e = move_all(net, round);
    if (e != ERR_OK)
        e = give_up(net, e);
    else {
        net->round++;
        net->counters[net->phase].rounds++;
    }
    charge_time(net);
    return e;
}

/* Whole payloads for now: the same bytes on the wire for the default tile. */
static enum err stream_whole(struct net *net, const struct net_flow *flows, size_t count,
                             uint8_t *out[2], uint8_t *in[2])
{
    struct net_round r = {0};
    for (size_t k = 0; k < count; k++) {
        const struct net_flow *f = &flows[k];
        out[k] = memory_words(f->send_size, 1);
        in[k] = memory_words(f->receive_size, 1);
        if (out[k] == NULL || in[k] == NULL)
            return ERR_NOMEM;
        if (f->send_size > 0)
            TRY(f->produce(f->self, 0, out[k], f->send_size));
        r.send[f->to] = out[k];
        r.send_size[f->to] = f->send_size;
        r.receive[f->from] = in[k];
        r.receive_size[f->from] = f->receive_size;
    }
    TRY(net_exchange(net, &r));
    for (size_t k = 0; k < count; k++)
        if (flows[k].receive_size > 0)
            TRY(flows[k].consume(flows[k].self, 0, in[k], flows[k].receive_size));
    return ERR_OK;
}

enum err net_stream(struct net *net, const struct net_flow *flows, size_t count)
{
    uint8_t *out[2] = {NULL, NULL}, *in[2] = {NULL, NULL};
    enum err e = count > 2 ? ERR_MISUSE : stream_whole(net, flows, count, out, in);
    if (e != ERR_OK)
        net_abort(net);
    for (size_t k = 0; k < count && k < 2; k++) {
        memory_wipe_free(&out[k], flows[k].send_size);
        memory_wipe_free(&in[k], flows[k].receive_size);
    }
    return e;
}
