/* harness/netio.h - what the tests of netio/ share: three threads, keys, ports, patterns. */
#pragma once

#include "netio/context.h"
#include "netio/transport.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Runs f on three elements of `size` bytes, each in a thread of its own, and waits for them. */
void run_three(void *(*f)(void *), void *elements, size_t size);

/* For three links, freed where their scope ends: struct transport *t[3] CLEAN(links_free) = {0}; */
void links_free(struct transport *(*t)[3]);

/* Endpoints on loopback that were free a moment ago: all bound at once, so that they differ. */
#define ENDPOINT_SIZE 32
void free_endpoints(char (*endpoint)[ENDPOINT_SIZE], size_t count);

struct netio_key_pair {
    uint8_t public[32], secret[32];
};

struct netio_key_pair new_key_pair(void);

/* Passes of bare links, without a session: each pair and direction has its own. */
struct transport_passes passes_of(unsigned i);

enum err open_bare(struct transport *t, unsigned i);

/*
 * Three servers' ZeroMQ links on loopback, open. With keys: CURVE, and server i expects key[j] from
 * server j but shows shown[i].
 */
enum err three_zmq(struct transport *t[3], struct netio *netio, int depth,
                   const struct netio_key_pair *key, const struct netio_key_pair *shown,
                   struct log *log);

/* Bytes that depend on a tag, and whether a buffer still holds them. */
uint64_t pattern_word(uint64_t *state);

void pattern_fill(uint8_t *p, size_t n, uint64_t tag);
bool pattern_holds(const uint8_t *p, size_t n, uint64_t tag);
