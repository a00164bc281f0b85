/*
 * bench/pair_utility.h - how good rows are that two servers make of a table of FHAIM's paper, with
 * each way to make noise, beside a curator's: the same loop on counts in the clear, with the very
 * noise that servers draw.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * utility[]: table, epsilon, delta, score, noise_by, runs; l1 and its standard error, l1_se, of as
 * many rows as were read, mean over runs of other rows and other noise; central_l1 of the same rows
 * with a curator's noise; paper_l1, FHAIM's by L2, and by L1 the paper's curator's. Nothing if the
 * table is absent.
 */
enum err pair_utility_measure(json_t *out, bool smoke) MUST_CHECK;
