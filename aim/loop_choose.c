/* What a round selects from: its candidates, the model's estimates of them, and the request. */
#include "aim/loop_private.h"
#include "base/memory.h"

#include <math.h>

/* Makes estimates smaller, so that rounding cannot take their sum above the bound. */
#define GUARD 0x1p-48

void loop_find_candidates(struct loop *l, double share)
{
    const struct workload *w = l->options->workload;
    const struct model *m = l->result->model;
    uint64_t limit = (uint64_t)(fmin(share, 1) * (double)loop_model_limit(l->options));
    l->candidates = 0;
    for (uint32_t i = 0; i < w->queries; i++) {
        const struct clique *c = &w->query[i].clique;
        if (!model_covers(m, c) && (model_cells_with(m, c) > limit ||
                                    model_marginal_cells(m, c) > loop_model_limit(l->options)))
            continue;
        l->query[l->candidates++] = i;
    }
}

/* Cells of all candidates, and of the largest. */
static uint64_t count_cells(const struct loop *l, uint64_t *largest)
{
    uint64_t all = 0;
    *largest = 0;
    for (size_t i = 0; i < l->candidates; i++) {
        uint64_t cells = merges_query_cells(l->result->merges,
                                            &l->options->workload->query[l->query[i]]);
        *largest = cells > *largest ? cells : *largest;
        all += cells;
    }
    return all;
}

static enum err make_room(struct loop *l, uint64_t cells)
{
    if (cells <= l->room)
        return ERR_OK;
    if (memory_extend(&l->estimate, cells) != ERR_OK)
        return log_fail(l->log, ERR_NOMEM,
                        "no memory for the estimates of %zu candidates (%llu cells)", l->candidates,
                        (unsigned long long)cells);
    l->room = cells;
    return ERR_OK;
}

/*
 * Puts counts onto the grid 2^-10, rounded down, so that their sum stays within that of the counts,
 * and clamped to what servers accept: each at most 2^l, the sum at most 2^(l+1).
 */
static enum err estimate(struct loop *l, struct model_memo *memo, uint32_t query, uint64_t *out)
{
    const struct workload_query *q = &l->options->workload->query[query];
    const uint64_t cells = merges_query_cells(l->terms.merges, q);
    double most = ldexp(1, (int)l->terms.bounds.bits);
    double scale = fmin(1, 2 * most / model_total(l->result->model)) * (1 - GUARD);
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&counts, cells));
    TRY(model_memo_merged(memo, &q->clique, counts, l->log));
    for (uint64_t i = 0; i < cells; i++)
        out[i] = (uint64_t)(fmax(0, fmin(counts[i] * scale, most)) * (1 << AIM_ESTIMATE_BITS));
    return ERR_OK;
}

static enum err fill_estimates(struct loop *l)
{
    const struct workload *w = l->options->workload;
    struct model_memo *memo CLEAN(model_memo_free) = NULL;
    uint64_t *at = l->estimate;
    TRY(model_memo_new(&memo, l->result->model));
    for (size_t i = 0; i < l->candidates; i++) {
        TRY(estimate(l, memo, l->query[i], at));
        TRY(select_check_estimates(&l->terms, l->query[i], at, l->log));
        at += merges_query_cells(l->terms.merges, &w->query[l->query[i]]);
    }
    return ERR_OK;
}

static enum err settle(void *loop)
{
    return loop_settle(loop);
}

enum err loop_plan(struct loop *l, struct log *log)
{
    const struct aim_options *o = l->options;
    l->terms = (struct select_terms){.domain = o->domain,
                                     .workload = o->workload,
                                     .merges = l->result->merges,
                                     .query = l->query,
                                     .candidates = l->candidates,
                                     .epsilon = l->epsilon,
                                     .sigma = measure_sigma(l->multiplier),
                                     .score = o->score};
    TRY(score_merged(&l->terms.bounds, &o->bounds, o->workload, l->terms.merges));
    return select_plan(&l->terms, l->scale, l->penalty, &l->plan, log);
}

enum err loop_choose(struct loop *l, unsigned round, struct chosen *chosen)
{
    uint64_t largest;
    struct aim_select request = {.round = round,
                                 .epsilon = l->terms.epsilon,
                                 .sigma = l->terms.sigma,
                                 .score = l->terms.score,
                                 .merges = l->terms.merges,
                                 .shift = l->plan.shift,
                                 .candidates = l->candidates,
                                 .query = l->query,
                                 .scale = l->scale,
                                 .penalty = l->penalty,
                                 .estimates = count_cells(l, &largest),
                                 .multiplier = l->multiplier,
                                 .population = &chosen->population,
                                 .lost = &chosen->lost,
                                 .meanwhile = settle,
                                 .loop = l};
    TRY(make_room(l, request.estimates));
    TRY(fill_estimates(l));
    TRY(memory_new(&chosen->values, largest));
    request.estimate = l->estimate;
    request.values = chosen->values;
    TRY(l->backend->select(l->backend->self, &request));
    TRY(loop_settle(l));
    if (request.selected >= l->candidates)
        return log_fail(l->log, ERR_MISMATCH, "round %u: the backend selected candidate %zu of %zu",
                        round, request.selected, l->candidates);
    chosen->query = l->query[request.selected];
    return ERR_OK;
}
