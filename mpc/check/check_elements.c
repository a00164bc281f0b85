/* What a flush proves about numbers as elements modulo a prime, block by block. */
#include "mpc/check/check_prime.h"

#include <string.h>

/*
 * 64 words of a product make a block. Shorter pieces, which end a run of relations, fill up blocks
 * one after the other.
 */
struct elements_filling {
    struct check_prime *n;
    struct prime_block block;
    size_t at, used;
    check_prime_block_fn *call;
    void *arg;
};

static void filled(struct elements_filling *to)
{
    struct prime_view all;
    if (to->used == 0)
        return;
    for (unsigned v = 0; v < 4; v++) {
        memset(to->block.x[v] + to->used, 0, (PRIME_BLOCK - to->used) * sizeof(uint64_t));
        all.x[v] = to->block.x[v];
    }
    to->call(to->n, &all, to->at++, to->arg);
    to->used = 0;
}

static void fill(struct elements_filling *to, const struct prime_view *view, size_t n)
{
    if (n == PRIME_BLOCK) {
        to->call(to->n, view, to->at++, to->arg);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = PRIME_BLOCK - to->used < n - i ? PRIME_BLOCK - to->used : n - i;
        for (unsigned v = 0; v < 4; v++)
            if (view->x[v] != NULL)
                memcpy(to->block.x[v] + to->used, view->x[v] + i, k * sizeof(uint64_t));
            else
                memset(to->block.x[v] + to->used, 0, k * sizeof(uint64_t));
        to->used += k;
        if (to->used == PRIME_BLOCK)
            filled(to);
    }
}

/* --- factors ---------------------------------------------------------------------------------- */

/* The weights of one tile's words, and the same times 2^64. */
struct elements_weighing {
    const struct prime *f;
    uint64_t w[NUMBERS_TILE], over[NUMBERS_TILE], high[NUMBERS_TILE], high_over[NUMBERS_TILE];
};

static void weigh(struct elements_weighing *w, const struct check_record *r, const uint64_t *weight,
                  size_t n)
{
    const struct prime *f = w->f;
    for (size_t i = 0; i < n; i++) {
        w->w[i] = weight[r->one ? 0 : i];
        w->over[i] = prime_over(f, w->w[i]);
    }
    for (size_t i = 0; r->ring == RING_128 && i < n; i++) {
        w->high[i] = prime_below(f, prime_scaled(f, w->w[i], f->shift, f->shift_over));
        w->high_over[i] = prime_over(f, w->high[i]);
    }
}

/* Words of a vector, weighed. */
static void weighed_words(const struct elements_weighing *w, enum share_ring ring, const void *v,
                          size_t at, size_t n, uint64_t *out)
{
    const struct prime *f = w->f;
    uint64_t room[NUMBERS_TILE];
    if (ring == RING_128) {
        const uint64_t *x = (const uint64_t *)v + 2 * at;
        for (size_t i = 0; i < n; i++)
            out[i] = prime_scaled(f, x[2 * i], w->w[i], w->over[i]) +
                     prime_scaled(f, x[2 * i + 1], w->high[i], w->high_over[i]);
        return;
    }
    const uint64_t *x = check_numbers_words(ring, v, at, n, room);
    for (size_t i = 0; i < n; i++)
        out[i] = prime_scaled(f, x[i], w->w[i], w->over[i]);
}

/* Words as they are, in `room` or where they stand. */
static const uint64_t *plain_words(const struct prime *f, enum share_ring ring, const void *v,
                                   size_t at, size_t n, uint64_t room[NUMBERS_TILE])
{
    const uint64_t *x = (const uint64_t *)v + 2 * at;
    if (ring != RING_128)
        return check_numbers_words(ring, v, at, n, room);
    for (size_t i = 0; i < n; i++)
        room[i] = prime_wide(f, (word128)x[2 * i + 1] << 64 | x[2 * i]);
    return room;
}

/* The factor where a bit is 1, else 0. */
static void chosen(const struct check_prime *n, const uint64_t *bits, size_t at,
                   const uint64_t *factor, uint64_t *out, size_t words)
{
    static const uint64_t zeros[NUMBERS_TILE];
    n->p->kernel->bit_times64(out, bits + at / 64, factor, zeros, words);
}

/* Long words: their elements are made once, and from then on stand in place of the words. */
static bool is_kept(const struct check_record *r, unsigned l)
{
    return r->form[l] == RECORD_WORDS && (r->ring == RING_64 || r->ring == RING_128);
}

/*
 * x is weighed. Elements overwrite the words, or the first half of them: each word is read before
 * it is overwritten.
 */
static void put_kept(struct elements_filling *to, const struct elements_weighing *w,
                     const struct check_record *r, unsigned l, size_t at, size_t n)
{
    struct prime_view view = {{NULL}};
    for (unsigned v = 0; v < 4; v++) {
        uint64_t *vector = v < 2 ? r->x[l][v] : r->y[l][v - 2];
        if (vector == NULL)
            continue;
        if (!to->n->made && v < 2)
            weighed_words(w, r->ring, vector, at, n, vector + at);
        else if (!to->n->made)
            (void)plain_words(w->f, r->ring, vector, at, n, vector + at);
        view.x[v] = vector + at;
    }
    fill(to, &view, n);
}

/* Bits have a factor: it goes into V where both sides are bits, else into the weights. */
static void put_product(struct elements_filling *to, const struct elements_weighing *w,
                        const struct check_record *r, unsigned l, size_t at, size_t n)
{
    const struct prime *f = w->f;
    const uint64_t factor = prime_wide(f, r->factor[l]), over = prime_over(f, factor);
    struct prime_view view = {{NULL}};
    struct prime_block out;
    uint64_t scaled[NUMBERS_TILE];
    for (size_t i = 0; i < n; i++)
        scaled[i] = r->form[l] == RECORD_CHOICE ? prime_scaled(f, w->w[i], factor, over) : factor;
    for (unsigned v = 0; v < 4; v++) {
        const void *from = v < 2 ? r->x[l][v] : r->y[l][v - 2];
        if (from == NULL)
            continue;
        view.x[v] = out.x[v];
        if (r->form[l] == RECORD_WORDS && v < 2)
            weighed_words(w, r->ring, from, at, n, out.x[v]);
        else if (r->form[l] == RECORD_BOTH)
            chosen(to->n, from, at, v < 2 ? w->w : scaled, out.x[v], n);
        else if (v < 2)
            chosen(to->n, from, at, scaled, out.x[v], n);
        else
            view.x[v] = plain_words(f, r->form[l] == RECORD_WORDS ? r->ring : r->narrow[l], from,
                                    at, n, out.x[v]);
    }
    fill(to, &view, n);
}

/* Some words of a record, product by product. */
static void put_elements(struct elements_filling *to, const struct check_record *r, size_t at,
                         size_t n)
{
    struct elements_weighing w = {.f = &to->n->field};
    bool kept = to->n->made;
    for (unsigned l = 0; l < r->products; l++)
        kept = kept && is_kept(r, l);
    if (!kept)
        weigh(&w, r, to->n->claims[r->ring].weight + r->relation + (r->one ? 0 : at), n);
    for (unsigned l = 0; l < r->products; l++)
        (is_kept(r, l) ? put_kept : put_product)(to, &w, r, l, at, n);
}

/* --- columns of matrices ---------------------------------------------------------------------- */

_Static_assert(PRIME_BLOCK == KERNEL_STRIP && NUMBERS_TILE == KERNEL_STRIP, "a strip is a block");

/* What 64 values take where rows were: a sixteenth of a strip, an eighth of its half. */
#define VALUES (PRIME_BLOCK * sizeof(uint64_t) / sizeof(uint16_t))

/*
 * Halves of strips become values at each column, which follow one another from the beginning of x
 * on: a half is read before its place is taken.
 */
static void values(const struct check_prime *n, uint16_t *x, size_t words,
                   const uint64_t weight[KERNEL_ROWS])
{
    uint16_t *out = x;
    for (size_t half = 0; words > 0; words -= KERNEL_HALF * KERNEL_STRIP, half ^= 1) {
        uint64_t low[NUMBERS_TILE], high[NUMBERS_TILE];
        n->p->kernel->value16(low, high, x, weight + half * KERNEL_HALF);
        for (size_t i = 0; i < NUMBERS_TILE; i++)
            low[i] = prime_wide(&n->field, low[i] + ((word128)high[i] << KERNEL_VALUE_LOW));
        memcpy(out, low, sizeof low);
        out += VALUES;
        x += KERNEL_HALF * KERNEL_STRIP;
    }
}

void check_prime_columns(struct check_prime *n)
{
    for (unsigned k = 0; k < 2; k++)
        for (size_t part = 0; part < n->folded[k].count; part++) {
            const struct share16 f = n->folded[k].f[part], g = n->folded[k].g[part];
            const struct claims *c = &n->claims[CLAIMS_PAIRS + k];
            values(n, f.a, f.n, c->at[0]);
            values(n, f.b, f.n, c->at[0]);
            values(n, g.a, g.n, c->at[1]);
            values(n, g.b, g.n, c->at[1]);
        }
}

static void each_column(struct elements_filling *to)
{
    for (unsigned k = 0; k < 2; k++)
        for (size_t part = 0; part < to->n->folded[k].count; part++) {
            const struct share16 f = to->n->folded[k].f[part], g = to->n->folded[k].g[part];
            for (size_t i = 0; i < f.n / (KERNEL_HALF * KERNEL_STRIP) * VALUES; i += VALUES) {
                const struct prime_view view = {{(const void *)(f.a + i), (const void *)(f.b + i),
                                                 (const void *)(g.a + i), (const void *)(g.b + i)}};
                to->call(to->n, &view, to->at++, to->arg);
            }
        }
}

static void call_with(struct check_prime *n, const struct prime_block *block, size_t at,
                      check_prime_block_fn *call, void *arg)
{
    struct prime_view view;
    for (unsigned v = 0; v < 4; v++)
        view.x[v] = block->x[v];
    call(n, &view, at, arg);
}

void check_prime_each_block(struct check_prime *n, check_prime_block_fn *call, void *arg)
{
    struct elements_filling to = {.n = n, .call = call, .arg = arg};
    struct check_place place = {0, 0};
    struct check_record r;
    for (size_t k = 0; n->block != NULL && k < n->blocks; k++)
        call_with(n, &n->block[k], k, call, arg);
    if (n->block == NULL)
        each_column(&to);
    while (n->block == NULL && check_numbers_next(n->log, &place, &r))
        for (size_t at = 0, k; at < r.words; at += k) {
            k = r.words - at < NUMBERS_TILE ? r.words - at : NUMBERS_TILE;
            put_elements(&to, &r, at, k);
        }
    filled(&to);
    n->made = true;
}
