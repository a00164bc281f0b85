/*
 * The handshake. Every message begins with the same fields in every version of the protocol, so
 * that two versions can at least name each other:
 *
 *   magic "TFS1" u32, type u8, protocol version u16, attempt 16 bytes
 *   PROPOSE: about 16 bytes
 *   HELLO:   netio/session_hello.h
 *   SECRET:  session id 32, secret 32
 *
 * Each link keeps its order, so a neighbour's HELLO comes before its SECRET. A server reads from a
 * neighbour up to that SECRET: what follows belongs to the session and stays in the queue. Server 0
 * starts again with a new PROPOSE. The others follow one that comes in the middle of an
 * attempt, since it is newer than all they know. It may stand behind server 0's SECRET, when that
 * of the third server was lost: so they read on there while the session cannot have begun.
 *
 * Each server sends its HELLOs before it judges any, and judges them when both are there. So all
 * servers report a mismatch, and each names every difference that it sees.
 */
#include "netio/session.h"

#include "base/clock.h"
#include "base/secret.h"
#include "netio/session_hello.h"

#include <sodium.h>
#include <string.h>

#define MAGIC 0x31534654u /* "TFS1" */
#define SERVERS_MOST 3
#define ATTEMPT 16
#define SECRET 32
#define MESSAGE_MAX 4096
#define MISMATCH_MS 2000 /* how long to wait, after a mismatch, for the other neighbour's HELLO */

enum type { PROPOSE = 1, HELLO = 2, SECRETS = 3 };

struct handshake {
    struct transport *control;
    const struct terms *terms;
    struct log *log;
    unsigned servers, index;
    int64_t deadline, patience; /* of an attempt */
    struct session_offer *offer;
    uint8_t attempt[ATTEMPT];
    struct session_hello said[SERVERS_MOST]; /* by each server */
    uint8_t id[SESSION_ID_SIZE];
    struct bytes message;                 /* the last one received */
    struct bytes early[2];                /* a HELLO of an attempt that we have not heard of yet */
    uint8_t their_id[2][SESSION_ID_SIZE]; /* what their SECRETs name */
    bool hello[2], secret[2], sent, mismatch;
    bool dead; /* the attempt: our fellow's last HELLO is of another one, so of a later one */
    uint8_t *mine[2], *theirs[2]; /* secret memory: what we send to a neighbour, what it sends */
};

struct prefix {
    uint8_t type;
    uint16_t protocol;
    uint8_t attempt[ATTEMPT];
};

static bool is_leader(const struct handshake *h, enum net_peer peer)
{
    return net_neighbour_of(h->servers, h->index, peer) == 0;
}

/* Of three servers, 2 is server 1's fellow, and the other way round. Server 0 has none. */
static bool is_fellow(const struct handshake *h, enum net_peer peer)
{
    return h->index != 0 && !is_leader(h, peer);
}

/* False for bytes that are not a handshake message. */
static bool take_prefix(struct reader *r, struct prefix *p)
{
    uint32_t magic = reader_u32(r);
    p->type = reader_u8(r);
    p->protocol = reader_u16(r);
    reader_copy(r, p->attempt, ATTEMPT);
    return !r->failed && magic == MAGIC && p->type >= PROPOSE && p->type <= SECRETS;
}

bool session_is_propose(const struct bytes *message)
{
    struct reader r = reader_of(message->data, message->size);
    struct prefix p;
    return take_prefix(&r, &p) && p.type == PROPOSE;
}

static void put_prefix(struct bytes *b, const struct handshake *h, enum type type)
{
    bytes_put_u32(b, MAGIC);
    bytes_put_u8(b, (uint8_t)type);
    bytes_put_u16(b, SESSION_PROTOCOL);
    bytes_put(b, h->attempt, ATTEMPT);
}

/* --- sending ---------------------------------------------------------------------------------- */

static enum err tell(struct handshake *h, enum net_peer peer, struct bytes *b, const char *what)
{
    enum err e = bytes_ok(b);
    if (e == ERR_OK)
        e = transport_send_by(h->control, peer, b->data, b->size, h->deadline);
    if (e != ERR_OK)
        log_error(h->log, "cannot send %s to server %u: %s", what,
                  net_neighbour_of(h->servers, h->index, peer), error_text(e));
    return e;
}

static enum err send_propose(struct handshake *h)
{
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        put_prefix(&b, h, PROPOSE);
        bytes_put(&b, h->offer->about, sizeof h->offer->about);
        TRY(tell(h, (enum net_peer)p, &b, "PROPOSE"));
    }
    return ERR_OK;
}

static enum err send_hello(struct handshake *h)
{
    struct session_hello *own = &h->said[h->index];
    secret_random(own->nonce, sizeof own->nonce);
    own->lanes = (uint8_t)h->offer->lanes;
    own->all = (uint16_t)h->offer->all;
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        memcpy(own->pass, h->offer->passes.expect[p], sizeof own->pass);
        put_prefix(&b, h, HELLO);
        session_hello_put(&b, h->index, own, h->terms);
        TRY(tell(h, (enum net_peer)p, &b, "HELLO"));
    }
    return ERR_OK;
}

static enum err send_secrets(struct handshake *h)
{
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        secret_random(h->mine[p], SECRET);
        put_prefix(&b, h, SECRETS);
        bytes_put(&b, h->id, SESSION_ID_SIZE);
        bytes_put(&b, h->mine[p], SECRET);
        TRY(tell(h, (enum net_peer)p, &b, "SECRET"));
    }
    return ERR_OK;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* `r` stands after the prefix. */
static enum err take_hello(struct handshake *h, enum net_peer peer, const struct prefix *prefix,
                           struct reader *r)
{
    unsigned who = net_neighbour_of(h->servers, h->index, peer);
    enum err e = session_hello_take(r, prefix->protocol, who, h->terms, &h->said[who], &h->mismatch,
                                    h->log);
    if (e != ERR_OK)
        log_error(h->log, "server %u sent a HELLO that does not parse: %s", who, error_text(e));
    memcpy(h->offer->passes.show[peer], h->said[who].pass, TRANSPORT_PASS_SIZE);
    h->hello[peer] = true;
    h->dead = h->dead && !is_fellow(h, peer);
    return e;
}

static enum err take_secret(struct handshake *h, enum net_peer peer, struct reader *r)
{
    reader_copy(r, h->their_id[peer], SESSION_ID_SIZE);
    reader_copy(r, h->theirs[peer], SECRET);
    h->secret[peer] = reader_done(r) == ERR_OK;
    if (!h->secret[peer])
        return log_fail(h->log, ERR_FORMAT, "server %u sent a SECRET that does not parse: %s",
                        net_neighbour_of(h->servers, h->index, peer), error_text(ERR_FORMAT));
    return ERR_OK;
}

/* A HELLO of another attempt may belong to a PROPOSE that is still under way to us. */
static enum err keep_early(struct handshake *h, enum net_peer peer)
{
    if (is_fellow(h, peer) && !h->dead) {
        h->dead = true;
        h->deadline = clock_now_ms() + h->patience;
    }
    bytes_clear(&h->early[peer]);
    bytes_put(&h->early[peer], h->message.data, h->message.size);
    return bytes_ok(&h->early[peer]);
}

/* Takes the one that was kept, if it is of this attempt. */
static enum err take_early(struct handshake *h, enum net_peer peer)
{
    struct reader r = reader_of(h->early[peer].data, h->early[peer].size);
    struct prefix p;
    if (!take_prefix(&r, &p) || memcmp(p.attempt, h->attempt, ATTEMPT) != 0)
        return ERR_OK;
    return take_hello(h, peer, &p, &r);
}

/* Sets h->attempt and starts afresh with our HELLO and a deadline of its own. */
static enum err begin_attempt(struct handshake *h, const uint8_t attempt[ATTEMPT])
{
    memcpy(h->attempt, attempt, ATTEMPT);
    h->deadline = clock_now_ms() + h->patience;
    transport_forget(h->control);
    memset(h->hello, 0, sizeof h->hello);
    memset(h->secret, 0, sizeof h->secret);
    h->sent = h->mismatch = h->dead = false;
    if (h->index == 0)
        TRY(send_propose(h));
    TRY(send_hello(h));
    for (unsigned p = 0; p + 1 < h->servers; p++)
        TRY(take_early(h, (enum net_peer)p));
    return ERR_OK;
}

/* One message in h->message; anything left over from before is skipped. */
static enum err take(struct handshake *h, enum net_peer peer)
{
    struct reader r = reader_of(h->message.data, h->message.size);
    unsigned who = net_neighbour_of(h->servers, h->index, peer);
    struct prefix p;
    bool current;
    if (h->message.size > MESSAGE_MAX || !take_prefix(&r, &p)) {
        log_debug(h->log, "skipped a message of server %u that is no handshake", who);
        return ERR_OK;
    }
    current = memcmp(p.attempt, h->attempt, ATTEMPT) == 0;
    if (p.type == PROPOSE && who == 0 && !current) {
        reader_copy(&r, h->offer->about, sizeof h->offer->about);
        return begin_attempt(h, p.attempt);
    }
    if (p.type == HELLO && !current)
        return keep_early(h, peer);
    if (p.type == HELLO && !h->hello[peer])
        return take_hello(h, peer, &p, &r);
    if (p.type == SECRETS && current && h->hello[peer])
        return take_secret(h, peer, &r);
    log_debug(h->log, "skipped a handshake message of server %u from before", who);
    return ERR_OK;
}

/* Whether a flag is set for each neighbour. */
static bool of_all(const struct handshake *h, const bool flag[2])
{
    return flag[NET_PREV] && (h->servers == 2 || flag[NET_NEXT]);
}

static void name_silent(struct handshake *h, enum err e)
{
    bool both = of_all(h, h->hello);
    if (h->dead && both) /* it has a fellow, so there are three servers */
        log_error(h->log, "server %u has begun another session, and server 0 did not call us to it",
                  3 - h->index);
    for (unsigned p = 0; p + 1 < h->servers; p++)
        if (both ? !h->secret[p] : !h->hello[p])
            log_error(h->log,
                      "no %s from server %u: %s; see that it runs, that both studies have the "
                      "other's key and address, and that the network lets them through",
                      both ? "SECRET" : "HELLO",
                      net_neighbour_of(h->servers, h->index, (enum net_peer)p), error_text(e));
}

/*
 * What follows a SECRET is the session's. But server 0 cannot have begun it without our SECRET, nor
 * in a dead attempt.
 */
static bool reads(const struct handshake *h, enum net_peer peer)
{
    return !h->secret[peer] || (is_leader(h, peer) && (h->dead || !h->sent));
}

/* A server that leaves takes what we sent with it: it will not answer this attempt. */
static enum err check_links(struct handshake *h)
{
    unsigned broken = transport_broken(h->control);
    for (unsigned p = 0; p + 1 < h->servers; p++)
        if (broken >> p & 1)
            log_error(h->log,
                      "server %u closed its connection, or the network broke it, before the "
                      "session was agreed on",
                      net_neighbour_of(h->servers, h->index, (enum net_peer)p));
    if (broken == 0)
        return ERR_OK;
    return h->mismatch ? ERR_MISMATCH : ERR_PEER;
}

/* Receives what has come from the neighbours that are read, one message each. */
static enum err receive_some(struct handshake *h)
{
    int64_t deadline = h->deadline;
    unsigned readable = 0;
    enum err e;
    for (unsigned p = 0; p + 1 < h->servers; p++)
        readable |= reads(h, (enum net_peer)p) ? 1u << p : 0;
    if (h->mismatch && clock_now_ms() + MISMATCH_MS < deadline)
        deadline = clock_now_ms() + MISMATCH_MS;
    TRY(check_links(h));
    /* a peer that keeps sending messages we skip must not hold us forever */
    e = clock_left_ms(deadline) > 0
            ? transport_wait(h->control, readable | TRANSPORT_NEWS, 0, deadline)
            : ERR_TIMEOUT;
    if (e != ERR_OK) {
        name_silent(h, e);
        return h->mismatch ? ERR_MISMATCH : e;
    }
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        if (!(readable >> p & 1))
            continue;
        e = transport_receive(h->control, (enum net_peer)p, &h->message);
        if (e == ERR_OK)
            e = take(h, (enum net_peer)p);
        if (e != ERR_OK && e != ERR_AGAIN)
            return e;
    }
    return ERR_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum err make_id(struct handshake *h)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    bytes_put_string(&b, "trefoil-session-1");
    for (unsigned i = 0; i < h->servers; i++)
        bytes_put_block(&b, h->said[i].nonce, SESSION_NONCE);
    for (unsigned i = 0; i < h->servers; i++) { /* so that all take the same minimum */
        bytes_put_u8(&b, h->said[i].lanes);
        bytes_put_u16(&b, h->said[i].all);
    }
    TRY(bytes_ok(&b));
    crypto_hash_sha256(h->id, b.data, b.size);
    return ERR_OK;
}

static enum err answer_hellos(struct handshake *h)
{
    if (h->mismatch)
        return ERR_MISMATCH;
    if (h->sent)
        return ERR_OK;
    TRY(make_id(h));
    TRY(send_secrets(h));
    h->sent = true;
    return ERR_OK;
}

static enum err shake_hands(struct handshake *h)
{
    for (;;) {
        if (of_all(h, h->hello)) {
            TRY(answer_hellos(h));
            for (unsigned p = 0; p + 1 < h->servers; p++)
                if (memcmp(h->their_id[p], h->id, sizeof h->id) != 0)
                    h->secret[p] = false; /* of a try with other nonces: skipped */
            if (of_all(h, h->secret) && !h->dead)
                return ERR_OK;
        }
        TRY(receive_some(h));
    }
}

static enum err finish(struct handshake *h, struct session **session)
{
    uint8_t(*both)[SESSION_SECRET_SIZE] CLEAN(secret_release) = secret_new(2 * SESSION_SECRET_SIZE);
    if (both == NULL)
        return ERR_NOMEM;
    for (unsigned i = 0; i < h->servers; i++) {
        if (h->said[i].lanes < h->offer->lanes)
            h->offer->lanes = h->said[i].lanes;
        if (h->said[i].all < h->offer->all)
            h->offer->all = h->said[i].all;
        if (h->said[i].lanes > h->offer->most)
            h->offer->most = h->said[i].lanes;
    }
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        bool low = h->index < net_neighbour_of(h->servers, h->index, (enum net_peer)p);
        memcpy(both[p], low ? h->mine[p] : h->theirs[p], SECRET);
        memcpy(both[p] + SECRET, low ? h->theirs[p] : h->mine[p], SECRET);
    }
    return session_make(session, h->servers, h->index, h->id, h->terms->digest,
                        (const uint8_t(*)[SESSION_SECRET_SIZE])both);
}

static enum err first_attempt(struct handshake *h, const struct bytes *propose)
{
    struct reader r;
    struct prefix p = {0};
    if (h->index == 0) {
        secret_random(p.attempt, ATTEMPT);
        return begin_attempt(h, p.attempt);
    }
    r = reader_of(propose->data, propose->size);
    if (!take_prefix(&r, &p) || p.type != PROPOSE)
        return log_fail(h->log, ERR_FORMAT, "what server 0 sent is no PROPOSE of a session");
    reader_copy(&r, h->offer->about, sizeof h->offer->about);
    return begin_attempt(h, p.attempt);
}

static enum err prepare(struct handshake *h)
{
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        h->mine[p] = secret_new(SECRET);
        h->theirs[p] = secret_new(SECRET);
        if (h->mine[p] == NULL || h->theirs[p] == NULL)
            return ERR_NOMEM;
    }
    return ERR_OK;
}

static void clear(struct handshake *h)
{
    for (unsigned p = 0; p + 1 < h->servers; p++) {
        secret_free(&h->mine[p]);
        secret_free(&h->theirs[p]);
        bytes_clear(&h->early[p]);
    }
    bytes_clear(&h->message);
}

enum err session_open(struct session **session, struct transport *control, unsigned servers,
                      unsigned index, const struct terms *terms, const struct bytes *propose,
                      struct session_offer *offer, int64_t patience_ms, struct log *log)
{
    struct handshake h CLEAN(clear) = {.control = control,
                                       .terms = terms,
                                       .log = log,
                                       .servers = servers,
                                       .index = index,
                                       .offer = offer,
                                       .patience = patience_ms};
    *session = NULL;
    if (offer->all == 0)
        offer->all = offer->lanes;
    if (servers < 2 || servers > SERVERS_MOST || index >= servers ||
        terms->parts > TERMS_PARTS_MAX || (index == 0) != (propose == NULL) || offer->lanes == 0 ||
        offer->lanes > SESSION_LANES_MAX || offer->all < offer->lanes ||
        offer->all > SESSION_ALL_MAX)
        return log_fail(log, ERR_MISUSE, "session_open: wrong arguments at server %u", index);
    TRY(prepare(&h));
    TRY(first_attempt(&h, propose));
    TRY(shake_hands(&h));
    return finish(&h, session);
}
