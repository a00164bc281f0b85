#include "protocols/coin.h"

#include "mpc/below.h"

#define BITS 64

enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct planes digits; /* complements of random digits: random digits */
    struct bits all;
    unsigned positions = 0;
    enum err e;
    for (unsigned c = 0; c < out->width; c++)
        positions += below_positions(threshold[c], BITS);
    e = party_planes(p, &digits, positions, out->n);
    all = planes_flat(&digits);
    if (e == ERR_OK)
        e = party_random_bits(p, &all);
    if (e == ERR_OK)
        e = below_constants(p, out, &digits, BITS, threshold);
    scratch_release(p->scratch, mark);
    return e;
}
