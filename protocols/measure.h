/*
 * protocols/measure.h - noisy marginals: open m x_j + z_j, z_j unit Gaussians on the lattice 2^-20.
 *
 * Shares are neither multiplied nor truncated: the deviation sigma is requested as the integer
 * m = floor(2^20 / sigma), and the reader divides by m. LEAKS: the noisy counts, with reason
 * NOISY_MARGINAL. 1 element a server and cell, 1 exchange for a whole batch.
 */
#pragma once

#include "protocols/counts.h"
#include "protocols/tape.h"

#define MEASURE_MULTIPLIER_MIN 256
#define MEASURE_MULTIPLIER_MAX (UINT64_C(1) << 30)

/*
 * values receives the cells of all queries, one after another (no padding), m[k] times those of
 * query k. The Gaussians (one a cell) must have been reserved. ERR_REFUSED unless each m is within
 * the bounds above, and m 2^bits within 62 bits.
 */
enum err measure_open(struct party *p, const struct counts *counts, struct tape *tape,
                      const uint32_t *queries, size_t count, const uint64_t *m,
                      int64_t *values) MUST_CHECK;

/*
 * The same for sums that are no marginal. The caller must know that m times each does not wrap: a
 * number below 2^32 where m is permitted; products, with an m of 1 (aim/budget/forms.h).
 */
enum err measure_open_sums(struct party *p, enum party_reason reason, struct share64 sums,
                           struct tape *tape, uint64_t m, int64_t *values) MUST_CHECK;
