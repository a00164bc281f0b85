/*
 * bench/flaim/shamir.h - a secret of 32 bytes in shares, byte by byte over GF(2^8): any `threshold`
 * of them recover it, fewer say nothing. Share number x, 1 .. 255, is the polynomials' values at x.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define SHAMIR_BYTES 32

/* share[i] is for x = i + 1. */
void shamir_split(const uint8_t secret[SHAMIR_BYTES], unsigned threshold, size_t shares,
                  uint8_t (*share)[SHAMIR_BYTES]);
/* From `threshold` shares of distinct x. */
void shamir_join(const uint8_t *x, const uint8_t (*share)[SHAMIR_BYTES], unsigned threshold,
                 uint8_t secret[SHAMIR_BYTES]);
