/*
 * bench/flaim/secagg.h - secure aggregation after Bonawitz et al. (2017), semi-honest, with one
 * server that relays: it learns sums, but not what anyone added. FLAIM needs it; Trefoil does not.
 *
 *   client                            server
 *   KEYS     two X25519 keys    -->
 *                               <--   ROSTER    everybody's keys
 *   SHARES   for each other client, sealed: a Shamir share of its own mask seed b and of its own
 *            masking key        -->
 *                               <--   INPUT     the shares for this client; its segments, and
 *                                               who else adds to them
 *   MASKED   x + PRG(b) + sum over later PRG(s_uv) - sum over earlier PRG(s_uv), mod 2^32  -->
 *                               <--   SURVIVORS
 *   REVEAL   of each client that sent SHARES: the share of its b if its input arrived, of its
 *            masking key if not -->             the masks are taken off
 *
 * What is summed comes in segments, each from some clients: masks are pairwise among those, from
 * one key agreement. If fewer than `threshold` clients reveal, the sum cannot be unmasked:
 * ERR_PEER, logged. A segment of one client is what that client sent: it must hide it with noise of
 * its own, as FLAIM does.
 *
 * LEAKS to the server: the sums, who adds to which segment, who vanished when, the words of
 * segments of one.
 *
 * Each message is bytes that its reader parses; those are counted, without a transport's.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECAGG_CLIENTS_MAX 255

struct secagg_segment {
    size_t words;
    const uint8_t *member; /* of each client: 1 if it adds to this */
};

enum secagg_drop {
    SECAGG_STAYS,
    SECAGG_DROPS_BEFORE_SHARES,
    SECAGG_DROPS_BEFORE_INPUT,
    SECAGG_DROPS_BEFORE_REVEAL
};

struct secagg_job {
    size_t clients;     /* 1 .. SECAGG_CLIENTS_MAX */
    unsigned threshold; /* 1 .. clients; more than half, so that two halves cannot both unmask */
    size_t segments;
    const struct secagg_segment *segment;
    const uint32_t *const *input; /* of each client: its segments' words, one after the other */
    const enum secagg_drop *drop; /* of each client; NULL: all stay */
    uint32_t *sum;                /* out: all segments' words, of those whose input arrived */
    uint64_t *sent, *received;    /* of each client: bytes are added to what is there */
    /* Each message as it travels; may be NULL. */
    void (*tap)(void *self, size_t client, bool from_client, const struct bytes *message);
    void *self;
};

unsigned secagg_threshold(size_t clients); /* the least that is more than half */
enum err secagg_run(const struct secagg_job *job, struct log *log) MUST_CHECK;

/* What secagg_run() would add to `sent` and `received` when all stay; no input is read. */
void secagg_count(const struct secagg_job *job);
