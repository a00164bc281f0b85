/*
 * aim/budget/measure.h - how large the noise of a measurement is: its multiplier m, an integer that
 * is the same on every machine (aim/budget/score.h), and the deviation that m gives.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "base/noise.h"

#include <stdint.h>

/*
 * m = floor(2^20 / sigma); ERR_RANGE, logged, if it is below 2^8 (sigma above 4096: the budget is
 * too small for this domain) or above 2^30 (sigma below 2^-10).
 */
enum err measure_multiplier(double sigma, uint64_t *multiplier, struct log *log) MUST_CHECK;

/*
 * The standard deviation that m gives: 2^20 / m, never below the sigma asked for, times as many as
 * noise that is made so deviates. Estimates, penalties, schedules and reports use this; what is
 * paid for is 2^20 / m, whoever makes the noise.
 */
double measure_sigma(uint64_t multiplier, enum noise_by by);
double measure_spread(enum noise_by by);

/*
 * The same for scores that are opened (aim/run/ask.h), from 2^5 on, where sigma is 2^15. Those that
 * would wrap are another matter: the most that m may be is scores_most().
 */
enum err scores_multiplier(double sigma, uint64_t *multiplier) MUST_CHECK;
