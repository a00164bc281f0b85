/* parties/server/ranks_mpi.h - what the files of ranks.h share where there is MPI. */
#ifndef TREFOIL_PARTIES_SERVER_RANKS_MPI_H
#define TREFOIL_PARTIES_SERVER_RANKS_MPI_H

#include "netio/seal.h"
#include "parties/server/ranks.h"

#define RANKS_NAME 64 /* of a rank's machine */
#define RANKS_PIECE ((size_t)256 << 10)

enum ranks_message {
    RANKS_ADMIT,
    RANKS_OPEN,
    RANKS_TOPIC,
    RANKS_JOB,
    RANKS_SUM,
    RANKS_CLOSE,
    RANKS_QUIT
};

/* The other end of what passes between rank 0 and another one. */
struct ranks_end {
    int rank;
    struct seal *seals, *opens;
    uint8_t *masks; /* secret: the key that those of masks are made from */
    uint64_t sent, got, masked;
    bool owes; /* rank 0: an answer */
    char name[RANKS_NAME];
    size_t lanes;
    long pid;
};

struct ranks {
    int rank, size;
    size_t own;            /* lanes of this process, where it is not rank 0 */
    size_t all;            /* lanes of all ranks but 0 */
    struct ranks_end *end; /* rank 0: of each other, rank 1 first; else of rank 0 alone */
    struct ranks_place own_place;
    struct ranks_place *place; /* of each lane: at rank 0 */
    size_t lanes;              /* of the session */
    struct crew_far far;
    struct bytes message;
    size_t given;        /* to whom lanes are given a job: that many have it */
    int64_t patience_ms; /* rank 0: how long another one may be silent */
    int64_t shown;       /* else: when it last showed that it lives */
    uint8_t piece[RANKS_PIECE];
    struct log *log;
};

/*
 * ranks_link_mpi.c: sealed messages. Where rank 0 waits for one that is silent for too long, it
 * ends them all.
 */
enum err ranks_send(struct ranks *r, struct ranks_end *to, const struct bytes *message) MUST_CHECK;
/* The next from there, waited for; opened, in `message`. */
enum err ranks_receive(struct ranks *r, struct ranks_end *from, struct bytes *message) MUST_CHECK;
/* While a rank works: that rank 0 hears of it from time to time. */
void ranks_show_life(struct ranks *r);
/* Calls a job off; whether one was called off, since it was last asked for. */
void ranks_call_off(struct ranks *r, struct ranks_end *to);
bool ranks_called_off(void);
/* Sleeps, longer each time up to a millisecond: *turn is 0 at first. */
void ranks_nap(unsigned *turn);
/* All ranks at once: sums.a and sums.b of all are added up at rank 0. */
enum err ranks_reduce(struct ranks *r, struct share64 sums) MUST_CHECK;
/* Ends all at once: where one ends alone, MPI has it wait for the others, who wait for it. */
void ranks_abort(const struct ranks *r, enum err e);
/* Agrees on keys, names and lanes with all. */
enum err ranks_meet(struct ranks *r) MUST_CHECK;

#endif
