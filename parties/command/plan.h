/* parties/command/plan.h - what `trefoil plan` says, by parts: plan_servers.c and so on. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_H
#define TREFOIL_PARTIES_COMMAND_PLAN_H

#include "aim/run/loop.h"
#include "parties/study/study.h"

/* Prints exchanges, bytes and time for noise, and for bounding persons if the study does. */
enum err plan_servers(const struct study *study) MUST_CHECK;

/*
 * Prints the time, the bytes between ranks and the memory of each rank, if all three servers have
 * this many ranks of this many lanes. ERR_USAGE, logged: more lanes than a session has. The source
 * file has the measurements behind this; bench/README.md says how they were made.
 */
enum err plan_ranks(const struct study *study, unsigned ranks, unsigned lanes,
                    struct log *log) MUST_CHECK;

/* Prints what is opened and kept if all owners together have this many rows. */
void plan_copula_size(const struct study *study, uint64_t rows);

/* Prints a line for each of several epsilons: noise, and the error to expect from it. */
enum err plan_copula_errors(const struct study *study, uint64_t rows) MUST_CHECK;

struct plan_noise {
    const struct study *study;
    const struct aim_options *options;
    uint64_t rows;                /* at most, of all owners */
    bool merges;                  /* whether a run is expected to merge codes; */
    const struct domain *grouped; /* if so, these groups remain */
};

/* Prints noise by epsilon and by rounds, the best number of rounds, and bins that are too fine. */
void plan_noise(const struct plan_noise *p);

#endif
