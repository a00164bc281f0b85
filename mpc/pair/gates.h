/*
 * mpc/pair/gates.h - gates of three makes: garbled, evaluated, and plain bits for tests and counts.
 *
 * A circuit is written once, over wires of 128 bits. At the provider a wire is its zero label, at
 * the keeper the active label, in plain 0 or 1; XOR is the XOR of wires in all three. The wire 0 is
 * the constant 0; XORed onto a wire, `one` negates it: Delta, 0, or 1.
 *
 *   P -> K   for each AND, in order: two rows of 16 bytes
 *
 * Half gates (Zahur, Rosulek, Evans 2015), an AND of a and b with the choice bits p_a, p_b = the
 * lowest of their zero labels, numbers i and i + 1:
 *   T = H(a, i) ^ H(a ^ Delta, i) ^ p_b Delta        E = H(b, i+1) ^ H(b ^ Delta, i+1) ^ a
 *   zero label = H(a, i) ^ p_a T ^ H(b, i+1) ^ p_b (E ^ a)
 *   keeper, with active A, B and their lowest bits s_a, s_b:
 *   active label = H(A, i) ^ s_a T ^ H(B, i+1) ^ s_b (E ^ A)
 * H(x, i) = E(E(x) ^ i) ^ E(x) (Guo, Katz, Wang, Yu 2020), E = AES-128 under a public key that the
 * provider draws for each circuit once the keeper's labels are fixed. Every 2^24 ANDs another key
 * is made from it, so no number comes twice under a key.
 *
 * Cost of an AND: 32 bytes; 8 blocks of AES to garble, 4 to evaluate. LEAKS: nothing: a row that
 * the keeper cannot open is pseudorandom to it. No branch or index depends on a wire.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch;

struct pair_wire {
    uint64_t low, high;
};

#define GATES_LANES ((size_t)128) /* ANDs that are made together: EVP is called for each batch */
#define GATES_AND_SIZE 32
#define GATES_KEY_SIZE 16

struct pair_gates {
    struct pair_wire one;
    uint64_t ands;           /* made so far */
    enum err error;          /* the first, after which nothing is made */
    struct scratch *scratch; /* for circuits */
    struct gates_maker *maker;
};

/*
 * `table` has room for `ands` ANDs, and is written by the one and read by the other; it must
 * outlive the gates. One more AND is ERR_RANGE.
 */
enum err pair_gates_garble(struct pair_gates *g, struct scratch *scratch,
                           const uint8_t key[GATES_KEY_SIZE], struct pair_wire delta,
                           uint8_t *table, uint64_t ands) MUST_CHECK;
enum err pair_gates_evaluate(struct pair_gates *g, struct scratch *scratch,
                             const uint8_t key[GATES_KEY_SIZE], const uint8_t *table,
                             uint64_t ands) MUST_CHECK;
/* Wires are 0 or 1. */
struct pair_gates pair_gates_plain(struct scratch *scratch);
void pair_gates_free(struct pair_gates *g);
/* ERR_OK, the first error, or ERR_RANGE if some ANDs were not made. */
enum err pair_gates_done(const struct pair_gates *g) MUST_CHECK;

/* Whether this is the provider's end. */
bool pair_gates_garbles(const struct pair_gates *g);

static inline struct pair_wire wire_xor(struct pair_wire x, struct pair_wire y)
{
    return (struct pair_wire){x.low ^ y.low, x.high ^ y.high};
}

/* y if the bit is 1, else 0 */
static inline struct pair_wire wire_if(uint64_t bit, struct pair_wire y)
{
    return (struct pair_wire){(0 - bit) & y.low, (0 - bit) & y.high};
}

/* out[k] = a[k] & b[k]; out may be either. */
void pair_gates_and(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *a,
                    const struct pair_wire *b, size_t n);

/*
 * Sums of words that the keeper's bits choose, shared: adds to both ends' shares words whose sum is
 * that of all word[k] whose bit k is set.
 *   P -> K   H(q, i) - H(q ^ Delta, i) + word, 8 bytes a bit, in the place of GATES_CHOSEN / 4 ANDs
 * `label`: of the bits. The keeper has `bits`, the provider `word`; neither is read at the other
 * end. Numbers i differ from those of ANDs in their high half. LEAKS: nothing.
 */
#define GATES_CHOSEN ((size_t)64)
enum err pair_gates_choose(struct pair_gates *g, uint64_t *share, const struct pair_wire *label,
                           uint64_t bits, const uint64_t *word) MUST_CHECK;
