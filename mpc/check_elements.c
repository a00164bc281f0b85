/* What a flush proves of numbers as elements modulo a prime, block by block. */
#include "mpc/check_prime.h"

#include <string.h>

/* Blocks as they fill up. */
struct filling {
    struct numbers *n;
    struct prime_block block;
    size_t at, used;
    numbers_block_fn *call;
    void *arg;
};

static void filled(struct filling *to)
{
    if (to->used == 0)
        return;
    for (unsigned v = 0; v < 4; v++)
        memset(to->block.x[v] + to->used, 0, (PRIME_BLOCK - to->used) * sizeof(uint64_t));
    to->call(to->n, &to->block, to->at++, to->arg);
    to->used = 0;
}

static void fill(struct filling *to, const uint64_t *const x[4], size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = PRIME_BLOCK - to->used < n - i ? PRIME_BLOCK - to->used : n - i;
        for (unsigned v = 0; v < 4; v++)
            memcpy(to->block.x[v] + to->used, x[v] + i, k * sizeof(uint64_t));
        to->used += k;
        if (to->used == PRIME_BLOCK)
            filled(to);
    }
}

/* Words of a vector modulo p, times w where there is one: each `stride`th word of out. */
static void residues(const struct prime *f, const struct check_record *r, const void *v, size_t at,
                     size_t n, const uint64_t *w, const uint64_t *over, uint64_t *out)
{
    const size_t stride = r->products;
    uint64_t room[CLAIMS_TILE];
    const uint64_t *x = room;
    if (r->ring != RING_128)
        x = claims_words(r->ring, v, at, n, room);
    for (size_t i = 0; r->ring == RING_128 && i < n; i++)
        room[i] = v == NULL ? 0 : prime_wide(f, ((const word128 *)v)[at + i]);
    for (size_t i = 0; w == NULL && i < n; i++)
        out[i * stride] = x[i];
    for (size_t i = 0; w != NULL && i < n; i++)
        out[i * stride] = v == NULL ? 0 : prime_scaled(f, x[i], w[i], over[i]);
}

/* Some words of a record, word by word of all its products. */
static void put_elements(struct filling *to, const struct check_record *r, size_t at, size_t n)
{
    const struct prime *f = &to->n->field;
    const uint64_t *weight = to->n->claims[r->ring].weight + r->relation + (r->one ? 0 : at);
    uint64_t x[4][NUMBERS_PRODUCTS * CLAIMS_TILE], w[CLAIMS_TILE], over[CLAIMS_TILE];
    for (size_t i = 0; i < n; i++) {
        w[i] = weight[r->one ? 0 : i];
        over[i] = prime_over(f, w[i]);
    }
    for (unsigned l = 0; l < r->products; l++)
        for (unsigned side = 0; side < 2; side++) {
            residues(f, r, r->x[l][side], at, n, w, over, x[side] + l);
            residues(f, r, r->y[l][side], at, n, NULL, NULL, x[2 + side] + l);
        }
    fill(to, (const uint64_t *const[4]){x[0], x[1], x[2], x[3]}, n * r->products);
}

_Static_assert(PRIME_BLOCK == KERNEL_STRIP && CLAIMS_TILE == KERNEL_STRIP, "a strip is a block");

/* Columns of a strip, whose rows weigh `weight`. */
static void column_values(const struct numbers *n, const uint16_t *x,
                          const uint64_t weight[KERNEL_ROWS], uint64_t out[CLAIMS_TILE])
{
    uint64_t high[CLAIMS_TILE];
    n->p->kernel->value16(out, high, x, weight);
    for (size_t i = 0; i < CLAIMS_TILE; i++)
        out[i] = prime_wide(&n->field, out[i] + ((word128)high[i] << KERNEL_VALUE_LOW));
}

/* Strips of a part of what matrices are folded to: a block each. */
static void column_blocks(const struct numbers *n, const struct claims *c, struct share16 f,
                          struct share16 g, struct prime_block *block)
{
    for (size_t at = 0; at < f.n; at += KERNEL_ROWS * KERNEL_STRIP, block++) {
        column_values(n, f.a + at, c->at[0], block->x[0]);
        column_values(n, f.b + at, c->at[0], block->x[1]);
        column_values(n, g.a + at, c->at[1], block->x[2]);
        column_values(n, g.b + at, c->at[1], block->x[3]);
    }
}

enum err numbers_columns(struct numbers *n)
{
    struct prime_block *block = scratch_take(n->p->scratch, n->strips, sizeof *block);
    n->column = block;
    if (block == NULL)
        return ERR_NOMEM;
    for (unsigned k = 0; k < 2; k++)
        for (size_t part = 0; part < n->folded[k].count; part++) {
            const struct share16 f = n->folded[k].f[part];
            column_blocks(n, &n->claims[CLAIMS_PAIRS + k], f, n->folded[k].g[part], block);
            block += f.n / (KERNEL_ROWS * KERNEL_STRIP);
        }
    return ERR_OK;
}

void numbers_each_block(struct numbers *n, numbers_block_fn *call, void *arg)
{
    struct filling to = {.n = n, .call = call, .arg = arg};
    struct check_place place = {0, 0};
    struct check_record r;
    for (size_t k = 0; n->block != NULL && k < n->blocks; k++)
        call(n, &n->block[k], k, arg);
    for (; n->block == NULL && to.at < n->strips; to.at++)
        call(n, &n->column[to.at], to.at, arg);
    while (n->block == NULL && check_numbers_next(n->log, &place, &r))
        for (size_t at = 0, k; at < r.words; at += k) {
            k = r.words - at < CLAIMS_TILE ? r.words - at : CLAIMS_TILE;
            put_elements(&to, &r, at, k);
        }
    filled(&to);
}
