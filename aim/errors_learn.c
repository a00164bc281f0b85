/*
 * How wrong a model is where nothing was measured, from where something was: its errors on boxes of
 * a measured marginal that it was not fitted to. They are taken to be Gaussian, with a variance
 * that grows with the number of missing links and depends on the number of rows (struct
 * errors_size); the sizes that make what was seen, with its known noise, most likely are kept.
 */
#include "aim/errors_private.h"
#include "aim/legendre.h"
#include "aim/table/density.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

#define BOXES 24      /* of each marginal and each of its columns */
#define NOISE_MOST 1  /* variance: where noise is all that there is, nothing is learned */
#define UNKNOWN 0.577 /* of a share of a bin, sqrt(1/3): of a half, anything is as likely */

/* --- boxes ------------------------------------------------------------------------------------ */

/* A range of codes of each column: one label, or one or several numbers. */
struct box {
    uint32_t from[CLIQUE_MAX], below[CLIQUE_MAX];
};

static void draw_range(uint32_t *from, uint32_t *below, const struct domain_attribute *a,
                       struct random *r)
{
    uint32_t x = (uint32_t)random_below(r, a->size), y = (uint32_t)random_below(r, a->size);
    bool one = a->kind == DOMAIN_CATEGORICAL || random_below(r, 2) == 0;
    *from = one || x < y ? x : y;
    *below = (one || x > y ? x : y) + 1;
}

/* All of column `whole`. */
static struct box draw_box(const struct clique *c, const struct domain *d, unsigned whole,
                           struct random *r)
{
    struct box b;
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

/* Adds what two tables have in a box to sums by the codes of column y. Returns its cells. */
static uint64_t sum_box(const struct clique *c, const struct domain *d, const struct box *b,
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

/* The errors of the first waves below `below`, from `first` on. */
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

/* A box of all columns but y, and how y is distributed in it; or one of all, and its rows. */
static enum err look_once(struct looking *k, unsigned y, bool shape, double *const sum[2])
{
    const uint32_t codes = k->domain->attribute[k->clique->attribute[y]].size;
    struct box b = draw_box(k->clique, k->domain, shape ? y : CLIQUE_MAX, &k->random);
    double variance = k->sigma * k->scale * k->sigma * k->scale;
    uint64_t cells;
    for (uint32_t i = 0; i < codes; i++)
        sum[0][i] = sum[1][i] = 0;
    cells = sum_box(k->clique, k->domain, &b, y, k->table, sum);
    variance *= (double)cells / codes; /* of each code; in sum the same */
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
                        .domain = model_domain(m),
                        .clique = &x->clique,
                        .scale = x->total > 0 ? model_total(m) / x->total : 1,
                        .sigma = x->sigma,
                        .total = model_total(m),
                        .links = links};
    double *mu CLEAN(memory_release) = NULL;
    TRY(memory_new(&mu, clique_cells(&x->clique, k.domain)));
    TRY(model_marginal(m, &x->clique, mu, log));
    k.table[0] = mu;
    k.table[1] = x->y;
    random_seed_u64(&k.random, seed);
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

/* Of a grid: 0, and steps of a factor sqrt(10)/2 or so. */
struct errors_size errors_likely(const struct errors_list *lists, size_t n, unsigned wave)
{
    struct errors_size best = {0};
    double least = INFINITY;
    for (int i = 0; i <= 24; i++)
        for (int k = 0; k <= 20; k++) {
            struct errors_size size = {.common = i > 0 ? exp2(i - 23) : 0,
                                       .small = k > 0 ? exp2(k - 5) : 0};
            double now = surprise(lists, n, wave, &size);
            if (now < least) {
                least = now;
                best = size;
            }
        }
    return best;
}

/* --- inside bins ------------------------------------------------------------------------------ */

/* An attribute whose bins are pairs of another's, from its `skip`-th on; spikes stay alone. */
struct pairs {
    struct domain_attribute attribute;
    double *edges, *counts;
    uint32_t *first, *bins; /* of the other, in each */
};

static void pairs_clear(struct pairs *p)
{
    memory_free(&p->edges);
    memory_free(&p->counts);
    memory_free(&p->first);
    memory_free(&p->bins);
}

static enum err pairs_new(struct pairs *p, const struct domain_attribute *a, const double *counts,
                          uint32_t skip)
{
    uint32_t n = 0, bins;
    TRY(memory_new(&p->edges, (size_t)a->values + 1));
    TRY(memory_new(&p->counts, a->values));
    TRY(memory_new(&p->first, a->values));
    TRY(memory_new(&p->bins, a->values));
    p->edges[0] = a->edges[0];
    for (uint32_t i = 0; i < a->values; i += bins, n++) {
        bool pair = i >= skip && i + 1 < a->values && !domain_spike(a, i) &&
                    !domain_spike(a, i + 1);
        bins = pair ? 2 : 1;
        p->first[n] = i;
        p->bins[n] = bins;
        p->edges[n + 1] = a->edges[i + bins];
        p->counts[n] = counts[i] + (pair ? counts[i + 1] : 0);
    }
    p->attribute = *a;
    p->attribute.edges = p->edges;
    p->attribute.values = n;
    p->attribute.size = n;
    return ERR_OK;
}

/* Adds what the pairs say: errors of shares beyond noise, and what they would be at inside = 1. */
static enum err look_inside(const struct domain_attribute *a, const double *counts, double sigma,
                            uint32_t skip, double *seen, double *of)
{
    struct pairs p CLEAN(pairs_clear) = {.edges = NULL};
    struct density *d CLEAN(density_free) = NULL;
    TRY(pairs_new(&p, a, counts, skip));
    TRY(density_new(&d, &p.attribute, p.counts));
    for (uint32_t i = 0; i < p.attribute.values; i++) {
        double rows = p.counts[i], share, t, noise;
        if (p.bins[i] < 2 || !(rows > sigma))
            continue;
        t = density_part(d, i, -INFINITY, a->edges[p.first[i] + 1]).share;
        share = counts[p.first[i]] / rows;
        noise = sigma * sigma / rows / rows * (share * share + (1 - share) * (1 - share));
        *seen += rows * ((share - t) * (share - t) - noise);
        *of += rows * t * (1 - t);
    }
    return ERR_OK;
}

static enum err inside_of(double *inside, const struct model *m, uint16_t column, double sigma,
                          struct log *log)
{
    const struct domain_attribute *a = &model_domain(m)->attribute[column];
    const struct clique c = {.n = 1, .attribute = {column}};
    double *counts CLEAN(memory_release) = NULL, seen = 0, of = 0;
    TRY(memory_new(&counts, a->size));
    TRY(model_marginal(m, &c, counts, log));
    for (uint32_t skip = 0; skip < 2; skip++)
        TRY(look_inside(a, counts, sigma, skip, &seen, &of));
    *inside = of > 0 ? fmin(1, sqrt(fmax(0, seen / of))) : UNKNOWN;
    return ERR_OK;
}

enum err errors_inside(double *inside, const struct model *m, const struct measurement *x,
                       size_t count, struct log *log)
{
    const struct domain *d = model_domain(m);
    for (size_t i = 0; i < count; i++) {
        uint16_t column = x[i].clique.attribute[0];
        if (x[i].clique.n == 1 && d->attribute[column].kind == DOMAIN_NUMERIC)
            TRY(inside_of(&inside[column], m, column, x[i].sigma, log));
    }
    return ERR_OK;
}
