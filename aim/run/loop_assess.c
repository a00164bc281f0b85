/* The end of a run that has a reserve: how far its model is from all pairs of columns. */
#include "aim/run/loop_private.h"
#include "base/memory.h"

#include <math.h>

/* Makes noise larger, so that rounding cannot take a request above what it may cost. */
#define GUARD 0x1p-30

/* All pairs whose estimate is no larger than a model may be. */
static void find_pairs(struct loop *l)
{
    const struct workload *w = l->options->workload;
    struct ask *a = &l->ask;
    a->queries = 0;
    for (uint32_t q = 0; q < w->queries; q++)
        if (w->query[q].clique.n == 2 && w->query[q].cells <= loop_model_limit(l->options))
            a->query[a->queries++] = q;
}

/* Half of the reserve, or less where scores of counts so large have no room for so little noise. */
static enum err find_multiplier(struct loop *l)
{
    const struct aim_options *o = l->options;
    const double k = ledger_rows_per_person(l->ledger);
    struct ask *a = &l->ask;
    const double rho = o->assess / (k * k) / 2;
    if (scores_multiplier(ledger_deviation(a->queries, rho) * (1 + GUARD), &a->multiplier) !=
        ERR_OK)
        return ERR_BUDGET; /* a run that began with what others left has little */
    for (uint32_t i = 0; i < a->queries; i++) {
        const uint64_t most = scores_most(&o->bounds, a->query[i]);
        a->multiplier = a->multiplier < most ? a->multiplier : most;
    }
    return ERR_OK;
}

static bool is_measured(const struct aim_result *r, const struct clique *pair)
{
    for (size_t i = 0; i < r->measurements; i++)
        if (clique_contains(&r->measurement[i].clique, pair))
            return true;
    return false;
}

/* Opens distances of the model, or of independent columns. */
static enum err open(struct loop *l, bool alone, double *off)
{
    struct ask_told told CLEAN(told_clear) = {0};
    l->alone = alone;
    l->ask.round++;
    TRY(loop_buy(l, &told, alone ? NULL : l->log));
    for (uint32_t i = 0; i < l->ask.queries; i++)
        off[i] = (double)told.value[i] / (double)l->ask.multiplier;
    return ERR_OK;
}

static enum err open_both(struct loop *l, struct assess *a)
{
    double *alone CLEAN(memory_release) = NULL;
    enum err e;
    TRY(memory_new(&alone, a->pairs));
    TRY(open(l, false, a->off));
    e = open(l, true, alone);
    if (e == ERR_OK)
        return memory_hand_over(&a->alone, &alone);
    return e == ERR_BUDGET ? ERR_OK : e; /* the first was lost once, and had to be paid again */
}

static enum err assess(struct loop *l)
{
    struct aim_result *r = l->result;
    struct assess *a CLEAN(assess_free) = NULL;
    TRY(assess_new(&a, l->ask.queries));
    a->sigma = measure_sigma(l->ask.multiplier, l->options->noise_by);
    a->total = model_total(r->model);
    for (size_t i = 0; i < a->pairs; i++) {
        a->pair[i] = l->options->workload->query[l->ask.query[i]].clique;
        a->measured[i] = is_measured(r, &a->pair[i]);
    }
    TRY(open_both(l, a));
    return memory_hand_over(&r->assess, &a);
}

/* It is too little, or servers lost so much that they refuse more: the model is there anyway. */
static enum err give_up(struct loop *l, enum err e)
{
    if (e != ERR_BUDGET && e != ERR_REFUSED)
        return e;
    log_warn(l->log, "what was set aside to assess the model is too little, or spent without an "
                     "answer: the result has no assessment");
    return ERR_OK;
}

enum err loop_assess(struct loop *l)
{
    struct ledger *spent = l->ledger, *reserve = NULL;
    struct ledger_limits limits = l->options->limits;
    enum err e;
    limits.rho = l->options->assess;
    l->ask.kind = ASK_SCORES;
    l->ask.merges = NULL; /* every code */
    if (l->ask.round < l->schedule.done)
        l->ask.round = l->schedule.done; /* or of a last round that was asked for in vain */
    l->ask.weights = 0;
    l->ask.epsilon = l->ask.sigma = 0;
    l->terms.bounds = l->options->bounds;
    find_pairs(l);
    if (l->ask.queries == 0)
        return ERR_OK;
    e = find_multiplier(l);
    if (e != ERR_OK)
        return give_up(l, e);
    TRY(ledger_new(&reserve, &limits, l->log));
    l->ledger = reserve; /* what is lost is paid from there, too */
    e = assess(l);
    if (l->result->assess != NULL)
        l->result->assess->cost = ledger_spent(reserve);
    l->ledger = spent;
    ledger_free(&reserve);
    return give_up(l, e);
}
