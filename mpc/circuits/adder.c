#include "mpc/circuits/adder.h"

#define WIDTH_MAX 128

/*
 * Groups of positions as views of planes: a layer writes new planes and moves the views, so that
 * nothing is copied; the planes that it replaced are free for the next layer but one.
 */
struct groups {
    unsigned count;
    struct bits g[WIDTH_MAX], p[WIDTH_MAX];
};

static void groups_of(struct groups *s, const struct planes *g, const struct planes *propagate)
{
    s->count = g->width;
    for (unsigned i = 0; i < g->width; i++) {
        s->g[i] = planes_plane(g, i);
        s->p[i] = planes_plane(propagate, i);
    }
}

/* The terms that combine neighbours in pairs into `fresh` planes. */
static size_t pair_terms(const struct groups *s, const struct planes *fresh,
                         struct move_term *terms)
{
    size_t count = 0;
    for (unsigned i = 0; i < s->count / 2; i++) {
        struct bits g = planes_plane(fresh, 2 * i), propagate = planes_plane(fresh, 2 * i + 1);
        terms[count++] = bits_product_plus(g, s->p[2 * i + 1], s->g[2 * i], s->g[2 * i + 1]);
        if (i > 0)
            terms[count++] = bits_product(propagate, s->p[2 * i + 1], s->p[2 * i]);
    }
    return count;
}

/* Moves the views to what pair_terms() has made; the number of groups halves. */
static void take_pairs(struct groups *s, const struct planes *fresh)
{
    unsigned pairs = s->count / 2;
    for (unsigned i = 0; i < pairs; i++) {
        s->g[i] = planes_plane(fresh, 2 * i);
        if (i > 0)
            s->p[i] = planes_plane(fresh, 2 * i + 1);
    }
    if (s->count % 2 != 0) {
        s->g[pairs] = s->g[s->count - 1];
        s->p[pairs] = s->p[s->count - 1];
    }
    s->count = (s->count + 1) / 2;
}

enum err adder_carry(struct party *p, struct bits out, struct planes *g, struct planes *propagate)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct move_term terms[WIDTH_MAX];
    struct planes fresh[2];
    struct groups s;
    if (g->width == 0 || g->width > WIDTH_MAX)
        return ERR_RANGE;
    groups_of(&s, g, propagate);
    TRY(party_planes(p, &fresh[0], g->width, g->n));
    TRY(party_planes(p, &fresh[1], (g->width + 1) / 2, g->n));
    for (unsigned layer = 0; s.count > 1; layer++) {
        TRY(bits_terms(p, terms, pair_terms(&s, &fresh[layer % 2], terms)));
        take_pairs(&s, &fresh[layer % 2]);
    }
    bits_copy(out, s.g[0]);
    return ERR_OK;
}

static void exchange(struct bits *x, struct bits *y)
{
    struct bits z = *x;
    *x = *y;
    *y = z;
}

/*
 * Turns each position's g, p into g of all positions from 0 up to it. Sklansky's tree: `spare`
 * planes take a layer's results, and the planes that these replace become spare.
 */
static enum err prefix(struct party *p, struct groups *s, struct bits *spare)
{
    for (unsigned d = 1; d < s->count; d *= 2) {
        struct move_term terms[2 * WIDTH_MAX];
        size_t count = 0, used = 0;
        for (unsigned i = 0; i < s->count; i++) {
            unsigned group = i / d, j = group * d - 1;
            if (group % 2 == 0)
                continue;
            terms[count++] = bits_product_plus(spare[used++], s->p[i], s->g[j], s->g[i]);
            if (group > 1)
                terms[count++] = bits_product(spare[used++], s->p[i], s->p[j]);
        }
        TRY(bits_terms(p, terms, count));
        used = 0;
        for (unsigned i = 0; i < s->count; i++) {
            if (i / d % 2 == 0)
                continue;
            exchange(&spare[used++], &s->g[i]);
            if (i / d > 1)
                exchange(&spare[used++], &s->p[i]);
        }
    }
    return ERR_OK;
}

/* out = t ^ the carries into each position, from g and t = x ^ y, which are used up. */
static enum err add_carries(struct party *p, struct planes out, const struct planes *g,
                            const struct planes *t, bool carry_in)
{
    struct groups s;
    struct planes room, low = planes_view(t, 0, out.width - 1);
    struct bits spare[WIDTH_MAX];
    bits_copy(planes_flat(&out), planes_flat(t));
    if (carry_in)
        bits_not(p, planes_plane(&out, 0), planes_plane(&out, 0));
    if (out.width == 1)
        return ERR_OK;
    if (carry_in)
        bits_xor(planes_plane(g, 0), planes_plane(g, 0), planes_plane(t, 0));
    TRY(party_planes(p, &room, out.width, out.n));
    for (unsigned i = 0; i < out.width; i++)
        spare[i] = planes_plane(&room, i);
    groups_of(&s, g, &low);
    TRY(prefix(p, &s, spare));
    for (unsigned i = 1; i < out.width; i++)
        bits_xor(planes_plane(&out, i), planes_plane(&out, i), s.g[i - 1]);
    return ERR_OK;
}

enum err adder_add(struct party *p, struct planes out, const struct planes *x,
                   const struct planes *y, bool carry_in)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const unsigned w = out.width;
    const struct planes low_x = planes_view(x, 0, w - 1), low_y = planes_view(y, 0, w - 1);
    struct planes g, t;
    if (out.width == 0 || out.width > WIDTH_MAX)
        return ERR_RANGE;
    TRY(party_planes(p, &t, w, out.n));
    TRY(party_planes(p, &g, w - 1, out.n));
    if (w > 1)
        TRY(bits_and(p, planes_flat(&g), planes_flat(&low_x), planes_flat(&low_y)));
    bits_xor(planes_flat(&t), planes_flat(x), planes_flat(y));
    return add_carries(p, out, &g, &t, carry_in);
}

/* The majority of x, y, z is x ^ (x ^ y)(x ^ z); a position's sum is x ^ y ^ z. */
enum err adder_save(struct party *p, struct planes *sum, struct planes *carry,
                    const struct planes *x, const struct planes *y, const struct planes *z)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const unsigned w = sum->width;
    const struct planes majority = planes_view(carry, 1, w - 1), x_y = planes_view(sum, 0, w - 1);
    const struct planes low_x = planes_view(x, 0, w - 1), low_z = planes_view(z, 0, w - 1);
    struct planes x_z;
    struct move_term term;
    TRY(party_planes(p, &x_z, w - 1, x->n));
    bits_xor(planes_flat(sum), planes_flat(x), planes_flat(y));
    bits_xor(planes_flat(&x_z), planes_flat(&low_x), planes_flat(&low_z));
    term = bits_product_plus(planes_flat(&majority), planes_flat(&x_z), planes_flat(&x_y),
                             planes_flat(&low_x));
    TRY(bits_terms(p, &term, 1));
    bits_zero(planes_plane(carry, 0));
    bits_xor(planes_flat(sum), planes_flat(sum), planes_flat(z));
    return ERR_OK;
}
