#include "mpc/circuits/bits.h"

#include <string.h>

void bits_copy(struct bits out, struct bits x)
{
    size_t bytes = bits_words(out.n) * sizeof *out.a;
    memmove(out.a, x.a, bytes);
    memmove(out.b, x.b, bytes);
}

void bits_xor(struct bits out, struct bits x, struct bits y)
{
    size_t words = bits_words(out.n);
    kernel_portable.xor_bits(out.a, x.a, y.a, words);
    kernel_portable.xor_bits(out.b, x.b, y.b, words);
}

void bits_not(const struct party *p, struct bits out, struct bits x)
{
    /* component 0 carries public constants */
    uint64_t *c0 = p->index == 0 ? out.a : p->index == 2 ? out.b : NULL;
    if (out.a != x.a)
        bits_copy(out, x);
    for (size_t i = 0; c0 != NULL && i < bits_words(out.n); i++)
        c0[i] = ~c0[i];
}

void bits_zero(struct bits x)
{
    memset(x.a, 0, bits_words(x.n) * sizeof *x.a);
    memset(x.b, 0, bits_words(x.n) * sizeof *x.b);
}

/* --- gates ------------------------------------------------------------------------------------ */

enum err bits_and_layer(struct party *p, const struct move_term *terms, size_t count)
{
    return move_sums(
        p, &(struct move_sums){.ring = RING_BITS, .terms = terms, .count = count, .products = 1});
}

enum err bits_terms(struct party *p, const struct move_term *terms, size_t count)
{
    return bits_sums(p, terms, count, 1);
}

enum err bits_sums(struct party *p, const struct move_term *terms, size_t count, unsigned products)
{
    return move_sums(p, &(struct move_sums){.ring = RING_BITS,
                                            .terms = terms,
                                            .count = count,
                                            .products = products,
                                            .apart = true});
}

enum err bits_and(struct party *p, struct bits out, struct bits x, struct bits y)
{
    const struct move_term term = bits_product(out, x, y);
    return bits_and_layer(p, &term, 1);
}

enum err bits_and_all(struct party *p, struct bits out, struct planes *x)
{
    for (unsigned left = x->width; left > 1; left = (left + 1) / 2) {
        struct planes low = planes_view(x, 0, left / 2);
        struct planes high = planes_view(x, (left + 1) / 2, left / 2);
        TRY(bits_and(p, planes_flat(&low), planes_flat(&low), planes_flat(&high)));
    }
    bits_copy(out, planes_plane(x, 0));
    return ERR_OK;
}
