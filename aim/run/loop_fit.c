/*
 * The model of a run: how large it may be, which groups it may have, its fits to what has been
 * measured so far, and the fits of aim_refit().
 */
#include "aim/run/loop_private.h"
#include "base/memory.h"

#include <math.h>

#define KNOWN_SIGMA 0.1 /* times the least sigma: the sigma of known counts in a fit */

uint64_t loop_model_limit(const struct aim_options *o)
{
    const uint64_t usual = o->sweeps > 0 ? (uint64_t)AIM_SWEEPS_MIB << 20 : AIM_MODEL_BYTES;
    return (o->model_bytes != 0 ? o->model_bytes : usual) / sizeof(double);
}

enum err loop_merges_fit(const struct loop *l, bool *fit)
{
    const struct aim_options *o = l->options;
    const unsigned room = o->score == AIM_L2 || o->bounds.room < o->bounds.bits ? o->bounds.bits
                                                                                : o->bounds.room;
    struct score_bounds merged;
    TRY(score_merged(&merged, &o->bounds, o->workload, l->result->merges));
    *fit = merged.bits <= room;
    return ERR_OK;
}

/*
 * Returns the latest population's number of rows. Measurements of an earlier population get the
 * number of that one, by which they are scaled; those of the latest get 0.
 */
static double settle_totals(const struct domain *d, struct aim_result *r)
{
    uint64_t latest = r->population[r->measurements - 1];
    for (size_t i = 0; i < r->measurements; i++)
        r->measurement[i].total = 1; /* left out of estimates */
    for (size_t i = 0; i < r->measurements; i++) {
        uint64_t population = r->population[i];
        bool seen = population == latest;
        double total;
        for (size_t k = 0; k < i && !seen; k++)
            seen = r->population[k] == population;
        if (seen)
            continue;
        for (size_t k = i; k < r->measurements; k++)
            if (r->population[k] == population)
                r->measurement[k].total = 0;
        total = model_estimate_total(d, r->measurement, r->measurements);
        for (size_t k = i; k < r->measurements; k++)
            if (r->population[k] == population)
                r->measurement[k].total = total;
    }
    for (size_t i = 0; i < r->measurements; i++)
        if (r->population[i] == latest)
            r->measurement[i].total = 0;
    return model_estimate_total(d, r->measurement, r->measurements);
}

static enum err new_model(const struct aim_options *o, const struct aim_result *r, struct model **m,
                          struct log *log)
{
    const size_t count = r->measurements + r->knowns;
    struct clique *cliques CLEAN(memory_release) = memory_array(count, sizeof *cliques);
    struct model_terms t = {.domain = o->domain,
                            .merges = r->merges,
                            .clique = cliques,
                            .cliques = count,
                            .zero = o->zero,
                            .zeros = o->zeros,
                            .limit_cells = loop_model_limit(o),
                            .warm = r->model};
    if (cliques == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < r->measurements; i++)
        cliques[i] = r->measurement[i].clique;
    for (size_t i = 0; i < r->knowns; i++)
        cliques[r->measurements + i] = r->known[i].clique;
    return model_new(m, &t, log);
}

enum err aim_counts(const struct aim_result *r, struct measurement **all)
{
    double least = INFINITY;
    TRY(memory_new(all, r->measurements + r->knowns));
    for (size_t i = 0; i < r->measurements; i++) {
        (*all)[i] = r->measurement[i];
        least = fmin(least, r->measurement[i].sigma);
    }
    for (size_t i = 0; i < r->knowns; i++) {
        struct measurement *x = &(*all)[r->measurements + i];
        *x = r->known[i];
        x->sigma = KNOWN_SIGMA * least;
        x->total = 0;
    }
    return ERR_OK;
}

static double rows_of(const struct domain *d, const struct measurement *x)
{
    double sum = 0;
    for (uint64_t i = clique_cells(&x->clique, d); i-- > 0;)
        sum += x->y[i];
    return sum;
}

static enum err fit(const struct aim_options *o, struct aim_result *r, unsigned iterations,
                    double *loss, struct log *log)
{
    struct model_fitted fitted = {0};
    struct model *m CLEAN(model_free) = NULL, *old = r->model;
    struct measurement *all CLEAN(memory_release) = NULL;
    double total;
    TRY(new_model(o, r, &m, log));
    total = settle_totals(o->domain, r);
    model_set_total(m, r->knowns > 0 ? rows_of(o->domain, &r->known[0]) : total);
    TRY(aim_counts(r, &all));
    TRY(model_fit(m, all, r->measurements + r->knowns, iterations, &fitted, log));
    r->model = m;
    m = old;
    *loss = fitted.loss;
    return ERR_OK;
}

unsigned loop_fit_iterations(const struct aim_options *o)
{
    const unsigned usual = o->sweeps > 0 ? AIM_SWEEPS_FIT : AIM_FIT_ROUND;
    return o->fit_round != 0 ? o->fit_round : usual;
}

enum err loop_fit_round(const struct aim_options *o, struct aim_result *r, double *loss,
                        struct log *log)
{
    return fit(o, r, loop_fit_iterations(o), loss, log);
}

enum err loop_fit_final(const struct aim_options *o, struct aim_result *r, struct log *log)
{
    const unsigned usual = o->sweeps > 0 ? AIM_SWEEPS_FIT_FINAL : AIM_FIT_FINAL;
    const unsigned iterations = o->fit_final != 0 ? o->fit_final : usual;
    return fit(o, r, iterations / 5 + iterations % 5, &r->loss, log);
}

/* Whether the set of a sweep goes on after this measurement. */
static bool within_set(const struct aim_result *r, size_t i, size_t all)
{
    return r->sweep != NULL && i + 1 < all && r->sweep[i] > 0 && r->sweep[i] == r->sweep[i + 1];
}

static enum err refit(struct aim_result *r, const struct aim_options *o, size_t all,
                      const struct aim_refit_progress *progress, struct log *log)
{
    const size_t first = o->domain->attributes;
    size_t fits = 2, done = 0;
    for (size_t n = first; n < all; n++)
        fits += !within_set(r, n, all);
    for (size_t n = first; n <= all; n++) {
        if (n > first && within_set(r, n - 1, all))
            continue;
        if (progress->fitted != NULL)
            progress->fitted(progress->self, done++, fits);
        r->measurements = n;
        TRY(loop_fit_round(o, r, &r->loss, log));
    }
    if (progress->fitted != NULL)
        progress->fitted(progress->self, done, fits);
    TRY(loop_fit_final(o, r, log));
    return r->knowns > 0 ? model_meet(r->model, r->known, r->knowns, &r->off, log) : ERR_OK;
}

enum err aim_refit(struct aim_result *result, const struct aim_options *options,
                   const struct aim_refit_progress *progress, struct log *log)
{
    const size_t all = result->measurements;
    enum err e;
    result->known = options->known;
    result->knowns = options->knowns;
    e = refit(result, options, all, progress, log);
    result->measurements = all; /* aim_result_free() frees them all */
    return e;
}
