#include "parties/server/engine.h"

#include "base/memory.h"
#include "mpc/ring.h"
#include "parties/server/engine_forms.h"
#include "parties/server/engine_merge.h"
#include "parties/study/study_uploads.h"
#include "protocols/measure.h"

#include <math.h>

static void start_tape(struct engine *g, const uint8_t id[TAPE_ID_SIZE])
{
    const struct price_noise noise = price_noise(g->study);
    tape_start(&g->tape, id, price_tape_noise(g->study));
    tape_plan(&g->tape, TAPE_GAUSS, noise.gauss);
    tape_plan(&g->tape, TAPE_GUMBEL, noise.gumbel);
}

/* --- security --------------------------------------------------------------------------------- */

/* Whether servers prove to each other what they compute. */
static bool proves(const struct study *study)
{
    switch (study->security) {
    case STUDY_SEMI_HONEST:
        return false;
    case STUDY_ABORT:
        return true;
    }
    return true;
}

enum err engine_check(struct party *party, const struct study *study,
                      const struct check_guard *guard)
{
    const struct check_limits limits = {.guard = *guard};
    return proves(study) ? check_new(party, &limits) : ERR_OK;
}

/* --- counts ----------------------------------------------------------------------------------- */

enum err engine_new(struct engine **engine, struct party *party, const struct study *study,
                    const struct bounds *bounds, const uint8_t tape_id[TAPE_ID_SIZE],
                    struct log *log)
{
    struct engine *g CLEAN(engine_free) = NULL;
    *engine = NULL;
    if (proves(study) != (party->check != NULL))
        return ERR_MISUSE;
    TRY(memory_new(&g, 1));
    *g = (struct engine){
        .party = party, .study = study, .bounds = bounds, .slack = price_slack(study), .log = log};
    start_tape(g, tape_id);
    TRY(tally_new(&g->tally, study, bounds));
    return memory_hand_over(engine, &g);
}

void engine_free(struct engine **engine)
{
    if (*engine == NULL)
        return;
    tally_free(&(*engine)->tally);
    counts_free(&(*engine)->counts);
    engine_merged_clear(&(*engine)->merged);
    tape_free(&(*engine)->tape);
    memory_free(engine);
}

/* Whether a marginal of the closure is counted, or follows from one that is. */
static bool is_counted(const struct engine *g, size_t query)
{
    return study_counts_pairs(g->study) || tally_counts(g->study, query);
}

/* Replaces the counts of the closure with zeros. */
static enum err fresh_counts(struct engine *g)
{
    const struct workload *w = g->study->workload;
    uint64_t *cells CLEAN(memory_release) = NULL;
    counts_free(&g->counts);
    engine_unmerge(g);
    TRY(memory_new(&cells, w->queries));
    for (size_t q = 0; q < w->queries; q++)
        cells[q] = is_counted(g, q) ? w->query[q].cells : 0;
    return counts_new(&g->counts, cells, w->queries, g->bounds->counts.bits);
}

/* Copies the sums into the marginals that are counted, then sums the others from their parents. */
static enum err spread(struct engine *g)
{
    const struct workload *w = g->study->workload;
    uint64_t at = 0, largest = 0;
    uint32_t *index CLEAN(memory_release) = NULL;
    for (size_t q = 0; q < w->queries; q++) {
        if (!tally_counts(g->study, q))
            continue;
        ring64_copy(counts_query(g->counts, q), share64_view(g->tally.sums, at, w->query[q].cells));
        at += w->query[q].cells;
        largest = w->query[q].cells > largest ? w->query[q].cells : largest;
    }
    TRY(memory_new(&index, largest));
    for (size_t q = 0; q < w->queries; q++) {
        uint32_t parent = w->query[q].parent;
        if (tally_counts(g->study, q) || !is_counted(g, q))
            continue;
        clique_project(&w->query[parent].clique, &w->query[q].clique, g->study->domain, index);
        counts_sum_down(counts_query(g->counts, q), counts_query(g->counts, parent), index);
    }
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
    TRY(tally_gather(g->party, &g->tally));
    TRY(tally_finish(g->party, &g->tally));
    if (g->counts != NULL && g->owners == g->tally.owners)
        return check_flush(g->party);
    g->owners = g->tally.owners;
    TRY(fresh_counts(g));
    TRY(spread(g));
    return check_flush(g->party);
}

/* --- requests --------------------------------------------------------------------------------- */

/* A study's runs may ask for this, and no more: owners have read what its method opens. */
static enum err check_kind(const struct engine *g, const struct request *r)
{
    static const enum request_kind other[] = {
        [STUDY_AIM] = REQUEST_FORMS, [STUDY_COPULA] = REQUEST_SELECT};
    if (r->kind == REQUEST_LOOK && g->study->link.min_linked == 0)
        return log_fail(g->log, ERR_REFUSED, "a study without min_linked takes no look");
    if (r->kind != other[g->study->method])
        return ERR_OK;
    return log_fail(g->log, ERR_REFUSED, "a study of method: %s has no %s",
                    study_method_word(g->study->method),
                    r->kind == REQUEST_FORMS ? "forms" : "selections");
}

static enum err check_multiplier(const struct engine *g, const struct engine_step *s)
{
    const struct request *r = s->request;
    if ((r->queries > 0 || r->kind == REQUEST_LOOK) &&
        measure_permits(s->scope.counts, r->multiplier))
        return ERR_OK;
    return log_fail(g->log, ERR_REFUSED,
                    "a multiplier of %llu over %u marginals is outside what servers permit",
                    (unsigned long long)r->multiplier, r->queries);
}

static enum err prepare_measure(const struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    for (uint32_t k = 0; k < r->queries; k++)
        s->cells += s->scope.counts->cells[r->query[k]];
    ledger_measure_cost(s->measuring, r->multiplier, r->queries);
    mpq_set(s->cost, s->measuring);
    s->epsilon_slack = r->queries * g->slack.marginal;
    s->delta_slack = price_delta(g->slack.measured, r->queries);
    return ERR_OK;
}

/* One number, which moves by 1 with each of a person's rows. */
static enum err prepare_look(const struct engine *g, struct engine_step *s)
{
    s->cells = 1;
    ledger_measure_cost(s->measuring, s->request->multiplier, 1);
    mpq_set(s->cost, s->measuring);
    s->epsilon_slack = g->slack.marginal;
    s->delta_slack = price_delta(g->slack.measured, 1);
    return ERR_OK;
}

/* Prices a selection and the measurement of what it selects. */
static enum err price_selection(const struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    enum err e = ERR_RANGE;
    if (r->epsilon > 0 && r->epsilon < 100 && r->sigma > 0 && r->sigma < 1e6)
        e = ledger_select_cost(s->cost, r->epsilon, g->slack.select);
    if (e != ERR_OK)
        return log_fail(g->log, ERR_REFUSED,
                        "select: the request has an epsilon or a sigma out of range");
    ledger_measure_cost(s->measuring, r->multiplier, 1);
    mpq_add(s->cost, s->cost, s->measuring);
    s->epsilon_slack = g->slack.marginal;
    s->delta_slack = price_delta(g->slack.measured, 1) +
                     price_delta(g->slack.candidate, r->queries);
    return ERR_OK;
}

/* Reads and checks the candidates of a selection. */
static enum err take_candidates(const struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    const struct select_terms terms = {.domain = g->study->domain,
                                       .workload = g->study->workload,
                                       .merges = s->scope.merges,
                                       .bounds = s->scope.bounds};
    const uint64_t *estimate = r->estimate;
    struct score_candidate *c;
    TRY(memory_new(&c, r->queries));
    s->select.candidate = c;
    for (uint32_t k = 0; k < r->queries; k++) {
        const uint64_t cells = s->scope.counts->cells[r->query[k]];
        TRY(select_check_estimates(&terms, r->query[k], estimate, g->log));
        c[k] = (struct score_candidate){r->query[k], estimate};
        estimate += cells;
        s->cells = s->cells < cells ? cells : s->cells;
    }
    return ERR_OK;
}

static enum err prepare_select(const struct engine *g, struct engine_step *s)
{
    const struct request *r = s->request;
    const struct select_terms terms = {
        .domain = g->study->domain,
        .workload = g->study->workload,
        .merges = s->scope.merges,
        .query = r->query,
        .candidates = r->queries,
        .epsilon = r->epsilon,
        .sigma = r->sigma,
        .bounds = s->scope.bounds,
        .score = g->study->score,
    };
    struct select_plan plan;
    if (r->queries > study_candidates_most(g->study))
        return log_fail(g->log, ERR_REFUSED,
                        "select: the request has %u candidates; with security: %s %zu are allowed",
                        r->queries, study_security_word(g->study->security),
                        study_candidates_most(g->study));
    TRY(price_selection(g, s));
    TRY(take_candidates(g, s));
    TRY(memory_new(&s->select.multiplier, r->queries));
    TRY(memory_new(&s->select.penalty, r->queries));
    TRY(select_plan(&terms, s->select.multiplier, s->select.penalty, &plan, g->log));
    s->select.candidates = r->queries;
    s->select.shift = plan.shift;
    s->select.width = plan.width + 1; /* room for differences */
    s->select.squared = squares(g);
    s->noise[TAPE_GUMBEL] = r->queries;
    return ERR_OK;
}

/* Whether there are counts of all marginals that a request names. */
static enum err check_counted(const struct engine *g, const struct request *r)
{
    for (uint32_t k = 0; k < r->queries; k++)
        if (r->query[k] < g->counts->queries && !is_counted(g, r->query[k]))
            return log_fail(
                g->log, ERR_REFUSED,
                "%s is not counted: owners send records, and a copula's servers count "
                "single attributes of them",
                clique_name(&g->study->workload->query[r->query[k]].clique, g->study->domain).text);
    return ERR_OK;
}

static enum err prepare(const struct engine *g, struct engine_step *s)
{
    TRY(check_kind(g, s->request));
    TRY(check_counted(g, s->request));
    if (s->request->kind == REQUEST_FORMS)
        return engine_prepare_forms(g, s);
    TRY(check_multiplier(g, s));
    if (s->request->kind == REQUEST_LOOK)
        return prepare_look(g, s);
    return s->request->kind == REQUEST_SELECT ? prepare_select(g, s) : prepare_measure(g, s);
}

enum err engine_prepare(struct engine *g, const struct request *request, struct engine_step *step)
{
    enum err e;
    *step = (struct engine_step){.request = request};
    mpq_init(step->cost);
    mpq_init(step->measuring);
    e = engine_merge(g, request, &step->scope);
    if (e == ERR_OK)
        e = prepare(g, step);
    step->noise[TAPE_GAUSS] = step->cells;
    if (e != ERR_OK)
        engine_step_clear(step);
    return e;
}

void engine_step_clear(struct engine_step *step)
{
    if (step->request == NULL)
        return;
    mpq_clear(step->cost);
    mpq_clear(step->measuring);
    memory_free(&step->select.candidate);
    memory_free(&step->select.multiplier);
    memory_free(&step->select.penalty);
    *step = (struct engine_step){0};
}

/* Whether a step must first make what its scores need. */
static bool is_unfinished(const struct engine_step *s)
{
    return s->request->kind == REQUEST_SELECT &&
           !counts_finished(s->scope.counts, s->select.squared);
}

enum err engine_step_digest(const struct engine_step *s, uint8_t digest[REQUEST_DIGEST_SIZE])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    bytes_put_double(&b, mpq_get_d(s->cost));
    bytes_put_double(&b, s->epsilon_slack);
    bytes_put_double(&b, s->delta_slack);
    bytes_put_u64(&b, s->noise[TAPE_GAUSS]);
    bytes_put_u64(&b, s->noise[TAPE_GUMBEL]);
    bytes_put_u64(&b, s->cells);
    bytes_put_u32(&b, s->select.shift);
    bytes_put_u32(&b, s->select.width);
    bytes_put_u8(&b, is_unfinished(s)); /* else masks would be those of different messages */
    for (size_t k = 0; k < s->select.candidates; k++) {
        bytes_put_u64(&b, s->select.multiplier[k]);
        bytes_put_u64(&b, s->select.penalty[k]);
    }
    TRY(bytes_ok(&b));
    request_digest(b.data, b.size, digest);
    return ERR_OK;
}

/* --- noise ------------------------------------------------------------------------------------ */

enum err engine_reserve(struct engine *g, const struct engine_step *step)
{
    TRY(tape_reserve(g->party, &g->tape, TAPE_GUMBEL, step->noise[TAPE_GUMBEL]));
    TRY(tape_reserve(g->party, &g->tape, TAPE_GAUSS, step->noise[TAPE_GAUSS]));
    return check_flush(g->party);
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum err finish_counts(struct engine *g, const struct engine_step *s)
{
    if (!is_unfinished(s))
        return ERR_OK;
    return s->select.squared ? counts_finish_squares(g->party, s->scope.counts)
                             : counts_finish(g->party, s->scope.counts);
}

enum err engine_select(struct engine *g, const struct engine_step *s, struct tape *range,
                       const uint8_t *seed, size_t *selected)
{
    struct select_request select = s->select;
    select.seed = seed;
    TRY(finish_counts(g, s));
    return select_index(g->party, s->scope.counts, range, &select, selected);
}

size_t engine_cells(const struct engine_step *s, size_t selected)
{
    return s->request->kind == REQUEST_SELECT ? s->scope.counts->cells[s->request->query[selected]]
                                              : s->cells;
}

enum err engine_measure(struct engine *g, const struct engine_step *s, struct tape *range,
                        size_t selected, int64_t *values, size_t *measured)
{
    const struct request *r = s->request;
    const uint32_t *query = r->kind == REQUEST_SELECT ? &r->query[selected] : r->query;
    size_t count = r->kind == REQUEST_SELECT ? 1 : r->queries;
    *measured = engine_cells(s, selected);
    if (r->kind == REQUEST_FORMS)
        return engine_open_forms(g, s, range, values);
    if (r->kind == REQUEST_LOOK)
        return measure_open_sums(g->party, OPEN_NOISY_MARGINAL, g->tally.linked, range,
                                 r->multiplier, values);
    return measure_open(g->party, s->scope.counts, range, query, count, r->multiplier, values);
}
