/*
 * protocols/coin.h - biased coins that nobody knows.
 *
 * A coin of probability p is [u < t] on 64 shared random bits u against the public t = round(2^64
 * p), by mpc/circuits/below.h: 21 to 83 ANDs for the coins of our noise, 6 exchanges for any number
 * of coins. LEAKS: nothing. ERROR, in total variation a coin: COIN_TAU.
 */
#pragma once

#include "mpc/circuits/bits.h"

#define COIN_TAU 0x1p-65 /* thresholds are rounded to nearest at 64 bits */

/* Plane c of out: out.n independent coins of threshold[c]. */
enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold) MUST_CHECK;
