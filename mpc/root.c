#include "mpc/root.h"

/*
 * Step i (from 0) has i root bits already, in out's planes w-1 .. w-i; remainders fit i + 3 bits.
 */
static enum err step(struct party *p, struct planes *out, const struct planes *x,
                     struct planes *remainder, struct planes *addend, struct bits *positive,
                     unsigned i)
{
    unsigned w = out->width, width = i + 3;
    struct planes r = planes_view(remainder, 0, width), a = planes_view(addend, 0, width);

    for (unsigned k = width; k-- > 2;) /* 4r + pair */
        bits_copy(planes_plane(&r, k), planes_plane(&r, k - 2));
    bits_copy(planes_plane(&r, 1), planes_plane(x, 2 * (w - i) - 1));
    bits_copy(planes_plane(&r, 0), planes_plane(x, 2 * (w - i) - 2));

    bits_zero(planes_flat(&a)); /* 11 below the root, whose bits are flipped where r >= 0 */
    bits_not(p, planes_plane(&a, 0), planes_plane(&a, 0));
    bits_not(p, planes_plane(&a, 1), planes_plane(&a, 1));
    for (unsigned k = 0; k < i; k++)
        bits_xor(planes_plane(&a, 2 + k), planes_plane(out, w - i + k), *positive);
    bits_copy(planes_plane(&a, 2 + i), *positive);

    TRY(adder_add(p, r, &r, &a, false));
    bits_not(p, *positive, planes_plane(&r, width - 1));
    bits_copy(planes_plane(out, w - 1 - i), *positive);
    return ERR_OK;
}

static enum err root(struct party *p, struct planes *out, const struct planes *x)
{
    struct planes remainder, addend;
    struct bits positive;
    TRY(party_planes(p, &remainder, out->width + 2, x->n));
    TRY(party_planes(p, &addend, out->width + 2, x->n));
    TRY(party_bits(p, &positive, x->n));
    bits_zero(planes_flat(&remainder));
    bits_zero(positive);
    bits_not(p, positive, positive);
    for (unsigned i = 0; i < out->width; i++)
        TRY(step(p, out, x, &remainder, &addend, &positive, i));
    return ERR_OK;
}

enum err root_floor(struct party *p, struct planes *out, const struct planes *x)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, x->width == 2 * out->width ? root(p, out, x) : ERR_RANGE);
}
