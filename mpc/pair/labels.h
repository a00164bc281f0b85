/*
 * mpc/pair/labels.h - labels of the wires that enter a garbled circuit.
 *
 * A wire has two labels of 128 bits, `zero` and zero ^ Delta. The provider knows both, the keeper
 * the active one. Of the keeper's input bits b_i, by extended oblivious transfer (Ishai, Kilian,
 * Nissim, Petrank 2003) with Delta as the choices:
 *   keeper   column t_j = the next n bits of stream (j, 0)
 *   K -> P   u_j = t_j ^ stream (j, 1) ^ b          16 bytes for each bit, n rounded up to 128
 *   provider column q_j = stream (j, Delta_j) ^ Delta_j u_j
 * Row i of the columns: q_i is the zero label and t_i = q_i ^ b_i Delta the active one. The hash of
 * gates.h stands being given labels that one side knows before its key is drawn.
 * Of the provider's own bits, active labels are the stream of a seed that it sends.
 * LEAKS: how many bits.
 */
#pragma once

#include "base/prg.h"
#include "mpc/kernel/kernel.h"
#include "mpc/pair/gates.h"
#include "mpc/pair/pair.h"

#define LABELS_BITS 128

struct pair {
    enum pair_end end;
    uint8_t id[PAIR_ID_SIZE];
    const struct kernel *kernel;
    struct scratch *scratch;
    uint8_t *scalar; /* y of a keeper between its hello and the choices; secret memory */
    uint8_t hello[PAIR_HELLO_SIZE];
    struct pair_wire delta;             /* of a provider */
    struct prg *stream[2][LABELS_BITS]; /* of a provider: only [0], of keys (j, Delta_j) */
    bool ready;
};

/* n rounded up to whole blocks, as many wires as the arrays below have room for. */
size_t labels_rounded(size_t n);
/* Bytes of a matrix. */
size_t labels_matrix(size_t n);

/* The keeper's end: bits are packed, and zero past n. The provider's end. */
enum err labels_of_bits(struct pair *keeper, const uint64_t *bits, size_t n, uint8_t *matrix,
                        struct pair_wire *active) MUST_CHECK;
enum err labels_of_matrix(struct pair *provider, const uint8_t *matrix, size_t n,
                          struct pair_wire *zero) MUST_CHECK;
/* Active labels of n bits of the provider. */
enum err labels_of_seed(const uint8_t seed[16], struct pair_wire *active, size_t n) MUST_CHECK;
