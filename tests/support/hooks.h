/*
 * tests/support/hooks.h - sees what a party receives and opens, and alters what it sends.
 *
 * The product knows nothing of this: programs of tests are linked with --wrap (Makefile), so that
 * exchanges of moves pass through here. A party's hooks end with it.
 */
#pragma once

#include "mpc/party/party.h"

/*
 * Told of words that came in and are secret (masked shares), and of words that have been opened.
 * Both are called with the words in place, before they are used.
 */
struct hooks_watch {
    void (*secret)(void *self, const void *p, size_t n);
    void (*opened)(void *self, const void *p, size_t n);
    void *self;
};

/*
 * A server that cheats. Called with each stretch of a message, in order, after this server has kept
 * what it needs from it and before it leaves. A failure ends its session.
 */
struct hooks_sent {
    uint64_t exchange;
    enum net_peer to;
    size_t message; /* of those that go to this neighbour in this exchange, end to end */
    size_t offset;  /* of the stretch, in bytes */
};
struct hooks_tamper {
    /* or NULL: of what it inputs, words [begin, end) of each plane's b, before it does */
    void (*input)(void *self, const struct planes *u, size_t begin, size_t end);
    enum err (*alter)(void *self, const struct hooks_sent *at, void *p, size_t n);
    void *self;
};

/* From its next exchange on; NULL: no longer. They are borrowed. */
void hooks_watch(const struct party *p, const struct hooks_watch *watch);
void hooks_tamper(const struct party *p, const struct hooks_tamper *tamper);
bool hooks_watched(const struct party *p);
