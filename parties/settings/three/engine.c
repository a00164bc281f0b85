#include "parties/settings/three/engine.h"

#include "base/memory.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "parties/server/openings.h"
#include "parties/setting/judge.h"
#include "parties/settings/three/engine_private.h"
#include "parties/study/study_uploads.h"
#include "protocols/measure.h"

#include <math.h>

static void start_tape(struct three *g, const uint8_t id[TAPE_ID_SIZE])
{
    const struct price_noise noise = price_noise(g->study);
    tape_start(&g->tape, id, g->study->noise);
    tape_plan(&g->tape, NOISE_GAUSS, noise.gauss);
    tape_plan(&g->tape, NOISE_GUMBEL, noise.gumbel);
}

enum err three_check(struct party *party, const struct study *study,
                     const struct check_guard *guard)
{
    const struct check_limits limits = {.guard = *guard};
    return study->security == STUDY_ABORT ? check_new(party, &limits) : ERR_OK;
}

/* --- counts ----------------------------------------------------------------------------------- */

enum err three_new(struct three **engine, struct party *party, const struct study *study,
                   const struct bounds *bounds, const uint8_t tape_id[TAPE_ID_SIZE],
                   struct log *log)
{
    struct three *g CLEAN(three_free) = NULL;
    *engine = NULL;
    if ((study->security == STUDY_ABORT) != party_proves(party))
        return ERR_MISUSE;
    TRY(memory_new(&g, 1));
    *g = (struct three){
        .party = party, .study = study, .bounds = bounds, .slack = price_slack(study), .log = log};
    start_tape(g, tape_id);
    TRY(tally_new(&g->tally, study, bounds));
    return memory_hand_over(engine, &g);
}

void three_free(struct three **engine)
{
    if (*engine == NULL)
        return;
    tally_free(&(*engine)->tally);
    counts_free(&(*engine)->counts);
    three_merged_clear(&(*engine)->merged);
    three_train_free(&(*engine)->train);
    tape_free(&(*engine)->tape);
    round_sorted_clear(&(*engine)->sorted);
    memory_free(engine);
}

/* Whether a marginal of the closure is counted, or follows from one that is. */
static bool is_counted(const struct three *g, size_t query)
{
    return study_counts_pairs(g->study) || tally_counts(g->study, query);
}

/* Replaces the counts of the closure with zeros. */
static enum err fresh_counts(struct three *g)
{
    const struct workload *w = g->study->workload;
    uint64_t *cells CLEAN(memory_release) = NULL;
    counts_free(&g->counts);
    three_unmerge(g);
    TRY(memory_new(&cells, w->queries));
    for (size_t q = 0; q < w->queries; q++)
        cells[q] = is_counted(g, q) ? w->query[q].cells : 0;
    return counts_new(&g->counts, cells, w->queries, g->bounds->counts.bits);
}

/* Copies the sums into the marginals that are counted, then sums the others from their parents. */
static enum err spread(struct three *g)
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

static enum err hold(void *self, const struct upload_name *upload, size_t count,
                     const uint8_t uploads[32])
{
    struct three *g = self;
    if (!keyed_in(g->study))
        return ERR_OK;
    round_sorted_clear(&g->sorted);
    g->sorted = (struct round_sorted){.study = g->study,
                                      .store = g->store,
                                      .net = g->party->net,
                                      .proved = party_proves(g->party),
                                      .log = g->log};
    return round_sorted(&g->sorted, upload, count, uploads, &g->tally.keyed);
}

static enum err add(void *self, const struct upload *uploads, size_t count)
{
    struct three *g = self;
    return tally_add(g->party, &g->tally, uploads, count);
}

static struct engine_counted counted(const void *self)
{
    const struct three *g = self;
    return (struct engine_counted){.owners = g->tally.owners,
                                   .counted = g->tally.counted,
                                   .left_out = g->tally.keyed.left_out,
                                   .at_end = keyed_in(g->study)};
}

static void watch(void *self, void (*show)(void *to, uint64_t done, uint64_t all), void *to)
{
    struct three *g = self;
    g->party->progress = show;
    g->party->progress_self = to;
}

enum err three_finish(void *self)
{
    struct three *g = self;
    TRY(tally_gather(g->party, &g->tally));
    TRY(tally_finish(g->party, &g->tally));
    round_sorted_clear(&g->sorted);
    if (g->counts != NULL && g->owners == g->tally.owners)
        return record_prove(g->party);
    g->owners = g->tally.owners;
    TRY(fresh_counts(g));
    TRY(spread(g));
    return record_prove(g->party);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Scores and forms are judged with their price. */
static enum err take_multipliers(const struct three *g, struct engine_step *s)
{
    const struct ask *a = s->ask;
    uint64_t *m;
    if (a->kind == ASK_FORMS || a->kind == ASK_SCORES || ask_trains(a))
        return ERR_OK;
    TRY(judge_multipliers(a, three_step(s)->scope.counts->bits, g->log));
    TRY(memory_new(&m, a->queries));
    three_step(s)->multiplier = m;
    for (uint32_t k = 0; k < a->queries; k++)
        m[k] = ask_multiplier(a, k);
    return ERR_OK;
}

/* Whether there are counts of all marginals that a request names. */
static enum err check_counted(const struct three *g, const struct ask *a)
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

/* The candidates of a selection, as protocols/select.h takes them; or of scores. */
static enum err take_candidates(const struct three *g, struct engine_step *s)
{
    const struct ask *a = s->ask;
    const uint64_t *estimate = a->estimate;
    struct three_step *own = three_step(s);
    struct score_candidate *c;
    TRY(memory_new(&c, a->queries));
    own->select = (struct select_request){.candidate = c,
                                          .candidates = a->queries,
                                          .multiplier = s->price.scale,
                                          .penalty = s->price.penalty,
                                          .shift = s->price.plan.shift,
                                          .width = s->price.plan.width + 1, /* for differences */
                                          .squared = g->study->score == AIM_L2};
    for (uint32_t k = 0; k < a->queries; k++) {
        c[k] = (struct score_candidate){a->query[k], estimate};
        estimate += own->scope.counts->cells[a->query[k]];
    }
    return ERR_OK;
}

static enum err prepare(const struct three *g, struct engine_step *s)
{
    struct three_step *own = three_step(s);
    const struct ask_terms terms = {.domain = g->study->domain,
                                    .workload = g->study->workload,
                                    .bounds = own->scope.bounds,
                                    .score = g->study->score,
                                    .slack = g->slack,
                                    .accounting = g->study->accounting,
                                    .features = g->study->features};
    TRY(judge_kind(g->study, s->ask, g->log));
    TRY(check_counted(g, s->ask));
    TRY(take_multipliers(g, s));
    TRY(judge_candidates(g->study, s->ask, g->log));
    TRY(ask_price(&s->price, s->ask, &terms, g->log));
    own->noise[NOISE_GAUSS] = s->price.cells;
    own->noise[NOISE_GUMBEL] = s->price.candidates;
    s->place = three_next(g, s);
    if (!ask_estimates(s->ask))
        return ERR_OK;
    TRY(ask_check_estimates(s->ask, &terms, g->log));
    return take_candidates(g, s);
}

enum err three_prepare(void *self, const struct ask *ask, struct engine_step *step)
{
    struct three *g = self;
    struct three_step *own;
    enum err e;
    *step = (struct engine_step){0};
    TRY(memory_new(&own, 1));
    step->ask = ask;
    step->own = own;
    ask_price_new(&step->price);
    e = three_merge(g, ask, &own->scope);
    step->merges = own->scope.merges;
    if (e == ERR_OK)
        e = prepare(g, step);
    if (e != ERR_OK)
        three_step_clear(step);
    return e;
}

void three_step_clear(struct engine_step *step)
{
    struct three_step *own = three_step(step);
    if (own == NULL)
        return;
    ask_price_clear(&step->price);
    memory_free_all(&own->select.candidate, &own->multiplier, &own);
    *step = (struct engine_step){0};
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum err finish_counts(struct three *g, const struct engine_step *s)
{
    const struct three_step *own = three_step(s);
    if (!three_is_unfinished(s))
        return ERR_OK;
    return own->select.squared ? counts_finish_squares(g->party, own->scope.counts)
                               : counts_finish(g->party, own->scope.counts);
}

enum err three_select(void *self, const struct engine_step *s, void *range, const uint8_t *seed,
                      size_t *selected)
{
    struct three *g = self;
    struct select_request select = three_step(s)->select;
    select.seed = seed;
    TRY(finish_counts(g, s));
    return select_index(g->party, three_step(s)->scope.counts, range, &select, selected);
}

static enum err open_scores(struct three *g, const struct engine_step *s, struct tape *range,
                            int64_t *values)
{
    const struct three_step *own = three_step(s);
    struct share64 scores CLEAN(share64_free) = {0};
    TRY(share64_new(&scores, own->select.candidates));
    TRY(finish_counts(g, s));
    TRY(score_l1(g->party, scores, own->scope.counts, own->select.candidate, s->ask->multiplier));
    return measure_open_sums(g->party, OPEN_NOISY_SCORE, scores, range, 1, values);
}

static size_t cells(const struct engine_step *s, size_t selected)
{
    return s->ask->kind == ASK_SELECT ? three_step(s)->scope.counts->cells[s->ask->query[selected]]
                                      : s->price.cells;
}

enum err three_measure(void *self, const struct engine_step *s, void *range, size_t selected,
                       int64_t *values, size_t *measured)
{
    struct three *g = self;
    struct counts *counts = three_step(s)->scope.counts;
    const struct ask *a = s->ask;
    *measured = cells(s, selected);
    switch (a->kind) {
    case ASK_FORMS:
        return three_open_forms(g, s, range, values);
    case ASK_LOOK:
        return measure_open_sums(g->party, OPEN_NOISY_MARGINAL, g->tally.linked, range,
                                 a->multiplier, values);
    case ASK_SCORES:
        return open_scores(g, s, range, values);
    case ASK_SELECT:
        return measure_open(g->party, counts, range, &a->query[selected], 1, &a->multiplier,
                            values);
    case ASK_GRADIENT:
        return three_open_gradient(g, s, range, values);
    case ASK_TEST:
        return three_open_test(g, s, range, values);
    case ASK_MEASURE:
        break;
    }
    return measure_open(g->party, counts, range, a->query, a->queries, three_step(s)->multiplier,
                        values);
}

enum err three_audit(void *self, enum party_reason reason, size_t values)
{
    static const enum engine_opening opening[OPEN_REASONS] = {
        [OPEN_SELECTED_INDEX] = ENGINE_OPENS_INDEX,
        [OPEN_NOISY_MARGINAL] = ENGINE_OPENS_VALUES,
        [OPEN_NOISY_FORM] = ENGINE_OPENS_VALUES,
        [OPEN_NOISY_SCORE] = ENGINE_OPENS_VALUES,
        [OPEN_NOISY_GRADIENT] = ENGINE_OPENS_VALUES,
        [OPEN_SORTED] = ENGINE_OPENS_NOTHING, /* so is an honest owner's, whatever its rows */
        [OPEN_REJECT_BIT] = ENGINE_OPENS_NOTHING};
    return openings_audit(self, opening[reason], party_reason_name(reason), values);
}

/* --- as a table ------------------------------------------------------------------------------- */

static enum err topic(void *self, const uint8_t topic[ENGINE_TOPIC], const uint8_t alike[32])
{
    struct three *g = self;
    TRY(crew_topic(g->party, g->session, topic));
    return alike == NULL ? ERR_OK : record_alike(g->party, alike, 32);
}

static bool proved(const void *self)
{
    const struct three *g = self;
    return check_clean(g->party);
}

static bool is_proving(const void *self)
{
    const struct three *g = self;
    return party_proves(g->party);
}

struct engine three_table(struct three *engine)
{
    static const struct engine_ops ops = {.hold = hold,
                                          .add = add,
                                          .finish = three_finish,
                                          .counted = counted,
                                          .watch = watch,
                                          .prepare = three_prepare,
                                          .clear = three_step_clear,
                                          .cells = cells,
                                          .supply = three_supply,
                                          .reserve = three_reserve,
                                          .stake = three_stake,
                                          .take_stake = three_take_stake,
                                          .return_stake = three_return_stake,
                                          .free_stake = three_free_stake,
                                          .digests = three_digests,
                                          .topic = topic,
                                          .proved = proved,
                                          .proves = is_proving,
                                          .select = three_select,
                                          .measure = three_measure};
    return (struct engine){&ops, engine};
}
