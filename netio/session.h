/*
 * netio/session.h - one agreed session between two or three servers, and the keys that hang off it.
 *
 *   0 -> all    PROPOSE  attempt (16 random bytes), and what it is about; server 0 starts
 *   all -> all  HELLO    attempt, version, index, nonce, pass, lanes, digests of the terms
 *   all -> all  SECRET   session id, 32 random bytes
 *
 *   session id = SHA-256("trefoil-session-1", nonce_0, nonce_1, ...), each length-prefixed,
 *                followed by the numbers of lanes of each, near and in all
 *
 * over CURVE control links. Messages of another attempt or session are left over from an earlier
 * try and are skipped. Nothing is read beyond a neighbour's SECRET. Before a session, the other
 * servers wait for a PROPOSE on server 0's link alone, so that an early HELLO stays in its queue.
 * Two servers' shared secret is r_low || r_high by server index; every key is
 *
 *   HKDF-SHA256(ikm = r_low || r_high, salt = empty, info = label and fields, each with its length)
 *
 * Of three servers, key_i of the secret sharing is known to servers i-1 and i: it comes from that
 * pair's secret.
 */
#pragma once

#include "base/terms.h"
#include "netio/transport.h"

/* Version of handshake and frames: a server speaks only to one that has the same number. */
#define SESSION_PROTOCOL 5
#define SESSION_ID_SIZE 32
#define SESSION_SECRET_SIZE 64 /* r_low || r_high */
#define SESSION_ABOUT_SIZE 16
#define SESSION_LANES_MAX 16
#define SESSION_ALL_MAX 1024 /* of all processes of a server */

struct session {
    unsigned servers, index;
    uint8_t id[SESSION_ID_SIZE];
    uint8_t terms[32];
    uint8_t *pair_secret[2]; /* secret memory, 64 bytes: shared with each neighbour */
};

/*
 * What a caller offers, and afterwards what it learns from the others. Server 0 sets `about`: what
 * it proposes a session for. The others find the one of the last PROPOSE there, even if no
 * session came of it. `passes.expect` is what a server wants its neighbours to show when they dial
 * its bulk links; `passes.show` is what they want from it. `lanes` is how many a server can use in
 * one process, and afterwards how many the session has: the least of all. `all` is the same
 * for the lanes of all of a server's processes; 0: as many as `lanes`. `most` becomes the largest
 * `lanes` that any of them offered.
 */
struct session_offer {
    uint8_t about[SESSION_ABOUT_SIZE];
    struct transport_passes passes;
    unsigned lanes; /* 1 to SESSION_LANES_MAX */
    unsigned all;   /* at least as many, to SESSION_ALL_MAX */
    unsigned most;
};

/*
 * Runs the handshake as server `index`. Server 0 starts it; the others call this when they have
 * received a PROPOSE, whose whole message they pass as `propose` (NULL at server 0). They follow
 * server 0 to a newer PROPOSE if one comes meanwhile; each attempt has `patience_ms`. It waits for
 * a neighbour that is not there yet. ERR_PEER: a neighbour's connection broke, so that it has lost
 * what we sent. ERR_MISMATCH, at all servers: the log names the peer and what differs: version,
 * index, or part of the terms.
 */
enum err session_open(struct session **session, struct transport *control, unsigned servers,
                      unsigned index, const struct terms *terms, const struct bytes *propose,
                      struct session_offer *offer, int64_t patience_ms, struct log *log) MUST_CHECK;

/* Whether a control message is a PROPOSE. */
bool session_is_propose(const struct bytes *message);

/* The last step of the handshake; copies the secrets, one for each neighbour. */
enum err session_make(struct session **session, unsigned servers, unsigned index,
                      const uint8_t id[SESSION_ID_SIZE], const uint8_t terms[32],
                      const uint8_t secret[][SESSION_SECRET_SIZE]) MUST_CHECK;

void session_free(struct session **session);

/* The AES-128 key of bulk frames on one lane in one direction; `sending` tells which. */
enum err session_bulk_key(const struct session *s, enum net_peer peer, bool sending, uint32_t lane,
                          uint8_t key[16]) MUST_CHECK;

/*
 * The AES-128 PRG key for shares: key_index is the server's own index (shared with NET_PREV) or the
 * next (shared with NET_NEXT); any other is ERR_MISUSE, since this server must not know it.
 */
enum err session_prg_key(const struct session *s, unsigned key_index, uint32_t lane,
                         const char *purpose, uint8_t key[16]) MUST_CHECK;
