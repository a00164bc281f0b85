#include "parties/server/engine.h"

#include "base/memory.h"
#include "mpc/ring.h"
#include "parties/exchange/price.h"
#include "protocols/measure.h"
#include "protocols/select.h"

#include <math.h>
#include <string.h>

static void start_tape(struct engine *g, const uint8_t id[TAPE_ID_SIZE])
{
    const struct price_noise noise = price_noise(g->study);
    tape_start(&g->tape, id, price_tape_noise(g->study));
    tape_plan(&g->tape, TAPE_GAUSS, noise.gauss);
    tape_plan(&g->tape, TAPE_GUMBEL, noise.gumbel);
}

/* --- counts -------------------------------------------------------------------------------------- */

enum err engine_new(struct engine **engine, struct party *party, const struct study *study,
                    const struct bounds *bounds, const uint8_t tape_id[TAPE_ID_SIZE],
                    struct log *log)
{
    struct engine *g = memory_array(1, sizeof *g);
    enum err e;
    *engine = g;
    if (g == NULL)
        return ERR_NOMEM;
    g->party = party;
    g->study = study;
    g->bounds = bounds;
    g->log = log;
    start_tape(g, tape_id);
    e = tally_new(&g->tally, study);
    if (e != ERR_OK)
        engine_free(engine);
    return e;
}

void engine_free(struct engine **engine)
{
    if (*engine == NULL)
        return;
    tally_free(&(*engine)->tally);
    counts_free(&(*engine)->counts);
    tape_free(&(*engine)->tape);
    memory_free(engine);
}

/* Zero counts of the closure in the place of those that are there. */
static enum err fresh_counts(struct engine *g)
{
    const struct workload *w = g->study->workload;
    uint64_t *cells = memory_array(w->queries, sizeof *cells);
    enum err e = cells == NULL ? ERR_NOMEM : ERR_OK;
    counts_free(&g->counts);
    for (size_t q = 0; e == ERR_OK && q < w->queries; q++)
        cells[q] = w->query[q].cells;
    if (e == ERR_OK)
        e = counts_new(&g->counts, cells, w->queries, g->bounds->counts.bits);
    memory_free(&cells);
    return e;
}

/* Copies the sums into the maximal marginals, then sums the lower ones from their parents. */
static enum err spread(struct engine *g)
{
    const struct workload *w = g->study->workload;
    uint64_t at = 0, largest = 0;
    uint32_t *index;
    for (size_t q = 0; q < w->queries; q++) {
        if (!w->query[q].maximal)
            continue;
        ring64_copy(counts_query(g->counts, q), share64_view(g->tally.sums, at, w->query[q].cells));
        at += w->query[q].cells;
        largest = w->query[q].cells > largest ? w->query[q].cells : largest;
    }
    index = memory_array(largest, sizeof *index);
    if (index == NULL)
        return ERR_NOMEM;
    for (size_t q = 0; q < w->queries; q++) {
        uint32_t parent = w->query[q].parent;
        if (w->query[q].maximal)
            continue;
        clique_project(&w->query[parent].clique, &w->query[q].clique, g->study->domain, index);
        counts_sum_down(g->counts, parent, q, index);
    }
    memory_free(&index);
    return ERR_OK;
}

enum err engine_add(struct engine *g, const struct upload *uploads, size_t count)
{
    size_t added;
    TRY(tally_add(g->party, &g->tally, g->bounds, uploads, count, &added));
    g->grown = g->grown || added > 0;
    return ERR_OK;
}

/* Whether scores are of squares. */
static bool squares(const struct engine *g)
{
    switch (g->study->score) {
    case AIM_L1:
        return false;
    case AIM_L2:
        return true;
    }
    return false;
}

enum err engine_finish(struct engine *g)
{
    if (!g->grown && g->counts != NULL)
        return ERR_OK;
    g->grown = false;
    TRY(fresh_counts(g));
    TRY(spread(g));
    return squares(g) ? counts_finish_squares(g->party, g->counts)
                      : counts_finish(g->party, g->counts);
}

/* --- requests ------------------------------------------------------------------------------------ */

static enum err check_multiplier(const struct engine *g, const struct request *r)
{
    if (r->queries > 0 && measure_permits(g->counts, r->multiplier))
        return ERR_OK;
    log_error(g->log, "a multiplier of %llu over %u marginals is outside what servers permit",
              (unsigned long long)r->multiplier, r->queries);
    return ERR_REFUSED;
}

static enum err prepare_measure(struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    for (uint32_t k = 0; k < r->queries; k++)
        s->cells += g->counts->cells[r->query[k]];
    TRY(check_multiplier(g, r));
    ledger_measure_cost(s->cost, r->multiplier, r->queries);
    s->epsilon_slack = r->queries * price_marginal_slack(g->study);
    s->delta_slack = price_measure_delta(g->study, r->queries);
    s->gauss = s->cells;
    return ERR_OK;
}

/* A selection and the measurement of what it selects. */
static enum err price_selection(const struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    mpq_t measure;
    enum err e;
    mpq_init(measure);
    ledger_measure_cost(measure, r->multiplier, 1);
    e = ledger_select_cost(s->cost, r->epsilon, price_select_slack(g->study));
    mpq_add(s->cost, s->cost, measure);
    mpq_clear(measure);
    s->epsilon_slack = price_marginal_slack(g->study);
    s->delta_slack = price_measure_delta(g->study, 1) + price_select_delta(g->study, r->queries);
    return e;
}

static enum err prepare_select(struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    const struct select_terms terms = {
        .domain = g->study->domain,
        .workload = g->study->workload,
        .query = r->query,
        .candidates = r->queries,
        .epsilon = r->epsilon,
        .sigma = r->sigma,
        .bounds = g->bounds->counts,
        .score = g->study->score,
    };
    struct select_plan plan;
    size_t at = 0;
    if (!(r->epsilon > 0 && r->epsilon < 100) || !(r->sigma > 0 && r->sigma < 1e6) ||
        price_selection(g, s) != ERR_OK) {
        log_error(g->log, "select: the request has an epsilon or a sigma out of range");
        return ERR_REFUSED;
    }
    TRY(check_multiplier(g, r));
    for (uint32_t k = 0; k < r->queries; k++) {
        TRY(select_check_estimates(g->study->domain, g->study->workload, r->query[k],
                                   &g->bounds->counts, r->estimate + at, g->log));
        at += g->counts->cells[r->query[k]];
        if (s->cells < g->counts->cells[r->query[k]])
            s->cells = g->counts->cells[r->query[k]];
    }
    s->multiplier = memory_array(r->queries, sizeof *s->multiplier);
    s->penalty = memory_array(r->queries, sizeof *s->penalty);
    if (s->multiplier == NULL || s->penalty == NULL)
        return ERR_NOMEM;
    TRY(select_plan(&terms, s->multiplier, s->penalty, &plan, g->log));
    s->shift = plan.shift;
    s->width = plan.width + 1; /* of differences */
    s->gumbel = r->queries;
    s->gauss = s->cells;
    return ERR_OK;
}

enum err engine_prepare(struct engine *g, struct request *request, struct engine_step *step)
{
    enum err e;
    *step = (struct engine_step){.request = request};
    mpq_init(step->cost);
    e = request->kind == REQUEST_SELECT ? prepare_select(g, step) : prepare_measure(g, step);
    if (e != ERR_OK)
        engine_step_clear(step);
    return e;
}

void engine_step_clear(struct engine_step *step)
{
    if (step->request == NULL)
        return;
    mpq_clear(step->cost);
    memory_free(&step->multiplier);
    memory_free(&step->penalty);
    *step = (struct engine_step){0};
}

enum err engine_step_digest(const struct engine_step *s, uint8_t digest[REQUEST_DIGEST_SIZE])
{
    struct bytes b = {0};
    enum err e;
    bytes_put_double(&b, mpq_get_d(s->cost));
    bytes_put_double(&b, s->epsilon_slack);
    bytes_put_double(&b, s->delta_slack);
    bytes_put_u64(&b, s->gauss);
    bytes_put_u64(&b, s->gumbel);
    bytes_put_u64(&b, s->cells);
    bytes_put_u32(&b, s->shift);
    bytes_put_u32(&b, s->width);
    for (uint32_t k = 0; s->multiplier != NULL && k < s->request->queries; k++) {
        bytes_put_u64(&b, s->multiplier[k]);
        bytes_put_u64(&b, s->penalty[k]);
    }
    e = bytes_ok(&b);
    if (e == ERR_OK)
        request_digest(b.data, b.size, digest);
    bytes_clear(&b);
    return e;
}

/* --- noise --------------------------------------------------------------------------------------- */

#define COUNTS(step)                                                                               \
    {                                                                                              \
        [TAPE_GAUSS] = (step)->gauss, [TAPE_GUMBEL] = (step)->gumbel                               \
    }

bool engine_has_noise(const struct engine *g, const struct engine_step *step)
{
    const size_t count[TAPE_KINDS] = COUNTS(step);
    return range_is_made(&g->tape, count);
}

enum err engine_reserve(struct engine *g, const struct engine_step *step)
{
    TRY(tape_reserve(g->party, &g->tape, TAPE_GUMBEL, step->gumbel));
    return tape_reserve(g->party, &g->tape, TAPE_GAUSS, step->gauss);
}

void engine_range(const struct engine *g, const struct engine_step *step, struct range_place *place)
{
    const size_t count[TAPE_KINDS] = COUNTS(step);
    range_next(&g->tape, count, place);
}

enum err engine_cut(struct engine *g, const struct engine_step *step, struct tape *range)
{
    const size_t count[TAPE_KINDS] = COUNTS(step);
    return range_cut(&g->tape, count, range);
}

enum err engine_return(struct engine *g, struct tape *range)
{
    return range_return(&g->tape, range);
}

/* --- opening ------------------------------------------------------------------------------------- */

enum err engine_select(struct engine *g, const struct engine_step *s, struct tape *range,
                       const uint8_t *seed, size_t *selected)
{
    const struct request *r = s->request;
    struct score_candidate *candidates = memory_array(r->queries, sizeof *candidates);
    struct select_request select = {
        .candidates = r->queries,
        .candidate = candidates,
        .multiplier = s->multiplier,
        .penalty = s->penalty,
        .shift = s->shift,
        .width = s->width,
        .seed = seed,
        .squared = squares(g),
    };
    size_t at = 0;
    enum err e;
    if (candidates == NULL)
        return ERR_NOMEM;
    for (uint32_t k = 0; k < r->queries; k++) {
        candidates[k] = (struct score_candidate){r->query[k], r->estimate + at};
        at += g->counts->cells[r->query[k]];
    }
    e = select_index(g->party, g->counts, range, &select, selected);
    memory_free(&candidates);
    return e;
}

size_t engine_cells(const struct engine *g, const struct engine_step *s, size_t selected)
{
    return s->request->kind == REQUEST_SELECT ? g->counts->cells[s->request->query[selected]]
                                              : s->cells;
}

enum err engine_measure(struct engine *g, const struct engine_step *s, struct tape *range,
                        size_t selected, int64_t *values, size_t *measured)
{
    const struct request *r = s->request;
    const uint32_t *query = r->kind == REQUEST_SELECT ? &r->query[selected] : r->query;
    size_t count = r->kind == REQUEST_SELECT ? 1 : r->queries;
    *measured = engine_cells(g, s, selected);
    return measure_open(g->party, g->counts, range, query, count, r->multiplier, values);
}
