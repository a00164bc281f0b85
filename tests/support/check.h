/*
 * tests/support/check.h - protocols under a check, run by three servers of which one may cheat.
 * What each sends is recorded, and a test may alter it, knowing all that was sent before.
 */
#pragma once

#include "base/bytes.h"
#include "harness/three.h"
#include "mpc/check/check.h"
#include "tests/support/hooks.h"

#include <pthread.h>

#define PLAY_ROUNDS 192
#define PLAY_MESSAGES 3
#define NOBODY 3

struct check_play {
    /* what each server runs; it opens through play_open() */
    enum err (*job)(struct party *p, struct check_play *play);
    const struct check_limits *limits; /* NULL: no check */
    size_t n;                          /* for the job */
    unsigned cheat;                    /* NOBODY, or who alters what it sends: */
    enum err (*alter)(struct check_play *play, const struct hooks_sent *at, void *p, size_t n);
    void (*input)(struct check_play *play, const struct planes *u, size_t begin, size_t end);
    void *self;
    unsigned sparse;
    bool other;                  /* secrets are others: play_secret() changes what it is given */
    struct check_guard guard[3]; /* to be told; zeros: none */

    /* the outcome, by server; `sent` is what was made, before any alteration */
    enum err result[3];
    struct bytes opened[3];
    struct bytes sent[3][PLAY_ROUNDS][2][PLAY_MESSAGES];
    struct party *party[3];                 /* while it runs */
    unsigned begun[3], ended[3], failed[3]; /* as told by the check's guard */
    uint64_t rounds, before, between;       /* in all; as the job notes */
    unsigned altered;
    uint64_t noticed;     /* the exchange after which the first of the three noticed; 0: none did */
    pthread_mutex_t lock; /* of sent and noticed */
};

void play_run(struct check_play *play);
void play_free(struct check_play *play);

/*
 * Where secrets are others: changes the words of one in the component that the cheat lacks, all
 * bits of them, or by adding `more`. `own` is component i of server i, `next` component i + 1.
 */
void play_secret(const struct party *p, const struct check_play *play, uint64_t *own,
                 uint64_t *next, size_t words, const uint64_t *more);

/* Opens all planes, and records what was opened. */
enum err play_open(struct party *p, struct check_play *play, const struct planes *x) MUST_CHECK;

/*
 * Word i of product l of a record, in one component (0: a, 1: b): both factors as numbers. Returns
 * what else they are multiplied by.
 */
struct check_record;
word128 play_factors(const struct check_record *r, unsigned l, unsigned component, size_t i,
                     word128 *x, word128 *y);

/* A job: one AND of n lanes in place, opened. */
enum err play_and(struct party *p, struct check_play *play) MUST_CHECK;

/* Whether what a server opened is the beginning of what `honest` opened; whether it is all. */
bool play_opened_right(const struct check_play *play, const struct check_play *honest,
                       unsigned server);
bool play_opened_all(const struct check_play *play, const struct check_play *honest,
                     unsigned server);

/*
 * Checks that each of the two others opened what is right, or nothing, and that both failed if the
 * cheating came before the last round, unless they may go on.
 */
void play_judge(const struct check_play *play, const struct check_play *honest, uint64_t round,
                const char *what, bool may_go_on);

/*
 * Checks that in two plays of one job, whose masks differ, these words differ too: the first ones
 * of a message, or all (0). Coins do not depend on masks, so an unmasked word would be the same.
 */
void play_masked(const struct check_play *play, const struct check_play *other, uint64_t round,
                 enum net_peer to, size_t message, size_t words);

/* A word to alter. */
enum check_how { FLIP, PLUS_ONE, TOP_BIT, HOWS };
struct check_altering {
    uint64_t round;
    enum net_peer to;
    size_t message, word;
    enum check_how how;
    bool both;    /* of two messages that are the same: */
    size_t other; /* the one to the other neighbour */
};
enum err play_alter_word(struct check_play *play, const struct hooks_sent *at, void *p, size_t n);

/*
 * Runs the model's job with each server as the cheat. Of each message the first word, the last or
 * some other is altered, in one way; in a long job, of three messages in `sparse` alone. The long
 * tests alter all three words in all ways. A message that goes to both neighbours is also altered
 * in the same way for both. Each time the job is run with other secrets, too: a server that alters
 * a word guesses nothing, since when somebody notices does not depend on what it does not know.
 */
void play_sweep(const char *name, const struct check_play *model, bool may_go_on);

/* Whether a server has sent any of a round's messages to one neighbour so far. */
bool play_has_sent(struct check_play *play, unsigned server, uint64_t round, enum net_peer to);

/* The stream of weights from a round's coin, once all three have sent their messages of it. */
enum err play_coin(struct check_play *play, uint64_t round, struct prg **weights) MUST_CHECK;
