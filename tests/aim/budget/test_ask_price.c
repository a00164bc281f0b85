/*
 * What requests cost, computed here anew and in another way: from how far one row, or a person's
 * rows, move what is opened.
 */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/budget/budget.h"
#include "aim/run/ask.h"

#define QUERIES 14 /* of four columns, up to three at a time */

struct pricing {
    struct domain *domain;
    struct workload *workload;
    uint32_t query[QUERIES];
    int64_t weight[2 * 141]; /* of measured marginals; or factors and groups */
    struct ask ask;
    struct ask_terms terms;
    mpq_t moved; /* squared, by one row, in all that is measured; over 2^40 */
    double things, candidates;
};

static void pricing_end(struct pricing *x)
{
    mpq_clear(x->moved);
    workload_free(&x->workload);
    domain_free(&x->domain);
}

static struct pricing pricing_start(void)
{
    static const uint32_t size[] = {2, 7, 32, 100};
    struct pricing x = {.domain = support_domain(size, 4)};
    OK(workload_all(&x.workload, x.domain, 3, NULL));
    assert_int_equal(x.workload->queries, QUERIES);
    mpq_init(x.moved);
    return x;
}

/* A row moves this one by so much. */
static void moves(struct pricing *x, uint64_t by)
{
    mpq_t square;
    mpq_init(square);
    mpq_set_ui(square, by, 1);
    mpq_mul(square, square, square);
    mpq_add(x->moved, x->moved, square);
    mpq_clear(square);
}

static void draw_queries(struct pricing *x, struct random *r)
{
    for (uint32_t q = 0; q < QUERIES; q++)
        if (random_u64(r) & 1 || (x->ask.queries == 0 && q + 1 == QUERIES))
            x->query[x->ask.queries++] = q;
    x->ask.query = x->query;
}

/* Of each pair of columns a row moves one form, by the product of its codes' factors. */
static void draw_forms(struct pricing *x, struct random *r)
{
    int64_t largest[4] = {0};
    for (unsigned i = 0, at = 0; i < 4; i++)
        for (uint32_t a = 0; a < x->domain->attribute[i].size; a++, at++) {
            x->weight[at] = (int64_t)random_below(r, 2001) - 1000;
            largest[i] = llabs(x->weight[at]) > largest[i] ? llabs(x->weight[at]) : largest[i];
        }
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = i + 1; j < 4; j++)
            moves(x, (uint64_t)(largest[i] * largest[j]));
    x->ask.weights = 2 * 141;
    x->things = 6;
}

static void draw_ask(struct pricing *x, struct random *r)
{
    static const enum ask_kind kinds[] = {ASK_MEASURE, ASK_SELECT, ASK_FORMS, ASK_LOOK, ASK_SCORES};
    const uint64_t m = 256 + random_below(r, 1 << 20);
    memset(x->weight, 0, sizeof x->weight);
    mpq_set_ui(x->moved, 0, 1);
    x->ask = (struct ask){.kind = kinds[random_below(r, 5)], .weight = x->weight};
    x->candidates = 0;
    if (x->ask.kind == ASK_FORMS) {
        draw_forms(x, r);
        return;
    }
    if (x->ask.kind != ASK_LOOK)
        draw_queries(x, r);
    x->ask.multiplier = m;
    x->things = x->ask.kind == ASK_LOOK || x->ask.kind == ASK_SELECT ? 1 : x->ask.queries;
    for (uint32_t k = 0; k < x->things; k++)
        moves(x, m);
    if (x->ask.kind == ASK_SELECT) {
        x->ask.epsilon = exp(-3 + 4 * random_double(r));
        x->ask.sigma = 10;
        x->candidates = x->ask.queries;
    }
    if (x->ask.kind != ASK_MEASURE || random_u64(r) & 1)
        return;
    x->ask.multiplier = 0; /* each has its own */
    mpq_set_ui(x->moved, 0, 1);
    for (uint32_t k = 0; k < x->ask.queries; k++) {
        x->weight[k] = 256 + (int64_t)random_below(r, 1 << 20);
        moves(x, (uint64_t)x->weight[k]);
    }
    x->ask.weights = x->ask.queries;
}

static void draw_terms(struct pricing *x, struct random *r)
{
    x->terms = (struct ask_terms){
        .domain = x->domain,
        .workload = x->workload,
        .bounds = {.bits = 16},
        .slack = {.marginal = 1e-7 * random_double(r),
                  .select = 1e-6 * random_double(r),
                  .measured = {1 + random_double(r), 1e-18 * random_double(r)},
                  .candidate = {1 + random_double(r), 1e-18 * random_double(r)}},
        .accounting = random_u64(r) & 1 ? ACCOUNTING_GAUSSIAN : ACCOUNTING_ZCDP};
}

/* range^2 / 8; in Gaussian terms over the greater of 1 - that / measuring and 2 / pi. */
static void selecting(const struct pricing *x, mpq_t cost, mpq_t most)
{
    mpq_t part, other;
    mpq_inits(part, other, (mpq_ptr)NULL);
    mpq_set_d(cost, x->ask.epsilon);
    mpq_set_d(part, x->terms.slack.select);
    mpq_add(cost, cost, part);
    mpq_mul(cost, cost, cost);
    mpq_set_ui(part, 8, 1);
    mpq_div(cost, cost, part);
    mpq_set(most, cost);
    if (x->terms.accounting == ACCOUNTING_GAUSSIAN) {
        mpq_set_ui(part, 1, 1);
        mpq_mul_2exp(other, cost, 41);
        mpq_div(other, other, x->moved);
        mpq_sub(part, part, other);
        mpq_set_d(other, 2 / M_PI - 1e-7); /* 226/355 is between that and 2 / pi */
        mpq_div(most, cost, mpq_cmp(part, other) > 0 ? part : other);
        mpq_set_d(other, 2 / M_PI);
        mpq_div(cost, cost, mpq_cmp(part, other) > 0 ? part : other);
        mpq_set_ui(other, 1, 1);
        mpq_div_2exp(other, other, 128);
        mpq_add(most, most, other);
    }
    mpq_clears(part, other, (mpq_ptr)NULL);
}

static void close_to(double x, double y)
{
    assert_true(x >= y * (1 - 1e-14) && x <= y * (1 + 1e-14));
}

static void check(const struct pricing *x, const struct ask_price *p)
{
    const struct ask_slack *s = &x->terms.slack;
    mpq_t least, most, measured;
    mpq_inits(least, most, measured, (mpq_ptr)NULL);
    mpq_div_2exp(measured, x->moved, 41);
    assert_int_equal(mpq_cmp(p->measuring, measured), 0);
    if (x->ask.kind == ASK_SELECT)
        selecting(x, least, most);
    mpq_add(least, least, measured);
    mpq_add(most, most, measured);
    assert_true(mpq_cmp(p->cost, least) >= 0 && mpq_cmp(p->cost, most) <= 0);
    close_to(p->epsilon_slack, x->things * s->marginal);
    close_to(p->delta_slack, x->things * s->measured.factor * s->measured.tau +
                                 x->candidates * s->candidate.factor * s->candidate.tau);
    mpq_clears(least, most, measured, (mpq_ptr)NULL);
}

/* Just enough for k rows a person, and then too little by any of the three. */
static void debit(const struct ask_price *p, unsigned k)
{
    const double rho = mpq_get_d(p->cost) * k * k;
    const struct ledger_limits enough = {.rho = rho * (1 + 1e-14),
                                         .rows_per_person = k,
                                         .epsilon_slack = p->epsilon_slack * k * (1 + 1e-14),
                                         .delta_slack = p->delta_slack * k * (1 + 1e-14)};
    for (unsigned lack = 0; lack < 4; lack++) {
        struct ledger_limits limits = enough;
        limits.rho *= lack == 1 ? 1 - 1e-12 : 1;
        limits.epsilon_slack *= lack == 2 ? 1 - 1e-12 : 1;
        limits.delta_slack *= lack == 3 ? 1 - 1e-12 : 1;
        struct ledger *l CLEAN(ledger_free) = MADE(ledger, ledger_new, &limits, NULL);
        assert_int_equal(ask_debit(p, 1, l, NULL), lack == 0 ? ERR_OK : ERR_BUDGET);
    }
}

TEST(requests_cost_what_a_row_moves)
{
    struct pricing x CLEAN(pricing_end) = pricing_start();
    struct random r = random_of(31);
    unsigned checked = 0;
    for (int run = 0; run < 500; run++) {
        struct ask_price p CLEAN(ask_price_clear);
        ask_price_new(&p);
        draw_ask(&x, &r);
        draw_terms(&x, &r);
        if (ask_price(&p, &x.ask, &x.terms, NULL) != ERR_OK)
            continue; /* a selection that has no plan */
        check(&x, &p);
        debit(&p, 1 + (unsigned)random_below(&r, 120));
        checked++;
    }
    assert_true(checked > 300);
}
