#include "aim/model.h"

#include "aim/model_private.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define HALVINGS 25

/* A measurement on the model's scale. */
struct target {
    const struct potential *potential;
    double scale;  /* y counts as y * scale */
    double weight; /* 1 / sigma^2, scaled */
    const double *y;
};

struct fitting {
    struct model *model;
    size_t targets;
    struct target *target;
    double *gradient; /* dL by mu */
    double *theta;    /* where the step starts */
    double *mu;
    double *mu_gradient; /* gradient at `mu` */
};

static enum err find_targets(struct fitting *f, const struct measurement *ms, size_t count,
                             struct log *log)
{
    const struct model *m = f->model;
    for (size_t k = 0; k < count; k++) {
        struct target *t = &f->target[f->targets++];
        for (size_t i = 0; i < m->potentials; i++)
            if (clique_equal(&m->potential[i].clique, &ms[k].clique))
                t->potential = &m->potential[i];
        if (t->potential == NULL) {
            char name[256];
            clique_name(&ms[k].clique, m->domain, name, sizeof name);
            log_error(log, "the measurement of %s is not one of the model's cliques", name);
            return ERR_MISMATCH;
        }
        if (!isfinite(ms[k].sigma) || ms[k].sigma <= 0) {
            log_error(log, "measurement %zu has a sigma of %g; it must be above 0", k + 1,
                      ms[k].sigma);
            return ERR_RANGE;
        }
        t->scale = ms[k].total > 0 ? m->total / ms[k].total : 1;
        t->weight = 1 / (ms[k].sigma * t->scale) / (ms[k].sigma * t->scale);
        t->y = ms[k].y;
    }
    return ERR_OK;
}

/* L, and its gradient in f->gradient, at the model's mu. */
static double loss_of(struct fitting *f)
{
    double loss = 0;
    memset(f->gradient, 0, f->model->parameters * sizeof *f->gradient);
    for (size_t k = 0; k < f->targets; k++) {
        const struct target *t = &f->target[k];
        const double *mu = f->model->mu + t->potential->offset;
        double *gradient = f->gradient + t->potential->offset;
        double sum = 0;
        for (size_t i = 0; i < t->potential->cells; i++) {
            double miss = mu[i] - t->y[i] * t->scale;
            sum += miss * miss;
            gradient[i] += miss * t->weight;
        }
        loss += 0.5 * t->weight * sum;
    }
    return loss;
}

static void keep_point(struct fitting *f)
{
    size_t bytes = f->model->parameters * sizeof(double);
    memcpy(f->theta, f->model->theta, bytes);
    memcpy(f->mu, f->model->mu, bytes);
    memcpy(f->mu_gradient, f->gradient, bytes);
}

/* The loss after a step from the kept point; `decrease` is <dL, mu_old - mu_new>. */
static double try_step(struct fitting *f, double step, double *decrease)
{
    struct model *m = f->model;
    double sum = 0;
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = f->theta[i] - step * f->mu_gradient[i];
    model_propagate(m);
    for (size_t i = 0; i < m->parameters; i++)
        sum += f->mu_gradient[i] * (f->mu[i] - m->mu[i]);
    *decrease = sum;
    return loss_of(f);
}

/* One iteration; false, with the model back where it was, if no step lowers the loss. */
static bool descend(struct fitting *f, double *step, struct fit_result *r)
{
    *step *= 2;
    keep_point(f);
    for (int halvings = 0; halvings < HALVINGS; halvings++) {
        double decrease, loss = try_step(f, *step, &decrease);
        r->trials++;
        if (r->loss - loss >= 0.5 * *step * decrease && decrease > 0) {
            r->loss = loss;
            return true;
        }
        *step *= 0.5;
    }
    memcpy(f->model->theta, f->theta, f->model->parameters * sizeof(double));
    model_propagate(f->model);
    r->loss = loss_of(f);
    return false;
}

static void mirror_descent(struct fitting *f, const struct fit_options *o, struct fit_result *r)
{
    double step = 1 / (f->model->total * f->model->total);
    model_propagate(f->model);
    *r = (struct fit_result){.loss = loss_of(f)};
    while (r->iterations < o->iterations && descend(f, &step, r)) {
        r->iterations++;
        if (o->progress != NULL && r->iterations % 50 == 0)
            o->progress(o->self, r->iterations, r->loss);
    }
}

enum err model_fit(struct model *m, const struct measurement *measurements, size_t count,
                   const struct fit_options *options, struct fit_result *result, struct log *log)
{
    struct fitting f = {.model = m};
    enum err e = ERR_NOMEM;
    f.target = memory_array(count, sizeof *f.target);
    f.gradient = memory_array(m->parameters, sizeof(double));
    f.theta = memory_array(m->parameters, sizeof(double));
    f.mu = memory_array(m->parameters, sizeof(double));
    f.mu_gradient = memory_array(m->parameters, sizeof(double));
    if (f.target != NULL && f.gradient != NULL && f.theta != NULL && f.mu != NULL &&
        f.mu_gradient != NULL)
        e = find_targets(&f, measurements, count, log);
    if (e == ERR_OK)
        mirror_descent(&f, options, result);
    memory_free(&f.target);
    memory_free(&f.gradient);
    memory_free(&f.theta);
    memory_free(&f.mu);
    memory_free(&f.mu_gradient);
    return e;
}
