/*
 * mpc/bits.h - Boolean shares: XOR is local, AND costs one bit a server.
 *
 *   AND, by server i:  z_i = x_i (y_i ^ y_(i+1)) ^ x_(i+1) y_i ^ alpha_i
 *     i -> i-1   z_i                                          1 bit a server, 1 round
 *
 * Many gates of one layer share a round. LEAKS: nothing.
 */
#ifndef TREFOIL_MPC_BITS_H
#define TREFOIL_MPC_BITS_H

#include "mpc/party.h"

struct bits_gate {
    struct bits out, x, y;
};

/* Local. Outputs may be inputs. */
void bits_copy(struct bits out, struct bits x);
void bits_xor(struct bits out, struct bits x, struct bits y);
void bits_not(const struct party *p, struct bits out, struct bits x);
/* x ^= c, c public and packed like a plane. */
void bits_xor_public(const struct party *p, struct bits x, const uint64_t *c);
/* out = x & c, c public. */
void bits_and_public(struct bits out, struct bits x, const uint64_t *c);
void bits_zero(struct bits x);

/* One layer of AND gates in one round. An output may be an input of any gate of the layer. */
enum err bits_and_layer(struct party *p, const struct bits_gate *gates, size_t count) MUST_CHECK;

/*
 * One layer of out = (x & y) ^ c in one round, at the cost of the ANDs: each server adds its own
 * component of c before it sends. c.a may be NULL: nothing is added. No output may overlap any
 * input of the layer.
 */
struct bits_term {
    struct bits out, x, y, c;
};
enum err bits_terms(struct party *p, const struct bits_term *terms, size_t count) MUST_CHECK;

/*
 * The same where each output is the sum of `products` products, still at the cost of one: terms[products k ..] are
 * output k's, of which the first names out and c; those with x.a = NULL add nothing.
 */
enum err bits_sums(struct party *p, const struct bits_term *terms, size_t count,
                   unsigned products) MUST_CHECK;

enum err bits_and(struct party *p, struct bits out, struct bits x, struct bits y) MUST_CHECK;

/* out = AND of `width` planes, destroying them; ceil(log2 width) rounds. */
enum err bits_and_all(struct party *p, struct bits out, struct planes *x) MUST_CHECK;

#endif
