/*
 * parties/analyst/run_stats.h - stats.json: what a run cost, by round, server and phase, and at the
 * analyst (docs/formats.md). A run that is continued adds to what its earlier commands wrote.
 */
#pragma once

#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/train_run.h"
#include "netio/net.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/request.h"

#include <jansson.h>

struct run_stats {
    const struct study *study;
    struct look look;   /* multiplier 0: there was none */
    double linked;      /* what the look showed */
    const uint8_t *run; /* its number, REQUEST_RUN_SIZE bytes */
    /* of this command */
    const struct net_counters (*server)[NET_PHASES]; /* of each server */
    double mpc_s, total_s;
    struct dials_traffic analyst;
    double rho;
    /* of the method's result: one of the functions below fills this in */
    json_t *rounds;       /* a list; NULL: there was no memory */
    uint64_t first, last; /* owners whose rows the first round counted, and the last one */
    double spent;
    bool goes_on; /* there may be more rounds */
};
void run_stats_clear(struct run_stats *stats);

/* Take what was opened into stats that have their study. */
void run_stats_aim(struct run_stats *stats, const struct aim_result *result);
void run_stats_copula(struct run_stats *stats, const struct copula_result *result);
void run_stats_train(struct run_stats *stats, const struct train_result *result);

/* Writes <folder>/stats.json; adds what is there from the same run. */
enum err run_stats_write(const char *folder, const struct run_stats *stats,
                         struct log *log) MUST_CHECK;
/* Says what the run cost, whose rows were counted, and what is left. */
void run_stats_print(FILE *out, const struct run_stats *stats);
