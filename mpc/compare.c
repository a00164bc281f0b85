#include "mpc/compare.h"

#include "mpc/convert.h"

/*
 * generate and propagate of the lower positions two by two, of a last single one as it is; u and t
 * hold digits, then products of two of them.
 */
static enum err carry_pairs(struct party *p, struct planes *generate, struct planes *propagate,
                            const struct planes *u, const struct planes *t, unsigned digits)
{
    const unsigned pairs = (digits - 1) / 2;
    struct move_term terms[2 * 32][3] = {0};
    struct planes known; /* u1 u0 ^ t1 t0 */
    size_t count = 0;
    TRY(party_planes(p, &known, pairs, u->n));
    for (unsigned k = 0; k < pairs; k++) {
        const struct bits u0 = planes_plane(u, 2 * k), u1 = planes_plane(u, 2 * k + 1);
        const struct bits t0 = planes_plane(t, 2 * k), t1 = planes_plane(t, 2 * k + 1);
        const struct bits u10 = planes_plane(u, digits + k), t10 = planes_plane(t, digits + k);
        const struct bits g = planes_plane(generate, k), both = planes_plane(propagate, k);
        terms[count][0] = bits_product(g, u1, t1);
        terms[count][1] = bits_product(g, u10, t0);
        terms[count++][2] = bits_product(g, u0, t10);
        if (k == 0) /* nothing comes in from below */
            continue;
        bits_xor(planes_plane(&known, k), u10, t10);
        terms[count][0] = bits_product_plus(both, u1, t0, planes_plane(&known, k));
        terms[count++][1] = bits_product(both, u0, t1);
    }
    if (pairs < generate->width) {
        const struct bits last_u = planes_plane(u, 2 * pairs), last_t = planes_plane(t, 2 * pairs);
        terms[count++][0] = bits_product(planes_plane(generate, pairs), last_u, last_t);
        bits_xor(planes_plane(propagate, pairs), last_u, last_t);
    }
    return bits_sums(p, terms[0], count, 3);
}

/* out = the top bits' sum and the carry of the lower ones. */
static enum err top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    const unsigned pairs = (width - 1) / 2, groups = width / 2;
    struct planes u, t, generate, propagate;
    struct bits carry;
    TRY(party_planes(p, &u, width + pairs, x.n));
    TRY(party_planes(p, &t, width + pairs, x.n));
    TRY(convert_split(p, &u, &t, width, x));
    bits_xor(out, planes_plane(&u, width - 1), planes_plane(&t, width - 1));
    if (width == 1)
        return ERR_OK;
    TRY(party_planes(p, &generate, groups, x.n));
    TRY(party_planes(p, &propagate, groups, x.n));
    TRY(party_bits(p, &carry, x.n));
    TRY(carry_pairs(p, &generate, &propagate, &u, &t, width));
    TRY(adder_carry(p, carry, &generate, &propagate));
    bits_xor(out, out, carry);
    return ERR_OK;
}

enum err compare_top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark,
                        width == 0 || width > 64 ? ERR_RANGE : top_bit(p, out, x, width));
}
