#include "mpc/compare.h"

#include "mpc/convert.h"
#include "mpc/ring.h"

enum err compare_public(struct party *p, struct bits out, const struct planes *x, const uint64_t *c)
{
    /* a position decides "less" where c has 1 and x has 0; it passes the decision on where they
     * agree */
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct planes less, equal;
    enum err e = party_planes(p, &less, x->width, x->n);
    if (e == ERR_OK)
        e = party_planes(p, &equal, x->width, x->n);
    if (e == ERR_OK) {
        bits_not(p, planes_flat(&equal), planes_flat(x));
        bits_and_public(planes_flat(&less), planes_flat(&equal), c);
        bits_xor_public(p, planes_flat(&equal), c);
        e = adder_carry(p, out, &less, &equal);
    }
    scratch_release(p->scratch, mark);
    return e;
}

enum err compare_planes(struct party *p, struct bits out, const struct planes *x,
                        const struct planes *y)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct planes less, equal;
    enum err e = party_planes(p, &less, x->width, x->n);
    if (e == ERR_OK)
        e = party_planes(p, &equal, x->width, x->n);
    if (e == ERR_OK) {
        bits_not(p, planes_flat(&equal), planes_flat(x));
        e = bits_and(p, planes_flat(&less), planes_flat(&equal), planes_flat(y));
    }
    if (e == ERR_OK) {
        bits_xor(planes_flat(&equal), planes_flat(&equal), planes_flat(y));
        e = adder_carry(p, out, &less, &equal);
    }
    scratch_release(p->scratch, mark);
    return e;
}

/* out = the top bits' sum and the carry of the lower ones. */
static enum err top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    struct planes u, t, generate, low_u, low_t;
    struct bits carry;
    TRY(party_planes(p, &u, width, x.n));
    TRY(party_planes(p, &t, width, x.n));
    TRY(convert_split(p, &u, &t, x));
    bits_xor(out, planes_plane(&u, width - 1), planes_plane(&t, width - 1));
    if (width == 1)
        return ERR_OK;
    low_u = planes_view(&u, 0, width - 1);
    low_t = planes_view(&t, 0, width - 1);
    TRY(party_planes(p, &generate, width - 1, x.n));
    TRY(party_bits(p, &carry, x.n));
    TRY(bits_and(p, planes_flat(&generate), planes_flat(&low_u), planes_flat(&low_t)));
    bits_xor(planes_flat(&low_u), planes_flat(&low_u), planes_flat(&low_t));
    TRY(adder_carry(p, carry, &generate, &low_u));
    bits_xor(out, out, carry);
    return ERR_OK;
}

enum err compare_top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    enum err e = width == 0 || width > 64 ? ERR_RANGE : top_bit(p, out, x, width);
    scratch_release(p->scratch, mark);
    return e;
}

enum err compare_less64(struct party *p, struct bits out, struct share64 x, struct share64 y,
                        unsigned width)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct share64 difference;
    enum err e = party_share64(p, &difference, x.n);
    if (e == ERR_OK) {
        ring64_sub(difference, x, y);
        e = compare_top_bit(p, out, difference, width);
    }
    scratch_release(p->scratch, mark);
    return e;
}

#define DEFINE(ring)                                                                               \
    enum err compare_less##ring(struct party *p, struct bits out, struct share##ring x,            \
                                struct share##ring y, unsigned width)                              \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        struct share64 difference;                                                                 \
        enum err e = width > ring ? ERR_RANGE : party_share64(p, &difference, x.n);                \
        for (size_t i = 0; e == ERR_OK && i < x.n; i++) {                                          \
            difference.a[i] = (uint64_t)x.a[i] - y.a[i];                                           \
            difference.b[i] = (uint64_t)x.b[i] - y.b[i];                                           \
        }                                                                                          \
        if (e == ERR_OK)                                                                           \
            e = compare_top_bit(p, out, difference, width);                                        \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE(16)
DEFINE(32)
