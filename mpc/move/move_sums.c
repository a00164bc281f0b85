#include "mpc/kernel/words.h"
#include "mpc/move/move_private.h"
#include "mpc/move/record.h"

#include <string.h>

/* Walks the words of the outputs, in order. */
struct cursor {
    size_t term, at; /* bytes */
};

struct move_summing {
    struct party *p;
    const struct move_sums *sums;
    size_t size;          /* of a word */
    const uint8_t *whole; /* all of z, where it had to be made first */
    struct cursor make, note, keep, take;
};

/* The longest run of bytes, up to *bytes, within one output, and where it begins; moves past it. */
static const struct move_term *next_run(const struct move_summing *s, struct cursor *c,
                                        size_t *bytes, size_t *at)
{
    size_t all;
    while ((all = s->sums->terms[c->term].words * s->size) == c->at)
        *c = (struct cursor){c->term + s->sums->products, 0};
    *bytes = all - c->at < *bytes ? all - c->at : *bytes;
    *at = c->at;
    c->at += *bytes;
    return &s->sums->terms[c->term];
}

static void *word_at(void *words, size_t at)
{
    return (uint8_t *)words + at;
}

static enum err make_bits(struct move_summing *s, uint8_t *out, size_t n)
{
    for (size_t left = n, k, at; left > 0; left -= k) {
        const struct move_term *t = next_run(s, &s->make, (k = left, &k), &at);
        uint64_t *z = word_at(out, n - left);
        const uint64_t *sum = t->c.a != NULL ? word_at(t->c.a, at) : NULL;
        for (unsigned i = 0; i < s->sums->products && t[i].x.a != NULL; i++, sum = z)
            s->p->kernel->gate(z, word_at(t[i].x.a, at), word_at(t[i].x.b, at),
                               word_at(t[i].y.a, at), word_at(t[i].y.b, at), sum, k / 8);
    }
    TRY(prg_xor(s->p->prg[0][PRG_ZERO], out, n));
    return prg_xor(s->p->prg[1][PRG_ZERO], out, n);
}

/* In Z_2^128 there is nothing to gain from vectors. */
static void multiply128(word128 *z, const word128 *f, const word128 *xa, const word128 *xb,
                        const word128 *ya, const word128 *yb, size_t n)
{
    for (size_t i = 0; i < n; i++)
        z[i] += xa[i] * (ya[i] + yb[i]) + xb[i] * ya[i] - f[i];
}

/* z = z - f + this server's part of the products at `at`; z - f is the mask */
static void add_products(const struct move_summing *s, const struct move_term *t, size_t at,
                         void *z, const void *f, size_t n)
{
    const void *xa = word_at(t->x.a, at), *xb = word_at(t->x.b, at);
    const void *ya = word_at(t->y.a, at), *yb = word_at(t->y.b, at);
    switch (s->sums->ring) {
    case RING_16:
        s->p->kernel->multiply16(z, f, xa, xb, ya, yb, n / 2);
        break;
    case RING_64:
        s->p->kernel->multiply64(z, f, xa, xb, ya, yb, n / 8);
        break;
    case RING_128:
        multiply128(z, f, xa, xb, ya, yb, n / 16);
        break;
    case RING_BITS:
    case RING_32:
        break;
    }
}

static enum err make_numbers(struct move_summing *s, uint8_t *out, size_t n)
{
    static const uint8_t no_mask[MOVE_STEP / 2];
    _Alignas(64) uint8_t f[MOVE_STEP / 2];
    for (size_t left = n, k, at; left > 0; left -= k) {
        const size_t most = left < sizeof f ? left : sizeof f;
        const struct move_term *t = next_run(s, &s->make, (k = most, &k), &at);
        uint8_t *z = out + (n - left);
        TRY(prg_fill(s->p->prg[0][PRG_ZERO], z, k));
        TRY(prg_fill(s->p->prg[1][PRG_ZERO], f, k));
        if (t->x.a == NULL) { /* what has been added up elsewhere, masked */
            words_subtract(s->sums->ring, z, f, k / s->size);
            words_add(s->sums->ring, z, word_at(t->c.a, at), k / s->size);
        }
        for (unsigned i = 0; i < s->sums->products && t[i].x.a != NULL; i++)
            add_products(s, &t[i], at, z, i == 0 ? f : no_mask, k);
    }
    return ERR_OK;
}

/* Tells what has been made, while its operands are still there. */
static void note(struct move_summing *s, const uint8_t *z, size_t n)
{
    for (size_t left = n, k, at; left > 0; left -= k) {
        const struct move_term *t = next_run(s, &s->note, (k = left, &k), &at);
        s->p->recorder->calls->made(s->p, t, at, (const void *)(z + (n - left)), k / 8);
    }
}

static enum err make_step(struct move_summing *s, uint8_t *out, size_t n)
{
    if (s->sums->ring != RING_BITS)
        return make_numbers(s, out, n);
    TRY(make_bits(s, out, n));
    if (party_proves(s->p))
        note(s, out, n);
    return ERR_OK;
}

/* What is sent becomes component a. */
static void keep(struct move_summing *s, const uint8_t *z, size_t n)
{
    for (size_t left = n, k, at; left > 0; left -= k) {
        const struct move_term *t = next_run(s, &s->keep, (k = left, &k), &at);
        memcpy(word_at(t->out.a, at), z + (n - left), k);
    }
}

static enum err sums_make(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct move_summing *s = self;
    if (s->whole != NULL) {
        memcpy(out, s->whole + offset, n);
        return ERR_OK;
    }
    for (size_t at = 0; at < n; at += MOVE_STEP) {
        size_t k = n - at < MOVE_STEP ? n - at : MOVE_STEP;
        TRY(make_step(s, out + at, k));
        keep(s, out + at, k);
    }
    return ERR_OK;
}

/* What arrives becomes component b. */
static enum err sums_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct move_summing *s = self;
    (void)offset;
    for (size_t left = n, k, at; left > 0; left -= k) {
        const struct move_term *t = next_run(s, &s->take, (k = left, &k), &at);
        memcpy(word_at(t->out.b, at), in + (n - left), k);
        if (party_proves(s->p) && s->sums->ring == RING_BITS)
            s->p->recorder->calls->came(s->p, t, (const void *)(in + (n - left)), k / 8);
    }
    return ERR_OK;
}

/* The addresses that a set of vectors spans, from the lowest to the highest. */
struct sums_span {
    uintptr_t low, high;
};

static void span_add(struct sums_span *s, const void *v, size_t bytes)
{
    uintptr_t from = (uintptr_t)v, to = from + bytes;
    s->low = from < s->low ? from : s->low;
    s->high = to > s->high ? to : s->high;
}

static bool span_meets(const struct sums_span *s, const void *v, size_t bytes)
{
    uintptr_t from = (uintptr_t)v, to = from + bytes;
    return v != NULL && from < s->high && s->low < to;
}

/* Whether no output can overlap an operand: a quick answer, which errs towards no. */
static bool are_apart(const struct move_sums *sums)
{
    const size_t all = sums->count * sums->products, size = ring_size(sums->ring);
    struct sums_span a = {UINTPTR_MAX, 0}, b = {UINTPTR_MAX, 0};
    for (size_t t = 0; t < all; t += sums->products) {
        span_add(&a, sums->terms[t].out.a, sums->terms[t].words * size);
        span_add(&b, sums->terms[t].out.b, sums->terms[t].words * size);
    }
    for (size_t t = 0; t < all; t++) {
        const struct move_term *first = &sums->terms[t - t % sums->products], *at = &sums->terms[t];
        const void *in[] = {at->x.a, at->x.b, at->y.a, at->y.b, at->c.a, at->c.b};
        for (size_t k = 0; k < sizeof in / sizeof *in; k++)
            if (span_meets(&a, in[k], first->words * size) ||
                span_meets(&b, in[k], first->words * size))
                return false;
    }
    return true;
}

/* All of z is made before any output is written. */
static enum err send_whole(struct move_summing *s, size_t bytes,
                           const struct move_exchange *exchange)
{
    uint8_t *z;
    TRY(scratch_array(s->p->scratch, &z, bytes));
    for (size_t at = 0; at < bytes; at += MOVE_STEP)
        TRY(make_step(s, z + at, bytes - at < MOVE_STEP ? bytes - at : MOVE_STEP));
    keep(s, z, bytes);
    s->whole = z;
    return move_exchange(s->p, exchange);
}

enum err move_sums(struct party *p, const struct move_sums *sums)
{
    struct move_summing s = {.p = p, .sums = sums, .size = ring_size(sums->ring)};
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    size_t bytes = 0;
    for (size_t k = 0; k < sums->count; k++)
        bytes += sums->terms[sums->products * k].words * s.size;
    const struct move_exchange exchange = {
        .send[NET_PREV] = {{bytes, sums_make, NULL, &s, false}},
        .receive[NET_NEXT] = {{bytes, NULL, sums_take, &s, false}},
    };
    if (sums->ring == RING_32 || (sums->proved && sums->ring == RING_BITS))
        return ERR_MISUSE;
    TRY(RECORD(p, ERR_OK, begin(p, sums)));
    TRY(sums->apart || are_apart(sums) ? move_exchange(p, &exchange)
                                       : send_whole(&s, bytes, &exchange));
    return RECORD(p, ERR_OK, end(p, sums));
}

/* --- sums in parts ---------------------------------------------------------------------------- */

void move_part_inner(const struct party *p, uint64_t *z, struct share64 x, struct share64 y)
{
    *z += p->kernel->inner64(x.a, x.b, y.a, y.b, x.n);
}

/*
 * 2 x y = (2 x_0 + x_1)(2 y_0 + y_1) + (x_1 + 2 x_2)(y_1 + 2 y_2) - 2 (x_2 - x_0)(y_2 - y_0): a
 * product of two words at each server, where x y would take five.
 */
void move_part_side(const struct party *p, uint16_t *side, struct share16 x)
{
    static const uint16_t of_a[3] = {2, 1, 1}, of_b[3] = {1, 2, UINT16_MAX};
    p->kernel->linear16(side, of_a[p->index], x.a, of_b[p->index], x.b, x.n);
}

void move_part_matrix(const struct party *p, uint16_t *z, const uint16_t *x, const uint16_t *y,
                      size_t rows, size_t columns, size_t n)
{
    p->kernel->matrix16(z, p->index == 2 ? UINT16_MAX - 1 : 1, x, y, rows, columns, n);
}

enum err move_settle(struct party *p, enum share_ring ring, struct move_operand out, void *z,
                     size_t n, const struct record_sums *of)
{
    const struct move_term term = {.out = out, .c = {.a = z}, .words = n};
    if (party_proves(p) && of == NULL)
        return ERR_MISUSE;
    TRY(move_sums(p, &(struct move_sums){.ring = ring,
                                         .terms = &term,
                                         .count = 1,
                                         .products = 1,
                                         .apart = true,
                                         .proved = true}));
    return record_numbers(p, ring, of, out, n);
}
