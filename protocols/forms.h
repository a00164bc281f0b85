/*
 * protocols/forms.h - noisy linear forms of counts: open <v_k, x> + z_k, z_k unit Gaussians on the
 * lattice 2^-20.
 *
 *   each       y_i = sum over cells c of v_k(c) x_i(c) + z_i      local: v_k is public
 *   i -> i+1   y_i                                                to open it
 *
 * What a row can move, and what that costs, follows from the vectors alone (aim/forms.h): the
 * caller has found both. Shares are neither multiplied nor truncated. LEAKS: the noisy forms, with
 * reason NOISY_FORM, one each, whatever their number of cells; nothing of the cells. 1 element a
 * server and form, 1 round for a whole batch.
 *
 * No wrap: |<v, x>| <= max |v| S, S the most that the marginal's counts can add up to, and |z| <
 * 2^FORMS_NOISE_BITS with either noise. Forms with max |v| S + 2^FORMS_NOISE_BITS > 2^63 - 1 are
 * refused.
 */
#ifndef TREFOIL_PROTOCOLS_FORMS_H
#define TREFOIL_PROTOCOLS_FORMS_H

#include "protocols/counts.h"
#include "protocols/tape.h"

#define FORMS_NOISE_BITS 26

struct form {
    size_t query;
    const int64_t *weight; /* v: one for each of the query's cells */
};

/*
 * values receives one value for each form. The Gaussians (one a form) must have been reserved.
 * ERR_REFUSED, with nothing taken from the tape, unless all forms are permitted.
 */
enum err forms_open(struct party *p, const struct counts *counts, struct tape *tape,
                    const struct form *form, size_t count, const uint64_t *total,
                    int64_t *values) MUST_CHECK;

#endif
