#include "bench/flaim/flaim_private.h"

#include "aim/run/loop.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "harness/model.h"

#include <math.h>
#include <string.h>

#define ROOT_2_PI 0.797884560802865356 /* sqrt(2/pi) */

/* --- what a model says ----------------------------------------------------------------------- */

enum err view_new(struct flaim_view *v, const struct workload *w)
{
    *v = (struct flaim_view){0};
    v->share = memory_array(w->cells, sizeof *v->share);
    v->mass = memory_array(w->queries, sizeof *v->mass);
    v->query = memory_array(w->queries, sizeof *v->query);
    if (v->share != NULL && v->mass != NULL && v->query != NULL)
        return ERR_OK;
    view_clear(v);
    return ERR_NOMEM;
}

void view_clear(struct flaim_view *v)
{
    memory_free_all(&v->share, &v->mass, &v->query);
}

void view_candidates(struct flaim_view *v, const struct flaim_options *o, const uint32_t *from,
                     size_t count, uint64_t limit_cells)
{
    const struct workload *w = o->workload;
    uint64_t most = flaim_cells_most(o);
    size_t kept = 0;
    for (uint32_t i = 0; i < (from != NULL ? count : w->queries); i++) {
        uint32_t q = from != NULL ? from[i] : i;
        const struct clique *c = &w->query[q].clique;
        if (o->filter && c->n == 1)
            continue;
        if (model_covers(v->model, c) || (model_cells_with(v->model, c) <= limit_cells &&
                                          model_marginal_cells(v->model, c) <= most))
            v->query[kept++] = q;
    }
    v->candidates = kept;
}

static enum err fill_one(struct flaim_view *v, const struct workload *w, uint32_t q,
                         struct log *log)
{
    double *share = v->share + w->query[q].offset, total = model_total(v->model);
    TRY(model_marginal(v->model, &w->query[q].clique, share, log));
    v->mass[q] = 0;
    for (uint64_t i = 0; i < w->query[q].cells; i++) {
        share[i] /= total;
        v->mass[q] += fabs(share[i]);
    }
    return ERR_OK;
}

/* Candidates, and the one-ways in any case. */
enum err view_fill(struct flaim_view *v, const struct workload *w, struct log *log)
{
    for (uint32_t q = 0; q < w->one_ways; q++)
        TRY(fill_one(v, w, q, log));
    for (size_t i = 0; i < v->candidates; i++)
        if (v->query[i] >= w->one_ways)
            TRY(fill_one(v, w, v->query[i], log));
    return ERR_OK;
}

/* --- fitting --------------------------------------------------------------------------------- */

/* Everything pooled, as counts among all training rows; `x` and `c` have room. */
static enum err pooled_measurements(const struct flaim_options *o, const struct flaim_pooled *pool,
                                    struct measurement *x, size_t *n)
{
    const struct workload *w = o->workload;
    double rows = (double)o->split->train->rows;
    for (size_t q = 0; q < w->queries; q++) {
        struct measurement *to = &x[*n];
        if (pool[q].share == NULL)
            continue;
        to->clique = w->query[q].clique;
        to->sigma = rows / sqrt(pool[q].weight);
        to->y = memory_array(w->query[q].cells, sizeof *to->y);
        if (to->y == NULL)
            return ERR_NOMEM;
        ++*n;
        for (uint64_t i = 0; i < w->query[q].cells; i++)
            to->y[i] = rows * pool[q].share[i];
    }
    return ERR_OK;
}

static enum err fit_measurements(struct model **m, const struct flaim_options *o,
                                 const struct measurement *x, size_t n, const struct model *warm,
                                 unsigned iterations, struct log *log)
{
    struct model_fitted fitted;
    struct clique *c CLEAN(memory_release) = memory_array(n, sizeof *c);
    const struct model_terms t = {.domain = o->split->train->domain,
                                  .clique = c,
                                  .cliques = n,
                                  .limit_cells = UINT32_MAX,
                                  .warm = warm};
    if (c == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        c[i] = x[i].clique;
    TRY(model_new(m, &t, log));
    model_set_total(*m, (double)o->split->train->rows);
    return model_fit(*m, x, n, iterations, &fitted, log);
}

enum err fit_pooled(struct model **m, const struct flaim_options *o,
                    const struct flaim_pooled *pool, const struct measurement *own, size_t owns,
                    const struct model *warm, unsigned iterations, struct log *log)
{
    struct measurement *x = memory_array(o->workload->queries + owns, sizeof *x);
    size_t n = 0, pooled;
    enum err e = x != NULL ? pooled_measurements(o, pool, x, &n) : ERR_NOMEM;
    *m = NULL;
    pooled = n;
    for (size_t i = 0; e == ERR_OK && i < owns; i++)
        x[n++] = own[i];
    if (e == ERR_OK)
        e = fit_measurements(m, o, x, n, warm, iterations, log);
    for (size_t i = 0; i < pooled; i++)
        memory_free(&x[i].y);
    memory_free(&x);
    if (e != ERR_OK)
        model_free(m);
    return e;
}

/* --- a client's choice ----------------------------------------------------------------------- */

/* Room to count a client's rows in a marginal's cells. */
struct flaim_client_tally {
    uint32_t *count; /* all 0 between uses */
    size_t *cell;    /* of each row */
};

/* |M_q(D_k)/n_k - share|_1 from the client's rows alone; `mass` is the sum of |share|. */
static double distance(const struct table *t, const struct clique *c, const double *share,
                       double mass, struct flaim_client_tally *tally)
{
    double sum = mass, each = 1 / (double)t->rows;
    memset(tally->cell, 0, t->rows * sizeof *tally->cell);
    for (unsigned i = 0; i < c->n; i++) {
        const uint16_t *column = t->column[c->attribute[i]];
        size_t size = t->domain->attribute[c->attribute[i]].size;
        for (size_t row = 0; row < t->rows; row++)
            tally->cell[row] = tally->cell[row] * size + column[row];
    }
    for (size_t row = 0; row < t->rows; row++)
        tally->count[tally->cell[row]]++;
    for (size_t row = 0; row < t->rows; row++) {
        size_t cell = tally->cell[row];
        if (tally->count[cell] == 0)
            continue;
        sum += fabs(tally->count[cell] * each - share[cell]) - fabs(share[cell]);
        tally->count[cell] = 0;
    }
    return sum;
}

static double mass_of(const double *share, uint64_t cells)
{
    double sum = 0;
    for (uint64_t i = 0; i < cells; i++)
        sum += fabs(share[i]);
    return sum;
}

/* The client's distance from p~ in each one-way; tau is their mean. */
static void one_way_taus(const struct flaim_round *r, const struct table *t, double *tau,
                         struct flaim_client_tally *tally)
{
    const struct workload *w = r->options->workload;
    for (size_t j = 0; j < w->one_ways; j++) {
        const double *share = r->options->hetero == FLAIM_MODEL
                                  ? r->view->share + w->query[j].offset
                                  : r->proxy[j].share;
        tau[j] = distance(t, &w->query[j].clique, share, mass_of(share, w->query[j].cells), tally);
    }
}

static double tau_of(const struct flaim_round *r, const struct table *t, uint32_t q,
                     const double *one_way, struct flaim_client_tally *tally)
{
    const struct workload_query *query = &r->options->workload->query[q];
    const struct clique *c = &query->clique;
    double sum = 0;
    if (r->options->hetero == FLAIM_NAIVE)
        return 0;
    if (r->options->hetero == FLAIM_TRUE)
        return distance(t, c, r->truth + query->offset, 1, tally);
    for (unsigned i = 0; i < c->n; i++)
        sum += one_way[c->attribute[i]];
    return sum / c->n;
}

/* The exponential mechanism: the largest score with Gumbel noise, the lowest index at ties. */
static enum err select_one(const struct flaim_round *r, const struct table *t,
                           const struct flaim_view *v, const double *one_way,
                           struct flaim_client_tally *tally, uint32_t *choice)
{
    const struct workload *w = r->options->workload;
    int64_t *gumbel = memory_array(v->candidates, sizeof *gumbel);
    double rows = (double)t->rows, most = 0, best = 0;
    enum err e = gumbel != NULL
                     ? r->options->noise.gumbel(r->options->noise.self, v->candidates, gumbel)
                     : ERR_NOMEM;
    for (size_t i = 0; i < v->candidates; i++)
        most = fmax(most, w->query[v->query[i]].weight);
    most *= (r->options->hetero != FLAIM_NAIVE ? 2 : 1) / rows; /* the sensitivity */
    for (size_t i = 0; e == ERR_OK && i < v->candidates; i++) {
        const struct workload_query *q = &w->query[v->query[i]];
        double u = distance(t, &q->clique, v->share + q->offset, v->mass[v->query[i]], tally) -
                   ROOT_2_PI * r->sigma * (double)q->cells / rows -
                   tau_of(r, t, v->query[i], one_way, tally);
        double score = r->epsilon * q->weight * u / (2 * most) + (double)gumbel[i] * 0x1p-24;
        if (i == 0 || score > best) {
            best = score;
            *choice = v->query[i];
        }
    }
    memory_free(&gumbel);
    return e;
}

/* What a client knows between its steps: its noisy marginals, and the model that fits them too. */
struct local {
    struct flaim_view view;
    struct model *model;
    struct measurement *own;
    size_t owns;
};

static void local_clear(struct local *l)
{
    for (size_t i = 0; l->own != NULL && i < l->owns; i++)
        memory_free(&l->own[i].y);
    memory_free(&l->own);
    view_clear(&l->view);
    model_free(&l->model);
}

static enum err measure_own(const struct flaim_round *r, const struct table *t, uint32_t q,
                            struct measurement *own)
{
    const struct workload_query *query = &r->options->workload->query[q];
    double scale = (double)r->options->split->train->rows / (double)t->rows;
    int64_t *counts = memory_array(query->cells, sizeof *counts);
    int64_t *noise = memory_array(query->cells, sizeof *noise);
    enum err e = ERR_NOMEM;
    *own = (struct measurement){.clique = query->clique, .sigma = r->sigma * scale};
    own->y = memory_array(query->cells, sizeof *own->y);
    if (counts != NULL && noise != NULL && own->y != NULL) {
        tabulate_marginal(t, &query->clique, counts);
        e = r->options->noise.gauss(r->options->noise.self, query->cells, noise);
        for (uint64_t i = 0; e == ERR_OK && i < query->cells; i++)
            own->y[i] = ((double)counts[i] + r->sigma * (double)noise[i] * 0x1p-20) * scale;
    }
    memory_free_all(&counts, &noise);
    return e;
}

static enum err local_step(const struct flaim_round *r, const struct table *t, uint32_t q,
                           struct local *l)
{
    struct model *next = NULL;
    TRY(measure_own(r, t, q, &l->own[l->owns++]));
    TRY(fit_pooled(&next, r->options, r->pool, l->own, l->owns,
                   l->model != NULL ? l->model : r->view->model, r->options->fit_round, r->log));
    model_free(&l->model);
    l->model = next;
    if (l->view.share == NULL)
        TRY(view_new(&l->view, r->options->workload));
    l->view.model = next;
    view_candidates(&l->view, r->options, r->view->query, r->view->candidates, r->limit_cells);
    return view_fill(&l->view, r->options->workload, r->log);
}

static enum err steps(const struct flaim_round *r, const struct table *t,
                      struct flaim_client_tally *tally, uint32_t *choice, size_t *choices)
{
    double one_way[DOMAIN_ATTRIBUTES_MAX] = {0};
    struct local local = {0};
    enum err e;
    local.own = memory_array(r->options->steps, sizeof *local.own);
    e = local.own != NULL ? ERR_OK : ERR_NOMEM;
    if (e == ERR_OK && (r->options->hetero == FLAIM_NOISY || r->options->hetero == FLAIM_MODEL))
        one_way_taus(r, t, one_way, tally);
    for (unsigned l = 0; e == ERR_OK && l < r->options->steps; l++) {
        uint32_t q = 0;
        bool again = false;
        e = select_one(r, t, l == 0 ? r->view : &local.view, one_way, tally, &q);
        for (size_t i = 0; i < *choices; i++)
            again |= choice[i] == q;
        if (e == ERR_OK && !again)
            choice[(*choices)++] = q;
        if (e == ERR_OK && l + 1 < r->options->steps)
            e = local_step(r, t, q, &local);
    }
    local_clear(&local);
    return e;
}

enum err client_choose(const struct flaim_round *r, size_t k, uint32_t *choice, size_t *choices)
{
    const struct workload *w = r->options->workload;
    const struct table *t = r->options->split->client[k];
    uint64_t most = 0;
    struct flaim_client_tally tally;
    enum err e;
    for (size_t q = 0; q < w->queries; q++)
        most = w->query[q].cells > most ? w->query[q].cells : most;
    tally.count = memory_array(most, sizeof *tally.count);
    tally.cell = memory_array(t->rows, sizeof *tally.cell);
    *choices = 0;
    e = tally.count != NULL && tally.cell != NULL ? steps(r, t, &tally, choice, choices)
                                                  : ERR_NOMEM;
    memory_free_all(&tally.count, &tally.cell);
    return e;
}
