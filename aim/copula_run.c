#include "aim/copula_run.h"

#include "aim/copula_fit.h"
#include "aim/copula_noise.h"
#include "aim/forms.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct run {
    const struct copula_options *o;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct copula_column *column;
    struct copula_result *result;
    double kappa;
    unsigned lost; /* how often the one-ways were paid for in vain */
    int64_t *factor, *group, *value;
};

double copula_sigma(size_t columns, double rho)
{
    return sqrt((double)columns / (2 * rho));
}

/* The rho that is left for a person's single row. */
static double left(const struct run *r)
{
    const double k = ledger_rows_per_person(r->ledger);
    return ledger_remaining(r->ledger) / (k * k);
}

/* Debits the cost of `opened` marginals or forms, `times` times. */
static enum err debit(struct run *r, mpq_srcptr cost, size_t opened, unsigned times,
                      struct copula_round *round)
{
    const double k = ledger_rows_per_person(r->ledger);
    for (unsigned i = 0; i < times; i++) {
        TRY(ledger_debit(r->ledger, cost, r->log));
        TRY(ledger_slack(r->ledger, (double)opened * r->o->measure_slack, 0, r->log));
    }
    round->cost = k * k * mpq_get_d(cost);
    round->spent = ledger_spent(r->ledger);
    return ERR_OK;
}

/* --- round 0: the one-ways -------------------------------------------------------------------- */

static enum err debit_one_ways(struct run *r, uint64_t multiplier, unsigned times)
{
    mpq_t cost;
    enum err e;
    mpq_init(cost);
    ledger_measure_cost(cost, multiplier, r->o->domain->attributes);
    e = debit(r, cost, r->o->domain->attributes, times, &r->result->round[0]);
    mpq_clear(cost);
    return e;
}

static enum err record(struct run *r, uint64_t multiplier, const int64_t *values)
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
        m->sigma = measure_sigma(multiplier);
        for (uint64_t a = 0; a < q->cells; a++)
            m->y[a] = (double)values[q->offset + a] / (double)multiplier;
    }
    return ERR_OK;
}

static enum err measure(struct run *r)
{
    const struct copula_options *o = r->o;
    const size_t d = o->domain->attributes;
    const struct workload_query *last = &o->pairs->query[d - 1];
    uint32_t *query CLEAN(memory_release) = NULL;
    int64_t *values CLEAN(memory_release) = NULL;
    uint64_t multiplier;
    unsigned lost = 0;
    TRY(measure_multiplier(copula_sigma(d, o->share * look_leaves(&o->look, &o->limits)),
                           &multiplier, r->log));
    TRY(memory_new(&query, d));
    TRY(memory_new(&values, last->offset + last->cells));
    for (uint32_t i = 0; i < d; i++)
        query[i] = i;
    TRY(debit_one_ways(r, multiplier, 1));
    TRY(r->backend->measure(r->backend->self,
                            &(struct aim_measure){0, d, query, multiplier, NULL, values,
                                                  .population = &r->result->round[0].population,
                                                  .lost = &lost}));
    r->lost = lost;
    TRY(debit_one_ways(r, multiplier, lost));
    return record(r, multiplier, values);
}

static enum err keep_groups(struct run *r)
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
static enum err look(struct run *r)
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
    TRY(copula_noise_clip(r->column, d->attributes, left(r), model->total, r->o->clip,
                          &r->result->clip));
    TRY(copula_noise_groups(r->column, d->attributes, left(r), model->total, groups));
    return keep_groups(r);
}

/* --- round 1: the forms ----------------------------------------------------------------------- */

/* round(sqrt(kappa) t) of a code. */
static int64_t rounded(const struct run *r, size_t column, uint32_t code)
{
    return llround(sqrt(r->kappa) * r->column[column].score[code]);
}

/* The sum over pairs of max u_i^2 max u_j^2. */
static double squares(const struct run *r)
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
static double steps(const struct run *r)
{
    return sqrt(r->kappa) * r->result->clip;
}

/*
 * The kappa that the remaining budget pays for. Delta^2 grows as kappa^2; where rounding adds to
 * it, kappa goes down. forms_sensitivity() and the ledger have the last word.
 */
static enum err choose_kappa(struct run *r)
{
    const double most = 0x1p41 * left(r);
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
static enum err keep_scores(struct run *r)
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

static struct products products_of(const struct run *r)
{
    return (struct products){r->o->pairs, r->factor, r->group};
}

/* The forms of two columns. */
static void add_forms(struct copula_result *out, const struct copula_column *column, uint16_t i,
                      uint16_t j)
{
    for (uint16_t g = 0; g < column[i].groups; g++)
        for (uint16_t h = 0; h < column[j].groups; h++)
            out->form[out->forms++] = (struct copula_form){i, j, g, h, 0};
}

static enum err make_forms(struct run *r)
{
    const struct workload *w = r->o->pairs;
    struct copula_result *out = r->result;
    struct products p;
    TRY(memory_new(&r->factor, products_codes(w)));
    TRY(memory_new(&r->group, products_codes(w)));
    for (size_t i = 0, u = 0; i < w->one_ways; i++)
        for (uint32_t a = 0; a < r->column[i].size; a++, u++) {
            r->factor[u] = rounded(r, i, a);
            r->group[u] = r->column[i].group[a];
        }
    p = products_of(r);
    TRY(memory_new(&out->form, products_count(&p)));
    TRY(memory_new(&r->value, products_count(&p)));
    for (uint16_t i = 0; i < w->one_ways; i++)
        for (uint16_t j = i; ++j < w->one_ways;)
            add_forms(out, r->column, i, j);
    return ERR_OK;
}

static enum err debit_forms(struct run *r, const struct products *p, unsigned times)
{
    mpz_t squared;
    mpq_t cost;
    enum err e;
    mpz_init(squared);
    mpq_init(cost);
    products_sensitivity(squared, p);
    ledger_forms_cost(cost, squared);
    e = debit(r, cost, products_pairs(r->o->domain->attributes), times, &r->result->round[1]);
    mpz_clear(squared);
    mpq_clear(cost);
    return e;
}

static enum err open_forms(struct run *r)
{
    struct copula_result *out = r->result;
    const struct products p = products_of(r);
    unsigned lost = 0;
    TRY(products_check(&p, r->o->domain, &r->o->bounds, r->log));
    TRY(debit_forms(r, &p, 1));
    TRY(r->backend->forms(r->backend->self,
                          &(struct aim_forms){.round = 1,
                                              .factor = r->factor,
                                              .group = r->group,
                                              .forms = out->forms,
                                              .values = r->value,
                                              .population = &out->round[1].population,
                                              .lost = &lost}));
    TRY(debit_forms(r, &p, lost));
    out->sigma = 0x1p20 / r->kappa;
    for (size_t k = 0; k < out->forms; k++)
        out->form[k].value = (double)r->value[k] / r->kappa;
    return ERR_OK;
}

static enum err run(struct run *r)
{
    TRY(memory_new(&r->result, 1));
    TRY(copula_new(&r->result->model, r->o->domain));
    TRY(ledger_new(&r->ledger, &r->o->limits, r->log));
    TRY(look_debit(&r->o->look, r->ledger, r->o->measure_slack, r->log));
    TRY(measure(r));
    TRY(look(r));
    TRY(choose_kappa(r));
    TRY(make_forms(r));
    TRY(keep_scores(r));
    TRY(open_forms(r));
    return copula_fit(r->result, r->column, r->log);
}

enum err copula_run(struct copula_result **result, const struct copula_options *options,
                    const struct aim_backend *backend, struct log *log)
{
    struct run r = {.o = options, .backend = backend, .log = log};
    enum err e = run(&r);
    for (size_t i = 0; r.column != NULL && i < options->domain->attributes; i++)
        copula_column_clear(&r.column[i]);
    memory_free(&r.column);
    memory_free(&r.factor);
    memory_free(&r.group);
    memory_free(&r.value);
    ledger_free(&r.ledger);
    if (e != ERR_OK)
        copula_result_free(&r.result);
    *result = r.result;
    return e;
}

void copula_result_free(struct copula_result **result)
{
    struct copula_result *r = *result;
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    for (size_t i = 0; r->score != NULL && i < r->model->domain->attributes; i++)
        memory_free(&r->score[i]);
    for (size_t i = 0; r->group != NULL && i < r->model->domain->attributes; i++)
        memory_free(&r->group[i]);
    memory_free(&r->measurement);
    memory_free(&r->score);
    memory_free(&r->group);
    memory_free(&r->groups);
    memory_free(&r->form);
    copula_free(&r->model);
    memory_free(result);
}
