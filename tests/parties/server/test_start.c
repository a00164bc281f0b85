/* parties/server/start: what a run may pay for first, given what was paid before and by whom. */
#include "tests/support/stores.h"

#include "parties/exchange/price.h"
#include "parties/server/start.h"

static const char *const part[] = {"    max_rows: 9\n    batch: x\n    columns: [a]\n",
                                   "    max_rows: 9\n    batch: x\n    columns: [b]\n"};
static const struct study_options looking = {
    .owners = 2,
    .domain = "domain:\n  - {name: a, kind: integer, min: 0, max: 3}\n"
              "  - {name: b, kind: integer, min: 0, max: 3}\n",
    .workload = "{all: 2}",
    .part = part,
    .link = "{min_linked: 5, look: 0.5}"};

/* A debit of run `run` by the study's analyst; `by` replaces its key. */
static void pay(struct stores_bench *b, uint8_t run, uint32_t sequence, bool look,
                const uint8_t *by)
{
    struct store_round r = round_of(run, sequence);
    memcpy(r.analyst, by != NULL ? by : b->s.study->analyst[0].key.sign, sizeof r.analyst);
    if (look)
        r.stake.count[NOISE_GAUSS] = 1;
    OK(debit(b->store[0], &r, 1));
}

/* What the servers say to run `run` that asks for the plan's look, or its one-ways; or for less. */
static enum err asks(struct stores_bench *b, uint8_t run, uint32_t sequence, bool look, double left)
{
    struct study *study = b->s.study;
    struct study planned = *study;
    struct price_first first;
    struct request r CLEAN(request_clear) = {.sequence = sequence,
                                             .ask.kind = look ? ASK_LOOK : ASK_MEASURE};
    planned.left = left;
    OK(price_first(&planned, &first));
    memset(r.run, run, sizeof r.run);
    r.ask.multiplier = look ? first.look : first.one_ways;
    r.ask.queries = look ? 0 : (uint32_t)study->workload->one_ways;
    r.ask.query = memory_array(r.ask.queries, sizeof *r.ask.query);
    for (uint32_t k = 0; k < r.ask.queries; k++)
        r.ask.query[k] = k;
    enum err e = start_allows(b->store[0], study, &r, &quiet);
    for (unsigned k = 0; k < 2 && e == ERR_OK; k++) { /* less noise, and more */
        r.ask.multiplier += k == 0 ? 1 : (uint64_t)-2;
        assert_int_equal(start_allows(b->store[0], study, &r, &quiet), ERR_REFUSED);
    }
    return e;
}

TEST(looks_come_first_and_leave_the_budget_to_others)
{
    struct stores_bench b CLEAN(bench_free) = bench_of(&looking);
    assert_int_equal(asks(&b, 1, 0, false, 0), ERR_REFUSED);
    for (uint8_t run = 1; run <= LOOK_TRIES; run++) {
        OK(asks(&b, run, 0, true, 0));
        pay(&b, run, 0, true, NULL);
        OK(asks(&b, run, 1, true, 0)); /* the first was lost */
        OK(asks(&b, run, 1, false, 0));
    }
    assert_int_equal(asks(&b, 9, 0, true, 0), ERR_REFUSED); /* all are taken */
    assert_int_equal(asks(&b, 9, 0, false, 97), ERR_REFUSED);
    pay(&b, 2, 1, false, NULL); /* one of them goes on, and the budget is its own */
    assert_int_equal(asks(&b, 3, 1, false, 0), ERR_REFUSED);
}

/* Once the roster leaves out all who paid, a run begins with what is left, without a look. */
TEST(what_is_left_is_for_others_once_the_roster_leaves_out_who_paid)
{
    static const uint8_t gone[32] = {1}, nobody[32] = {0};
    struct stores_bench b CLEAN(bench_free) = bench_of(&looking);
    struct start start;
    pay(&b, 1, 0, true, gone);
    OK(asks(&b, 9, 0, true, 0));
    pay(&b, 1, 1, false, gone);
    assert_int_equal(asks(&b, 9, 0, true, 0), ERR_REFUSED);
    OK(asks(&b, 9, 0, false, 98));
    OK(start_of(&start, b.store[0], b.s.study, round_of(9, 0).run));
    assert_true(start.may && start.left > 97.9 && start.left <= 98);
    pay(&b, 9, 0, false, NULL);
    pay(&b, 9, 1, false, NULL);
    OK(start_of(&start, b.store[0], b.s.study, round_of(9, 0).run));
    assert_true(start.may && start.begun && start.left > 97.9); /* it began with that */
    assert_int_equal(asks(&b, 8, 0, false, 96), ERR_REFUSED);
    OK(start_of(&start, b.store[0], b.s.study, round_of(8, 0).run));
    assert_string_equal(start.owner, b.s.study->analyst[0].name);
    pay(&b, 7, 0, false, nobody); /* as before ledgers noted who paid */
    b.s.study->analysts = 0;
    assert_int_equal(asks(&b, 8, 0, false, 95), ERR_REFUSED);
}

TEST(a_copula_begins_with_its_share)
{
    struct stores_bench b CLEAN(bench_free) = bench_of(
        &(const struct study_options){.owners = 2, .copula = "method: copula\n"});
    OK(asks(&b, 1, 0, false, 0));
    pay(&b, 1, 0, false, NULL);
    assert_int_equal(asks(&b, 2, 0, false, 99), ERR_REFUSED);
}
