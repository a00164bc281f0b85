/*
 * parties/command/plan_ranks.h - what a server of several ranks needs
 * (parties/settings/three/ranks.h).
 */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_RANKS_H
#define TREFOIL_PARTIES_COMMAND_PLAN_RANKS_H

#include "parties/study/study.h"

/*
 * Prints the time, the bytes between ranks and the memory of each rank, if all three servers have
 * this many ranks of this many lanes. ERR_USAGE, logged: more lanes than a session has. The source
 * file has the measurements behind this; bench/README.md says how they were made.
 */
enum err plan_ranks(const struct study *study, unsigned ranks, unsigned lanes,
                    struct log *log) MUST_CHECK;

#endif
