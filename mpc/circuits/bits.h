/*
 * mpc/circuits/bits.h - Boolean shares: XOR is local, AND costs one bit a server.
 *
 *   AND, by server i:  z_i = x_i (y_i ^ y_(i+1)) ^ x_(i+1) y_i ^ alpha_i
 *     i -> i-1   z_i                                          1 bit a server, 1 exchange
 *
 * Many gates of one layer share an exchange. LEAKS: nothing.
 */
#pragma once

#include "mpc/move/move.h"

/* Local. Outputs may be inputs. */
void bits_copy(struct bits out, struct bits x);
void bits_xor(struct bits out, struct bits x, struct bits y);
void bits_not(const struct party *p, struct bits out, struct bits x);
void bits_zero(struct bits x);

/* The terms out = x y and out = x y ^ c. */
static inline struct move_term bits_product(struct bits out, struct bits x, struct bits y)
{
    return (struct move_term){
        OPERAND(out), OPERAND(x), OPERAND(y), {NULL, NULL}, bits_words(out.n)};
}

static inline struct move_term bits_product_plus(struct bits out, struct bits x, struct bits y,
                                                 struct bits c)
{
    return (struct move_term){OPERAND(out), OPERAND(x), OPERAND(y), OPERAND(c), bits_words(out.n)};
}

/* One layer of ANDs in one exchange. An output may be an input of any term of the layer. */
enum err bits_and_layer(struct party *p, const struct move_term *terms, size_t count) MUST_CHECK;

/*
 * The same where no output overlaps any input of the layer: nothing is held until it is sent. In
 * bits_sums() each output is the sum of `products` products, still at the cost of one; see
 * struct move_sums.
 */
enum err bits_terms(struct party *p, const struct move_term *terms, size_t count) MUST_CHECK;
enum err bits_sums(struct party *p, const struct move_term *terms, size_t count,
                   unsigned products) MUST_CHECK;

enum err bits_and(struct party *p, struct bits out, struct bits x, struct bits y) MUST_CHECK;

/* out = AND of `width` planes, destroying them; ceil(log2 width) exchanges. */
enum err bits_and_all(struct party *p, struct bits out, struct planes *x) MUST_CHECK;
