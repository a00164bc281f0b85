#include "mpc/circuits/below.h"

/*
 * g.a is NULL where G is 0 because the constant has only zeros there, l.a where L is 1 because it
 * has only ones.
 */
struct below_group {
    struct bits g, l;
};

/* The groups of one constant, from the lowest up. */
struct below_tree {
    unsigned count;
    struct below_group group[BELOW_BITS];
};

unsigned below_positions(uint64_t constant, unsigned width)
{
    return constant == 0 ? 0 : width - (unsigned)__builtin_ctzll(constant);
}

/* At a position, [u < 1] and [u <= 0] are its complement; the others are 0 and 1. */
static void plant(struct below_tree *t, const struct planes *complement, unsigned first,
                  unsigned width, uint64_t constant)
{
    t->count = below_positions(constant, width);
    for (unsigned i = 0; i < t->count; i++) {
        struct bits v = planes_plane(complement, first + i);
        t->group[i] = constant >> (width - t->count + i) & 1 ? (struct below_group){.g = v}
                                                             : (struct below_group){.l = v};
    }
}

/* G ^ L: made in `room` unless it is L itself. */
static struct bits undecided(struct party *p, const struct below_group *x, struct bits room)
{
    if (x->g.a == NULL)
        return x->l;
    if (x->l.a == NULL)
        bits_not(p, room, x->g);
    else
        bits_xor(room, x->g, x->l);
    return room;
}

/* What a layer writes: products, which stay, and factors, which the next layer overwrites. */
struct below_layer {
    struct planes products, factors;
    unsigned made, pairs;
    struct move_term *terms;
    size_t count;
};

static struct bits product(struct below_layer *y, struct bits factor, struct bits low,
                           struct bits added)
{
    struct bits out = planes_plane(&y->products, y->made++);
    y->terms[y->count++] = bits_product_plus(out, factor, low, added);
    return out;
}

/* The lowest group's L is never needed. */
static void join_pairs(struct party *p, struct below_tree *t, struct below_layer *y)
{
    for (unsigned i = 0; 2 * i < t->count; i++) {
        const struct below_group low = t->group[2 * i], high = t->group[2 * i + 1];
        struct below_group *to = &t->group[i];
        struct bits factor;
        if (2 * i + 1 == t->count) {
            *to = low;
            continue;
        }
        factor = undecided(p, &high, planes_plane(&y->factors, y->pairs++));
        *to = high;
        if (low.g.a != NULL)
            to->g = product(y, factor, low.g, high.g);
        if (low.l.a != NULL && i > 0)
            to->l = product(y, factor, low.l, high.g);
    }
    t->count = (t->count + 1) / 2;
}

unsigned below_ands(uint64_t constant, unsigned width)
{
    bool g[BELOW_BITS], l[BELOW_BITS];
    unsigned count = below_positions(constant, width), ands = 0;
    for (unsigned i = 0; i < count; i++) {
        g[i] = constant >> (width - count + i) & 1;
        l[i] = !g[i];
    }
    for (; count > 1; count = (count + 1) / 2)
        for (unsigned i = 0; 2 * i < count; i++) {
            unsigned high = 2 * i + 1 < count ? 2 * i + 1 : 2 * i;
            if (high != 2 * i)
                ands += (unsigned)g[2 * i] + (unsigned)(l[2 * i] && i > 0);
            g[i] = g[2 * i] || g[high];
            l[i] = l[2 * i] || l[high];
        }
    return ands;
}

static enum err climb(struct party *p, struct below_tree *trees, unsigned count,
                      struct below_layer *y)
{
    for (;;) {
        y->count = 0;
        y->pairs = 0;
        for (unsigned c = 0; c < count; c++)
            join_pairs(p, &trees[c], y);
        if (y->count == 0)
            return ERR_OK;
        TRY(bits_terms(p, y->terms, y->count));
    }
}

enum err below_constants(struct party *p, struct planes *out, const struct planes *complement,
                         unsigned width, const uint64_t *constant)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct below_tree *trees;
    struct below_layer y = {.made = 0};
    unsigned positions = 0, ands = 0;
    if (width == 0 || width > BELOW_BITS)
        return ERR_RANGE;
    TRY(scratch_array(p->scratch, &trees, out->width));
    for (unsigned c = 0; c < out->width; c++) {
        plant(&trees[c], complement, positions, width, constant[c]);
        positions += trees[c].count;
        ands += below_ands(constant[c], width);
    }
    TRY(scratch_array(p->scratch, &y.terms, ands));
    TRY(party_planes(p, &y.products, ands, out->n));
    TRY(party_planes(p, &y.factors, positions / 2, out->n));
    TRY(climb(p, trees, out->width, &y));
    for (unsigned c = 0; c < out->width; c++)
        if (trees[c].count == 0)
            bits_zero(planes_plane(out, c));
        else
            bits_copy(planes_plane(out, c), trees[c].group[0].g);
    return ERR_OK;
}
