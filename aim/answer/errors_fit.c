/* The fits behind a model's errors: to noisier measurements, and to all except some of them. */
#include "aim/answer/errors_private.h"
#include "aim/model/model_jobs.h"
#include "aim/model/model_private.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define GROUPS 8 /* of marginals: one is held back at a time */
/*
 * Propagations of a fit. A refit of a model above 2^21 cells has fewer than the first number, so
 * that all refits take no more than a few minutes: its measurements are finer and settle sooner.
 */
#define PROPAGATIONS 60
#define PROPAGATIONS_LEAST 20
#define HELD_BACK 40
#define CELLS (UINT64_C(1) << 21)

struct errors_work {
    struct errors *errors;
    const struct model *model;
    const struct measurement *measurement;
    size_t count;
    size_t held;
    size_t *which; /* potentials that are held back in turn */
    size_t groups;
    struct errors_list *seen; /* of each group */
    struct log *log;
};

static unsigned iterations(const struct model *m, unsigned propagations)
{
    uint64_t cells = model_cells(m);
    uint64_t n = cells > CELLS ? propagations * CELLS / cells : propagations;
    return fit_iterations(n > PROPAGATIONS_LEAST ? (unsigned)n : PROPAGATIONS_LEAST);
}

/* --- refits ----------------------------------------------------------------------------------- */

/* Adds noise to the measurements once more; their numbers are in `room`. */
static enum err disturb(const struct errors_work *w, struct random *r, struct measurement **out,
                        double **room)
{
    const struct domain *d = w->model->domain;
    size_t cells = 0, at = 0;
    TRY(memory_new(out, w->count));
    for (size_t i = 0; i < w->count; i++)
        cells += measurement_cells(&w->measurement[i], d);
    TRY(memory_new(room, cells));
    for (size_t i = 0; i < w->count; i++) {
        const struct measurement *x = &w->measurement[i];
        cells = measurement_cells(x, d);
        (*out)[i] = *x;
        (*out)[i].y = *room + at;
        for (size_t c = 0; c < cells; c++)
            (*room)[at++] = x->y[c] + x->sigma * ldexp((double)random_gauss(r), -RANDOM_GAUSS_BITS);
    }
    return ERR_OK;
}

/* Takes what the model has learned, without the potentials that are flagged (NULL: with all). */
static void begin(struct model *m, const struct model *from, const bool *without)
{
    memcpy(m->theta, from->theta, m->parameters * sizeof *m->theta);
    groups_copy(m, from);
    for (size_t k = 0; without != NULL && k < m->potentials; k++)
        if (without[k])
            memset(m->theta + m->potential[k].offset, 0, m->potential[k].cells * sizeof(double));
    m->total = from->total;
    model_propagate(m, true); /* else the previous job's numbers take part */
}

/* Keeps how theta moved. */
static void keep(struct errors *e, size_t refit, const struct model *from, const struct model *to)
{
    e->total[refit] = to->total;
    groups_get(to, e->share + refit * e->shares);
    for (size_t k = 0; k < from->potentials; k++) {
        const struct model_potential *p = &from->potential[k];
        float *unit = &e->unit[refit * e->potentials + k];
        double most = 0;
        for (size_t i = p->offset; i < p->offset + p->cells; i++)
            most = fmax(most, fabs(to->theta[i] - from->theta[i]));
        *unit = (float)(most / INT16_MAX);
        for (size_t i = p->offset; *unit > 0 && i < p->offset + p->cells; i++) {
            double moved = rint((to->theta[i] - from->theta[i]) / (double)*unit);
            e->moved[refit * e->parameters + i] = (int16_t)fmax(-INT16_MAX, fmin(INT16_MAX, moved));
        }
    }
}

static enum err refit(const struct errors_work *w, size_t number, struct model *m)
{
    struct measurement *noisier CLEAN(memory_release) = NULL;
    double *room CLEAN(memory_release) = NULL;
    struct model_fitted result;
    struct random r = random_of(number + 1);
    TRY(disturb(w, &r, &noisier, &room));
    begin(m, w->model, NULL);
    m->total = model_estimate_total(m->domain, noisier, w->count);
    TRY(model_fit(m, noisier, w->count, iterations(m, PROPAGATIONS), &result, w->log));
    TRY(shares_learn(m, w->measurement, w->count, &r));
    keep(w->errors, number, w->model, m);
    return ERR_OK;
}

/* --- marginals that are held back ------------------------------------------------------------- */

/* Flags the model's potentials that a group lacks. */
static enum err flag_held(const struct errors_work *w, size_t group, bool **without)
{
    TRY(memory_new(without, w->model->potentials));
    for (size_t i = group; i < w->held; i += w->groups)
        (*without)[w->which[i]] = true;
    return ERR_OK;
}

static bool is_held(const struct model *m, const bool *without, const struct clique *c)
{
    for (size_t k = 0; k < m->potentials; k++)
        if (without[k] && clique_equal(&m->potential[k].clique, c))
            return true;
    return false;
}

static enum err hold_back(const struct errors_work *w, size_t group, struct model *m)
{
    struct measurement *others CLEAN(memory_release) = NULL;
    bool *without CLEAN(memory_release) = NULL;
    struct model_fitted result;
    size_t n = 0;
    TRY(memory_new(&others, w->count));
    TRY(flag_held(w, group, &without));
    for (size_t i = 0; i < w->count; i++)
        if (!is_held(m, without, &w->measurement[i].clique))
            others[n++] = w->measurement[i];
    begin(m, w->model, without);
    TRY(model_fit(m, others, n, iterations(m, HELD_BACK), &result, w->log));
    for (size_t i = 0; i < w->count; i++) {
        const struct measurement *x = &w->measurement[i];
        struct scope columns = scope_of(&x->clique);
        unsigned links = errors_links_without(m, &columns, without);
        if (links > 0 && is_held(m, without, &x->clique))
            TRY(errors_look(&w->seen[group], m, x, links, i, w->log));
    }
    return ERR_OK;
}

/* Whether another measured clique holds it, so that it stays known without its own measurement. */
static bool is_within(const struct model *m, size_t k)
{
    for (size_t i = 0; i < m->potentials; i++)
        if (i != k && clique_contains(&m->potential[i].clique, &m->potential[k].clique))
            return true;
    return false;
}

/*
 * Takes the later half of the measured marginals. A run measures what the model fits worst, so the
 * marginals that were never measured are more like these than like the first ones.
 */
static enum err find_held(struct errors_work *w)
{
    const struct model *m = w->model;
    TRY(memory_new(&w->which, m->potentials));
    for (size_t k = 0; k < m->potentials; k++)
        if (m->potential[k].clique.n > 1 && !is_within(m, k))
            w->which[w->held++] = k;
    for (size_t k = 0; k < w->held - w->held / 2; k++)
        w->which[k] = w->which[k + w->held / 2];
    w->held -= w->held / 2;
    w->groups = w->held < GROUPS ? w->held : GROUPS;
    return memory_new(&w->seen, w->groups);
}

/* --- both ------------------------------------------------------------------------------------- */

static enum err fit_again(void *self, size_t job, struct model *m)
{
    const struct errors_work *w = self;
    return job < w->groups ? hold_back(w, job, m) : refit(w, job - w->groups, m);
}

static void learn(struct errors_work *w)
{
    for (size_t g = 0; g < w->groups; g++)
        w->errors->learned |= w->seen[g].n > 0;
    for (unsigned wave = 0; w->errors->learned && wave < ERRORS_WAVES; wave++)
        w->errors->apart[wave] = errors_likely(w->seen, w->groups, wave);
}

static void work_clear(struct errors_work *w)
{
    for (size_t g = 0; w->seen != NULL && g < w->groups; g++)
        memory_free(&w->seen[g].one);
    memory_free_all(&w->seen, &w->which);
}

/* The place of a measurement's cells among what is kept: another's of the same, or a new one. */
static enum err place_of(struct errors *e, const struct model *m, const struct measurement *x,
                         struct measurement **place)
{
    const struct merges *merges = x->merges != NULL ? model_merges(m) : NULL;
    for (size_t i = 0; i < e->counts; i++)
        if (clique_equal(&e->count[i].clique, &x->clique) && e->count[i].merges == merges) {
            *place = &e->count[i];
            return ERR_OK;
        }
    *place = &e->count[e->counts++];
    **place = (struct measurement){.clique = x->clique, .merges = merges, .sigma = INFINITY};
    return memory_new(&(*place)->y, measurement_cells(x, m->domain));
}

/* Keeps counts, as the model's total has them; more of the same cells by the inverse variance. */
static enum err keep_counts(struct errors *e, const struct model *m, const struct measurement *x,
                            size_t count)
{
    TRY(memory_new(&e->count, count));
    for (size_t i = 0; i < count; i++, x++) {
        const double scale = x->total > 0 ? m->total / x->total : 1, sigma = x->sigma * scale;
        struct measurement *to;
        double new;
        TRY(place_of(e, m, x, &to));
        new = 1 / (1 + sigma * sigma / to->sigma / to->sigma);
        for (uint64_t c = 0; c < measurement_cells(x, m->domain); c++)
            to->y[c] += new *(scale * x->y[c] - to->y[c]);
        to->sigma = sigma * sqrt(new);
    }
    return ERR_OK;
}

enum err errors_new(struct errors **out, const struct model *m,
                    const struct measurement *measurements, size_t count,
                    const struct errors_progress *progress, struct log *log)
{
    struct errors *e CLEAN(errors_free) = NULL;
    struct errors_work w CLEAN(work_clear) = {
        .model = m, .measurement = measurements, .count = count, .log = log};
    struct model_jobs jobs = {.play = fit_again, .self = &w, .log = log};
    *out = NULL;
    TRY(memory_new(&e, 1));
    TRY(errors_room(e, m, errors_refits(m->parameters)));
    if (e->refits == 0)
        return ERR_OK;
    w.errors = e;
    TRY(find_held(&w));
    jobs.jobs = w.groups + e->refits;
    if (progress != NULL) {
        jobs.begun = progress->fitted;
        jobs.show = progress->self;
    }
    TRY(model_jobs_run(&jobs, m));
    learn(&w);
    TRY(keep_counts(e, m, measurements, count));
    TRY(errors_inside(e->inside, m, measurements, count, log));
    return memory_hand_over(out, &e);
}
