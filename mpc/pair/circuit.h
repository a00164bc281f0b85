/*
 * mpc/pair/circuit.h - numbers in circuits: n numbers side by side, bit b of number i being wire
 * b n + i.
 *
 * ANDs: of circuit_add() width - 1 a number, and one more with `over`; of circuit_choose() width.
 * LEAKS: nothing (gates.h).
 */
#pragma once

#include "mpc/pair/gates.h"

/*
 * out = x + y + carry modulo 2^width, over = the carry that leaves it. `carry` may be NULL, for
 * zeros; so may `over`, and `out`, if only the other is wanted. out may be x or y.
 */
void circuit_add(struct pair_gates *g, struct pair_wire *out, struct pair_wire *over,
                 const struct pair_wire *x, const struct pair_wire *y,
                 const struct pair_wire *carry, unsigned width, size_t n);

/* out = bit ? x : y. out may be x or y. */
void circuit_choose(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *bit,
                    const struct pair_wire *x, const struct pair_wire *y, unsigned width, size_t n);

/* Negates n wires. */
void circuit_not(const struct pair_gates *g, struct pair_wire *out, const struct pair_wire *x,
                 size_t n);

/*
 * A level of a tree over numbers that lie in groups, one group after the other: numbers 2i and
 * 2i + 1 of a group become number i of the next level, as does an odd one at the end, alone.
 */
struct circuit_pairs {
    size_t pairs, alone, next; /* next: numbers of the next level */
    size_t *left, *to;         /* of each pair: its left number, the right one follows it */
    size_t *from, *at;         /* of each that stays alone */
};

/* Sets sizes to those of the next level. The arrays are the scratch's. */
enum err circuit_pair_up(struct scratch *scratch, struct circuit_pairs *p, size_t *size,
                         size_t groups) MUST_CHECK;

/* out[b n + i] = x[b stride + from[i] + more], for i < n and b < width; scatter is the reverse. */
void circuit_gather(struct pair_wire *out, const struct pair_wire *x, size_t stride,
                    const size_t *from, size_t more, unsigned width, size_t n);
void circuit_scatter(struct pair_wire *out, size_t stride, const size_t *to,
                     const struct pair_wire *x, unsigned width, size_t n);
