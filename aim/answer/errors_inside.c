/* How wrong densities inside bins are: what they would say of two neighbours joined to one bin. */
#include "aim/answer/errors_private.h"
#include "aim/table/density.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <math.h>

#define UNKNOWN 0.577 /* sqrt(1/3): for half a bin, any share is equally likely */

/* An attribute whose bins are pairs of another's, from its `skip`-th on; spikes stay alone. */
struct inside_pairs {
    struct domain_attribute attribute;
    double *edges, *counts;
    uint32_t *first, *bins; /* the other's bins in each: the first, and how many */
};

static void pairs_clear(struct inside_pairs *p)
{
    memory_free_all(&p->edges, &p->counts, &p->first, &p->bins);
}

static enum err pairs_new(struct inside_pairs *p, const struct domain_attribute *a,
                          const double *counts, uint32_t skip)
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

/* Adds what the pairs show: errors of shares beyond noise, and their size at inside = 1. */
static enum err look_inside(const struct domain_attribute *a, const double *counts, double sigma,
                            uint32_t skip, double *seen, double *of)
{
    struct inside_pairs p CLEAN(pairs_clear) = {.edges = NULL};
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
        const struct clique *c = &x[i].clique;
        const struct series *s = d->series;
        /* the number of events is fitted together with its stages (aim/run/loop_persons.c) */
        const bool number = s != NULL && c->n == 2 &&
                            c->attribute[0] + c->attribute[1] == s->number + s->stage &&
                            (c->attribute[0] == s->number || c->attribute[1] == s->number);
        const uint16_t column = number ? s->number : c->attribute[0];
        if ((c->n == 1 || number) && domain_has_bins(&d->attribute[column]))
            TRY(inside_of(&inside[column], m, column, x[i].sigma, log));
    }
    return ERR_OK;
}
