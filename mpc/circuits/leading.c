#include "mpc/circuits/leading.h"

/* Prefixes of ANDs from the top plane down, in place. */
static enum err prefix_from_top(struct party *p, struct planes *x)
{
    const unsigned top = x->width - 1;
    for (unsigned d = 1; d < x->width; d *= 2) {
        struct move_term terms[LEADING_WIDTH];
        size_t count = 0;
        for (unsigned i = d; i < x->width; i++) {
            const struct bits at = planes_plane(x, top - i);
            if (i / d % 2 != 0)
                terms[count++] = bits_product(at, at, planes_plane(x, top - (i / d * d - 1)));
        }
        TRY(bits_and_layer(p, terms, count));
    }
    return ERR_OK;
}

enum err leading_places(struct party *p, struct planes *place, const struct planes *x)
{
    const unsigned w = x->width;
    struct planes none = planes_view(place, 0, w);
    const struct bits top = planes_plane(place, w - 1), zero = planes_plane(place, w);
    if (w == 0 || w > LEADING_WIDTH || place->width != w + 1)
        return ERR_RANGE;
    bits_not(p, planes_flat(&none), planes_flat(x));
    TRY(prefix_from_top(p, &none));
    bits_copy(zero, planes_plane(place, 0));
    for (unsigned i = 0; i + 1 < w; i++)
        bits_xor(planes_plane(place, i), planes_plane(place, i), planes_plane(place, i + 1));
    bits_not(p, top, top);
    return ERR_OK;
}

/* Planes that are 1 where the leading one is in group a, and where it is the b-th of its group. */
static enum err group_places(struct party *p, struct planes *group, struct planes *within,
                             const struct planes *place, unsigned w)
{
    TRY(party_planes(p, group, (w + LEADING_GROUP - 1) / LEADING_GROUP, place->n));
    TRY(party_planes(p, within, LEADING_GROUP, place->n));
    bits_zero(planes_flat(group));
    bits_zero(planes_flat(within));
    for (unsigned i = 0; i < w; i++) {
        const struct bits a = planes_plane(group, i / LEADING_GROUP);
        const struct bits b = planes_plane(within, i % LEADING_GROUP);
        bits_xor(a, a, planes_plane(place, i));
        bits_xor(b, b, planes_plane(place, i));
    }
    return ERR_OK;
}

/* Plane m of out: the digit of x that is m - below places above the beginning of the group. */
static enum err shift_by_groups(struct party *p, struct planes *out, const struct planes *group,
                                const struct planes *x, unsigned below)
{
    struct move_term *terms;
    size_t count = 0;
    TRY(scratch_array(p->scratch, &terms, (size_t)out->width * group->width));
    for (unsigned m = 0; m < out->width; m++) {
        const struct bits to = planes_plane(out, m);
        struct move_term *sum = terms + count * group->width;
        unsigned products = 0;
        for (unsigned a = 0, i = m; a < group->width; a++, i += LEADING_GROUP)
            if (i >= below && i - below < x->width)
                sum[products++] = bits_product(to, planes_plane(group, a),
                                               planes_plane(x, i - below));
        bits_zero(to);
        count += products > 0;
        for (; products < group->width; products++)
            sum[products] = (struct move_term){.x = {NULL, NULL}};
    }
    return bits_sums(p, terms, count, group->width);
}

enum err leading_digits(struct party *p, struct planes *out, const struct planes *place,
                        const struct planes *x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const unsigned w = x->width, d = out->width;
    struct planes group, within, shifted;
    struct move_term *terms;
    if (w < 2 || d >= w || place->width != w + 1)
        return ERR_RANGE;
    TRY(group_places(p, &group, &within, place, w));
    TRY(party_planes(p, &shifted, d + LEADING_GROUP - 1, x->n));
    TRY(shift_by_groups(p, &shifted, &group, x, d));
    TRY(scratch_array(p->scratch, &terms, (size_t)d * LEADING_GROUP));
    for (unsigned k = 0; k < d; k++)
        for (unsigned b = 0; b < LEADING_GROUP; b++)
            terms[k * LEADING_GROUP + b] = bits_product(
                planes_plane(out, k), planes_plane(&within, b), planes_plane(&shifted, k + b));
    return bits_sums(p, terms, d, LEADING_GROUP);
}

void leading_choose(struct planes *out, const struct planes *place, const uint64_t *constant)
{
    bits_zero(planes_flat(out));
    for (unsigned i = 0; i < place->width; i++)
        for (unsigned b = 0; b < out->width; b++)
            if (constant[i] >> b & 1)
                bits_xor(planes_plane(out, b), planes_plane(out, b), planes_plane(place, i));
}
