/*
 * protocols/coin.h - biased coins that nobody knows.
 *
 * A coin of probability p is [u < t] on 64 shared random bits u against the public t = round(2^64 p), by
 * mpc/below.h: 21 to 83 ANDs for the coins of our noise, 6 rounds for any number of coins. LEAKS: nothing.
 * ERROR, in total variation a coin: COIN_TAU.
 */
#ifndef TREFOIL_PROTOCOLS_COIN_H
#define TREFOIL_PROTOCOLS_COIN_H

#include "mpc/bits.h"

#define COIN_TAU 0x1p-65 /* thresholds are rounded to nearest at 64 bits */

/* Plane c of out: out.n independent coins of threshold[c]. */
enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold) MUST_CHECK;

/*
 * out: independent numbers, uniform below a public bound, 1 <= bound < 2^62, exactly: numbers of as many
 * random bits as the bound has are compared with it, and those that are not below it are rejected. Which
 * ones is opened (REJECT_BIT); it depends on nothing that is kept. LEAKS: how many were rejected.
 */
enum err coin_uniform(struct party *p, struct share64 out, uint64_t bound) MUST_CHECK;

#endif
