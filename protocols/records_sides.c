#include "protocols/records_private.h"

#include "mpc/move.h"

#include <string.h>

/* A tile is as long as there is memory for, and no shorter than matrix products like. */
#define TILE_BYTES ((size_t)4 << 20)
#define TILE_LEAST ((size_t)2048)

size_t records_tile_length(const struct records_plans *plans)
{
    const size_t n = TILE_BYTES / sizeof(uint16_t) / (plans->rows + plans->made) / 64 * 64;
    return n < TILE_LEAST ? TILE_LEAST : n;
}

struct making {
    struct party *p;
    const struct records_block *b;
    const struct records_tile *t;
};

/* A side of two factors. Row (i, j) is row i of x times row j of y. */
struct product {
    struct share16 *x, *y;
    size_t rows_x, rows_y;
    uint16_t *out; /* component a of what is made, then the side */
    uint16_t *b;   /* component b of what is made */
};

/* A digit's rows are sums of its values' rows. */
static enum err digit_row(const struct making *m, const struct records_factor *f, size_t i,
                          struct share16 *row)
{
    const size_t size = m->b->shape->size[f->attribute], n = m->t->n;
    const size_t step = f->digit == RECORDS_LOW ? f->base : 1;
    const size_t from = f->digit == RECORDS_LOW ? i : i * f->base;
    const size_t to = f->digit == RECORDS_LOW || from + f->base > size ? size : from + f->base;
    TRY(party_share16(m->p, row, n));
    memset(row->a, 0, n * sizeof *row->a);
    memset(row->b, 0, n * sizeof *row->b);
    for (size_t v = from; v < to; v += step) {
        const struct share16 x = records_row(m->b, f->attribute, v, m->t->from, n);
        m->p->kernel->linear16(row->a, 1, row->a, 1, x.a, n);
        m->p->kernel->linear16(row->b, 1, row->b, 1, x.b, n);
    }
    return ERR_OK;
}

static enum err factor_rows(const struct making *m, const struct records_factor *f,
                            struct share16 **row, size_t *rows)
{
    *rows = records_factor_rows(m->b->shape, f);
    *row = scratch_take(m->p->scratch, *rows, sizeof **row);
    if (*row == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < *rows; i++)
        if (f->digit == RECORDS_WHOLE)
            (*row)[i] = records_row(m->b, f->attribute, i, m->t->from, m->t->n);
        else
            TRY(digit_row(m, f, i, &(*row)[i]));
    return ERR_OK;
}

/* The number 1 for each record: component 0 carries it. */
static enum err ones(const struct making *m, uint16_t *out)
{
    const unsigned index = m->p->index;
    struct share16 one;
    TRY(party_share16(m->p, &one, m->t->n));
    for (size_t i = 0; i < one.n; i++) {
        one.a[i] = index == 0;
        one.b[i] = index == 2;
    }
    move_part_side(m->p, out, one);
    return ERR_OK;
}

/* What is made of a side of two factors: the products of all values but the last. */
static enum err plan_product(const struct making *m, const struct records_side *s,
                             struct product *k, struct move_term *terms, size_t *count)
{
    const size_t n = m->t->n;
    TRY(factor_rows(m, &s->factor[0], &k->x, &k->rows_x));
    TRY(factor_rows(m, &s->factor[1], &k->y, &k->rows_y));
    k->b = scratch_take(m->p->scratch, s->made * n, sizeof *k->b);
    if (k->b == NULL)
        return ERR_NOMEM;
    for (size_t i = 0, at = 0; i + 1 < k->rows_x; i++)
        for (size_t j = 0; j + 1 < k->rows_y; j++, at++)
            terms[(*count)++] = (struct move_term){
                .out = {k->out + (i * k->rows_y + j) * n, k->b + at * n},
                .x = OPERAND(k->x[i]),
                .y = OPERAND(k->y[j]),
                .words = n,
            };
    return ERR_OK;
}

static void subtract(const struct making *m, uint16_t *row, const uint16_t *other)
{
    m->p->kernel->linear16(row, 1, row, UINT16_MAX, other, m->t->n);
}

/*
 * The sum over all values of one factor is the other factor, so the last value's products are what
 * is left of it. What is made is read once.
 */
static void complete(const struct making *m, const struct product *k)
{
    const size_t n = m->t->n, last_x = k->rows_x - 1, last_y = k->rows_y - 1;
    uint16_t *const below = k->out + last_x * k->rows_y * n; /* the last value of x */
    for (size_t j = 0; j < last_y; j++)
        move_part_side(m->p, below + j * n, k->y[j]);
    for (size_t i = 0; i < last_x; i++) {
        uint16_t *const row = k->out + i * k->rows_y * n, *const beside = row + last_y * n;
        uint16_t *const b = k->b + i * last_y * n;
        move_part_side(m->p, beside, k->x[i]);
        for (size_t j = 0; j < last_y; j++) {
            uint16_t *const a = row + j * n;
            move_part_side(m->p, a, (struct share16){a, b + j * n, n});
            subtract(m, beside, a);
            subtract(m, below + j * n, a);
        }
    }
    move_part_side(m->p, below + last_y * n, k->x[last_x]);
    for (size_t j = 0; j < last_y; j++)
        subtract(m, below + last_y * n, below + j * n);
}

static enum err single(const struct making *m, const struct records_side *s, uint16_t *out)
{
    for (size_t i = 0; i < s->rows; i++)
        move_part_side(m->p, out + i * m->t->n,
                       records_row(m->b, s->factor[0].attribute, i, m->t->from, m->t->n));
    return ERR_OK;
}

enum err records_tile_sides(struct party *p, struct records_tile *t,
                            const struct records_plans *plans, const struct records_block *b)
{
    const struct making m = {p, b, t};
    struct product *product = scratch_take(p->scratch, plans->sides, sizeof *product);
    struct move_term *terms = scratch_take(p->scratch, plans->made, sizeof *terms);
    size_t count = 0;
    t->side = scratch_take(p->scratch, plans->sides, sizeof(uint16_t *));
    if (product == NULL || terms == NULL || t->side == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < plans->sides; k++) {
        const struct records_side *s = &plans->side[k];
        uint16_t *out = t->side[k] = scratch_take(p->scratch, s->rows * t->n, sizeof *out);
        product[k] = (struct product){.out = out};
        if (out == NULL)
            return ERR_NOMEM;
        TRY(s->factors == 0   ? ones(&m, out)
            : s->factors == 1 ? single(&m, s, out)
                              : plan_product(&m, s, &product[k], terms, &count));
    }
    if (count > 0)
        TRY(move_sums(p, &(struct move_sums){RING_16, terms, count, 1, true}));
    for (size_t k = 0; k < plans->sides; k++)
        if (plans->side[k].factors == 2)
            complete(&m, &product[k]);
    return ERR_OK;
}
