/* SHARE, CORR and arithmetic, from answers to the questions that they are made of (question.h). */
#include "aim/answer/answer_private.h"

#include <math.h>

#define ROUNDED 1e-13 /* as in answer_sums.c */

struct answer_value answer_share(const struct answer_value *yes, const struct answer_value *no)
{
    const double all = yes->number + no->number;
    return (struct answer_value){.known = all > 0,
                                 .number = all > 0 ? 100 * yes->number / all : 0,
                                 .rows = yes->rows + no->rows};
}

struct answer_value answer_arithmetic(const struct question_item *item,
                                      const struct answer_value *a, const struct answer_value *b)
{
    struct answer_value v = {.known = a->known && (b == NULL || b->known), .rows = a->rows};
    v.number = question_operate(item, a->number, b != NULL ? b->number : item->number);
    v.known &= isfinite(v.number);
    return v;
}

struct answer_value answer_correlation(const struct answer_value *of, size_t codes)
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
