/*
 * mpc/circuits/ring.h - arithmetic on shares in Z_2^64 and Z_2^128.
 *
 *   multiply   i -> i-1   z_i = x_i (y_i + y_(i+1)) + x_(i+1) y_i + alpha_i   (move_sums())
 *                                                           1 element a server, 1 exchange
 *
 * An inner product sums before it sends: it costs its output size, whatever its length. So does a
 * sum of matrix products; see move_part_matrix().
 *
 * The other functions are local: they cannot fail and send nothing. All vectors of a call have the
 * same length; outputs may be inputs. LEAKS: nothing.
 */
#pragma once

#include "mpc/move/move.h"

void ring64_copy(struct share64 out, struct share64 x);
void ring128_copy(struct share128 out, struct share128 x);
void ring64_add(struct share64 out, struct share64 x, struct share64 y);
/* out = x * c */
void ring64_scale(struct share64 out, struct share64 x, uint64_t c);
void ring128_scale(struct share128 out, struct share128 x, word128 c);
/* out = out + x * c */
void ring64_add_scaled(struct share64 out, struct share64 x, uint64_t c);
void ring128_add_scaled(struct share128 out, struct share128 x, word128 c);
/* x = x + c, c public: component 0 carries it */
void ring64_add_public(const struct party *p, struct share64 x, uint64_t c);
void ring128_add_public(const struct party *p, struct share128 x, word128 c);
/* The low bits of each value: reduction to a narrower ring is local. */
void ring64_from128(struct share64 out, struct share128 x);

enum err ring64_multiply(struct party *p, struct share64 out, struct share64 x,
                         struct share64 y) MUST_CHECK;
enum err ring128_multiply(struct party *p, struct share128 out, struct share128 x,
                          struct share128 y) MUST_CHECK;

/*
 * Each of `count` outputs is the sum of `products` products, word by word, at the cost of one; see
 * struct move_sums. No output overlaps an input.
 */
static inline struct move_term ring128_product(struct share128 out, struct share128 x,
                                               struct share128 y)
{
    return (struct move_term){OPERAND(out), OPERAND(x), OPERAND(y), .words = out.n};
}
enum err ring128_sums(struct party *p, const struct move_term *terms, size_t count,
                      unsigned products) MUST_CHECK;

/* out[s] = sum of x[k] y[k] over start[s] <= k < start[s+1]; out.n segments */
enum err ring64_inner(struct party *p, struct share64 out, struct share64 x, struct share64 y,
                      const size_t *start) MUST_CHECK;
