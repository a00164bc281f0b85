/*
 * aim/run/look.h - a look before a run spends: how many rows were linked, with noise.
 *
 * It opens m n + z, where n is the number, z a unit Gaussian of the lattice 2^-20 as its integer
 * multiple of that, and m = measure_multiplier(sigma). A row moves n by at most 1, so a look costs
 * m^2 / 2^41, as a marginal does (aim/run/ask.h). The amount set aside pays for LOOK_TRIES
 * looks: servers may lose an answer, and where too few rows were linked, owners may mend their
 * tables for another run. So what a run asks later does not depend on how many were taken.
 */
#pragma once

#include "aim/run/ask.h"

#define LOOK_TRIES 3

struct look {
    uint64_t multiplier; /* m; 0: there is none */
};

/* Plans one of LOOK_TRIES looks for which this share of a budget is set aside. */
enum err look_plan(struct look *look, const struct ledger_limits *limits, double share,
                   struct log *log) MUST_CHECK;

/* What looks leave of the budget of one row for everything else. */
double look_leaves(const struct look *look, const struct ledger_limits *limits);

/* What one look takes from the budget of one row; and its deviation, in rows. */
double look_rho(const struct look *look);
double look_sigma(const struct look *look);

/* Debits the whole amount set aside. */
enum err look_debit(const struct look *look, struct ledger *ledger, const struct ask_slack *slack,
                    struct log *log) MUST_CHECK;
