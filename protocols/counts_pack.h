/*
 * protocols/counts_pack.h - owners' counts as they travel, in a vector of bits.
 *
 * Owners pack, and mask with mask_vector(); protocols/counts_sum.h adds up. Nothing here reaches
 * mpc/.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of a packed vector of `cells` counts of `bits` bits: bit k of cell i is bit i * bits + k.
 */
size_t counts_bytes(uint64_t cells, unsigned bits);

/* Fills counts_bytes(). ERR_DATA if a count is negative or needs more than `bits` bits. */
enum err counts_pack(const int64_t *counts, uint64_t cells, unsigned bits,
                     uint8_t *vector) MUST_CHECK;
