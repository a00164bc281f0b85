/*
 * Intervals from noisy counts themselves. Where measured marginals hold all columns of an item,
 * sums of their cells are off by Gaussian noise of a known size alone, however the model was
 * fitted. Such sums are n, of the cells' rows, and s, of their rows times what a row adds; several
 * marginals are pooled by the inverse of the variance of n.
 *
 *   COUNT   n +- z deviations
 *   SUM     s +- z deviations
 *   AVG     every r for which s - r n is within z of its deviations (Fieller 1954): where n is not
 *           clearly above 0, that may be every number
 *   SHARE   the same: s is of the rows for which the condition holds, n of all
 *
 * A line that takes some codes of a group, or a part of a bin, takes the same share of a cell's
 * rows as the model does: its sums tell how far the model is from its counts, and no more.
 */
#include "aim/answer/answer_private.h"
#include "base/memory.h"

#include <math.h>

#define WHOLE (1 - 1e-9) /* shares of all codes of a group, added up */

/*
 * A question's weights: of each case, of each group of codes of the marginal's columns (a code by
 * itself where none are merged).
 */
struct counted_weights {
    const struct question *question; /* NULL: none */
    double *share, *number;          /* of the part that the case takes, and its mean for y */
};

/* An item in one measured marginal. */
struct counting {
    const struct answer *answer;
    const struct question_item *item;
    const struct model *model;
    const struct densities *inside;
    const struct measurement *x;
    uint32_t size[CLIQUE_MAX];    /* of each column: groups */
    size_t groups;                /* of all together */
    bool sums;                    /* s is asked for */
    bool parted;                  /* a part of a bin or of a group has been taken */
    struct counted_weights of[2]; /* the second: the rest of a SHARE */
};

static const struct domain_attribute *column_of(const struct counting *c, unsigned i)
{
    return &c->answer->question->domain->attribute[c->x->clique.attribute[i]];
}

/* The group of each code, or NULL. */
static const uint32_t *groups_of(const struct counting *c, unsigned i)
{
    return c->x->merges != NULL ? c->x->merges->group[c->x->clique.attribute[i]] : NULL;
}

static uint32_t group_at(const struct counting *c, unsigned i, uint32_t code)
{
    const uint32_t *group = groups_of(c, i);
    return group != NULL ? group[code] : code;
}

static bool is_y(const struct counting *c, unsigned i)
{
    return !c->item->rows && c->x->clique.attribute[i] == c->item->column;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* What case k takes of a code: a missing y is not taken. */
static struct density_part part_of(const struct counting *c, const struct question *q, unsigned k,
                                   unsigned i, uint32_t code)
{
    const uint16_t column = c->x->clique.attribute[i];
    const struct answer_state w = {.question = q, .inside = c->inside};
    const struct values *v = case_values(&q->where.one[k], column);
    const bool known = code < column_of(c, i)->values;
    struct density_part p = {.share = known || !is_y(c, i)};
    if (v != NULL && p.share > 0)
        p = answer_part(&w, column, *v, code, INFINITY);
    else if (known && c->sums && is_y(c, i))
        p = density_whole(c->inside->of[column], code);
    if (!c->sums || !is_y(c, i))
        p.mean = 0;
    return p;
}

/* Of a group the mean over its codes, by the model's shares. */
static void weigh_column(struct counting *c, const struct question *q, unsigned k, unsigned i,
                         double *share, double *number)
{
    const double *of = groups_of(c, i) != NULL ? model_share(c->model, c->x->clique.attribute[i])
                                               : NULL;
    for (uint32_t code = 0; code < column_of(c, i)->size; code++) {
        const struct density_part p = part_of(c, q, k, i, code);
        const uint32_t g = group_at(c, i, code);
        const double part = (of != NULL ? of[code] : 1) * p.share;
        c->parted |= p.share > 0 && c->sums && is_y(c, i) &&
                     (of != NULL || domain_has_bins(column_of(c, i)));
        share[g] += part;
        number[g] += part * p.mean;
    }
    for (uint32_t g = 0; g < c->size[i]; g++) {
        c->parted |= share[g] > 0 && share[g] < WHOLE;
        number[g] = share[g] > 0 ? number[g] / share[g] : 0;
    }
}

static enum err weigh(struct counting *c, struct counted_weights *w, const struct question *q)
{
    w->question = q;
    TRY(memory_new(&w->share, q->where.n * c->groups));
    TRY(memory_new(&w->number, q->where.n * c->groups));
    for (unsigned k = 0; k < q->where.n; k++)
        for (size_t i = 0, at = k * c->groups; i < c->x->clique.n; at += c->size[i++])
            weigh_column(c, q, k, (unsigned)i, w->share + at, w->number + at);
    return ERR_OK;
}

/* Adds the weight of a cell's rows, and what a row adds to the sum times it. */
static void add_weights(const struct counting *c, const struct counted_weights *w,
                        const uint32_t *at, double *rows, double *sum)
{
    for (unsigned k = 0; k < w->question->where.n; k++) {
        double share = 1, number = 0;
        size_t first = k * c->groups;
        for (unsigned i = 0; i < c->x->clique.n; first += c->size[i++]) {
            share *= w->share[first + at[i]];
            number += w->number[first + at[i]];
        }
        *rows += share;
        *sum += share * number;
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

static void scale(struct answer_counted *l, double by)
{
    l->rows *= by;
    l->sum *= by;
    l->rows_variance *= by * by;
    l->sum_variance *= by * by;
    l->both *= by * by;
}

static void add_up(struct answer_counted *into, const struct answer_counted *one)
{
    into->rows += one->rows;
    into->sum += one->sum;
    into->rows_variance += one->rows_variance;
    into->sum_variance += one->sum_variance;
    into->both += one->both;
    into->parted |= one->parted;
}

/*
 * Adds sums to those pooled before; `weight` is the inverse of the variance of n. Sums of whole
 * cells alone, if there are any.
 */
static void pool(struct answer_counted *into, struct answer_counted *one)
{
    const double weight = 1 / one->rows_variance;
    double all;
    if (!(one->rows_variance > 0) || (into->weight > 0 && !into->parted && one->parted))
        return;
    if (into->parted && !one->parted)
        *into = (struct answer_counted){.weight = 0};
    all = into->weight + weight;
    scale(one, weight / all);
    scale(into, into->weight / all);
    add_up(into, one);
    into->weight = all;
}

/* A cell on its way to the lines that have rows of it. */
struct counted_cell {
    const uint32_t *at;
    struct answer_counted sums;
    double *share;               /* of its rows, for each line; all 0 before and after */
    struct answer_counted *line; /* NULL: shares are still being added up */
};

static void add_share(const struct counted_cell *cell, size_t to)
{
    struct answer_counted part = cell->sums;
    scale(&part, cell->share[to]);
    part.parted |= cell->share[to] < WHOLE;
    add_up(&cell->line[to], &part);
    cell->share[to] = 0;
}

/* Codes of a group take their shares to lines; those of one line are one part of the group. */
static void add_to_lines(const struct counting *c, const struct counted_cell *cell, size_t groups,
                         size_t to, double share)
{
    const struct question *q = c->answer->question;
    const struct question_group *by = &q->group[groups];
    const double *of;
    uint32_t code, end;
    unsigned i = 0;
    if (groups == q->groups) {
        if (cell->line == NULL)
            cell->share[to] += share;
        else if (cell->share[to] > 0)
            add_share(cell, to);
        return;
    }
    while (c->x->clique.attribute[i] != by->column)
        i++;
    of = groups_of(c, i) != NULL ? model_share(c->model, by->column) : NULL;
    code = of != NULL ? 0 : cell->at[i];
    end = of != NULL ? column_of(c, i)->size : code + 1;
    for (; code < end; code++)
        if (group_at(c, i, code) == cell->at[i])
            add_to_lines(c, cell, groups + 1,
                         to * column_of(c, i)->size + question_group_code(by, code),
                         share * (of != NULL ? of[code] : 1));
}

static struct answer_counted cell_of(const struct counting *c, const uint32_t *at, double y)
{
    const double variance = c->x->sigma * c->x->sigma;
    double rows = 0, sum = 0, none = 0;
    add_weights(c, &c->of[0], at, &rows, &sum);
    if (c->of[1].question != NULL) {
        sum = rows;
        add_weights(c, &c->of[1], at, &rows, &none);
    }
    return (struct answer_counted){.rows = rows * y,
                                   .sum = sum * y,
                                   .rows_variance = variance * rows * rows,
                                   .sum_variance = variance * sum * sum,
                                   .both = variance * rows * sum,
                                   .parted = c->parted};
}

static enum err add_measurement(const struct counting *c, struct answer_counted *pooled)
{
    struct answer_counted *line CLEAN(memory_release) = NULL;
    double *share CLEAN(memory_release) = NULL;
    const uint64_t cells = measurement_cells(c->x, c->answer->question->domain);
    uint32_t at[CLIQUE_MAX] = {0};
    TRY(memory_new(&line, c->answer->lines));
    TRY(memory_new(&share, c->answer->lines));
    for (uint64_t i = 0; i < cells; i++) {
        struct counted_cell cell = {at, cell_of(c, at, c->x->y[i]), share, NULL};
        for (int again = 0; again < 2 && cell.sums.rows_variance > 0; again++) {
            add_to_lines(c, &cell, 0, 0, 1);
            cell.line = line;
        }
        for (unsigned k = c->x->clique.n; k-- > 0 && ++at[k] == c->size[k];)
            at[k] = 0;
    }
    for (size_t i = 0; i < c->answer->lines; i++)
        pool(&pooled[i], &line[i]);
    return ERR_OK;
}

static void clear(struct counting *c)
{
    for (int i = 0; i < 2; i++) {
        memory_free_all(&c->of[i].share, &c->of[i].number);
    }
}

/* Whether a question asks for codes of a group line by line, and for some of them besides. */
static bool picks_codes(const struct counting *c, const struct question *q)
{
    for (unsigned i = 0; i < c->x->clique.n; i++) {
        bool group = false, asked = is_y(c, i);
        for (size_t g = 0; g < c->answer->question->groups; g++)
            group |= c->answer->question->group[g].column == c->x->clique.attribute[i];
        for (unsigned k = 0; k < q->where.n; k++)
            asked |= case_values(&q->where.one[k], c->x->clique.attribute[i]) != NULL;
        if (group && asked && groups_of(c, i) != NULL)
            return true;
    }
    return false;
}

static enum err add(const struct answer_terms *t, const struct answer *a, size_t item,
                    const struct measurement *x, struct answer_counted *line)
{
    const struct question *q = a->question;
    const struct question_item *of = &q->item[item];
    struct counting c CLEAN(clear) = {.answer = a,
                                      .item = of,
                                      .model = model_sums_of(t->model),
                                      .inside = t->inside,
                                      .x = x,
                                      .sums = of->aggregate == AGGREGATE_SUM ||
                                              of->aggregate == AGGREGATE_AVG};
    for (unsigned i = 0; i < x->clique.n; i++) {
        c.size[i] = groups_of(&c, i) != NULL ? x->merges->groups[x->clique.attribute[i]]
                                             : column_of(&c, i)->size;
        c.groups += c.size[i];
    }
    if (picks_codes(&c, of->part[0] != NULL ? of->part[0] : q))
        return ERR_OK;
    TRY(weigh(&c, &c.of[0], of->part[0] != NULL ? of->part[0] : q));
    if (of->part[1] != NULL)
        TRY(weigh(&c, &c.of[1], of->part[1]));
    return add_measurement(&c, line);
}

enum err answer_counted(const struct answer_terms *t, const struct answer *a, size_t item,
                        struct answer_counted *line)
{
    const struct scope columns = answer_columns(a->question, item);
    const struct answer_counted none = {.weight = 1};
    double low, high;
    if (a->question->events || /* the counts are of units */
        !answer_counted_interval(&none, a->question->item[item].aggregate, 1, &low, &high))
        return ERR_OK;
    for (size_t i = 0; i < t->errors->counts; i++) {
        const struct measurement *x = &t->errors->count[i];
        const struct scope measured = scope_of(&x->clique);
        if (scope_intersect(&measured, &columns).n == columns.n)
            TRY(add(t, a, item, x, line));
    }
    return ERR_OK;
}

/* --- intervals -------------------------------------------------------------------------------- */

static void around(double number, double variance, double z, double *low, double *high)
{
    *low = number - z * sqrt(variance);
    *high = number + z * sqrt(variance);
}

/* (s - r n)^2 <= z^2 var(s - r n): a r^2 - 2 b r + c <= 0. */
static void ratio(const struct answer_counted *l, double z, double *low, double *high)
{
    const double a = l->rows * l->rows - z * z * l->rows_variance,
                 b = l->rows * l->sum - z * z * l->both,
                 c = l->sum * l->sum - z * z * l->sum_variance, root = sqrt(fmax(0, b * b - a * c));
    *low = a > 0 ? (b - root) / a : -INFINITY;
    *high = a > 0 ? (b + root) / a : INFINITY;
}

bool answer_counted_interval(const struct answer_counted *l, enum question_aggregate aggregate,
                             double z, double *low, double *high)
{
    if (!(l->weight > 0))
        return false;
    switch (aggregate) {
    case AGGREGATE_COUNT:
        around(l->rows, l->rows_variance, z, low, high);
        return true;
    case AGGREGATE_SUM:
        around(l->sum, l->sum_variance, z, low, high);
        return true;
    case AGGREGATE_AVG:
        ratio(l, z, low, high);
        return true;
    case AGGREGATE_SHARE:
        ratio(l, z, low, high);
        *low *= 100;
        *high *= 100;
        return true;
    default:
        return false;
    }
}
