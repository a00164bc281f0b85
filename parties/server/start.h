/*
 * parties/server/start.h - what a run may begin with.
 *
 * The first run that pays gets the study's budget. So that no analyst can take that for next to
 * nothing, the first things that a run pays for are those that every run of the study begins with:
 * with min_linked a look, then all one-ways, at the prices that follow from the study. And a budget
 * that a run has begun to spend is lost to others only as long as the roster lists the analysts who
 * paid: once it leaves them out, another run may begin with what is left, like one of a study with
 * that budget and without a look. Looks alone leave the budget to others, until all are taken.
 */
#pragma once

#include "parties/store/store_rounds.h"

struct start {
    bool may;          /* whether the run may begin, or has begun */
    double left;       /* what it plans with, of rho; 0: with all */
    uint32_t looks;    /* that other runs had taken */
    bool looked;       /* this run has taken one */
    bool begun;        /* it has paid for its one-ways */
    const char *owner; /* if it may not: an analyst who has begun; NULL if that is not known */
};

enum err start_of(struct start *start, struct store *store, const struct study *study,
                  const uint8_t run[REQUEST_RUN_SIZE]) MUST_CHECK;

/*
 * Whether a run may pay for this round next, or has paid for it: ERR_REFUSED or ERR_BUDGET, logged,
 * if not.
 */
enum err start_allows(struct store *store, const struct study *study, const struct request *request,
                      struct log *log) MUST_CHECK;
