/* parties/command/plan_noise.h - what `trefoil plan` says of noise, rounds and bins. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_NOISE_H
#define TREFOIL_PARTIES_COMMAND_PLAN_NOISE_H

#include "aim/loop.h"
#include "parties/study/study.h"

struct plan_noise {
    const struct study *study;
    const struct aim_options *options;
    uint64_t rows;                /* at most, of all owners */
    bool merges;                  /* whether a run is expected to merge codes, */
    const struct domain *grouped; /* which leaves these groups */
};

/* Noise by epsilon and by rounds, how many of these there should be, bins that are too fine. */
void plan_noise(const struct plan_noise *p);

#endif
