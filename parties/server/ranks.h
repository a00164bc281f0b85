/*
 * parties/server/ranks.h - a server on several machines: the ranks of an MPI job.
 *
 * Rank 0 is the server as it is: gate, store, ledger, audit log, status. The others are lanes
 * elsewhere. Each has links of its own to the lanes of the same numbers at the two other servers;
 * nothing that lasts, no key file, no study: rank 0 passes what a lane needs. They do jobs
 * (mpc/crew.h). What passes within the server is sealed under keys that ranks agree on at the
 * start; sums go back masked, by MPI_Reduce in Z_2^64. A rank that dies ends them all.
 *
 *   0 -> r  ADMIT   passes that neighbours show; answered
 *   0 -> r  OPEN    a session's secrets, lanes and their addresses; answered
 *   0 -> r  TOPIC   what streams follow from
 *   0 -> r  JOB     number, phase, arguments of each lane; answered by what they counted and their
 *                   results, or what went wrong
 *   0 -> r  SUM     how many cells; answered; then the reduction
 *   0 -> r  CLOSE, QUIT; the latter is answered
 *
 * Under a check lanes have one of their own, and JOB is answered once they have proved what they
 * did. A rank that works shows each second that it lives; one that is silent ends them all, as one
 * that dies does. Waiting is a short sleep, never a spin. One thread at a time calls MPI. A build
 * without MPI has none of this but ranks_start() (no_ranks.c).
 */
#ifndef TREFOIL_PARTIES_SERVER_RANKS_H
#define TREFOIL_PARTIES_SERVER_RANKS_H

#include "mpc/crew.h"
#include "netio/session.h"
#include "parties/study/study.h"

struct ranks;

/* Where a lane listens: for the server before this one, and for the one after. */
struct ranks_place {
    char host[STUDY_HOST_SIZE];
    uint16_t port[2];
};

struct ranks_options {
    const char *places; /* HOST:PORT of each rank but the first, with commas; or NULL */
    unsigned lanes;     /* of a rank; 0: as many as it may use processors */
    struct log *log;
};

/*
 * Joins the job that started this process; *ranks is NULL where there is none, or one process.
 * ERR_USAGE, logged: places that are not one for each rank; or one of several ranks of a build
 * without MPI.
 */
enum err ranks_start(struct ranks **ranks, const struct ranks_options *o) MUST_CHECK;
/* Ends all of them. */
void ranks_stop(struct ranks **ranks);

/* Of NULL: true; 0 lanes. */
bool ranks_is_first(const struct ranks *ranks);
size_t ranks_lanes(const struct ranks *ranks);

/* All that ranks but the first do, until rank 0 ends. */
enum err ranks_follow(struct ranks *ranks) MUST_CHECK;

/* Where lane j of the other ranks' listens. */
const struct ranks_place *ranks_place(const struct ranks *ranks, size_t j);

/* --- rank 0, of a session --------------------------------------------------------------------- */

/* From here on another rank may be silent for so long: then all end. */
enum err ranks_admit(struct ranks *ranks, unsigned index,
                     const uint8_t expect[2][TRANSPORT_PASS_SIZE], int64_t patience_ms) MUST_CHECK;

struct ranks_session {
    const struct session *session;
    size_t first;                      /* the number of their first lane, */
    size_t lanes;                      /* and of how many the session has */
    const struct ranks_place *dial[2]; /* of these lanes, at each neighbour's */
    const uint8_t (*show)[TRANSPORT_PASS_SIZE];
    int64_t deadline_ms;
    size_t log; /* of each lane's check; 0: there is none */
};
enum err ranks_open(struct ranks *ranks, const struct ranks_session *s) MUST_CHECK;
void ranks_close(struct ranks *ranks);
/* Of the session that is open. */
const struct crew_far *ranks_far(struct ranks *ranks);

#endif
