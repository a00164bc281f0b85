/*
 * mpc/pair/program.h - what garbled.h runs: a table of functions for distances, an argmax, noise.
 *
 * Input and output bits of a portion are numbered and packed, 64 a word. The keeper's and the
 * provider's are apart.
 */
#pragma once

#include "mpc/pair/garbled.h"
#include "mpc/pair/labels.h"

struct program_size {
    size_t bits[2]; /* inputs of each end */
    size_t outputs;
};

struct pair_program {
    struct program_size (*size)(const void *self, size_t portion);
    /* ANDs of a portion; NULL: they are counted, by making it of plain bits. */
    uint64_t (*ands)(const void *self, size_t portion);
    /* Sets this end's bits, which are zero before. Called once a portion: it may draw masks. */
    enum err (*enter)(void *self, size_t portion, enum pair_end end, uint64_t *bits);
    /* From the wires of both ends to those of the outputs. */
    enum err (*compute)(const void *self, size_t portion, struct pair_gates *g,
                        const struct pair_wire *const in[2], struct pair_wire *out);
    /* At the keeper: the outputs. May be NULL. */
    enum err (*took)(void *self, size_t portion, const uint64_t *bits);
    /* Wipes and frees `self`. */
    void (*free)(void *self);
};

/* Takes over `self`, even if it fails. */
enum err program_run(struct pair_run **run, struct pair *pair, const struct pair_program *program,
                     void *self, size_t portions) MUST_CHECK;

void *program_of(const struct pair_run *run);
/*
 * Wires of the last portion's outputs, once the tables have passed: zero labels at the provider,
 * active ones at the keeper. NULL before.
 */
const struct pair_wire *program_outputs(const struct pair_run *run);
struct pair *program_pair(const struct pair_run *run);
