/*
 * bench/flaim/e2e_adult.h - the run against which others are measured: Adult in 32 bins, 64
 * three-way marginals, 100 owners (adult.clients100.csv), epsilon 1, delta 1e-5, T = 10, over three
 * server processes on loopback.
 *
 *   mpc_s       processor seconds of the busiest server during the run
 *   network_s   how much longer the analyst waited for the servers: for messages, and for cores if
 *               there are fewer than servers
 *   estimate_s  the rest: the servers count records before the first round, the analyst estimates
 *   l1          error of the synthetic rows
 *   .._abort    the same with `security: abort`
 *   l1_central, l1_central_sd    of central AIM over five seeds: mean and deviation
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <jansson.h>

/* Adds the figures to `out`; says so if the table is absent. */
enum err e2e_adult(json_t *out, struct log *log) MUST_CHECK;
