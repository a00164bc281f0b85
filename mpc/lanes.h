/*
 * mpc/lanes.h - one call on several threads: each lane has links, PRG streams and scratch of its
 * own.
 *
 * Lane k of a server talks to lane k of the two others and to nothing else, so that lanes need no
 * lock, may run in any order, and one thread after the other where there is one core. The three
 * servers must make the same number of lanes and the same calls.
 */
#ifndef TREFOIL_MPC_LANES_H
#define TREFOIL_MPC_LANES_H

#include "mpc/party.h"

#define LANES_MAX 16

struct lanes {
    size_t count;
    struct party *lane[LANES_MAX];
};

/* nets[k] was made with lane k, over a transport that nothing else uses; borrowed. */
enum err lanes_new(struct lanes **lanes, struct net *const *nets, size_t count,
                   const struct session *session, struct log *log) MUST_CHECK;
void lanes_free(struct lanes **lanes);

/*
 * Calls job once for each lane, in threads: with contiguous parts of n lanes of vectors, each from
 * a multiple of `align` on (64 for bits), together all of them; parts may be empty. Waits for all.
 * The first error by lane number; a lane that fails ends its own links, the others finish.
 */
enum err lanes_run(struct lanes *lanes, size_t n, size_t align,
                   enum err (*job)(void *self, struct party *p, size_t from, size_t count),
                   void *self) MUST_CHECK;

#endif
