/*
 * mpc/check/check.h - what the servers prove to each other before anything is opened.
 *
 * A check is the recorder (mpc/move/record.h) of a party. It notes every relation that must hold
 * between components as they are stored, and proves all of them at once, in a flush, before a value
 * is opened. So if one server alters anything that it sends, the two others open what they would
 * have opened otherwise, or nothing at all; docs/proofs.md has the theorem. A party without a
 * check sends not a byte more.
 *
 *   coin     i -> i+1   u_i, SHA-256(v_i), script           80 bytes each way, 1 exchange
 *            i -> i-1   v_(i+1), SHA-256(u_(i+1)), script
 *   flush    6 exchanges for the whole log; 2 more for every factor of 64 above 2^19 elements,
 *            where 64 products of bits make one: 12.7 kB, and 16 bytes for 64 elements; or for
 *            every factor of 16 above 2^19 products of numbers, which take 64 bytes for 64 more,
 *            and 0.8 kB, and for each ring used 1 kB and 64 claims (mpc/check/check_claims.h)
 *
 * LEAKS: nothing; what a relation is off by is opened, and the server that lied knows it.
 */
#pragma once

#include "mpc/move/record.h"

/*
 * A server that knows a coin may hang up, and try again in another session. So whoever makes the
 * check counts the tries, in a place that lasts. Each function is called by the thread of the lane
 * that it concerns.
 */
struct check_guard {
    enum err (*begin)(void *self); /* a flush: before a coin of it leaves; an error holds it back */
    enum err (*end)(void *self);   /* that flush was accepted, and what rode with it opened */
    void (*failed)(void *self);    /* something does not fit, in a flush or outside of one */
    void *self;
    /* Lane 0, before its flush and those beside it; an error, the same at all three, holds them
     * back. May play an exchange. NULL: nobody is asked. */
    enum err (*ready)(void *self);
};

/* Zeros stand for the values given here; other values are for tests. */
struct check_limits {
    size_t log;               /* bytes: a move that passes them is followed by a flush; 192 MiB,
                               * of which counting and noise use a third, but 32 MiB at least */
    size_t groups;            /* of 512 elements: more are folded before the last fold; 1024 */
    struct check_guard guard; /* nobody counts */
};

/* Makes p->recorder, which is freed with the party. */
enum err check_new(struct party *p, const struct check_limits *limits) MUST_CHECK;
/*
 * From now on lanes other than the first begin no check in the midst of work: a log of theirs that
 * is full gets longer. So `ready` is asked before every check.
 */
void check_waits_for_first(const struct party *p);
/* The bytes of each lane's log in a process with so many lanes, where limits->log is 0. */
size_t check_log_share(size_t lanes);

/* Where the first failure was: in which phase, and within or after which flush of the session. */
struct check_failure {
    bool failed;
    enum net_phase phase;
    uint64_t check;
};
struct check_failure check_failure(const struct party *p);

/* Whether nothing waits to be proved. */
bool check_clean(const struct party *p);
