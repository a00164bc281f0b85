/*
 * What a sweep asks of an engine: its price, exchanges and bytes, and what is refused before
 * anything is paid for. tests/parties/settings/three/test_engine.c has whole runs.
 */
#include "tests/support/whole.h"

#include "parties/exchange/price.h"

/* --- what it costs ---------------------------------------------------------------------------- */

/* The closure's marginals as candidates, with estimates of 2 in every cell, all to be compared. */
struct engine_sweeps_scored {
    struct ask ask;
    uint32_t *query;
    uint64_t *estimate;
};

static void scored_clear(struct engine_sweeps_scored *s)
{
    memory_free_all(&s->query, &s->estimate);
}

static struct engine_sweeps_scored scored_new(const struct workload *w, uint64_t multiplier)
{
    struct engine_sweeps_scored s = {.query = memory_array(w->queries, sizeof *s.query),
                                     .estimate = memory_array(w->cells, sizeof *s.estimate)};
    for (uint32_t q = 0; q < w->queries; q++)
        s.query[q] = q;
    for (uint64_t i = 0; i < w->cells; i++)
        s.estimate[i] = 2 * multiplier;
    s.ask = (struct ask){.kind = ASK_SCORES,
                         .queries = (uint32_t)w->queries,
                         .query = s.query,
                         .multiplier = multiplier,
                         .estimates = w->cells,
                         .estimate = s.estimate};
    return s;
}

struct costing {
    struct whole *w;
    uint64_t rounds[3][3], bytes[3][3]; /* scores, again, a set; by party */
};

static uint64_t payload_sent(const struct party *p)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < NET_PHASES; k++)
        sum += net_counters(p->net, (enum net_phase)k)->payload_sent;
    return sum;
}

/* Opens scores or a set, without what servers say around it; adds up what that takes. */
static enum err open_alone(struct three *g, const struct ask *a, uint64_t *rounds, uint64_t *bytes)
{
    struct engine_step step CLEAN(three_step_clear) = {0};
    struct tape range CLEAN(tape_free) = {0};
    int64_t *values CLEAN(memory_release) = NULL;
    size_t measured;
    TRY(three_prepare(g, a, &step));
    TRY(three_reserve(g, &step));
    TRY(range_cut(&g->tape, three_step(&step)->noise, &range));
    TRY(memory_new(&values, step.price.cells));
    *rounds = net_exchanges(g->party->net);
    *bytes = payload_sent(g->party);
    enum err e = three_measure(g, &step, &range, 0, values, &measured);
    *rounds = net_exchanges(g->party->net) - *rounds;
    *bytes = payload_sent(g->party) - *bytes;
    if (e == ERR_OK && measured != step.price.cells)
        e = ERR_MISMATCH;
    return e;
}

static enum err cost(struct party *p, void *shared)
{
    struct costing *c = shared;
    const struct workload *w = c->w->s.study->workload;
    struct engine_sweeps_scored s CLEAN(scored_clear) = scored_new(w, 3000);
    uint32_t query[] = {0, 7, 9};
    int64_t multiplier[] = {500, 40000, 1000};
    const struct ask set = {
        .kind = ASK_MEASURE, .queries = 3, .query = query, .weights = 3, .weight = multiplier};
    struct three *g CLEAN(three_free) = NULL;
    TRY(load_engine(c->w, p, &g));
    for (unsigned k = 0; k < 2; k++)
        TRY(open_alone(g, &s.ask, &c->rounds[k][p->index], &c->bytes[k][p->index]));
    return open_alone(g, &set, &c->rounds[2][p->index], &c->bytes[2][p->index]);
}

/*
 * Numbers of up to 20 bits have four digits: a cell takes 4 ANDs and 4 elements over all servers, a
 * score 2 elements and its opening 3; two scores, in which servers' parts meet, 2 elements more. A
 * set is opened at once.
 */
TEST(a_sweep_has_few_exchanges)
{
    const struct study_options o = {.owners = OWNERS, .sweeps = 2, .lanes = 1};
    struct costing *c CLEAN(memory_release) = memory_array(1, sizeof *c);
    struct whole *w CLEAN(whole_end) = whole_new(&o);
    c->w = w;
    const struct workload *load = w->s.study->workload;
    uint64_t cells = load->cells;
    uint64_t of_set = load->query[0].cells + load->query[7].cells + load->query[9].cells;
    assert_in_range(w->bounds->counts.bits, 4, 20);
    OK(three_run(9, cost, c, NULL));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(c->rounds[1][i], 3 + 1);
        assert_int_equal(c->rounds[2][i], 1);
        assert_int_equal(c->bytes[2][i], 8 * of_set);
        assert_in_range(c->rounds[0][i], c->rounds[1][i] + 1, c->rounds[1][i] + ROUNDS_FINISH);
    }
    assert_int_equal(c->bytes[1][0] + c->bytes[1][1] + c->bytes[1][2],
                     8 * (3 * 4 * ((cells + 63) / 64) + 4 * cells + 2 * (load->queries + 2) +
                          3 * load->queries));
}

/*
 * C scores at m cost as much as C marginals, and so does their slack; a set the sum of its parts.
 */
TEST(scores_cost_what_marginals_cost)
{
    const struct study_options o = {.owners = OWNERS, .sweeps = 2};
    struct whole *w CLEAN(whole_end) = whole_new(&o);
    uint32_t query[] = {1, 2};
    int64_t multiplier[] = {300, 70000};
    const struct ask set = {
        .kind = ASK_MEASURE, .queries = 2, .query = query, .weights = 2, .weight = multiplier};
    struct ask_price price CLEAN(ask_price_clear);
    mpq_t expected;
    struct ask_terms terms = {.domain = w->s.study->domain,
                              .workload = w->s.study->workload,
                              .bounds = w->bounds->counts,
                              .slack = price_slack(w->s.study)};
    mpq_init(expected);
    ask_price_new(&price);
    {
        struct engine_sweeps_scored s CLEAN(scored_clear) = scored_new(w->s.study->workload, 3001);
        const uint64_t candidates = s.ask.queries;
        OK(ask_price(&price, &s.ask, &terms, NULL));
        mpq_set_ui(expected, candidates * 3001 * 3001, 1);
        mpq_div_2exp(expected, expected, 41);
        assert_int_equal(mpq_cmp(price.cost, expected), 0);
        assert_int_equal(mpq_cmp(price.measuring, expected), 0);
        assert_int_equal(price.cells, candidates);
        assert_int_equal(price.candidates, 0);
        assert_true(price.epsilon_slack == (double)candidates * terms.slack.marginal);
        assert_true(price.delta_slack == ask_delta(terms.slack.measured, (double)candidates));
    }
    OK(ask_price(&price, &set, &terms, NULL));
    mpq_set_ui(expected, 300 * 300 + UINT64_C(70000) * 70000, 1);
    mpq_div_2exp(expected, expected, 41);
    assert_int_equal(mpq_cmp(price.cost, expected), 0);
    assert_true(price.epsilon_slack == 2 * terms.slack.marginal);
    mpq_clear(expected);
}

/* The largest multiplier leaves room for the largest score and noise; and squares have none. */
TEST(scores_that_could_wrap_are_refused)
{
    const struct study_options o = {.owners = OWNERS, .sweeps = 2};
    struct whole *w CLEAN(whole_end) = whole_new(&o);
    uint64_t total[64];
    struct ask_price price CLEAN(ask_price_clear);
    struct ask_terms terms = {.domain = w->s.study->domain,
                              .workload = w->s.study->workload,
                              .bounds = {.bits = 40, .total = total}};
    ask_price_new(&price);
    for (unsigned k = 0; k < 6; k++) {
        const uint64_t most = (UINT64_C(1) << 63) - (UINT64_C(1) << 26) - 1;
        struct engine_sweeps_scored s CLEAN(scored_clear) = scored_new(w->s.study->workload, 1);
        for (size_t q = 0; q < s.ask.queries; q++)
            total[q] = 5;
        total[s.ask.queries - 1] = UINT64_C(1) << (41 + k); /* one is enough */
        s.ask.multiplier = most / ((UINT64_C(1) << (41 + k)) + (UINT64_C(1) << 41));
        OK(ask_price(&price, &s.ask, &terms, NULL));
        s.ask.multiplier++;
        assert_int_equal(ask_price(&price, &s.ask, &terms, NULL), ERR_REFUSED);
        s.ask.multiplier--;
        terms.score = AIM_L2;
        assert_int_equal(ask_price(&price, &s.ask, &terms, NULL), ERR_REFUSED);
        terms.score = AIM_L1;
    }
}

/* Merges may make cells as large as scores and sets of a run can be opened with, and no more. */
TEST(merges_leave_room_for_all_scores)
{
    static const char large[] = "domain:\n"
                                "  - {name: x, kind: integer, min: 1, max: 32}\n"
                                "  - {name: y, kind: integer, min: 1, max: 64}\n";
    static const char most[] = "    max_rows: 400000000\n    as: counts\n";
    static const char *const part[] = {most, most, most};
    for (unsigned k = 0; k < 3; k++) {
        const struct study_options o = {.owners = OWNERS,
                                        .sweeps = 1 + k,
                                        .domain = large,
                                        .part = part,
                                        .noise = "discrete",
                                        .epsilon = 1 << 2 * k};
        struct whole *w CLEAN(whole_end) = whole_new(&o);
        struct price_sweep sweep;
        uint64_t scores, set;
        bool fits[2];
        OK(price_sweep(w->s.study, &sweep));
        OK(scores_multiplier(sweep.least_sigma, &scores));
        OK(measure_multiplier(sweep.least_sigma_of_set, &set, NULL));
        struct score_bounds b = w->bounds->counts;
        for (unsigned above = 0; above < 2; above++) {
            b.bits = w->bounds->counts.room + above;
            fits[above] = set >> (62 - b.bits) == 0 && b.bits <= SCORE_BITS_MAX;
            for (uint32_t q = 0; q < w->s.study->workload->queries; q++)
                fits[above] &= scores <= scores_most(&b, q);
        }
        assert_true(b.room >= w->bounds->counts.bits && fits[0] && !fits[1]);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

struct refusal {
    struct whole *w;
    char said[3][800];
    bool right[3];
};

static bool refused(struct three *g, const struct ask *a, const char *why)
{
    struct engine_step step;
    const enum err e = three_prepare(g, a, &step);
    if (e == ERR_OK)
        three_step_clear(&step);
    return why == NULL ? e == ERR_OK : e == ERR_REFUSED && strstr(g->log->buffer, why) != NULL;
}

static enum err refuse(struct party *p, void *shared)
{
    struct refusal *r = shared;
    const struct workload *w = r->w->s.study->workload;
    const uint64_t most = scores_most(&r->w->bounds->counts, 0);
    struct log log = {.buffer = r->said[p->index], .buffer_size = 800, .level = LOG_ERROR};
    struct three *g CLEAN(three_free) = NULL;
    struct engine_sweeps_scored s CLEAN(scored_clear) = scored_new(w, 3000);
    int64_t multiplier[] = {500, 255};
    struct ask set = {
        .kind = ASK_MEASURE, .queries = 2, .query = s.query, .weights = 2, .weight = multiplier};
    struct ask select = support_selection(1, s.query, s.estimate);
    TRY(load_engine(r->w, p, &g));
    g->log = &log;
    r->right[p->index] = refused(g, &s.ask, NULL);
    s.ask.multiplier = SCORES_MULTIPLIER_MIN - 1;
    r->right[p->index] &= refused(g, &s.ask, "a multiplier of 31 over");
    s.ask.multiplier = SCORE_MULTIPLIER_MAX + 1;
    r->right[p->index] &= refused(g, &s.ask, "outside what servers permit");
    s.ask.multiplier = 3000;
    s.estimate[w->cells - 1] = (UINT64_C(3000) << r->w->bounds->counts.bits) + 1;
    r->right[p->index] &= refused(g, &s.ask, "are out of bounds at cell");
    s.estimate[w->cells - 1]--; /* the sum of a one-way and the last cell are not of one marginal */
    r->right[p->index] &= refused(g, &s.ask, NULL);
    s.ask.queries = 0;
    r->right[p->index] &= refused(g, &s.ask, "over 0 scores");
    r->right[p->index] &= refused(g, &set, "a multiplier of 255 over 2 marginals");
    multiplier[1] = INT64_C(1) << 31;
    r->right[p->index] &= refused(g, &set, "a multiplier of 2147483648 over 2 marginals");
    r->right[p->index] &= refused(g, &select, "has no selections");
    return most > SCORE_MULTIPLIER_MAX ? ERR_OK : ERR_MISUSE; /* no count here comes near a wrap */
}

TEST(what_is_no_sweep_is_refused)
{
    const struct study_options o = {.owners = OWNERS, .sweeps = 1};
    struct refusal *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    struct whole *w CLEAN(whole_end) = whole_new(&o);
    struct three_costs costs;
    r->w = w;
    OK(three_run(5, refuse, r, &costs));
    for (unsigned i = 0; i < 3; i++)
        assert_true(r->right[i]);
    for (unsigned k = 0; k < OPEN_REASONS; k++)
        assert_int_equal(costs.opened_calls[k], 0);
}

static enum err refuse_scores(struct party *p, void *shared)
{
    struct refusal *r = shared;
    struct log log = {.buffer = r->said[p->index], .buffer_size = 800, .level = LOG_ERROR};
    struct three *g CLEAN(three_free) = NULL;
    struct engine_sweeps_scored s CLEAN(scored_clear) = scored_new(r->w->s.study->workload, 3000);
    TRY(load_engine(r->w, p, &g));
    g->log = &log;
    r->right[p->index] = refused(g, &s.ask, "without rounds: sweeps");
    return ERR_OK;
}

TEST(other_studies_open_no_scores)
{
    static const struct study_options o[] = {
        {.owners = OWNERS}, {.owners = OWNERS, .annealed = true, .more = "score: l2\n"}};
    for (unsigned k = 0; k < 2; k++) {
        struct refusal *r CLEAN(memory_release) = memory_array(1, sizeof *r);
        struct whole *w CLEAN(whole_end) = whole_new(&o[k]);
        r->w = w;
        OK(three_run(5, refuse_scores, r, NULL));
        for (unsigned i = 0; i < 3; i++)
            assert_true(r->right[i]);
    }
}
