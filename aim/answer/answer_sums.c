/* Lines: their codes, how many rows each code of y has, and what follows from that alone. */
#include "aim/answer/answer_private.h"

#include <math.h>

#define ROUNDED 1e-13 /* times the mean's square: rounding leaves this where there is no variance */

const struct answer_value *answer_value_at(const struct answer *a, size_t line, size_t item)
{
    return &a->value[line * a->question->items + item];
}

uint32_t answer_code(const struct answer *a, size_t line, size_t group)
{
    const struct question *q = a->question;
    for (size_t i = q->groups; i-- > group + 1;)
        line /= q->domain->attribute[q->group[i].column].size;
    return (uint32_t)(line % q->domain->attribute[q->group[group].column].size);
}

/* --- parts of codes --------------------------------------------------------------------------- */

struct density_part answer_part(const struct answer_state *w, uint16_t column, struct values v,
                                uint32_t code, double below)
{
    const struct domain_attribute *a = &w->question->domain->attribute[column];
    struct density_part sum = {0};
    if (code >= a->values)
        return (struct density_part){.share = v.missing ? 1 : 0};
    if (!domain_has_order(a))
        return (struct density_part){.share = values_hold(&w->question->pool, v, code)};
    for (uint32_t i = 0; i < v.spans; i++) {
        struct values_span s = w->question->pool.span[v.first + i];
        struct density_part part = density_part(w->inside->of[column], code, s.from,
                                                fmin(s.below, below));
        sum.share += part.share;
        sum.mean += part.share * part.mean;
        sum.square += part.share * part.square;
    }
    if (sum.share > 0) {
        sum.mean /= sum.share;
        sum.square /= sum.share;
    }
    return sum;
}

/* --- the table of what is asked --------------------------------------------------------------- */

size_t answer_stride(const struct answer_state *w, uint16_t column)
{
    size_t stride = 1;
    for (unsigned i = w->asked.n; i-- > 0 && w->asked.attribute[i] != column;)
        stride *= w->question->domain->attribute[w->asked.attribute[i]].size;
    return stride;
}

static void fold_group(const struct answer_state *w, const struct question_group *g)
{
    const size_t stride = answer_stride(w, g->column);
    const size_t size = w->question->domain->attribute[g->column].size;
    for (size_t at = 0; at < w->question->where.n * w->cells; at++) {
        const size_t code = at % w->cells / stride % size;
        const size_t to = at - (code - g->first[code]) * stride;
        if (to == at)
            continue;
        w->mass[to] += w->mass[at];
        w->mass[at] = 0;
        if (w->cell != NULL && at < w->cells) {
            w->cell[to].each += w->cell[at].each;
            w->cell[to].less += w->cell[at].less;
        }
    }
}

void answer_fold(const struct answer_state *w)
{
    for (size_t i = 0; i < w->question->groups; i++)
        if (w->question->group[i].first != NULL && w->question->group[i].column != w->y)
            fold_group(w, &w->question->group[i]);
}

/* --- rows ------------------------------------------------------------------------------------- */

static double case_rows(const struct answer_state *w, const struct answer_line *l, unsigned k,
                        uint32_t code)
{
    return w->mass[k * w->cells + l->first + code * w->stride] * w->part[k * w->codes + code].share;
}

double answer_rows_of(const struct answer_state *w, const struct answer_line *l, uint32_t code)
{
    double sum = 0;
    for (unsigned k = 0; k < w->question->where.n; k++)
        sum += case_rows(w, l, k, code);
    return sum;
}

/* Missing values come last and belong to no line. */
uint32_t answer_end(const struct answer_state *w, const struct answer_line *l)
{
    return l->below < w->known ? l->below : w->known;
}

struct answer_sums answer_sums(const struct answer_state *w, const struct answer_line *l)
{
    struct answer_sums s = {0};
    for (uint32_t code = l->from; code < answer_end(w, l); code++)
        for (unsigned k = 0; k < w->question->where.n; k++) {
            double rows = case_rows(w, l, k, code);
            s.rows += rows;
            s.mean += rows * w->part[k * w->codes + code].mean;
        }
    s.mean = s.rows > 0 ? s.mean / s.rows : 0;
    for (uint32_t code = l->from; code < answer_end(w, l); code++)
        for (unsigned k = 0; k < w->question->where.n; k++) {
            const struct density_part *part = &w->part[k * w->codes + code];
            double inside = fmax(0, part->square - part->mean * part->mean);
            double away = part->mean - s.mean;
            s.variance += case_rows(w, l, k, code) * (inside + away * away);
        }
    s.variance = s.rows > 0 ? s.variance / s.rows : 0;
    if (s.variance < ROUNDED * s.mean * s.mean)
        s.variance = 0;
    return s;
}

double answer_mode(const struct answer_state *w, const struct answer_line *l)
{
    uint32_t best = l->from;
    double most = 0;
    for (uint32_t code = l->from; code < answer_end(w, l); code++) {
        double rows = answer_rows_of(w, l, code);
        if (rows > most) {
            best = code;
            most = rows;
        }
    }
    return best;
}
