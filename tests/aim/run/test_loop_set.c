/* aim/run/loop_sweeps, loop_set: of which marginals scores are opened, and when one is measured. */
#include "harness/cmocka.h"
#include "tests/support/copula.h"
#include "tests/support/domain.h"

#include "aim/run/loop.h"

#define ROWS 4000
#define CODES 4
#define PAIR 7 /* the closure's index of the first: after 7 columns */

struct set_stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
    struct aim_backend inner;
    double score; /* of the first pair, in rows; the others have 0 */
    bool set;     /* whether scores are made up so */
};

/* Columns that have nothing to do with each other, evenly spread. */
static struct set_stage stage_new(unsigned columns)
{
    static const uint32_t size[] = {CODES, CODES, CODES, CODES, CODES, CODES, CODES, CODES};
    struct set_stage s = {.domain = support_domain(size, columns)};
    struct random r = random_of(1);
    OK(workload_all(&s.workload, s.domain, 3, NULL));
    OK(table_new(&s.table, s.domain, ROWS));
    for (size_t i = 0; i < ROWS; i++) {
        uint16_t c[8];
        for (unsigned a = 0; a < columns; a++)
            c[a] = (uint16_t)random_below(&r, CODES);
        OK(table_append(s.table, c));
    }
    return s;
}

static void stage_free(struct set_stage *s)
{
    table_free(&s->table);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static enum err ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct set_stage *s = self;
    TRY(s->inner.ask(s->inner.self, a, told));
    if (a->kind != ASK_SCORES || !s->set)
        return ERR_OK;
    for (uint32_t k = 0; k < a->queries; k++)
        told->value[k] = a->query[k] == PAIR ? (int64_t)(s->score * (double)a->multiplier) : 0;
    return ERR_OK;
}

static struct aim_options options_of(const struct set_stage *s, double rho, unsigned sweeps)
{
    static const uint16_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .limits = {.rho = rho, .epsilon_slack = 1},
                                .accounting = ACCOUNTING_GAUSSIAN,
                                .rows = 1000000, /* one-ways have 15 % */
                                .sweeps = sweeps,
                                .bounds = {.bits = 13},
                                .apart = all,
                                .apart_columns = s->domain->attributes,
                                .fit_round = 20,
                                .fit_final = 20};
}

static struct aim_result *run(struct set_stage *s, const struct aim_options *o)
{
    struct random r = random_of(7);
    struct plaintext_noise noise = noise_from_random(&r);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    const struct aim_backend backend = {.self = s, .ask = ask};
    OK(plaintext_new(&p, s->workload, s->table, &noise, NULL));
    s->inner = plaintext_backend(p);
    struct aim_result *result = MADE(aim_result, aim_run, o, &backend, NULL);
    return result;
}

static size_t columns_most(const struct set_stage *s, const struct aim_scores *scores)
{
    size_t most = 0;
    for (size_t k = 0; k < scores->candidates; k++) {
        const unsigned n = s->workload->query[scores->query[k]].clique.n;
        most = n > most ? n : most;
    }
    return most;
}

/* 7 columns, 21 pairs, 35 triples: noise of all 63 at 3 % of the rows decides, in each sweep. */
TEST(scores_that_noise_would_hide_are_not_opened)
{
    struct set_stage s CLEAN(stage_free) = stage_new(7);
    const double share = 0.85 * 0.1 / 3, all = 63. / 2 / pow(SCHEDULE_CLEAR * ROWS, 2) / share;
    for (unsigned k = 0; k < 3; k++) {
        static const double times[] = {0.4, 0.9, 1.1}; /* the second sweep has twice as much */
        static const size_t columns[][2] = {{2, 2}, {2, 3}, {3, 3}};
        const struct aim_options o = options_of(&s, times[k] * all, 2);
        struct aim_result *result CLEAN(aim_result_free) = run(&s, &o);
        for (unsigned i = 0; i < 2; i++) {
            const struct aim_scores *scores = &result->scores[i];
            const bool pairs = columns[k][i] == 2;
            assert_int_equal(columns_most(&s, scores), columns[k][i]);
            assert_int_equal(scores->candidates, pairs ? 28 : 63);
        }
        assert_true(
            fabs(result->scores[0].sigma / sqrt((k < 2 ? 28 : 63) / (2 * share * o.limits.rho)) -
                 1) < 0.02);
        assert_true(result->round[result->rounds - 1].spent > 0.999 * o.limits.rho);
    }
}

/* Of 5 columns pairs are more than half: leaving out triples would not make scores much better. */
TEST(few_triples_are_scored_whatever_the_noise)
{
    struct set_stage s CLEAN(stage_free) = stage_new(5);
    const struct aim_options o = options_of(&s, 1e-3, 1);
    struct aim_result *result CLEAN(aim_result_free) = run(&s, &o);
    assert_true(result->scores[0].sigma > SCHEDULE_CLEAR * ROWS);
    assert_int_equal(result->scores[0].candidates, 25);
}

/* A pair is measured if its score is above the noise that this adds by 0.3 of the deviation. */
TEST(scores_are_doubted)
{
    struct set_stage s CLEAN(stage_free) = stage_new(7);
    const double rho = 0.02, left = 0.85 * rho;
    const double noise = 0.7 * sqrt(2 / M_PI) * CODES * CODES / sqrt(2 * 0.9 * left),
                 deviation = sqrt(28 / (2 * 0.1 * left));
    s.set = true;
    for (unsigned k = 0; k < 2; k++) {
        const struct aim_options o = options_of(&s, rho, 1);
        s.score = noise + (k == 0 ? 0.25 : 0.35) * deviation;
        struct aim_result *result CLEAN(aim_result_free) = run(&s, &o);
        assert_int_equal(result->scores[0].candidates, 28);
        assert_int_equal(result->measurements, k == 0 ? 14 : 8); /* or the one-ways once more */
        assert_int_equal(result->query[7], k == 0 ? 0 : PAIR);
    }
}
