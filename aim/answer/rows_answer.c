#include "aim/answer/rows_answer.h"

#include "aim/answer/answer_private.h"
#include "aim/answer/sorted.h"
#include "base/memory.h"

#include <math.h>

/* --- which rows ------------------------------------------------------------------------------- */

/* A row's value on the line of numbers that sets are made of; NAN if it is missing. */
static double place_of(const struct table *t, uint16_t column, size_t row)
{
    const struct domain_attribute *a = &t->domain->attribute[column];
    const uint16_t code = t->column[column][row];
    if (code >= a->values)
        return NAN;
    return domain_has_bins(a)
               ? fmin(fmax(t->number[column][row], domain_number(a, 0)), domain_last(a))
               : domain_number(a, code);
}

static bool holds(const struct values_pool *p, struct values v, double x)
{
    return isnan(x) ? v.missing : values_hold(p, v, x);
}

static bool fits(const struct question *q, const struct table *t, size_t row)
{
    for (unsigned k = 0; k < q->where.n; k++) {
        const struct one_case *c = &q->where.one[k];
        bool all = true;
        for (unsigned i = 0; i < c->parts && all; i++)
            all = holds(&q->pool, c->part[i].values, place_of(t, c->part[i].column, row));
        if (all)
            return true;
    }
    return false;
}

static size_t line_of(const struct question *q, const struct table *t, size_t row)
{
    size_t line = 0;
    for (size_t i = 0; i < q->groups; i++) {
        const struct question_group *g = &q->group[i];
        line = line * t->domain->attribute[g->column].size +
               question_group_code(g, t->column[g->column][row]);
    }
    return line;
}

/* Sorts the rows that fit by their lines. */
static enum err select_rows(struct rows_answer *a)
{
    const struct question *q = a->question;
    const struct table *t = a->table;
    bool *in CLEAN(memory_release) = NULL;
    size_t all = 0;
    TRY(memory_new(&in, t->rows));
    TRY(memory_new(&a->end, a->lines));
    for (size_t row = 0; row < t->rows; row++) {
        in[row] = fits(q, t, row);
        if (in[row])
            a->end[line_of(q, t, row)]++;
    }
    for (size_t line = 0; line < a->lines; line++) {
        size_t rows = a->end[line];
        a->end[line] = all; /* its beginning, until its rows are in place */
        all += rows;
    }
    TRY(memory_new(&a->row, all));
    for (size_t row = 0; row < t->rows; row++)
        if (in[row])
            a->row[a->end[line_of(q, t, row)]++] = (uint32_t)row;
    return ERR_OK;
}

static size_t begin_of(const struct rows_answer *a, size_t line)
{
    return line > 0 ? a->end[line - 1] : 0;
}

size_t rows_answer_rows(const struct rows_answer *a, size_t line)
{
    return a->end[line] - begin_of(a, line);
}

size_t rows_answer_with(const struct rows_answer *a, size_t line, uint16_t column, uint32_t code)
{
    size_t rows = 0;
    for (size_t i = begin_of(a, line); i < a->end[line]; i++)
        rows += a->table->column[column][a->row[i]] == code;
    return rows;
}

/* --- what they answer ------------------------------------------------------------------------- */

/* The numbers of a line's rows; rows without one are left out. */
static size_t gather(const struct rows_answer *a, size_t line, uint16_t column, double *number)
{
    const struct table *t = a->table;
    size_t n = 0;
    for (size_t i = begin_of(a, line); i < a->end[line]; i++) {
        bool known = t->column[column][a->row[i]] < t->domain->attribute[column].values;
        if (known)
            number[n++] = t->number[column] != NULL ? t->number[column][a->row[i]] : 0;
    }
    return n;
}

static enum err mode(const struct rows_answer *a, size_t line, uint16_t column, double *code)
{
    const struct domain_attribute *of = &a->question->domain->attribute[column];
    size_t *rows CLEAN(memory_release) = NULL;
    uint32_t best = 0;
    TRY(memory_new(&rows, of->size));
    for (size_t i = begin_of(a, line); i < a->end[line]; i++)
        rows[a->table->column[column][a->row[i]]]++;
    for (uint32_t i = 1; i < of->values; i++)
        best = rows[i] > rows[best] ? i : best;
    *code = best;
    return ERR_OK;
}

static double variance(const double *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)n;
}

/* The aggregate of the numbers in `x`; there is at least one. */
static double aggregate(const struct question_item *item, double *x, size_t n)
{
    double sum = 0, least = x[0], largest = x[0];
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        least = fmin(least, x[i]);
        largest = fmax(largest, x[i]);
    }
    switch (item->aggregate) {
    case AGGREGATE_SUM:
        return sum;
    case AGGREGATE_AVG:
        return sum / (double)n;
    case AGGREGATE_VARIANCE:
        return variance(x, n, sum / (double)n);
    case AGGREGATE_STDDEV:
        return sqrt(variance(x, n, sum / (double)n));
    case AGGREGATE_MEDIAN:
    case AGGREGATE_PERCENTILE:
        sorted_make(x, n);
        return sorted_quantile(x, n, item->p);
    case AGGREGATE_MIN:
        return least;
    case AGGREGATE_MAX:
        return largest;
    case AGGREGATE_RANGE:
        return largest - least;
    case AGGREGATE_COUNT:
    case AGGREGATE_MODE:
    case AGGREGATE_SHARE:
    case AGGREGATE_CORR:
    case AGGREGATE_ARITHMETIC:
        break;
    }
    return NAN;
}

static enum err answer(struct rows_answer *a, size_t line, size_t item, double *room)
{
    const struct question_item *it = &a->question->item[item];
    struct answer_value *v = &a->value[line * a->question->items + item];
    size_t n = it->rows ? rows_answer_rows(a, line) : gather(a, line, it->column, room);
    *v = (struct answer_value){.known = n > 0 || it->aggregate == AGGREGATE_COUNT,
                               .number = (double)n};
    if (n == 0 || it->aggregate == AGGREGATE_COUNT || aggregate_has_parts(it->aggregate))
        return ERR_OK;
    if (it->aggregate == AGGREGATE_MODE)
        return mode(a, line, it->column, &v->number);
    v->number = aggregate(it, room, n);
    return ERR_OK;
}

static struct answer_value correlation(const struct table *t, const uint32_t *row, size_t n,
                                       uint16_t y, uint16_t z)
{
    const double *a = t->number[y], *b = t->number[z];
    double mean[2] = {0}, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < n; i++) {
        mean[0] += a[row[i]] / (double)n;
        mean[1] += b[row[i]] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double x = a[row[i]] - mean[0], w = b[row[i]] - mean[1];
        aa += x * x;
        bb += w * w;
        ab += x * w;
    }
    return (struct answer_value){.known = aa > 0 && bb > 0, .number = ab / sqrt(aa * bb)};
}

/* By the question's own lines: those of CORR's part are by y as well. */
static enum err parts(struct rows_answer *a, size_t item)
{
    const struct question *q = a->question;
    const struct question_item *x = &q->item[item];
    struct rows_answer *yes CLEAN(rows_answer_free) = NULL, *no CLEAN(rows_answer_free) = NULL;
    TRY(rows_answer_new(&yes, a->table, x->part[0]));
    if (x->part[1] != NULL)
        TRY(rows_answer_new(&no, a->table, x->part[1]));
    for (size_t line = 0; line < a->lines; line++) {
        const size_t codes = yes->lines / a->lines, from = begin_of(yes, line * codes);
        a->value[line * q->items + item] =
            x->aggregate == AGGREGATE_ARITHMETIC
                ? answer_arithmetic(x, &yes->value[line], no != NULL ? &no->value[line] : NULL)
            : no != NULL
                ? answer_share(&yes->value[line], &no->value[line])
                : correlation(a->table, yes->row + from, yes->end[(line + 1) * codes - 1] - from,
                              x->part[0]->group[q->groups].column, x->part[0]->item[0].column);
    }
    return ERR_OK;
}

enum err rows_answer_new(struct rows_answer **out, const struct table *t, const struct question *q)
{
    struct rows_answer *a CLEAN(rows_answer_free) = NULL;
    double *room CLEAN(memory_release) = NULL;
    *out = NULL;
    TRY(memory_new(&a, 1));
    a->question = q;
    a->table = t;
    a->lines = answer_lines(q);
    TRY(select_rows(a));
    TRY(memory_new(&a->value, a->lines * q->items));
    TRY(memory_new(&room, t->rows));
    for (size_t line = 0; line < a->lines; line++)
        for (size_t i = 0; i < q->items; i++)
            TRY(answer(a, line, i, room));
    for (size_t i = 0; i < q->items; i++)
        if (aggregate_has_parts(q->item[i].aggregate))
            TRY(parts(a, i));
    return memory_hand_over(out, &a);
}

void rows_answer_free(struct rows_answer **a)
{
    if (*a == NULL)
        return;
    memory_free_all(&(*a)->end, &(*a)->row, &(*a)->value);
    memory_free(a);
}
