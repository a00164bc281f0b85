/* MIN, MAX and RANGE: how far rows reach, with those left out that may be the model's own. */
#include "aim/answer/answer_private.h"

#include <math.h>

#define ERRORS_OUT 3 /* standard errors of the count that MIN and MAX leave out */

/* Both ends, with `out` rows left out at each. */
static void set_ends(const struct answer_state *w, const struct answer_line *l,
                     enum question_aggregate aggregate, double rows, double out, double *least,
                     double *most)
{
    double first = 0, last = 0;
    out = fmin(rows / 2, out);
    if (aggregate != AGGREGATE_MAX)
        first = answer_quantile(w, l, out);
    if (aggregate != AGGREGATE_MIN)
        last = answer_quantile(w, l, rows - out);
    *least = aggregate == AGGREGATE_MAX ? last : first;
    *most = aggregate == AGGREGATE_MIN ? first : last;
}

static double one_end(enum question_aggregate aggregate, double least, double most)
{
    return aggregate == AGGREGATE_MIN ? least : aggregate == AGGREGATE_MAX ? most : most - least;
}

void answer_extreme(const struct answer_state *w, const struct answer_line *l,
                    enum question_aggregate aggregate, size_t at, struct answer_value *v)
{
    double error = w->ends != NULL ? w->ends->error[at] : sqrt(v->rows), least, most, a, b;
    v->known &= w->draw == NULL;
    if (!v->known)
        return;
    set_ends(w, l, aggregate, v->rows, ERRORS_OUT * error, &least, &most);
    v->number = one_end(aggregate, least, most);
    if (w->ends == NULL)
        return;
    set_ends(w, l, aggregate, v->rows, 0, &least, &most);
    a = one_end(aggregate, least, most);
    set_ends(w, l, aggregate, v->rows, (ERRORS_OUT + w->ends->errors) * error, &least, &most);
    b = one_end(aggregate, least, most);
    v->bounded = true;
    v->low = fmin(a, b);
    v->high = fmax(a, b);
}
