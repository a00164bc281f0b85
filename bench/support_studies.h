/*
 * bench/support_studies.h - whole studies over networks (bench/studies.sh), as a table and as JSON:
 *
 *   "lan": {"annealed_adult_s": .., "fixed10_adult_s": .., "annealed": RUN, "fixed10": RUN},
 *   "wan": the same, and "sweeps_adult_s" and "sweeps_abort_adult_s", with noise made ahead
 *   RUN    phases by name, each with seconds, rounds and bytes (wire, what server 0 sent), and
 *          mpc_s, estimate_s, selections
 *
 * A member that could not be measured is absent.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * Runs them, in a smoke run with T = 2 and delays of 1 ms, and adds the two members. Returns 0, or
 * 1.
 */
int studies_run(json_t *out, bool smoke);

/*
 * One annealed study over the WAN without a check, and one with `security: abort`. Two keys;
 * none, with a message, if there are no namespaces or no data:
 *
 *   wan_ratio             seconds of the analyst's command, over those without
 *   wan_selection_ratio   the same per selection: chance decides how many a run has
 */
bool studies_wan_ratio(json_t *out, bool smoke);
