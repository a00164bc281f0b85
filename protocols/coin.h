/*
 * protocols/coin.h - biased coins that nobody knows.
 *
 * A coin of probability p is [u < t] on 64 shared random bits u against the public t = round(2^64 p).
 * 120 ANDs a coin, 6 rounds for any number of coins. LEAKS: nothing.
 * ERROR: 2^-65 in total variation a coin.
 */
#ifndef TREFOIL_PROTOCOLS_COIN_H
#define TREFOIL_PROTOCOLS_COIN_H

#include "mpc/bits.h"

/* Plane c of out: out.n independent coins of threshold[c]. */
enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold) MUST_CHECK;

#endif
