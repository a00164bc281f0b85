/* Answers as they might just as well be: the insides of bins and missing links are disturbed. */
#include "aim/answer/answer_private.h"
#include "aim/model/legendre.h"

#include <math.h>

#define SD_MOST 1 /* of a logarithm of rows: anything is possible then */

static double gauss(const struct answer_state *w)
{
    return ldexp((double)random_gauss(w->draw->random), -RANDOM_GAUSS_BITS);
}

/* As in a Dirichlet process around the density, each share w has a variance like w (1 - w). */
double answer_disturb_share(const struct answer_state *w, uint16_t column, double share)
{
    double inside, other;
    if (w->draw == NULL || !(share > 0 && share < 1))
        return share;
    inside = w->draw->errors->inside[column];
    if (!(inside > 0))
        return share;
    other = share + inside * sqrt(share * (1 - share)) * gauss(w);
    return fmin(1, fmax(0, other));
}

/* The mean moves as much; the spread of the numbers around it stays. */
void answer_disturb_part(const struct answer_state *w, uint16_t column, struct density_part *part)
{
    double variance, inside;
    if (w->draw == NULL)
        return;
    inside = w->draw->errors->inside[column];
    variance = part->square - part->mean * part->mean;
    part->share = answer_disturb_share(w, column, part->share);
    if (!(inside > 0 && variance > 0))
        return;
    part->mean += inside * sqrt(variance) * gauss(w);
    part->square = part->mean * part->mean + variance;
}

/* From links that were not measured, and from rows drawn blindly from groups. */
static double deviation(const struct answer_state *w, const struct answer_line *l, unsigned wave,
                        double rows)
{
    const struct errors_size *s = &w->draw->errors->apart[wave];
    const double others = fmax(0, 1 - rows / w->total), links = wave == 0 ? w->links : w->links_y,
                 gap = others * sqrt(links * (s->common + s->small / rows));
    return fmin(SD_MOST, hypot(gap, sqrt(answer_cut_variance(&l->cut, rows, wave == 0))));
}

/* The logarithm of the factor by which a code grows, given its rank among the rows. */
static double tilt(const double *size, double rank)
{
    double wave[ERRORS_WAVES], sum = 0;
    legendre(fmin(1, rank), wave, ERRORS_WAVES);
    for (unsigned k = 1; k < ERRORS_WAVES; k++)
        sum += size[k] * wave[k];
    return sum;
}

static void scale_code(const struct answer_state *w, const struct answer_line *l, uint32_t code,
                       double factor)
{
    for (unsigned k = 0; k < w->question->where.n; k++)
        w->mass[k * w->cells + l->first + code * w->stride] *= factor;
}

/* The number of rows moves by the first wave, how y is distributed among them by the others. */
void answer_disturb_line(const struct answer_state *w, const struct answer_line *l)
{
    const double rows = answer_sums(w, l).rows;
    const bool tilted = w->links_y > 0 || l->cut.each > 0;
    double size[ERRORS_WAVES], before = 0, after = 0, sd;
    if (!(rows > 0))
        return;
    sd = deviation(w, l, 0, rows);
    size[0] = exp(sd * gauss(w) - sd * sd / 2);
    for (unsigned k = 1; k < ERRORS_WAVES; k++)
        size[k] = tilted ? deviation(w, l, k, rows) * gauss(w) : 0;
    for (uint32_t code = l->from; code < answer_end(w, l); code++) {
        double here = answer_rows_of(w, l, code);
        double factor = tilted ? exp(tilt(size, (before + here / 2) / rows)) : 1;
        before += here;
        after += here * factor;
        scale_code(w, l, code, factor);
    }
    for (uint32_t code = l->from; code < answer_end(w, l); code++)
        scale_code(w, l, code, size[0] * rows / after);
}
