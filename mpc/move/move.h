/*
 * mpc/move/move.h - the moves: the only ways in which data travels between the servers.
 *
 *   reshare   i -> i-1   z_i, masked by a zero share        sums of products of shares
 *   input     j -> j+1   v - F                              what j alone knows becomes a share
 *   known     j -> both  v - F - F'                         and is multiplied by what they know
 *   reveal    a component, masked, to a server that lacks it
 *   open      i -> i+1   x_i                                the only way to make a value public
 *
 * Nothing else in mpc/ or protocols/ sends. A move is told what it computes on, in terms: which
 * shares, over which ring, which public positions. So what it computes can be recorded, counted or
 * tampered with behind this header. It draws every mask itself:
 *
 *   alpha_i   zero share: position of key_i's stream minus that of key_(i+1)
 *   F         of key_j, known to j and j+2           G, H   of key_(j+2), known to j+1 and j+2
 *
 * Components are whole words: both holders of a component hold the same ones, including lanes of
 * bits past a vector's end. A component leaves in steps of 16 KiB within tiles of MOVE_TILE bytes,
 * made as they go: nothing large is held whole. One call is one exchange. LEAKS: nothing, except
 * open.
 */
#pragma once

#include "mpc/party/party.h"

/* One stays in the second-level cache from the PRG to the socket. */
#define MOVE_TILE ((size_t)256 << 10)

/* A shared vector, as words of the ring that goes with it; a is NULL where there is none. */
struct move_operand {
    void *a, *b;
};

#define OPERAND(x) ((struct move_operand){(x).a, (x).b})

/* --- reshare ---------------------------------------------------------------------------------- */

/*
 * out = x y + c, word by word: each server makes z_i = x_i (y_i + y_(i+1)) + x_(i+1) y_i + c_i +
 * alpha_i of its components. Without x.a there is no product, and without c.a no c.
 *   i -> i-1   z_i                                          1 word a server
 */
struct move_term {
    struct move_operand out, x, y, c;
    size_t words;
};

/*
 * `count` outputs, each the sum of `products` terms, at the cost of one: terms[products k ..] are
 * output k's, of which the first names out, c and words; those after a sum's last product have no
 * product. Of RING_32 there are no sums: ERR_MISUSE. `apart`: no output overlaps an operand.
 * Without that promise an output may be an operand of any term. `proved`, of numbers: nothing is
 * noted, since what is settled next proves it (mpc/check/check_matrix.h).
 */
struct move_sums {
    enum share_ring ring;
    const struct move_term *terms;
    size_t count;
    unsigned products;
    bool apart, proved;
};
enum err move_sums(struct party *p, const struct move_sums *sums) MUST_CHECK;

/*
 * A sum of many products costs what one does: each server adds up its own parts, in words that
 * nothing masks and that go nowhere, until they are settled.
 *   move_part_inner    *z += this server's part of the sum of x y over n words; RING_64
 *   move_part_side     what x contributes to this server's part of matrix products of x; RING_16
 *   move_part_matrix   z += this server's part of 2 x y^T, of such sides: x has `rows` rows, y
 *                      `columns`, of n words each. So z is known modulo 2^16, and x y^T modulo 2^15
 *   move_settle        out = the sums; z may be out.a. Where there is a check `of` says what they
 *                      are sums of, all still in place when they are settled; NULL is ERR_MISUSE
 */
void move_part_inner(const struct party *p, uint64_t *z, struct share64 x, struct share64 y);
void move_part_side(const struct party *p, uint16_t *side, struct share16 x);
void move_part_matrix(const struct party *p, uint16_t *z, const uint16_t *x, const uint16_t *y,
                      size_t rows, size_t columns, size_t n);
struct record_sums;
enum err move_settle(struct party *p, enum share_ring ring, struct move_operand out, void *z,
                     size_t n, const struct record_sums *of) MUST_CHECK;

/* --- input, and products of what is known ----------------------------------------------------- */

/*
 * Server j of each part of the lanes (party_parts(), whole words) knows bits, which are in u.b
 * there: u becomes a share of them, (F, v ^ F, 0).
 *   j -> j+1   v ^ F                                        width bits a lane over all servers
 */
enum err move_input(struct party *p, struct planes u) MUST_CHECK;

/*
 * For each lane server j of its part (party_parts(), 64 lanes) knows a bit T, and the two others a
 * bit u: `known` is T in the part where this server is j, elsewhere u. Without `added`, out is the
 * number T ^ u = T (1 - 2 u) + u over RING_16, 64 or 128. With it, out = 2^shift T u + c over
 * RING_32, 64 or 128, where c is what j has in `added` plus what each of the others has there.
 *
 *   j   -> both   m = T - F - F'                            so (F, F', m) shares T
 *   j   -> j+1    c - F''                                   where something is added
 *   j+2 -> j      F b + G       component j   (+ F'')       b = 1 - 2 u, or u
 *   j+1 -> j      F' b + H      component j+1 (+ c - F'')
 *                 m b - G - H   component j+2 (+ u, or c of both)
 *
 * F and F'' are of key_j, F' of key_(j+1), G and H of key_(j+2): 4 words over all servers, and 1
 * for c. 2^shift T u is needed only modulo the ring, so its 4 words are of `product`: the ring
 * itself, of 64 or 128 bits, or one of half its width if the shift is no less than that. What is
 * sent of `added` is masked in place.
 *
 * A server j that lies can send two different m, so that the others hold two components j+2: under
 * a check they compare what came. Then whoever calls this notes what out must be (mpc/move/note.h),
 * for which `shares` receives the shares of T.
 */
struct move_known {
    enum share_ring ring;
    size_t n; /* lanes */
    struct move_operand out;
    const uint64_t *known;
    void *added; /* or NULL */
    unsigned shift;
    enum share_ring product;
    struct move_operand shares; /* or nothing; words in which products are made */
};
enum err move_known(struct party *p, const struct move_known *terms) MUST_CHECK;

/*
 * out[k] = the sum of s v over the lanes start[k] <= i < start[k+1], s bits and v numbers; out.n
 * sums, of all s.n lanes; out overlaps nothing. In each part j knows T = s_j ^ s_(j+1), V = v_j +
 * v_(j+1) and P = T V, the others u = s_(j+2) and w = (1 - 2 u) v_(j+2), and s v is P + u (V - 2 P)
 * + T w + u v_(j+2):
 *
 *   j   -> both   m = P - F - F', n = T - E - E'                  of each lane
 *   j+2 -> j      sum of F + u (v_j - 2 F) + E w, + G             of each sum: component j
 *   j+1 -> j      sum of F' + u (v_(j+1) - 2 F') + E' w, + H      component j+1
 *                 sum of m - 2 u m + n w + u v_(j+2), - G - H     component j+2
 *
 * F, E are of key_j, F', E' of key_(j+1), G, H of key_(j+2). 4 words a lane over all servers, and 2
 * a sum, once more for up to two sums where parts meet. A server j that lies can send two different
 * m or n, as in move_known(); under a check this move notes what T, P and out must be.
 */
enum err move_choose(struct party *p, struct share64 out, struct bits s, struct share64 v,
                     const size_t *start) MUST_CHECK;

/*
 * For each lane server j of its part (party_parts(), 64 lanes) knows a number u, and the two others
 * a number t, both of some digits and a top bit: `known` is the bits of u in the part where this
 * server is j, elsewhere of t, plane by plane from the lowest. With a and b the digits of u and t,
 * N = 2^width and y(v) = [a + v >= N], so that y(0) = 0 and y(N) = 1,
 *
 *   g = [a + b >= N] = y(b)        p = [a + b = N - 1] = y(b) ^ y(b + 1)
 *
 * and the top digit's g is XORed with both top bits: so the carry out of all digits is the top bit
 * of u + t. The others' b chooses in each share of j's bits separately:
 *
 *   j   -> both   m = y(v) - F(v) - F'(v)      v = 1 .. N - 1 of each digit, and of the top bit
 *   j+2 -> j      F(b) + G, of g and of p      component j
 *   j+1 -> j      F'(b) + H                    component j+1
 *                 m(b) - G - H                 component j+2
 *
 * all over XOR, with F of key_j, F' of key_(j+1), G and H of key_(j+2): 2 bits for each of N - 1,
 * and 4 a digit (2 of the lowest, whose p nobody needs), and 2. Under a check whoever calls this
 * notes what y, g and p must be (mpc/circuits/compare.c), for which `y` receives the shares that m
 * makes.
 */
struct move_carries {
    const uint64_t *known;
    unsigned digits;
    const uint8_t *width; /* of each, at most KERNEL_DIGIT */
    struct planes g, p;   /* a plane for each digit; p's plane 0 is unused */
    struct planes y;      /* or nothing: y(1) .. y(N - 1) of each digit, and the top bit */
};
enum err move_carries(struct party *p, const struct move_carries *terms) MUST_CHECK;

/* --- reveal ----------------------------------------------------------------------------------- */

/*
 * Bits to the two servers other than `from`, which gets nothing: `out`, as large as y, at each.
 *   from -> both   the component that the receiver lacks       1 bit each
 */
enum err move_reveal(struct party *p, unsigned from, const struct planes *y,
                     uint64_t *out) MUST_CHECK;

/* --- open: through mpc/move/open.h ------------------------------------------------------------ */

/*
 * n bits (RING_BITS), or n words (RING_64). Bits past n become zero.
 *   i -> i+1   x_i                                          1 word a server
 */
enum err move_open(struct party *p, enum party_reason reason, enum share_ring ring,
                   struct move_operand x, size_t n, uint64_t *out) MUST_CHECK;
/*
 * The products in GF(2^64) of two shared vectors and their opening in one exchange.
 *   i -> both   x_i (y_i + y_(i+1)) + x_(i+1) y_i + alpha_i     2 words a server
 */
enum err move_open_products(struct party *p, enum party_reason reason, struct share64 x,
                            struct share64 y, uint64_t *out) MUST_CHECK;
