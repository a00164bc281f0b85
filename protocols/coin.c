#include "protocols/coin.h"

#include "mpc/below.h"

#define BITS 64

static enum err flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
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

enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, flip(p, out, threshold));
}
