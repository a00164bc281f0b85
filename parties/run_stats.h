/*
 * parties/run_stats.h - stats.json: what a run cost, by round, by server and phase, and at the analyst's.
 *
 * Times, sizes and what follows from opened values; docs/formats.md has the fields.
 */
#ifndef TREFOIL_PARTIES_RUN_STATS_H
#define TREFOIL_PARTIES_RUN_STATS_H

#include "aim/loop.h"
#include "parties/study.h"
#include "parties/worker.h"

struct run_stats {
    const struct study *study;
    const struct aim_result *result;
    const struct worker_stats (*server)[NET_PHASES]; /* of STUDY_SERVERS */
    double rho;
    double mpc_s, total_s;
    uint64_t analyst_sent, analyst_received;
};

/* Writes <folder>/stats.json. */
enum err run_stats_write(const char *folder, const struct run_stats *stats,
                         struct log *log) MUST_CHECK;

#endif
