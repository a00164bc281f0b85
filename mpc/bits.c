#include "mpc/bits.h"

#include <string.h>

void bits_copy(struct bits out, struct bits x)
{
    size_t bytes = bits_words(out.n) * sizeof *out.a;
    memmove(out.a, x.a, bytes);
    memmove(out.b, x.b, bytes);
}

void bits_xor(struct bits out, struct bits x, struct bits y)
{
    size_t words = bits_words(out.n);
    kernel_portable.exclusive(out.a, x.a, y.a, words);
    kernel_portable.exclusive(out.b, x.b, y.b, words);
}

/* the component 0 of a share, which carries public constants, where this server holds it */
static uint64_t *component_0(const struct party *p, struct bits x)
{
    return p->index == 0 ? x.a : p->index == 2 ? x.b : NULL;
}

void bits_not(const struct party *p, struct bits out, struct bits x)
{
    uint64_t *c0 = component_0(p, out);
    if (out.a != x.a)
        bits_copy(out, x);
    for (size_t i = 0; c0 != NULL && i < bits_words(out.n); i++)
        c0[i] = ~c0[i];
}

void bits_xor_public(const struct party *p, struct bits x, const uint64_t *c)
{
    uint64_t *c0 = component_0(p, x);
    for (size_t i = 0; c0 != NULL && i < bits_words(x.n); i++)
        c0[i] ^= c[i];
}

void bits_and_public(struct bits out, struct bits x, const uint64_t *c)
{
    for (size_t i = 0; i < bits_words(out.n); i++) {
        out.a[i] = x.a[i] & c[i];
        out.b[i] = x.b[i] & c[i];
    }
}

void bits_zero(struct bits x)
{
    memset(x.a, 0, bits_words(x.n) * sizeof *x.a);
    memset(x.b, 0, bits_words(x.n) * sizeof *x.b);
}

/* --- gates ------------------------------------------------------------------------------------ */

/* Walks the words of a layer's gates, in order. */
struct cursor {
    size_t term, at;
};

struct layer {
    struct party *p;
    const struct bits_term *terms;
    unsigned products; /* terms of an output */
    struct cursor make, keep, take;
};

/* The longest run of words, up to *words, within one gate; moves past it. */
static const struct bits_term *next_run(const struct layer *l, struct cursor *c, size_t *words,
                                        size_t *at)
{
    size_t all;
    while ((all = bits_words(l->terms[c->term].out.n)) == c->at)
        *c = (struct cursor){c->term + l->products, 0};
    *words = all - c->at < *words ? all - c->at : *words;
    *at = c->at;
    c->at += *words;
    return &l->terms[c->term];
}

static enum err layer_make(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct layer *l = self;
    (void)offset;
    for (size_t left = n / 8, k, at; left > 0; left -= k) {
        const struct bits_term *t = next_run(l, &l->make, (k = left, &k), &at);
        uint64_t *z = (uint64_t *)(void *)(out + n - 8 * left);
        const uint64_t *sum = t->c.a != NULL ? t->c.a + at : NULL;
        for (unsigned i = 0; i < l->products && t[i].x.a != NULL; i++, sum = z)
            l->p->kernel->gate(z, t[i].x.a + at, t[i].x.b + at, t[i].y.a + at, t[i].y.b + at, sum,
                               k);
    }
    TRY(prg_xor(l->p->prg[0][PRG_ZERO], out, n));
    return prg_xor(l->p->prg[1][PRG_ZERO], out, n);
}

static void layer_keep(void *self, size_t offset, const uint8_t *z, size_t n)
{
    struct layer *l = self;
    (void)offset;
    for (size_t left = n / 8, k, at; left > 0; left -= k) {
        const struct bits_term *t = next_run(l, &l->keep, (k = left, &k), &at);
        memcpy(t->out.a + at, z + n - 8 * left, 8 * k);
    }
}

static void layer_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct layer *l = self;
    (void)offset;
    for (size_t left = n / 8, k, at; left > 0; left -= k) {
        const struct bits_term *t = next_run(l, &l->take, (k = left, &k), &at);
        memcpy(t->out.b + at, in + n - 8 * left, 8 * k);
    }
}

static enum err run_layer(struct party *p, const struct bits_term *terms, size_t count,
                          unsigned products, bool apart)
{
    struct layer l = {.p = p, .terms = terms, .products = products};
    struct party_reshare r = {
        .p = p,
        .apart = apart,
        .make = layer_make,
        .keep = layer_keep,
        .take = layer_take,
        .self = &l,
    };
    for (size_t t = 0; t < count; t++)
        r.bytes += bits_words(terms[products * t].out.n) * sizeof(uint64_t);
    return party_reshare(&r);
}

enum err bits_terms(struct party *p, const struct bits_term *terms, size_t count)
{
    return run_layer(p, terms, count, 1, true);
}

enum err bits_sums(struct party *p, const struct bits_term *terms, size_t count, unsigned products)
{
    return run_layer(p, terms, count, products, true);
}

/* Addresses from the lowest to the highest that a set of vectors spans. */
struct span {
    uintptr_t low, high;
};

static void span_add(struct span *s, const uint64_t *v, size_t n)
{
    uintptr_t from = (uintptr_t)v, to = from + bits_words(n) * sizeof *v;
    s->low = from < s->low ? from : s->low;
    s->high = to > s->high ? to : s->high;
}

static bool span_meets(const struct span *s, const uint64_t *v, size_t n)
{
    uintptr_t from = (uintptr_t)v, to = from + bits_words(n) * sizeof *v;
    return from < s->high && s->low < to;
}

/* Whether no output can overlap an input: a quick answer, which errs towards no. */
static bool are_apart(const struct bits_term *terms, size_t count)
{
    struct span a = {UINTPTR_MAX, 0}, b = {UINTPTR_MAX, 0};
    for (size_t t = 0; t < count; t++) {
        span_add(&a, terms[t].out.a, terms[t].out.n);
        span_add(&b, terms[t].out.b, terms[t].out.n);
    }
    for (size_t t = 0; t < count; t++) {
        const uint64_t *in[] = {terms[t].x.a, terms[t].x.b, terms[t].y.a, terms[t].y.b};
        for (size_t k = 0; k < 4; k++)
            if (span_meets(&a, in[k], terms[t].out.n) || span_meets(&b, in[k], terms[t].out.n))
                return false;
    }
    return true;
}

enum err bits_and_layer(struct party *p, const struct bits_gate *gates, size_t count)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct bits_term *terms = scratch_take(p->scratch, count, sizeof *terms);
    enum err e = terms == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t g = 0; e == ERR_OK && g < count; g++)
        terms[g] = (struct bits_term){gates[g].out, gates[g].x, gates[g].y, {0}};
    if (e == ERR_OK)
        e = run_layer(p, terms, count, 1, are_apart(terms, count));
    scratch_release(p->scratch, mark);
    return e;
}

enum err bits_and(struct party *p, struct bits out, struct bits x, struct bits y)
{
    const struct bits_gate gate = {out, x, y};
    return bits_and_layer(p, &gate, 1);
}

enum err bits_and_all(struct party *p, struct bits out, struct planes *x)
{
    for (unsigned left = x->width; left > 1; left = (left + 1) / 2) {
        struct planes low = planes_view(x, 0, left / 2);
        struct planes high = planes_view(x, (left + 1) / 2, left / 2);
        TRY(bits_and(p, planes_flat(&low), planes_flat(&low), planes_flat(&high)));
    }
    bits_copy(out, planes_plane(x, 0));
    return ERR_OK;
}
