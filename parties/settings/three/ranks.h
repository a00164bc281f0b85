/*
 * parties/settings/three/ranks.h - a server on several machines: the ranks of an MPI job.
 *
 * Rank 0 is the server proper: gate, store, ledger, audit log, status. The others are lanes
 * elsewhere, which do jobs (mpc/move/crew.h). Each has its own links to the lanes with the same
 * numbers at the two other servers. They keep nothing that lasts, no key file, no study: rank 0
 * passes what a lane needs. Messages within the server are sealed under keys that ranks agree on at
 * the start; sums go back masked, by MPI_Reduce in Z_2^64. If a rank dies, all ranks end.
 *
 *   0 -> r  ADMIT   passes that neighbours show; answered
 *   0 -> r  OPEN    a session's secrets, lanes and their addresses; answered
 *   0 -> r  TOPIC   what streams are derived from
 *   0 -> r  JOB     number, phase, arguments of each lane; answered with what they counted and
 *                   their results, or with what went wrong
 *   0 -> r  SUM     how many cells; answered; then the reduction
 *   0 -> r  CLOSE, QUIT; the latter is answered
 *
 * Under a check each lane has its own, and JOB is answered once the lanes have proved what they
 * did. A working rank shows each second that it lives; if one is silent, all end, as if it had
 * died. Waiting is a short sleep, never a spin. One thread at a time calls MPI. A build without MPI
 * has only ranks_start() (no_ranks.c).
 */
#pragma once

#include "mpc/move/crew.h"
#include "netio/session.h"
#include "parties/study/study.h"

struct ranks;

/* Where a lane listens for the server before this one, and for the one after it. */
struct ranks_place {
    char host[STUDY_HOST_SIZE];
    uint16_t port[2];
};

struct ranks_options {
    const char *places; /* HOST:PORT of each rank except the first, with commas; or NULL */
    unsigned lanes;     /* of a rank; 0: one for each processor that it may use */
    struct log *log;
};

/*
 * Joins the job that started this process; *ranks is NULL if there is no job, or only one process.
 * ERR_USAGE, logged: the places are not one for each rank, or this is one of several ranks and the
 * build has no MPI.
 */
enum err ranks_start(struct ranks **ranks, const struct ranks_options *o) MUST_CHECK;
/* Ends all of them. */
void ranks_stop(struct ranks **ranks);

/* For NULL: true, and 0 lanes. */
bool ranks_is_first(const struct ranks *ranks);
size_t ranks_lanes(const struct ranks *ranks);

/* All that the other ranks do, until rank 0 ends. */
enum err ranks_follow(struct ranks *ranks) MUST_CHECK;

/* Where lane j of the other ranks' lanes listens. */
const struct ranks_place *ranks_place(const struct ranks *ranks, size_t j);

/* --- rank 0, of a session --------------------------------------------------------------------- */

/* From here on, all ranks end if another one is silent for longer than patience_ms. */
enum err ranks_admit(struct ranks *ranks, unsigned index,
                     const uint8_t expect[2][TRANSPORT_PASS_SIZE], int64_t patience_ms) MUST_CHECK;

struct ranks_session {
    const struct session *session;
    size_t first;                      /* the number of the other ranks' first lane */
    size_t lanes;                      /* how many of their lanes the session has */
    const struct ranks_place *dial[2]; /* where these lanes are, at each neighbour */
    const uint8_t (*show)[TRANSPORT_PASS_SIZE];
    int64_t deadline_ms;
    size_t log; /* bytes of each lane's log of its check; 0: there is no check */
};
enum err ranks_open(struct ranks *ranks, const struct ranks_session *s) MUST_CHECK;
void ranks_close(struct ranks *ranks);
/* Of the open session. */
const struct crew_far *ranks_far(struct ranks *ranks);
