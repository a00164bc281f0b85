/* parties/settings/three/ranks_mpi.h - what the files behind ranks.h share in a build with MPI. */
#pragma once

#include "netio/seal.h"
#include "parties/settings/three/ranks.h"

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

/* The other end of the link between rank 0 and another rank. */
struct ranks_end {
    int rank;
    struct seal *seals, *opens;
    uint8_t *masks; /* secret: the key from which the keys of masks are made */
    uint64_t sent, got, masked;
    bool owes; /* rank 0: this end owes an answer */
    char name[RANKS_NAME];
    size_t lanes;
    long pid;
};

struct ranks {
    int rank, size;
    size_t own;            /* lanes of this process, if it is not rank 0 */
    size_t all;            /* lanes of all ranks except 0 */
    struct ranks_end *end; /* rank 0: of each other rank, rank 1 first; others: of rank 0 alone */
    struct ranks_place own_place;
    struct ranks_place *place; /* rank 0: of each lane */
    size_t lanes;              /* of the session */
    struct crew_far far;
    struct bytes message;
    size_t given;        /* how many lanes have been given the job so far */
    int64_t patience_ms; /* rank 0: how long another rank may be silent */
    int64_t shown;       /* others: when this rank last showed that it lives */
    uint8_t piece[RANKS_PIECE];
    struct log *log;
};

/*
 * ranks_link_mpi.c: sealed messages. If rank 0 waits for a rank that is silent for too long, it
 * ends all ranks.
 */
enum err ranks_send(struct ranks *r, struct ranks_end *to, const struct bytes *message) MUST_CHECK;
/* Waits for the next message from there, and opens it into `message`. */
enum err ranks_receive(struct ranks *r, struct ranks_end *from, struct bytes *message) MUST_CHECK;
/* Called while a rank works, so that rank 0 hears from it from time to time. */
void ranks_show_life(struct ranks *r);
/* Calls a job off; ranks_called_off(): whether one was called off since it last was called. */
void ranks_call_off(struct ranks *r, struct ranks_end *to);
bool ranks_called_off(void);
/* Sleeps, longer each time up to a millisecond: *turn is 0 at first. */
void ranks_nap(unsigned *turn);
/* Called by all ranks at once: adds up everybody's sums.a and sums.b at rank 0. */
enum err ranks_reduce(struct ranks *r, struct share64 sums) MUST_CHECK;
/* Ends all at once: if one ended alone, MPI would have it wait for the others, who wait for it. */
void ranks_abort(const struct ranks *r, enum err e);
/* Agrees with all on keys, names and lanes. */
enum err ranks_meet(struct ranks *r) MUST_CHECK;
