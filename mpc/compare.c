#include "mpc/compare.h"

#include "mpc/convert.h"
#include "mpc/ring.h"

enum err compare_public(struct party *p, struct bits out, const struct planes *x, const uint64_t *c)
{
    /* a position decides "less" where c has 1 and x has 0; where they agree it passes the decision on */
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

/*
 * generate and propagate of the lower positions two by two, of a last single one as it is; u and t hold digits, then
 * products of two of them.
 */
static enum err carry_pairs(struct party *p, struct planes *generate, struct planes *propagate,
                            const struct planes *u, const struct planes *t, unsigned digits)
{
    const unsigned pairs = (digits - 1) / 2;
    struct bits_term terms[2 * 32][3] = {{{{0}, {0}, {0}, {0}}}};
    struct planes known; /* u1 u0 ^ t1 t0 */
    size_t count = 0;
    TRY(party_planes(p, &known, pairs, u->n));
    for (unsigned k = 0; k < pairs; k++) {
        const struct bits u0 = planes_plane(u, 2 * k), u1 = planes_plane(u, 2 * k + 1);
        const struct bits t0 = planes_plane(t, 2 * k), t1 = planes_plane(t, 2 * k + 1);
        const struct bits u10 = planes_plane(u, digits + k), t10 = planes_plane(t, digits + k);
        const struct bits g = planes_plane(generate, k), both = planes_plane(propagate, k);
        terms[count][0] = (struct bits_term){g, u1, t1, {0}};
        terms[count][1] = (struct bits_term){g, u10, t0, {0}};
        terms[count++][2] = (struct bits_term){g, u0, t10, {0}};
        if (k == 0) /* nothing comes in from below */
            continue;
        bits_xor(planes_plane(&known, k), u10, t10);
        terms[count][0] = (struct bits_term){both, u1, t0, planes_plane(&known, k)};
        terms[count++][1] = (struct bits_term){both, u0, t1, {0}};
    }
    if (pairs < generate->width) {
        const struct bits last_u = planes_plane(u, 2 * pairs), last_t = planes_plane(t, 2 * pairs);
        terms[count++][0] = (struct bits_term){planes_plane(generate, pairs), last_u, last_t, {0}};
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
    TRY(convert_split_pairs(p, &u, &t, width, x));
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
