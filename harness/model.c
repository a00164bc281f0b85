#include "harness/model.h"

#include "aim/model/model_private.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define HALVINGS 25

enum err model_plain(struct model **m, const struct domain *d, const struct clique *cliques,
                     size_t count, uint64_t limit_cells, struct log *log)
{
    const struct model_terms t = {
        .domain = d, .clique = cliques, .cliques = count, .limit_cells = limit_cells};
    return model_new(m, &t, log);
}

void model_set_limit(struct model *m, uint64_t limit_cells)
{
    m->limit_cells = limit_cells;
}

static enum err error_of(const struct model *m, const struct clique *c, const struct table *t,
                         double *error, struct log *log)
{
    uint64_t cells = clique_cells(c, t->domain);
    double *p CLEAN(memory_release) = memory_array(cells, sizeof *p);
    int64_t *q CLEAN(memory_release) = memory_array(cells, sizeof *q);
    TRY(p != NULL && q != NULL ? model_marginal(m, c, p, log) : ERR_NOMEM);
    tabulate_marginal(t, c, q);
    for (uint64_t i = 0; i < cells; i++)
        *error += fabs(p[i] / m->total - (double)q[i] / (double)t->rows);
    return ERR_OK;
}

enum err model_error(const struct model *m, const struct workload *w, const struct table *t,
                     double *mean, struct log *log)
{
    *mean = 0;
    for (size_t k = 0; k < w->cliques; k++)
        TRY(error_of(m, &w->clique[k], t, mean, log));
    *mean /= (double)w->cliques;
    return ERR_OK;
}

struct mirror {
    struct model *model;
    const struct measurement *measurement;
    size_t measurements;
    double *gradient; /* dL by mu */
    /* where the step starts: theta, the counts there, and dL */
    double *theta, *mu, *mu_gradient;
};

static const struct model_potential *potential_of(const struct model *m, const struct clique *c)
{
    const struct model_potential *p = m->potential;
    while (!clique_equal(&p->clique, c))
        p++;
    return p;
}

/* L at the model's mu, and dL. */
static double loss_of(struct mirror *d)
{
    const struct model *m = d->model;
    double loss = 0;
    memset(d->gradient, 0, m->parameters * sizeof *d->gradient);
    for (size_t k = 0; k < d->measurements; k++) {
        const struct measurement *x = &d->measurement[k];
        const struct model_potential *p = potential_of(m, &x->clique);
        const double scale = x->total > 0 ? m->total / x->total : 1;
        const double weight = 1 / (x->sigma * scale) / (x->sigma * scale);
        for (size_t i = 0; i < p->cells; i++) {
            double miss = m->total * p->mu[i] - x->y[i] * scale;
            loss += 0.5 * weight * miss * miss;
            d->gradient[p->offset + i] += miss * weight;
        }
    }
    return loss;
}

static void keep_point(struct mirror *d)
{
    const struct model *m = d->model;
    memcpy(d->theta, m->theta, m->parameters * sizeof(double));
    memcpy(d->mu_gradient, d->gradient, m->parameters * sizeof(double));
    for (size_t k = 0; k < m->potentials; k++)
        for (size_t i = 0; i < m->potential[k].cells; i++)
            d->mu[m->potential[k].offset + i] = m->total * m->potential[k].mu[i];
}

/* The loss after a step from the kept point; `decrease` is <dL, mu_old - mu_new>. */
static double try_step(struct mirror *d, double step, double *decrease)
{
    struct model *m = d->model;
    *decrease = 0;
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = d->theta[i] - step * d->mu_gradient[i];
    model_propagate(m, false);
    for (size_t k = 0; k < m->potentials; k++) {
        const struct model_potential *p = &m->potential[k];
        for (size_t i = 0; i < p->cells; i++)
            *decrease += d->mu_gradient[p->offset + i] *
                         (d->mu[p->offset + i] - m->total * p->mu[i]);
    }
    return loss_of(d);
}

/* One iteration; false, with the model back where it was, if no step lowers the loss. */
static bool descend(struct mirror *d, double *step, struct model_fitted *r)
{
    *step *= 2;
    keep_point(d);
    for (int i = 0; i < HALVINGS; i++) {
        double decrease, trial = try_step(d, *step, &decrease);
        r->trials++;
        if (r->loss - trial >= 0.5 * *step * decrease && decrease > 0) {
            r->loss = trial;
            return true;
        }
        *step *= 0.5;
    }
    memcpy(d->model->theta, d->theta, d->model->parameters * sizeof(double));
    return false;
}

enum err mirror_fit(struct model *m, const struct measurement *measurements, size_t count,
                    unsigned iterations, struct model_fitted *r)
{
    const size_t n = m->parameters;
    double *room CLEAN(memory_release) = memory_array(4 * n, sizeof *room);
    double step = 1 / (m->total * m->total);
    struct mirror d = {m, measurements, count, room, room + n, room + 2 * n, room + 3 * n};
    *r = (struct model_fitted){0};
    if (room == NULL)
        return ERR_NOMEM;
    model_propagate(m, true);
    r->loss = loss_of(&d);
    while (r->iterations < iterations && descend(&d, &step, r))
        r->iterations++;
    model_propagate(m, true);
    r->loss = loss_of(&d);
    return ERR_OK;
}
