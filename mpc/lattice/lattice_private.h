/* mpc/lattice/lattice_private.h - for mpc/lattice/ alone. */
#pragma once

#include "mpc/lattice/lattice.h"
#include "mpc/lattice/lattice_sample.h"

#include <stdbool.h>

struct lattice_key {
    const struct lattice_ring *ring;
    struct lattice_poly s, square; /* values */
};

struct lattice_products {
    const struct lattice_ring *ring;
    size_t results;
    struct lattice_poly pk[2];      /* an encryption of 0 */
    struct lattice_poly (*part)[3]; /* by result: the factors of 1, s and s^2; all are values */
};

/* c1 of ciphertext `index` of an upload, 0 being the encryption of 0: as values. */
enum err lattice_shown(const struct lattice_ring *ring, const uint8_t seed[LATTICE_SEED],
                       size_t index, struct lattice_poly *c1) MUST_CHECK;
