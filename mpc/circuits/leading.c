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

enum err leading_digits(struct party *p, struct planes *out, const struct planes *place,
                        const struct planes *x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const unsigned w = x->width;
    struct move_term *terms;
    if (w < 2 || out->width >= w || place->width != w + 1)
        return ERR_RANGE;
    TRY(scratch_array(p->scratch, &terms, (size_t)out->width * (w - 1)));
    for (unsigned j = 1; j <= out->width; j++) {
        struct move_term *sum = terms + (size_t)(j - 1) * (w - 1);
        const struct bits to = planes_plane(out, out->width - j);
        for (unsigned i = 0; i + 1 < w; i++) /* terms after the last product have none */
            sum[i] = i + j < w ? bits_product(to, planes_plane(place, i + j), planes_plane(x, i))
                               : (struct move_term){.x = {NULL, NULL}};
    }
    return bits_sums(p, terms, out->width, w - 1);
}

void leading_choose(struct planes *out, const struct planes *place, const uint64_t *constant)
{
    bits_zero(planes_flat(out));
    for (unsigned i = 0; i < place->width; i++)
        for (unsigned b = 0; b < out->width; b++)
            if (constant[i] >> b & 1)
                bits_xor(planes_plane(out, b), planes_plane(out, b), planes_plane(place, i));
}
