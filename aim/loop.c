#include "aim/loop.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

#define MEASURE_SHARE 0.9
/* Taken off sigma and epsilon so that rounding here cannot end above rho by a unit. */
#define GUARD 0x1p-48

struct loop {
    const struct aim_options *options;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct aim_result *result;
    double epsilon;
    uint64_t multiplier;
    size_t candidates;
    struct aim_candidate *candidate;
    uint32_t *query;       /* of each candidate */
    uint64_t *multipliers; /* room for select_plan() */
    uint64_t *penalties;
    uint64_t *estimate; /* cells of all candidates, one after the other */
    uint64_t estimates; /* room there */
    char name[256];
};

static double usable_rho(const struct aim_options *o)
{
    double k = o->limits.rows_per_person != 0 ? o->limits.rows_per_person : 1;
    return o->limits.rho / (k * k);
}

double aim_sigma(const struct aim_options *o)
{
    double share = o->rounds > 0 ? MEASURE_SHARE : 1;
    double marginals = (double)o->rounds + (double)o->workload->one_ways;
    return sqrt(marginals / (2 * share * usable_rho(o))) * (1 + GUARD);
}

double aim_epsilon(const struct aim_options *o)
{
    if (o->rounds == 0)
        return 0;
    return sqrt(8 * (1 - MEASURE_SHARE) * usable_rho(o) / o->rounds) * (1 - GUARD) -
           o->select_slack;
}

static uint64_t model_limit(const struct aim_options *o)
{
    return (o->model_bytes != 0 ? o->model_bytes : AIM_MODEL_BYTES) / sizeof(double);
}

/* --- the ledger ------------------------------------------------------------------------------ */

/* What a request costs, selection (if any) and measurement, debited together before either. */
static enum err debit(struct loop *l, size_t marginals, bool selects)
{
    mpq_t cost, more;
    enum err e = ERR_OK;
    mpq_inits(cost, more, (mpq_ptr)NULL);
    ledger_measure_cost(cost, l->multiplier, marginals);
    if (selects)
        e = ledger_select_cost(more, l->epsilon, l->options->select_slack);
    mpq_add(cost, cost, more);
    if (e == ERR_OK)
        e = ledger_debit(l->ledger, cost, l->log);
    if (e == ERR_OK)
        e = ledger_slack(l->ledger, (double)marginals * l->options->measure_slack, 0, l->log);
    mpq_clears(cost, more, (mpq_ptr)NULL);
    return e;
}

/* --- measuring ------------------------------------------------------------------------------- */

/* Noisy counts from opened integers; `x` gets its own y. */
static enum err record(struct loop *l, uint32_t query, const int64_t *values)
{
    struct aim_result *r = l->result;
    const struct workload_query *q = &l->options->workload->query[query];
    struct measurement *x = &r->measurement[r->measurements];
    x->y = memory_array(q->cells, sizeof *x->y);
    if (x->y == NULL)
        return ERR_NOMEM;
    x->clique = q->clique;
    x->sigma = measure_sigma(l->multiplier);
    for (uint64_t i = 0; i < q->cells; i++)
        x->y[i] = (double)values[i] / (double)l->multiplier;
    r->query[r->measurements++] = query;
    return ERR_OK;
}

static enum err measure(struct loop *l, unsigned round, const uint32_t *query, size_t count)
{
    const struct workload_query *all = l->options->workload->query;
    int64_t **values = memory_array(count, sizeof *values);
    int64_t *block;
    uint64_t cells = 0;
    enum err e;
    for (size_t i = 0; i < count; i++)
        cells += all[query[i]].cells;
    block = memory_array(cells, sizeof *block);
    e = values != NULL && block != NULL ? ERR_OK : ERR_NOMEM;
    cells = 0;
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        values[i] = block + cells;
        cells += all[query[i]].cells;
    }
    if (e == ERR_OK) {
        struct aim_measure request = {.round = round,
                                      .queries = count,
                                      .query = query,
                                      .multiplier = l->multiplier,
                                      .values = values};
        e = l->backend->measure(l->backend->self, &request);
    }
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = record(l, query[i], values[i]);
    memory_free(&values);
    memory_free(&block);
    return e;
}

/* --- the model ------------------------------------------------------------------------------- */

/* A model over everything measured, warm from the last one, fitted. */
static enum err fit(struct loop *l, unsigned iterations, double *loss)
{
    struct aim_result *r = l->result;
    struct clique *cliques = memory_array(r->measurements, sizeof *cliques);
    struct fit_options o = {.method = l->options->fit, .iterations = iterations};
    struct fit_result fitted = {0};
    struct model *m = NULL;
    enum err e = cliques != NULL ? ERR_OK : ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < r->measurements; i++)
        cliques[i] = r->measurement[i].clique;
    if (e == ERR_OK)
        e = model_new(&m, l->options->domain, cliques, r->measurements, model_limit(l->options),
                      l->log);
    if (e == ERR_OK) {
        if (r->model != NULL)
            model_warm(m, r->model);
        model_set_total(m,
                        model_estimate_total(l->options->domain, r->measurement, r->measurements));
        e = model_fit(m, r->measurement, r->measurements, &o, &fitted, l->log);
    }
    if (e == ERR_OK) {
        model_free(&r->model);
        r->model = m;
        *loss = fitted.loss;
    } else {
        model_free(&m);
    }
    memory_free(&cliques);
    return e;
}

/* --- selecting ------------------------------------------------------------------------------- */

static void find_candidates(struct loop *l, double share)
{
    const struct workload *w = l->options->workload;
    const struct model *m = l->result->model;
    uint64_t limit = (uint64_t)(fmin(share, 1) * (double)model_limit(l->options));
    l->candidates = 0;
    for (uint32_t i = 0; i < w->queries; i++) {
        const struct clique *c = &w->query[i].clique;
        if (!model_covers(m, c) && (model_cells_with(m, c) > limit ||
                                    model_marginal_cells(m, c) > model_limit(l->options)))
            continue;
        l->query[l->candidates++] = i;
    }
}

static enum err make_room(struct loop *l)
{
    uint64_t cells = 0;
    uint64_t *grown;
    for (size_t i = 0; i < l->candidates; i++)
        cells += l->options->workload->query[l->query[i]].cells;
    if (cells <= l->estimates)
        return ERR_OK;
    grown = memory_grow(l->estimate, cells, sizeof *grown);
    if (grown == NULL) {
        log_error(l->log, "no memory for the estimates of %zu candidates (%llu cells)",
                  l->candidates, (unsigned long long)cells);
        return ERR_NOMEM;
    }
    l->estimate = grown;
    l->estimates = cells;
    return ERR_OK;
}

/*
 * Counts onto the grid 2^-10, rounded down, so that their sum stays within that of the counts, and
 * clamped to what servers accept: each at most 2^l, the sum at most 2^(l+1).
 */
static enum err estimate(struct loop *l, uint32_t query, uint64_t *out)
{
    const struct workload_query *q = &l->options->workload->query[query];
    const struct model *m = l->result->model;
    double most = ldexp(1, (int)l->options->bounds.bits);
    double scale = fmin(1, 2 * most / model_total(m)) * (1 - GUARD);
    double *counts = memory_array(q->cells, sizeof *counts);
    enum err e = counts != NULL ? model_marginal(m, &q->clique, counts, l->log) : ERR_NOMEM;
    for (uint64_t i = 0; e == ERR_OK && i < q->cells; i++)
        out[i] = (uint64_t)(fmax(0, fmin(counts[i] * scale, most)) * (1 << AIM_ESTIMATE_BITS));
    memory_free(&counts);
    return e;
}

static enum err fill_candidates(struct loop *l)
{
    uint64_t cells = 0;
    TRY(make_room(l));
    for (size_t i = 0; i < l->candidates; i++) {
        struct aim_candidate *c = &l->candidate[i];
        *c = (struct aim_candidate){.query = l->query[i],
                                    .multiplier = l->multipliers[i],
                                    .penalty = l->penalties[i],
                                    .estimate = l->estimate + cells};
        TRY(estimate(l, c->query, l->estimate + cells));
        TRY(select_check_estimates(l->options->domain, l->options->workload, c->query,
                                   &l->options->bounds, c->estimate, l->log));
        cells += l->options->workload->query[c->query].cells;
    }
    return ERR_OK;
}

static enum err choose(struct loop *l, unsigned round, uint32_t *query)
{
    const struct aim_options *o = l->options;
    struct select_terms terms = {.domain = o->domain,
                                 .workload = o->workload,
                                 .query = l->query,
                                 .candidates = l->candidates,
                                 .epsilon = l->epsilon,
                                 .sigma = measure_sigma(l->multiplier),
                                 .bounds = o->bounds};
    struct select_plan plan;
    struct aim_select request = {.round = round, .epsilon = l->epsilon, .sigma = terms.sigma};
    TRY(select_plan(&terms, l->multipliers, l->penalties, &plan, l->log));
    TRY(fill_candidates(l));
    request.shift = plan.shift;
    request.candidates = l->candidates;
    request.candidate = l->candidate;
    TRY(l->backend->select(l->backend->self, &request));
    if (request.selected >= l->candidates) {
        log_error(l->log, "round %u: the backend selected candidate %zu of %zu", round,
                  request.selected, l->candidates);
        return ERR_MISMATCH;
    }
    *query = l->query[request.selected];
    return ERR_OK;
}

/* --- the run --------------------------------------------------------------------------------- */

static void report(struct loop *l, struct aim_round *r, double spent_before)
{
    const struct aim_options *o = l->options;
    r->sigma = measure_sigma(l->multiplier);
    r->spent = ledger_spent(l->ledger);
    r->cost = r->spent - spent_before;
    r->total = model_total(l->result->model);
    r->model_cells = model_cells(l->result->model);
    if (o->progress != NULL) {
        r->name = l->name;
        o->progress(o->self, r);
        r->name = NULL;
    }
}

static enum err round_zero(struct loop *l)
{
    const struct aim_options *o = l->options;
    struct aim_round *r = &l->result->round[l->result->rounds];
    *r = (struct aim_round){.query = AIM_NO_QUERY};
    snprintf(l->name, sizeof l->name, "all one-ways");
    for (uint32_t i = 0; i < o->workload->one_ways; i++)
        l->query[i] = i; /* the closure begins with them */
    TRY(debit(l, o->workload->one_ways, false));
    TRY(measure(l, 0, l->query, o->workload->one_ways));
    TRY(fit(l, o->fit_round != 0 ? o->fit_round : AIM_FIT_ROUND, &r->loss));
    l->result->rounds++;
    report(l, r, 0);
    return ERR_OK;
}

static enum err round_select(struct loop *l, unsigned round)
{
    const struct aim_options *o = l->options;
    struct aim_round *r = &l->result->round[l->result->rounds];
    double spent = ledger_spent(l->ledger);
    *r = (struct aim_round){.round = round, .epsilon = l->epsilon};
    TRY(debit(l, 1, true));
    find_candidates(l, ledger_spent(l->ledger) / o->limits.rho);
    r->candidates = l->candidates;
    TRY(choose(l, round, &r->query));
    clique_name(&o->workload->query[r->query].clique, o->domain, l->name, sizeof l->name);
    TRY(measure(l, round, &r->query, 1));
    TRY(fit(l, o->fit_round != 0 ? o->fit_round : AIM_FIT_ROUND, &r->loss));
    l->result->rounds++;
    report(l, r, spent);
    return ERR_OK;
}

static enum err prepare(struct loop *l)
{
    const struct aim_options *o = l->options;
    size_t queries = o->workload->queries, measured = o->workload->one_ways + o->rounds;
    struct aim_result *r = l->result;
    l->epsilon = aim_epsilon(o);
    TRY(measure_multiplier(aim_sigma(o), &l->multiplier, l->log));
    if (o->rounds > 0 && !(l->epsilon > 0)) {
        log_error(l->log,
                  "%u rounds leave each selection an epsilon of %g, less than the slack of its "
                  "noise; use fewer rounds or a larger budget",
                  o->rounds, l->epsilon);
        return ERR_RANGE;
    }
    TRY(ledger_new(&l->ledger, &o->limits, l->log));
    l->candidate = memory_array(queries, sizeof *l->candidate);
    l->query = memory_array(queries, sizeof *l->query);
    l->multipliers = memory_array(queries, sizeof *l->multipliers);
    l->penalties = memory_array(queries, sizeof *l->penalties);
    r->measurement = memory_array(measured, sizeof *r->measurement);
    r->query = memory_array(measured, sizeof *r->query);
    r->round = memory_array((size_t)o->rounds + 1, sizeof *r->round);
    return l->candidate != NULL && l->query != NULL && l->multipliers != NULL &&
                   l->penalties != NULL && r->measurement != NULL && r->query != NULL &&
                   r->round != NULL
               ? ERR_OK
               : ERR_NOMEM;
}

static enum err run(struct loop *l)
{
    const struct aim_options *o = l->options;
    TRY(prepare(l));
    TRY(round_zero(l));
    for (unsigned round = 1; round <= o->rounds; round++)
        TRY(round_select(l, round));
    return fit(l, o->fit_final != 0 ? o->fit_final : AIM_FIT_FINAL, &l->result->loss);
}

enum err aim_run(struct aim_result **result, const struct aim_options *options,
                 const struct aim_backend *backend, struct log *log)
{
    struct loop l = {.options = options, .backend = backend, .log = log};
    enum err e;
    *result = NULL;
    l.result = memory_array(1, sizeof *l.result);
    if (l.result == NULL)
        return ERR_NOMEM;
    e = run(&l);
    ledger_free(&l.ledger);
    memory_free(&l.candidate);
    memory_free(&l.query);
    memory_free(&l.multipliers);
    memory_free(&l.penalties);
    memory_free(&l.estimate);
    if (e != ERR_OK)
        aim_result_free(&l.result);
    *result = l.result;
    return e;
}

void aim_result_free(struct aim_result **result)
{
    struct aim_result *r = *result;
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    memory_free(&r->measurement);
    memory_free(&r->query);
    memory_free(&r->round);
    model_free(&r->model);
    memory_free(result);
}
