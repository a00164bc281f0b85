#include "aim/answer/evaluate_answers.h"

#include "aim/answer/sorted.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>

#define NEAR 0.1          /* deviations from 0 */
#define GROUP_SHARE 0.001 /* of all rows: smaller groups do not count */

static enum err add(struct evaluate_errors *e, double error)
{
    TRY(memory_room(&e->error, &e->room, e->count + 1));
    e->error[e->count++] = error;
    return ERR_OK;
}

static double error_of(const struct rows_answer *truth, size_t line, size_t item,
                       const struct answer_value *v, double scale)
{
    const struct question_item *it = &truth->question->item[item];
    const double t = truth->value[line * truth->question->items + item].number;
    double value = v->number;
    if (!v->known)
        return 1;
    if (it->aggregate == AGGREGATE_MODE)
        return 1 - (double)rows_answer_with(truth, line, it->column, (uint32_t)value) /
                       (double)rows_answer_with(truth, line, it->column, (uint32_t)t);
    if (it->aggregate == AGGREGATE_COUNT || it->aggregate == AGGREGATE_SUM)
        value *= scale;
    return fabs(value - t) / fabs(t);
}

/* Below this, the truth has no relative error. */
static double least_of(const struct evaluate_answers *e, const struct rows_answer *truth,
                       size_t line, const struct question_item *item)
{
    double near;
    if (item->aggregate == AGGREGATE_COUNT || item->aggregate == AGGREGATE_SHARE)
        return 1;
    if (item->aggregate == AGGREGATE_CORR)
        return NEAR;
    if (item->aggregate == AGGREGATE_MODE)
        return 0;
    if (item->aggregate == AGGREGATE_ARITHMETIC)
        return DBL_MIN;
    near = NEAR * e->deviation[item->column];
    if (item->aggregate == AGGREGATE_VARIANCE)
        near *= near;
    if (item->aggregate == AGGREGATE_SUM)
        near *= (double)rows_answer_rows(truth, line);
    return fmax(near, DBL_MIN);
}

static enum err add_line(struct evaluate_answers *e, const struct rows_answer *truth, size_t line,
                         const struct answer_value *value, double scale)
{
    const struct question *q = truth->question;
    for (size_t i = 0; i < q->items; i++) {
        const struct answer_value *t = &truth->value[line * q->items + i];
        if (!t->known || fabs(t->number) < least_of(e, truth, line, &q->item[i]))
            continue;
        TRY(add(&e->of[q->item[i].aggregate][q->groups > 0],
                error_of(truth, line, i, &value[i], scale)));
    }
    return ERR_OK;
}

static bool counts(const struct rows_answer *truth, size_t line)
{
    const double rows = (double)rows_answer_rows(truth, line);
    return truth->question->groups == 0 || rows >= GROUP_SHARE * (double)truth->table->rows;
}

enum err evaluate_answer(struct evaluate_answers *e, const struct rows_answer *truth,
                         const struct answer_value *value, double scale)
{
    for (size_t line = 0; line < truth->lines; line++)
        if (counts(truth, line))
            TRY(add_line(e, truth, line, value + line * truth->question->items, scale));
    return ERR_OK;
}

void evaluate_answers_sort(struct evaluate_answers *e)
{
    for (size_t a = 0; a < AGGREGATES; a++)
        for (size_t k = 0; k < 2; k++)
            if (e->of[a][k].count > 0)
                sorted_make(e->of[a][k].error, e->of[a][k].count);
}

double evaluate_quantile(const struct evaluate_errors *e, double p)
{
    return sorted_quantile(e->error, e->count, p);
}

void evaluate_answers_clear(struct evaluate_answers *e)
{
    for (size_t a = 0; a < AGGREGATES; a++)
        for (size_t k = 0; k < 2; k++)
            memory_free(&e->of[a][k].error);
}
