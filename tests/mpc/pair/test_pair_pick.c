/* mpc/pair/pick.c: the index of the largest garbled score against integers; its proof; the cost. */
#include "harness/cmocka.h"

#include "mpc/pair/pick.h"
#include "tests/support/pair_ends.h"

#define MOST 300
#define PROOF (9 * 16)

struct shared_scores {
    size_t n;
    unsigned width;
    int64_t v[MOST];
    uint64_t share[2][MOST];
    struct pair_pick pick[2];
    uint8_t proof[PROOF];
};

static void begin(struct shared_scores *s, struct pair *end[2], struct pair_run *run[2],
                  struct random *r)
{
    for (size_t i = 0; i < s->n; i++) {
        s->share[0][i] = random_u64(r);
        s->share[1][i] = (uint64_t)s->v[i] - s->share[0][i];
    }
    for (int i = 0; i < 2; i++) {
        s->pick[i] = (struct pair_pick){s->share[i], s->n, s->width, SIZE_MAX};
        OK(pair_pick_new(&run[i], end[i], &s->pick[i]));
    }
    assert_int_equal(pair_run_matrix(run[0]), pair_run_matrix(run[1]));
    assert_int_equal(pair_run_tables(run[0]), pair_run_tables(run[1]));
    OK(pair_ends_matrix(run, 1000));
    OK(pair_ends_tables(run, 1000));
    assert_int_equal(s->pick[0].index, SIZE_MAX);
    assert_true(pair_pick_proof(s->n) <= PROOF);
    OK(pair_pick_prove(run[1], s->proof));
}

static void assert_picked(struct shared_scores *s, struct pair *end[2], struct random *r)
{
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        best = s->v[i] > s->v[best] ? i : best;
    begin(s, end, run, r);
    OK(pair_pick_verify(run[0], s->proof));
    assert_int_equal(s->pick[0].index, best);
    assert_int_equal(s->pick[1].index, best);
}

static const size_t counts[] = {1, 2, 3, 4, 5, 6, 7, 9, 16, 17, 31, 55, 257};

TEST(the_largest_is_picked_at_every_width)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(1);
    OK(pair_ends_new(end));
    for (unsigned width = 2; width <= 64; width += width < 6 ? 1 : 29)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const int64_t low = INT64_MIN >> (64 - width), high = -(low + 1);
            struct shared_scores s = {.n = counts[k], .width = width};
            for (size_t i = 0; i < s.n; i++)
                s.v[i] = (const int64_t[]){low, high, (int64_t)random_u64(&r) >> (64 - width),
                                           0}[random_below(&r, 4)];
            assert_picked(&s, end, &r);
        }
}

TEST(each_place_can_win)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(2);
    OK(pair_ends_new(end));
    for (size_t n = 1; n <= 13; n++)
        for (size_t winner = 0; winner < n; winner++) {
            struct shared_scores s = {.n = n, .width = 40};
            for (size_t i = 0; i < n; i++)
                s.v[i] = i == winner ? -7 : -8;
            assert_picked(&s, end, &r);
        }
}

TEST(ties_go_to_the_lower_index)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(3);
    OK(pair_ends_new(end));
    for (size_t n = 2; n <= 9; n++)
        for (unsigned set = 1; set < 1u << n; set += 3) {
            struct shared_scores s = {.n = n, .width = 5};
            for (size_t i = 0; i < n; i++)
                s.v[i] = set >> i & 1 ? -1 : -16;
            assert_picked(&s, end, &r);
        }
}

/* --- the proof -------------------------------------------------------------------------------- */

TEST(a_false_label_is_noticed)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(4);
    OK(pair_ends_new(end));
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    struct shared_scores s = {.n = 257, .width = 31, .v[200] = 1};
    begin(&s, end, run, &r);
    for (size_t at = 0; at < 8 * PROOF; at += 7) {
        s.proof[at / 8] ^= (uint8_t)(1u << at % 8);
        assert_int_equal(pair_pick_verify(run[0], s.proof), ERR_CHEAT);
        s.proof[at / 8] ^= (uint8_t)(1u << at % 8);
    }
    OK(pair_pick_verify(run[0], s.proof));
    assert_int_equal(s.pick[0].index, 200);
}

/* What arrives altered gives no index, or the right one if what was altered did not matter. */
TEST(altered_messages_give_no_other_index)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(7);
    unsigned refused = 0;
    OK(pair_ends_new(end));
    for (unsigned k = 0; k < 61; k++) {
        struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
        struct shared_scores s = {.n = 7, .width = 12, .v = {0, 5, 3, -9, 4, 6, -1}};
        uint8_t matrix[2048], tables[8192];
        size_t sizes[2];
        for (int i = 0; i < 2; i++) {
            for (size_t c = 0; c < s.n; c++)
                s.share[i][c] = i == 0 ? 1000 * c : (uint64_t)s.v[c] - 1000 * c;
            s.pick[i] = (struct pair_pick){s.share[i], s.n, s.width, 9};
            OK(pair_pick_new(&run[i], end[i], &s.pick[i]));
        }
        sizes[0] = pair_run_matrix(run[0]);
        sizes[1] = pair_run_tables(run[0]) - 1; /* the last byte says what the index is */
        assert_true(sizes[0] <= sizeof matrix && sizes[1] < sizeof tables);
        OK(pair_send_matrix(run[1], 0, matrix, sizes[0]));
        if (k % 3 == 0 && k < 60)
            matrix[random_below(&r, sizes[0])] ^= (uint8_t)(1 + random_below(&r, 255));
        OK(pair_take_matrix(run[0], 0, matrix, sizes[0]));
        OK(pair_send_tables(run[0], 0, tables, sizes[1] + 1));
        if (k % 3 != 0)
            tables[random_below(&r, k % 3 == 1 ? 32 : sizes[1])] ^= (uint8_t)(1 + random_below(
                                                                                      &r, 255));
        tables[sizes[1]] ^= k == 60 ? 2 : 0; /* 5 of 7 becomes 7 */
        enum err e = pair_take_tables(run[1], 0, tables, sizes[1] + 1);
        e = e == ERR_OK ? pair_pick_prove(run[1], s.proof) : e;
        e = e == ERR_OK ? pair_pick_verify(run[0], s.proof) : e;
        assert_true(e == ERR_CHEAT || (e == ERR_OK && s.pick[0].index == 5 && s.pick[1].index < 7));
        refused += e == ERR_CHEAT;
    }
    assert_true(refused >= 20); /* all whose key or seed was */
}

TEST(a_proof_has_its_time_and_its_end)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(5);
    OK(pair_ends_new(end));
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    struct shared_scores s = {.n = 3, .width = 31};
    for (int i = 0; i < 2; i++) {
        s.pick[i] = (struct pair_pick){s.share[i], s.n, s.width, 0};
        OK(pair_pick_new(&run[i], end[i], &s.pick[i]));
    }
    assert_int_equal(pair_pick_prove(run[1], s.proof), ERR_MISUSE);
    assert_int_equal(pair_pick_verify(run[0], s.proof), ERR_MISUSE);
    pair_runs_free(&run);
    begin(&s, end, run, &r);
    assert_int_equal(pair_pick_prove(run[0], s.proof), ERR_MISUSE);
    assert_int_equal(pair_pick_verify(run[1], s.proof), ERR_MISUSE);
}

TEST(what_does_not_fit_is_refused)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct pair_run *run = NULL;
    struct pair_pick p = {.width = 1, .candidates = 2};
    OK(pair_ends_new(end));
    assert_int_equal(pair_pick_new(&run, end[0], &p), ERR_RANGE);
    p.width = 65;
    assert_int_equal(pair_pick_new(&run, end[0], &p), ERR_RANGE);
    p = (struct pair_pick){.width = 31};
    assert_int_equal(pair_pick_new(&run, end[0], &p), ERR_RANGE);
    p.candidates = PAIR_PICK_MOST + 1;
    assert_int_equal(pair_pick_new(&run, end[0], &p), ERR_RANGE);
}

/* --- cost ------------------------------------------------------------------------------------- */

TEST(a_pick_costs_three_ands_for_each_bit)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(6);
    OK(pair_ends_new(end));
    for (size_t k = 1; k < sizeof counts / sizeof *counts; k++) {
        struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
        struct shared_scores s = {.n = counts[k], .width = 31};
        uint64_t ands = 30 * s.n + 62 * (s.n - 1) - 31; /* the last value is not needed */
        unsigned levels = 0;
        for (size_t left = s.n; left > 1; left = (left + 1) / 2)
            ands += left / 2 * levels++;
        begin(&s, end, run, &r);
        assert_int_equal(pair_pick_proof(s.n), 16 * levels);
        assert_int_equal(pair_run_matrix(run[0]), 16 * ((31 * s.n + 127) / 128 * 128));
        assert_int_equal(pair_run_tables(run[0]), 32 + 32 * ands + (levels + 7) / 8);
        assert_int_equal(pair_run_cost(run[0]).ands, ands);
        if (s.n == 55)
            assert_int_equal(ands, 5017);
    }
}
