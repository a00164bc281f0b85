#include "mpc/circuits/order.h"

/* v.a is NULL where V is 0. */
struct order_group {
    struct bits v, e;
};

/* Groups from the lowest up, and where a layer writes: products, and factors of its own. */
struct order_tree {
    unsigned count;
    struct order_group *group;
    struct planes products, factors;
    unsigned made;
    struct move_term *terms;
    size_t terms_used;
};

static struct bits product(struct order_tree *t, struct bits x, struct bits y, struct bits added)
{
    const struct bits out = planes_plane(&t->products, t->made++);
    t->terms[t->terms_used++] = added.a == NULL ? bits_product(out, x, y)
                                                : bits_product_plus(out, x, y, added);
    return out;
}

/* An odd one out stays; it is the highest. */
static void join_pairs(struct order_tree *t)
{
    t->terms_used = 0;
    for (unsigned i = 0; 2 * i < t->count; i++) {
        const struct order_group low = t->group[2 * i], high = t->group[2 * i + 1];
        struct bits factor = high.v;
        if (2 * i + 1 == t->count) {
            t->group[i] = low;
            continue;
        }
        if (low.v.a != NULL) {
            factor = planes_plane(&t->factors, i);
            bits_xor(factor, high.v, low.v);
        }
        t->group[i].v = product(t, high.e, factor, high.v);
        if (i > 0)
            t->group[i].e = product(t, high.e, low.e, (struct bits){NULL, NULL, 0});
    }
    t->count = (t->count + 1) / 2;
}

enum err order_above(struct party *p, struct bits out, const struct planes *x,
                     const struct planes *differ)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const unsigned w = x->width;
    struct order_tree t = {.count = w + 1};
    struct planes same;
    TRY(scratch_array(p->scratch, &t.group, w + 2));
    TRY(scratch_array(p->scratch, &t.terms, w + 1));
    TRY(party_planes(p, &same, w, x->n));
    TRY(party_planes(p, &t.products, 2 * w, x->n));
    TRY(party_planes(p, &t.factors, w / 2 + 1, x->n));
    bits_not(p, planes_flat(&same), planes_flat(differ));
    t.group[0] = (struct order_group){{NULL, NULL, 0}, {NULL, NULL, 0}};
    for (unsigned i = 0; i < w; i++)
        t.group[i + 1] = (struct order_group){planes_plane(x, i), planes_plane(&same, i)};
    while (t.count > 1) {
        join_pairs(&t);
        TRY(bits_terms(p, t.terms, t.terms_used));
    }
    if (w == 0)
        bits_zero(out);
    else
        bits_copy(out, t.group[0].v);
    return ERR_OK;
}

enum err order_equal(struct party *p, struct bits out, struct planes *differ)
{
    bits_not(p, planes_flat(differ), planes_flat(differ));
    return bits_and_all(p, out, differ);
}
