/*
 * netio/net.h - sealed rounds between the three servers: the one exchange function.
 *
 * A round is one net_exchange() at each of the three: every server sends at most one payload to
 * each neighbour and receives at most one from each. All lengths are public and known beforehand.
 * Payloads travel in frames of at most 1 MiB of body:
 *
 *   header  80 bytes in clear: session id, sender, receiver, lane, sequence, round, sizes (frame.h)
 *   body    AES-128-GCM: key of session_bulk_key(), nonce = sequence, associated data = header
 *   tag     16 bytes
 *
 * Keys are replaced by HKDF every 2^30 blocks. A frame of another session is dropped and counted. A
 * frame of this session that is altered, replayed, out of order, of the wrong round, kind or length
 * ends the session: the error is logged, both neighbours are told (an ABORT frame, under a key of
 * its own), and every later call fails with ERR_MISUSE. The same holds when a neighbour is silent
 * past the deadline, or aborts. Errors:
 *
 *   ERR_AUTH, ERR_FORMAT  a frame that was altered, moved or made by somebody else
 *   ERR_MISMATCH          an authentic frame of another round or size: the programs differ
 *   ERR_TIMEOUT           a neighbour was silent, or took nothing, for the deadline: it hangs, or
 *                         is cut off
 *   ERR_PEER              a neighbour gave up, and its own log says why; or it has left: its
 *                         connection broke
 *
 * After a failure the receive buffers hold nothing to be used: unauthenticated bytes are wiped, but
 * a part of a payload may stand there.
 *
 * Sending and receiving are interleaved, so that bounded queues cannot deadlock. A server that
 * waits for a silent neighbour hears within milliseconds that the other one gave up in this round,
 * or that either has left.
 */
#ifndef TREFOIL_NETIO_NET_H
#define TREFOIL_NETIO_NET_H

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
    uint64_t rounds;
    uint64_t payload_sent, payload_received; /* what protocols ask to move */
    uint64_t wire_sent, wire_received;       /* with headers and tags */
    uint64_t frames_sent, frames_received;
    double seconds; /* spent between net_enter() calls */
};

struct net;

struct net_options {
    struct transport *transport;   /* borrowed */
    const struct session *session; /* borrowed during the call; keys are derived once */
    uint32_t lane;
    /*
     * Shared by the nets of a server's lanes; may be NULL. Once one of them has failed, the others
     * end too at their next step, and tell their neighbours. So a lane that fails ends all lanes of
     * all three servers, without waiting for the work in hand.
     */
    atomic_bool *ended;
    int64_t deadline_ms;   /* longest silence of a neighbour within a round; 0 means 60 seconds */
    uint64_t rekey_blocks; /* 16-byte blocks before a key is replaced; 0 means 2^30 */
    struct log *log;
};

enum err net_new(struct net **net, const struct net_options *o) MUST_CHECK;
void net_free(struct net **net);

struct net_round {
    const void *send[2];
    size_t send_size[2];
    void *receive[2];
    size_t receive_size[2];
};

/*
 * One round. Sizes of 0 move nothing; a round in which a server has nothing to move is still
 * counted, so that all three stay aligned.
 */
enum err net_exchange(struct net *net, const struct net_round *round) MUST_CHECK;

/*
 * One round, streamed: payloads are made and used tile by tile, so that neither side holds them
 * whole and computing overlaps sending. A flow is what this server sends to one neighbour and what
 * it receives from one; a round has one flow, or two with different `to` and different `from`.
 *
 * produce fills `out` with the n bytes at `offset` of what is sent; consume is given the n bytes at
 * `offset` of what is received. Each is called once for each tile, in order; the two interleave as
 * the neighbours are ready, a flow's sending up to the depth of the queues ahead of its receiving.
 * The pointer is valid during the call and aligned to 64 bytes. Tiles have `tile` bytes but for the
 * last; a tile is a frame's body, so both ends of a link must use the same size, as of a length,
 * and in multiples of 16 (64 at best). A failure of a callback ends the session.
 *
 * A frame costs some 3 us at each end, and the caches hold few long tiles: 128 to 512 KiB are
 * within a tenth of each other on a stream; a protocol that computes on several vectors a tile
 * takes the one that its working set fits L2 with. bench/bench_net prints the curve.
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
 * A statement rides on the next round: a block to each neighbour ahead of whatever that round
 * moves, and one from each. So what servers have to hear of each other costs no round of its own.
 * When both have come, and before anything else of the round is taken, `heard` is called. It may
 * let another statement ride, on the round after. Its failure ends the session; a neighbour that
 * waits for the third server's statement gets that before it hears of it. The blocks lie where they
 * are until then. One statement rides at a time: what another one was to say is lost.
 */
struct net_rider {
    struct net_round blocks;
    enum err (*heard)(void *self);
    void *self;
};
void net_ride(struct net *net, const struct net_rider *rider);
/* Plays rounds that move nothing else until no statement waits to ride. */
enum err net_settle(struct net *net) MUST_CHECK;

/* A round of a byte each way: ERR_TIMEOUT where something on the way lets nobody through. */
enum err net_greet(struct net *net) MUST_CHECK;

/* Between rounds: ERR_PEER, as of a failed exchange, once a neighbour has left. */
enum err net_listen(struct net *net) MUST_CHECK;

/*
 * Ends the session and tells both neighbours, as a failed exchange does. A second call does
 * nothing.
 */
void net_abort(struct net *net);

unsigned net_index(const struct net *net);
struct log *net_log(const struct net *net);
uint64_t net_rounds(const struct net *net);

/* Charges what follows to a phase. */
void net_enter(struct net *net, enum net_phase phase);
enum net_phase net_phase(const struct net *net);
const struct net_counters *net_counters(const struct net *net, enum net_phase phase);
struct net_counters net_total(const struct net *net);

/*
 * Lanes that work side by side with a server's first one, each on its own net. net_part(): they
 * enter the first one's phase, and count from zero. net_join(), in the thread of all: their bytes
 * and frames are added to the first one's. Of rounds that run side by side the lane with most
 * counts: that is how often the network's delay was waited for. `since`: what net_part() returned.
 */
uint64_t net_part(const struct net *first, struct net *lane);
void net_join(struct net *first, const struct net *lane, uint64_t since);
/* The same of lanes that another process has: begins, in a phase; adds what they counted. */
void net_begin(struct net *lane, enum net_phase phase);
void net_counters_add(struct net_counters *sum, const struct net_counters *lane);
void net_add(struct net *first, const struct net_counters *counted, uint64_t since);

#endif
