/*
 * netio/net.h - sealed exchanges between two or three servers: the one exchange function.
 *
 * An exchange is one net_exchange() at each of them: every server sends at most one payload to
 * each neighbour and receives at most one from each. All lengths are public and known beforehand.
 * Payloads travel in frames of at most 1 MiB of body:
 *
 *   header   80 bytes, clear (frame.h): session id, sender, receiver, lane, sequence, sizes, ...
 *   body     AES-128-GCM: key of session_bulk_key(), nonce = sequence, associated data = header
 *   tag      16 bytes
 *
 * Keys are replaced by HKDF every 2^30 blocks. A frame of another session is dropped and counted. A
 * frame of this session that is altered, replayed, out of order, or of the wrong exchange, kind or
 * length ends the session: the error is logged, all neighbours are told (an ABORT frame, under a
 * key of its own), and every later call fails with ERR_MISUSE. The same happens when a neighbour is
 * silent past the deadline, or aborts. Errors:
 *
 *   ERR_AUTH, ERR_FORMAT  a frame that was altered, moved or made by somebody else
 *   ERR_MISMATCH          an authentic frame of another exchange or size: the programs differ
 *   ERR_TIMEOUT           a neighbour was silent, or took nothing, for the deadline: it hangs, or
 *                         is cut off
 *   ERR_PEER              a neighbour gave up, and its own log says why; or it has left: its
 *                         connection broke
 *
 * After a failure the receive buffers hold nothing usable: unauthenticated bytes are wiped, but
 * part of a payload may be there.
 *
 * Sending and receiving are interleaved, so that bounded queues cannot deadlock. A server that
 * waits for a silent neighbour learns within milliseconds if the other one gave up in this
 * exchange, or if either has left.
 */
#pragma once

#include "netio/session.h"
#include "netio/transport.h"

#include <stdatomic.h>

#define NET_FRAME_BODY ((size_t)1 << 20)
#define NET_FRAME_OVERHEAD 96 /* header and tag: the bytes that a frame adds, exactly */

enum net_phase {
    NET_OTHER,
    NET_NOISE,
    NET_COLLECT,
    NET_COMPUTE,
    NET_SELECT,
    NET_MEASURE,
    NET_PHASES
};
const char *net_phase_name(enum net_phase phase);

struct net_counters {
    uint64_t exchanges;
    uint64_t payload_sent, payload_received; /* what protocols ask to move */
    uint64_t wire_sent, wire_received;       /* with headers and tags */
    uint64_t frames_sent, frames_received;
    double seconds; /* spent between net_enter() calls */
};

struct net;

struct net_options {
    struct transport *transport; /* borrowed */
    /*
     * Or NULL: where the session was agreed on. Who leaves there before the first exchange is over
     * may never have reached `transport`, where its leaving would be seen.
     */
    struct transport *control;
    const struct session *session; /* borrowed during the call; keys are derived once */
    uint32_t lane;
    /*
     * Shared by the nets of a server's lanes; may be NULL. Once one of them has failed, the others
     * end too at their next step, and tell their neighbours. So a lane that fails ends all lanes of
     * all servers, without waiting for the work in hand.
     */
    atomic_bool *ended;
    int64_t deadline_ms; /* longest silence of a neighbour within an exchange; 0 means 60 seconds */
    uint64_t rekey_blocks; /* 16-byte blocks before a key is replaced; 0 means 2^30 */
    struct log *log;
};

enum err net_new(struct net **net, const struct net_options *o) MUST_CHECK;
void net_free(struct net **net);

struct net_exchange {
    const void *send[2];
    size_t send_size[2];
    void *receive[2];
    size_t receive_size[2];
};

/*
 * One exchange. Sizes of 0 move nothing; an exchange in which a server has nothing to move is still
 * counted, so that all stay aligned. What is for a neighbour that is not there is ignored.
 */
enum err net_exchange(struct net *net, const struct net_exchange *exchange) MUST_CHECK;

/*
 * One exchange, streamed: payloads are made and used tile by tile, so that neither side holds them
 * whole and computing overlaps sending. A flow is what this server sends to one neighbour and what
 * it receives from one; an exchange has one flow or, with two neighbours, two with different `to`
 * and different `from`.
 *
 * produce fills `out` with the n bytes at `offset` of what is sent; consume is given the n bytes at
 * `offset` of what is received. Each is called once for each tile, in order. The two interleave as
 * the neighbours are ready: a flow may send ahead of its receiving by the depth of the queues. The
 * pointer is valid during the call and aligned to 64 bytes. All tiles but the last have `tile`
 * bytes. A tile is a frame's body, so both ends of a link must use the same tile size, as they must
 * agree on lengths. It is a multiple of 16, at best of 64. A callback that fails ends the session.
 *
 * A frame costs about 3 us at each end, and the caches hold few long tiles: on a stream, 128 to 512
 * KiB are within a tenth of each other. A protocol that computes on several vectors for each tile
 * takes the size with which its working set fits L2. bench/bench_net prints the curve.
 */
#define NET_TILE ((size_t)256 << 10)
struct net_flow {
    enum net_peer to, from;
    size_t send_size, receive_size;
    size_t tile; /* at most NET_FRAME_BODY; 0 means NET_TILE */
    enum err (*produce)(void *self, size_t offset, uint8_t *out, size_t n);
    enum err (*consume)(void *self, size_t offset, const uint8_t *in, size_t n);
    void *self;
};
enum err net_stream(struct net *net, const struct net_flow *flows, size_t count) MUST_CHECK;

/*
 * A statement rides on the next exchange: a block to each neighbour ahead of whatever that exchange
 * moves, and one from each. So what servers have to hear from each other costs no exchange of its
 * own. When all have come, and before anything else of the exchange is taken, `heard` is called. It
 * may let another statement ride, on the exchange after. Its failure ends the session; a neighbour
 * that waits for the third server's statement gets that before it hears of the failure. Until then
 * the blocks must stay in place. Only one statement can wait to ride: a second one replaces it.
 */
struct net_rider {
    struct net_exchange blocks;
    enum err (*heard)(void *self);
    void *self;
};
void net_ride(struct net *net, const struct net_rider *rider);
/* Plays exchanges that move nothing else until no statement waits to ride. */
enum err net_settle(struct net *net) MUST_CHECK;

/* An exchange of one byte each way: ERR_TIMEOUT if something on the way lets nothing through. */
enum err net_greet(struct net *net) MUST_CHECK;

/* Between exchanges: ERR_PEER, as from a failed exchange, once a neighbour has left. */
enum err net_listen(struct net *net) MUST_CHECK;

/*
 * Ends the session and tells all neighbours, as a failed exchange does. A second call does
 * nothing.
 */
void net_abort(struct net *net);

unsigned net_index(const struct net *net);
unsigned net_servers(const struct net *net);
/* The index of a neighbour. */
unsigned net_neighbour(const struct net *net, enum net_peer peer);
struct log *net_log(const struct net *net);
uint64_t net_exchanges(const struct net *net);

/* Charges what follows to a phase. */
void net_enter(struct net *net, enum net_phase phase);
enum net_phase net_phase(const struct net *net);
const struct net_counters *net_counters(const struct net *net, enum net_phase phase);
struct net_counters net_total(const struct net *net);

/*
 * For lanes that work side by side with a server's first one, each on its own net. net_part(): a
 * lane enters the first one's phase, and counts from zero. net_join(), in one thread for all lanes,
 * adds its bytes and frames to the first one's. Where exchanges run side by side, only the lane
 * that has the most of them is counted: that is how often the network's delay was waited for.
 * `since`: what net_part() returned.
 */
uint64_t net_part(const struct net *first, struct net *lane);
void net_join(struct net *first, const struct net *lane, uint64_t since);
/* The same for lanes of another process: begins, in a phase; adds what they counted. */
void net_begin(struct net *lane, enum net_phase phase);
void net_counters_add(struct net_counters *sum, const struct net_counters *lane);
void net_add(struct net *first, const struct net_counters *counted, uint64_t since);
