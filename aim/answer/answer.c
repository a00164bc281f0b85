#include "aim/answer/answer.h"

#include "aim/answer/answer_private.h"
#include "aim/model/model_weigh.h"
#include "base/memory.h"

#include <math.h>

/* --- columns ---------------------------------------------------------------------------------- */

static void join_column(struct scope *s, uint16_t column)
{
    struct scope one = {.n = 1, .attribute = {column}};
    *s = scope_union(s, &one);
}

/* The columns of the condition and of GROUP BY. */
static struct scope columns_of_rows(const struct question *q)
{
    struct scope s = {.n = 0};
    for (size_t i = 0; i < q->groups; i++)
        join_column(&s, q->group[i].column);
    for (unsigned k = 0; k < q->where.n; k++)
        for (unsigned i = 0; i < q->where.one[k].parts; i++)
            join_column(&s, q->where.one[k].part[i].column);
    answer_events_columns(q, &s);
    return s;
}

struct scope answer_columns(const struct question *q, size_t item)
{
    struct scope s = columns_of_rows(q);
    for (size_t i = 0; i < 2 && q->item[item].part[i] != NULL; i++) {
        const struct scope part = answer_columns(q->item[item].part[i], 0);
        s = scope_union(&s, &part);
    }
    if (!q->item[item].rows)
        join_column(&s, q->item[item].column);
    return s;
}

/* --- rows of each code of y ------------------------------------------------------------------- */

/* The weights of a case's conditions on columns other than y; memory_free(&room) frees them. */
static enum err case_weights(const struct answer_state *w, const struct one_case *c,
                             struct model_weight *weight, size_t *weights, double **room)
{
    const struct domain *d = w->question->domain;
    size_t cells = 0, at = 0;
    *weights = 0;
    for (unsigned i = 0; i < c->parts; i++)
        cells += d->attribute[c->part[i].column].size;
    TRY(memory_new(room, cells));
    for (unsigned i = 0; i < c->parts; i++) {
        uint16_t column = c->part[i].column;
        if (column == w->y)
            continue;
        weight[(*weights)++] = (struct model_weight){column, *room + at};
        for (uint32_t code = 0; code < d->attribute[column].size; code++)
            (*room)[at++] = answer_disturb_share(
                w, column, answer_part(w, column, c->part[i].values, code, INFINITY).share);
    }
    return ERR_OK;
}

static enum err weigh_rows(const struct answer_state *w, struct model_sums *m,
                           const struct model_weight *weight, size_t weights, double *mass,
                           struct log *log)
{
    return model_weigh(m, &w->asked, weight, weights, mass, log);
}

static enum err weigh_case(struct answer_state *w, struct model_sums *m, unsigned k,
                           struct log *log)
{
    struct model_weight weight[CASE_COLUMNS_MAX];
    double *room CLEAN(memory_release) = NULL;
    size_t weights;
    TRY(case_weights(w, &w->question->where.one[k], weight, &weights, &room));
    TRY((w->question->events ? answer_weigh_events : weigh_rows)(w, m, weight, weights,
                                                                 w->mass + k * w->cells, log));
    if (w->cell != NULL)
        TRY(answer_cut_case(w, m, weight, weights, log));
    return ERR_OK;
}

/* The part of each code of y that each case leaves. */
static enum err find_parts(struct answer_state *w)
{
    const struct question *q = w->question;
    TRY(memory_new(&w->part, q->where.n * w->codes));
    for (unsigned k = 0; k < q->where.n; k++) {
        const struct values *v = w->y != ANSWER_ROWS ? case_values(&q->where.one[k], w->y) : NULL;
        for (uint32_t code = 0; code < w->codes; code++) {
            struct density_part *part = &w->part[k * w->codes + code];
            *part = v != NULL ? answer_part(w, w->y, *v, code, INFINITY)
                    : w->density != NULL && code < w->known ? density_whole(w->density, code)
                                                            : (struct density_part){.share = 1};
            if (w->y != ANSWER_ROWS)
                answer_disturb_part(w, w->y, part);
        }
    }
    return ERR_OK;
}

static void ask_column(struct clique *c, uint16_t column)
{
    c->n = (uint16_t)(c->n + domain_insert(c->attribute, c->n, column));
}

static void answering_clear(struct answer_state *w)
{
    memory_free_all(&w->mass, &w->part, &w->cell);
}

static void count_links(struct answer_state *w, const struct model *m)
{
    struct scope rows = columns_of_rows(w->question), all = rows;
    if (w->y != ANSWER_ROWS) {
        const struct scope y = {.n = 1, .attribute = {w->y}};
        all = scope_union(&rows, &y);
    }
    w->links = errors_links(m, &rows);
    w->links_y = errors_links(m, &all);
    w->total = model_total(m);
}

static enum err answering_start(struct answer_state *w, struct model_sums *m, struct log *log)
{
    const struct question *q = w->question;
    const struct domain_attribute *a = w->y != ANSWER_ROWS ? &q->domain->attribute[w->y] : NULL;
    w->codes = a != NULL ? a->size : 1;
    w->known = a != NULL ? a->values : 1;
    w->density = a != NULL ? w->inside->of[w->y] : NULL;
    for (size_t i = 0; i < q->groups; i++)
        ask_column(&w->asked, q->group[i].column);
    if (a != NULL)
        ask_column(&w->asked, w->y);
    w->cells = clique_cells(&w->asked, q->domain);
    w->stride = a != NULL ? answer_stride(w, w->y) : 0;
    if (q->where.n * w->cells > MODEL_WEIGH_CELLS)
        return log_fail(log, ERR_RANGE,
                        "the answer has %llu cells in each of %u cases of the condition, and at "
                        "most %llu altogether are allowed; group by fewer columns, or ask in parts",
                        (unsigned long long)w->cells, q->where.n,
                        (unsigned long long)MODEL_WEIGH_CELLS);
    if (w->draw != NULL)
        count_links(w, model_sums_of(m));
    if (w->draw != NULL && q->events)
        TRY(answer_events_total(w, m, &w->total, log));
    TRY(memory_new(&w->mass, q->where.n * w->cells));
    if (w->cut != NULL && w->y == ANSWER_ROWS && !q->events)
        TRY(memory_new(&w->cell, w->cells));
    for (unsigned k = 0; k < q->where.n; k++)
        TRY(weigh_case(w, m, k, log));
    answer_fold(w);
    return find_parts(w);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A line's part of the table: where it begins, and which codes of y it has. */
static struct answer_line line_of(const struct answer_state *w, const struct answer *a, size_t line)
{
    const struct question *q = w->question;
    struct answer_line l = {.from = 0, .below = w->codes};
    for (size_t i = 0; i < q->groups; i++) {
        uint32_t code = answer_code(a, line, i);
        if (q->group[i].column == w->y) {
            l.from = code;
            while (code < w->codes && question_group_code(&q->group[i], code) == l.from)
                code++;
            l.below = code; /* nothing, if it is not the first of its group */
        } else {
            l.first += code * answer_stride(w, q->group[i].column);
        }
    }
    return l;
}

/* The cuts of each line, for all of its rows: as many as its cell has. */
static enum err find_cuts(const struct answer_state *w, const struct answer *a,
                          struct model_sums *m, struct log *log)
{
    for (size_t line = 0; line < a->lines; line++) {
        const struct answer_line l = line_of(w, a, line);
        const struct answer_cut *cell = &w->cell[l.first];
        const double rows = answer_rows_of(w, &l, 0);
        if (rows > 0)
            w->cut[line] = (struct answer_cut){cell->each / rows, cell->less / rows / rows};
    }
    return answer_cut_groups(w, a, m, log);
}

static struct answer_value value_of(const struct answer_state *w, const struct answer_line *l,
                                    const struct question_item *item, size_t at)
{
    struct answer_sums s = answer_sums(w, l);
    struct answer_value v = {.known = s.rows > 0, .rows = s.rows};
    switch (item->aggregate) {
    case AGGREGATE_COUNT:
        v.known = true;
        v.number = s.rows;
        return v;
    case AGGREGATE_SUM:
        v.number = s.rows * s.mean;
        return v;
    case AGGREGATE_AVG:
        v.number = s.mean;
        return v;
    case AGGREGATE_VARIANCE:
        v.number = s.variance;
        return v;
    case AGGREGATE_STDDEV:
        v.number = sqrt(s.variance);
        return v;
    case AGGREGATE_MEDIAN:
    case AGGREGATE_PERCENTILE:
        v.number = v.known ? answer_percentile(w, l, s.rows, item->p) : 0;
        return v;
    case AGGREGATE_MODE:
        v.number = answer_mode(w, l);
        return v;
    case AGGREGATE_MIN:
    case AGGREGATE_MAX:
    case AGGREGATE_RANGE:
        answer_extreme(w, l, item->aggregate, at, &v);
        return v;
    case AGGREGATE_SHARE:
    case AGGREGATE_CORR:
    case AGGREGATE_ARITHMETIC:
        break; /* answer_parts() */
    }
    return v;
}

static uint16_t column_of(const struct question_item *item)
{
    return item->rows ? ANSWER_ROWS : item->column;
}

/* All items of one column, or of rows. */
static enum err answer_column(struct answer *a, struct model_sums *m,
                              const struct answer_state *terms, uint16_t y, struct log *log)
{
    const struct question *q = a->question;
    struct answer_state w CLEAN(answering_clear) = *terms;
    w.y = y;
    TRY(answering_start(&w, m, log));
    if (w.cell != NULL)
        TRY(find_cuts(&w, a, m, log));
    for (size_t line = 0; line < a->lines; line++) {
        struct answer_line l = line_of(&w, a, line);
        double rows = answer_sums(&w, &l).rows;
        if (w.cut != NULL)
            l.cut = w.cut[line];
        if (y == ANSWER_ROWS)
            a->rows[line] = rows;
        if (w.draw != NULL)
            answer_disturb_line(&w, &l);
        for (size_t i = 0; i < q->items; i++) {
            struct answer_value *v = &a->value[line * q->items + i];
            if (column_of(&q->item[i]) != y)
                continue;
            *v = value_of(&w, &l, &q->item[i], line * q->items + i);
            v->known &= isfinite(v->number);
            v->rows = rows;
        }
    }
    return ERR_OK;
}

static struct answer_value of_parts(const struct question_item *x, const struct answer *first,
                                    const struct answer *second, size_t line, size_t values)
{
    if (x->aggregate == AGGREGATE_ARITHMETIC)
        return answer_arithmetic(x, &first->value[line],
                                 second != NULL ? &second->value[line] : NULL);
    return second != NULL ? answer_share(&first->value[line], &second->value[line])
                          : answer_correlation(first->value + 5 * line * values, values);
}

/* An item that is made of others, on every line. */
static enum err answer_parts(struct answer *a, struct model_sums *m,
                             const struct answer_state *terms, size_t item, struct log *log)
{
    const struct question *q = a->question;
    const struct question_item *x = &q->item[item];
    struct answer *first CLEAN(answer_free) = NULL, *second CLEAN(answer_free) = NULL;
    size_t values;
    TRY(answer_make(&first, m, terms->inside, x->part[0], terms->draw, NULL, log));
    if (x->part[1] != NULL)
        TRY(answer_make(&second, m, terms->inside, x->part[1], terms->draw, NULL, log));
    values = first->lines / a->lines; /* of y, for CORR */
    for (size_t line = 0; line < a->lines; line++)
        a->value[line * q->items + item] = of_parts(x, first, second, line, values);
    return ERR_OK;
}

static enum err answer_all(struct answer *a, struct model_sums *m, const struct answer_state *terms,
                           struct log *log)
{
    const struct question *q = a->question;
    TRY(answer_column(a, m, terms, ANSWER_ROWS, log));
    for (size_t i = 0; i < q->items; i++) {
        bool done = q->item[i].rows;
        for (size_t k = 0; k < i && !done; k++)
            done = column_of(&q->item[k]) == q->item[i].column;
        if (!done)
            TRY(answer_column(a, m, terms, q->item[i].column, log));
        if (aggregate_has_parts(q->item[i].aggregate))
            TRY(answer_parts(a, m, terms, i, log));
    }
    return ERR_OK;
}

size_t answer_lines(const struct question *q)
{
    size_t lines = 1;
    for (size_t i = 0; i < q->groups; i++)
        lines *= q->domain->attribute[q->group[i].column].size;
    return lines;
}

enum err answer_make(struct answer **out, struct model_sums *m, const struct densities *inside,
                     const struct question *q, const struct answer_draw *draw,
                     const struct answer_ends *ends, struct log *log)
{
    struct answer_state terms = {.question = q, .inside = inside, .draw = draw, .ends = ends};
    struct answer *a CLEAN(answer_free) = NULL;
    struct answer_cut *cut CLEAN(memory_release) = NULL;
    *out = NULL;
    TRY(memory_new(&a, 1));
    a->question = q;
    a->lines = answer_lines(q);
    if (a->lines * q->items > MODEL_WEIGH_CELLS)
        return log_fail(log, ERR_RANGE,
                        "the answer has %zu groups of %zu items, and at most %llu items are "
                        "allowed; group by columns of fewer values, or ask for fewer items",
                        a->lines, q->items, (unsigned long long)MODEL_WEIGH_CELLS);
    TRY(memory_new(&a->rows, a->lines));
    TRY(memory_new(&a->value, a->lines * q->items));
    if (draw != NULL)
        TRY(memory_new(&cut, a->lines));
    terms.cut = cut;
    TRY(answer_all(a, m, &terms, log));
    return memory_hand_over(out, &a);
}

/* Nothing tells how wrong a correlation may be that rests on independence. */
static enum err check_corr(const struct model_sums *m, const struct question *q, size_t item,
                           struct log *log)
{
    const struct scope s = answer_columns(q, item);
    const struct model *of = model_sums_of(m); /* a copula knows all correlations */
    if (q->item[item].aggregate != AGGREGATE_CORR || of == NULL || model_holds_together(of, &s))
        return ERR_OK;
    return log_fail(log, ERR_QUESTION,
                    "CORR(%s) is not answered: no measured marginal holds all of the columns, so "
                    "the model does not know how they are related; a study with more rounds, or "
                    "with method: copula, would",
                    q->item[item].condition);
}

enum err answer_new(struct answer **out, struct model_sums *m, const struct densities *inside,
                    const struct question *q, struct log *log)
{
    *out = NULL;
    for (size_t i = 0; i < q->items; i++) {
        const struct scope columns = answer_columns(q, i);
        TRY(answer_check_events(q, &columns, log));
        TRY(check_corr(m, q, i, log));
    }
    return answer_make(out, m, inside, q, NULL, NULL, log);
}

void answer_free(struct answer **a)
{
    if (*a == NULL)
        return;
    memory_free_all(&(*a)->rows, &(*a)->value);
    memory_free(a);
}
