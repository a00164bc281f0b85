#include "mpc/adder.h"

#define WIDTH_MAX 128

enum err adder_carry(struct party *p, struct bits out, struct planes *g, struct planes *propagate)
{
    struct bits_gate gates[WIDTH_MAX];
    for (unsigned left = g->width; left > 1; left = (left + 1) / 2) {
        size_t count = 0;
        /* the gates write over the high halves, which are read first */
        for (unsigned i = 0; i < left / 2; i++) {
            struct bits high = planes_plane(propagate, 2 * i + 1);
            struct bits low = planes_plane(g, 2 * i);
            gates[count++] = (struct bits_gate){low, high, low};
            if (i > 0) {
                low = planes_plane(propagate, 2 * i);
                gates[count++] = (struct bits_gate){low, high, low};
            }
        }
        TRY(bits_and_layer(p, gates, count));
        for (unsigned i = 0; i < left / 2; i++) {
            bits_xor(planes_plane(g, i), planes_plane(g, 2 * i), planes_plane(g, 2 * i + 1));
            bits_copy(planes_plane(propagate, i), planes_plane(propagate, 2 * i));
        }
        if (left % 2 != 0) {
            bits_copy(planes_plane(g, left / 2), planes_plane(g, left - 1));
            bits_copy(planes_plane(propagate, left / 2), planes_plane(propagate, left - 1));
        }
    }
    bits_copy(out, planes_plane(g, 0));
    return ERR_OK;
}

/* Turns g, p of positions into g of everything from position 0 up to each. Sklansky's tree. */
static enum err prefix(struct party *p, struct planes *g, struct planes *propagate,
                       struct planes *scratch)
{
    struct bits_gate gates[2 * WIDTH_MAX];
    for (unsigned d = 1; d < g->width; d *= 2) {
        size_t count = 0;
        for (unsigned i = 0; i < g->width; i++) {
            unsigned group = i / d, j = group * d - 1;
            struct bits own;
            if (group % 2 == 0)
                continue;
            own = planes_plane(propagate, i);
            gates[count++] = (struct bits_gate){planes_plane(scratch, i), own, planes_plane(g, j)};
            if (group > 1)
                gates[count++] = (struct bits_gate){own, own, planes_plane(propagate, j)};
        }
        TRY(bits_and_layer(p, gates, count));
        for (unsigned i = 0; i < g->width; i++)
            if (i / d % 2 != 0)
                bits_xor(planes_plane(g, i), planes_plane(g, i), planes_plane(scratch, i));
    }
    return ERR_OK;
}

static enum err add(struct party *p, struct planes out, const struct planes *x,
                    const struct planes *y, bool carry_in, struct planes *g, struct planes *t,
                    struct planes *scratch)
{
    unsigned w = out.width;
    const struct bits all_x = planes_flat(x), all_y = planes_flat(y);
    if (w > 1) {
        struct planes low_x = planes_view(x, 0, w - 1), low_y = planes_view(y, 0, w - 1);
        TRY(bits_and(p, planes_flat(g), planes_flat(&low_x), planes_flat(&low_y)));
    }
    bits_xor(planes_flat(t), all_x, all_y);
    bits_copy(planes_flat(&out), planes_flat(t));
    if (carry_in) {
        if (w > 1)
            bits_xor(planes_plane(g, 0), planes_plane(g, 0), planes_plane(t, 0));
        bits_not(p, planes_plane(&out, 0), planes_plane(&out, 0));
    }
    if (w > 1)
        TRY(prefix(p, g, t, scratch));
    for (unsigned i = 1; i < w; i++)
        bits_xor(planes_plane(&out, i), planes_plane(&out, i), planes_plane(g, i - 1));
    return ERR_OK;
}

enum err adder_add(struct party *p, struct planes out, const struct planes *x,
                   const struct planes *y, bool carry_in)
{
    struct planes g = {0}, t = {0}, scratch = {0};
    enum err e;
    if (out.width > WIDTH_MAX)
        return ERR_RANGE;
    e = planes_new(&g, out.width - 1, out.n);
    if (e == ERR_OK)
        e = planes_new(&t, out.width, out.n);
    if (e == ERR_OK)
        e = planes_new(&scratch, out.width - 1, out.n);
    if (e == ERR_OK)
        e = add(p, out, x, y, carry_in, &g, &t, &scratch);
    planes_free(&g);
    planes_free(&t);
    planes_free(&scratch);
    return e;
}

enum err adder_save(struct party *p, struct planes *sum, struct planes *carry,
                    const struct planes *x, const struct planes *y, const struct planes *z)
{
    /* the majority of x, y, z is x ^ (x ^ y)(x ^ z) */
    unsigned w = sum->width;
    struct bits x_y = planes_flat(sum);
    struct planes majority = planes_view(carry, 1, w - 1), low = planes_view(sum, 0, w - 1);
    struct planes low_x = planes_view(x, 0, w - 1), low_z = planes_view(z, 0, w - 1);
    bits_xor(x_y, planes_flat(x), planes_flat(y));
    bits_xor(planes_flat(&majority), planes_flat(&low_x), planes_flat(&low_z));
    TRY(bits_and(p, planes_flat(&majority), planes_flat(&majority), planes_flat(&low)));
    bits_xor(planes_flat(&majority), planes_flat(&majority), planes_flat(&low_x));
    bits_zero(planes_plane(carry, 0));
    bits_xor(x_y, x_y, planes_flat(z));
    return ERR_OK;
}
