/*
 * netio/net_private.h - sealed exchanges: what net.c (exchanges) and net_frames.c (frames) share.
 * Invariants:
 *
 *   1. A sequence number is sealed once: a frame that the transport has no room for stays sealed in
 *      its message and is offered again as it is.
 *   2. Nothing from a neighbour is opened beyond the payload that this exchange expects from it:
 *      what a neighbour sends an exchange ahead waits in the transport's queue. While the other one
 *      is silent, the first message of that queue is held to see whether it is an ABORT. Nothing
 *      can come before an ABORT of this exchange, since all that the neighbour sent for the
 *      exchange has been taken.
 *      (While the other one's statement is awaited, its payload can: the ABORT waits behind it.)
 *   3. What a frame's header must say is known before it comes; it is compared, never believed.
 *   4. The ABORT frame has a key of its own, used for one frame. It may overtake a frame that is
 *      sealed but not sent yet, without affecting the order of the others.
 *   5. A transport's message holds cipher text: payloads are sealed from their place into the
 *      message, and opened from it into their place. A streamed tile is in `tile`, which stays in
 *      the cache and is wiped at the end.
 */
#pragma once

#include "netio/net.h"

/*
 * One payload of an exchange or one block of a statement, in memory or made and used by a flow tile
 * by tile; `done` bytes have moved.
 */
struct net_outgoing {
    const uint8_t *from;
    const struct net_flow *flow;
    size_t size, done, tile;
};

struct net_incoming {
    uint8_t *to;
    const struct net_flow *flow;
    size_t size, done, tile;
};

struct net_link {
    unsigned index; /* the neighbour's */
    struct seal *out, *in;
    uint64_t out_sequence, in_sequence;
    struct transport_message sealed; /* a frame that the transport had no room for */
    struct transport_message ahead;  /* what came while we watched for an ABORT; read next */
    /* of this exchange */
    struct net_outgoing outgoing, later_out; /* later: behind a statement */
    struct net_incoming incoming, later_in;
    bool said;                   /* the statement, if one rides, has left */
    int64_t send_by, receive_by; /* when its silence is too long */
    bool gave_up;                /* it sent an ABORT */
    bool left;                   /* our connection to it broke */
};

struct net {
    struct transport *transport, *control; /* `control` may be NULL */
    struct log *log;
    unsigned servers, index;
    uint32_t lane;
    uint8_t session[SESSION_ID_SIZE];
    int64_t deadline_ms;
    struct net_link link[2];
    uint8_t *abort_key[2][2]; /* [peer][0: to send, 1: to receive] */
    struct transport_message message;
    uint8_t *tile; /* plain text of the tile that a callback makes or uses */
    size_t tile_size;
    bool dead;
    atomic_bool *ended; /* by any of this server's lanes; may be NULL */
    int64_t left_by; /* once a neighbour has left: when the session ends over it; else INT64_MAX */
    struct net_rider rider, next_rider; /* on this exchange, the next; `heard` is NULL: none */
    uint64_t exchange, strangers;       /* frames of other sessions that were dropped */
    enum net_phase phase;
    double entered; /* time has been charged until then */
    struct net_counters counters[NET_PHASES];
};

/* Charges the time since the last call to the current phase. */
void net_charge(struct net *net);

/* Where the session is, for people: "exchange 34 (select)". */
struct net_place {
    char text[64];
};
struct net_place net_place(const struct net *net);

/* Gives the links blocks in memory to move. */
void net_load(struct net *net, const struct net_exchange *exchange);
/*
 * A statement that rides: net_mount() puts it before what the links have been given to move,
 * net_say() lets the payload follow once it has left, and net_hear() calls back once both have
 * come, and sets *moved.
 */
void net_mount(struct net *net);
void net_say(struct net_link *link);
enum err net_hear(struct net *net, bool *moved) MUST_CHECK;

/*
 * Sends the next frame of what this exchange has for a neighbour, if there is one and room for it,
 * and sets *moved.
 */
enum err net_push(struct net *net, enum net_peer peer, bool *moved) MUST_CHECK;
/* Takes the next frame of what this exchange expects from a neighbour, if it has come. */
enum err net_pull(struct net *net, enum net_peer peer, bool *moved) MUST_CHECK;
/*
 * Holds the first message of a neighbour from which this exchange expects nothing more. Only an
 * ABORT of this exchange or an earlier one counts: a neighbour that gives up in a later exchange
 * has done its part in this one.
 */
enum err net_look_ahead(struct net *net, enum net_peer peer) MUST_CHECK;
/* Sends an ABORT under its key, which is used once. */
enum err net_send_abort(struct net *net, enum net_peer peer, int64_t deadline) MUST_CHECK;
