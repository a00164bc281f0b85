/* Where the rows of a line lie: the number at or below which so many of them are. */
#include "aim/answer/answer_private.h"

#include <math.h>

#define HALVINGS 200
#define NEAR 1e-12 /* of a code's rows: sums are rounded */

static double rows_up_to(const struct answer_state *w, const struct answer_line *l, uint32_t code,
                         double x)
{
    double sum = 0, below = nextafter(x, INFINITY);
    for (unsigned k = 0; k < w->question->where.n; k++) {
        const struct values *v = case_values(&w->question->where.one[k], w->y);
        double mass = w->mass[k * w->cells + l->first + code * w->stride];
        sum += mass * (v != NULL ? answer_part(w, w->y, *v, code, below)
                                 : density_part(w->density, code, -INFINITY, below))
                          .share;
    }
    return sum;
}

/*
 * The least number of a code at or below which this share of its rows lies. Only rows that the
 * undisturbed conditions take count, or a refit's share could lie beyond the conditions.
 */
static double within(const struct answer_state *w, const struct answer_line *l, uint32_t code,
                     double share)
{
    double low = density_quantile(w->density, code, -INFINITY, INFINITY, 0),
           high = density_quantile(w->density, code, -INFINITY, INFINITY, 1),
           rows = share * rows_up_to(w, l, code, high);
    if (!(high > low) || rows_up_to(w, l, code, low) >= rows)
        return low;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high))
            break;
        if (rows_up_to(w, l, code, middle) >= rows)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double answer_quantile(const struct answer_state *w, const struct answer_line *l, double rows)
{
    uint32_t last = l->from;
    double before = 0, of_last = 0;
    for (uint32_t code = l->from; code < answer_end(w, l); code++) {
        double here = answer_rows_of(w, l, code);
        if (!(here > 0))
            continue;
        before += here;
        of_last = here;
        last = code;
        if (before >= rows)
            break;
    }
    rows = (rows - (before - of_last)) / of_last;
    if (rows > 0 && rows < 1)
        rows = answer_disturb_share(w, w->y, rows);
    return within(w, l, last, fmin(fmax(rows, NEAR), 1 - NEAR));
}

/* Whole rows share the total evenly; a row's number is the one at its middle. */
double answer_percentile(const struct answer_state *w, const struct answer_line *l, double rows,
                         double p)
{
    double whole = rint(rows), row = rows / whole, place = p * (whole - 1), low = floor(place);
    double first, second;
    if (!(whole > 1))
        return answer_quantile(w, l, p * rows);
    first = answer_quantile(w, l, (low + 0.5) * row);
    if (!(place > low))
        return first;
    second = answer_quantile(w, l, (low + 1.5) * row);
    return first + (place - low) * (second - first);
}
