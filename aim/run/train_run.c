#include "aim/run/train_run.h"

#include "base/memory.h"

#include <math.h>

/* Makes noise larger, so that rounding cannot take a step above what is left. */
#define GUARD 0x1p-30
#define MOMENTUM 0.9

struct train_run {
    const struct train_options *o;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct train_result *result;
    double *w, *v;
    double reserve; /* of a row's rho, for a test */
    struct ask ask; /* of the round; what it points to is owned */
    bool refused;   /* the backend permits no more: the round may still be asked for */
};

/* --- the schedule ----------------------------------------------------------------------------- */

double train_reserve(const struct features *f, double rho)
{
    return f->tests ? TRAIN_TEST * rho : 0;
}

double train_share(const struct features *f, double rho)
{
    return rho * (1 - TRAIN_COUNTS) - train_reserve(f, rho);
}

double train_nu(const struct features *f, unsigned steps, double rho, double rows)
{
    return sqrt(features_weights(f) * (double)steps / (2 * rho)) / fmax(1, rows);
}

/* Of two classes, and of more. */
static const struct train_rates {
    double most, rate;
} rates_of_two[] = {{0.03, 200}, {0.06, 100}, {0.08, 50}, {INFINITY, 25}},
  rates_of_more[] = {{0.035, 400}, {INFINITY, 125}};

double train_rate(const struct features *f, double nu, double *most)
{
    const struct train_rates *at = f->classes > 2 ? rates_of_more : rates_of_two;
    while (nu > at->most)
        at++;
    *most = at->most;
    return at->rate;
}

/* For numbers that one row moves by this, squared, in all. */
static uint64_t multiplier(double rho, double moves)
{
    const double m = floor(sqrt(fmax(0, rho) * (1 - GUARD) * 0x1p41 / moves));
    return (uint64_t)fmin(m, (double)FEATURES_MULTIPLIER_MAX);
}

uint64_t train_multiplier(const struct features *f, unsigned steps, double rho)
{
    return multiplier(rho, steps * (double)f->r2 * (double)f->q2);
}

double train_noise(const struct features *f, uint64_t multiplier)
{
    return sqrt(features_weights(f)) * measure_sigma(multiplier, NOISE_BY_ALL);
}

double train_length(const struct train_result *r, unsigned step)
{
    const struct train_step *s = &r->step[step];
    double squares = 0;
    for (uint32_t i = 0; s->value != NULL && i < r->weights; i++)
        squares += (double)s->value[i] * (double)s->value[i];
    return sqrt(squares) / (double)s->multiplier;
}

/* --- requests --------------------------------------------------------------------------------- */

static enum err pay_and_ask(struct train_run *r, struct ask_told *told)
{
    struct ask_price price CLEAN(ask_price_clear);
    const struct ask_terms terms = {.domain = r->o->features->domain,
                                    .workload = r->o->workload,
                                    .bounds = r->o->bounds,
                                    .slack = r->o->slack,
                                    .features = r->o->features};
    enum err e;
    ask_price_new(&price);
    TRY(ask_price(&price, &r->ask, &terms, r->log));
    TRY(ask_debit(&price, 1, r->ledger, r->log));
    e = r->backend->ask(r->backend->self, &r->ask, told);
    r->refused = e == ERR_BUDGET;
    TRY(e);
    /* the counts of classes are asked for until they come, a step once */
    return r->ask.kind == ASK_MEASURE ? ask_debit(&price, told->lost, r->ledger, r->log) : ERR_OK;
}

/* Asks for the round, which is paid for first. *cost: of all of it. */
static enum err ask(struct train_run *r, struct ask_told *told, double *cost)
{
    const double before = ledger_spent(r->ledger);
    const enum err e = pay_and_ask(r, told);
    r->result->spent = ledger_spent(r->ledger);
    *cost = r->result->spent - before;
    return e;
}

static enum err count_classes(struct train_run *r)
{
    const struct train_options *o = r->o;
    const struct features *f = o->features;
    struct train_result *out = r->result;
    struct ask_told told CLEAN(told_clear) = {0};
    const double rho = TRAIN_COUNTS * look_leaves(&o->look, &o->limits);
    r->ask = (struct ask){.kind = ASK_MEASURE, .queries = 1};
    TRY(memory_new(&r->ask.query, 1));
    r->ask.query[0] = f->target;
    TRY(measure_multiplier(ledger_deviation(1, rho), &r->ask.multiplier, r->log));
    TRY(ask(r, &told, &out->counts_cost));
    out->sigma = measure_sigma(r->ask.multiplier, NOISE_BY_ALL);
    out->population = told.population;
    TRY(memory_new(&out->count, told.values));
    for (size_t i = 0; i < told.values; i++) {
        out->count[i] = (double)told.value[i] / (double)r->ask.multiplier;
        out->rows += i < f->classes ? out->count[i] : 0;
    }
    out->rows = fmax(1, out->rows);
    ask_clear(&r->ask);
    return ERR_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The last quarter of the steps; a run that goes on with what another left may have few. */
static unsigned averaged(unsigned steps)
{
    return steps < 4 ? 1 : steps / 4;
}

static int64_t rounded(double w)
{
    return (int64_t)fmax(-FEATURES_WEIGHT_MAX, fmin(FEATURES_WEIGHT_MAX, rint(w)));
}

/* Asks for it at these weights, as the next round. */
static enum err ask_at(struct train_run *r, struct train_step *s, const double *weight,
                       uint64_t multiplier)
{
    const uint32_t n = r->result->weights;
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(memory_new(&s->weight, n));
    for (uint32_t i = 0; i < n; i++)
        s->weight[i] = (int16_t)(r->ask.weight[i] = rounded(weight[i]));
    if (multiplier == 0)
        return log_fail(r->log, ERR_RANGE, "the budget is too small for another step");
    s->multiplier = r->ask.multiplier = multiplier;
    r->ask.round++;
    TRY(ask(r, &told, &s->cost));
    s->spent = r->result->spent;
    s->lost = told.values == 0;
    s->value = told.value;
    told.value = NULL;
    return ERR_OK;
}

/* A gradient at W, which moves W. */
static enum err take_step(struct train_run *r, struct train_step *s, unsigned t)
{
    const struct features *f = r->o->features;
    const uint32_t n = r->result->weights;
    double scale;
    TRY(ask_at(r, s, r->w,
               train_multiplier(f, r->o->steps - t, ledger_left(r->ledger) - r->reserve)));
    if (s->lost)
        return ERR_OK;
    scale = r->result->rate / ((double)s->multiplier * r->result->rows * (double)f->r2);
    for (uint32_t i = 0; i < n; i++) {
        r->v[i] = MOMENTUM * r->v[i] - scale * (double)s->value[i];
        r->w[i] += r->v[i];
    }
    return ERR_OK;
}

/*
 * The last of the steps is refused: counts were lost more often than there is slack for, or another
 * run took some of it. W stays for those that are left, as after steps that are lost.
 */
static void end_early(struct train_run *r)
{
    struct train_result *out = r->result;
    const unsigned kept = averaged(r->o->steps), done = --out->steps, from = r->o->steps - kept;
    const double rest = r->o->steps - (done > from ? done : from);
    memory_free(&out->step[done].weight);
    out->spent = out->step[done - 1].spent;
    for (uint32_t i = 0; i < out->weights; i++)
        out->weight[i] += rest * r->w[i] / kept;
    log_warn(r->log, "what may still be spent has no room for step %u of %u: the run ends here",
             done + 1, r->o->steps);
}

static enum err take_steps(struct train_run *r)
{
    const struct train_options *o = r->o;
    struct train_result *out = r->result;
    const unsigned kept = averaged(o->steps);
    r->ask = (struct ask){.kind = ASK_GRADIENT, .weights = out->weights};
    TRY(memory_new(&r->ask.weight, out->weights));
    TRY(memory_new(&r->w, out->weights));
    TRY(memory_new(&r->v, out->weights));
    TRY(memory_new(&out->step, o->steps));
    TRY(memory_new(&out->weight, out->weights));
    for (unsigned t = 0; t < o->steps; t++) {
        const enum err e = take_step(r, &out->step[out->steps++], t);
        if (e == ERR_BUDGET && t > 0) {
            end_early(r);
            return ERR_OK;
        }
        TRY(e);
        for (uint32_t i = 0; t >= o->steps - kept && i < out->weights; i++)
            out->weight[i] += r->w[i] / kept;
        if (o->progress != NULL)
            o->progress(o->self, out, t);
    }
    return ERR_OK;
}

/* How good the classifier is, for what is left; without that, it stays a classifier. */
static enum err take_test(struct train_run *r)
{
    struct train_result *out = r->result;
    struct train_step *s = &out->test;
    enum err e;
    r->ask.kind = ASK_TEST;
    r->ask.round = out->steps;
    e = ask_at(r, s, out->weight, multiplier(ledger_left(r->ledger), r->o->features->outputs));
    if (e == ERR_BUDGET || (e == ERR_OK && s->lost))
        log_warn(r->log, "the test is left out: it %s",
                 s->lost ? "was lost" : "does not fit what is left of the budget");
    if (e == ERR_BUDGET)
        s->multiplier = 0;
    return e == ERR_BUDGET ? ERR_OK : e;
}

static enum err train(struct train_run *r)
{
    const struct train_options *o = r->o;
    const double rho = look_leaves(&o->look, &o->limits);
    struct train_result *out;
    double most;
    TRY(memory_new(&r->result, 1));
    out = r->result;
    out->features = o->features;
    out->weights = features_weights(o->features);
    TRY(ledger_new(&r->ledger, &o->limits, r->log));
    TRY(look_debit(&o->look, r->ledger, &o->slack, r->log));
    TRY(count_classes(r));
    r->reserve = train_reserve(o->features, rho);
    out->nu = train_nu(o->features, o->steps, train_share(o->features, rho), out->rows);
    out->rate = o->rate > 0 ? o->rate : train_rate(o->features, out->nu, &most);
    TRY(take_steps(r));
    if (o->features->tests && !r->refused) /* a step that is asked again takes its number */
        TRY(take_test(r));
    if (o->progress != NULL && out->test.value != NULL)
        o->progress(o->self, out, out->steps);
    return ERR_OK;
}

enum err train_run(struct train_result **result, const struct train_options *options,
                   const struct aim_backend *backend, struct log *log)
{
    struct train_run r = {.o = options, .backend = backend, .log = log};
    enum err e = train(&r);
    memory_free_all(&r.w, &r.v);
    ask_clear(&r.ask);
    ledger_free(&r.ledger);
    if (e != ERR_OK)
        train_result_free(&r.result);
    *result = r.result;
    return e;
}

void train_result_free(struct train_result **r)
{
    if (*r == NULL)
        return;
    for (unsigned t = 0; t < (*r)->steps; t++) {
        memory_free_all(&(*r)->step[t].weight, &(*r)->step[t].value);
    }
    memory_free_all(&(*r)->test.weight, &(*r)->test.value, &(*r)->step, &(*r)->count,
                    &(*r)->weight);
    memory_free(r);
}
