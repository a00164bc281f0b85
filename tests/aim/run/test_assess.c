/* aim/run/assess, loop_assess: how far a run says that its model is, and what that costs it. */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "aim/workload/tabulate.h"

#define ROWS 4000
#define CODES 5
#define COLUMNS 5
#define RHO 0.05
#define SHARE 0.1
#define STATE "/tmp/trefoil-test-assess"

enum way { FIXED, ANNEALED, SWEEPS, WAYS };

struct assess_stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
};

/* a1 follows a0, a2 follows a1, a3 follows all three a little, a4 nothing. */
static struct assess_stage stage_new(void)
{
    static const uint32_t size[COLUMNS] = {CODES, CODES, CODES, CODES, CODES};
    struct assess_stage s = {.domain = support_domain(size, COLUMNS)};
    struct random r = random_of(1);
    OK(workload_all(&s.workload, s.domain, 2, NULL));
    OK(table_new(&s.table, s.domain, ROWS));
    for (size_t i = 0; i < ROWS; i++) {
        uint16_t c[COLUMNS];
        for (int a = 0; a < COLUMNS; a++)
            c[a] = (uint16_t)random_below(&r, CODES);
        c[1] = random_below(&r, 3) > 0 ? c[0] : c[1];
        c[2] = random_below(&r, 3) > 0 ? c[1] : c[2];
        c[3] = random_below(&r, 3) == 0 ? (uint16_t)((c[0] + c[2]) % CODES) : c[3];
        OK(table_append(s.table, c));
    }
    return s;
}

static void stage_free(struct assess_stage *s)
{
    table_free(&s->table);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static struct aim_options options_of(const struct assess_stage *s, enum way way)
{
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .limits = {.rho = RHO * (1 - SHARE), .epsilon_slack = 1},
                                .accounting = ACCOUNTING_GAUSSIAN,
                                .rows = ROWS,
                                .annealed = way == ANNEALED,
                                .rounds = way == FIXED ? 2 : 0,
                                .sweeps = way == SWEEPS ? 1 : 0,
                                .bounds = {.bits = 13},
                                .slack = {.select = 1e-6, .marginal = 1e-6},
                                .assess = RHO * SHARE};
}

/* What servers would debit: of all requests, and of those after the last round. */
struct teller {
    struct plaintext *inner;
    unsigned rounds; /* that the run has */
    double spent, assessed;
    size_t asked;
    unsigned loses;      /* how often the first of the last two requests is lost */
    unsigned loses_last; /* how often the last round is */
    unsigned round;      /* of the last request */
};

static double cost_of(const struct ask *a, const struct aim_options *o)
{
    const double m = (double)a->multiplier;
    mpq_t cost;
    double rho = 0;
    if (a->kind == ASK_SELECT) {
        mpq_init(cost);
        OK(ledger_select_cost(cost, o->accounting, a->epsilon, o->slack.select, a->multiplier));
        rho = mpq_get_d(cost) + m * m * 0x1p-41;
        mpq_clear(cost);
        return rho;
    }
    for (size_t k = 0; k < a->weights; k++)
        rho += (double)a->weight[k] * (double)a->weight[k] * 0x1p-41;
    return rho + a->queries * m * m * 0x1p-41;
}

struct telling {
    struct teller *teller;
    const struct aim_options *options;
};

static enum err tell(void *self, const struct ask *a, struct ask_told *told)
{
    const struct telling *t = self;
    struct teller *x = t->teller;
    const struct aim_backend inner = plaintext_backend(x->inner);
    const double cost = cost_of(a, t->options);
    const bool last = a->kind == ASK_SCORES && a->merges == NULL && a->query[0] >= COLUMNS;
    if (last && x->assessed == 0) {
        told->lost = x->loses;
        x->assessed += x->loses * cost;
        x->spent += x->loses * cost;
    }
    if (a->round == 2 && !last) {
        told->lost = x->loses_last;
        x->spent += x->loses_last * cost;
    }
    assert_true(a->round == 0 || a->round > x->round); /* servers know requests by their rounds */
    x->round = a->round;
    x->assessed += last ? cost : 0;
    x->spent += cost;
    x->asked++;
    return inner.ask(inner.self, a, told);
}

static struct aim_result *run(const struct assess_stage *s, const struct aim_options *o,
                              uint64_t seed, struct teller *x)
{
    struct random r = random_of(seed);
    const struct plaintext_noise noise = noise_from_random(&r);
    const struct telling t = {x, o};
    const struct aim_backend backend = {.self = (void *)(uintptr_t)&t, .ask = tell};
    OK(plaintext_new(&x->inner, s->workload, s->table, &noise, NULL));
    struct aim_result *result = MADE(aim_result, aim_run, o, &backend, NULL);
    plaintext_free(&x->inner);
    return result;
}

/* The distances themselves, without noise. */
static double distance(const struct assess_stage *s, const struct aim_result *r,
                       const struct clique *pair, bool alone)
{
    const struct clique one[2] = {{1, {pair->attribute[0]}}, {1, {pair->attribute[1]}}};
    double model[CODES * CODES], side[2][CODES], sum = 0;
    int64_t counts[CODES * CODES];
    OK(model_marginal(r->model, pair, model, NULL));
    for (int i = 0; i < 2; i++)
        OK(model_marginal(r->model, &one[i], side[i], NULL));
    tabulate_marginal(s->table, pair, counts);
    for (int i = 0; i < CODES * CODES; i++)
        sum += fabs(
            (double)counts[i] -
            (alone ? side[0][i / CODES] * side[1][i % CODES] / model_total(r->model) : model[i]));
    return sum;
}

/*
 * Intervals of a level of 0.95 hold the mean distances, of pairs that the run measured and of all
 * others, and of independent columns; the noise has the deviation that is stated.
 */
TEST(the_figures_are_within_their_intervals)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    unsigned held[2] = {0}, of[2] = {0}, both[2] = {0};
    double squares = 0, n = 0;
    for (uint64_t seed = 1; seed <= 40 * WAYS; seed++) {
        const struct aim_options o = options_of(&s, (enum way)(seed % WAYS));
        struct teller x = {.loses = 0};
        struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, seed, &x);
        const struct assess *a = r->assess;
        double truth[2] = {0}, alone[2] = {0};
        assert_int_equal(a->pairs, COLUMNS * (COLUMNS - 1) / 2);
        for (size_t i = 0; i < a->pairs; i++) {
            const double off = distance(&s, r, &a->pair[i], false);
            truth[a->measured[i]] += off;
            alone[a->measured[i]] += distance(&s, r, &a->pair[i], true);
            squares += (a->off[i] - off) * (a->off[i] - off) / a->sigma / a->sigma;
            n++;
        }
        for (int k = 0; k < 2; k++) {
            const struct assess_mean m = assess_mean(a, k == 0 ? ASSESS_HELD_OUT : ASSESS_MEASURED);
            const double rows = (double)m.pairs * a->total;
            if (m.pairs == 0)
                continue;
            of[k]++;
            held[k] += fabs(m.error - truth[k] / rows) <= ASSESS_BAND * m.deviation;
            both[k] += fabs(m.alone - alone[k] / rows) <= ASSESS_BAND * m.deviation;
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_true(of[k] >= 40); /* annealed runs may measure all pairs */
        assert_true(held[k] >= 0.89 * of[k] && held[k] < of[k]);
        assert_true(both[k] >= 0.89 * of[k] && both[k] < of[k]);
    }
    assert_true(squares / n > 0.9 && squares / n < 1.1);
}

/* Rounds leave the reserve alone, and the two requests at the end spend it, and no more. */
TEST(the_reserve_is_spent_at_the_end)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    for (enum way way = FIXED; way < WAYS; way++) {
        const struct aim_options o = options_of(&s, way);
        struct teller x = {.loses = 0};
        struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 5 + way, &x);
        const double rounds = x.spent - x.assessed;
        assert_true(fabs(rounds - r->round[r->rounds - 1].spent) < 1e-12);
        assert_true(rounds <= RHO * (1 - SHARE) && rounds > 0.98 * RHO * (1 - SHARE));
        assert_true(x.assessed <= RHO * SHARE && x.assessed > 0.98 * RHO * SHARE);
        assert_true(fabs(x.assessed - r->assess->cost) < 1e-12);
        /* the noise that half of it buys: of n scores, n m^2 / 2^41 */
        assert_true(
            fabs(r->assess->sigma / sqrt((double)r->assess->pairs) / assess_deviation(RHO * SHARE) -
                 1) < 0.01);
    }
}

/* What is lost is paid from the reserve; the budget of the rounds has ended. */
TEST(a_lost_assessment_is_paid_from_the_reserve)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    for (unsigned loses = 1; loses <= 2; loses++) {
        struct aim_options o = options_of(&s, FIXED);
        struct teller x = {.loses = loses};
        struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 3, &x);
        assert_true(loses > 1 || x.spent <= RHO);
        assert_int_equal(r->assess != NULL, loses == 1);
        if (r->assess != NULL)
            assert_null(r->assess->alone);
    }
}

/* Then the run ends with what it had before. */
TEST(a_run_whose_last_round_is_lost_is_assessed_all_the_same)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    for (enum way way = FIXED; way < WAYS; way += SWEEPS) {
        struct aim_options o = options_of(&s, way);
        struct teller x = {.loses_last = 1};
        o.stop_when_spent = true;
        struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 3, &x);
        assert_int_equal(r->rounds, 2);
        assert_non_null(r->assess->alone);
        assert_int_equal(x.round, 4);
    }
}

TEST(a_reserve_that_buys_nothing_costs_no_result)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    struct aim_options o = options_of(&s, FIXED);
    struct teller x = {.loses = 0};
    o.assess = 1e-9; /* a deviation of 1e5 rows */
    struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 3, &x);
    assert_int_equal(r->rounds, 3);
    assert_null(r->assess);
}

/* A run that was assessed keeps that in its state, and asks nothing once more. */
TEST(a_state_keeps_the_assessment)
{
    struct assess_stage s CLEAN(stage_free) = stage_new();
    for (enum way way = FIXED; way < WAYS; way++) {
        struct aim_options o = options_of(&s, way);
        struct teller first = {.loses = 0}, again = {.loses = 0};
        struct bytes a CLEAN(bytes_clear) = {0}, b CLEAN(bytes_clear) = {0};
        o.state_file = STATE;
        o.resume = true;
        unlink(STATE);
        {
            struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 7, &first);
            struct aim_result *same CLEAN(aim_result_free) = run(&s, &o, 7, &again);
            assess_write(r->assess, &a);
            assess_write(same->assess, &b);
            assert_true(first.asked > 3 && again.asked == 0);
            assert_true(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
            assert_int_equal(model_cells(r->model), model_cells(same->model));
        }
        o.wish.rounds = 1;
        unlink(STATE);
        if (way == ANNEALED) { /* a run that stops early is not over */
            struct aim_result *r CLEAN(aim_result_free) = run(&s, &o, 7, &first);
            assert_null(r->assess);
        }
    }
    unlink(STATE);
}
