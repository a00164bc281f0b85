/*
 * mpc/ring.h - arithmetic on shares in Z_2^16, Z_2^32, Z_2^64 and Z_2^128.
 *
 *   multiply, by server i:  z_i = x_i (y_i + y_(i+1)) + x_(i+1) y_i + alpha_i    (a zero share)
 *     i -> i-1   z_i                                          1 element a server, 1 round
 *   server i then holds (z_i, z_(i+1)).
 *
 *   An inner or matrix product sums before it sends: it costs its output size, whatever its length.
 *
 * Local functions cannot fail and send nothing. All vectors of a call have the same length; outputs
 * may be inputs. LEAKS: nothing; every word sent is masked by a fresh zero share.
 */
#ifndef TREFOIL_MPC_RING_H
#define TREFOIL_MPC_RING_H

#include "mpc/party.h"

#define RING_DECLARE(bits, word)                                                                   \
    void ring##bits##_copy(struct share##bits out, struct share##bits x);                          \
    void ring##bits##_add(struct share##bits out, struct share##bits x, struct share##bits y);     \
    void ring##bits##_sub(struct share##bits out, struct share##bits x, struct share##bits y);     \
    /* out = x * c */                                                                              \
    void ring##bits##_scale(struct share##bits out, struct share##bits x, word c);                 \
    /* out = out + x * c */                                                                        \
    void ring##bits##_add_scaled(struct share##bits out, struct share##bits x, word c);            \
    /* x = x + c, c public: component 0 carries it */                                              \
    void ring##bits##_add_public(const struct party *p, struct share##bits x, word c);             \
    enum err ring##bits##_multiply(struct party *p, struct share##bits out, struct share##bits x,  \
                                   struct share##bits y) MUST_CHECK;                               \
    /* out[s] = sum of x[k] y[k] over start[s] <= k < start[s+1]; out.n segments */                \
    enum err ring##bits##_inner(struct party *p, struct share##bits out, struct share##bits x,     \
                                struct share##bits y, const size_t *start) MUST_CHECK;

RING_DECLARE(16, uint16_t)
RING_DECLARE(32, uint32_t)
RING_DECLARE(64, uint64_t)
RING_DECLARE(128, word128)

/* The low bits of each value: reduction to a narrower ring is local. */
void ring64_from128(struct share64 out, struct share128 x);
void ring32_from64(struct share32 out, struct share64 x);
void ring16_from32(struct share16 out, struct share32 x);

/*
 * out = x y, row by row: x is m x k, y is k x n.
 *   i -> i-1   z_i                                          m n elements a server, 1 round
 */
enum err ring16_matrix(struct party *p, struct share16 out, struct share16 x, struct share16 y,
                       size_t m, size_t k, size_t n) MUST_CHECK;
enum err ring32_matrix(struct party *p, struct share32 out, struct share32 x, struct share32 y,
                       size_t m, size_t k, size_t n) MUST_CHECK;

/*
 * A sum of many products costs what one does: each server adds up its own parts z_i, which no mask
 * covers yet and nothing sends, and in the end shares their sum, in place.
 *   ring16_matrix_part   z += this server's part of x y; local
 *   ring16_settle        x.a holds z, x.b anything;  i -> i-1  z_i + alpha_i    x.n elements, 1 round
 */
enum err ring16_matrix_part(struct party *p, uint16_t *z, struct share16 x, struct share16 y,
                            size_t m, size_t k, size_t n) MUST_CHECK;
enum err ring16_settle(struct party *p, struct share16 x) MUST_CHECK;

/*
 * Shares v of a value vector that server `owner` knows; others pass NULL.
 *   owner -> owner+1   v - F(key_owner)                       1 element from the owner, 1 round
 */
enum err ring64_input(struct party *p, struct share64 out, unsigned owner,
                      const uint64_t *v) MUST_CHECK;

#endif
