/*
 * Mirror descent with memory: Anderson's acceleration, measured in the metric of L.
 *
 * Plain mirror descent moves theta by -step dL(mu). This one also keeps, for its last steps, how
 * theta moved and how mu followed. Over such steps mu is nearly linear in theta, so a small linear
 * system gives the combination of them that promises the least L. From there it goes down the
 * gradient. Each pair tells how long that step may be: <moved, met> over <met, met / sigma^2>, the
 * curvature of L in theta's geometry. The pairs already handle what they explain, so the step is
 * for what is left. The shortest of their steps is taken: longer ones fail more often than not. A
 * proposal that does not lower L is replaced by a step down the gradient alone, and the oldest pair
 * is dropped.
 *
 * Measured on nursery and on five tables after 10 rounds: from equal starts it reaches the loss of
 * 1000 plain iterations in at most a tenth of their propagations. L-BFGS on the dual of implicit
 * steps needed more, and its loss did not fall steadily.
 */
#include "aim/model/model.h"

#include "aim/model/model_private.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define PAIRS 10
#define PAIR_NUMBERS (UINT64_C(1) << 24) /* in all pairs: larger models keep fewer of them */
#define RIDGE 1e-4                       /* of the small system, relative to its diagonal */
#define LOSS_DONE 1e-8                   /* relative fall of the loss that ends the fit */
#define SETTLED 20                       /* the iterations over which it is taken */
/* A step that lowers L below this share doubles the reach; another adds a quarter. */
#define REACH_EARNED 0.9

/* A measurement on the model's scale. */
struct target {
    const struct model_potential *potential;
    double scale;  /* y counts as y * scale */
    double weight; /* 1 / sigma^2, scaled */
    const double *y;
    /* Where the model has codes in groups: y has their sums, each over so many codes. */
    double *sums, *codes; /* or NULL */
};

/* Cells of a potential that were measured with the same noise. */
struct fit_run {
    const double *mu;
    size_t offset, cells; /* in theta */
    double weight;        /* 1 / sigma^2, of all measurements together; 0 if there is none */
};

struct fit_pair {
    float *moved; /* how theta moved */
    float *met;   /* how mu moved */
    double step;  /* the one its curvature allows */
};

struct fitting {
    struct model *model;
    const struct sweep *sweep;
    size_t targets;
    struct target *target;
    size_t runs;
    struct fit_run *run;
    size_t *first;               /* of each potential, and one more */
    size_t n;                    /* parameters */
    double *y;                   /* measurements of a clique together */
    double *theta, *mu, *change; /* where it stands, and the proposed move from there */
    double reach;                /* how far a step may move a theta */
    double loss, step;
    unsigned pairs, kept, newest;
    struct fit_pair pair[PAIRS];
    double gram[PAIRS][PAIRS]; /* <met, met>, weighted */
};

static enum err take_values(struct fitting *f, struct target *t, const struct measurement *x)
{
    const struct model *m = f->model;
    t->y = x->y;
    if (x->merges != NULL)
        return merges_equal(x->merges, &m->merges) ? ERR_OK : ERR_MISMATCH;
    if (!merges_touch(&m->merges, &x->clique))
        return ERR_OK;
    TRY(memory_new(&t->sums, t->potential->cells));
    TRY(memory_new(&t->codes, t->potential->cells));
    t->y = t->sums;
    return groups_sum(m, &x->clique, x->y, t->sums, t->codes);
}

static enum err find_targets(struct fitting *f, const struct measurement *ms, size_t count,
                             struct log *log)
{
    const struct model *m = f->model;
    for (size_t k = 0; k < count; k++) {
        struct target *t = &f->target[f->targets++];
        for (size_t i = 0; i < m->potentials; i++)
            if (clique_equal(&m->potential[i].clique, &ms[k].clique))
                t->potential = &m->potential[i];
        if (t->potential == NULL)
            return log_fail(log, ERR_MISMATCH,
                            "the measurement of %s is not one of the model's cliques",
                            clique_name(&ms[k].clique, m->domain).text);
        if (!isfinite(ms[k].sigma) || ms[k].sigma <= 0)
            return log_fail(log, ERR_RANGE, "measurement %zu has a sigma of %g; it must be above 0",
                            k + 1, ms[k].sigma);
        t->scale = ms[k].total > 0 ? m->total / ms[k].total : 1;
        t->weight = 1 / (ms[k].sigma * t->scale) / (ms[k].sigma * t->scale);
        TRY(take_values(f, t, &ms[k]));
    }
    return ERR_OK;
}

/* L at the model's mu. */
static double loss_of(const struct fitting *f)
{
    double loss = 0;
    for (size_t k = 0; k < f->targets; k++) {
        const struct target *t = &f->target[k];
        double sum = 0;
        for (size_t i = 0; i < t->potential->cells; i++) {
            double miss = f->model->total * t->potential->mu[i] - t->y[i] * t->scale;
            sum += t->codes != NULL ? miss * miss / t->codes[i] : miss * miss;
        }
        loss += 0.5 * t->weight * sum;
    }
    return loss;
}

/* One for each potential, or for each cell where cells have different numbers of codes. */
static enum err make_runs(struct fitting *f)
{
    const struct model *m = f->model;
    bool *apart CLEAN(memory_release) = NULL;
    TRY(memory_new(&apart, m->potentials));
    TRY(memory_new(&f->first, m->potentials + 1));
    for (size_t k = 0; k < f->targets; k++)
        apart[f->target[k].potential - m->potential] |= f->target[k].codes != NULL;
    for (size_t k = 0; k < m->potentials; k++)
        f->first[k + 1] = f->first[k] + (apart[k] ? m->potential[k].cells : 1);
    f->runs = f->first[m->potentials];
    TRY(memory_new(&f->run, f->runs));
    for (size_t k = 0; k < m->potentials; k++) {
        const struct model_potential *p = &m->potential[k];
        for (size_t i = 0; i < f->first[k + 1] - f->first[k]; i++)
            f->run[f->first[k] + i] = (struct fit_run){
                .mu = p->mu + i, .offset = p->offset + i, .cells = apart[k] ? 1 : p->cells};
    }
    return ERR_OK;
}

static void join_target(struct fitting *f, const struct target *t)
{
    const size_t k = (size_t)(t->potential - f->model->potential);
    for (size_t r = f->first[k]; r < f->first[k + 1]; r++) {
        struct fit_run *run = &f->run[r];
        const size_t from = run->offset - t->potential->offset;
        const double weight = t->codes != NULL ? t->weight / t->codes[from] : t->weight;
        run->weight += weight;
        for (size_t i = 0; i < run->cells; i++)
            f->y[run->offset + i] += weight * t->scale * t->y[from + i];
    }
}

static enum err join_targets(struct fitting *f)
{
    TRY(make_runs(f));
    for (size_t k = 0; k < f->targets; k++)
        join_target(f, &f->target[k]);
    for (size_t k = 0; k < f->runs; k++) {
        const struct fit_run *run = &f->run[k];
        for (size_t i = 0; run->weight > 0 && i < run->cells; i++)
            f->y[run->offset + i] /= run->weight;
    }
    return ERR_OK;
}

/* L where the model stands, less a constant if a clique has two targets. */
static double loss_here(const struct fitting *f)
{
    double loss = 0;
    for (size_t k = 0; k < f->runs; k++) {
        const struct fit_run *run = &f->run[k];
        loss += 0.5 * run->weight *
                f->sweep->square_off(run->mu, f->model->total, f->y + run->offset, run->cells);
    }
    return loss;
}

/* The same after a move to theta + part * change. */
static double try_change(struct fitting *f, double part, struct model_fitted *r)
{
    for (size_t i = 0; i < f->n; i++)
        f->model->theta[i] = f->theta[i] + part * f->change[i];
    model_propagate(f->model, false);
    r->trials++;
    return loss_here(f);
}

/* Makes the model's place the new starting point. */
static void settle(struct fitting *f, double loss, struct fit_pair *pair)
{
    const struct model *m = f->model;
    for (size_t k = 0; k < m->potentials; k++) {
        const struct model_potential *p = &m->potential[k];
        for (size_t i = p->offset; i < p->offset + p->cells; i++) {
            double mu = m->total * p->mu[i - p->offset];
            if (pair != NULL) {
                pair->moved[i] = (float)(m->theta[i] - f->theta[i]);
                pair->met[i] = (float)(mu - f->mu[i]);
            }
            f->mu[i] = mu;
            f->theta[i] = m->theta[i];
        }
    }
    f->loss = loss;
}

static double weighted(const struct fitting *f, const float *v, const float *w)
{
    double sum = 0;
    for (size_t k = 0; k < f->runs; k++) {
        const struct fit_run *run = &f->run[k];
        sum += run->weight * f->sweep->dot(v + run->offset, w + run->offset, run->cells);
    }
    return sum;
}

/* The same; what moved becomes the newest pair. */
static void learn(struct fitting *f, double loss)
{
    unsigned at = f->kept > 0 ? (f->newest + 1) % f->pairs : 0;
    struct fit_pair *pair = &f->pair[at];
    double across;
    f->reach *= loss < REACH_EARNED * f->loss ? 2 : 1.25;
    settle(f, loss, pair);
    f->newest = at;
    f->kept += f->kept < f->pairs;
    for (unsigned j = 0; j < f->kept; j++) {
        unsigned other = (at + f->pairs - j) % f->pairs;
        f->gram[at][other] = f->gram[other][at] = weighted(f, pair->met, f->pair[other].met);
    }
    across = f->sweep->dot(pair->moved, pair->met, f->n);
    pair->step = across > 0 && f->gram[at][at] > 0 ? across / f->gram[at][at] : f->step;
    f->step = INFINITY;
    for (unsigned j = 0; j < f->kept; j++)
        f->step = fmin(f->step, f->pair[(at + f->pairs - j) % f->pairs].step);
}

/* Solves gram x = x by elimination; `place` lists the kept pairs. */
static void solve(const struct fitting *f, const unsigned *place, double *x)
{
    double g[PAIRS][PAIRS + 1], scale[PAIRS];
    unsigned n = f->kept;
    for (unsigned i = 0; i < n; i++)
        scale[i] = 1 / sqrt(f->gram[place[i]][place[i]] + 1e-300);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++)
            g[i][j] = f->gram[place[i]][place[j]] * scale[i] * scale[j] + (i == j ? RIDGE : 0);
        g[i][n] = x[i] * scale[i];
    }
    for (unsigned i = 0; i < n; i++) /* positive definite: no pivoting */
        for (unsigned row = i + 1; row < n; row++) {
            double factor = g[row][i] / g[i][i];
            for (unsigned c = i; c <= n; c++)
                g[row][c] -= factor * g[i][c];
        }
    for (unsigned i = n; i-- > 0;) {
        for (unsigned c = i + 1; c < n; c++)
            g[i][n] -= g[i][c] * x[c];
        x[i] = g[i][n] / g[i][i];
    }
    for (unsigned i = 0; i < n; i++)
        x[i] *= scale[i];
}

/* change = -step dL */
static void point_down(struct fitting *f)
{
    for (size_t k = 0; k < f->runs; k++) {
        const struct fit_run *run = &f->run[k];
        double factor = f->step * run->weight;
        for (size_t i = run->offset; i < run->offset + run->cells; i++)
            f->change[i] = factor * (f->y[i] - f->mu[i]);
    }
}

/* change = the move to where the pairs promise the least loss, and down from there. */
static void propose(struct fitting *f)
{
    unsigned place[PAIRS];
    double x[PAIRS] = {0};
    for (unsigned j = 0; j < f->kept; j++) {
        place[j] = (f->newest + f->pairs - j) % f->pairs;
        for (size_t k = 0; k < f->runs; k++) {
            size_t o = f->run[k].offset;
            x[j] += f->run[k].weight * f->sweep->dot_off(f->pair[place[j]].met + o, f->mu + o,
                                                         f->y + o, f->run[k].cells);
        }
    }
    solve(f, place, x);
    point_down(f);
    for (unsigned j = 0; j < f->kept; j++) {
        const struct fit_pair *pair = &f->pair[place[j]];
        f->sweep->add(f->change, -x[j], pair->moved, f->n);
        for (size_t k = 0; k < f->runs; k++) {
            size_t o = f->run[k].offset;
            f->sweep->add(f->change + o, x[j] * f->step * f->run[k].weight, pair->met + o,
                          f->run[k].cells);
        }
    }
}

/*
 * Moves no theta farther than the steps before it have earned: the first pair is of a move that is
 * minute. What it promises may lower L and yet leave all mass in a few cells, and fits of persons
 * with events came back from there late or never. A step that hardly lowers L earns little.
 */
static void bound(struct fitting *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->change[i] = fmax(-f->reach, fmin(f->change[i], f->reach));
}

/* One iteration; false, with the model back where it was, if nothing lowers the loss. */
static bool improve(struct fitting *f, struct model_fitted *r, unsigned most)
{
    double loss;
    if (f->kept > 0) {
        propose(f);
        bound(f);
        loss = try_change(f, 1, r);
        if (loss < f->loss) {
            learn(f, loss);
            return true;
        }
        f->kept = f->kept > 2 ? f->kept - 1 : 0;
    }
    point_down(f);
    bound(f);
    for (double part = 1; part > 1e-8 && r->trials < most; part *= 0.5) {
        loss = try_change(f, part, r);
        if (loss < f->loss) {
            learn(f, loss);
            return true;
        }
    }
    memcpy(f->model->theta, f->theta, f->n * sizeof(double));
    return false;
}

static void descend(struct fitting *f, unsigned iterations, struct model_fitted *r)
{
    const unsigned most = fit_propagations(iterations);
    double before = INFINITY;
    settle(f, loss_here(f), NULL);
    f->step = 1 / (f->model->total * f->model->total);
    f->reach = 1;
    while (r->trials < most && improve(f, r, most)) {
        if (++r->iterations % SETTLED != 0)
            continue;
        if (before - f->loss <= LOSS_DONE * f->loss)
            break;
        before = f->loss;
    }
}

static bool make_room(struct fitting *f, size_t targets)
{
    double **vector[] = {&f->y, &f->theta, &f->mu, &f->change};
    bool room;
    f->pairs = (unsigned)fmin(PAIRS, fmax(2, (double)(PAIR_NUMBERS / 2 / (f->n + 1))));
    f->target = memory_array(targets, sizeof *f->target);
    room = f->target != NULL;
    for (size_t k = 0; k < sizeof vector / sizeof vector[0]; k++)
        room &= (*vector[k] = memory_array(f->n, sizeof(double))) != NULL;
    for (unsigned k = 0; k < f->pairs; k++) {
        room &= (f->pair[k].moved = memory_array(f->n, sizeof(float))) != NULL;
        room &= (f->pair[k].met = memory_array(f->n, sizeof(float))) != NULL;
    }
    return room;
}

static void clear(struct fitting *f)
{
    for (size_t k = 0; k < f->targets; k++) {
        memory_free_all(&f->target[k].sums, &f->target[k].codes);
    }
    memory_free_all(&f->target, &f->run, &f->first, &f->y, &f->theta, &f->mu, &f->change);
    for (unsigned k = 0; k < f->pairs; k++) {
        memory_free_all(&f->pair[k].moved, &f->pair[k].met);
    }
}

enum err model_fit(struct model *m, const struct measurement *measurements, size_t count,
                   unsigned iterations, struct model_fitted *result, struct log *log)
{
    struct fitting f CLEAN(clear) = {.model = m, .sweep = m->sweep, .n = m->parameters};
    *result = (struct model_fitted){0};
    if (!make_room(&f, count))
        return log_fail(log, ERR_NOMEM, "no memory to fit a model of %llu cells",
                        (unsigned long long)m->junction->cells);
    TRY(find_targets(&f, measurements, count, log));
    TRY(join_targets(&f));
    TRY(shares_learn(m, measurements, count, NULL));
    descend(&f, iterations, result);
    model_propagate(m, true);
    result->loss = loss_of(&f);
    return ERR_OK;
}
