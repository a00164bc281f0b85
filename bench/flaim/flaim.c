#include "bench/flaim/flaim.h"

#include "aim/budget/score.h"
#include "aim/run/loop.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "bench/flaim/flaim_gather.h"
#include "bench/flaim/flaim_message.h"
#include "bench/flaim/flaim_private.h"

#include <math.h>
#include <string.h>

#define ANNEALED_START 8 /* T0 = 8 d */
#define SUM_BITS 30      /* of counts times m in a sum; the noise has the other half of 32 bits */
#define GUARD 0x1p-48    /* taken off sigma and epsilon, so that rounding cannot end above rho */

struct flaim {
    struct flaim_options o;
    struct ledger *ledger;
    double sigma, epsilon; /* of the round */
    unsigned lattice;
    uint64_t multiplier;
    struct flaim_pooled *pool;  /* in the model */
    struct flaim_pooled *proxy; /* the one-ways */
    double *truth;
    struct flaim_view view;
    struct flaim_result *result;
    bool *seen;     /* clients that took part */
    bool annealing; /* a marginal of this round moved no more than noise */
    struct log *log;
};

struct flaim_options flaim_naive(void)
{
    return (struct flaim_options){.hetero = FLAIM_NAIVE};
}

struct flaim_options flaim_aug_true(void)
{
    return (struct flaim_options){.hetero = FLAIM_TRUE};
}

struct flaim_options flaim_aug_private(void)
{
    return (struct flaim_options){
        .hetero = FLAIM_NOISY, .combine = true, .filter = true, .noisy_totals = true};
}

/* --- the budget ------------------------------------------------------------------------------ */

/* Whether one-ways are measured in each round. */
static bool adds_one_ways(const struct flaim_options *o)
{
    return o->combine || o->hetero == FLAIM_NOISY;
}

static unsigned rounds_of(const struct flaim_options *o)
{
    return o->annealed ? ANNEALED_START * (unsigned)o->workload->one_ways : o->rounds;
}

static unsigned steps_of(const struct flaim_options *o)
{
    return o->steps != 0 ? o->steps : 1;
}

double flaim_sigma(const struct flaim_options *o)
{
    double t = rounds_of(o), s = steps_of(o), d = (double)o->workload->one_ways;
    return sqrt((t * s + (adds_one_ways(o) ? t * d : d)) / (2 * FLAIM_MEASURE_SHARE * o->rho)) *
           (1 + GUARD);
}

static double first_epsilon(const struct flaim_options *o)
{
    return sqrt(8 * (1 - FLAIM_MEASURE_SHARE) * o->rho / (rounds_of(o) * (double)steps_of(o))) *
           (1 - GUARD);
}

/* m on the finest lattice on which all rows' counts stay below 2^SUM_BITS. */
static enum err settle_multiplier(struct flaim *f)
{
    uint64_t fine;
    TRY(measure_multiplier(f->sigma, &fine, f->log));
    for (f->lattice = FLAIM_LATTICE_MOST; f->lattice > 4; f->lattice--) {
        f->multiplier = fine >> (FLAIM_LATTICE_MOST - f->lattice);
        if (f->multiplier * f->o.split->train->rows < UINT64_C(1) << SUM_BITS)
            break;
    }
    if (f->multiplier >= SCORE_MULTIPLIER_MIN)
        return ERR_OK;
    log_error(f->log, "a noise of sigma %g over %zu rows does not fit in sums of 32 bits", f->sigma,
              f->o.split->train->rows);
    return ERR_RANGE;
}

static enum err debit(struct flaim *f, uint64_t marginals, unsigned selections)
{
    mpq_t cost, each;
    enum err e;
    mpq_inits(cost, each, (mpq_ptr)NULL);
    ledger_measure_cost(cost, f->multiplier << (FLAIM_LATTICE_MOST - f->lattice), marginals);
    e = ledger_select_cost(each, ACCOUNTING_ZCDP, f->epsilon, 0, 1);
    for (unsigned i = 0; i < selections; i++)
        mpq_add(cost, cost, each);
    if (e == ERR_OK)
        e = ledger_debit(f->ledger, cost, f->log);
    mpq_clears(cost, each, (mpq_ptr)NULL);
    return e;
}

/* --- who takes part -------------------------------------------------------------------------- */

static enum err draw_crowd(struct flaim *f, struct flaim_crowd *c)
{
    const struct flaim_split *s = f->o.split;
    bool *drawn = memory_array(s->clients, sizeof *drawn);
    *c = (struct flaim_crowd){.client = memory_array(s->clients, sizeof *c->client)};
    if (drawn != NULL && c->client != NULL)
        split_draw(s, f->o.participation, f->o.coins, drawn);
    for (size_t k = 0; drawn != NULL && c->client != NULL && k < s->clients; k++) {
        if (!drawn[k])
            continue;
        c->client[c->clients++] = k;
        f->result->taken += !f->seen[k];
        f->seen[k] = true;
    }
    memory_free(&drawn);
    return c->clients > 0 ? ERR_OK : ERR_NOMEM;
}

/* --- what was measured ----------------------------------------------------------------------- */

static enum err pool_in(struct flaim_pooled *to, const double *y, double people, double sigma,
                        uint64_t cells)
{
    double weight = people / sigma * (people / sigma);
    if (to->share == NULL)
        to->share = memory_array(cells, sizeof *to->share);
    if (to->share == NULL)
        return ERR_NOMEM;
    to->weight += weight;
    for (uint64_t i = 0; i < cells; i++)
        to->share[i] += (y[i] / people - to->share[i]) * weight / to->weight;
    return ERR_OK;
}

/* Whether the model stays within its size limit with this marginal. */
static bool has_room(const struct flaim *f, uint32_t query)
{
    const struct workload *w = f->o.workload;
    uint64_t most = flaim_cells_most(&f->o);
    struct clique *c = memory_array(w->queries, sizeof *c);
    const struct domain *d = f->o.split->train->domain;
    size_t n = 0;
    bool room;
    if (c == NULL)
        return false;
    for (size_t q = 0; q < w->queries; q++)
        if (f->pool[q].share != NULL)
            c[n++] = w->query[q].clique;
    room = f->pool[query].share != NULL ||
           junction_cells(d, d, c, n, &w->query[query].clique) <= most;
    memory_free(&c);
    return room;
}

enum purpose { ONE_WAYS, SELECTED };

/* Takes in one sum: into the model if there is room; everybody's one-ways also go into p~. */
static enum err learn(struct flaim *f, const struct flaim_gathering *g, size_t i,
                      const uint32_t *sum, enum purpose purpose)
{
    uint32_t query = g->query[i];
    uint64_t cells = f->o.workload->query[query].cells;
    double people = 0, total = 0, sigma = ldexp(1, (int)f->lattice) / (double)f->multiplier;
    double *y = memory_array(cells, sizeof *y);
    enum err e = y != NULL ? ERR_OK : ERR_NOMEM;
    for (uint64_t j = 0; e == ERR_OK && j < cells; j++) {
        y[j] = (double)(int32_t)sum[j] / (double)f->multiplier;
        total += y[j];
    }
    for (size_t k = 0; k < g->crowd->clients; k++)
        if (g->member[i * g->crowd->clients + k] != 0)
            people += (double)f->o.split->client[g->crowd->client[k]]->rows;
    if (f->o.noisy_totals)
        people = fmax(total, 1);
    if (e == ERR_OK && f->o.measured != NULL)
        f->o.measured(f->o.self, query, gathering_members(g, i), people, y);
    if (e == ERR_OK && purpose == ONE_WAYS)
        e = pool_in(&f->proxy[query], y, people, sigma, cells);
    if (e == ERR_OK && (purpose == SELECTED || f->o.combine || f->pool[query].share == NULL)) {
        if (has_room(f, query))
            e = pool_in(&f->pool[query], y, people, sigma, cells);
        else
            f->result->left_out++;
    }
    memory_free(&y);
    return e;
}

static enum err hold(struct flaim *f, const struct flaim_gathering *g, const enum purpose *purpose)
{
    const struct flaim_gathering_terms terms = {.options = &f->o,
                                                .multiplier = f->multiplier,
                                                .lattice = f->lattice,
                                                .paper = f->result->paper,
                                                .wire = f->result->wire};
    uint32_t *sum;
    uint64_t at = 0;
    enum err e = gathering_sum(g, &terms, &sum, f->log);
    for (size_t i = 0; e == ERR_OK && i < g->queries; i++) {
        e = learn(f, g, i, sum + at, purpose[i]);
        at += f->o.workload->query[g->query[i]].cells;
    }
    memory_free(&sum);
    return e;
}

/* --- the start ------------------------------------------------------------------------------- */

static enum err measure_one_way(struct flaim *f, uint32_t query)
{
    struct flaim_crowd crowd;
    struct flaim_gathering g = {0};
    enum purpose purpose = ONE_WAYS;
    enum err e = draw_crowd(f, &crowd);
    if (e == ERR_OK)
        e = gathering_new(&g, &crowd, 1);
    if (e == ERR_OK) {
        memset(gathering_add(&g, query), 1, crowd.clients);
        e = hold(f, &g, &purpose);
    }
    gathering_clear(&g);
    memory_free(&crowd.client);
    return e;
}

static enum err fit(struct flaim *f, bool last)
{
    struct model *m;
    unsigned round = f->o.fit_round != 0 ? f->o.fit_round : AIM_FIT_ROUND;
    unsigned end = f->o.fit_final != 0 ? f->o.fit_final : AIM_FIT_FINAL / 10 * 3;
    TRY(fit_pooled(&m, &f->o, f->pool, NULL, 0, f->result->model, last ? end : round, f->log));
    model_free(&f->result->model);
    f->result->model = m;
    f->view.model = m;
    return ERR_OK;
}

static enum err start(struct flaim *f)
{
    const struct workload *w = f->o.workload;
    f->sigma = flaim_sigma(&f->o);
    f->epsilon = first_epsilon(&f->o);
    TRY(settle_multiplier(f));
    TRY(debit(f, w->one_ways, 0));
    for (uint32_t q = 0; q < w->one_ways; q++)
        TRY(measure_one_way(f, q));
    return fit(f, rounds_of(&f->o) == 0);
}

/* --- a round --------------------------------------------------------------------------------- */

static enum err send_model(struct flaim *f, const struct flaim_crowd *crowd)
{
    uint64_t bytes = flaim_model_bytes(f->result->model);
    if (f->o.real_messages) {
        struct bytes message = {0};
        enum err e = flaim_model_write(f->result->model, &message, f->log);
        bool same = message.size == bytes;
        bytes_clear(&message);
        TRY(e);
        if (!same)
            return ERR_MISMATCH;
    }
    for (size_t i = 0; i < crowd->clients; i++) {
        size_t k = crowd->client[i];
        f->result->wire[k].received += bytes;
        f->result->paper[k].received += FLAIM_ELEMENT * model_cells(f->result->model);
        f->result->wire[k].sent += FLAIM_DECISION_BYTES(steps_of(&f->o));
        f->result->paper[k].sent += FLAIM_ELEMENT + FLAIM_ELEMENT * (uint64_t)steps_of(&f->o);
    }
    return ERR_OK;
}

/* Everybody's choices: the marginals, and who adds to each. */
static enum err choose(struct flaim *f, const struct flaim_crowd *crowd, struct flaim_gathering *g,
                       uint64_t limit_cells)
{
    const struct workload *w = f->o.workload;
    const struct flaim_round round = {.options = &f->o,
                                      .view = &f->view,
                                      .pool = f->pool,
                                      .proxy = f->proxy,
                                      .truth = f->truth,
                                      .sigma = f->sigma,
                                      .epsilon = f->epsilon,
                                      .limit_cells = limit_cells,
                                      .log = f->log};
    uint8_t *chosen = memory_array(w->queries * crowd->clients, sizeof *chosen);
    uint32_t *choice = memory_array(f->o.steps, sizeof *choice);
    enum err e = chosen != NULL && choice != NULL ? ERR_OK : ERR_NOMEM;
    for (size_t k = 0; e == ERR_OK && k < crowd->clients; k++) {
        size_t n = 0;
        e = client_choose(&round, crowd->client[k], choice, &n);
        for (size_t i = 0; i < n; i++)
            chosen[choice[i] * crowd->clients + k] = 1;
    }
    for (uint32_t q = 0; e == ERR_OK && q < w->queries; q++)
        if (memchr(chosen + q * crowd->clients, 1, crowd->clients) != NULL)
            memcpy(gathering_add(g, q), chosen + q * crowd->clients, crowd->clients);
    memory_free_all(&chosen, &choice);
    return e;
}

/* Whether a marginal of the round moved no more than noise would; `before` has the old shares. */
static enum err moved_by_noise(struct flaim *f, const struct flaim_gathering *g,
                               const double *before, bool *noise)
{
    double rows = (double)f->o.split->train->rows;
    for (size_t i = 0; i < g->queries; i++) {
        const struct workload_query *q = &f->o.workload->query[g->query[i]];
        double *after = memory_array(q->cells, sizeof *after), moved = 0;
        enum err e = after != NULL ? model_marginal(f->result->model, &q->clique, after, f->log)
                                   : ERR_NOMEM;
        for (uint64_t j = 0; e == ERR_OK && j < q->cells; j++)
            moved += fabs(after[j] - rows * before[q->offset + j]);
        memory_free(&after);
        TRY(e);
        *noise |= schedule_is_noise(moved, f->sigma, q->cells);
    }
    return ERR_OK;
}

/* Selects, adds up, fits: one round, whose cost is debited before anybody selects. */
static enum err hold_round(struct flaim *f, const struct flaim_crowd *crowd,
                           struct flaim_gathering *g, bool last)
{
    const struct workload *w = f->o.workload;
    uint64_t most = flaim_cells_most(&f->o);
    bool one_ways = adds_one_ways(&f->o) && !last;
    enum purpose *purpose;
    uint64_t limit;
    size_t chosen;
    enum err e;
    TRY(debit(f, f->o.steps + (one_ways ? w->one_ways : 0), f->o.steps));
    limit = (uint64_t)(fmin(1, ledger_spent(f->ledger) / f->o.rho) * (double)most);
    view_candidates(&f->view, &f->o, NULL, 0, limit);
    TRY(view_fill(&f->view, w, f->log));
    TRY(send_model(f, crowd));
    TRY(choose(f, crowd, g, limit));
    chosen = g->queries;
    for (uint32_t q = 0; one_ways && q < w->one_ways; q++)
        memset(gathering_add(g, q), 1, crowd->clients);
    purpose = memory_array(g->queries, sizeof *purpose);
    if (purpose == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < g->queries; i++)
        purpose[i] = i < chosen ? SELECTED : ONE_WAYS;
    e = hold(f, g, purpose);
    g->queries = chosen;
    memory_free(&purpose);
    return e == ERR_OK ? fit(f, last) : e;
}

static enum err run_round(struct flaim *f, bool last)
{
    const struct workload *w = f->o.workload;
    struct flaim_crowd crowd;
    struct flaim_gathering g = {0};
    enum err e = draw_crowd(f, &crowd);
    f->annealing = false;
    if (e == ERR_OK)
        e = gathering_new(&g, &crowd, w->queries + w->one_ways);
    if (e == ERR_OK)
        e = hold_round(f, &crowd, &g, last);
    if (e == ERR_OK && f->o.annealed && !last)
        e = moved_by_noise(f, &g, f->view.share, &f->annealing);
    gathering_clear(&g);
    memory_free(&crowd.client);
    f->result->rounds++;
    return e;
}

/* --- the run --------------------------------------------------------------------------------- */

static enum err run_fixed(struct flaim *f)
{
    for (unsigned t = 1; t <= f->o.rounds; t++)
        TRY(run_round(f, t == f->o.rounds));
    return ERR_OK;
}

/* zCDP of a round at the current sigma and epsilon. */
static double round_cost(const struct flaim *f)
{
    double s = f->o.steps, d = adds_one_ways(&f->o) ? (double)f->o.workload->one_ways : 0;
    return (s + d) / (2 * f->sigma * f->sigma) + s * f->epsilon * f->epsilon / 8;
}

static enum err run_annealed(struct flaim *f)
{
    bool last = false;
    while (!last) {
        double left = ledger_remaining(f->ledger), s = f->o.steps;
        if (left <= 2 * round_cost(f)) {
            last = true;
            f->sigma = sqrt(s / (2 * FLAIM_MEASURE_SHARE * left)) * (1 + GUARD);
            f->epsilon = sqrt(8 * (1 - FLAIM_MEASURE_SHARE) * left / s) * (1 - GUARD);
        }
        TRY(settle_multiplier(f));
        TRY(run_round(f, last));
        if (f->annealing) {
            f->sigma /= 2;
            f->epsilon *= 2;
        }
    }
    return ERR_OK;
}

static enum err truth_new(struct flaim *f)
{
    const struct workload *w = f->o.workload;
    int64_t *counts = memory_array(w->cells, sizeof *counts);
    enum err e = counts != NULL ? tabulate_closure(f->o.split->train, w, counts) : ERR_NOMEM;
    f->truth = memory_array(w->cells, sizeof *f->truth);
    if (f->truth == NULL)
        e = ERR_NOMEM;
    for (uint64_t i = 0; e == ERR_OK && i < w->cells; i++)
        f->truth[i] = (double)counts[i] / (double)f->o.split->train->rows;
    memory_free(&counts);
    return e;
}

static enum err run(struct flaim *f)
{
    const struct workload *w = f->o.workload;
    const struct ledger_limits limits = {.rho = f->o.rho};
    size_t clients = f->o.split->clients;
    TRY(ledger_new(&f->ledger, &limits, f->log));
    f->pool = memory_array(w->queries, sizeof *f->pool);
    f->proxy = memory_array(w->queries, sizeof *f->proxy);
    f->seen = memory_array(clients, sizeof *f->seen);
    f->result->paper = memory_array(clients, sizeof *f->result->paper);
    f->result->wire = memory_array(clients, sizeof *f->result->wire);
    if (f->pool == NULL || f->proxy == NULL || f->seen == NULL || f->result->paper == NULL ||
        f->result->wire == NULL)
        return ERR_NOMEM;
    TRY(view_new(&f->view, w));
    if (f->o.hetero == FLAIM_TRUE)
        TRY(truth_new(f));
    TRY(start(f));
    TRY(f->o.annealed ? run_annealed(f) : run_fixed(f));
    f->result->spent = ledger_spent(f->ledger);
    return ERR_OK;
}

enum err flaim_run(struct flaim_result **result, const struct flaim_options *options,
                   struct log *log)
{
    struct flaim f = {.o = *options, .log = log};
    enum err e;
    f.o.steps = steps_of(options);
    *result = f.result = memory_array(1, sizeof *f.result);
    if (f.result == NULL)
        return ERR_NOMEM;
    e = run(&f);
    for (size_t q = 0; q < options->workload->queries; q++) {
        if (f.pool != NULL)
            memory_free(&f.pool[q].share);
        if (f.proxy != NULL)
            memory_free(&f.proxy[q].share);
    }
    memory_free_all(&f.pool, &f.proxy, &f.truth, &f.seen);
    view_clear(&f.view);
    ledger_free(&f.ledger);
    if (e != ERR_OK)
        flaim_result_free(result);
    return e;
}

void flaim_result_free(struct flaim_result **result)
{
    if (*result == NULL)
        return;
    model_free(&(*result)->model);
    memory_free_all(&(*result)->paper, &(*result)->wire);
    memory_free(result);
}
