/*
 * mpc/move/open.h - the only way in which a secret becomes public.
 *
 *   i -> i+1   x_i                                            1 element a server, 1 exchange
 *
 * Every call states its reason and is counted, and reported to the party's audit hook before
 * anything is sent. `out` must not overlap x. LEAKS: exactly the values opened.
 */
#pragma once

#include "mpc/move/move.h"

MUST_CHECK static inline enum err open_ring64(struct party *p, enum party_reason reason,
                                              struct share64 x, uint64_t *out)
{
    return move_open(p, reason, RING_64, OPERAND(x), x.n, out);
}

/* out: bits_words(x.n) words; bits past x.n are zero. */
MUST_CHECK static inline enum err open_bits(struct party *p, enum party_reason reason,
                                            struct bits x, uint64_t *out)
{
    return move_open(p, reason, RING_BITS, OPERAND(x), x.n, out);
}

/*
 * The products in GF(2^64) of two shared vectors, in the exchange in which they are made.
 *   i -> both   x_i (y_i + y_(i+1)) + x_(i+1) y_i + alpha_i     2 elements a server, 1 exchange
 */
MUST_CHECK static inline enum err open_products(struct party *p, enum party_reason reason,
                                                struct share64 x, struct share64 y, uint64_t *out)
{
    return move_open_products(p, reason, x, y, out);
}
