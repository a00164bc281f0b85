/*
 * bench/support_studies.h - whole studies over networks (bench/studies.sh), as a table and as JSON:
 *
 *   "lan": {"annealed_adult_s": .., "fixed10_adult_s": .., "annealed": RUN, "fixed10": RUN}, "wan":
 *   .. RUN    phases by name, each with seconds, rounds and bytes (wire, what server 0 sent), and
 *          mpc_s, estimate_s, selections
 *
 * A member that could not be measured is absent.
 */
#ifndef TREFOIL_BENCH_SUPPORT_STUDIES_H
#define TREFOIL_BENCH_SUPPORT_STUDIES_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Runs them, in a smoke run with T = 2 and delays of 1 ms, and writes the two members to `json`
 * (may be NULL), each after a comma. 0, or 1.
 */
int studies_run(FILE *json, bool smoke);

#endif
