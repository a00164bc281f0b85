/*
 * How wrong a model is where nothing was measured, learned from where something was: its errors on
 * boxes of a measured marginal that it was not fitted to. They are assumed to be Gaussian, with a
 * variance that grows with the number of missing links and depends on the number of rows (struct
 * errors_size). The sizes kept are means of those under which the errors seen, with their known
 * noise, are likely.
 */
#include "aim/answer/errors_private.h"
#include "aim/model/legendre.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

#define BOXES 24   /* for each marginal and each of its columns */
#define ALIKE 4    /* so many boxes tell as much as one: they overlap */
#define COMMONS 24 /* powers of two that are tried */
#define SMALLS 20
#define NOISE_MOST 1 /* variance: nothing can be learned from noise alone */

/* --- boxes ------------------------------------------------------------------------------------ */

/* A range of codes of each column: one label, or one or several numbers. */
struct learn_box {
    uint32_t from[CLIQUE_MAX], below[CLIQUE_MAX];
};

static void draw_range(uint32_t *from, uint32_t *below, const struct domain_attribute *a,
                       struct random *r)
{
    uint32_t x = (uint32_t)random_below(r, a->size), y = (uint32_t)random_below(r, a->size);
    bool one = !domain_has_order(a) || random_below(r, 2) == 0;
    *from = one || x < y ? x : y;
    *below = (one || x > y ? x : y) + 1;
}

/* A random box with all codes of column `whole`. */
static struct learn_box draw_box(const struct clique *c, const struct domain *d, unsigned whole,
                                 struct random *r)
{
    struct learn_box b;
    for (unsigned i = 0; i < c->n; i++) {
        const struct domain_attribute *a = &d->attribute[c->attribute[i]];
        draw_range(&b.from[i], &b.below[i], a, r);
        if (i == whole) {
            b.from[i] = 0;
            b.below[i] = a->size;
        }
    }
    return b;
}

/* Adds two tables' counts in a box to sums by code of column y. Returns the number of its cells. */
static uint64_t sum_box(const struct clique *c, const struct domain *d, const struct learn_box *b,
                        unsigned y, const double *const table[2], double *const sum[2])
{
    uint32_t at[CLIQUE_MAX] = {0};
    uint64_t cells = clique_cells(c, d), in = 0;
    for (uint64_t i = 0; i < cells; i++) {
        bool is_in = true;
        for (unsigned k = 0; k < c->n; k++)
            is_in &= at[k] >= b->from[k] && at[k] < b->below[k];
        for (int t = 0; is_in && t < 2; t++)
            sum[t][at[y]] += table[t][i];
        in += is_in;
        for (unsigned k = c->n; k-- > 0 && ++at[k] == d->attribute[c->attribute[k]].size;)
            at[k] = 0;
    }
    return in;
}

/* --- what is seen ----------------------------------------------------------------------------- */

struct looking {
    struct errors_list *list;
    const struct domain *domain;
    const struct clique *clique;
    const double *table[2]; /* the model's, the measurement's */
    double scale, sigma;    /* of the latter: it counts as y * scale */
    double total;
    unsigned links;
    struct random random;
};

static enum err add(struct errors_list *l, const struct errors_seen *s)
{
    if (!(s->noise < NOISE_MOST))
        return ERR_OK;
    TRY(memory_room(&l->one, &l->room, l->n + 1));
    l->one[l->n++] = *s;
    return ERR_OK;
}

/* The errors of the waves from `first` up to but not including `below`. */
static enum err look_at(const struct looking *k, const double *const sum[2], uint32_t codes,
                        double noise, unsigned first, unsigned below)
{
    double rows = 0, before = 0, factor, error[ERRORS_WAVES] = {0}, square[ERRORS_WAVES] = {0};
    for (uint32_t i = 0; i < codes; i++)
        rows += sum[0][i];
    if (!(rows >= 1))
        return ERR_OK;
    factor = k->links * (1 - rows / k->total) * (1 - rows / k->total);
    for (uint32_t i = 0; i < codes; i++) {
        double wave[ERRORS_WAVES];
        legendre(fmin(1, (before + sum[0][i] / 2) / rows), wave, ERRORS_WAVES);
        before += sum[0][i];
        for (unsigned w = first; w < below; w++) {
            error[w] += (k->scale * sum[1][i] - sum[0][i]) * wave[w] / rows;
            square[w] += wave[w] * wave[w];
        }
    }
    for (unsigned w = first; w < below; w++) {
        const struct errors_seen s = {.wave = w,
                                      .rows = rows,
                                      .factor = factor,
                                      .square = error[w] * error[w],
                                      .noise = noise * square[w] / rows / rows};
        TRY(add(k->list, &s));
    }
    return ERR_OK;
}

/* A box over all columns except y, and how y is distributed in it; or over all, and its rows. */
static enum err look_once(struct looking *k, unsigned y, bool shape, double *const sum[2])
{
    const uint32_t codes = k->domain->attribute[k->clique->attribute[y]].size;
    struct learn_box b = draw_box(k->clique, k->domain, shape ? y : CLIQUE_MAX, &k->random);
    double variance = k->sigma * k->scale * k->sigma * k->scale;
    uint64_t cells;
    for (uint32_t i = 0; i < codes; i++)
        sum[0][i] = sum[1][i] = 0;
    cells = sum_box(k->clique, k->domain, &b, y, k->table, sum);
    variance *= (double)cells / codes; /* of each code; the sum stays the same */
    return look_at(k, (const double *const[]){sum[0], sum[1]}, codes, variance, shape ? 1 : 0,
                   shape ? ERRORS_WAVES : 1);
}

static enum err look_along(struct looking *k, unsigned y)
{
    const uint32_t codes = k->domain->attribute[k->clique->attribute[y]].size;
    double *room CLEAN(memory_release) = NULL;
    TRY(memory_new(&room, 2 * (size_t)codes));
    for (int i = 0; i < 2 * BOXES; i++)
        TRY(look_once(k, y, i % 2 == 1, (double *const[]){room, room + codes}));
    return ERR_OK;
}

enum err errors_look(struct errors_list *list, const struct model *m, const struct measurement *x,
                     unsigned links, uint64_t seed, struct log *log)
{
    struct looking k = {.list = list,
                        .domain = x->merges != NULL ? model_grouped(m) : model_domain(m),
                        .clique = &x->clique,
                        .scale = x->total > 0 ? model_total(m) / x->total : 1,
                        .sigma = x->sigma,
                        .total = model_total(m),
                        .links = links};
    double *mu CLEAN(memory_release) = NULL;
    TRY(memory_new(&mu, clique_cells(&x->clique, k.domain)));
    TRY(model_measured(m, x, mu, log));
    k.table[0] = mu;
    k.table[1] = x->y;
    k.random = random_of(seed);
    for (unsigned y = 0; y < x->clique.n; y++)
        TRY(look_along(&k, y));
    return ERR_OK;
}

/* --- what is likely --------------------------------------------------------------------------- */

static double surprise(const struct errors_list *lists, size_t n, unsigned wave,
                       const struct errors_size *size)
{
    double sum = 0;
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < lists[g].n; i++) {
            const struct errors_seen *s = &lists[g].one[i];
            double v = s->noise + s->factor * (size->common + size->small / s->rows);
            if (s->wave == wave && v > 0)
                sum += log(v) + s->square / v;
        }
    return sum;
}

static struct errors_size size_at(int common, int small)
{
    return (struct errors_size){.common = common > 0 ? exp2(common - COMMONS + 1) : 0,
                                .small = small > 0 ? exp2(small - 5) : 0};
}

/*
 * The mean over a grid of 0 and powers of two, each by how likely it makes what was seen. Where
 * noise hides what is to be learned, many sizes are as likely as the best one, which is 0 then: it
 * would leave nothing open.
 */
struct errors_size errors_likely(const struct errors_list *lists, size_t n, unsigned wave)
{
    double now[COMMONS + 1][SMALLS + 1], least = INFINITY, all = 0;
    struct errors_size mean = {0};
    for (int i = 0; i <= COMMONS; i++)
        for (int k = 0; k <= SMALLS; k++) {
            const struct errors_size size = size_at(i, k);
            now[i][k] = surprise(lists, n, wave, &size);
            least = fmin(least, now[i][k]);
        }
    for (int i = 0; i <= COMMONS; i++)
        for (int k = 0; k <= SMALLS; k++) {
            const struct errors_size size = size_at(i, k);
            const double weight = exp((least - now[i][k]) / 2 / ALIKE);
            all += weight;
            mean.common += weight * size.common;
            mean.small += weight * size.small;
        }
    mean.common /= all;
    mean.small /= all;
    return mean;
}
