#include "parties/server/engine_forms.h"

#include "aim/forms.h"
#include "base/memory.h"
#include "parties/study/study_uploads.h"
#include "protocols/forms.h"
#include "protocols/measure.h"

/* --- requests --------------------------------------------------------------------------------- */

/* The factors of a request for products, then their groups. */
static struct products products_of(const struct engine *g, const struct request *r)
{
    return (struct products){g->study->workload, r->weight, r->weight + r->weights / 2};
}

/* Checks that nothing wraps, and finds how far one row can move the forms. */
static enum err check_forms(const struct engine *g, const struct request *r, mpz_ptr squared)
{
    const struct workload *w = g->study->workload;
    const struct forms f = {r->queries, r->query, r->weight};
    const struct products p = products_of(g, r);
    if (request_is_products(r))
        TRY(products_check(&p, g->study->domain, &g->bounds->counts, g->log));
    else
        TRY(forms_check(&f, g->study->domain, w, &g->bounds->counts, g->log));
    if (request_is_products(r))
        products_sensitivity(squared, &p);
    else
        forms_sensitivity(squared, &f, w);
    return ERR_OK;
}

/* Noise that is not exactly Gaussian tells of forms that a row moves: of products, one a pair. */
static void price_forms(const struct engine *g, struct engine_step *s)
{
    const struct products p = products_of(g, s->request);
    uint64_t moved = s->request->queries;
    s->cells = moved;
    if (request_is_products(s->request)) {
        s->cells = products_count(&p);
        moved = products_pairs(p.workload->one_ways);
    }
    s->epsilon_slack = (double)moved * g->slack.marginal;
    s->delta_slack = price_delta(g->slack.measured, (double)moved);
}

enum err engine_prepare_forms(const struct engine *g, struct engine_step *s)
{
    mpz_t squared;
    enum err e;
    mpz_init(squared);
    e = check_forms(g, s->request, squared);
    ledger_forms_cost(s->measuring, squared);
    mpz_clear(squared);
    mpq_set(s->cost, s->measuring);
    if (e == ERR_OK)
        price_forms(g, s);
    return e;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Sums of products that are made from records. */
struct summing {
    struct engine *g;
    struct products products;
    struct share64 sums;
};

static enum err add_products(void *self, const struct upload *uploads, size_t count)
{
    const struct summing *s = self;
    return tally_products(s->g->party, &s->g->tally, uploads, count, &s->products, s->sums);
}

/* Whether records of some owners are not among the rows that were made. */
static bool reads_again(const struct study *study)
{
    for (size_t i = 0; i < study->owners; i++)
        if (!study_sends_keys(study, i))
            return true;
    return study->open.most > 0;
}

static enum err open_products(struct engine *g, const struct engine_step *step, struct tape *range,
                              int64_t *values)
{
    struct share64 sums CLEAN(share64_free) = {0};
    struct summing s = {.g = g, .products = products_of(g, step->request)};
    TRY(share64_new(&sums, step->cells));
    s.sums = sums;
    if (study_counts_pairs(g->study)) {
        TRY(products_add(&s.products, g->counts->x.a, g->counts->start, sums.a));
        TRY(products_add(&s.products, g->counts->x.b, g->counts->start, sums.b));
    } else {
        TRY(tally_made_products(g->party, &g->tally, &s.products, sums));
        if (reads_again(g->study))
            TRY(g->uploads.read(g->uploads.self, add_products, &s));
    }
    return measure_open_sums(g->party, OPEN_NOISY_FORM, sums, range, 1, values);
}

enum err engine_open_forms(struct engine *g, const struct engine_step *s, struct tape *range,
                           int64_t *values)
{
    const struct request *r = s->request;
    const int64_t *weight = r->weight;
    struct form *form CLEAN(memory_release) = NULL;
    if (request_is_products(r))
        return open_products(g, s, range, values);
    TRY(memory_new(&form, r->queries));
    for (size_t k = 0; k < r->queries; k++) {
        form[k] = (struct form){r->query[k], weight};
        weight += g->counts->cells[r->query[k]];
    }
    return forms_open(g->party, g->counts, range, form, r->queries, g->bounds->counts.total,
                      values);
}
