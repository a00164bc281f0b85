/*
 * aim/schedule, aim/loop: annealing against the paper's rules, budgets under random schedules,
 * runs cut after any round, populations that grow.
 */
#include "harness/cmocka.h"
#include "tests/support/copula.h"
#include "tests/support/domain.h"

#include "aim/run/loop.h"
#include "aim/workload/tabulate.h"

#include <sys/wait.h>

#define ATTRIBUTES 4

struct anneal_stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
    char folder[32], path[64];
};

static struct anneal_stage stage_new(size_t rows)
{
    static const uint32_t size[ATTRIBUTES] = {3, 4, 2, 5};
    struct anneal_stage s = {.domain = support_domain(size, ATTRIBUTES),
                             .folder = "/tmp/trefoil-test-XXXXXX"};
    struct random r = random_of(1);
    OK(workload_all(&s.workload, s.domain, 2, NULL));
    OK(table_new(&s.table, s.domain, rows));
    for (size_t i = 0; i < rows; i++) {
        uint16_t c[ATTRIBUTES];
        c[0] = (uint16_t)random_below(&r, 3);
        c[1] = random_below(&r, 4) > 0 ? c[0] : (uint16_t)random_below(&r, 4);
        c[2] = (uint16_t)(c[0] > 0 && random_below(&r, 5) > 0);
        c[3] = (uint16_t)((c[1] + c[2]) % 5);
        OK(table_append(s.table, c));
    }
    assert_non_null(mkdtemp(s.folder));
    snprintf(s.path, sizeof s.path, "%s/state", s.folder);
    return s;
}

static void stage_free(struct anneal_stage *s)
{
    unlink(s->path);
    rmdir(s->folder);
    table_free(&s->table);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static struct aim_options options_of(const struct anneal_stage *s, double rho)
{
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .limits = {.rho = rho, .epsilon_slack = 1},
                                .annealed = true,
                                .bounds = {.bits = 14},
                                .slack = {.select = 1e-6, .marginal = 7.7e-6},
                                .fit_final = 100};
}

/* Noise that depends on the round alone, so that a cut run sees the same; may fail on purpose. */
struct rounds {
    struct aim_backend inner;
    struct random random;
    uint64_t seed;
    unsigned calls, fail_at;
    unsigned lost;    /* times that round 1 is lost */
    bool keeps;       /* then a failure is a crash */
    bool quiet;       /* no noise at all */
    const char *full; /* or NULL: a folder that is missing while the state is first written */
    enum err (*work)(void *worker); /* to do meanwhile */
    void *worker;
};

static enum err reseed(struct rounds *r, unsigned round, unsigned kind)
{
    r->random = random_of(r->seed * 1000003 + round * 2 + kind);
    return ++r->calls == r->fail_at ? ERR_PEER : ERR_OK;
}

static void rounds_meanwhile(void *self, enum err (*work)(void *worker), void *worker)
{
    struct rounds *r = self;
    r->work = work;
    r->worker = worker;
}

static enum err rounds_ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct rounds *r = self;
    char away[64];
    enum err e = reseed(r, a->round, a->kind == ASK_SELECT);
    if (a->kind == ASK_MEASURE && a->round == 0)
        return e == ERR_OK ? r->inner.ask(r->inner.self, a, told) : e;
    if (r->keeps && e != ERR_OK)
        _exit(0); /* the request has left, and the work that it was to leave time for is not done */
    TRY(e);
    if (r->full != NULL && a->round == 2) {
        snprintf(away, sizeof away, "%s-", r->full);
        assert_int_equal(rename(r->full, away), 0);
        e = r->work(r->worker);
        assert_int_equal(rename(away, r->full), 0);
        return e;
    }
    if (r->keeps)
        TRY(r->work(r->worker));
    told->lost = a->round == 1 ? r->lost : 0;
    return r->inner.ask(r->inner.self, a, told);
}

static enum err run_rounds(const struct anneal_stage *s, const struct aim_options *o,
                           struct rounds *rounds, struct aim_result **result)
{
    struct plaintext_noise noise = noise_from_random(&rounds->random);
    if (rounds->quiet)
        noise = (struct plaintext_noise){NULL, support_no_noise, support_no_noise};
    struct aim_backend backend = {
        .self = rounds, .keeps = rounds->keeps, .ask = rounds_ask, .meanwhile = rounds_meanwhile};
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    OK(plaintext_new(&p, s->workload, s->table, &noise, NULL));
    rounds->inner = plaintext_backend(p);
    return aim_run(result, o, &backend, NULL);
}

static enum err run(const struct anneal_stage *s, const struct aim_options *o, uint64_t seed,
                    unsigned fail_at, struct aim_result **result)
{
    struct rounds rounds = {.seed = seed, .fail_at = fail_at};
    return run_rounds(s, o, &rounds, result);
}

TEST(annealing_follows_its_schedule)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(3000);
    struct aim_options o = options_of(&s, 0.05);
    double first = sqrt(16 * ATTRIBUTES / (2 * 0.9 * 0.05));
    unsigned lowered = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double sigma = first, epsilon = sqrt(8 * 0.1 * 0.05 / (16 * ATTRIBUTES));
        bool last = false;
        struct aim_result *a CLEAN(aim_result_free) = MADE_LAST(aim_result, run, &s, &o, seed, 0);
        assert_true(fabs(a->round[0].sigma / first - 1) < 1e-4);
        assert_true(fabs(a->round[0].cost / (ATTRIBUTES / (2 * first * first)) - 1) < 1e-4);
        for (size_t i = 1; i < a->rounds; i++) {
            const struct aim_round *r = &a->round[i];
            uint64_t cells = s.workload->query[r->query].cells;
            double left = 0.05 - r->spent;
            assert_true(fabs(r->sigma / sigma - 1) < 1e-4);
            assert_true(fabs((r->epsilon + 1e-6) / epsilon - 1) < 1e-9);
            assert_int_equal(r->last, last);
            assert_int_equal(r->last, i + 1 == a->rounds);
            if (r->moved <= sqrt(2 / M_PI) * sigma * (double)cells) {
                sigma /= sqrt(2);
                epsilon *= sqrt(2);
                lowered++;
            }
            last = left <= 2 * (1 / (2 * sigma * sigma) + epsilon * epsilon / 8);
            if (last) {
                sigma = 1 / sqrt(2 * 0.9 * left);
                epsilon = sqrt(8 * 0.1 * left);
            }
        }
        assert_true(a->round[a->rounds - 1].spent <= 0.05);
        assert_true(a->round[a->rounds - 1].spent > 0.05 * (1 - 1e-3));
        assert_true(a->rounds <= 1 + schedule_rounds_most(ATTRIBUTES, 0, true));
    }
    assert_true(lowered > 3);
}

TEST(selections_have_no_more_than_scores_have_room_for)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(3000);
    struct aim_options o = options_of(&s, 0.05);
    const double first = sqrt(8 * 0.1 * 0.05 / (16 * ATTRIBUTES));
    unsigned capped = 0;
    o.bounds.epsilon = 1.5 * first;
    struct aim_result *a CLEAN(aim_result_free) = MADE_LAST(aim_result, run, &s, &o, 1, 0);
    for (size_t i = 1; i < a->rounds; i++) {
        assert_true(a->round[i].epsilon <= o.bounds.epsilon);
        capped += a->round[i].epsilon == o.bounds.epsilon;
    }
    assert_in_range(capped, 2, a->rounds - 2);
    assert_true(a->round[a->rounds - 1].last && a->round[a->rounds - 1].spent <= 0.05);
}

/* Lost rounds may leave too little to select with in the last one: the run then ends without it. */
TEST(a_rest_that_selects_nothing_is_left)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(3000);
    struct aim_options o = options_of(&s, 0.045);
    const unsigned all = 16 * ATTRIBUTES;
    o.score = AIM_L2;
    o.bounds.bits = 24; /* the epsilon of a round is little more than squares need */
    o.stop_when_spent = true;
    o.state_file = s.path;
    o.resume = true;
    for (unsigned rest = 0; rest < 3; rest++) { /* rounds like the first that it could pay for */
        struct rounds rounds = {.seed = 1, .lost = all - ATTRIBUTES - 1 - rest};
        for (unsigned again = 0; again < 2; again++) {
            struct aim_result *a CLEAN(aim_result_free) = NULL;
            OK(run_rounds(&s, &o, &rounds, &a));
            assert_int_equal(a->rounds, rest < 2 ? 2 : 3);
            assert_true(a->round[a->rounds - 1].last);
            assert_true(a->round[a->rounds - 1].spent > 0.0439);
        }
        unlink(s.path);
    }
}

/* The schedule alone, driven by dice instead of data: exact sums stay within any budget. */
TEST(random_schedules_never_exceed_the_budget)
{
    struct random r = random_of(5);
    unsigned longest = 0;
    for (int trial = 0; trial < 3000; trial++) {
        size_t d = 1 + (size_t)random_below(&r, 30);
        bool annealed = random_below(&r, 4) > 0;
        enum ledger_accounting accounting = (enum ledger_accounting)(trial % 2);
        unsigned k = 1 + (unsigned)random_below(&r, 3);
        struct ledger_limits limits = {.rho = exp(-6 + 8 * random_double(&r)),
                                       .rows_per_person = k};
        unsigned rounds = (unsigned)random_below(&r, 40), fire = (unsigned)random_below(&r, 4);
        double rho = limits.rho / (k * k), slack = 1e-9;
        const struct schedule_terms terms = {
            accounting, annealed, rounds, d, 5 * d, random_below(&r, 100000), 0};
        struct schedule s = schedule_start(&terms, rho);
        mpq_t cost, more;
        uint64_t m;
        struct ledger *l CLEAN(ledger_free) = MADE(ledger, ledger_new, &limits, NULL);
        mpq_inits(cost, more, (mpq_ptr)NULL);
        if (measure_multiplier(s.alone, &m, NULL) == ERR_OK) {
            ledger_measure_cost(cost, m, d);
            OK(ledger_debit(l, cost, NULL));
        } else {
            s.finished = true;
        }
        while (!s.finished) {
            if (measure_multiplier(s.sigma, &m, NULL) != ERR_OK)
                break;
            ledger_measure_cost(cost, m, 1);
            OK(ledger_select_cost(more, accounting, s.epsilon - slack, slack, m));
            mpq_add(cost, cost, more);
            OK(ledger_debit(l, cost, NULL));
            schedule_next(&s, random_below(&r, 4) < fire ? 0 : 1e30, 10,
                          ledger_remaining(l) / (k * k));
            longest = s.done > longest && annealed ? s.done : longest;
            assert_true(s.done <= schedule_rounds_most(d, rounds, annealed));
        }
        if (s.finished && s.done > 0)
            assert_true(ledger_remaining(l) < 0.02 * limits.rho);
        mpq_clears(cost, more, (mpq_ptr)NULL);
    }
    assert_true(longest > 300);
}

/* Of rho = 0.5, so that a share w of it is d / sigma^2. */
static double share_of_one_ways(enum ledger_accounting accounting, bool annealed, uint64_t rows,
                                unsigned sweeps)
{
    const struct schedule_terms terms = {accounting, annealed, 10, 4, 40, rows, sweeps};
    const struct schedule s = schedule_start(&terms, 0.5);
    return 4 / (s.alone * s.alone);
}

/* And in zCDP the split stays what studies of before were promised. */
TEST(few_rows_leave_more_to_one_ways)
{
    static const struct {
        uint64_t rows;
        double fixed, annealed, sweeps;
    } is[] = {{0, 0.45, 0.45, 0.3},          {230, 0.45, 0.45, 0.3},   {250, 0.4074, 0.4074, 0.3},
              {300, 0.2829, 0.2829, 0.2829}, {450, 0.2, 0.1257, 0.15}, {100000, 0.2, 0.1, 0.15}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        assert_true(fabs(share_of_one_ways(ACCOUNTING_GAUSSIAN, false, is[i].rows, 0) -
                         is[i].fixed) < 1e-4);
        assert_true(fabs(share_of_one_ways(ACCOUNTING_GAUSSIAN, true, is[i].rows, 0) -
                         is[i].annealed) < 1e-4);
        assert_true(fabs(share_of_one_ways(ACCOUNTING_GAUSSIAN, false, is[i].rows, 2) -
                         is[i].sweeps) < 1e-4);
        assert_true(fabs(share_of_one_ways(ACCOUNTING_ZCDP, false, is[i].rows, 0) - 0.9 * 4 / 14) <
                    1e-9);
        assert_true(fabs(share_of_one_ways(ACCOUNTING_ZCDP, true, is[i].rows, 0) - 0.9 * 4 / 10) <
                    1e-9);
    }
}

static void check_same(const struct aim_result *a, const struct aim_result *b,
                       const struct anneal_stage *s)
{
    struct clique all = {ATTRIBUTES, {0, 1, 2, 3}};
    double x[120], y[120];
    assert_int_equal(a->measurements, b->measurements);
    assert_int_equal(a->rounds, b->rounds);
    assert_memory_equal(a->query, b->query, a->measurements * sizeof *a->query);
    assert_memory_equal(a->sweep, b->sweep, a->measurements * sizeof *a->sweep);
    assert_int_equal(a->sweeps, b->sweeps);
    for (size_t i = 0; i < a->sweeps; i++)
        assert_memory_equal(a->scores[i].value, b->scores[i].value,
                            a->scores[i].candidates * sizeof(double));
    for (size_t i = 0; i < a->measurements; i++)
        assert_memory_equal(a->measurement[i].y, b->measurement[i].y,
                            clique_cells(&a->measurement[i].clique, s->domain) * sizeof(double));
    for (size_t i = 0; i < a->rounds; i++) {
        const struct aim_round *p = &a->round[i], *q = &b->round[i];
        assert_true(p->loss == q->loss && p->moved == q->moved && p->spent == q->spent);
        assert_true(p->sigma == q->sigma && p->epsilon == q->epsilon && p->last == q->last);
        assert_true(p->before == q->before && p->after == q->after && p->noise == q->noise);
        assert_true(p->candidates == q->candidates && p->model_cells == q->model_cells);
        assert_true(p->asked == q->asked && p->marginals == q->marginals);
    }
    assert_true(a->loss == b->loss);
    OK(model_marginal(a->model, &all, x, NULL));
    OK(model_marginal(b->model, &all, y, NULL));
    assert_memory_equal(x, y, sizeof x);
}

TEST(a_cut_run_goes_on_as_if_nothing_had_been)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(2000);
    for (int kind = 0; kind < 3; kind++) {
        struct aim_options o = options_of(&s, 0.05);
        struct aim_result *whole, *part;
        o.annealed = kind == 1;
        o.rounds = kind < 2 ? 5 : 0;
        o.sweeps = kind == 2 ? 3 : 0;
        OK(run(&s, &o, 7, 0, &whole));
        unsigned calls = (unsigned)whole->rounds;
        o.state_file = s.path;
        o.resume = true;
        for (unsigned fail = 1; fail <= calls; fail += fail < 6 ? 1 : 3) {
            unlink(s.path);
            assert_int_equal(run(&s, &o, 7, fail, &part), ERR_PEER);
            assert_null(part);
            if (fail > 2 && fail < calls) /* cut again, one round later */
                assert_int_equal(run(&s, &o, 7, 2, &part), ERR_PEER);
            OK(run(&s, &o, 7, 0, &part));
            check_same(whole, part, &s);
            aim_result_free(&part);
        }
        OK(run(&s, &o, 7, 1, &part)); /* all done: the backend is not asked */
        check_same(whole, part, &s);
        aim_result_free(&part);
        o.limits.rho = 0.06;
        assert_int_equal(run(&s, &o, 7, 0, &part), ERR_MISMATCH);
        aim_result_free(&whole);
        unlink(s.path);
    }
}

static void crash_and_go_on(const struct anneal_stage *s, struct aim_options *o,
                            const struct aim_result *whole)
{
    o->state_file = s->path;
    o->resume = true;
    for (unsigned crash = 2; crash <= whole->rounds; crash++) {
        struct rounds rounds = {.seed = 7, .fail_at = crash, .keeps = true};
        struct aim_result *part CLEAN(aim_result_free) = NULL;
        int status;
        unlink(s->path);
        pid_t child = fork();
        if (child == 0)
            _exit(run_rounds(s, o, &rounds, &part) == ERR_OK ? 2 : 3);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(access(s->path, F_OK) == 0, crash > 2);
        rounds.fail_at = 0;
        OK(run_rounds(s, o, &rounds, &part));
        assert_int_equal(rounds.calls, whole->rounds - (crash - 2));
        check_same(whole, part, s);
    }
    unlink(s->path);
}

/* If a backend keeps requests, a crash during its work leaves the state of the round before. */
TEST(a_crash_takes_one_round_that_is_asked_again)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(2000);
    for (unsigned sweeps = 0; sweeps <= 2; sweeps += 2) {
        struct aim_options o = options_of(&s, 0.05);
        o.annealed = false;
        o.rounds = sweeps == 0 ? 4 : 0;
        o.sweeps = sweeps;
        struct aim_result *whole CLEAN(aim_result_free) = MADE_LAST(aim_result, run, &s, &o, 7, 0);
        crash_and_go_on(&s, &o, whole);
    }
}

static void note_round(void *self, const struct aim_round *r)
{
    struct bytes *shown = self;
    bytes_put_text(shown, r->name);
    bytes_put_text(shown,
                   r->marginals > 0 && r->round > 0 && r->why[0] == '\0' ? " of no reason|" : " ");
    bytes_put_text(shown, r->round > 0 ? r->why : "");
    bytes_put_text(shown, "|");
}

/*
 * A backend that keeps requests has a round shown during the next one: with its own name and
 * reasons, even where a sweep finds nothing and asks for nothing.
 */
TEST(rounds_of_sweeps_are_shown_whenever_that_is)
{
    for (unsigned k = 0; k < 2; k++) {
        struct anneal_stage s CLEAN(stage_free) = stage_new(k == 0 ? 2000 : 0);
        struct bytes shown[2] = {{0}};
        for (unsigned keeps = 0; keeps < 2; keeps++) {
            struct rounds rounds = {.seed = 7, .keeps = keeps == 1, .quiet = k == 1};
            struct aim_options o = options_of(&s, 0.05);
            struct aim_result *a CLEAN(aim_result_free) = NULL;
            o.annealed = false;
            o.sweeps = 2;
            o.progress = note_round;
            o.self = &shown[keeps];
            OK(run_rounds(&s, &o, &rounds, &a));
            assert_int_equal(a->rounds, 5);
            assert_int_equal(a->round[2].marginals > 0, k == 0);
            bytes_put_u8(&shown[keeps], 0);
            assert_null(strstr((const char *)shown[keeps].data, "no reason"));
        }
        assert_string_equal((const char *)shown[0].data, (const char *)shown[1].data);
        for (unsigned keeps = 0; keeps < 2; keeps++)
            bytes_clear(&shown[keeps]);
    }
}

/* A state that could not be written is written again, whole, when the run ends. */
TEST(a_state_that_cannot_be_written_is_tried_again)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(500);
    struct aim_options o = options_of(&s, 0.05);
    struct aim_result *whole CLEAN(aim_result_free) = NULL, *part CLEAN(aim_result_free) = NULL;
    struct rounds rounds = {.seed = 7, .keeps = true, .full = s.folder};
    o.annealed = false;
    o.rounds = 3;
    OK(run(&s, &o, 7, 0, &whole));
    o.state_file = s.path;
    o.resume = true;
    assert_int_equal(run_rounds(&s, &o, &rounds, &part), ERR_SYSTEM);
    rounds = (struct rounds){.seed = 7, .keeps = true};
    OK(run_rounds(&s, &o, &rounds, &part));
    assert_int_equal(rounds.calls, 2);
    check_same(whole, part, &s);
}

TEST(altered_states_are_refused)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(500);
    struct aim_options o = options_of(&s, 0.05);
    struct bytes text CLEAN(bytes_clear) = {0};
    o.annealed = false;
    o.rounds = 2;
    o.state_file = s.path;
    o.resume = true;
    struct aim_result *a = MADE_LAST(aim_result, run, &s, &o, 1, 0);
    aim_result_free(&a);
    OK(file_read(s.path, 1 << 20, &text, NULL));
    for (size_t i = 0; i < text.size; i += 1 + text.size / 60) {
        text.data[i] ^= 4;
        OK(file_write(s.path, 0600, text.data, text.size, NULL));
        assert_int_equal(run(&s, &o, 1, 0, &a), ERR_FORMAT);
        text.data[i] ^= 4;
    }
    OK(file_write(s.path, 0600, text.data, text.size / 2, NULL));
    assert_int_equal(run(&s, &o, 1, 0, &a), ERR_FORMAT);
}

/* --- people join ----------------------------------------------------------------------------- */

/* The counts grow tenfold, from the same distribution, before the rounds' measurements. */
struct anneal_growing {
    struct plaintext *small, *large;
    unsigned grows_at;
    bool tells;
};

static enum err growing_ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct anneal_growing *g = self;
    bool grown = a->round >= g->grows_at;
    struct aim_backend inner = plaintext_backend(grown ? g->large : g->small);
    if (g->tells)
        told->population = grown;
    return inner.ask(inner.self, a, told);
}

/*
 * Mean over seeds of the share of code 0 in the first attribute, and in its pair with the second.
 */
static void grow(const struct anneal_stage *s, bool tells, double *share, double *pair,
                 double *total)
{
    enum { SEEDS = 200 };
    static const struct clique one = {1, {0}}, two = {2, {0, 1}};
    struct aim_options o = options_of(s, 0.5);
    int64_t *counts CLEAN(memory_release) = memory_array(s->workload->cells, sizeof *counts);
    struct random r;
    struct plaintext_noise noise = noise_from_random(&r);
    struct anneal_growing g = {.grows_at = 3, .tells = tells};
    *share = *pair = *total = 0;
    OK(tabulate_closure(s->table, s->workload, counts));
    OK(plaintext_new_counts(&g.small, s->workload, counts, &noise, NULL));
    for (uint64_t i = 0; i < s->workload->cells; i++)
        counts[i] *= 10;
    OK(plaintext_new_counts(&g.large, s->workload, counts, &noise, NULL));
    o.annealed = false;
    o.rounds = 5;
    o.grows = true;
    o.bounds.bits = 16;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct aim_backend backend = {.self = &g, .ask = growing_ask};
        double x[12];
        r = random_of(seed);
        struct aim_result *a CLEAN(aim_result_free) = MADE(aim_result, aim_run, &o, &backend, NULL);
        *total += model_total(a->model) / SEEDS;
        OK(model_marginal(a->model, &one, x, NULL));
        *share += x[0] / model_total(a->model) / SEEDS;
        OK(model_marginal(a->model, &two, x, NULL));
        *pair += x[0] / model_total(a->model) / SEEDS;
    }
    plaintext_free(&g.small);
    plaintext_free(&g.large);
}

TEST(growing_populations_leave_no_bias)
{
    struct anneal_stage s CLEAN(stage_free) = stage_new(1000);
    int64_t counts[12];
    static const struct clique two = {2, {0, 1}};
    double share, pair, total, exact;
    tabulate_marginal(s.table, &two, counts);
    exact = (double)(counts[0] + counts[1] + counts[2] + counts[3]) / 1000;
    grow(&s, true, &share, &pair, &total);
    assert_true(fabs(total - 10000) < 20);
    assert_true(fabs(share - exact) < 0.002);
    assert_true(fabs(pair - (double)counts[0] / 1000) < 0.0025);
    grow(&s, false, &share, &pair, &total); /* and the test would notice totals that are mixed up */
    assert_true(fabs(total - 10000) > 1000);
}
