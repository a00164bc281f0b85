/* aim/plaintext, aim/loop, aim/sample, aim/evaluate, aim/output: whole runs on a made-up table. */
#include "harness/cmocka.h"
#include "harness/model.h"
#include "tests/support/copula.h"
#include "tests/support/domain.h"

#include "aim/answer/evaluate.h"
#include "aim/model/sample.h"
#include "aim/run/loop.h"
#include "aim/run/output.h"
#include "aim/workload/tabulate.h"

#include <jansson.h>

#define ROWS 4000

struct loop_stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
};

/* Five attributes: a1 follows a0, a3 follows a2, a4 is the two together with noise. */
static struct loop_stage stage_new(size_t rows)
{
    static const uint32_t size[] = {4, 4, 3, 3, 6};
    struct loop_stage s = {.domain = support_domain(size, 5)};
    struct random r = random_of(1);
    OK(workload_all(&s.workload, s.domain, 3, NULL));
    OK(table_new(&s.table, s.domain, rows));
    for (size_t i = 0; i < rows; i++) {
        uint16_t c[5];
        c[0] = (uint16_t)(random_below(&r, 4) & random_below(&r, 4));
        c[1] = random_below(&r, 10) < 8 ? c[0] : (uint16_t)random_below(&r, 4);
        c[2] = (uint16_t)random_below(&r, 3);
        c[3] = random_below(&r, 10) < 7 ? (uint16_t)(2 - c[2]) : (uint16_t)random_below(&r, 3);
        c[4] = (uint16_t)((c[1] + c[3] + random_below(&r, 2)) % 6);
        OK(table_append(s.table, c));
    }
    return s;
}

static void stage_free(struct loop_stage *s)
{
    table_free(&s->table);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static struct aim_options options_of(const struct loop_stage *s, double rho, unsigned rounds)
{
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .limits = {.rho = rho, .epsilon_slack = 1e-3},
                                .rounds = rounds,
                                .bounds = {.bits = 13},
                                .slack = {.select = 1e-6, .marginal = 7.7e-6},
                                .fit_final = 200};
}

static struct aim_result *run_seeded(const struct loop_stage *s, const struct aim_options *o,
                                     uint64_t seed)
{
    struct random r = random_of(seed);
    struct plaintext_noise noise = noise_from_random(&r);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    OK(plaintext_new(&p, s->workload, s->table, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    struct aim_result *result = MADE(aim_result, aim_run, o, &backend, NULL);
    return result;
}

TEST(closure_counts_are_the_tables)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(500);
    int64_t *counts CLEAN(memory_release) = memory_array(s.workload->cells, sizeof *counts);
    int64_t direct[64];
    OK(tabulate_closure(s.table, s.workload, counts));
    for (size_t i = 0; i < s.workload->queries; i++) {
        const struct workload_query *q = &s.workload->query[i];
        if (q->cells > 64)
            continue;
        tabulate_marginal(s.table, &q->clique, direct);
        assert_memory_equal(direct, counts + q->offset, q->cells * sizeof *direct);
    }
}

TEST(more_rounds_beat_independence)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    struct aim_options o = options_of(&s, 0.2, 6);
    struct aim_options none = options_of(&s, 0.2, 0);
    double with, without;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &o, seed);
        struct aim_result *b CLEAN(aim_result_free) = run_seeded(&s, &none, seed);
        assert_int_equal(a->rounds, 7);
        assert_int_equal(a->measurements, 11);
        assert_int_equal(b->measurements, 5);
        assert_true(a->round[6].spent <= 0.2 && a->round[6].spent > 0.19);
        assert_int_equal(model_error(a->model, s.workload, s.table, &with, NULL), 0);
        assert_int_equal(model_error(b->model, s.workload, s.table, &without, NULL), 0);
        assert_true(with < 0.35 * without);
        assert_true(fabs(model_total(a->model) - ROWS) < 60);
    }
}

/*
 * While rounds learn, what was measured as precisely is no candidate again, nor what noise would
 * drown. Where nothing else is left single columns are, and where people may join nothing is out.
 */
TEST(rounds_do_not_ask_for_what_they_cannot_improve)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    struct aim_options few = options_of(&s, 0.000005, 3), many = options_of(&s, 0.2, 3),
                       growing = many;
    growing.grows = true;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &few, seed);
        struct aim_result *b CLEAN(aim_result_free) = run_seeded(&s, &many, seed);
        struct aim_result *c CLEAN(aim_result_free) = run_seeded(&s, &growing, seed);
        for (size_t i = 1; i <= 3; i++) {
            assert_true(a->round[i].query < s.workload->one_ways);
            assert_int_equal(a->round[i].candidates, s.workload->one_ways);
            assert_true(b->round[i].query >= s.workload->one_ways);
            for (size_t k = 1; k < i; k++)
                assert_int_not_equal(b->round[k].query, b->round[i].query);
        }
        /* the five single columns, and what rounds before have measured */
        assert_int_equal(b->round[3].candidates + 5 + 2, c->round[3].candidates);
    }
}

/* Rounds that move their marginal by no more than its noise have little left to find. */
TEST(what_was_measured_is_asked_for_again_after_three_rounds_that_learned_nothing)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    const struct aim_options o = options_of(&s, 0.05, 40);
    struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &o, 1);
    unsigned idle = 0, again = 0;
    for (size_t i = 1; i <= 40; i++) {
        size_t left = s.workload->queries;
        bool measured[64] = {false};
        for (size_t k = 0; idle < 3 && k < a->measurements - 40 + i - 1; k++) {
            left -= !measured[a->query[k]];
            measured[a->query[k]] = true;
        }
        assert_int_equal(a->round[i].candidates, left);
        again += idle >= 3;
        idle = a->round[i].moved <= a->round[i].noise ? idle + 1 : 0;
    }
    assert_in_range(again, 5, 35);
}

TEST(the_same_noise_gives_the_same_run)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    struct aim_options o = options_of(&s, 0.05, 4);
    struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &o, 3);
    struct aim_result *b CLEAN(aim_result_free) = run_seeded(&s, &o, 3);
    struct aim_result *c CLEAN(aim_result_free) = run_seeded(&s, &o, 4);
    assert_memory_equal(a->query, b->query, a->measurements * sizeof *a->query);
    for (size_t i = 0; i < a->measurements; i++) {
        uint64_t cells = clique_cells(&a->measurement[i].clique, s.domain);
        assert_memory_equal(a->measurement[i].y, b->measurement[i].y, cells * sizeof(double));
    }
    assert_true(a->loss == b->loss);
    assert_true(a->loss != c->loss);
}

/* A backend that does what servers do before they answer, and keeps the order of the noise. */
struct strict {
    struct loop_stage *stage;
    struct aim_options *options;
    struct plaintext *inner;
    struct random random;
    struct ledger *ledger;
    char order[4096]; /* g: Gaussians of one query, u: Gumbels of one select */
    unsigned last_round;
    size_t scores; /* that were opened */
    bool loses;    /* loses the answer of a round, once: it is paid for twice; or more often */
    unsigned lost_round, more;
};

static enum err strict_gauss(void *self, size_t n, int64_t *out)
{
    struct strict *s = self;
    strcat(s->order, "g");
    for (size_t i = 0; i < n; i++)
        out[i] = random_gauss(&s->random);
    return ERR_OK;
}

static enum err strict_gumbel(void *self, size_t n, int64_t *out)
{
    struct strict *s = self;
    strcat(s->order, "u");
    for (size_t i = 0; i < n; i++)
        out[i] = random_gumbel(&s->random);
    return ERR_OK;
}

/* Debits the cost, and once more if the answer is lost. */
static void strict_debit(struct strict *s, const mpq_t cost, unsigned round, unsigned *lost)
{
    *lost = s->loses && round == s->lost_round ? 1 + s->more : 0;
    for (unsigned i = 0; i <= *lost; i++)
        OK(ledger_debit(s->ledger, cost, NULL));
}

static void strict_measure(struct strict *s, const struct ask *a, struct ask_told *told)
{
    mpq_t cost, one;
    mpq_inits(cost, one, (mpq_ptr)NULL);
    assert_int_equal(a->round, s->last_round == UINT32_MAX ? 0 : s->last_round);
    ledger_measure_cost(cost, a->multiplier, a->queries);
    for (size_t k = 0; k < a->weights; k++) {
        assert_true(a->weight[k] >= SCORE_MULTIPLIER_MIN && a->multiplier == 0);
        assert_true(k == 0 || a->query[k] > a->query[k - 1]);
        ledger_measure_cost(one, (uint64_t)a->weight[k], 1);
        mpq_add(cost, cost, one);
    }
    assert_int_equal(mpq_cmp(cost, a->price->cost), 0);
    strict_debit(s, cost, a->round, &told->lost);
    mpq_clears(cost, one, (mpq_ptr)NULL);
}

/* The sum of squares that a row moves: m for each candidate. */
static void strict_scores(struct strict *s, const struct ask *a, struct ask_told *told)
{
    const struct ask_terms terms = {
        .domain = s->stage->domain, .workload = s->stage->workload, .bounds = s->options->bounds};
    mpq_t cost;
    OK(ask_check_estimates(a, &terms, NULL));
    assert_in_range(a->multiplier, SCORES_MULTIPLIER_MIN, SCORE_MULTIPLIER_MAX);
    s->last_round = a->round + 1;
    s->scores += a->queries;
    mpq_init(cost);
    mpq_set_ui(cost, a->queries * a->multiplier * a->multiplier, 1);
    mpq_div_2exp(cost, cost, 41);
    assert_int_equal(mpq_cmp(cost, a->price->cost), 0);
    strict_debit(s, cost, a->round, &told->lost);
    mpq_clear(cost);
}

static void strict_select(struct strict *s, const struct ask *a, struct ask_told *told)
{
    const uint64_t *estimate = a->estimate;
    uint64_t scale[64], penalty[64];
    struct score_terms terms = {.domain = s->stage->domain,
                                .workload = s->stage->workload,
                                .merges = a->merges,
                                .query = a->query,
                                .candidates = a->queries,
                                .epsilon = a->epsilon,
                                .sigma = a->sigma,
                                .bounds = s->options->bounds};
    struct score_plan plan;
    mpq_t cost;
    mpq_init(cost);
    s->last_round = a->round;
    assert_in_range(a->queries, 1, 64);
    OK(score_plan(&terms, scale, penalty, &plan, NULL));
    assert_int_equal(plan.shift, a->price->plan.shift);
    for (uint32_t i = 0; i < a->queries; i++) {
        assert_true(a->price->scale[i] == scale[i] && a->price->penalty[i] == penalty[i]);
        OK(select_check_estimates(&terms, a->query[i], ask_grid(a), estimate, NULL));
        estimate += merges_query_cells(a->merges, &s->stage->workload->query[a->query[i]]);
    }
    assert_ptr_equal(estimate, a->estimate + a->estimates);
    OK(ledger_select_cost(cost, s->options->accounting, a->epsilon, s->options->slack.select,
                          a->multiplier));
    strict_debit(s, cost, a->round, &told->lost);
    ledger_measure_cost(cost, a->multiplier, 1);
    strict_debit(s, cost, a->round, &told->lost);
    mpq_clear(cost);
}

static enum err strict_ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct strict *s = self;
    const struct aim_backend inner = plaintext_backend(s->inner);
    if (a->kind == ASK_SELECT)
        strict_select(s, a, told);
    else if (a->kind == ASK_SCORES)
        strict_scores(s, a, told);
    else
        strict_measure(s, a, told);
    return inner.ask(inner.self, a, told);
}

static void strict_free(struct strict *s)
{
    plaintext_free(&s->inner);
    ledger_free(&s->ledger);
}

/* A run with what it asks for checked, and noise of this seed. */
static enum err strict_run(struct strict *s, uint64_t seed, struct aim_result **result)
{
    const struct plaintext_noise noise = {s, strict_gauss, strict_gumbel};
    const struct aim_backend backend = {.self = s, .ask = strict_ask};
    s->last_round = UINT32_MAX;
    s->random = random_of(seed);
    OK(ledger_new(&s->ledger, &s->options->limits, NULL));
    OK(plaintext_new(&s->inner, s->stage->workload, s->stage->table, &noise, NULL));
    return aim_run(result, s->options, &backend, NULL);
}

TEST(servers_would_accept_every_request)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    for (unsigned k = 1; k <= 3; k++) {
        struct aim_options o = options_of(&s, 0.03 * k * k, 1 + 3 * k);
        struct strict strict CLEAN(strict_free) = {.stage = &s, .options = &o};
        struct aim_result *result CLEAN(aim_result_free) = NULL;
        o.limits.rows_per_person = k;
        o.accounting = k == 2 ? ACCOUNTING_ZCDP : ACCOUNTING_GAUSSIAN;
        o.bounds.bits = k == 1 ? 12 : 13; /* 12: the sum of estimates is just below its bound */
        OK(strict_run(&strict, k, &result));
        assert_true(ledger_spent(strict.ledger) == result->round[o.rounds].spent);
        assert_true(ledger_remaining(strict.ledger) < 0.01 * o.limits.rho);
        assert_int_equal(strlen(strict.order), 5 + 2 * o.rounds);
        assert_memory_equal(strict.order, "gggggugug", 9);
    }
}

/* One-ways, then in each sweep scores, a Gaussian each, and a set; and all of the budget. */
TEST(servers_would_accept_sweeps)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    for (unsigned k = 1; k <= 4; k++) {
        struct aim_options o = options_of(&s, 0.03 * k * k, 0);
        struct strict strict CLEAN(strict_free) = {.stage = &s, .options = &o};
        struct aim_result *result CLEAN(aim_result_free) = NULL;
        double error;
        o.sweeps = k;
        o.rows = k < 4 ? 100000 : 0;
        o.limits.epsilon_slack = 1;
        o.limits.rows_per_person = k;
        o.accounting = k == 2 ? ACCOUNTING_ZCDP : ACCOUNTING_GAUSSIAN;
        OK(strict_run(&strict, k, &result));
        assert_int_equal(result->rounds, 1 + 2 * k);
        assert_int_equal(result->sweeps, k);
        assert_int_equal(strict.scores, k * s.workload->queries);
        assert_true(ledger_spent(strict.ledger) == result->round[2 * k].spent);
        assert_true(result->round[2 * k].last &&
                    ledger_remaining(strict.ledger) < 1e-3 * o.limits.rho);
        assert_true(fabs(result->round[0].spent / o.limits.rho - (k < 4 ? 0.15 : 0.3)) < 1e-3);
        assert_null(strchr(strict.order, 'u'));
        OK(model_error(result->model, s.workload, s.table, &error, NULL));
        assert_true(error < 0.2); /* 0.62 if columns were independent */
    }
}

/*
 * What servers debit and cannot answer is spent: the run knows this, and ends when there is no room
 * for another round.
 */
TEST(what_is_lost_is_spent)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    for (unsigned k = 0; k < 12; k++) {
        struct aim_options o = options_of(&s, 0.03, 7);
        struct strict strict CLEAN(strict_free) = {
            .stage = &s, .options = &o, .loses = true, .lost_round = k % 2 == 0 ? 0 : 3};
        struct aim_result *result CLEAN(aim_result_free) = NULL;
        bool stops = (k & 2) != 0, annealed = (k & 4) != 0, sweeps = k >= 8;
        enum err expected = stops || annealed || sweeps ? ERR_OK : ERR_BUDGET;
        o.annealed = annealed;
        o.accounting = ACCOUNTING_GAUSSIAN;
        o.sweeps = sweeps ? 2 : 0;
        o.stop_when_spent = stops;
        assert_int_equal(strict_run(&strict, k, &result), expected);
        if (expected == ERR_OK) {
            const struct aim_round *last = &result->round[result->rounds - 1];
            assert_true(ledger_spent(strict.ledger) == last->spent);
            assert_true(last->last);
            assert_true(annealed || sweeps || result->rounds < o.rounds + 1);
        }
    }
}

/* What is left after a sweep's set was lost twice is no budget, and no mistake in the request. */
TEST(too_little_for_scores_is_spent)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    for (unsigned k = 0; k < 2; k++) {
        struct aim_options o = options_of(&s, 6e-7, 7);
        struct strict strict CLEAN(strict_free) = {
            .stage = &s, .options = &o, .loses = true, .lost_round = 2, .more = 1};
        struct aim_result *result CLEAN(aim_result_free) = NULL;
        o.accounting = ACCOUNTING_GAUSSIAN;
        o.sweeps = 2;
        o.limits.epsilon_slack = 1;
        o.stop_when_spent = k > 0;
        assert_int_equal(strict_run(&strict, k, &result), k > 0 ? ERR_OK : ERR_BUDGET);
    }
}

TEST(budgets_that_cannot_work_are_refused)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(50);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct aim_options o = options_of(&s, 1e-9, 4);
    struct random r = random_of(1);
    const struct plaintext_noise noise = noise_from_random(&r);
    OK(plaintext_new(&p, s.workload, s.table, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    assert_int_equal(aim_run(&result, &o, &backend, NULL), ERR_RANGE); /* sigma above 4096 */
    assert_null(result);
    o.limits.rho = 0.01;
    o.slack.select = 1;
    assert_int_equal(aim_run(&result, &o, &backend, NULL), ERR_RANGE);
    o.slack.select = 0;
    o.limits.epsilon_slack = 8 * 7.7e-6; /* one marginal too few */
    assert_int_equal(aim_run(&result, &o, &backend, NULL), ERR_BUDGET);
    o.limits.epsilon_slack = 1;
    o.limits.rho = 1000;   /* almost no noise: every code has its rows, none is merged */
    o.model_bytes = 8 * 4; /* too few for five columns, whatever is merged: nothing is asked */
    assert_int_equal(aim_run(&result, &o, &(struct aim_backend){0}, NULL), ERR_RANGE);
    o.model_bytes = 8 * 19; /* the one-ways alone take 20 cells */
    assert_int_equal(aim_run(&result, &o, &backend, NULL), ERR_RANGE);
    o.model_bytes = 8 * 22; /* the smallest pair makes it 23: the one-ways stay candidates */
    OK(aim_run(&result, &o, &backend, NULL));
    assert_int_equal(result->round[4].candidates, 5);
    assert_int_equal(result->round[4].model_cells, 20);
}

/* How often a run selects what it measured before. */
static unsigned repeats(const struct loop_stage *s, double rho, uint64_t cells, bool earlier)
{
    struct aim_options o = options_of(s, rho, 6);
    unsigned found = 0;
    o.annealed = true;
    o.limits.epsilon_slack = 1;
    o.model_bytes = 8 * cells;
    o.earlier = earlier;
    struct aim_result *r CLEAN(aim_result_free) = run_seeded(s, &o, 1);
    for (size_t i = s->workload->one_ways; i < r->measurements; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before |= r->query[k] == r->query[i];
        found += before;
    }
    return found;
}

/* What a run measures first after the one-ways, where no pair fits the share of a model. */
static uint32_t first(const struct loop_stage *s, double rho)
{
    struct aim_options o = options_of(s, rho, 6);
    o.annealed = true;
    o.limits.epsilon_slack = 1;
    o.model_bytes = 8 * 40;
    struct aim_result *r CLEAN(aim_result_free) = run_seeded(s, &o, 1);
    return r->query[s->workload->one_ways];
}

/*
 * The share of the budget that is spent bounds the model, but not where that would waste a round,
 * and there is little noise.
 */
TEST(what_was_not_measured_comes_before_what_was)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    for (uint64_t cells = 220; cells <= 340; cells += 120) {
        assert_true(repeats(&s, 1000, cells, true) > 0);
        assert_int_equal(repeats(&s, 1000, cells, false), 0);
    }
    assert_in_range(first(&s, 0.0016), 0, s.workload->one_ways - 1);
    assert_in_range(first(&s, 0.0064), 0, s.workload->one_ways - 1);
    assert_in_range(first(&s, 0.4), s.workload->one_ways, s.workload->queries - 1);
}

TEST(the_lowest_index_wins_ties)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(100);
    struct plaintext_noise noise = {NULL, support_no_noise, support_no_noise};
    uint64_t estimate[12] = {0}, scale[3] = {1 << 14, 1 << 14, 1 << 14}, penalty[3] = {1, 0, 0};
    uint32_t query[3] = {0};
    const struct ask_price price = {.plan.shift = 24, .scale = scale, .penalty = penalty};
    const struct ask ask = {
        .kind = ASK_SELECT, .queries = 3, .query = query, .estimate = estimate, .price = &price};
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    OK(plaintext_new(&p, s.workload, s.table, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    for (size_t first = 1;; first--) {
        struct ask_told told CLEAN(told_clear) = {0};
        OK(backend.ask(backend.self, &ask, &told));
        assert_int_equal(told.selected, first);
        if (first == 0)
            break;
        penalty[0] = 0;
    }
    query[1] = 9999;
    assert_int_equal(backend.ask(backend.self, &ask, &(struct ask_told){0}), ERR_REFUSED);
}

/* Selection frequencies against the exact softmax of the scores. */
TEST(selection_follows_the_softmax)
{
    enum { TRIALS = 20000 };
    struct loop_stage s CLEAN(stage_free) = stage_new(100);
    int64_t *counts CLEAN(memory_release) = memory_array(s.workload->cells, sizeof *counts);
    uint64_t estimate[12] = {0}, penalty[3] = {0, 1024, 3 * 512};
    uint64_t scale[3] = {1 << 14, 1 << 14, 1 << 14}; /* at shift 24: one a count */
    uint32_t query[3] = {0};
    const struct ask_price price = {.plan.shift = 24, .scale = scale, .penalty = penalty};
    const struct ask ask = {
        .kind = ASK_SELECT, .queries = 3, .query = query, .estimate = estimate, .price = &price};
    struct random r = random_of(8);
    struct plaintext_noise noise = noise_from_random(&r);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    int seen[3] = {0};
    double weight[3], sum = 0, chi = 0;
    for (int i = 0; i < 3; i++) {
        weight[i] = exp(-(double)penalty[i] / 1024);
        sum += weight[i];
    }
    OK(plaintext_new_counts(&p, s.workload, counts, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    for (int i = 0; i < TRIALS; i++) {
        struct ask_told told CLEAN(told_clear) = {0};
        OK(backend.ask(backend.self, &ask, &told));
        seen[told.selected]++;
    }
    for (int i = 0; i < 3; i++) {
        double expected = TRIALS * weight[i] / sum;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    assert_true(chi < 13.8); /* 0.1 % with 2 degrees */
}

TEST(samples_follow_the_model)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(ROWS);
    struct aim_options o = options_of(&s, 5, 8);
    struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &o, 1);
    struct table *rows, *again CLEAN(table_free) = NULL, *other CLEAN(table_free) = NULL;
    double error, small;
    OK(sample_rows(&rows, a->model, 20000, 1, NULL));
    assert_int_equal(rows->rows, 20000);
    OK(model_error(a->model, s.workload, rows, &error, NULL));
    assert_true(error < 0.03); /* independent draws would give about 0.04 */
    OK(sample_rows(&again, a->model, 20000, 1, NULL));
    OK(sample_rows(&other, a->model, 20000, 2, NULL));
    OK(evaluate_tables(s.workload, rows, again, NULL, &error));
    assert_true(error <= 0);
    OK(evaluate_tables(s.workload, rows, other, NULL, &small));
    assert_true(small > 0 && small < 0.05);
    table_free(&rows);
    OK(sample_rows(&rows, a->model, 0, 1, NULL));
    assert_int_equal(rows->rows, 0);
    table_free(&rows);
    /* one row at a time, many times: unbiased */
    {
        double mean[4] = {0}, truth[4];
        static const struct clique first = {1, {0}};
        for (uint64_t seed = 0; seed < 4000; seed++) {
            OK(sample_rows(&rows, a->model, 1, seed, NULL));
            mean[rows->column[0][0]] += 1.0 / 4000;
            table_free(&rows);
        }
        OK(model_marginal(a->model, &first, truth, NULL));
        for (int i = 0; i < 4; i++)
            assert_true(fabs(mean[i] - truth[i] / model_total(a->model)) < 0.036);
    }
}

TEST(errors_of_tables_are_sums_of_differences)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(0);
    double each[10], mean;
    OK(table_append(s.table, (uint16_t[]){0, 0, 0, 0, 0}));
    OK(table_append(s.table, (uint16_t[]){0, 0, 0, 0, 0}));
    struct table *t CLEAN(table_free) = MADE(table, table_new, s.domain, 0);
    OK(table_append(t, (uint16_t[]){0, 0, 0, 0, 0}));
    OK(evaluate_tables(s.workload, s.table, t, each, &mean));
    assert_true(mean <= 0);
    OK(table_append(t, (uint16_t[]){1, 0, 0, 0, 0}));
    OK(evaluate_tables(s.workload, s.table, t, each, &mean));
    for (int i = 0; i < 10; i++) /* six of the ten three-ways hold attribute a */
        assert_true(fabs(each[i] - (s.workload->clique[i].attribute[0] == 0 ? 1 : 0)) < 1e-15);
    assert_true(fabs(mean - 0.6) < 1e-15);
}

TEST(measurements_are_written_as_documented)
{
    struct loop_stage s CLEAN(stage_free) = stage_new(300);
    struct aim_options o = options_of(&s, 0.1, 2);
    struct aim_result *a CLEAN(aim_result_free) = run_seeded(&s, &o, 1);
    struct output_terms terms = {.domain = s.domain,
                                 .epsilon = 1,
                                 .delta = 1e-5,
                                 .rho = 0.1,
                                 .total = model_total(a->model),
                                 .measurement = a->measurement,
                                 .measurements = a->measurements};
    char folder[] = "/tmp/trefoil-test-XXXXXX", path[64];
    struct bytes text CLEAN(bytes_clear) = {0};
    json_error_t error;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.json", folder);
    OK(output_measurements(path, &terms, NULL));
    OK(file_read(path, 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    assert_non_null(
        strstr((const char *)text.data, "\"epsilon\":1.0,\"delta\":1e-05,\"rho\":0.1,"));
    json_auto_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "format")),
                        "trefoil-measurements-1");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "domain"), "a4")), 6);
    assert_int_equal(json_array_size(json_object_get(root, "attributes")), 5);
    json_t *m = json_array_get(json_object_get(root, "measurements"), 5);
    assert_int_equal(json_array_size(json_object_get(m, "values")),
                     clique_cells(&a->measurement[5].clique, s.domain));
    assert_true(json_real_value(json_array_get(json_object_get(m, "values"), 0)) ==
                a->measurement[5].y[0]);
    assert_true(json_real_value(json_object_get(m, "sigma")) == a->measurement[5].sigma);
    s.domain->attribute[0].name[0] = (char)0xff;
    assert_int_equal(output_measurements(path, &terms, NULL), ERR_DATA);
    unlink(path);
    rmdir(folder);
}
