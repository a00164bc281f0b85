#include "mpc/compare.h"

#include "mpc/convert.h"

enum err compare_public(struct party *p, struct bits out, const struct planes *x, const uint64_t *c)
{
    /* a position decides "less" where c has 1 and x has 0; it passes the decision on where they
     * agree */
    struct planes less = {0}, equal = {0};
    enum err e = planes_new(&less, x->width, x->n);
    if (e == ERR_OK)
        e = planes_new(&equal, x->width, x->n);
    if (e == ERR_OK) {
        bits_not(p, planes_flat(&equal), planes_flat(x));
        bits_and_public(planes_flat(&less), planes_flat(&equal), c);
        bits_xor_public(p, planes_flat(&equal), c);
        e = adder_carry(p, out, &less, &equal);
    }
    planes_free(&less);
    planes_free(&equal);
    return e;
}

enum err compare_top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    struct planes u = {0}, t = {0};
    enum err e = planes_new(&u, width, x.n);
    if (e == ERR_OK)
        e = planes_new(&t, width, x.n);
    if (e == ERR_OK)
        e = convert_split(p, &u, &t, x);
    if (e == ERR_OK) {
        struct bits u_top = planes_plane(&u, width - 1), t_top = planes_plane(&t, width - 1);
        bits_xor(out, u_top, t_top);
    }
    if (e == ERR_OK && width > 1) {
        struct planes generate = {0}, low_u = planes_view(&u, 0, width - 1);
        struct planes low_t = planes_view(&t, 0, width - 1);
        struct bits carry = {0};
        e = planes_new(&generate, width - 1, x.n);
        if (e == ERR_OK)
            e = bits_new(&carry, x.n);
        if (e == ERR_OK)
            e = bits_and(p, planes_flat(&generate), planes_flat(&low_u), planes_flat(&low_t));
        if (e == ERR_OK) {
            bits_xor(planes_flat(&low_u), planes_flat(&low_u), planes_flat(&low_t));
            e = adder_carry(p, carry, &generate, &low_u);
        }
        if (e == ERR_OK)
            bits_xor(out, out, carry);
        planes_free(&generate);
        bits_free(&carry);
    }
    planes_free(&u);
    planes_free(&t);
    return e;
}
