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
    tape_start(&g->tape, id, g->study->noise);
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
static enum err check_kind(const struct engine *g, const struct ask *a)
{
    static const enum ask_kind other[] = {[STUDY_AIM] = ASK_FORMS, [STUDY_COPULA] = ASK_SELECT};
    if (a->kind == ASK_LOOK && g->study->link.min_linked == 0)
        return log_fail(g->log, ERR_REFUSED, "a study without min_linked takes no look");
    if (a->kind != other[g->study->method])
        return ERR_OK;
    return log_fail(g->log, ERR_REFUSED, "a study of method: %s has no %s",
                    study_method_word(g->study->method),
                    a->kind == ASK_FORMS ? "forms" : "selections");
}

static enum err check_multiplier(const struct engine *g, const struct engine_step *s)
{
    const struct ask *a = s->ask;
    if (a->kind == ASK_FORMS || ((a->queries > 0 || a->kind == ASK_LOOK) &&
                                 measure_permits(s->scope.counts, a->multiplier)))
        return ERR_OK;
    return log_fail(g->log, ERR_REFUSED,
                    "a multiplier of %llu over %u marginals is outside what servers permit",
                    (unsigned long long)a->multiplier, a->queries);
}

static enum err check_candidates(const struct engine *g, const struct ask *a)
{
    const size_t most = study_candidates_most(g->study);
    if (a->kind != ASK_SELECT || a->queries <= most)
        return ERR_OK;
    return log_fail(g->log, ERR_REFUSED,
                    "select: the request has %u candidates; with security: %s %zu are allowed",
                    a->queries, study_security_word(g->study->security), most);
}

/* Whether there are counts of all marginals that a request names. */
static enum err check_counted(const struct engine *g, const struct ask *a)
{
    for (uint32_t k = 0; k < a->queries; k++)
        if (a->query[k] < g->counts->queries && !is_counted(g, a->query[k]))
            return log_fail(
                g->log, ERR_REFUSED,
                "%s is not counted: owners send records, and a copula's servers count "
                "single attributes of them",
                clique_name(&g->study->workload->query[a->query[k]].clique, g->study->domain).text);
    return ERR_OK;
}

/* The candidates of a selection, as protocols/select.h takes them. */
static enum err take_candidates(const struct engine *g, struct engine_step *s)
{
    const struct ask *a = s->ask;
    const uint64_t *estimate = a->estimate;
    struct score_candidate *c;
    TRY(memory_new(&c, a->queries));
    s->select = (struct select_request){.candidate = c,
                                        .candidates = a->queries,
                                        .multiplier = s->price.scale,
                                        .penalty = s->price.penalty,
                                        .shift = s->price.plan.shift,
                                        .width = s->price.plan.width + 1, /* for differences */
                                        .squared = squares(g)};
    for (uint32_t k = 0; k < a->queries; k++) {
        c[k] = (struct score_candidate){a->query[k], estimate};
        estimate += s->scope.counts->cells[a->query[k]];
    }
    return ERR_OK;
}

static enum err prepare(const struct engine *g, struct engine_step *s)
{
    const struct ask_terms terms = {.domain = g->study->domain,
                                    .workload = g->study->workload,
                                    .bounds = s->scope.bounds,
                                    .score = g->study->score,
                                    .slack = g->slack};
    TRY(check_kind(g, s->ask));
    TRY(check_counted(g, s->ask));
    TRY(check_multiplier(g, s));
    TRY(check_candidates(g, s->ask));
    TRY(ask_price(&s->price, s->ask, &terms, g->log));
    s->noise[TAPE_GAUSS] = s->price.cells;
    s->noise[TAPE_GUMBEL] = s->price.candidates;
    if (s->ask->kind != ASK_SELECT)
        return ERR_OK;
    TRY(ask_check_estimates(s->ask, &terms, g->log));
    return take_candidates(g, s);
}

enum err engine_prepare(struct engine *g, const struct ask *ask, struct engine_step *step)
{
    enum err e;
    *step = (struct engine_step){.ask = ask};
    ask_price_new(&step->price);
    e = engine_merge(g, ask, &step->scope);
    if (e == ERR_OK)
        e = prepare(g, step);
    if (e != ERR_OK)
        engine_step_clear(step);
    return e;
}

void engine_step_clear(struct engine_step *step)
{
    if (step->ask == NULL)
        return;
    ask_price_clear(&step->price);
    memory_free(&step->select.candidate);
    *step = (struct engine_step){0};
}

/* Whether a step must first make what its scores need. */
static bool is_unfinished(const struct engine_step *s)
{
    return s->ask->kind == ASK_SELECT && !counts_finished(s->scope.counts, s->select.squared);
}

enum err engine_step_digest(const struct engine_step *s, uint8_t digest[REQUEST_DIGEST_SIZE])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    bytes_put_double(&b, mpq_get_d(s->price.cost));
    bytes_put_double(&b, s->price.epsilon_slack);
    bytes_put_double(&b, s->price.delta_slack);
    bytes_put_u64(&b, s->noise[TAPE_GAUSS]);
    bytes_put_u64(&b, s->noise[TAPE_GUMBEL]);
    bytes_put_u64(&b, s->price.cells);
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
    return s->ask->kind == ASK_SELECT ? s->scope.counts->cells[s->ask->query[selected]]
                                      : s->price.cells;
}

enum err engine_measure(struct engine *g, const struct engine_step *s, struct tape *range,
                        size_t selected, int64_t *values, size_t *measured)
{
    const struct ask *a = s->ask;
    *measured = engine_cells(s, selected);
    switch (a->kind) {
    case ASK_FORMS:
        return engine_open_forms(g, s, range, values);
    case ASK_LOOK:
        return measure_open_sums(g->party, OPEN_NOISY_MARGINAL, g->tally.linked, range,
                                 a->multiplier, values);
    case ASK_SELECT:
        return measure_open(g->party, s->scope.counts, range, &a->query[selected], 1, a->multiplier,
                            values);
    case ASK_MEASURE:
        break;
    }
    return measure_open(g->party, s->scope.counts, range, a->query, a->queries, a->multiplier,
                        values);
}
