#include "aim/run/ask.h"

#include "base/memory.h"

#include <string.h>

void told_clear(struct ask_told *t)
{
    memory_free(&t->value);
    *t = (struct ask_told){0};
}

/* --- bytes ------------------------------------------------------------------------------------ */

enum err ask_write(const struct ask *a, struct bytes *out)
{
    struct bytes merges CLEAN(bytes_clear) = {0};
    if (a->merges != NULL)
        merges_write(a->merges, &merges);
    TRY(bytes_ok(&merges));
    bytes_put_block(out, merges.data, merges.size);
    bytes_put_u32(out, a->queries);
    for (uint32_t k = 0; k < a->queries; k++)
        bytes_put_u32(out, a->query[k]);
    bytes_put_u64(out, a->multiplier);
    bytes_put_double(out, a->epsilon);
    bytes_put_double(out, a->sigma);
    bytes_put_u64(out, a->estimates + a->weights);
    for (size_t k = 0; k < a->estimates; k++)
        bytes_put_small(out, a->estimate[k]);
    for (size_t k = 0; k < a->weights; k++)
        bytes_put_u64(out, (uint64_t)a->weight[k]);
    return bytes_ok(out);
}

/* Whether a request of this kind names marginals, over codes or groups of them. */
static bool names_marginals(const struct ask *a)
{
    return a->kind == ASK_MEASURE || ask_estimates(a);
}

/* There is only one way to write that a request has none. */
static enum err read_merges(struct ask *a, const struct domain *d, struct reader *in)
{
    struct reader merges;
    size_t n = 0;
    const uint8_t *p = reader_block(in, &n);
    enum err e;
    if (in->failed)
        return ERR_FORMAT;
    if (n == 0)
        return ERR_OK;
    merges = reader_of(p, n);
    TRY(memory_new(&a->merges, 1));
    e = merges_read(a->merges, d, &merges);
    if (e == ERR_OK && (reader_done(&merges) != ERR_OK || !merges_any(a->merges)))
        e = ERR_FORMAT;
    return e == ERR_FORMAT || !names_marginals(a) ? ERR_REFUSED : e;
}

/* Query indices ascend, to measure or as candidates. */
static enum err read_queries(struct ask *a, const struct workload *w, struct reader *in)
{
    uint64_t cells = 0;
    a->queries = reader_u32(in);
    if (in->failed || a->queries > w->queries || (a->queries > 0 && !names_marginals(a)))
        return ERR_FORMAT;
    TRY(memory_new(&a->query, a->queries));
    for (uint32_t k = 0; k < a->queries; k++) {
        a->query[k] = reader_u32(in);
        if (a->query[k] >= w->queries || (k > 0 && a->query[k] <= a->query[k - 1]))
            return ERR_FORMAT;
        cells += merges_query_cells(a->merges, &w->query[a->query[k]]);
    }
    a->estimates = ask_estimates(a) ? (size_t)cells : 0;
    a->weights = a->kind == ASK_FORMS ? 2 * workload_one_way_cells(w) : 0;
    return ERR_OK;
}

enum err ask_read(struct ask *a, const struct domain *d, const struct workload *w,
                  struct reader *in)
{
    uint64_t numbers;
    TRY(read_merges(a, d, in));
    TRY(read_queries(a, w, in));
    a->multiplier = reader_u64(in);
    a->epsilon = reader_double(in);
    a->sigma = reader_double(in);
    numbers = reader_u64(in);
    if (a->kind == ASK_MEASURE && numbers > 0 && a->multiplier == 0)
        a->weights = a->queries;
    if (ask_trains(a) && numbers <= FEATURES_WEIGHTS_MAX)
        a->weights = (size_t)numbers; /* how many it takes is judged with its price */
    /* a request has one of them */
    if (numbers != a->estimates + a->weights || in->failed ||
        in->left < a->estimates + 8 * a->weights)
        return ERR_FORMAT;
    TRY(memory_new(&a->estimate, a->estimates));
    for (size_t k = 0; k < a->estimates; k++)
        a->estimate[k] = reader_small(in);
    TRY(memory_new(&a->weight, a->weights));
    for (size_t k = 0; k < a->weights; k++)
        a->weight[k] = (int64_t)reader_u64(in);
    return reader_done(in);
}

size_t ask_longest(const struct workload *w)
{
    const size_t factors = 2 * workload_one_way_cells(w), cells = (size_t)w->cells;
    const size_t merges = 2 + 2 * w->one_ways + 4 * workload_one_way_cells(w);
    const size_t weights = FEATURES_CLASSES_MAX * (workload_one_way_cells(w) + 1);
    size_t numbers = cells > factors ? cells : factors;
    numbers = weights > numbers ? weights : numbers;
    return SMALL_MOST * numbers + (size_t)w->queries * 4 + merges;
}

void ask_clear(struct ask *a)
{
    merges_free(&a->merges);
    memory_free_all(&a->query, &a->estimate, &a->weight);
    *a = (struct ask){0};
}

static bool merged_alike(const struct merges *a, const struct merges *b)
{
    return a == NULL || b == NULL ? a == b : merges_equal(a, b);
}

bool ask_alike(const struct ask *a, const struct ask *b)
{
    return a->kind == b->kind && a->queries == b->queries && a->multiplier == b->multiplier &&
           a->weights == b->weights && merged_alike(a->merges, b->merges) &&
           (a->queries == 0 || memcmp(a->query, b->query, a->queries * sizeof *a->query) == 0) &&
           (a->weights == 0 || memcmp(a->weight, b->weight, a->weights * sizeof *a->weight) == 0);
}

struct forms ask_forms(const struct ask *a, const struct workload *w)
{
    return (struct forms){w, a->weight, a->weight + a->weights / 2};
}

uint64_t ask_multiplier(const struct ask *a, uint32_t k)
{
    return a->weights > 0 ? (uint64_t)a->weight[k] : a->multiplier;
}

bool ask_trains(const struct ask *a)
{
    return a->kind == ASK_GRADIENT || a->kind == ASK_TEST;
}

bool ask_estimates(const struct ask *a)
{
    return a->kind == ASK_SELECT || a->kind == ASK_SCORES;
}

uint64_t ask_grid(const struct ask *a)
{
    return a->kind == ASK_SCORES ? a->multiplier : UINT64_C(1) << AIM_ESTIMATE_BITS;
}

static uint64_t cells_of(const struct ask *a, const struct workload *w, uint32_t k)
{
    return merges_query_cells(a->merges, &w->query[a->query[k]]);
}

uint64_t ask_cells(const struct ask *a, const struct workload *w, const struct features *f,
                   size_t selected)
{
    struct forms p;
    uint64_t cells = 0;
    switch (a->kind) {
    case ASK_MEASURE:
        for (uint32_t k = 0; k < a->queries; k++)
            cells += cells_of(a, w, k);
        return cells;
    case ASK_SELECT:
        return cells_of(a, w, (uint32_t)selected);
    case ASK_FORMS:
        p = ask_forms(a, w);
        return forms_count(&p);
    case ASK_LOOK:
        return 1;
    case ASK_SCORES:
        return a->queries;
    case ASK_GRADIENT:
        return a->weights;
    case ASK_TEST:
        return features_cells(f);
    }
    return 0;
}

/* --- the price -------------------------------------------------------------------------------- */

double ask_delta(struct ask_term t, double n)
{
    return t.factor * n * t.tau;
}

void ask_price_new(struct ask_price *p)
{
    *p = (struct ask_price){0};
    mpq_init(p->cost);
    mpq_init(p->measuring);
}

void ask_price_clear(struct ask_price *p)
{
    mpq_clear(p->cost);
    mpq_clear(p->measuring);
    memory_free_all(&p->scale, &p->penalty);
}

/* What is measured: noise that is not exactly Gaussian tells of each thing that a row moves. */
static void price_moved(struct ask_price *p, const struct ask_terms *t, uint64_t moved)
{
    p->epsilon_slack = (double)moved * t->slack.marginal;
    p->delta_slack = ask_delta(t->slack.measured, (double)moved);
}

static void price_marginals(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                            uint64_t marginals)
{
    mpq_t one;
    ledger_measure_cost(p->measuring, a->multiplier, marginals);
    mpq_init(one);
    for (uint32_t k = 0; a->kind == ASK_MEASURE && k < a->weights; k++) {
        ledger_measure_cost(one, ask_multiplier(a, k), 1);
        mpq_add(p->measuring, p->measuring, one);
    }
    mpq_clear(one);
    mpq_set(p->cost, p->measuring);
    price_moved(p, t, marginals);
}

/* A row moves all scores, each by at most the multiplier: they cost what marginals cost. */
static enum err price_scores(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                             struct log *log)
{
    const uint64_t m = a->multiplier;
    if (t->score != AIM_L1)
        return log_fail(log, ERR_REFUSED, "scores of squares are not opened: they have no bound");
    if (a->queries == 0 || m < SCORES_MULTIPLIER_MIN || m > SCORE_MULTIPLIER_MAX)
        return log_fail(log, ERR_REFUSED,
                        "a multiplier of %llu over %u scores is outside what servers permit",
                        (unsigned long long)m, a->queries);
    for (uint32_t k = 0; k < a->queries; k++)
        if (m > scores_most(&t->bounds, a->query[k]))
            return log_fail(
                log, ERR_REFUSED,
                "at a multiplier of %llu the score of %s could be more than the arithmetic carries",
                (unsigned long long)m,
                clique_name(&t->workload->query[a->query[k]].clique, t->domain).text);
    price_marginals(p, a, t, a->queries);
    return ERR_OK;
}

static struct score_terms terms_of(const struct ask *a, const struct ask_terms *t)
{
    return (struct score_terms){.domain = t->domain,
                                .workload = t->workload,
                                .merges = a->merges,
                                .query = a->query,
                                .candidates = a->queries,
                                .epsilon = a->epsilon,
                                .sigma = a->sigma,
                                .bounds = t->bounds,
                                .score = t->score};
}

static enum err plan_selection(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                               struct log *log)
{
    const struct score_terms terms = terms_of(a, t);
    memory_free_all(&p->scale, &p->penalty);
    TRY(memory_new(&p->scale, a->queries));
    TRY(memory_new(&p->penalty, a->queries));
    return score_plan(&terms, p->scale, p->penalty, &p->plan, log);
}

/* Prices a selection and the measurement of what it selects. */
static enum err price_selection(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                                struct log *log)
{
    mpq_t selecting;
    enum err e = ERR_RANGE;
    price_marginals(p, a, t, 1);
    p->delta_slack += ask_delta(t->slack.candidate, a->queries);
    mpq_init(selecting);
    if (a->epsilon > 0 && a->epsilon < 100 && a->sigma > 0 && a->sigma < 1e6)
        e = ledger_select_cost(selecting, t->accounting, a->epsilon, t->slack.select,
                               a->multiplier);
    mpq_add(p->cost, selecting, p->measuring);
    mpq_clear(selecting);
    if (e != ERR_OK)
        return log_fail(log, ERR_REFUSED,
                        "select: the request has an epsilon or a sigma out of range");
    p->candidates = a->queries;
    for (uint32_t k = 0; k < a->queries; k++) {
        const uint64_t cells = cells_of(a, t->workload, k);
        p->cells = p->cells < cells ? cells : p->cells;
    }
    return a->queries > 0 ? plan_selection(p, a, t, log) : ERR_OK;
}

/* A row moves one form for each pair of columns, however many groups there are. */
static enum err price_forms(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                            struct log *log)
{
    const struct forms products = ask_forms(a, t->workload);
    mpz_t squared;
    TRY(forms_check(&products, t->domain, &t->bounds, log));
    mpz_init(squared);
    forms_sensitivity(squared, &products);
    ledger_forms_cost(p->measuring, squared);
    mpz_clear(squared);
    mpq_set(p->cost, p->measuring);
    price_moved(p, t, forms_pairs(t->workload->one_ways));
    return ERR_OK;
}

/* All C F numbers may differ, and together they move by R Q at most. */
static enum err price_gradient(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                               struct log *log)
{
    const struct features *f = t->features;
    mpz_t squared;
    if (f == NULL)
        return log_fail(log, ERR_REFUSED, "a study without method: train opens no gradients");
    TRY(features_check(f, a->multiplier, a->weight, a->weights, score_total(&t->bounds, f->target),
                       log));
    mpz_init(squared);
    features_moves(squared, f, a->multiplier);
    ledger_forms_cost(p->measuring, squared);
    mpz_clear(squared);
    mpq_set(p->cost, p->measuring);
    price_moved(p, t, a->weights);
    return ERR_OK;
}

/* A row that tests adds 1 to one cell of each output's table. */
static enum err price_test(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                           struct log *log)
{
    const struct features *f = t->features;
    if (f == NULL || !f->tests)
        return log_fail(log, ERR_REFUSED, "a study without train: {test: ..} has no test");
    TRY(features_check(f, a->multiplier, a->weight, a->weights, score_total(&t->bounds, f->target),
                       log));
    price_marginals(p, a, t, f->outputs);
    return ERR_OK;
}

enum err ask_price(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                   struct log *log)
{
    p->cells = p->candidates = 0;
    p->plan = (struct score_plan){0};
    p->score = t->score;
    switch (a->kind) {
    case ASK_MEASURE:
        price_marginals(p, a, t, a->queries);
        break;
    case ASK_LOOK: /* one number, which moves by 1 with each of a person's rows */
        price_marginals(p, a, t, 1);
        break;
    case ASK_SELECT:
        return price_selection(p, a, t, log);
    case ASK_FORMS:
        TRY(price_forms(p, a, t, log));
        break;
    case ASK_SCORES:
        TRY(price_scores(p, a, t, log));
        break;
    case ASK_GRADIENT:
        TRY(price_gradient(p, a, t, log));
        break;
    case ASK_TEST:
        TRY(price_test(p, a, t, log));
        break;
    }
    p->cells = (size_t)ask_cells(a, t->workload, t->features, 0);
    return ERR_OK;
}

enum err ask_debit(const struct ask_price *p, unsigned times, struct ledger *ledger,
                   struct log *log)
{
    mpq_t all;
    enum err e;
    mpq_init(all);
    mpq_set_ui(all, times, 1);
    mpq_mul(all, all, p->cost);
    e = ledger_debit(ledger, all, log);
    mpq_clear(all);
    return e == ERR_OK ? ledger_slack(ledger, times * p->epsilon_slack, times * p->delta_slack, log)
                       : e;
}

enum err ask_check_estimates(const struct ask *a, const struct ask_terms *t, struct log *log)
{
    const struct score_terms terms = terms_of(a, t);
    const uint64_t *estimate = a->estimate;
    for (uint32_t k = 0; k < a->queries; k++) {
        TRY(select_check_estimates(&terms, a->query[k], ask_grid(a), estimate, log));
        estimate += cells_of(a, t->workload, k);
    }
    return ERR_OK;
}
