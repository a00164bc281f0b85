#include "aim/run/copula_run.h"

#include "aim/budget/forms.h"
#include "aim/copula/copula_fit.h"
#include "aim/copula/copula_noise.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct copula_run {
    const struct copula_options *o;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct copula_column *column;
    struct copula_result *result;
    double kappa;
    unsigned lost;  /* how often the one-ways were paid for in vain */
    struct ask ask; /* of the round; what it points to is owned */
};

/* A rho that would buy, by itself, as little noise as all who make some add together. */
static double noisy(const struct copula_run *r, double rho)
{
    const double spread = measure_spread(r->o->noise_by);
    return rho / (spread * spread);
}

/* Debits a request, and once more for each time that it is lost. */
static enum err debit(struct copula_run *r, const struct ask_price *price, unsigned times)
{
    struct copula_round *round = &r->result->round[r->ask.round];
    const double k = ledger_rows_per_person(r->ledger);
    for (unsigned i = 0; i < times; i++)
        TRY(ask_debit(price, 1, r->ledger, r->log));
    round->cost = k * k * mpq_get_d(price->cost);
    round->spent = ledger_spent(r->ledger);
    return ERR_OK;
}

/* Asks for the round, which is paid for first. */
static enum err ask(struct copula_run *r, struct ask_told *told)
{
    const struct ask_terms terms = {.domain = r->o->domain,
                                    .workload = r->o->pairs,
                                    .bounds = r->o->bounds,
                                    .slack = r->o->slack};
    struct ask_price price CLEAN(ask_price_clear);
    ask_price_new(&price);
    TRY(ask_price(&price, &r->ask, &terms, r->log));
    TRY(debit(r, &price, 1));
    TRY(r->backend->ask(r->backend->self, &r->ask, told));
    r->lost = told->lost;
    r->result->round[r->ask.round].population = told->population;
    return debit(r, &price, told->lost);
}

/* --- round 0: the one-ways -------------------------------------------------------------------- */

static enum err record(struct copula_run *r, uint64_t multiplier, const int64_t *values)
{
    const size_t d = r->o->domain->attributes;
    struct copula_result *out = r->result;
    TRY(memory_new(&out->measurement, d));
    for (size_t i = 0; i < d; i++) {
        const struct workload_query *q = &r->o->pairs->query[i];
        struct measurement *m = &out->measurement[i];
        TRY(memory_new(&m->y, q->cells));
        out->measurements++;
        m->clique = q->clique;
        m->sigma = measure_sigma(multiplier, r->o->noise_by);
        for (uint64_t a = 0; a < q->cells; a++)
            m->y[a] = (double)values[q->offset + a] / (double)multiplier;
    }
    return ERR_OK;
}

static enum err measure(struct copula_run *r)
{
    const struct copula_options *o = r->o;
    const uint32_t d = (uint32_t)o->domain->attributes;
    struct ask_told told CLEAN(told_clear) = {0};
    r->ask = (struct ask){.kind = ASK_MEASURE, .queries = d};
    TRY(measure_multiplier(ledger_deviation(d, o->share * look_leaves(&o->look, &o->limits)),
                           &r->ask.multiplier, r->log));
    TRY(memory_new(&r->ask.query, d));
    for (uint32_t i = 0; i < d; i++)
        r->ask.query[i] = i;
    TRY(ask(r, &told));
    return record(r, r->ask.multiplier, told.value);
}

static enum err keep_groups(struct copula_run *r)
{
    const size_t d = r->o->domain->attributes;
    struct copula_result *out = r->result;
    TRY(memory_new(&out->groups, d));
    TRY(memory_new(&out->group, d));
    for (size_t i = 0; i < d; i++) {
        const struct copula_column *c = &r->column[i];
        out->groups[i] = c->groups;
        TRY(memory_new(&out->group[i], c->size));
        memcpy(out->group[i], c->group, c->size * sizeof *c->group);
    }
    return ERR_OK;
}

/* Finds each column's shares and scores, the nominal ones' groups, and the number of rows. */
static enum err look_first(struct copula_run *r)
{
    const struct domain *d = r->o->domain;
    const size_t groups = copula_groups_most(d);
    struct copula *model = r->result->model;
    model->total = model_estimate_total(d, r->result->measurement, r->result->measurements);
    TRY(memory_new(&r->column, d->attributes));
    for (size_t i = 0; i < d->attributes; i++) {
        const double *y = r->result->measurement[i].y;
        TRY(copula_column_new(&r->column[i], &d->attribute[i], groups));
        TRY(copula_set_shares(&r->column[i], y, model->total));
        memcpy(model->share[i], r->column[i].share, d->attribute[i].size * sizeof **model->share);
    }
    TRY(copula_noise_clip(r->column, d->attributes, noisy(r, ledger_left(r->ledger)), model->total,
                          r->o->clip, &r->result->clip));
    TRY(copula_noise_groups(r->column, d->attributes, noisy(r, ledger_left(r->ledger)),
                            model->total, groups));
    return keep_groups(r);
}

/* --- round 1: the forms ----------------------------------------------------------------------- */

/* round(sqrt(kappa) t) of a code. */
static int64_t rounded(const struct copula_run *r, size_t column, uint32_t code)
{
    return llround(sqrt(r->kappa) * r->column[column].score[code]);
}

/* The sum over pairs of max u_i^2 max u_j^2. */
static double squares(const struct copula_run *r)
{
    double sum = 0, before = 0;
    for (size_t i = 0; i < r->o->domain->attributes; i++) {
        double most = 0;
        for (uint32_t a = 0; a < r->column[i].size; a++)
            most = fmax(most, fabs((double)rounded(r, i, a)));
        sum += most * most * before;
        before += most * most;
    }
    return sum;
}

/* How many steps the largest score may be from 0. */
static double steps(const struct copula_run *r)
{
    return sqrt(r->kappa) * r->result->clip;
}

/*
 * The kappa that the remaining budget pays for. Delta^2 grows as kappa^2; where rounding adds to
 * it, kappa goes down. forms_sensitivity() and the ledger have the last word.
 */
static enum err choose_kappa(struct copula_run *r)
{
    const double most = ledger_squared(ledger_left(r->ledger));
    r->kappa = 0x1p30; /* fine enough that rounding does not matter */
    if (!(squares(r) > 0))
        return ERR_OK; /* no column has two codes with rows: the forms say nothing */
    r->kappa *= sqrt(most / squares(r));
    while (squares(r) > most * (1 - 0x1p-40) && steps(r) >= COPULA_STEPS_LEAST)
        r->kappa *= 1 - 0x1p-12;
    if (steps(r) >= COPULA_STEPS_LEAST)
        return ERR_OK;
    if (r->lost > 0)
        return log_fail(r->log, ERR_RANGE,
                        "the one-ways were lost and asked for again, which took the budget of the "
                        "forms: this run cannot give a result any more");
    return log_fail(r->log, ERR_RANGE,
                    "the budget is too small for the forms of %zu columns; raise epsilon, use "
                    "fewer columns, or lower the copula's share",
                    r->o->domain->attributes);
}

/* Replaces the scores by those that the forms used, which are rounded. */
static enum err keep_scores(struct copula_run *r)
{
    const size_t d = r->o->domain->attributes;
    TRY(memory_new(&r->result->score, d));
    for (size_t i = 0; i < d; i++) {
        struct copula_column *c = &r->column[i];
        for (uint32_t a = 0; a < c->size; a++)
            c->score[a] = (double)rounded(r, i, a) / sqrt(r->kappa);
        TRY(memory_new(&r->result->score[i], c->size));
        memcpy(r->result->score[i], c->score, c->size * sizeof *c->score);
        TRY(copula_set_hermite(c));
    }
    return ERR_OK;
}

/* The forms of two columns. */
static void add_forms(struct copula_result *out, const struct copula_column *column, uint16_t i,
                      uint16_t j)
{
    for (uint16_t g = 0; g < column[i].groups; g++)
        for (uint16_t h = 0; h < column[j].groups; h++)
            out->form[out->forms++] = (struct copula_form){
                .first = i, .second = j, .of_first = g, .of_second = h};
}

/* Writes the request, and the places of its answers. */
static enum err make_forms(struct copula_run *r)
{
    const struct workload *w = r->o->pairs;
    const size_t codes = workload_one_way_cells(w);
    struct copula_result *out = r->result;
    ask_clear(&r->ask);
    r->ask = (struct ask){.kind = ASK_FORMS, .round = 1, .weights = 2 * codes};
    TRY(memory_new(&r->ask.weight, 2 * codes));
    for (size_t i = 0, u = 0; i < w->one_ways; i++)
        for (uint32_t a = 0; a < r->column[i].size; a++, u++) {
            r->ask.weight[u] = rounded(r, i, a);
            r->ask.weight[codes + u] = r->column[i].group[a];
        }
    TRY(memory_new(&out->form, ask_cells(&r->ask, w, NULL, 0)));
    for (uint16_t i = 0; i < w->one_ways; i++)
        for (uint16_t j = i; ++j < w->one_ways;)
            add_forms(out, r->column, i, j);
    return ERR_OK;
}

static enum err open_forms(struct copula_run *r)
{
    struct copula_result *out = r->result;
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(ask(r, &told));
    out->sigma = measure_sigma(1, r->o->noise_by) / r->kappa;
    for (size_t k = 0; k < out->forms; k++)
        out->form[k].value = (double)told.value[k] / r->kappa;
    return ERR_OK;
}

static enum err run_copula(struct copula_run *r)
{
    TRY(memory_new(&r->result, 1));
    TRY(copula_new(&r->result->model, r->o->domain));
    TRY(ledger_new(&r->ledger, &r->o->limits, r->log));
    TRY(look_debit(&r->o->look, r->ledger, &r->o->slack, r->log));
    TRY(measure(r));
    TRY(look_first(r));
    TRY(choose_kappa(r));
    TRY(make_forms(r));
    TRY(keep_scores(r));
    TRY(open_forms(r));
    return copula_fit(r->result, r->column, r->log);
}

enum err copula_run(struct copula_result **result, const struct copula_options *options,
                    const struct aim_backend *backend, struct log *log)
{
    struct copula_run r = {.o = options, .backend = backend, .log = log};
    enum err e = run_copula(&r);
    for (size_t i = 0; r.column != NULL && i < options->domain->attributes; i++)
        copula_column_clear(&r.column[i]);
    memory_free(&r.column);
    ask_clear(&r.ask);
    ledger_free(&r.ledger);
    if (e != ERR_OK)
        copula_result_free(&r.result);
    *result = r.result;
    return e;
}
