#include "mpc/pair/pick.h"

#include "mpc/pair/circuit.h"
#include "mpc/pair/program.h"
#include "mpc/party/scratch.h"

#include <string.h>

static unsigned index_bits(size_t candidates)
{
    unsigned bits = 0;
    while ((size_t)1 << bits < candidates)
        bits++;
    return bits;
}

static struct program_size size(const void *self, size_t portion)
{
    const struct pair_pick *p = self;
    const size_t bits = p->candidates > 1 ? p->width * p->candidates : 0;
    (void)portion;
    return (struct program_size){{bits, bits}, index_bits(p->candidates)};
}

static enum err enter(void *self, size_t portion, enum pair_end end, uint64_t *bits)
{
    const struct pair_pick *p = self;
    (void)portion;
    (void)end;
    for (unsigned b = 0; b < p->width && p->candidates > 1; b++)
        for (size_t i = 0; i < p->candidates; i++) {
            const size_t at = b * p->candidates + i;
            bits[at / 64] |= (p->value[i] >> b & 1) << (at % 64);
        }
    return ERR_OK;
}

static enum err took(void *self, size_t portion, const uint64_t *bits)
{
    struct pair_pick *p = self;
    const unsigned n = index_bits(p->candidates);
    (void)portion;
    p->index = n > 0 ? (size_t)(bits[0] & (UINT64_MAX >> (64 - n))) : 0;
    return p->index < p->candidates ? ERR_OK : ERR_CHEAT;
}

/* Scores of a level, whose order is that of unsigned numbers, and the bits of their indices. */
struct pair_scores {
    struct pair_wire *v, *index;
    unsigned bits;
    size_t n;
};

/* The pairs' winners; of the last pair only the index matters. */
static enum err find_winners(struct pair_gates *g, const struct pair_scores *l, unsigned width,
                             const struct circuit_pairs *p, struct pair_scores *won)
{
    const size_t n = p->pairs, room = (width > l->bits ? width : l->bits) * n;
    struct pair_wire *x, *y, *one, *right;
    TRY(scratch_array(g->scratch, &x, room));
    TRY(scratch_array(g->scratch, &y, room));
    TRY(scratch_array(g->scratch, &one, n));
    TRY(scratch_array(g->scratch, &won->v, width * n));
    TRY(scratch_array(g->scratch, &won->index, (l->bits + 1) * n));
    right = won->index + l->bits * n;
    for (size_t i = 0; i < n; i++)
        one[i] = g->one;
    circuit_gather(x, l->v, l->n, p->left, 0, width, n);
    circuit_gather(y, l->v, l->n, p->left, 1, width, n);
    circuit_not(g, won->v, y, width * n);
    circuit_add(g, NULL, right, x, won->v, one, width, n); /* x >= y: the carry of x - y */
    circuit_not(g, right, right, n);
    if (p->next > 1)
        circuit_choose(g, won->v, right, y, x, width, n);
    circuit_gather(x, l->index, l->n, p->left, 0, l->bits, n);
    circuit_gather(y, l->index, l->n, p->left, 1, l->bits, n);
    circuit_choose(g, won->index, right, y, x, l->bits, n);
    return ERR_OK;
}

static enum err next_level(struct pair_gates *g, struct pair_scores *l, unsigned width,
                           const struct circuit_pairs *p)
{
    struct pair_scores won, next = {.bits = l->bits + 1, .n = p->next};
    struct pair_wire *alone;
    TRY(scratch_array(g->scratch, &next.v, width * next.n));
    TRY(scratch_array(g->scratch, &next.index, next.bits * next.n));
    TRY(scratch_array(g->scratch, &alone, (width + l->bits) * p->alone));
    TRY(find_winners(g, l, width, p, &won));
    memset(next.index, 0, next.bits * next.n * sizeof *next.index);
    circuit_scatter(next.v, next.n, p->to, won.v, width, p->pairs);
    circuit_scatter(next.index, next.n, p->to, won.index, next.bits, p->pairs);
    circuit_gather(alone, l->v, l->n, p->from, 0, width, p->alone);
    circuit_scatter(next.v, next.n, p->at, alone, width, p->alone);
    circuit_gather(alone, l->index, l->n, p->from, 0, l->bits, p->alone);
    circuit_scatter(next.index, next.n, p->at, alone, l->bits, p->alone);
    *l = next;
    return ERR_OK;
}

static enum err compute(const void *self, size_t portion, struct pair_gates *g,
                        const struct pair_wire *const in[2], struct pair_wire *out)
{
    const struct pair_pick *p = self;
    size_t left = p->candidates;
    struct pair_wire *top;
    struct pair_scores l = {.n = left};
    (void)portion;
    if (left == 1)
        return ERR_OK;
    TRY(scratch_array(g->scratch, &l.v, p->width * left));
    circuit_add(g, l.v, NULL, in[PAIR_PROVIDER], in[PAIR_KEEPER], NULL, p->width, left);
    top = l.v + (p->width - 1) * left;
    circuit_not(g, top, top, left);
    l.index = l.v; /* of no bits */
    while (l.n > 1) {
        struct circuit_pairs pairs;
        TRY(circuit_pair_up(g->scratch, &pairs, &left, 1));
        TRY(next_level(g, &l, p->width, &pairs));
    }
    memcpy(out, l.index, l.bits * sizeof *out);
    return ERR_OK;
}

static void keep(void *self)
{
    (void)self; /* the caller's */
}

static const struct pair_program pick_program = {
    .size = size, .enter = enter, .compute = compute, .took = took, .free = keep};

static bool fits(const struct pair_pick *p)
{
    return p->candidates >= 1 && p->candidates <= PAIR_PICK_MOST && p->width >= 2 && p->width <= 64;
}

enum err pair_pick_new(struct pair_run **run, struct pair *pair, struct pair_pick *pick)
{
    return fits(pick) ? program_run(run, pair, &pick_program, pick, 1) : ERR_RANGE;
}

size_t pair_pick_proof(size_t candidates)
{
    return index_bits(candidates) * sizeof(struct pair_wire);
}

enum err pair_pick_prove(const struct pair_run *run, uint8_t *proof)
{
    const struct pair_pick *p = program_of(run);
    const struct pair_wire *out = program_outputs(run);
    if (out == NULL || program_pair(run)->end != PAIR_KEEPER)
        return ERR_MISUSE;
    memcpy(proof, out, pair_pick_proof(p->candidates));
    return ERR_OK;
}

enum err pair_pick_verify(const struct pair_run *run, const uint8_t *proof)
{
    struct pair_pick *p = program_of(run);
    const struct pair_wire *zero = program_outputs(run), delta = program_pair(run)->delta;
    if (zero == NULL || program_pair(run)->end != PAIR_PROVIDER)
        return ERR_MISUSE;
    p->index = 0;
    for (unsigned b = 0; b < index_bits(p->candidates); b++) {
        struct pair_wire given, d;
        memcpy(&given, proof + b * sizeof given, sizeof given);
        d = wire_xor(given, zero[b]);
        if ((d.low | d.high) != 0 && (d.low != delta.low || d.high != delta.high))
            return ERR_CHEAT;
        p->index |= (size_t)(d.low & 1) << b;
    }
    return p->index < p->candidates ? ERR_OK : ERR_CHEAT;
}
