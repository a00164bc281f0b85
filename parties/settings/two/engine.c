#include "parties/settings/two/engine.h"

#include "base/hash.h"
#include "base/memory.h"
#include "mpc/party/party.h"
#include "parties/exchange/price.h"
#include "parties/exchange/request.h"
#include "parties/setting/judge.h"
#include "parties/study/method.h"

#include <string.h>

/* What a step is to this engine. */
struct two_step {
    const struct two *engine;
    struct score_bounds bounds; /* of the cells that the request names, merged ones if it merges */
    size_t noise[NOISE_LAWS];
};

static const struct two_step *own_of(const struct engine_step *step)
{
    return step->own;
}

/* --- joint noise ------------------------------------------------------------------------------ */

static enum err make_joint(void *self, uint64_t *out, size_t n)
{
    struct two *g = self;
    TRY(own_tape_parts(&g->tape, out, n));
    return score_joint_noise(g->pair, g->net, out, n);
}

/* Whether the two compute anything on circuits. */
static bool needs_pair(const struct two *g)
{
    return method_of(g->study)->selects || g->study->noise_by == NOISE_BY_JOINT;
}

/* Whatever else the other sends can be what a server sends; only this cannot. */
static enum err name_sender(const struct two *g, enum err e, const char *what)
{
    if (e != ERR_FORMAT && e != ERR_CHEAT)
        return e;
    return log_fail(g->log, e,
                    "server %u sent %s: it departs from the protocol, or its memory is faulty; the "
                    "session ends",
                    1 - net_index(g->net), what);
}

/* --- its life --------------------------------------------------------------------------------- */

enum err two_new(struct two **engine, const struct two *from)
{
    const struct price_noise noise = price_noise(from->study);
    const enum noise_by by = from->study->noise_by;
    const bool joint = by == NOISE_BY_JOINT;
    const uint64_t run[OWN_REELS] = {[NOISE_GAUSS] = by == NOISE_BY_BOTH ? noise.gauss : 0,
                                     [NOISE_GUMBEL] = by != NOISE_BY_OWNER ? noise.gumbel : 0,
                                     [OWN_PARTS] = joint ? noise.gauss : 0};
    struct two *g CLEAN(two_free) = NULL;
    *engine = NULL;
    TRY(memory_new(&g, 1));
    *g = *from;
    g->slack = price_slack(g->study);
    TRY(own_tape_start(&g->tape, g->session, run));
    if (joint) {
        g->tape.reel[NOISE_GAUSS].make = make_joint;
        g->tape.reel[NOISE_GAUSS].self = g;
    }
    g->rows = (struct two_rows){.study = g->study, .net = g->net, .store = g->store, .log = g->log};
    memcpy(g->rows.session, g->session, sizeof g->rows.session);
    TRY(sums_new(&g->sums, g->study, net_index(g->net)));
    return memory_hand_over(engine, &g);
}

void two_free(struct two **engine)
{
    if (*engine == NULL)
        return;
    own_tape_free(&(*engine)->tape);
    sums_free(&(*engine)->sums);
    two_rows_free(&(*engine)->rows);
    pair_free(&(*engine)->pair);
    memory_free(engine);
}

/* --- uploads ---------------------------------------------------------------------------------- */

static enum err add(void *self, const struct upload *uploads, size_t count)
{
    struct two *g = self;
    return sums_add(&g->sums, &g->rows, uploads, count);
}

static enum err finish(void *self)
{
    struct two *g = self;
    if (needs_pair(g) && g->pair == NULL)
        TRY(name_sender(g, score_meet(&g->pair, g->net, g->session),
                        "what is no point of the group, for the labels of this session"));
    return sums_spread(&g->sums);
}

static struct engine_counted counted(const void *self)
{
    const struct two *g = self;
    return (struct engine_counted){
        .owners = g->sums.owners, .counted = g->sums.counted, .left_out = g->sums.left_out};
}

/* --- a round ---------------------------------------------------------------------------------- */

static enum err judge(struct two *g, struct engine_step *s, struct two_step *own)
{
    const struct ask *a = s->ask;
    const struct ask_terms terms = {.domain = g->study->domain,
                                    .workload = g->study->workload,
                                    .bounds = own->bounds,
                                    .score = g->study->score,
                                    .slack = g->slack,
                                    .accounting = g->study->accounting};
    TRY(judge_kind(g->study, a, g->log));
    TRY(judge_candidates(g->study, a, g->log));
    if (a->kind == ASK_MEASURE || a->kind == ASK_SELECT)
        TRY(judge_multipliers(a, own->bounds.bits, g->log));
    TRY(ask_price(&s->price, a, &terms, g->log));
    return ask_estimates(a) ? ask_check_estimates(a, &terms, g->log) : ERR_OK;
}

static void clear(struct engine_step *step)
{
    struct two_step *own = step->own;
    if (own == NULL)
        return;
    ask_price_clear(&step->price);
    memory_free(&own);
    *step = (struct engine_step){0};
}

static enum err prepare(void *self, const struct ask *ask, struct engine_step *step)
{
    struct two *g = self;
    struct two_step *own;
    enum err e = ERR_OK;
    *step = (struct engine_step){.ask = ask, .merges = ask->merges};
    TRY(memory_new(&own, 1));
    step->own = own;
    ask_price_new(&step->price);
    own->engine = g;
    own->bounds = g->bounds->counts;
    if (ask->merges != NULL)
        e = judge_merges(g->study, &g->bounds->counts, ask->merges, &own->bounds, g->log);
    if (e == ERR_OK)
        e = judge(g, step, own);
    own->noise[NOISE_GAUSS] = step->price.cells;
    own->noise[NOISE_GUMBEL] = step->price.candidates;
    step->place = own_tape_next(&g->tape, own->noise);
    if (e != ERR_OK)
        clear(step);
    return e;
}

static uint64_t cells_of(const struct two *g, const struct ask *a, uint32_t query)
{
    return merges_query_cells(a->merges, &g->study->workload->query[query]);
}

static size_t cells(const struct engine_step *step, size_t selected)
{
    const struct two_step *own = own_of(step);
    const struct ask *a = step->ask;
    return a->kind == ASK_SELECT ? cells_of(own->engine, a, a->query[selected]) : step->price.cells;
}

static enum err supply(void *self, const struct engine_step *step, bool *made)
{
    struct two *g = self;
    if (g->study->noise_by == NOISE_BY_OWNER)
        TRY(owner_noise_take(&g->ahead, g->store, g->study, net_index(g->net), &g->tape,
                             own_of(step)->noise, g->log));
    *made = own_tape_has(&g->tape, own_of(step)->noise);
    return ERR_OK;
}

static enum err reserve(void *self, const struct engine_step *step)
{
    struct two *g = self;
    return own_tape_make(&g->tape, own_of(step)->noise);
}

/* --- stakes ----------------------------------------------------------------------------------- */

static void free_stake(void **stake)
{
    struct own_stake *own = *stake;
    own_stake_free(&own);
    *stake = NULL;
}

static enum err stake(void *self, const struct engine_step *step, void **stake, struct bytes *kept)
{
    struct two *g = self;
    struct own_stake *own CLEAN(own_stake_free) = NULL;
    TRY(own_tape_cut(&g->tape, own_of(step)->noise, &own));
    TRY(own_stake_write(own, kept));
    *stake = own;
    own = NULL;
    return ERR_OK;
}

static enum err take_stake(void *self, const struct stake_place *place, const struct bytes *kept,
                           void **stake)
{
    struct own_stake *own = NULL;
    (void)self;
    TRY(own_stake_read(&own, place, kept));
    *stake = own;
    return ERR_OK;
}

static enum err return_stake(void *self, void *stake)
{
    struct two *g = self;
    own_tape_return(&g->tape, stake);
    return ERR_OK;
}

/* No digest of noise leaves a server: whoever has it could try all values of a word. */
static enum err digests(void *self, const struct engine_step *s, const void *stake, uint8_t own[32],
                        uint8_t replica[2][32])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    (void)self;
    (void)stake;
    (void)replica;
    bytes_put_double(&b, mpq_get_d(s->price.cost));
    bytes_put_double(&b, s->price.epsilon_slack);
    bytes_put_double(&b, s->price.delta_slack);
    bytes_put_u64(&b, s->price.cells);
    bytes_put_u64(&b, s->price.candidates);
    bytes_put_u32(&b, s->price.plan.shift);
    bytes_put_u32(&b, s->price.plan.width);
    for (size_t k = 0; s->price.scale != NULL && k < s->ask->queries; k++) {
        bytes_put_u64(&b, s->price.scale[k]);
        bytes_put_u64(&b, s->price.penalty[k]);
    }
    TRY(bytes_ok(&b));
    hash_bytes(b.data, b.size, own);
    return ERR_OK;
}

static enum err topic(void *self, const uint8_t topic[ENGINE_TOPIC], const uint8_t alike[32])
{
    (void)self;
    (void)topic;
    (void)alike;
    return ERR_OK; /* nothing is masked by a stream that the servers share */
}

static bool proved(const void *self)
{
    (void)self;
    return true;
}

static bool proves(const void *self)
{
    (void)self;
    return false;
}

/* --- opening ---------------------------------------------------------------------------------- */

/*
 * The only way in which shares become public: both add what the other sends to their own. Reported
 * before anything is sent. LEAKS: exactly the sums.
 */
static enum err two_open(struct two *g, enum party_reason reason, int64_t *values, size_t n)
{
    uint8_t *bytes CLEAN(memory_release) = NULL, *came;
    TRY(g->audit(g->audit_self, ENGINE_OPENS_VALUES, party_reason_name(reason), n));
    TRY(memory_new(&bytes, 16 * n));
    came = bytes + 8 * n;
    for (size_t i = 0; i < n; i++)
        integer_put(bytes + 8 * i, (uint64_t)values[i], 8);
    TRY(net_exchange(g->net, &(const struct net_exchange){.send = {bytes},
                                                          .send_size = {8 * n},
                                                          .receive = {came},
                                                          .receive_size = {8 * n}}));
    for (size_t i = 0; i < n; i++)
        values[i] = (int64_t)((uint64_t)values[i] + integer_get(came + 8 * i, 8));
    return ERR_OK;
}

/* Shares of scores: the distances less what noise alone would add, with a Gumbel of its own. */
static void add_up(const struct two *g, const struct ask_price *price, const uint64_t *gumbel,
                   uint64_t *score, size_t n)
{
    const unsigned finer = price->plan.shift - AIM_GUMBEL_BITS;
    for (size_t k = 0; k < n; k++) {
        if (net_index(g->net) == PAIR_PROVIDER)
            score[k] -= price->penalty[k];
        score[k] = price->scale[k] * score[k] + (gumbel[k] << finer);
    }
}

static enum err select_index(void *self, const struct engine_step *s, void *stake,
                             const uint8_t *seed, size_t *selected)
{
    struct two *g = self;
    struct own_stake *noise = stake;
    const size_t n = s->ask->queries;
    uint64_t *score CLEAN(memory_release) = NULL;
    (void)seed;
    noise->used[NOISE_GUMBEL] = s->price.candidates;
    *selected = 0;
    TRY(memory_new(&score, n));
    if (n > 1) {
        TRY(score_distances(g->pair, g->net, &g->sums, s->ask, &own_of(s)->bounds,
                            UINT64_C(1) << AIM_ESTIMATE_BITS, score));
        add_up(g, &s->price, noise->word[NOISE_GUMBEL], score, n);
    }
    TRY(g->audit(g->audit_self, ENGINE_OPENS_INDEX, party_reason_name(OPEN_SELECTED_INDEX), n));
    if (n == 1)
        return ERR_OK;
    return name_sender(g, score_largest(g->pair, g->net, score, n, s->price.plan.width, selected),
                       "a label of the selected index that it cannot have");
}

/* Adds m times a marginal's cells to noise; *used of that is taken. */
static enum err add_marginal(const struct two *g, const struct ask *a, uint32_t query, uint64_t m,
                             int64_t *values, uint64_t *used)
{
    uint64_t *own CLEAN(memory_release) = NULL;
    const uint64_t *word;
    const size_t n = cells_of(g, a, query);
    TRY(sums_query(&g->sums, query, a->merges, &word, &own));
    for (size_t i = 0; i < n; i++)
        values[i] = (int64_t)((uint64_t)values[i] + m * word[i]);
    *used += n;
    return ERR_OK;
}

static enum err add_forms(const struct two *g, const struct ask *a, int64_t *values)
{
    const struct workload *w = g->study->workload;
    const struct forms products = ask_forms(a, w);
    size_t *start CLEAN(memory_release) = NULL;
    TRY(memory_new(&start, w->queries));
    for (size_t q = 0; q < w->queries; q++)
        start[q] = (size_t)w->query[q].offset;
    return forms_add(&products, g->sums.word, start, (uint64_t *)values);
}

static enum err add_scores(const struct two *g, const struct engine_step *s, int64_t *values)
{
    uint64_t *distance CLEAN(memory_release) = NULL;
    TRY(memory_new(&distance, s->ask->queries));
    TRY(score_distances(g->pair, g->net, &g->sums, s->ask, &own_of(s)->bounds, s->ask->multiplier,
                        distance));
    for (size_t k = 0; k < s->ask->queries; k++)
        values[k] = (int64_t)((uint64_t)values[k] + distance[k]);
    return ERR_OK;
}

static enum err measure(void *self, const struct engine_step *s, void *stake, size_t selected,
                        int64_t *values, size_t *measured)
{
    struct two *g = self;
    const struct ask *a = s->ask;
    struct own_stake *noise = stake;
    uint64_t used = 0;
    *measured = noise->used[NOISE_GAUSS] = cells(s, selected);
    memcpy(values, noise->word[NOISE_GAUSS], *measured * sizeof *values);
    switch (a->kind) {
    case ASK_FORMS:
        TRY(add_forms(g, a, values));
        return two_open(g, OPEN_NOISY_FORM, values, *measured);
    case ASK_SCORES:
        TRY(add_scores(g, s, values));
        return two_open(g, OPEN_NOISY_SCORE, values, *measured);
    case ASK_SELECT:
        TRY(add_marginal(g, a, a->query[selected], a->multiplier, values, &used));
        break;
    case ASK_MEASURE:
        for (uint32_t k = 0; k < a->queries; k++)
            TRY(add_marginal(g, a, a->query[k], ask_multiplier(a, k), values + used, &used));
        break;
    case ASK_LOOK:
    case ASK_GRADIENT:
    case ASK_TEST:
        return ERR_MISUSE; /* judge_kind() and ask_price() refuse them */
    }
    return two_open(g, OPEN_NOISY_MARGINAL, values, *measured);
}

/* --- as a table ------------------------------------------------------------------------------- */

struct engine two_table(struct two *engine)
{
    static const struct engine_ops ops = {.add = add,
                                          .finish = finish,
                                          .counted = counted,
                                          .prepare = prepare,
                                          .clear = clear,
                                          .cells = cells,
                                          .supply = supply,
                                          .reserve = reserve,
                                          .stake = stake,
                                          .take_stake = take_stake,
                                          .return_stake = return_stake,
                                          .free_stake = free_stake,
                                          .digests = digests,
                                          .topic = topic,
                                          .proved = proved,
                                          .proves = proves,
                                          .select = select_index,
                                          .measure = measure};
    return (struct engine){&ops, engine};
}
