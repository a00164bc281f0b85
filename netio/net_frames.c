#include "netio/net_private.h"

#include "base/clock.h"
#include "base/secret.h"
#include "netio/frame.h"
#include "netio/seal.h"

#include <inttypes.h>
#include <string.h>

#define STRANGERS_AT_ONCE 64 /* then patience is judged again, however many come */

_Static_assert(FRAME_HEADER + SEAL_TAG == NET_FRAME_OVERHEAD, "the overhead is public");
_Static_assert(FRAME_SESSION == SESSION_ID_SIZE, "the header holds a session id");

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

static struct frame_header header(const struct net *net, enum net_peer peer, enum seal_side side)
{
    unsigned other = net->link[peer].index;
    struct frame_header h = {
        .kind = FRAME_DATA,
        .sender = (uint16_t)(side == SEAL_SENDER ? net->index : other),
        .receiver = (uint16_t)(side == SEAL_SENDER ? other : net->index),
        .lane = net->lane,
        .exchange = net->exchange,
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
    struct net_link *link = &net->link[peer];
    const struct net_outgoing *o = &link->outgoing;
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

enum err net_push(struct net *net, enum net_peer peer, bool *moved)
{
    struct net_link *link = &net->link[peer];
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
        log_error(net->log, "the link to server %u failed in %s: %s", link->index,
                  net_place(net).text, error_text(e));
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
              "server %u sent a frame %s in %s: the session ends; look at the network between the "
              "servers if this happens again",
              net->link[peer].index, what, net_place(net).text);
    return e;
}

static enum err take_abort(struct net *net, enum net_peer peer, const struct transport_message *m)
{
    struct net_link *link = &net->link[peer];
    struct seal *seal CLEAN(seal_free) = NULL;
    uint8_t nothing;
    enum err e;
    if (m->size != FRAME_HEADER + SEAL_TAG)
        return bad_frame(net, peer, ERR_AUTH, "that says ABORT and has a body");
    TRY(seal_new(&seal, SEAL_RECEIVER, net->abort_key[peer][SEAL_RECEIVER], 0));
    e = seal_open(seal, 0, m->data, FRAME_HEADER, m->data + FRAME_HEADER, 0, &nothing);
    if (e != ERR_OK)
        return bad_frame(net, peer, e, "that says ABORT and does not authenticate");
    link->gave_up = true;
    return log_fail(net->log, ERR_PEER,
                    "server %u gave up in %s: its log has the reason; the session ends",
                    link->index, net_place(net).text);
}

/*
 * The header is well-formed and not what this exchange expects. A frame that authenticates all the
 * same comes from a neighbour whose program does something different from ours; any other was
 * altered, replayed or moved on its way.
 */
static enum err unexpected(struct net *net, enum net_peer peer, struct transport_message *m,
                           const struct frame_header *h, const struct frame_header *expected)
{
    struct net_link *link = &net->link[peer];
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
    return log_fail(
        net->log, ERR_MISMATCH,
        "server %u sent %" PRIu64 " bytes of exchange %" PRIu64 " (tiles of %u) where this "
        "server expects %" PRIu64 " bytes of %s (tiles of %u): the servers do not run the same "
        "protocol; compare their versions and studies",
        link->index, h->total, h->exchange, h->length, expected->total, net_place(net).text,
        expected->length);
}

/* Checks what must be the same in every frame of this link. */
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
    return log_fail(
        net->log, ERR_FORMAT,
        "server %u sent a frame of version %u, and this trefoil (%s) reads version %u: the "
        "session ends; install the same version at all three",
        net->link[peer].index, version, TREFOIL_VERSION, FRAME_VERSION);
}

static enum err take_frame(struct net *net, enum net_peer peer, struct transport_message *m)
{
    struct net_link *link = &net->link[peer];
    struct net_incoming *in = &link->incoming;
    struct frame_header h, expected = header(net, peer, SEAL_RECEIVER);
    uint8_t expected_bytes[FRAME_HEADER];
    uint8_t *plain = in->flow != NULL ? net->tile : in->to + in->done;
    enum err e;
    e = frame_parse(&h, m->data, m->size);
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
    const struct net_link *link = &net->link[peer];
    enum err e = transport_pull(net->transport, peer, m);
    if (e != ERR_OK && e != ERR_AGAIN)
        log_error(net->log, "the link from server %u failed in %s: %s", link->index,
                  net_place(net).text, error_text(e));
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

enum err net_pull(struct net *net, enum net_peer peer, bool *moved)
{
    struct net_link *link = &net->link[peer];
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

enum err net_look_ahead(struct net *net, enum net_peer peer)
{
    struct transport_message *m = &net->link[peer].ahead;
    struct frame_header h;
    for (unsigned strangers = 0; !m->held; strangers++) {
        enum err e = strangers < STRANGERS_AT_ONCE ? next_message(net, peer, m) : ERR_AGAIN;
        if (e != ERR_OK)
            return e == ERR_AGAIN ? ERR_OK : e;
        (void)is_stranger(net, m);
    }
    if (frame_parse(&h, m->data, m->size) != ERR_OK || h.kind != FRAME_ABORT ||
        h.exchange > net->exchange)
        return ERR_OK;
    TRY(check_path(net, peer, &h));
    return take_abort(net, peer, m);
}

enum err net_send_abort(struct net *net, enum net_peer peer, int64_t deadline)
{
    struct net_link *link = &net->link[peer];
    struct frame_header h = header(net, peer, SEAL_SENDER);
    uint8_t message[FRAME_HEADER + SEAL_TAG];
    struct seal *seal CLEAN(seal_free) = NULL;
    enum err e;
    h.kind = FRAME_ABORT;
    frame_encode(&h, message);
    TRY(seal_new(&seal, SEAL_SENDER, net->abort_key[peer][SEAL_SENDER], 0));
    e = seal_frame(seal, 0, message, FRAME_HEADER, NULL, 0, message + FRAME_HEADER);
    if (e == ERR_OK)
        e = transport_send_by(net->transport, peer, message, sizeof message, deadline);
    if (e == ERR_OK)
        count_sent(net, 0);
    else
        log_debug(net->log, "server %u could not be told that we give up: %s", link->index,
                  error_text(e));
    return e;
}
