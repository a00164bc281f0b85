#include "mpc/pair/distance.h"

#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/circuit.h"
#include "mpc/pair/program.h"
#include "mpc/party/scratch.h"

#include <string.h>

#define PORTION ((size_t)8192) /* cells: 14 MB of tables at l = 17 */
#define MASK_BITS 64

struct distance {
    struct pair_distance d;
    unsigned width, shift; /* B; lowest bits that the keeper does not enter */
    size_t *first;         /* candidate of each portion, and past the last */
};

static unsigned log2_up(uint64_t n)
{
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

static size_t cells_of(const struct distance *s, size_t portion)
{
    size_t cells = 0;
    for (size_t k = s->first[portion]; k < s->first[portion + 1]; k++)
        cells += s->d.candidate[k].cells;
    return cells;
}

static size_t candidates_of(const struct distance *s, size_t portion)
{
    return s->first[portion + 1] - s->first[portion];
}

static struct program_size size(const void *self, size_t portion)
{
    const struct distance *s = self;
    const size_t n = cells_of(s, portion), masks = MASK_BITS * candidates_of(s, portion);
    return (struct program_size){{s->width * n + masks, (s->width - s->shift) * n}, masks};
}

/* --- inputs and outputs ----------------------------------------------------------------------- */

/* Bits of number i of n, from wire `from` on. */
static void put(uint64_t *bits, size_t from, uint64_t v, unsigned width, size_t n, size_t i)
{
    for (unsigned b = 0; b < width; b++) {
        const size_t at = from + b * n + i;
        bits[at / 64] |= (v >> b & 1) << (at % 64);
    }
}

static enum err enter(void *self, size_t portion, enum pair_end end, uint64_t *bits)
{
    const struct distance *s = self;
    const size_t n = cells_of(s, portion), lanes = candidates_of(s, portion);
    size_t cell = 0;
    for (size_t k = 0; k < lanes; k++) {
        const struct pair_candidate *c = &s->d.candidate[s->first[portion] + k];
        for (size_t i = 0; i < c->cells; i++, cell++) {
            const uint64_t v = s->d.unit * c->share[i];
            if (end == PAIR_PROVIDER)
                put(bits, 0, v - c->estimate[i], s->width, n, cell);
            else
                put(bits, 0, v >> s->shift, s->width - s->shift, n, cell);
        }
        if (end == PAIR_PROVIDER) {
            uint64_t r;
            secret_random(&r, sizeof r);
            s->d.out[s->first[portion] + k] = 0 - r;
            put(bits, s->width * n, r, MASK_BITS, lanes, k);
        }
    }
    return ERR_OK;
}

static enum err took(void *self, size_t portion, const uint64_t *bits)
{
    const struct distance *s = self;
    const size_t lanes = candidates_of(s, portion);
    uint64_t *out = s->d.out + s->first[portion];
    memset(out, 0, lanes * sizeof *out);
    for (size_t at = 0; at < MASK_BITS * lanes; at++)
        out[at % lanes] |= (bits[at / 64] >> (at % 64) & 1) << (at / lanes);
    return ERR_OK;
}

/* --- the circuit ------------------------------------------------------------------------------ */

/* Numbers of a level: v + s each, s a carry that no adder has taken yet. */
struct pair_sums {
    struct pair_wire *v, *s;
    unsigned width;
    size_t n;
};

static enum err sums_new(struct pair_sums *l, struct scratch *scratch, unsigned width, size_t n)
{
    *l = (struct pair_sums){.width = width, .n = n};
    TRY(scratch_array(scratch, &l->v, width * n));
    return scratch_array(scratch, &l->s, n);
}

/* |d| of every cell, as d ^ s and s. */
static enum err magnitudes(const struct distance *s, struct pair_gates *g,
                           const struct pair_wire *const in[2], size_t n, struct pair_sums *l)
{
    struct pair_wire *d;
    TRY(scratch_array(g->scratch, &d, s->width * n));
    memcpy(d, in[PAIR_PROVIDER], s->shift * n * sizeof *d);
    circuit_add(g, d + s->shift * n, NULL, in[PAIR_PROVIDER] + s->shift * n, in[PAIR_KEEPER], NULL,
                s->width - s->shift, n);
    *l = (struct pair_sums){d, d + (s->width - 1) * n, s->width - 1, n};
    for (unsigned b = 0; b < l->width; b++)
        for (size_t i = 0; i < n; i++)
            l->v[b * n + i] = wire_xor(l->v[b * n + i], l->s[i]);
    return ERR_OK;
}

/* Pairs are added, with the left one's s as carry; the sum has the right one's. */
static enum err add_pairs(struct pair_gates *g, struct pair_sums *l, const struct circuit_pairs *p)
{
    const unsigned width = l->width;
    struct pair_sums sum, next;
    struct pair_wire *y, *carry, *alone;
    TRY(sums_new(&next, g->scratch, width + 1, p->next));
    TRY(sums_new(&sum, g->scratch, width + 1, p->pairs));
    TRY(scratch_array(g->scratch, &y, width * p->pairs));
    TRY(scratch_array(g->scratch, &carry, p->pairs));
    TRY(scratch_array(g->scratch, &alone, (width + 1) * p->alone));
    circuit_gather(sum.v, l->v, l->n, p->left, 0, width, p->pairs);
    circuit_gather(y, l->v, l->n, p->left, 1, width, p->pairs);
    circuit_gather(carry, l->s, l->n, p->left, 0, 1, p->pairs);
    circuit_gather(sum.s, l->s, l->n, p->left, 1, 1, p->pairs);
    circuit_add(g, sum.v, sum.v + width * p->pairs, sum.v, y, carry, width, p->pairs);
    circuit_scatter(next.v, next.n, p->to, sum.v, width + 1, p->pairs);
    circuit_scatter(next.s, next.n, p->to, sum.s, 1, p->pairs);
    memset(alone + width * p->alone, 0, p->alone * sizeof *alone);
    circuit_gather(alone, l->v, l->n, p->from, 0, width, p->alone);
    circuit_scatter(next.v, next.n, p->at, alone, width + 1, p->alone);
    circuit_gather(alone, l->s, l->n, p->from, 0, 1, p->alone);
    circuit_scatter(next.s, next.n, p->at, alone, 1, p->alone);
    *l = next;
    return ERR_OK;
}

static uint64_t cap_bit(uint64_t cap, unsigned b)
{
    return b < MASK_BITS ? cap >> b & 1 : 0;
}

/*
 * Whether v + s <= cap, a public number of each lane: the carry of cap + ~v + ~s, where a carry is
 * ~v & c if the cap's bit is 0, else ~(v & ~c).
 */
static enum err within(struct pair_gates *g, const struct pair_sums *l, const uint64_t *cap,
                       struct pair_wire *c)
{
    struct pair_wire *t;
    TRY(scratch_array(g->scratch, &t, l->n));
    circuit_not(g, c, l->s, l->n);
    for (unsigned b = 0; b < l->width; b++) {
        for (size_t k = 0; k < l->n; k++) {
            const uint64_t bit = cap_bit(cap[k], b);
            t[k] = wire_xor(l->v[b * l->n + k], wire_if(1 - bit, g->one));
            c[k] = wire_xor(c[k], wire_if(bit, g->one));
        }
        pair_gates_and(g, c, c, t, l->n);
        for (size_t k = 0; k < l->n; k++)
            c[k] = wire_xor(c[k], wire_if(cap_bit(cap[k], b), g->one));
    }
    for (size_t k = 0; k < l->n && l->width < MASK_BITS; k++)
        c[k] = cap[k] >> l->width != 0 ? g->one : c[k];
    return ERR_OK;
}

/* out = the lesser of v + s and the cap, + r. A bit of the first is v & c, or ~(~v & c). */
static enum err cap_and_mask(struct pair_gates *g, const struct pair_sums *l, const uint64_t *cap,
                             const struct pair_wire *r, struct pair_wire *out)
{
    struct pair_wire *c, *carry;
    TRY(scratch_array(g->scratch, &c, l->n));
    TRY(scratch_array(g->scratch, &carry, l->n));
    TRY(within(g, l, cap, c));
    memset(out, 0, MASK_BITS * l->n * sizeof *out);
    for (unsigned b = 0; b < l->width && b < MASK_BITS; b++) {
        struct pair_wire *to = out + b * l->n;
        for (size_t k = 0; k < l->n; k++)
            to[k] = wire_xor(l->v[b * l->n + k], wire_if(cap[k] >> b & 1, g->one));
        pair_gates_and(g, to, to, c, l->n);
        for (size_t k = 0; k < l->n; k++)
            to[k] = wire_xor(to[k], wire_if(cap[k] >> b & 1, g->one));
    }
    pair_gates_and(g, carry, l->s, c, l->n);
    circuit_add(g, out, NULL, out, r, carry, MASK_BITS, l->n);
    return ERR_OK;
}

static enum err compute(const void *self, size_t portion, struct pair_gates *g,
                        const struct pair_wire *const in[2], struct pair_wire *out)
{
    const struct distance *s = self;
    const size_t n = cells_of(s, portion), lanes = candidates_of(s, portion);
    const struct pair_candidate *candidate = s->d.candidate + s->first[portion];
    struct circuit_pairs pairs;
    struct pair_sums l;
    size_t *cells;
    uint64_t *cap;
    TRY(scratch_array(g->scratch, &cells, lanes));
    TRY(scratch_array(g->scratch, &cap, lanes));
    for (size_t k = 0; k < lanes; k++) {
        cells[k] = candidate[k].cells;
        cap[k] = s->d.unit * candidate[k].most;
    }
    TRY(magnitudes(s, g, in, n, &l));
    while (l.n > lanes) {
        TRY(circuit_pair_up(g->scratch, &pairs, cells, lanes));
        TRY(add_pairs(g, &l, &pairs));
    }
    return cap_and_mask(g, &l, cap, in[PAIR_PROVIDER] + s->width * n, out);
}

/* --- runs ------------------------------------------------------------------------------------- */

static void distance_free(void *self)
{
    struct distance *s = self;
    memory_free_all(&s->first, &s);
}

static const struct pair_program distance_program = {
    .size = size, .enter = enter, .compute = compute, .took = took, .free = distance_free};

/* Portions of whole candidates: as many as have PORTION cells, at least one. */
static size_t part(struct distance *s)
{
    size_t portions = 0, cells = 0;
    for (size_t k = 0; k < s->d.candidates; k++) {
        if (k == 0 || cells + s->d.candidate[k].cells > PORTION) {
            s->first[portions++] = k;
            cells = 0;
        }
        cells += s->d.candidate[k].cells;
    }
    s->first[portions] = s->d.candidates;
    return portions;
}

static enum err begin(struct distance **self, const struct pair_distance *d, size_t *portions)
{
    struct distance *s;
    if (d->candidates == 0 || d->bits == 0 || d->bits > 62 || d->unit == 0 ||
        d->unit > (uint64_t)INT64_MAX >> d->bits)
        return ERR_RANGE;
    for (size_t k = 0; k < d->candidates; k++)
        if (d->candidate[k].cells == 0 || d->candidate[k].most > INT64_MAX / d->unit)
            return ERR_RANGE;
    TRY(memory_new(&s, 1));
    *s = (struct distance){.d = *d,
                           .width = d->bits + log2_up(d->unit) + 1,
                           .shift = (unsigned)__builtin_ctzll(d->unit)};
    *self = s;
    if (memory_new(&s->first, d->candidates + 1) != ERR_OK) {
        distance_free(s);
        return ERR_NOMEM;
    }
    *portions = part(s);
    return ERR_OK;
}

enum err pair_distance_new(struct pair_run **run, struct pair *pair, const struct pair_distance *d)
{
    struct distance *s;
    size_t portions;
    TRY(begin(&s, d, &portions));
    return program_run(run, pair, &distance_program, s, portions);
}
