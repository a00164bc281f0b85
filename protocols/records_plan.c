#include "protocols/records_plan.h"

#include "protocols/records_choose.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS_MOST ((size_t)1 << 17) /* beyond which nothing is split */

size_t records_factor_rows(const struct records_shape *shape, const struct records_factor *f)
{
    const uint32_t size = shape->size[f->attribute];
    switch (f->digit) {
    case RECORDS_HIGH:
        return (size + f->base - 1) / f->base;
    case RECORDS_LOW:
        return f->base;
    case RECORDS_WHOLE:
        break;
    }
    return size;
}

/* --- options ---------------------------------------------------------------------------------- */

/* A side as an option names it: option k has named[2 k] and [2 k + 1]. */
struct named {
    struct records_side side;
    size_t slot;
};

struct listing {
    const struct records_shape *shape;
    struct records_query **query; /* in an order that does not depend on the caller's */
    size_t options;
    struct named *named;
    struct records_choices of;
};

static struct records_factor whole(uint16_t attribute)
{
    return (struct records_factor){attribute, RECORDS_WHOLE, 0};
}

static struct records_side side_of(const struct records_shape *shape, struct records_factor a,
                                   struct records_factor b)
{
    const size_t rows_a = records_factor_rows(shape, &a), rows_b = records_factor_rows(shape, &b);
    const struct records_side s = {.factors = 2,
                                   .factor = {a, b},
                                   .rows = rows_a * rows_b,
                                   .made = (rows_a - 1) * (rows_b - 1)};
    return s;
}

static struct records_side single(const struct records_shape *shape, uint16_t attribute)
{
    return (struct records_side){
        .factors = 1, .factor = {whole(attribute)}, .rows = shape->size[attribute]};
}

/* Options and sides are counted before there is room for them. */
static void add(struct listing *s, struct records_side left, struct records_side right)
{
    if (s->of.option != NULL) {
        s->named[2 * s->options] = (struct named){left, 2 * s->options};
        s->named[2 * s->options + 1] = (struct named){right, 2 * s->options + 1};
        s->of.option[s->options].cells = (uint64_t)left.rows * right.rows;
    }
    s->options++;
}

/* x y z as x high(y) times low(y) z, in all ways that leave no digit unused. */
static void add_splits(struct listing *s, uint16_t x, uint16_t y, uint16_t z)
{
    const uint32_t size = s->shape->size[y];
    /* the next base is the least with which there are fewer high digits */
    for (uint32_t base = 2, high; base < size; base = (size + high - 2) / (high - 1)) {
        high = (size + base - 1) / base;
        add(s, side_of(s->shape, whole(x), (struct records_factor){y, RECORDS_HIGH, base}),
            side_of(s->shape, (struct records_factor){y, RECORDS_LOW, base}, whole(z)));
    }
}

/* `rest` ascends and has one attribute, or two. */
static void add_pair(struct listing *s, uint16_t a, uint16_t b, const uint16_t *rest, size_t n)
{
    add(s, side_of(s->shape, whole(a), whole(b)),
        n == 1 ? single(s->shape, rest[0]) : side_of(s->shape, whole(rest[0]), whole(rest[1])));
}

static void add_options(struct listing *s, const struct records_query *q, bool split)
{
    const uint16_t *a = q->attribute;
    if (q->n == 1)
        add(s, single(s->shape, a[0]), (struct records_side){.rows = 1});
    else if (q->n == 2)
        add(s, single(s->shape, a[0]), single(s->shape, a[1]));
    else if (q->n == 4)
        for (size_t i = 1; i < 4; i++) {
            const uint16_t rest[2] = {a[i == 1 ? 2 : 1], a[i == 3 ? 2 : 3]};
            add_pair(s, a[0], a[i], rest, 2);
        }
    else
        for (size_t i = 0; i < 3; i++) {
            const uint16_t x = a[i == 0 ? 1 : 0], z = a[i == 2 ? 1 : 2];
            add_pair(s, x, z, &a[i], 1);
            if (split) {
                add_splits(s, x, a[i], z);
                add_splits(s, z, a[i], x);
            }
        }
}

static int compare_factors(const struct records_factor *f, const struct records_factor *g)
{
    if (f->attribute != g->attribute)
        return f->attribute < g->attribute ? -1 : 1;
    if (f->digit != g->digit)
        return f->digit < g->digit ? -1 : 1;
    return (f->base > g->base) - (f->base < g->base);
}

static int by_factors(const void *x, const void *y)
{
    const struct records_side *a = &((const struct named *)x)->side;
    const struct records_side *b = &((const struct named *)y)->side;
    int order = (a->factors > b->factors) - (a->factors < b->factors);
    for (unsigned k = 0; order == 0 && k < a->factors; k++)
        order = compare_factors(&a->factor[k], &b->factor[k]);
    return order;
}

static int by_cells(const void *x, const void *y)
{
    const struct records_query *a = *(struct records_query *const *)x,
                               *b = *(struct records_query *const *)y;
    if (a->out.n != b->out.n)
        return a->out.n > b->out.n ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t k = 0; k < a->n; k++)
        if (a->attribute[k] != b->attribute[k])
            return a->attribute[k] < b->attribute[k] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void list_options(struct listing *s, bool split)
{
    s->options = 0;
    for (size_t q = 0; q < s->of.queries; q++) {
        s->of.first[q] = s->options;
        add_options(s, s->query[q], split);
    }
    s->of.first[s->of.queries] = s->options;
}

/* Each side once, in order, and options point to them. */
static void number_sides(struct listing *s)
{
    const size_t n = 2 * s->options;
    qsort(s->named, n, sizeof *s->named, by_factors);
    s->of.sides = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t slot = s->named[i].slot;
        if (i == 0 || by_factors(&s->named[i], &s->named[i - 1]) != 0)
            s->of.side[s->of.sides++] = s->named[i].side;
        if (slot % 2 == 0)
            s->of.option[slot / 2].left = (uint32_t)(s->of.sides - 1);
        else
            s->of.option[slot / 2].right = (uint32_t)(s->of.sides - 1);
    }
}

static enum err list_sides(struct party *p, struct listing *s, struct records_query *queries)
{
    struct scratch *const scratch = p->scratch;
    bool split = true;
    TRY(scratch_array(scratch, &s->query, s->of.queries));
    TRY(scratch_array(scratch, &s->of.first, s->of.queries + 1));
    TRY(scratch_array(scratch, &s->of.choice, s->of.queries));
    TRY(scratch_array(scratch, &s->of.kept, s->of.queries));
    for (size_t q = 0; q < s->of.queries; q++)
        s->query[q] = &queries[q];
    qsort(s->query, s->of.queries, sizeof(struct records_query *), by_cells);
    list_options(s, split);
    if (s->options > OPTIONS_MOST)
        list_options(s, split = false);
    TRY(scratch_array(scratch, &s->of.option, s->options));
    TRY(scratch_array(scratch, &s->named, 2 * s->options));
    TRY(scratch_array(scratch, &s->of.side, 2 * s->options));
    TRY(scratch_array(scratch, &s->of.uses, 2 * s->options));
    list_options(s, split);
    number_sides(s);
    memset(s->of.uses, 0, s->of.sides * sizeof *s->of.uses);
    return ERR_OK;
}

/* --- plans ------------------------------------------------------------------------------------ */

static enum err check_query(const struct records_shape *shape, const struct records_query *q)
{
    size_t cells = 1;
    if (q->n == 0 || q->n > RECORDS_ORDER_MAX)
        return ERR_RANGE;
    for (size_t k = 0; k < q->n; k++) {
        if (q->attribute[k] >= shape->attributes ||
            (k > 0 && q->attribute[k] <= q->attribute[k - 1]))
            return ERR_RANGE;
        cells *= shape->size[q->attribute[k]];
    }
    return cells == q->out.n ? ERR_OK : ERR_RANGE;
}

/* The factor of fewer rows first: a check draws weights for each of its rows (check_matrix.h). */
static void put_in_order(const struct records_shape *shape, struct records_side *s)
{
    const struct records_factor first = s->factor[0];
    if (s->factors < 2 ||
        records_factor_rows(shape, &s->factor[1]) >= records_factor_rows(shape, &first))
        return;
    s->factor[0] = s->factor[1];
    s->factor[1] = first;
}

/* The sides in use, and where each plan's cells stand. */
static void take_choice(struct listing *s, struct records_plans *plans)
{
    for (size_t k = 0; k < s->of.sides; k++)
        if (s->of.uses[k] > 0) {
            plans->rows += s->of.side[k].rows;
            plans->made += s->of.side[k].made;
            s->of.uses[k] = (uint32_t)plans->sides; /* from here on: its number */
            plans->side[plans->sides] = s->of.side[k];
            put_in_order(s->shape, &plans->side[plans->sides++]);
        }
    for (size_t q = 0; q < s->of.queries; q++) {
        const struct records_option *o = &s->of.option[s->of.choice[q]];
        plans->plan[plans->plans++] = (struct records_plan){
            .query = s->query[q],
            .left = s->of.uses[o->left],
            .right = s->of.uses[o->right],
            .parts = plans->parts,
            .cells = plans->cells,
        };
        plans->parts += o->cells;
        plans->cells += s->query[q]->out.n;
    }
}

static size_t number_of(struct records_plans *plans, const struct records_factor *f)
{
    size_t k = 0;
    while (k < plans->factors && compare_factors(&plans->factor[k], f) != 0)
        k++;
    if (k == plans->factors)
        plans->factor[plans->factors++] = *f;
    return k;
}

/* Each factor of a side of two, once. */
static void number_factors(struct records_plans *plans)
{
    for (size_t k = 0; k < plans->sides; k++)
        for (unsigned i = 0; plans->side[k].factors == 2 && i < 2; i++)
            plans->side[k].number[i] = number_of(plans, &plans->side[k].factor[i]);
}

static enum err find_plans(struct party *p, struct listing *s, struct records_plans *plans,
                           struct records_query *queries)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    TRY(list_sides(p, s, queries));
    records_choose(&s->of);
    take_choice(s, plans);
    number_factors(plans);
    return ERR_OK;
}

enum err records_plans_new(struct party *p, struct records_plans *plans,
                           const struct records_shape *shape, struct records_query *queries,
                           size_t count)
{
    struct listing s = {.shape = shape, .of.queries = count};
    *plans = (struct records_plans){0};
    TRY(scratch_array(p->scratch, &plans->side, 2 * count));
    TRY(scratch_array(p->scratch, &plans->plan, count));
    TRY(scratch_array(p->scratch, &plans->factor, 4 * count));
    for (size_t q = 0; q < count; q++)
        TRY(check_query(shape, &queries[q]));
    return find_plans(p, &s, plans, queries);
}
