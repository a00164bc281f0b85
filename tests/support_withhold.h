/* tests/support_withhold.h - an attack: messages whose end never comes, by one admitted key. */
#ifndef TREFOIL_TESTS_SUPPORT_WITHHOLD_H
#define TREFOIL_TESTS_SUPPORT_WITHHOLD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WITHHOLD_CONNECTIONS 64

struct withheld {
    const char *endpoint; /* of a gate: tcp://127.0.0.1:PORT */
    const uint8_t *server_public, *curve_public, *curve_secret;
    unsigned connections;
    unsigned frames; /* of each connection's message */
    size_t frame;    /* bytes */
};

/*
 * A program that a sanitizer watches, or whose allocator it brings, cannot have a child with
 * threads: another thread may hold a lock of its at the fork.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SUPPORT_WITHHOLDS 0
#else
#define SUPPORT_WITHHOLDS 1
#endif

/*
 * In a process of its own, which ends with 0 after two seconds. ZeroMQ sends a message once it is
 * whole; so a relay stands between its sockets and the gate, which keeps back the last of it.
 */
pid_t support_withhold(const struct withheld *w);

/* Bytes of a process that are in memory. */
uint64_t support_resident(pid_t pid);

#endif
