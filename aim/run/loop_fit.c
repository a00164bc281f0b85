/*
 * The model of a run: how large it may be, which groups it may have, what it is fitted to and how
 * far it is from that, its fits during the run, and those of aim_refit().
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

static enum err new_model(const struct aim_options *o, const struct aim_result *r,
                          const struct aim_counts *counts, struct model **m, struct log *log)
{
    struct clique *cliques CLEAN(memory_release) = memory_array(counts->count, sizeof *cliques);
    struct model_terms t = {.domain = o->domain,
                            .merges = r->merges,
                            .clique = cliques,
                            .cliques = counts->count,
                            .zero = o->zero,
                            .zeros = o->zeros,
                            .limit_cells = loop_model_limit(o),
                            .warm = r->model};
    if (cliques == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < counts->count; i++)
        cliques[i] = counts->all[i].clique;
    return model_new(m, &t, log);
}

static enum err take_stages(struct aim_counts *c, struct measurement *x, const struct domain *d)
{
    if (!loop_is_number(x, d))
        return ERR_OK;
    TRY(memory_extend(&c->own, c->owns + 1));
    TRY(loop_stages(x, d));
    c->own[c->owns++] = x->y;
    return ERR_OK;
}

enum err aim_counts(const struct aim_result *r, const struct domain *d, struct aim_counts *c)
{
    double least = INFINITY;
    TRY(memory_new(&c->all, r->measurements + r->knowns));
    c->count = r->measurements + r->knowns;
    for (size_t i = 0; i < r->measurements; i++) {
        c->all[i] = r->measurement[i];
        least = fmin(least, r->measurement[i].sigma);
        TRY(take_stages(c, &c->all[i], d));
    }
    for (size_t i = 0; i < r->knowns; i++) {
        struct measurement *x = &c->all[r->measurements + i];
        *x = r->known[i];
        x->sigma = KNOWN_SIGMA * least;
        x->total = 0;
    }
    return ERR_OK;
}

void aim_counts_clear(struct aim_counts *c)
{
    memory_free_each(&c->own, c->owns);
    memory_free(&c->all);
}

static enum err fit(const struct aim_options *o, struct aim_result *r, unsigned iterations,
                    double *loss, struct log *log)
{
    struct model_fitted fitted = {0};
    struct model *m CLEAN(model_free) = NULL, *old = r->model;
    struct aim_counts counts CLEAN(aim_counts_clear) = {0};
    const double total = settle_totals(o->domain, r);
    TRY(aim_counts(r, o->domain, &counts));
    TRY(new_model(o, r, &counts, &m, log));
    model_set_total(m, r->knowns > 0 ? measurement_sum(&r->known[0], o->domain) : total);
    TRY(model_fit(m, counts.all, counts.count, iterations, &fitted, log));
    r->model = m;
    m = old;
    *loss = fitted.loss;
    return ERR_OK;
}

unsigned loop_fit_iterations(const struct aim_options *o)
{
    const unsigned usual = o->domain->series != NULL ? AIM_SERIES_FIT
                           : o->sweeps > 0           ? AIM_SWEEPS_FIT
                                                     : AIM_FIT_ROUND;
    return o->fit_round != 0 ? o->fit_round : usual;
}

enum err loop_fit_round(const struct aim_options *o, struct aim_result *r, double *loss,
                        struct log *log)
{
    return fit(o, r, loop_fit_iterations(o), loss, log);
}

enum err loop_fit_final(const struct aim_options *o, struct aim_result *r, struct log *log)
{
    const unsigned usual = o->domain->series != NULL ? AIM_SERIES_FIT_FINAL
                           : o->sweeps > 0           ? AIM_SWEEPS_FIT_FINAL
                                                     : AIM_FIT_FINAL;
    const unsigned iterations = o->fit_final != 0 ? o->fit_final : usual;
    return fit(o, r, iterations / 5 + iterations % 5, &r->loss, log);
}

/* What a measurement of this query counts: codes in round 0, merged codes after it. */
static struct measurement about(const struct loop *l, uint32_t query)
{
    const struct clique *c = &l->options->workload->query[query].clique;
    const struct merges *m = l->result->merges;
    const bool merged = m != NULL && merges_touch(m, c);
    return (struct measurement){.clique = *c, .merges = merged ? m : NULL};
}

/* Noisy counts from integers opened at a multiplier of m. */
static enum err record(struct loop *l, uint32_t query, uint64_t m, uint64_t population,
                       const int64_t *values)
{
    struct aim_result *r = l->result;
    struct measurement *x = &r->measurement[r->measurements];
    uint64_t cells;
    *x = about(l, query);
    x->sigma = measure_sigma(m, l->options->noise_by);
    cells = measurement_cells(x, l->options->domain);
    TRY(memory_new(&x->y, cells));
    for (uint64_t i = 0; i < cells; i++)
        x->y[i] = (double)values[i] / (double)m;
    r->population[r->measurements] = population;
    r->sweep[r->measurements] = l->options->sweeps > 0 ? (l->schedule.done + 1) / 2 : 0;
    r->query[r->measurements++] = query;
    return ERR_OK;
}

enum err loop_take(struct loop *l, const struct ask_told *told)
{
    const int64_t *values = told->value;
    for (uint32_t k = 0; k < l->ask.queries; k++) {
        const struct measurement *x = &l->result->measurement[l->result->measurements];
        TRY(record(l, l->ask.query[k], ask_multiplier(&l->ask, k), told->population, values));
        values += measurement_cells(x, l->options->domain);
    }
    return ERR_OK;
}

static enum err marginal_of(struct loop *l, const struct measurement *x, double **counts)
{
    TRY(memory_new(counts, measurement_cells(x, l->options->domain)));
    return model_measured(l->result->model, x, *counts, l->log);
}

static double distance(const double *a, const double *b, uint64_t cells)
{
    double sum = 0;
    for (uint64_t i = 0; i < cells; i++)
        sum += fabs(a[i] - b[i]);
    return sum;
}

/* Adds a measurement to a round's `after` and `noise`, given the model's counts of it. */
static void compare(struct aim_round *r, const struct measurement *x, const double *counts,
                    uint64_t cells)
{
    r->after += distance(counts, x->y, cells);
    r->noise += sqrt(2 / M_PI) * x->sigma * (double)cells;
}

enum err loop_compare(struct loop *l, size_t from, bool before, struct aim_round *r)
{
    for (size_t i = from; i < l->result->measurements; i++) {
        const struct measurement *x = &l->result->measurement[i];
        const uint64_t cells = measurement_cells(x, l->options->domain);
        double *counts CLEAN(memory_release) = NULL;
        TRY(marginal_of(l, x, &counts));
        if (before)
            r->before += distance(counts, x->y, cells);
        else
            compare(r, x, counts, cells);
    }
    return ERR_OK;
}

enum err loop_learn(struct loop *l, struct aim_round *r, const struct ask_told *told)
{
    const struct measurement *x = &l->result->measurement[l->result->measurements],
                             as = about(l, r->query);
    const uint64_t cells = measurement_cells(&as, l->options->domain);
    double *before CLEAN(memory_release) = NULL, *after CLEAN(memory_release) = NULL;
    TRY(marginal_of(l, &as, &before));
    TRY(record(l, r->query, l->ask.multiplier, told->population, told->value));
    TRY(loop_fit_round(l->options, l->result, &r->loss, l->log));
    TRY(marginal_of(l, &as, &after));
    r->moved = distance(after, before, cells);
    r->before = distance(before, x->y, cells);
    compare(r, x, after, cells);
    return ERR_OK;
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
