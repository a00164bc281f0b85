/* What a round asks: its candidates, the model's estimates of them, and the request's price. */
#include "aim/run/loop_private.h"
#include "base/memory.h"

#include <math.h>

/* Makes estimates smaller, so that rounding cannot take their sum above the bound. */
#define GUARD 0x1p-48
#define AS_PRECISE (1 - 0x1p-20) /* equal sigmas, whatever is rounded */
/* Of the rows. Independent columns are off by up to 0.5, as parties/study/rounds.h takes it. */
#define NOISE_MOST 0.5
#define NOISE_LITTLE 0.05
#define IDLE_ROUNDS 3 /* in a row */

enum err loop_merge(struct loop *l)
{
    const struct aim_options *o = l->options;
    struct merges *merges = l->result->merges;
    l->ask.merges = merges != NULL && merges_any(merges) ? merges : NULL;
    return score_merged(&l->terms.bounds, &o->bounds, o->workload, l->ask.merges);
}

enum err loop_price(struct loop *l, struct log *log)
{
    return ask_price(&l->price, &l->ask, &l->terms, log);
}

/* How many rows this round's noise is expected to move, as a share of all. */
static double noise_of(const struct loop *l, size_t query)
{
    const struct aim_result *r = l->result;
    const uint64_t cells = merges_query_cells(r->merges, &l->options->workload->query[query]);
    return sqrt(2 / M_PI) * l->ask.sigma * (double)cells / model_total(r->model);
}

/* Whether the last rounds each moved a marginal by no more than its noise: little is left there. */
static bool learned_nothing(const struct aim_result *r)
{
    for (size_t back = 1; back <= IDLE_ROUNDS; back++) {
        const struct aim_round *last = &r->round[r->rounds - back];
        if (last->asked != ASK_SELECT || last->moved > last->noise) /* round 0 selects nothing */
            return false;
    }
    return true;
}

/*
 * Whether a measurement with this round's noise can tell more than was measured already. It cannot
 * if its noise is expected to move more rows than columns that are treated as independent have in
 * wrong places. What was measured as precisely before, all its measurements together, can wait
 * until rounds learn nothing new. Where people join between rounds, that is of others.
 */
static bool can_gain(const struct loop *l, size_t query)
{
    const struct aim_result *r = l->result;
    const double sigma = l->ask.sigma;
    double known = 0; /* in measurements like this round's */
    if (l->ask.kind != ASK_SELECT || l->options->grows || l->options->earlier)
        return true;
    for (size_t i = 0; i < r->measurements; i++)
        if (r->query[i] == query)
            known += pow(sigma / r->measurement[i].sigma, 2);
    return known < AS_PRECISE ? noise_of(l, query) < NOISE_MOST : learned_nothing(r);
}

/*
 * Of the first so many queries, those that the model may hold; `beyond`: also those that take it
 * beyond the limit and are measured with little noise; `all`: also those without gain.
 */
static void find(struct loop *l, size_t queries, uint64_t limit, bool beyond, bool all)
{
    const struct model *m = l->result->model;
    const uint64_t most = loop_model_limit(l->options);
    for (size_t i = 0; i < queries; i++) {
        const struct clique *c = &l->options->workload->query[i].clique;
        const bool little = beyond && noise_of(l, i) < NOISE_LITTLE;
        if (!model_covers(m, c) &&
            (model_cells_with(m, c) > (little ? most : limit) || model_marginal_cells(m, c) > most))
            continue;
        if (all || can_gain(l, i))
            l->ask.query[l->ask.queries++] = (uint32_t)i;
    }
}

static bool is_measured(const struct aim_result *r, uint32_t query)
{
    for (size_t i = 0; i < r->measurements; i++)
        if (r->query[i] == query)
            return true;
    return false;
}

/* Of those found. */
static bool any_is_new(const struct loop *l)
{
    for (uint32_t k = 0; k < l->ask.queries; k++)
        if (!is_measured(l->result, l->ask.query[k]))
            return true;
    return false;
}

void loop_find_candidates(struct loop *l, double share)
{
    const struct workload *w = l->options->workload;
    const uint64_t limit = (uint64_t)(fmin(share, 1) * (double)loop_model_limit(l->options));
    l->ask.queries = 0;
    find(l, w->queries, limit, false, false);
    if (l->ask.kind == ASK_SELECT && !any_is_new(l) && !l->options->earlier) {
        l->ask.queries = 0;
        find(l, w->queries, limit, true, false);
    }
    if (l->ask.queries == 0)
        find(l, w->one_ways, limit, false, true);
}

/* Makes room for the estimates of all candidates. */
static enum err make_room(struct loop *l)
{
    struct ask *a = &l->ask;
    a->estimates = 0;
    for (uint32_t k = 0; ask_estimates(a) && k < a->queries; k++)
        a->estimates += merges_query_cells(a->merges, &l->options->workload->query[a->query[k]]);
    if (a->estimates <= l->room)
        return ERR_OK;
    if (memory_extend(&a->estimate, a->estimates) != ERR_OK)
        return log_fail(l->log, ERR_NOMEM,
                        "no memory for the estimates of %u candidates (%zu cells)", a->queries,
                        a->estimates);
    l->room = a->estimates;
    return ERR_OK;
}

/* What a table over two columns would be if they were independent. */
static enum err independent(struct loop *l, const struct clique *c, double *counts)
{
    const struct domain *d = l->options->domain;
    const uint32_t size = d->attribute[c->attribute[1]].size;
    const struct clique one[2] = {{1, {c->attribute[0]}}, {1, {c->attribute[1]}}};
    const double total = model_total(l->result->model);
    double *alone CLEAN(memory_release) = NULL;
    TRY(memory_new(&alone, (size_t)d->attribute[c->attribute[0]].size + size));
    TRY(model_marginal(l->result->model, &one[0], alone + size, l->log));
    TRY(model_marginal(l->result->model, &one[1], alone, l->log));
    for (uint64_t i = 0; i < clique_cells(c, d); i++)
        counts[i] = alone[size + i / size] * alone[i % size] / total;
    return ERR_OK;
}

/*
 * Puts counts onto the request's grid, rounded down, so that their sum stays within that of the
 * counts, and clamped to what servers accept: each at most 2^l, the sum at most 2^(l+1).
 */
static enum err estimate(struct loop *l, struct model_memo *memo, uint32_t query, uint64_t *out)
{
    const struct workload_query *q = &l->options->workload->query[query];
    const uint64_t cells = merges_query_cells(l->ask.merges, q);
    const double grid = (double)ask_grid(&l->ask);
    double most = ldexp(1, (int)l->terms.bounds.bits);
    double scale = fmin(1, 2 * most / model_total(l->result->model)) * (1 - GUARD);
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&counts, cells));
    if (l->alone)
        TRY(independent(l, &q->clique, counts));
    else
        TRY(model_memo_marginal(memo, &q->clique, l->ask.merges != NULL, counts, l->log));
    for (uint64_t i = 0; i < cells; i++)
        out[i] = (uint64_t)(fmax(0, fmin(counts[i] * scale, most)) * grid);
    return ERR_OK;
}

static enum err fill_estimates(struct loop *l)
{
    const struct workload *w = l->options->workload;
    const struct ask *a = &l->ask;
    struct model_memo *memo CLEAN(model_memo_free) = NULL;
    uint64_t *at = a->estimate;
    if (!ask_estimates(a))
        return ERR_OK;
    TRY(model_memo_new(&memo, l->result->model));
    for (uint32_t k = 0; k < a->queries; k++) {
        TRY(estimate(l, memo, a->query[k], at));
        at += merges_query_cells(a->merges, &w->query[a->query[k]]);
    }
    return ask_check_estimates(a, &l->terms, l->log);
}

static enum err settle(void *loop)
{
    return loop_settle(loop);
}

/* Asks for what is priced and debited, and debits it again for each time that it was lost. */
static enum err ask(struct loop *l, struct ask_told *told)
{
    const struct aim_backend *b = l->backend;
    enum err e;
    TRY(make_room(l));
    TRY(fill_estimates(l));
    if (b->meanwhile != NULL)
        b->meanwhile(b->self, settle, l);
    e = b->ask(b->self, &l->ask, told);
    if (b->meanwhile != NULL)
        b->meanwhile(b->self, NULL, NULL); /* in case the request never left */
    l->refused = e == ERR_BUDGET;
    TRY(e);
    TRY(loop_settle(l));
    for (unsigned i = 0; i < told->lost; i++)
        TRY(ask_debit(&l->price, 1, l->ledger, l->log));
    return ERR_OK;
}

enum err loop_buy(struct loop *l, struct ask_told *told, struct log *spent)
{
    TRY(loop_price(l, l->log));
    TRY(ask_debit(&l->price, 1, l->ledger, spent));
    return ask(l, told);
}

enum err loop_choose(struct loop *l, struct ask_told *told, uint32_t *query)
{
    TRY(ask(l, told));
    if (told->selected >= l->ask.queries)
        return log_fail(l->log, ERR_MISMATCH, "round %u: the backend selected candidate %zu of %u",
                        l->ask.round, told->selected, l->ask.queries);
    *query = l->ask.query[told->selected];
    return ERR_OK;
}
