/* parties/command/plan_ranks.h - what a server of several ranks takes (parties/server/ranks.h). */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_RANKS_H
#define TREFOIL_PARTIES_COMMAND_PLAN_RANKS_H

#include "parties/study/study.h"

/*
 * Time, bytes between ranks and memory of each, where all three servers have so many ranks of so
 * many lanes. ERR_USAGE, logged: more lanes than a session has. What was measured stands in the
 * file; bench/README.md says how.
 */
enum err plan_ranks(const struct study *study, unsigned ranks, unsigned lanes,
                    struct log *log) MUST_CHECK;

#endif
