/* parties/command/plan_noise.h - what `trefoil plan` says about noise, rounds and bins. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_NOISE_H
#define TREFOIL_PARTIES_COMMAND_PLAN_NOISE_H

#include "aim/run/loop.h"
#include "parties/study/study.h"

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
