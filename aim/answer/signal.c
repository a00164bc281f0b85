#include "aim/answer/signal.h"

#include "base/memory.h"

#include <math.h>

void signal_side_clear(struct signal_side *s)
{
    memory_free_all(&s->share, &s->score, &s->part, &s->mean, &s->square, &s->norm);
}

enum err signal_side_new(struct signal_side *s, size_t cells)
{
    *s = (struct signal_side){.cells = cells};
    TRY(memory_new(&s->share, cells));
    TRY(memory_new(&s->score, cells));
    return memory_new(&s->part, cells);
}

enum err signal_side_set(struct signal_side *s)
{
    for (size_t i = 0; i < s->cells; i++)
        s->parts = s->part[i] >= s->parts ? s->part[i] + 1 : s->parts;
    TRY(memory_new(&s->mean, s->parts));
    TRY(memory_new(&s->square, s->parts));
    TRY(memory_new(&s->norm, s->parts));
    for (size_t i = 0; i < s->cells; i++) {
        const double f = s->score[i];
        s->mean[s->part[i]] += s->share[i] * f;
        s->square[s->part[i]] += s->share[i] * f * f;
        s->norm[s->part[i]] += f * f;
    }
    return ERR_OK;
}

void signal_add(struct signal *s, const struct signal_side *x, size_t a,
                const struct signal_side *y, size_t b, double total, double opened, double variance)
{
    const double off = opened - total * x->mean[a] * y->mean[b];
    const double own = x->sigma * x->sigma * x->norm[a] * y->mean[b] * y->mean[b] +
                       y->sigma * y->sigma * y->norm[b] * x->mean[a] * x->mean[a];
    const double all = variance + own + total * x->square[a] * y->square[b];
    if (!(all > 0)) /* a part without rows or scores */
        return;
    s->squares += off * off / all;
    s->sums++;
}

/* By Wilson and Hilferty, the cube root of a chi-square over its degrees is about normal. */
double signal_deviations(const struct signal *s)
{
    const double n = (double)s->sums, spread = 2 / (9 * n);
    return s->sums == 0 ? -INFINITY : (cbrt(s->squares / n) - 1 + spread) / sqrt(spread);
}

/* --- a table of counts ------------------------------------------------------------------------ */

/* Cells are groups where the measurement has merged codes. A missing value has no rank. */
static enum err side_of(struct signal_side *s, const struct measurement *m, const struct domain *d,
                        uint16_t attribute, const double *share, bool ranked)
{
    const struct domain_attribute *a = &d->attribute[attribute];
    const uint32_t *group = m->merges != NULL ? m->merges->group[attribute] : NULL;
    double below = 0, known = 0;
    TRY(signal_side_new(s, group != NULL ? m->merges->groups[attribute] : a->size));
    for (uint32_t i = 0; i < a->values; i++)
        known += share[i];
    for (uint32_t i = 0; i < a->size; i++) {
        const size_t cell = group != NULL ? group[i] : i;
        const double rank = i < a->values && known > 0 ? (below + share[i] / 2) / known - 0.5 : 0;
        s->share[cell] += share[i];
        s->score[cell] += ranked ? share[i] * rank : 0;
        below += share[i];
    }
    for (size_t i = 0; i < s->cells; i++) {
        s->part[i] = ranked ? 0 : i;
        s->score[i] = !ranked ? 1 : s->share[i] > 0 ? s->score[i] / s->share[i] : 0;
    }
    return signal_side_set(s);
}

static void clear_both(struct signal_side (*s)[2])
{
    signal_side_clear(&(*s)[0]);
    signal_side_clear(&(*s)[1]);
}

/* Adds up the scores of cells; cells of further attributes of the clique lie between. */
static void add_up(double *sums, const struct signal_side s[2], const struct measurement *m,
                   const struct domain *d, const unsigned place[2])
{
    uint64_t stride[2] = {1, 1};
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = place[side] + 1; i < m->clique.n; i++) {
            const struct clique one = {1, {m->clique.attribute[i]}};
            stride[side] *= m->merges != NULL ? merges_cells(m->merges, &one)
                                              : clique_cells(&one, d);
        }
    for (uint64_t i = 0; i < measurement_cells(m, d); i++) {
        const size_t x = i / stride[0] % s[0].cells, y = i / stride[1] % s[1].cells;
        sums[s[0].part[x] * s[1].parts + s[1].part[y]] += m->y[i] * s[0].score[x] * s[1].score[y];
    }
}

enum err signal_of_table(double *deviations, const struct measurement *m, const struct domain *d,
                         const unsigned place[2], const double *const share[2],
                         const double sigma[2], double total, bool ranked)
{
    struct signal_side s[2] CLEAN(clear_both) = {{0}, {0}};
    struct signal all = {0};
    double *sums CLEAN(memory_release) = NULL;
    double others;
    for (unsigned i = 0; i < 2; i++) {
        const uint16_t attribute = m->clique.attribute[place[i]];
        TRY(side_of(&s[i], m, d, attribute, share[i],
                    ranked && domain_has_order(&d->attribute[attribute])));
        s[i].sigma = sigma[i];
    }
    others = (double)measurement_cells(m, d) / ((double)s[0].cells * (double)s[1].cells);
    TRY(memory_new(&sums, s[0].parts * s[1].parts));
    add_up(sums, s, m, d, place);
    for (size_t a = 0; a < s[0].parts; a++)
        for (size_t b = 0; b < s[1].parts; b++)
            signal_add(&all, &s[0], a, &s[1], b, total, sums[a * s[1].parts + b],
                       m->sigma * m->sigma * others * s[0].norm[a] * s[1].norm[b]);
    *deviations = signal_deviations(&all);
    return ERR_OK;
}
