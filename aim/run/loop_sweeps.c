/* Rounds of sweeps: the scores of all candidates, then the set of them that loop_set.c chooses. */
#include "aim/run/loop_private.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Makes noise larger, so that rounding cannot take a request above what it may cost. */
#define GUARD 0x1p-30

struct clique_name aim_round_name(const struct aim_round *r, const struct workload *w,
                                  const struct domain *d)
{
    struct clique_name name = {"all one-ways"};
    if (r->query != AIM_NO_QUERY)
        return clique_name(&w->query[r->query].clique, d);
    if (r->asked == ASK_SCORES)
        snprintf(name.text, sizeof name.text, "scores of %zu marginals", r->candidates);
    else if (r->round > 0)
        snprintf(name.text, sizeof name.text, "%zu marginals", r->marginals);
    return name;
}

/* What the next round may spend, before k^2. */
static double rho_of(const struct loop *l)
{
    return schedule_sweep_rho(&l->schedule, ledger_left(l->ledger)) * (1 - GUARD);
}

/* The share of rho that is used once this sweep has ended. */
static double share_of(const struct loop *l)
{
    const struct schedule *s = &l->schedule;
    struct schedule set = *s;
    double rho = rho_of(l);
    const double k = ledger_rows_per_person(l->ledger);
    if (schedule_scores(s)) {
        set.done++;
        rho += schedule_sweep_rho(&set, ledger_left(l->ledger) - rho);
    }
    return (ledger_spent(l->ledger) + k * k * rho) / l->options->limits.rho;
}

/* Where lack of budget is told: not if it only ends the run. */
static struct log *spent_log(const struct loop *l)
{
    return l->options->stop_when_spent ? NULL : l->log;
}

static enum err keep_scores(struct loop *l, const struct ask_told *told)
{
    const struct ask *a = &l->ask;
    struct aim_scores *s = &l->result->scores[l->result->sweeps++];
    *s = (struct aim_scores){.sigma = measure_sigma(a->multiplier, l->options->noise_by),
                             .candidates = a->queries};
    TRY(memory_new(&s->query, a->queries));
    TRY(memory_new(&s->value, a->queries));
    for (size_t k = 0; k < a->queries; k++) {
        s->query[k] = a->query[k];
        s->value[k] = (double)told->value[k] / (double)a->multiplier;
    }
    return ERR_OK;
}

/*
 * Leaves only candidates of at most two columns where the noise of scores would hide the others:
 * most of what these have to do with each other shows in their pairs, whose scores then have less.
 */
static void keep_pairs(struct loop *l, double rho)
{
    const struct workload *w = l->options->workload;
    struct ask *a = &l->ask;
    uint32_t pairs = 0;
    for (uint32_t k = 0; k < a->queries; k++)
        pairs += w->query[a->query[k]].clique.n <= 2;
    if (!schedule_pairs_alone(a->queries, pairs, rho, model_total(l->result->model)))
        return;
    pairs = 0;
    for (uint32_t k = 0; k < a->queries; k++)
        if (w->query[a->query[k]].clique.n <= 2)
            a->query[pairs++] = a->query[k];
    a->queries = pairs;
}

static enum err open_scores(struct loop *l, struct aim_round *r)
{
    struct ask_told told CLEAN(told_clear) = {0};
    struct ask *a = &l->ask;
    const double rho = rho_of(l);
    a->kind = ASK_SCORES;
    a->weights = 0;
    loop_find_candidates(l, share_of(l));
    keep_pairs(l, rho);
    if (scores_multiplier(ledger_deviation(a->queries, rho), &a->multiplier) != ERR_OK)
        return log_fail(spent_log(l), ERR_BUDGET,
                        "what is left of the budget is too little for the scores of %u marginals: "
                        "requests were lost and had to be paid again",
                        a->queries);
    r->candidates = a->queries;
    r->sigma = measure_sigma(a->multiplier, l->options->noise_by);
    TRY(loop_buy(l, &told, spent_log(l)));
    return keep_scores(l, &told);
}

static enum err measure_set(struct loop *l, struct aim_round *r)
{
    struct ask_told told CLEAN(told_clear) = {0};
    const size_t from = l->result->measurements;
    struct ask *a = &l->ask;
    a->kind = ASK_MEASURE;
    a->multiplier = 0;
    TRY(loop_choose_set(l, rho_of(l), share_of(l)));
    r->marginals = a->queries;
    if (a->queries == 0)
        return ERR_OK; /* nothing stands out: the next sweep has what this one leaves */
    TRY(loop_buy(l, &told, spent_log(l)));
    TRY(loop_take(l, &told));
    TRY(loop_compare(l, from, true, r));
    TRY(loop_fit_round(l->options, l->result, &r->loss, l->log));
    for (size_t i = from; i < l->result->measurements; i++)
        r->sigma = fmin(i > from ? r->sigma : INFINITY, l->result->measurement[i].sigma);
    return loop_compare(l, from, false, r);
}

enum err loop_sweep(struct loop *l)
{
    const double spent = ledger_spent(l->ledger);
    const bool scores = schedule_scores(&l->schedule);
    struct aim_round *r = &l->result->round[l->result->rounds];
    l->ask.round = l->schedule.done + 1;
    l->ask.epsilon = l->ask.sigma = 0;
    *r = (struct aim_round){
        .asked = scores ? ASK_SCORES : ASK_MEASURE, .round = l->ask.round, .query = AIM_NO_QUERY};
    l->why_next[0] = '\0';
    l->reasons = 0;
    TRY(loop_merge(l));
    TRY(scores ? open_scores(l, r) : measure_set(l, r));
    TRY(loop_settle(l)); /* where nothing was asked the round before is not shown yet */
    memcpy(l->why, l->why_next, sizeof l->why);
    l->name = aim_round_name(r, l->options->workload, l->options->domain);
    schedule_swept(&l->schedule);
    return loop_leave(l, r, spent);
}
