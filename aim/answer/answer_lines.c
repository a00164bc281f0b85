/* The lines of an answer as a question wants them: with enough rows, by HAVING, in order, cut. */
#include "aim/answer/answer.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_ROWS 0.5

struct shown_line {
    const struct answer *answer;
    size_t line;
};

static bool has_rows(const struct answer *a, size_t line)
{
    return a->question->groups == 0 || a->rows[line] >= LEAST_ROWS;
}

size_t answer_left_out(const struct answer *a, double *rows)
{
    size_t groups = 0;
    *rows = 0;
    for (size_t line = 0; line < a->lines; line++)
        if (!has_rows(a, line)) {
            groups += a->rows[line] > 0; /* else the condition excludes it */
            *rows += a->rows[line];
        }
    return groups;
}

static bool is_wanted(const struct answer *a, size_t line)
{
    const struct question *q = a->question;
    bool wanted = has_rows(a, line);
    for (size_t i = 0; i < q->havings; i++) {
        const struct question_having *h = &q->having[i];
        const struct answer_value *v = answer_value_at(a, line, h->item);
        wanted &= v->known &&
                  ((h->less && v->number < h->value) || (h->equal && v->number == h->value) ||
                   (h->more && v->number > h->value));
    }
    return wanted;
}

/* What a line is sorted by; NULL is above all else either way. */
static double key_of(const struct shown_line *s, const struct question_order *o)
{
    const struct answer_value *v;
    double key;
    if (o->group) {
        const struct question *q = s->answer->question;
        const uint32_t code = answer_code(s->answer, s->line, o->index);
        double by = code;
        if (code >= q->domain->attribute[q->group[o->index].column].values ||
            (q->group[o->index].label != NULL && q->group[o->index].label[code] == NULL))
            return INFINITY;
        if (q->group[o->index].part != NULL)
            by = question_group_number(q, o->index, code);
        return o->down ? -by : by;
    }
    v = answer_value_at(s->answer, s->line, o->index);
    key = o->down ? -v->number : v->number;
    return v->known ? key : INFINITY;
}

static int by_order(const void *x, const void *y)
{
    const struct shown_line *a = x, *b = y;
    const struct question *q = a->answer->question;
    for (size_t i = 0; i < q->orders; i++) {
        const double k = key_of(a, &q->order[i]), m = key_of(b, &q->order[i]);
        if (k != m)
            return k < m ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

enum err answer_shown(const struct answer *a, size_t **lines, size_t *count)
{
    struct shown_line *shown CLEAN(memory_release) = NULL;
    size_t n = 0;
    *lines = NULL;
    TRY(memory_new(&shown, a->lines));
    for (size_t line = 0; line < a->lines; line++)
        if (is_wanted(a, line))
            shown[n++] = (struct shown_line){a, line};
    qsort(shown, n, sizeof *shown, by_order);
    if (a->question->limit > 0 && n > a->question->limit)
        n = a->question->limit;
    TRY(memory_new(lines, n));
    for (size_t i = 0; i < n; i++)
        (*lines)[i] = shown[i].line;
    *count = n;
    return ERR_OK;
}
