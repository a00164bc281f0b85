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

static enum err make_room(struct loop *l)
{
    uint64_t cells = 0;
    uint64_t *grown;
    for (size_t i = 0; i < l->candidates; i++)
        cells += l->options->workload->query[l->query[i]].cells;
    if (cells <= l->estimates)
        return ERR_OK;
    grown = memory_grow(l->estimate, cells, sizeof *grown);
    if (grown == NULL)
        return log_fail(l->log, ERR_NOMEM,
                        "no memory for the estimates of %zu candidates (%llu cells)", l->candidates,
                        (unsigned long long)cells);
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
    double *counts CLEAN(memory_release) = memory_array(q->cells, sizeof *counts);
    if (counts == NULL)
        return ERR_NOMEM;
    TRY(model_marginal(m, &q->clique, counts, l->log));
    for (uint64_t i = 0; i < q->cells; i++)
        out[i] = (uint64_t)(fmax(0, fmin(counts[i] * scale, most)) * (1 << AIM_ESTIMATE_BITS));
    return ERR_OK;
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

/* Cells of the largest candidate. */
static uint64_t largest_candidate(const struct loop *l)
{
    uint64_t most = 0;
    for (size_t i = 0; i < l->candidates; i++) {
        uint64_t cells = l->options->workload->query[l->query[i]].cells;
        most = cells > most ? cells : most;
    }
    return most;
}

enum err loop_choose(struct loop *l, unsigned round, struct chosen *chosen)
{
    const struct aim_options *o = l->options;
    const struct select_terms terms = {.domain = o->domain,
                                       .workload = o->workload,
                                       .query = l->query,
                                       .candidates = l->candidates,
                                       .epsilon = l->epsilon,
                                       .sigma = measure_sigma(l->multiplier),
                                       .bounds = o->bounds,
                                       .score = o->score};
    struct aim_select request = {.round = round,
                                 .epsilon = terms.epsilon,
                                 .sigma = terms.sigma,
                                 .score = terms.score,
                                 .candidates = l->candidates,
                                 .candidate = l->candidate,
                                 .multiplier = l->multiplier,
                                 .population = &chosen->population,
                                 .lost = &chosen->lost};
    struct select_plan plan;
    TRY(select_plan(&terms, l->multipliers, l->penalties, &plan, l->log));
    TRY(fill_candidates(l));
    chosen->values = memory_array(largest_candidate(l), sizeof *chosen->values);
    if (chosen->values == NULL)
        return ERR_NOMEM;
    request.shift = plan.shift;
    request.values = chosen->values;
    TRY(l->backend->select(l->backend->self, &request));
    if (request.selected >= l->candidates)
        return log_fail(l->log, ERR_MISMATCH, "round %u: the backend selected candidate %zu of %zu",
                        round, request.selected, l->candidates);
    chosen->query = l->query[request.selected];
    return ERR_OK;
}
