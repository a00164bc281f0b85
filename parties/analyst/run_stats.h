/*
 * parties/analyst/run_stats.h - stats.json: what a run cost, by round, by server and phase, and at the analyst's.
 *
 * Times, sizes and what follows from opened values; docs/formats.md has the fields.
 */
#ifndef TREFOIL_PARTIES_ANALYST_RUN_STATS_H
#define TREFOIL_PARTIES_ANALYST_RUN_STATS_H

#include "aim/loop.h"
#include "netio/net.h"
#include "parties/study/study.h"

struct run_stats {
    const struct study *study;
    const struct aim_result *result;
    const struct net_counters (*server)[NET_PHASES]; /* of STUDY_SERVERS */
    double rho;
    double mpc_s, total_s;
    uint64_t analyst_sent, analyst_received;
};

/* Writes <folder>/stats.json. */
enum err run_stats_write(const char *folder, const struct run_stats *stats,
                         struct log *log) MUST_CHECK;

#endif
