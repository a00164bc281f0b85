/*
 * mpc/cached.h - [x < C] and sums of |x - c| for many public c, on shared x that stay.
 *
 * Of each x, 0 <= x < 2^l, is kept: its l bits; the flags Z_b = [x < 2^b], b < l; [x = 0] as a
 * number. With B = floor(log2 C), for a public C >= 2,
 *
 *   [x < C] = Z_B ^ (Z_(B+1) ^ Z_B) [x mod 2^B < C mod 2^B]                    (Z_b = 1 for b >= l)
 *
 * is the carry out of B + 1 positions: none needs an AND before the tree. C = 0 is 0, C = 1 is the
 * kept [x = 0]. Lanes are sorted by B into widths l, l/2, l/4 .., by public masks, so that small C
 * cost less; lanes with C <= 1 cost nothing and are not in any message.
 *
 * Cost of a lane of width w: 2(w-1) - ceil(log2 w) ANDs, then 4 ring elements over all servers for
 * the bit as a number. Rounds: ceil(log2 l) + 1, fewer if every C is small. At l = 17 that is 14.1
 * bytes a server.
 */
#ifndef TREFOIL_MPC_CACHED_H
#define TREFOIL_MPC_CACHED_H

#include "mpc/adder.h"

#define CACHED_GRID 10 /* estimates are multiples of 2^-10 */
#define CACHED_BITS 52 /* largest l: sums stay below 2^64 */

struct cached {
    struct planes bits;     /* borrowed */
    struct planes below;    /* plane b: Z_b */
    struct share64 x, zero; /* zero: [x = 0] */
};

/*
 * Keeps what is said above of x; `bits` are its bits and are borrowed for the life of the result.
 * ceil(log2 l) rounds for the flags (33 ANDs a lane at l = 17), 1 round and 4 elements over all
 * servers for [x = 0]; the rounds repeat every 2^22 lanes. LEAKS: nothing.
 */
enum err cached_new(struct party *p, struct cached **c, struct share64 x,
                    const struct planes *bits) MUST_CHECK;
void cached_free(struct cached **c);

/* `cells` lanes of the cache from lane `from`, a multiple of 64, and a public number for each. */
struct cached_span {
    size_t from, cells;
    const uint64_t *c; /* real numbers times 2^CACHED_GRID, none above 2^l */
};

/*
 * out[k] = 2^CACHED_GRID times the sum over span k of |x - c|. Only integers are compared: C is c
 * rounded up. The sums must be below 2^64 so multiplied; with every c_j <= 2^l, a sum of x below
 * 2^l and one of c below 2^(l+1) they are. One element a span more, and 1 round after those of the
 * bits. LEAKS: nothing.
 */
enum err cached_distance(struct party *p, struct share64 out, const struct cached *x,
                         const struct cached_span *spans) MUST_CHECK;

#endif
