/*
 * bench/pair_rounds.h - what two servers compute in a round (mpc/pair/): both ends in one thread,
 * no link.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * round[]: selections among all pairs and single columns, by L1 and L2; score, cells, candidates,
 * ands, bytes, CPU seconds of the provider and the keeper, and of both for the measurement of what
 * was selected (without noise), wall_s (of the selection, both in one thread), paper_s (FHAIM's) of
 * breast cancer.
 * noise: CPU microseconds and bytes of a sample, own and joint, both servers' together; base_cpu_s.
 * equal: whether all distances and indices are those of integers in the clear; ERR_MISMATCH if not.
 */
enum err pair_rounds_measure(json_t *out, bool smoke) MUST_CHECK;
