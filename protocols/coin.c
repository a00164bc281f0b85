#include "protocols/coin.h"

#include "mpc/circuits/below.h"

#define BITS 64

enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes digits; /* complements of random digits: random digits */
    struct bits all;
    unsigned positions = 0;
    for (unsigned c = 0; c < out->width; c++)
        positions += below_positions(threshold[c], BITS);
    TRY(party_planes(p, &digits, positions, out->n));
    all = planes_flat(&digits);
    TRY(party_random_bits(p, &all));
    return below_constants(p, out, &digits, BITS, threshold);
}
