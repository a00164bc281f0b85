/* SHARE and CORR, from answers to the questions that they are made of (aim/question/question.h). */
#include "aim/answer/answer_private.h"

#include <math.h>

#define ROUNDED 1e-13 /* as in answer_sums.c */

/* Each count has what is uncertain about a count. */
static struct answer_value share(const struct answer_value *yes, const struct answer_value *no)
{
    const double all = yes->number + no->number;
    return (struct answer_value){.known = all > 0,
                                 .number = all > 0 ? 100 * yes->number / all : 0,
                                 .rows = yes->rows + no->rows};
}

/* Of a line, each value of y: COUNT, AVG and VARIANCE of z, AVG and VARIANCE of y. */
static struct answer_value correlation(const struct answer_value *of, size_t codes)
{
    struct answer_value v = {.known = false};
    double rows = 0, y = 0, z = 0, yy = 0, zz = 0, yz = 0;
    for (const struct answer_value *x = of; x < of + 5 * codes; x += 5) {
        const double n = x[1].known && x[3].known ? x[0].number : 0;
        v.rows += x[0].rows;
        rows += n;
        y += n * x[3].number;
        z += n * x[1].number;
    }
    if (!(rows > 0))
        return v;
    y /= rows;
    z /= rows;
    for (const struct answer_value *x = of; x < of + 5 * codes; x += 5) {
        const double n = x[1].known && x[3].known ? x[0].number / rows : 0, dy = x[3].number - y,
                     dz = x[1].number - z;
        yy += n * (x[4].number + dy * dy);
        zz += n * (x[2].number + dz * dz);
        yz += n * dy * dz;
    }
    v.known = yy > ROUNDED * y * y && zz > ROUNDED * z * z;
    v.number = v.known ? fmin(1, fmax(-1, yz / sqrt(yy * zz))) : 0;
    v.known &= isfinite(v.number);
    return v;
}

enum err answer_parts(struct answer *a, struct model_sums *m, const struct answer_state *terms,
                      size_t item, struct log *log)
{
    const struct question *q = a->question;
    const struct question_item *x = &q->item[item];
    struct answer *part[2] = {NULL};
    enum err e = ERR_OK;
    for (size_t i = 0; i < 2 && x->part[i] != NULL && e == ERR_OK; i++)
        e = answer_make(&part[i], m, terms->inside, x->part[i], terms->draw, NULL, log);
    for (size_t line = 0; line < a->lines && e == ERR_OK; line++) {
        const size_t codes = part[0]->lines / a->lines;
        a->value[line * q->items + item] = x->aggregate == AGGREGATE_CORR
                                               ? correlation(part[0]->value + 5 * line * codes,
                                                             codes)
                                               : share(&part[0]->value[line],
                                                       &part[1]->value[line]);
    }
    answer_free(&part[0]);
    answer_free(&part[1]);
    return e;
}
