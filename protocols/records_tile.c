#include "protocols/records_tile.h"

#include "mpc/move/move.h"

#include <string.h>

/* A tile is as long as there is memory for, and no shorter than matrix products like. */
#define TILE_BYTES ((size_t)4 << 20)
#define TILE_LEAST ((size_t)2048)

size_t records_tile_length(const struct records_plans *plans)
{
    const size_t n = TILE_BYTES / sizeof(uint16_t) / (plans->rows + plans->made) / 64 * 64;
    return n < TILE_LEAST ? TILE_LEAST : n;
}

struct tile_making {
    struct party *p;
    const struct records_block *b;
    const struct records_tile *t;
};

/* What rows are made as: what they bring to this server's products, or one of their components. */
enum tile_form { FORM_PART, FORM_A, FORM_B };

struct tile_rows {
    struct share16 *row;
    size_t rows;
};

/* A side of two factors. Row (i, j) is row i of x times row j of y. */
struct tile_product {
    const struct tile_rows *x, *y;
    uint16_t *b; /* component b of what is made, where that is not a row of the side */
};

static void bring(const struct tile_making *m, enum tile_form form, uint16_t *out, struct share16 x)
{
    if (form == FORM_PART)
        move_part_side(m->p, out, x);
    else
        memcpy(out, form == FORM_A ? x.a : x.b, x.n * sizeof *out);
}

/* A digit's rows are sums of its values' rows. */
static void digit_row(const struct tile_making *m, const struct records_factor *f, size_t i,
                      struct share16 row)
{
    const size_t size = m->b->shape->size[f->attribute], n = m->t->n;
    const size_t step = f->digit == RECORDS_LOW ? f->base : 1;
    const size_t from = f->digit == RECORDS_LOW ? i : i * f->base;
    const size_t to = f->digit == RECORDS_LOW || from + f->base > size ? size : from + f->base;
    memset(row.a, 0, n * sizeof *row.a);
    memset(row.b, 0, n * sizeof *row.b);
    for (size_t v = from; v < to; v += step) {
        const struct share16 x = records_row(m->b, f->attribute, v, m->t->from, n);
        m->p->kernel->linear16(row.a, 1, row.a, 1, x.a, n);
        m->p->kernel->linear16(row.b, 1, row.b, 1, x.b, n);
    }
}

/* Puts rows in `room` where they are kept; else whole attributes' rows are those of the block. */
static enum err factor_rows(const struct tile_making *m, const struct records_factor *f,
                            const struct share16 *room, struct tile_rows *rows)
{
    const size_t n = m->t->n;
    rows->rows = records_factor_rows(m->b->shape, f);
    TRY(scratch_array(m->p->scratch, &rows->row, rows->rows));
    for (size_t i = 0; i < rows->rows; i++) {
        struct share16 *row = &rows->row[i];
        if (room != NULL)
            *row = share16_view(*room, i * n, n);
        else if (f->digit != RECORDS_WHOLE)
            TRY(party_share16(m->p, row, n));
        if (f->digit != RECORDS_WHOLE) {
            digit_row(m, f, i, *row);
            continue;
        }
        const struct share16 x = records_row(m->b, f->attribute, i, m->t->from, n);
        if (room == NULL) {
            *row = x;
            continue;
        }
        memcpy(row->a, x.a, n * sizeof *x.a);
        memcpy(row->b, x.b, n * sizeof *x.b);
    }
    return ERR_OK;
}

/* The number 1 for each record: component 0 carries it. */
static enum err ones(const struct tile_making *m, enum tile_form form, uint16_t *out)
{
    const unsigned index = m->p->index;
    struct share16 one;
    TRY(party_share16(m->p, &one, m->t->n));
    for (size_t i = 0; i < one.n; i++) {
        one.a[i] = index == 0;
        one.b[i] = index == 2;
    }
    bring(m, form, out, one);
    return ERR_OK;
}

/*
 * What is made for a side of two factors: the products of all values but the last. Component a, and
 * component b where it is kept, stand in rows of the side.
 */
static enum err plan_product(const struct tile_making *m, size_t side,
                             const struct records_plans *plans, struct tile_product *k,
                             struct move_term *terms, size_t *count)
{
    const struct records_side *s = &plans->side[side];
    const struct share16 kept = m->t->kept != NULL ? m->t->kept[side] : (struct share16){0};
    const size_t n = m->t->n;
    if (kept.a == NULL)
        TRY(scratch_array(m->p->scratch, &k->b, s->made * n));
    for (size_t i = 0, at = 0; i + 1 < k->x->rows; i++)
        for (size_t j = 0; j + 1 < k->y->rows; j++, at++) {
            const size_t row = (i * k->y->rows + j) * n;
            terms[(*count)++] = (struct move_term){
                .out = {(kept.a != NULL ? kept.a : m->t->side[side]) + row,
                        kept.a != NULL ? kept.b + row : k->b + at * n},
                .x = OPERAND(k->x->row[i]),
                .y = OPERAND(k->y->row[j]),
                .words = n,
            };
        }
    return ERR_OK;
}

static void subtract(const struct tile_making *m, uint16_t *row, const uint16_t *other)
{
    m->p->kernel->linear16(row, 1, row, UINT16_MAX, other, m->t->n);
}

/*
 * The sum over all values of one factor is the other factor, so the last value's products are what
 * is left of it. What is made is read once.
 */
static void complete(const struct tile_making *m, const struct tile_product *k, enum tile_form form,
                     uint16_t *out)
{
    const size_t n = m->t->n, last_x = k->x->rows - 1, last_y = k->y->rows - 1;
    uint16_t *const below = out + last_x * k->y->rows * n; /* the last value of x */
    for (size_t j = 0; j < last_y; j++)
        bring(m, form, below + j * n, k->y->row[j]);
    for (size_t i = 0; i < last_x; i++) {
        uint16_t *const row = out + i * k->y->rows * n, *const beside = row + last_y * n;
        bring(m, form, beside, k->x->row[i]);
        for (size_t j = 0; j < last_y; j++) {
            uint16_t *const a = row + j * n;
            if (form == FORM_PART)
                move_part_side(m->p, a, (struct share16){a, k->b + (i * last_y + j) * n, n});
            subtract(m, beside, a);
            subtract(m, below + j * n, a);
        }
    }
    bring(m, form, below + last_y * n, k->x->row[last_x]);
    for (size_t j = 0; j < last_y; j++)
        subtract(m, below + last_y * n, below + j * n);
}

static void single(const struct tile_making *m, const struct records_side *s, enum tile_form form,
                   uint16_t *out)
{
    for (size_t i = 0; i < s->rows; i++)
        bring(m, form, out + i * m->t->n,
              records_row(m->b, s->factor[0].attribute, i, m->t->from, m->t->n));
}

static enum err finish(const struct tile_making *m, const struct records_side *s,
                       const struct tile_product *k, enum tile_form form, uint16_t *out)
{
    if (s->factors == 0)
        return ones(m, form, out);
    if (s->factors == 1)
        single(m, s, form, out);
    else
        complete(m, k, form, out);
    return ERR_OK;
}

/* Where components are kept, makes both first, and from them what goes into products. */
static enum err finish_side(const struct tile_making *m, const struct records_side *s,
                            const struct tile_product *k, uint16_t *out, const struct share16 *kept)
{
    if (kept == NULL)
        return finish(m, s, k, FORM_PART, out);
    TRY(finish(m, s, k, FORM_A, kept->a));
    TRY(finish(m, s, k, FORM_B, kept->b));
    move_part_side(m->p, out, *kept);
    return ERR_OK;
}

enum err records_tile_keep(struct party *p, struct records_tile *t,
                           const struct records_plans *plans, const struct records_shape *shape)
{
    TRY(scratch_array(p->scratch, &t->kept, plans->sides));
    TRY(scratch_array(p->scratch, &t->factor, plans->factors));
    for (size_t k = 0; k < plans->sides; k++)
        TRY(party_share16(p, &t->kept[k], plans->side[k].rows * t->n));
    for (size_t k = 0; k < plans->factors; k++)
        TRY(party_share16(p, &t->factor[k], records_factor_rows(shape, &plans->factor[k]) * t->n));
    return ERR_OK;
}

static enum err all_factors(const struct tile_making *m, const struct records_plans *plans,
                            struct tile_rows **rows)
{
    TRY(scratch_array(m->p->scratch, rows, plans->factors));
    for (size_t k = 0; k < plans->factors; k++)
        TRY(factor_rows(m, &plans->factor[k], m->t->factor != NULL ? &m->t->factor[k] : NULL,
                        &(*rows)[k]));
    return ERR_OK;
}

enum err records_tile_sides(struct party *p, struct records_tile *t,
                            const struct records_plans *plans, const struct records_block *b)
{
    const struct tile_making m = {p, b, t};
    struct tile_product *product;
    struct move_term *terms;
    struct tile_rows *rows;
    size_t count = 0;
    TRY(scratch_array(p->scratch, &product, plans->sides));
    TRY(scratch_array(p->scratch, &terms, plans->made));
    TRY(scratch_array(p->scratch, &t->side, plans->sides));
    TRY(all_factors(&m, plans, &rows));
    for (size_t k = 0; k < plans->sides; k++) {
        const struct records_side *s = &plans->side[k];
        TRY(scratch_array(p->scratch, &t->side[k], s->rows * t->n));
        product[k] = (struct tile_product){&rows[s->number[0]], &rows[s->number[1]], NULL};
        if (s->factors == 2)
            TRY(plan_product(&m, k, plans, &product[k], terms, &count));
    }
    if (count > 0)
        TRY(move_sums(p, &(struct move_sums){.ring = RING_16,
                                             .terms = terms,
                                             .count = count,
                                             .products = 1,
                                             .apart = true,
                                             .proved = t->kept != NULL}));
    for (size_t k = 0; k < plans->sides; k++)
        TRY(finish_side(&m, &plans->side[k], &product[k], t->side[k],
                        t->kept != NULL ? &t->kept[k] : NULL));
    return ERR_OK;
}

void records_tile_add(struct party *p, const struct records_tile *t,
                      const struct records_plans *plans, uint16_t *parts)
{
    for (size_t k = 0; k < plans->plans; k++) {
        const struct records_plan *plan = &plans->plan[k];
        move_part_matrix(p, parts + plan->parts, t->side[plan->left], t->side[plan->right],
                         plans->side[plan->left].rows, plans->side[plan->right].rows, t->n);
    }
}
