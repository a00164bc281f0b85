/* tests/support/withhold.h - an attack: messages whose end never comes, from one admitted key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#define WITHHOLD_CONNECTIONS 64
#define WITHHOLD_MS 2000 /* in which all of it is sent, on an idle machine */

struct withhold_record {
    const char *endpoint; /* of a gate: tcp://127.0.0.1:PORT */
    const uint8_t *server_public, *curve_public, *curve_secret;
    unsigned connections;
    unsigned frames; /* of each connection's message */
    size_t frame;    /* bytes */
};

/*
 * A program under a sanitizer, or with a sanitizer's allocator, cannot have a child with threads:
 * at the fork another thread may hold one of the sanitizer's locks. Nor can one under qemu-user,
 * which then has TREFOIL_QEMU in its environment (tests/arm64.sh).
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SUPPORT_WITHHOLDS 0
#else
#define SUPPORT_WITHHOLDS (getenv("TREFOIL_QEMU") == NULL)
#endif

/*
 * In a process of its own. ZeroMQ sends a message only once it is whole, so a relay between its
 * sockets and the gate holds back the end of it.
 */
pid_t support_withhold(const struct withhold_record *w);
/* Ends it; false if it has ended by itself, and so did not attack. */
bool support_withhold_end(pid_t child);

/* Bytes of a process that are in memory. */
uint64_t support_resident(pid_t pid);
