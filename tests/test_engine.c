/*
 * parties/server/engine.c under the AIM loop: a whole run of the MPC backend on three parties equals a run of
 * the plaintext backend that replays the same noise, reconstructed here from the three tapes. What is opened in
 * a run is exactly the selected indices and the noisy marginals. Requests that a study does not permit.
 *
 * Whole runs mark uploads, keys and all that comes in as secret (tests/support_marks.h): under valgrind they show that no
 * branch and no index of the engine depends on a secret, whatever the kind of data, of noise and of score.
 */
#include "tests/support_cmocka.h"

#include "aim/loop.h"
#include "aim/plaintext.h"
#include "aim/sample.h"
#include "base/memory.h"
#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/exchange/upload.h"
#include "parties/owner/pack.h"
#include "parties/server/engine.h"
#include "parties/server/round.h"
#include "tests/support_marks.h"
#include "tests/support_study.h"
#include "tests/support_three.h"

#include <string.h>

#define OWNERS 3
#define NOISE_MAX 200000

/* What all three parties and the harness see. */
struct whole {
    struct support_study s;
    struct bounds *bounds;
    struct table *all;
    struct upload parts[OWNERS][3];
    uint64_t *noise[2][3]; /* kind, component: samples in the order in which they were used */
    size_t used[2][3];
    bool twice; /* every request is made again, with the same noise */
    struct aim_result *result[3];
    uint32_t selected[3][64];
    size_t selections[3];
    enum coming {
        AT_ONCE,
        ONE_BY_ONE,
        BETWEEN_ROUNDS
    } coming;                    /* uploads, before or during a run */
    struct table *stage[OWNERS]; /* the first 1, 2 .. owners' rows */
};

/* --- owners' side -------------------------------------------------------------------------------- */

/* Rows of owner o; all owners of a batch have the batch's, and its second one lacks the last of them. */
static enum err rows_of(const struct whole *w, unsigned o, struct table **t)
{
    unsigned first = (unsigned)w->s.study->owner[o].batch;
    enum err e = support_table(t, w->s.study->domain, 300 + 500 * first, first);
    if (e == ERR_OK && first != o)
        (*t)->rows -= 40;
    return e;
}

/* The columns of `all` that owner o holds. */
static enum err columns_of(const struct whole *w, unsigned o, const struct table *all,
                           struct domain **own, struct table **t)
{
    const struct study_owner *owner = &w->s.study->owner[o];
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    TRY(pack_domain(own, w->s.study, o));
    TRY(table_new(t, *own, all->rows));
    for (size_t i = 0; i < all->rows; i++) {
        for (size_t c = 0; c < owner->columns; c++)
            codes[c] = all->column[owner->column[c]][i];
        TRY(table_append(*t, codes));
    }
    return ERR_OK;
}

/* `changed`: without the last row. */
static enum err share_one(struct whole *w, unsigned o, int changed, struct upload parts[3],
                          struct log *log)
{
    struct table *all = NULL, *t = NULL;
    struct domain *own = NULL;
    struct identity *me = NULL;
    struct bytes packed = {0};
    char path[SUPPORT_PATH], name[16];
    enum err e;
    snprintf(name, sizeof name, "o%u.key", o);
    support_study_file(&w->s, name, path);
    e = identity_load(&me, path, log);
    if (e == ERR_OK)
        e = rows_of(w, o, &all);
    if (e == ERR_OK && changed)
        all->rows--;
    if (e == ERR_OK)
        e = columns_of(w, o, all, &own, &t);
    if (e == ERR_OK)
        e = pack_table(w->s.study, o, study_upload_form(w->s.study, o), t, &packed);
    if (e == ERR_OK)
        e = upload_make(parts, me, w->s.study->terms.digest, study_upload_form(w->s.study, o),
                        &packed);
    for (unsigned i = 0; e == ERR_OK && i < 3; i++)
        parts[i].owner = o;
    /* whole rows count once: of a batch, those that its last owner has too */
    if (e == ERR_OK && !changed && t->domain->attributes == w->s.study->domain->attributes)
        e = central_append(w->all, all);
    else if (e == ERR_OK && !changed && w->s.study->owner[o].batch != o)
        e = central_append(w->all, all);
    table_free(&all);
    table_free(&t);
    domain_free(&own);
    identity_free(&me);
    bytes_clear(&packed);
    return e;
}

static enum err share_all(struct whole *w, struct log *log)
{
    enum err e = table_new(&w->all, w->s.study->domain, 0);
    for (unsigned o = 0; e == ERR_OK && o < OWNERS; o++) {
        e = share_one(w, o, 0, w->parts[o], log);
        if (e == ERR_OK)
            e = table_new(&w->stage[o], w->s.study->domain, 0);
        if (e == ERR_OK)
            e = central_append(w->stage[o], w->all);
    }
    return e;
}

/* --- a party's backend --------------------------------------------------------------------------- */

struct seat {
    struct whole *w;
    struct engine *engine;
    unsigned index;
    unsigned requests;
};

static enum err count_all(struct engine *g, const struct upload *uploads, size_t count)
{
    TRY(engine_add(g, uploads, count));
    return engine_finish(g);
}

/* Seeds and vectors are secret. */
static void mark_upload(struct upload *u)
{
    marks_secret(u->seed, sizeof u->seed);
    marks_secret(u->vector.data, u->vector.size);
}

/* Adds the uploads of the first `owners` owners. */
static enum err add_uploads(struct whole *w, struct engine *g, unsigned owners)
{
    const bool marked = g->party->watch != NULL; /* by marks_begin() */
    struct upload held[OWNERS];
    for (unsigned o = 0; o < owners; o++) {
        held[o] = w->parts[o][g->party->index];
        if (marked)
            mark_upload(&held[o]);
    }
    TRY(count_all(g, held, owners));
    /* that the marks reach the counts shows that they are not lost on the way */
    if (marked && g->tally.owners > 0 && marks_reach(g->counts->x.a, 64) != marks_on())
        return ERR_MISUSE;
    return ERR_OK;
}

/* Where uploads come between rounds: at the first request one owner's are there, then each time one more. */
static enum err next_request(struct seat *s, uint64_t *population)
{
    unsigned owners = ++s->requests < OWNERS ? s->requests : OWNERS;
    if (s->w->coming == BETWEEN_ROUNDS)
        TRY(add_uploads(s->w, s->engine, owners));
    *population = s->engine->tally.owners;
    return ERR_OK;
}

/* Remembers the samples of a range, before they are used and wiped. */
static enum err remember(struct seat *s, const struct tape *range, enum tape_kind kind)
{
    const struct share64 *samples = &range->reel[kind].samples;
    size_t *used = &s->w->used[kind][s->index];
    if (*used + samples->n > NOISE_MAX)
        return ERR_RANGE;
    if (samples->n > 0) {
        uint64_t *kept = s->w->noise[kind][s->index] + *used;
        memcpy(kept, samples->a, samples->n * sizeof *kept);
        if (marks_reach(kept, sizeof *kept) != marks_on())
            return ERR_MISUSE;
        marks_public(kept, samples->n * sizeof *kept); /* for the plaintext twin alone */
    }
    *used += samples->n;
    return ERR_OK;
}

/* Exchanges of a round, those around it included, but for what is made of the tape. */
#define ROUNDS_MAX 20

/* Opens what a step asks for, with a range of noise that is wiped then. */
static enum err open_step(struct seat *s, struct engine_step *step, struct tape *range,
                          size_t *selected, int64_t *values, size_t *measured)
{
    const struct round_statement statement = {.verdict = ERR_OK};
    struct net *net = s->engine->party->net;
    struct round_agreement agreement;
    uint64_t rounds = net_rounds(net);
    uint8_t seed[32], signature[2][64] = {{0}};
    TRY(round_agree(net, &statement, &agreement, s->engine->log));
    TRY(round_confirm(net, ERR_OK, signature, seed, s->engine->log));
    if (step->request->kind == REQUEST_SELECT)
        TRY(engine_select(s->engine, step, range, seed, selected));
    TRY(engine_measure(s->engine, step, range, selected != NULL ? *selected : 0, values, measured));
    return net_rounds(net) - rounds > ROUNDS_MAX ? ERR_RANGE : ERR_OK;
}

/* The same request, with the range as it was kept: other masks, the same values. */
static enum err open_again(struct seat *s, struct engine_step *step, const struct bytes *kept,
                           const struct range_place *place, const size_t *selected,
                           const int64_t *values, size_t measured)
{
    int64_t *again = memory_array(step->cells, sizeof *again);
    size_t selected_again = 0, measured_again = 0;
    struct tape range = {0};
    enum err e = again == NULL ? ERR_NOMEM : ERR_OK;
    if (e == ERR_OK)
        e = range_read(&range, place, s->engine->tape.noise, kept);
    if (e == ERR_OK)
        e = open_step(s, step, &range, selected != NULL ? &selected_again : NULL, again,
                      &measured_again);
    if (e == ERR_OK &&
        (measured_again != measured || memcmp(again, values, measured * sizeof *again) != 0 ||
         (selected != NULL && selected_again != *selected)))
        e = ERR_MISMATCH;
    tape_free(&range);
    memory_free(&again);
    return e;
}

static enum err perform(struct seat *s, struct request *r, size_t *selected, int64_t *values)
{
    struct engine_step step;
    struct range_place place;
    struct bytes kept = {0};
    struct tape range = {0};
    size_t measured = 0;
    enum err e;
    TRY(engine_prepare(s->engine, r, &step));
    engine_range(s->engine, &step, &place);
    e = engine_reserve(s->engine, &step);
    if (e == ERR_OK)
        e = engine_has_noise(s->engine, &step) ? engine_cut(s->engine, &step, &range) : ERR_MISUSE;
    if (e == ERR_OK)
        e = range_write(&range, &kept);
    if (e == ERR_OK)
        e = remember(s, &range, TAPE_GUMBEL);
    if (e == ERR_OK)
        e = remember(s, &range, TAPE_GAUSS);
    if (e == ERR_OK)
        e = open_step(s, &step, &range, selected, values, &measured);
    if (e == ERR_OK)
        e = engine_return(s->engine, &range);
    if (e == ERR_OK && s->w->twice)
        e = open_again(s, &step, &kept, &place, selected, values, measured);
    /* of the Gaussians that were ready for the largest candidate only these were used */
    s->w->used[TAPE_GAUSS][s->index] -= step.gauss - measured;
    bytes_clear(&kept);
    tape_free(&range);
    engine_step_clear(&step);
    return e;
}

static enum err measure(void *self, const struct aim_measure *m)
{
    struct seat *s = self;
    const struct workload_query *query = s->engine->study->workload->query;
    struct request r = {.kind = REQUEST_MEASURE,
                        .queries = (uint32_t)m->queries,
                        .query = memory_array(m->queries, sizeof *r.query),
                        .multiplier = m->multiplier};
    size_t cells = 0, at = 0;
    int64_t *values;
    enum err e = next_request(s, m->population);
    if (e != ERR_OK)
        return e;
    for (size_t k = 0; k < m->queries; k++) {
        r.query[k] = m->query[k];
        cells += query[m->query[k]].cells;
    }
    values = memory_array(cells, sizeof *values);
    e = perform(s, &r, NULL, values);
    for (size_t k = 0; k < m->queries; k++) {
        memcpy(m->values[k], values + at, query[m->query[k]].cells * sizeof *values);
        at += query[m->query[k]].cells;
    }
    memory_free(&values);
    request_clear(&r);
    return e;
}

static enum err select_worst(void *self, struct aim_select *a)
{
    struct seat *s = self;
    const struct workload_query *query = s->engine->study->workload->query;
    struct request r = {.kind = REQUEST_SELECT,
                        .queries = (uint32_t)a->candidates,
                        .query = memory_array(a->candidates, sizeof *r.query),
                        .estimate = memory_array(s->engine->study->workload->cells, 8),
                        .epsilon = a->epsilon,
                        .sigma = a->sigma,
                        .multiplier = a->multiplier};
    enum err e = next_request(s, a->population);
    if (e != ERR_OK)
        return e;
    for (size_t k = 0; k < a->candidates; k++) {
        size_t n = query[a->candidate[k].query].cells;
        r.query[k] = a->candidate[k].query;
        memcpy(r.estimate + r.estimates, a->candidate[k].estimate, n * sizeof *r.estimate);
        r.estimates += n;
    }
    e = perform(s, &r, &a->selected, a->values);
    if (e == ERR_OK)
        s->w->selected[s->index][s->w->selections[s->index]++] = r.query[a->selected];
    request_clear(&r);
    return e;
}

static enum err load_engine(struct whole *w, struct party *p, struct engine **engine)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    enum err e = engine_new(engine, p, w->s.study, w->bounds, id, p->log);
    if (w->coming == BETWEEN_ROUNDS)
        return e;
    for (unsigned o = w->coming == ONE_BY_ONE ? 1 : OWNERS; e == ERR_OK && o <= OWNERS; o++)
        e = add_uploads(w, *engine, o);
    return e;
}

static enum err run_mpc(struct party *p, void *shared)
{
    struct whole *w = shared;
    struct seat seat = {.w = w, .index = p->index};
    const struct aim_backend backend = {&seat, measure, select_worst};
    struct aim_options options;
    enum err e = marks_begin(p);
    if (e == ERR_OK)
        e = load_engine(w, p, &seat.engine);
    if (e == ERR_OK)
        e = release_loop_options(w->s.study, w->bounds, &options, p->log);
    if (e == ERR_OK)
        e = aim_run(&w->result[p->index], &options, &backend, p->log);
    engine_free(&seat.engine);
    return e;
}

/* --- the plaintext twin -------------------------------------------------------------------------- */

struct replay {
    struct whole *w;
    size_t next[2];
};

static enum err next_samples(struct replay *r, enum tape_kind kind, size_t n, int64_t *out)
{
    if (r->next[kind] + n > r->w->used[kind][0])
        return ERR_RANGE;
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (unsigned c = 0; c < 3; c++)
            sum += r->w->noise[kind][c][r->next[kind] + i];
        out[i] = (int64_t)sum;
    }
    r->next[kind] += n;
    return ERR_OK;
}

static enum err replay_gauss(void *self, size_t n, int64_t *out)
{
    return next_samples(self, TAPE_GAUSS, n, out);
}

static enum err replay_gumbel(void *self, size_t n, int64_t *out)
{
    return next_samples(self, TAPE_GUMBEL, n, out);
}

/* A backend for each population, all with the one noise. */
struct growing {
    const struct whole *w;
    struct plaintext *plain[OWNERS];
    unsigned requests;
};

static struct aim_backend next_backend(struct growing *g, uint64_t *population)
{
    unsigned owners = ++g->requests < OWNERS ? g->requests : OWNERS;
    if (g->w->coming != BETWEEN_ROUNDS)
        owners = OWNERS;
    *population = owners;
    return plaintext_backend(g->plain[owners - 1]);
}

static enum err measure_plain(void *self, const struct aim_measure *m)
{
    const struct aim_backend backend = next_backend(self, m->population);
    return backend.measure(backend.self, m);
}

static enum err select_plain(void *self, struct aim_select *s)
{
    const struct aim_backend backend = next_backend(self, s->population);
    return backend.select(backend.self, s);
}

static enum err run_plain(struct whole *w, struct aim_result **result, struct replay *replay,
                          struct log *log)
{
    const struct noise_source noise = {replay, replay_gauss, replay_gumbel};
    struct growing growing = {.w = w};
    const struct aim_backend backend = {&growing, measure_plain, select_plain};
    struct aim_options options;
    enum err e = release_loop_options(w->s.study, w->bounds, &options, log);
    for (unsigned o = 0; e == ERR_OK && o < OWNERS; o++)
        e = plaintext_new(&growing.plain[o], w->s.study->workload, w->stage[o], &noise, log);
    if (e == ERR_OK)
        e = aim_run(result, &options, &backend, log);
    for (unsigned o = 0; o < OWNERS; o++)
        plaintext_free(&growing.plain[o]);
    return e;
}

/* --- tests --------------------------------------------------------------------------------------- */

static void whole_new(struct whole *w, const struct support_options *o)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    memset(w, 0, sizeof *w);
    assert_int_equal(support_study_new(&w->s, o, &log), ERR_OK);
    assert_int_equal(bounds_new(&w->bounds, w->s.study, &log), ERR_OK);
    assert_int_equal(share_all(w, &log), ERR_OK);
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned i = 0; i < 3; i++) {
            w->noise[kind][i] = memory_array(NOISE_MAX, sizeof(uint64_t));
            assert_non_null(w->noise[kind][i]);
        }
}

static void whole_free(struct whole *w)
{
    for (unsigned i = 0; i < 3; i++) {
        aim_result_free(&w->result[i]);
        memory_free(&w->noise[0][i]);
        memory_free(&w->noise[1][i]);
        for (unsigned o = 0; o < OWNERS; o++)
            upload_clear(&w->parts[o][i]);
    }
    for (unsigned o = 0; o < OWNERS; o++)
        table_free(&w->stage[o]);
    table_free(&w->all);
    bounds_free(&w->bounds);
    support_study_free(&w->s);
}

static void same_release(const struct aim_result *a, const struct aim_result *b,
                         const struct domain *d)
{
    assert_int_equal(a->measurements, b->measurements);
    for (size_t k = 0; k < a->measurements; k++) {
        size_t cells = clique_cells(&a->measurement[k].clique, d);
        assert_int_equal(a->query[k], b->query[k]);
        assert_true(a->measurement[k].sigma == b->measurement[k].sigma);
        assert_memory_equal(a->measurement[k].y, b->measurement[k].y, cells * sizeof(double));
        assert_int_equal(a->population[k], b->population[k]);
    }
    assert_true(a->loss == b->loss);
}

static void mpc_equals_plaintext_as(const struct support_options *o, enum coming coming)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct whole *w = memory_array(1, sizeof *w);
    struct three_costs costs;
    struct aim_result *plain = NULL;
    struct replay replay = {.w = w};
    size_t cells = 0;
    whole_new(w, o);
    w->coming = coming;
    assert_int_equal(three_run_wrapped(77, run_mpc, w, &costs, marks_wrap), ERR_OK);
    assert_int_equal(run_plain(w, &plain, &replay, &log), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        same_release(w->result[i], plain, w->s.study->domain);
    /* every sample was used on both sides */
    assert_int_equal(replay.next[TAPE_GAUSS], w->used[TAPE_GAUSS][0]);
    assert_int_equal(replay.next[TAPE_GUMBEL], w->used[TAPE_GUMBEL][0]);
    /* and nothing else was opened than indices and noisy marginals */
    for (size_t k = 0; k < plain->measurements; k++)
        cells += clique_cells(&plain->measurement[k].clique, w->s.study->domain);
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], w->s.study->rounds);
    assert_int_equal(costs.opened_calls[OPEN_NOISY_MARGINAL], 1 + w->s.study->rounds);
    assert_int_equal(costs.opened_values[OPEN_NOISY_MARGINAL], cells);
    assert_int_equal(costs.opened_values[OPEN_SELECTED_INDEX], w->used[TAPE_GUMBEL][0]);
    /* of discrete noise the accept bits, which depend on no data */
    assert_int_equal(costs.opened_calls[OPEN_REJECT_BIT] > 0, w->s.study->noise == STUDY_DISCRETE);
    assert_int_equal(costs.opened_calls[OPEN_CHECK_ZERO], 0);
    assert_int_equal(costs.opened_calls[OPEN_MASKED], 0);
    aim_result_free(&plain);
    whole_free(w);
    memory_free(&w);
}

static void mpc_equals_plaintext(const struct support_options *o)
{
    mpc_equals_plaintext_as(o, AT_ONCE);
}

static void a_whole_run_equals_the_plaintext_run(void **state)
{
    const struct support_options two_ways = {.owners = OWNERS, .rounds = 5, .epsilon = 2};
    (void)state;
    mpc_equals_plaintext(&two_ways);
}

static void a_run_over_three_ways_and_lists_equals_too(void **state)
{
    const struct support_options lists = {
        .owners = OWNERS,
        .rounds = 4,
        .epsilon = 0.5,
        .workload = "\n  - {attributes: [age, ward, bmi], weight: 2}\n"
                    "  - {attributes: [sex, died]}\n  - {attributes: [age, died], weight: 0.5}"};
    (void)state;
    mpc_equals_plaintext(&lists);
}

static const char wide_domain[] = "domain:\n"
                                  "  - {name: age, kind: integer, min: 0, max: 62}\n"
                                  "  - {name: sex, kind: categorical, values: [f, m]}\n"
                                  "  - {name: ward, kind: integer, min: 1, max: 19}\n"
                                  "  - {name: dose, kind: numeric, min: 0, max: 1, bins: 6}\n";
static const char wide_workload[] =
    "\n  - {attributes: [age, sex, ward]}\n  - {attributes: [age, dose]}\n";

/* A wide domain, so that small owners send records and large ones answers, in one study. */
static void a_run_over_records_and_answers_equals_too(void **state)
{
    const struct support_options mixed = {
        .owners = OWNERS, .rounds = 4, .domain = wide_domain, .workload = wide_workload};
    struct whole *w = memory_array(1, sizeof *w);
    (void)state;
    whole_new(w, &mixed);
    assert_true(w->s.study->owner[0].records && !w->s.study->owner[2].records);
    whole_free(w);
    memory_free(&w);
    mpc_equals_plaintext(&mixed);
}

/*
 * Rows and columns split: one owner of whole rows, and two that hold different columns of the same rows, of which
 * one has fewer, so that the last rows of the other count nowhere.
 */
static void a_run_over_rows_and_columns_of_several_owners_equals_too(void **state)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};
    const struct support_options split = {.owners = OWNERS, .rounds = 4, .part = part};
    (void)state;
    mpc_equals_plaintext(&split);
}

/*
 * Whole runs for every kind of noise and score: answers of small marginals and of larger ones with weights, records and
 * answers, rows and columns split.
 */
static void every_noise_and_score_on_every_kind_of_data_equal_too(void **state)
{
    static const char *const columns[] = {
        "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};
    static const struct support_options data[] = {
        {.workload = "{all: 2}"},
        {.workload =
             "\n  - {attributes: [age, ward, bmi], weight: 2}\n  - {attributes: [sex, died]}"},
        {.domain = wide_domain, .workload = wide_workload},
        {.part = columns}};
    static const char *const noise[] = {"box-muller", "discrete"};
    static const char *const score[] = {"score: l1\n", "score: l2\n"};
    (void)state;
    for (size_t k = 0; k < 4 * sizeof data / sizeof *data; k++) {
        struct support_options run = data[k / 4];
        run.owners = OWNERS;
        run.rounds = 2 + (unsigned)(k % 3);
        run.epsilon = 3;
        run.noise = noise[k % 2];
        run.more = score[k / 2 % 2];
        mpc_equals_plaintext(&run);
    }
}

/* What a server has sent, in all phases. */
static uint64_t bytes_sent(const struct party *p)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < NET_PHASES; k++)
        sum += net_counters(p->net, (enum net_phase)k)->payload_sent;
    return sum;
}

/* Uploads that are counted cost nothing again, and a new one what it costs by itself. */
static enum err add_more(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct whole *w = shared;
    struct engine *g = NULL, *alone = NULL;
    struct upload held[OWNERS];
    uint64_t rounds, bytes, cost[2][2];
    bool right = true;
    for (unsigned o = 0; o < OWNERS; o++)
        held[o] = w->parts[o][p->index];
    TRY(engine_new(&g, p, w->s.study, w->bounds, id, p->log));
    TRY(engine_new(&alone, p, w->s.study, w->bounds, id, p->log));
    TRY(count_all(g, held, OWNERS - 1));
    for (unsigned k = 0; k < 2; k++) {
        rounds = net_rounds(p->net);
        bytes = bytes_sent(p);
        TRY(k == 0 ? count_all(g, held, OWNERS) : count_all(alone, &held[OWNERS - 1], 1));
        cost[k][0] = net_rounds(p->net) - rounds;
        cost[k][1] = bytes_sent(p) - bytes;
    }
    right = cost[0][0] > 0 && cost[0][0] == cost[1][0] && cost[0][1] == cost[1][1];
    rounds = net_rounds(p->net);
    TRY(count_all(g, held, OWNERS));
    right = right && net_rounds(p->net) == rounds && g->tally.owners == OWNERS;
    engine_free(&g);
    engine_free(&alone);
    return right ? ERR_OK : ERR_MISMATCH;
}

static void what_is_counted_is_not_counted_again(void **state)
{
    const struct support_options o = {.owners = OWNERS};
    const struct support_options wide = {
        .owners = OWNERS, .domain = wide_domain, .workload = wide_workload};
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct whole *w = memory_array(1, sizeof *w);
        whole_new(w, k == 0 ? &o : &wide);
        assert_int_equal(three_run(3, add_more, w, NULL), ERR_OK);
        whole_free(w);
        memory_free(&w);
    }
}

/* Answers, then records, each upload added to what is counted; a batch's second owner comes last. */
static void a_run_added_up_in_steps_equals_too(void **state)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [dose, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [sex, ward]\n"};
    const struct support_options mixed = {
        .owners = OWNERS, .rounds = 3, .domain = wide_domain, .workload = wide_workload};
    const struct support_options split = {.owners = OWNERS,
                                          .rounds = 3,
                                          .domain = wide_domain,
                                          .workload = wide_workload,
                                          .part = part};
    (void)state;
    mpc_equals_plaintext_as(&mixed, ONE_BY_ONE);
    mpc_equals_plaintext_as(&split, ONE_BY_ONE);
}

/* One owner at the one-ways, two at the first selection, then all: answers, then records among them. */
static void a_run_whose_owners_come_between_rounds_equals_too(void **state)
{
    const struct support_options answers = {.owners = OWNERS, .rounds = 4, .epsilon = 2};
    const struct support_options mixed = {
        .owners = OWNERS, .rounds = 4, .domain = wide_domain, .workload = wide_workload};
    (void)state;
    mpc_equals_plaintext_as(&answers, BETWEEN_ROUNDS);
    mpc_equals_plaintext_as(&mixed, BETWEEN_ROUNDS);
}

/* No model says otherwise, and the two runs still agree. */
static void what_is_impossible_has_no_part_in_a_run(void **state)
{
    const struct support_options o = {
        .owners = OWNERS,
        .rounds = 3,
        .more = "impossible:\n  - {age: {from: 0, to: 3}, died: yes}\n  - {ward: d, sex: [f]}\n"};
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct whole *w = memory_array(1, sizeof *w);
    struct table *rows = NULL;
    (void)state;
    whole_new(w, &o);
    assert_int_equal(three_run_wrapped(77, run_mpc, w, NULL, marks_wrap), ERR_OK);
    assert_int_equal(sample_rows(&rows, w->result[0]->model, 5000, 1, &log), ERR_OK);
    for (size_t k = 0; k < w->s.study->zeros; k++) {
        const struct zeros *zero = &w->s.study->zero[k];
        double counts[64] = {0};
        int64_t sampled[64] = {0};
        assert_in_range(clique_cells(&zero->clique, w->s.study->domain), 1, 64);
        assert_int_equal(model_marginal(w->result[0]->model, &zero->clique, counts, &log), ERR_OK);
        table_marginal(rows, &zero->clique, sampled);
        for (size_t i = 0; i < zero->cells; i++) {
            assert_true(counts[zero->cell[i]] == 0);
            assert_int_equal(sampled[zero->cell[i]], 0);
        }
    }
    table_free(&rows);
    whole_free(w);
    memory_free(&w);
    mpc_equals_plaintext(&o);
}

/* --- owners that send what they should not ------------------------------------------------------ */

struct hostile {
    struct whole *w;
    struct three_result sums;
};

static enum err tally_up(struct party *p, void *shared)
{
    struct hostile *h = shared;
    struct engine *g = NULL;
    enum err e = load_engine(h->w, p, &g);
    if (e == ERR_OK)
        three_put64(&h->sums, p, g->tally.sums);
    engine_free(&g);
    return e;
}

/* Owner o's upload, well formed, but of these bytes: all ones, or noise. */
static void replace_upload(struct whole *w, unsigned o, bool noise)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct identity *me = NULL;
    struct bytes packed = {0};
    char path[SUPPORT_PATH], name[16];
    uint64_t seed = o;
    size_t n = (size_t)study_upload_bytes(w->s.study, o);
    uint8_t *at = bytes_extend(&packed, n);
    for (size_t i = 0; i < n; i++)
        at[i] = noise ? (uint8_t)three_random(&seed) : 0xff;
    snprintf(name, sizeof name, "o%u.key", o);
    support_study_file(&w->s, name, path);
    assert_int_equal(identity_load(&me, path, &log), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&w->parts[o][i]);
    assert_int_equal(upload_make(w->parts[o], me, w->s.study->terms.digest,
                                 study_upload_form(w->s.study, o), &packed),
                     ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        w->parts[o][i].owner = o;
        assert_int_equal(upload_check(&w->parts[o][i], i, w->s.study->terms.digest), ERR_OK);
    }
    identity_free(&me);
    bytes_clear(&packed);
}

/* What the owners of other batches have in a marginal. */
static void others_have(const struct whole *w, unsigned hostile, const struct clique *clique,
                        int64_t *counts)
{
    const struct study_owner *owner = w->s.study->owner;
    size_t cells = clique_cells(clique, w->s.study->domain);
    int64_t *one = memory_array(cells, sizeof *one);
    memset(counts, 0, cells * sizeof *counts);
    for (unsigned o = 0; o < OWNERS; o++) {
        struct table *t = NULL;
        if (owner[o].batch == owner[hostile].batch)
            continue;
        assert_int_equal(rows_of(w, o, &t), ERR_OK);
        table_marginal(t, clique, one);
        for (size_t i = 0; i < cells; i++)
            counts[i] += one[i];
        table_free(&t);
    }
    memory_free(&one);
}

/*
 * One owner sends what no table gives. Everybody else's counts stand, and it adds to a cell, or to a marginal in
 * all, no more than it is bounded by: 2^b - 1 a cell, pad_to records, or the rows that its batch's others hold.
 */
static void moves_no_more_than_its_bound(const struct support_options *o, unsigned hostile,
                                         uint64_t most_cell, uint64_t most_total)
{
    struct hostile h = {.w = memory_array(1, sizeof *h.w)};
    const struct workload *load;
    whole_new(h.w, o);
    load = h.w->s.study->workload;
    assert_int_equal(three_result_new(&h.sums, load->maximal_cells), ERR_OK);
    for (unsigned noise = 0; noise < 2; noise++) {
        size_t at = 0;
        replace_upload(h.w, hostile, noise);
        assert_int_equal(three_run(5, tally_up, &h, NULL), ERR_OK);
        for (size_t q = 0; q < load->queries; q++) {
            int64_t *others;
            uint64_t total = 0;
            if (!load->query[q].maximal)
                continue;
            others = memory_array(load->query[q].cells, sizeof *others);
            others_have(h.w, hostile, &load->query[q].clique, others);
            for (size_t i = 0; i < load->query[q].cells; i++) {
                uint64_t more = three_sum64(&h.sums, at + i) - (uint64_t)others[i];
                assert_in_range(more, 0, most_cell); /* fewer would be a huge number */
                total += more;
            }
            assert_in_range(total, 0, most_total);
            at += load->query[q].cells;
            memory_free(&others);
        }
    }
    three_result_free(&h.sums);
    whole_free(h.w);
    memory_free(&h.w);
}

static void hostile_owners_move_no_more_than_their_bounds(void **state)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};
    const struct support_options answers = {.owners = OWNERS};
    const struct support_options records = {
        .owners = OWNERS, .domain = wide_domain, .workload = wide_workload};
    const struct support_options columns = {.owners = OWNERS, .part = part};
    (void)state;
    moves_no_more_than_its_bound(&answers, 1, (1 << 11) - 1, UINT64_MAX); /* max_rows: 2000 */
    moves_no_more_than_its_bound(&records, 0, 1000, 1000);
    moves_no_more_than_its_bound(&columns, 0, 260, 260); /* the other one of the batch has 260 */
    moves_no_more_than_its_bound(&columns, 2, 300, 300);
}

/* After a crash a request is played again: what it opens depends on nothing but uploads, request and noise. */
static void a_round_played_again_opens_the_same(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 4, .epsilon = 2};
    struct whole *w = memory_array(1, sizeof *w);
    struct three_costs costs;
    (void)state;
    whole_new(w, &o);
    w->twice = true;
    assert_int_equal(three_run_wrapped(78, run_mpc, w, &costs, marks_wrap), ERR_OK);
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], 2 * w->s.study->rounds);
    whole_free(w);
    memory_free(&w);
}

/* The digests by which two servers compare the noise that both hold notice any difference. */
static enum err compare_ranges(struct party *p, void *shared)
{
    static const uint8_t key[RANGE_KEY_SIZE] = {1}, other[RANGE_KEY_SIZE] = {2};
    const size_t count[TAPE_KINDS] = {[TAPE_GAUSS] = 7, [TAPE_GUMBEL] = 3};
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    uint8_t(*digest)[2][32] = shared, changed[32];
    struct tape tape, range = {0};
    struct bytes kept = {0};
    bool right = true;
    tape_start(&tape, id, TAPE_BOX_MULLER);
    for (unsigned k = 0; k < TAPE_KINDS; k++)
        TRY(tape_reserve(p, &tape, (enum tape_kind)k, count[k]));
    TRY(range_cut(&tape, count, &range));
    for (unsigned c = 0; c < 2; c++)
        range_digest(&range, c, key, digest[p->index][c]);
    range_digest(&range, 0, other, changed);
    right = right && memcmp(changed, digest[p->index][0], 32) != 0;
    for (unsigned k = 0; k < TAPE_KINDS; k++)
        for (size_t i = 0; i < count[k]; i++) {
            range.reel[k].samples.a[i] ^= 1;
            range_digest(&range, 0, key, changed);
            right = right && memcmp(changed, digest[p->index][0], 32) != 0;
            range.reel[k].samples.a[i] ^= 1;
        }
    TRY(range_write(&range, &kept));
    for (size_t n = 0; n < kept.size; n++) { /* cut short: not taken */
        const struct bytes part = {.data = kept.data, .size = n};
        const struct range_place place = {.count = {count[0], count[1]}};
        struct tape back = {0};
        right = right && range_read(&back, &place, TAPE_BOX_MULLER, &part) == ERR_FORMAT;
    }
    tape_free(&range);
    tape_free(&tape);
    bytes_clear(&kept);
    return right ? ERR_OK : ERR_MISUSE;
}

static void shares_of_noise_can_be_compared(void **state)
{
    uint8_t digest[3][2][32];
    (void)state;
    assert_int_equal(three_run(5, compare_ranges, digest, NULL), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_memory_equal(digest[i][1], digest[(i + 1) % 3][0], 32);
}

static enum err refuse_bad_requests(struct party *p, void *shared)
{
    struct whole *w = shared;
    struct engine *g = NULL;
    struct engine_step step;
    uint32_t query = 5;
    uint64_t *estimate = memory_array(w->s.study->workload->cells, sizeof *estimate);
    struct request r = {.kind = REQUEST_MEASURE, .queries = 1, .query = &query, .multiplier = 255};
    bool right = true;
    p->log = NULL; /* what follows is refused, and says so */
    TRY(load_engine(w, p, &g));
    g->log = NULL;
    right = right && engine_prepare(g, &r, &step) == ERR_REFUSED;
    r.multiplier = UINT64_C(1) << 31;
    right = right && engine_prepare(g, &r, &step) == ERR_REFUSED;
    r.multiplier = 1000;
    r.queries = 0;
    right = right && engine_prepare(g, &r, &step) == ERR_REFUSED;
    r = (struct request){.kind = REQUEST_SELECT,
                         .queries = 1,
                         .query = &query,
                         .estimate = estimate,
                         .epsilon = 0.1,
                         .sigma = 10,
                         .multiplier = 1000};
    right = right && engine_prepare(g, &r, &step) == ERR_OK;
    engine_step_clear(&step);
    estimate[0] = UINT64_C(1) << 60;
    right = right && engine_prepare(g, &r, &step) == ERR_REFUSED;
    estimate[0] = 0;
    r.epsilon = -1;
    right = right && engine_prepare(g, &r, &step) == ERR_REFUSED;
    r.epsilon = 1e-9; /* the multiplier would round to nothing */
    right = right && engine_prepare(g, &r, &step) == ERR_RANGE;
    engine_free(&g);
    memory_free(&estimate);
    return right ? ERR_OK : ERR_MISUSE;
}

static void requests_outside_the_study_are_refused(void **state)
{
    const struct support_options o = {.owners = OWNERS};
    struct whole *w = memory_array(1, sizeof *w);
    struct three_costs costs;
    (void)state;
    whole_new(w, &o);
    assert_int_equal(three_run(3, refuse_bad_requests, w, &costs), ERR_OK);
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(costs.opened_calls[r], 0);
    whole_free(w);
    memory_free(&w);
}

static void an_upload_is_the_same_again_and_cannot_be_altered(void **state)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    const struct support_options o = {.owners = OWNERS};
    struct whole *w = memory_array(1, sizeof *w);
    const uint8_t *terms;
    unsigned form;
    size_t bytes;
    (void)state;
    whole_new(w, &o);
    terms = w->s.study->terms.digest;
    form = study_upload_form(w->s.study, 0);
    bytes = study_upload_bytes(w->s.study, 0);
    for (int changed = 0; changed < 2; changed++) {
        struct upload again[3];
        assert_int_equal(share_one(w, 0, changed, again, &log), ERR_OK);
        for (unsigned i = 0; i < 3; i++) {
            struct upload back;
            struct bytes b = {0};
            const struct upload *first = &w->parts[0][i];
            assert_int_equal(memcmp(again[i].id, first->id, UPLOAD_ID_SIZE) == 0, !changed);
            assert_int_equal(
                memcmp(again[i].commitment, first->commitment, sizeof first->commitment) == 0,
                !changed);
            if (changed) /* other data have other masks */
                for (unsigned slot = 0; slot < 2; slot++)
                    assert_true((i + slot) % 3 == 2 ||
                                memcmp(again[i].seed[slot], first->seed[slot], ANSWERS_SEED_SIZE) !=
                                    0);
            assert_int_equal(upload_check(&again[i], i, terms), ERR_OK);
            assert_int_equal(upload_write(&again[i], i, true, &b), ERR_OK);
            for (size_t k = 0; k < b.size; k += k < 300 ? 1 : 37) { /* any altered byte is found */
                enum err e;
                b.data[k] ^= 1;
                e = upload_read(&back, i, form, bytes, b.data, b.size);
                if (e == ERR_OK) {
                    uint8_t d1[32], d2[32];
                    enum err check = upload_check(&back, i, terms);
                    back.owner = 0;
                    upload_digest(&back, terms, d1);
                    upload_digest(&again[i], terms, d2);
                    assert_true(check == ERR_DATA || memcmp(d1, d2, 32) != 0);
                    upload_clear(&back);
                }
                b.data[k] ^= 1;
            }
            for (size_t n = 0; n < b.size; n += 13) /* cut short */
                assert_int_equal(upload_read(&back, i, form, bytes, b.data, n), ERR_FORMAT);
            bytes_clear(&b);
            upload_clear(&again[i]);
        }
    }
    whole_free(w);
    memory_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run_equals_the_plaintext_run),
        cmocka_unit_test(a_run_over_three_ways_and_lists_equals_too),
        cmocka_unit_test(a_run_over_records_and_answers_equals_too),
        cmocka_unit_test(a_run_over_rows_and_columns_of_several_owners_equals_too),
        cmocka_unit_test(every_noise_and_score_on_every_kind_of_data_equal_too),
        cmocka_unit_test(a_run_added_up_in_steps_equals_too),
        cmocka_unit_test(a_run_whose_owners_come_between_rounds_equals_too),
        cmocka_unit_test(what_is_counted_is_not_counted_again),
        cmocka_unit_test(what_is_impossible_has_no_part_in_a_run),
        cmocka_unit_test(hostile_owners_move_no_more_than_their_bounds),
        cmocka_unit_test(a_round_played_again_opens_the_same),
        cmocka_unit_test(shares_of_noise_can_be_compared),
        cmocka_unit_test(requests_outside_the_study_are_refused),
        cmocka_unit_test(an_upload_is_the_same_again_and_cannot_be_altered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
