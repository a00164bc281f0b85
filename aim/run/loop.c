#include "aim/run/loop.h"

#include "aim/run/loop_private.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <math.h>

static struct schedule start_of(const struct aim_options *o)
{
    const double rho = look_leaves(&o->look, &o->limits);
    const struct schedule_terms terms = {.accounting = o->accounting,
                                         .annealed = o->annealed,
                                         .rounds = o->rounds,
                                         .one_ways = o->workload->one_ways,
                                         .cells = workload_one_way_cells(o->workload),
                                         .rows = o->rows,
                                         .sweeps = o->sweeps};
    return schedule_start(&terms, rho);
}

double aim_sigma(const struct aim_options *o)
{
    return start_of(o).alone;
}

double aim_sigma_later(const struct aim_options *o)
{
    const struct schedule s = start_of(o);
    const double rho = look_leaves(&o->look, &o->limits);
    return s.sweeps > 0 ? schedule_sweep(&s, o->workload->one_ways, rho).sigma : s.sigma;
}

double aim_epsilon(const struct aim_options *o)
{
    struct schedule s = start_of(o);
    return s.finished || s.sweeps > 0 ? 0 : s.epsilon - o->slack.select;
}

/* --- the one-ways ---------------------------------------------------------------------------- */

/* Undoes merges until they fit. */
static enum err fit_merges(struct loop *l)
{
    for (bool fit;; merges_part(l->result->merges)) {
        TRY(loop_merges_fit(l, &fit));
        if (fit)
            return ERR_OK;
    }
}

/*
 * Codes may be merged where the same cannot occur with them, but not those of `apart`, nor those
 * that say how events share a unit, nor any if rows may come.
 */
static enum err find_alike(struct merges_alike *alike, const struct aim_options *o)
{
    TRY(merges_alike(alike, o->domain, o->zero, o->zeros));
    for (size_t i = 0; i < o->apart_columns; i++)
        TRY(merges_apart(alike, o->domain, o->apart[i]));
    if (o->domain->series != NULL) {
        TRY(merges_apart(alike, o->domain, o->domain->series->number));
        TRY(merges_apart(alike, o->domain, o->domain->series->stage));
    }
    for (uint16_t a = 0; o->grows && a < o->domain->attributes; a++)
        TRY(merges_apart(alike, o->domain, a));
    return ERR_OK;
}

enum err aim_expect_groups(struct domain *grouped, const struct aim_options *o, double rows,
                           double sigma)
{
    struct merges expected CLEAN(merges_clear) = {0};
    struct merges_alike alike CLEAN(merges_alike_clear) = {0};
    TRY(find_alike(&alike, o));
    TRY(merges_none(&expected, o->domain));
    for (size_t i = 0; i < expected.attributes; i++)
        TRY(merges_expect(&o->domain->attribute[i], alike.part[i], rows, sigma,
                          &expected.groups[i]));
    return merges_domain(&expected, o->domain, grouped);
}

/* Merges follow from counts: of nobody, as many codes are merged as may be. */
enum err aim_check_model(const struct aim_options *o, struct log *log)
{
    const struct merges_least all = {INFINITY, INFINITY};
    struct clique alone[DOMAIN_ATTRIBUTES_MAX];
    const double *counts[DOMAIN_ATTRIBUTES_MAX];
    double *none CLEAN(memory_release) = NULL;
    struct merges merges CLEAN(merges_clear) = {0};
    struct merges_alike alike CLEAN(merges_alike_clear) = {0};
    struct model *m CLEAN(model_free) = NULL;
    const struct model_terms terms = {.domain = o->domain,
                                      .merges = &merges,
                                      .clique = alone,
                                      .cliques = o->domain->attributes,
                                      .zero = o->zero,
                                      .zeros = o->zeros,
                                      .limit_cells = loop_model_limit(o)};
    TRY(memory_new(&none, DOMAIN_SIZE_MAX));
    for (uint16_t a = 0; a < o->domain->attributes; a++) {
        alone[a] = (struct clique){1, {a}};
        counts[a] = none;
    }
    TRY(find_alike(&alike, o));
    TRY(merges_choose(&merges, o->domain, counts, &all, &alike));
    return model_new(&m, &terms, log);
}

static enum err choose_merges(struct loop *l)
{
    const struct aim_options *o = l->options;
    struct aim_result *r = l->result;
    const double **counts CLEAN(memory_release) = NULL;
    struct merges_alike alike CLEAN(merges_alike_clear) = {0};
    const double total = model_estimate_total(o->domain, r->measurement, r->measurements);
    const struct merges_least least = merges_least(total,
                                                   measure_sigma(l->ask.multiplier, o->noise_by));
    TRY(memory_new(&counts, o->domain->attributes));
    TRY(find_alike(&alike, o));
    for (size_t i = 0; i < r->measurements; i++)
        counts[r->measurement[i].clique.attribute[0]] = r->measurement[i].y;
    TRY(memory_new(&r->merges, 1));
    TRY(merges_choose(r->merges, o->domain, counts, &least, &alike));
    return fit_merges(l);
}

/* --- the run --------------------------------------------------------------------------------- */

/* Begins the next round's request: sigma and epsilon are no larger than scores have room for. */
static enum err enter(struct loop *l, enum ask_kind kind, struct log *log)
{
    const struct schedule *s = &l->schedule;
    const double most = l->options->bounds.epsilon;
    double epsilon = s->finished ? 0 : s->epsilon - l->options->slack.select;
    struct ask *a = &l->ask;
    if (most > 0)
        epsilon = fmin(epsilon, most);
    if (!s->finished && s->sweeps == 0 && !(epsilon > 0))
        return log_fail(
            log, ERR_RANGE,
            "%u rounds leave each selection an epsilon of %g, less than the slack of its "
            "noise; use fewer rounds or a larger budget",
            s->most, epsilon);
    TRY(measure_multiplier(kind == ASK_MEASURE ? s->alone : s->sigma, &a->multiplier, log));
    a->kind = kind;
    a->queries = 0;
    if (kind == ASK_SELECT) {
        a->round = s->done + 1;
        a->epsilon = epsilon;
        a->sigma = measure_sigma(a->multiplier, l->options->noise_by);
    }
    return ERR_OK;
}

/* All one-ways: the closure begins with them. */
static enum err round_zero(struct loop *l)
{
    struct aim_round *r = &l->result->round[0];
    struct ask_told told CLEAN(told_clear) = {0};
    const double spent = ledger_spent(l->ledger);
    *r = (struct aim_round){.asked = ASK_MEASURE, .query = AIM_NO_QUERY};
    l->name = (struct clique_name){"all one-ways"};
    TRY(aim_check_model(l->options, l->log));
    TRY(enter(l, ASK_MEASURE, l->log));
    r->sigma = measure_sigma(l->ask.multiplier, l->options->noise_by);
    r->marginals = l->options->workload->one_ways;
    for (uint32_t i = 0; i < l->options->workload->one_ways; i++)
        l->ask.query[l->ask.queries++] = i;
    TRY(loop_buy(l, &told, l->log));
    TRY(loop_take(l, &told));
    TRY(choose_merges(l));
    TRY(loop_fit_round(l->options, l->result, &r->loss, l->log));
    TRY(loop_compare(l, 0, false, r));
    return loop_leave(l, r, spent);
}

static enum err choose_and_learn(struct loop *l, struct aim_round *r)
{
    const struct aim_options *o = l->options;
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(loop_choose(l, &told, &r->query));
    l->name = clique_name(&o->workload->query[r->query].clique, o->domain);
    return loop_learn(l, r, &told);
}

/* What a round costs and selects from. */
static enum err plan_round(struct loop *l, struct log *log)
{
    const struct aim_options *o = l->options;
    TRY(enter(l, ASK_SELECT, log));
    TRY(loop_price(l, log));
    TRY(ask_debit(&l->price, 1, l->ledger, o->stop_when_spent ? NULL : log));
    loop_find_candidates(l, ledger_spent(l->ledger) / o->limits.rho);
    TRY(loop_merge(l));
    return loop_price(l, log);
}

/* An annealed run's last round takes what is left; after lost rounds that may be almost nothing. */
static bool takes_rest(const struct loop *l)
{
    const struct schedule *s = &l->schedule;
    return l->options->stop_when_spent && s->annealed && s->last && s->done > 0;
}

static enum err round_select(struct loop *l)
{
    const struct aim_options *o = l->options;
    struct aim_round *r = &l->result->round[l->result->rounds];
    const double spent = ledger_spent(l->ledger);
    const bool rest = takes_rest(l);
    const enum err e = plan_round(l, rest ? NULL : l->log);
    if (e == ERR_RANGE && rest)
        return ERR_BUDGET;
    TRY(e);
    *r = (struct aim_round){.asked = ASK_SELECT,
                            .round = l->ask.round,
                            .sigma = measure_sigma(l->ask.multiplier, o->noise_by),
                            .epsilon = l->ask.epsilon,
                            .candidates = l->ask.queries,
                            .marginals = 1};
    TRY(choose_and_learn(l, r));
    schedule_next(&l->schedule, r->moved / measure_spread(o->noise_by),
                  merges_query_cells(l->result->merges, &o->workload->query[r->query]),
                  ledger_left(l->ledger));
    return loop_leave(l, r, spent);
}

/* The last fit; and if the run is over, the assessment of what it made. */
static enum err finish(struct loop *l, bool over)
{
    const struct aim_options *o = l->options;
    struct bytes state CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(loop_settle(l));
    over &= o->assess > 0 && l->result->assess == NULL;
    if (over && o->state_file != NULL)
        TRY(loop_pack(l, &state)); /* with the model that the last fit begins from */
    TRY(loop_fit_final(o, l->result, l->log));
    e = over ? loop_assess(l) : ERR_OK;
    return e == ERR_OK && state.size > 0 ? loop_keep_assess(l, &state) : e;
}

/* Lost rounds have used up what the remaining ones would cost, or no more is permitted. */
static enum err end_early(struct loop *l)
{
    log_warn(l->log,
             "what may still be spent is too little for another round: the run ends with round %u "
             "of %u",
             l->schedule.done, l->schedule.most);
    l->result->round[l->result->rounds - 1].last = true;
    return finish(l, !l->refused);
}

static enum err prepare(struct loop *l)
{
    const struct aim_options *o = l->options;
    size_t queries = o->workload->queries, measured = o->workload->one_ways;
    struct aim_result *r = l->result;
    l->schedule = start_of(o);
    measured += o->sweeps > 0 ? o->sweeps * queries : l->schedule.most;
    l->measurements_most = measured;
    TRY(ledger_new(&l->ledger, &o->limits, l->log));
    TRY(look_debit(&o->look, l->ledger, &o->slack, l->log));
    TRY(memory_new(&l->ask.query, queries));
    if (o->sweeps > 0)
        TRY(memory_new(&l->ask.weight, queries));
    TRY(memory_new(&r->measurement, measured));
    TRY(memory_new(&r->query, measured));
    TRY(memory_new(&r->population, measured));
    TRY(memory_new(&r->sweep, measured));
    TRY(memory_new(&r->scores, o->sweeps));
    return memory_new(&r->round, (size_t)l->schedule.most + 1);
}

static enum err run_loop(struct loop *l)
{
    const struct aim_options *o = l->options;
    bool found = false;
    TRY(prepare(l));
    if (o->resume && o->state_file != NULL)
        TRY(loop_load(l, &found));
    if (!found)
        TRY(round_zero(l));
    while (!l->schedule.finished && (o->wish.rounds == 0 || l->schedule.done < o->wish.rounds)) {
        enum err e = o->sweeps > 0 ? loop_sweep(l) : round_select(l);
        if (e == ERR_BUDGET && o->stop_when_spent)
            return end_early(l);
        TRY(e);
    }
    return finish(l, l->schedule.finished);
}

enum err aim_run(struct aim_result **result, const struct aim_options *options,
                 const struct aim_backend *backend, struct log *log)
{
    struct loop l = {.options = options,
                     .backend = backend,
                     .log = log,
                     .ask.price = &l.price,
                     .terms = {.domain = options->domain,
                               .workload = options->workload,
                               .bounds = options->bounds,
                               .score = options->score,
                               .slack = options->slack,
                               .accounting = options->accounting}};
    enum err e;
    *result = NULL;
    TRY(memory_new(&l.result, 1));
    ask_price_new(&l.price);
    e = run_loop(&l);
    if (e != ERR_OK)
        (void)!loop_settle(&l); /* keeps what was learned, whatever ends the run */
    bytes_clear(&l.unsaved);
    ledger_free(&l.ledger);
    l.ask.merges = NULL;
    ask_clear(&l.ask);
    ask_price_clear(&l.price);
    if (e != ERR_OK)
        aim_result_free(&l.result);
    else
        loop_in_persons(l.result, options->domain);
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
    memory_free_all(&r->measurement, &r->query, &r->population, &r->sweep, &r->round);
    for (size_t i = 0; i < r->sweeps; i++) {
        memory_free_all(&r->scores[i].query, &r->scores[i].value);
    }
    memory_free_all(&r->scores, &r->kept_scores);
    assess_free(&r->assess);
    model_free(&r->model);
    merges_free(&r->merges);
    memory_free(result);
}
