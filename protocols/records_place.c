#include "protocols/records_plan.h"

/*
 * Where a row of a side is in a marginal: where its cells begin, and its digit of the attribute
 * that the sides split.
 */
struct records_place {
    size_t at;
    uint32_t digit;
};

/* How far apart in a query's cells two successive values of an attribute are. */
static size_t stride_of(const struct records_shape *shape, const struct records_query *q,
                        uint16_t attribute)
{
    size_t stride = 1;
    for (size_t k = q->n; k-- > 0 && q->attribute[k] != attribute;)
        stride *= shape->size[q->attribute[k]];
    return stride;
}

static enum err places_of(struct party *p, const struct records_shape *shape,
                          const struct records_query *q, const struct records_side *s,
                          struct records_place **places)
{
    struct records_place *place;
    TRY(scratch_array(p->scratch, &place, s->rows));
    *places = place;
    for (size_t i = 0; i < s->rows; i++) {
        size_t left = i;
        place[i] = (struct records_place){0, 0};
        for (unsigned k = s->factors; k-- > 0;) {
            const struct records_factor *f = &s->factor[k];
            const size_t rows = records_factor_rows(shape, f), digit = left % rows;
            const size_t value = f->digit == RECORDS_HIGH ? digit * f->base : digit;
            place[i].at += value * stride_of(shape, q, f->attribute);
            place[i].digit += f->digit == RECORDS_WHOLE ? 0 : (uint32_t)value;
            left /= rows;
        }
    }
    return ERR_OK;
}

/* The values of the attribute that two sides split, or 1. */
static uint32_t split_size(const struct records_shape *shape, const struct records_side *s)
{
    for (unsigned k = 0; k < s->factors; k++)
        if (s->factor[k].digit != RECORDS_WHOLE)
            return shape->size[s->factor[k].attribute];
    return 1;
}

enum err records_place(struct party *p, const struct records_shape *shape,
                       const struct records_plans *plans, const struct records_plan *plan,
                       const uint16_t *parts, uint16_t *cells)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct records_side *left = &plans->side[plan->left], *right = &plans->side[plan->right];
    const uint32_t size = split_size(shape, left);
    struct records_place *row, *column;
    TRY(places_of(p, shape, plan->query, left, &row));
    TRY(places_of(p, shape, plan->query, right, &column));
    for (size_t i = 0; i < left->rows; i++)
        for (size_t j = 0; j < right->rows; j++)
            if (row[i].digit + column[j].digit < size)
                cells[row[i].at + column[j].at] = parts[i * right->rows + j];
    return ERR_OK;
}
