#include "mpc/compare.h"

#include "mpc/convert.h"

#define FEW ((size_t)8192) /* lanes */

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

/* The same by steps of which each can be checked: pairs of positions, whose carries j inputs. */
static enum err top_bit_checked(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    const unsigned pairs = (width - 1) / 2, groups = width / 2;
    struct planes u, t, generate, propagate;
    struct bits carry;
    TRY(party_planes(p, &u, width + pairs, x.n));
    TRY(party_planes(p, &t, width + pairs, x.n));
    TRY(convert_split(p, &u, &t, width, x));
    bits_xor(out, planes_plane(&u, width - 1), planes_plane(&t, width - 1));
    TRY(party_planes(p, &generate, groups, x.n));
    TRY(party_planes(p, &propagate, groups, x.n));
    TRY(party_bits(p, &carry, x.n));
    TRY(carry_pairs(p, &generate, &propagate, &u, &t, width));
    TRY(adder_carry(p, carry, &generate, &propagate));
    bits_xor(out, out, carry);
    return ERR_OK;
}

/*
 * How many digits the lower positions make: 8 of up to 6 bits where there are few lanes, since then
 * a round is worth more than bytes; else 16, or as few as there are positions.
 */
static unsigned digits_of(unsigned positions, size_t lanes)
{
    const unsigned d = (positions + 7) / 8;
    const unsigned wide = lanes <= FEW && d <= KERNEL_DIGIT ? d : (positions + 15) / 16;
    return (positions + wide - 1) / wide;
}

static enum err top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    struct move_carries t = {.digits = digits_of(width - 1, x.n)};
    uint64_t *known = scratch_take(p->scratch, bits_words(x.n), width * sizeof *known);
    uint8_t digit[16];
    if (known == NULL)
        return ERR_NOMEM;
    for (unsigned k = 0; k < t.digits; k++)
        digit[k] = (uint8_t)((width - 1) / t.digits + (k < (width - 1) % t.digits));
    t.known = known;
    t.width = digit;
    TRY(party_planes(p, &t.g, t.digits, x.n));
    TRY(party_planes(p, &t.p, t.digits, x.n));
    convert_known(p, known, width, x);
    TRY(move_carries(p, &t));
    return adder_carry(p, out, &t.g, &t.p);
}

/* Each component's own: there is no carry. */
static void lowest_bit(const struct party *p, struct bits out, struct share64 x)
{
    kernel_slice64(p->kernel, x.a, x.n, 1, out.a, bits_words(x.n));
    kernel_slice64(p->kernel, x.b, x.n, 1, out.b, bits_words(x.n));
}

enum err compare_top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    if (width == 0 || width > 64)
        return ERR_RANGE;
    if (width == 1) {
        lowest_bit(p, out, x);
        return ERR_OK;
    }
    return scratch_done(p->scratch, mark,
                        p->check != NULL ? top_bit_checked(p, out, x, width)
                                         : top_bit(p, out, x, width));
}
