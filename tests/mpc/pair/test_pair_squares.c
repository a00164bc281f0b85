/* mpc/pair/squares.c: sums of squares against integers, of any words; portions; masks; the cost. */
#include "harness/cmocka.h"

#include "mpc/pair/squares.h"
#include "tests/support/pair_ends.h"

#define CELLS 9000 /* more than two portions */

struct squared_cells {
    uint64_t x[CELLS], estimate[CELLS], share[2][CELLS], out[2][6];
    struct pair_candidate candidate[2][6];
    struct pair_cost cost;
};

static const size_t sizes[] = {1, 3, 4094, 77, 4820, 5}; /* some across the ends of portions */

static void run_squares(struct squared_cells *s, struct pair *end[2])
{
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    for (int i = 0; i < 2; i++) {
        size_t cell = 0;
        for (size_t k = 0; k < 6; cell += sizes[k++])
            s->candidate[i][k] = (struct pair_candidate){sizes[k], s->share[i] + cell,
                                                         i == 0 ? s->estimate + cell : NULL, 0};
        assert_int_equal(cell, CELLS);
        OK(pair_squares_new(&run[i], end[i],
                            &(struct pair_distance){s->candidate[i], 6, 0, 1 << 10, s->out[i]}));
    }
    OK(pair_ends_matrix(run, 100000));
    OK(pair_ends_tables(run, 100000));
    s->cost = pair_run_cost(run[0]);
}

TEST(sums_of_squares_are_those_of_integers)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct squared_cells *s CLEAN(memory_release) = memory_array(1, sizeof *s);
    struct random r = random_of(1);
    uint64_t seen[2] = {0}, before[2] = {0};
    OK(pair_ends_new(end));
    for (unsigned round = 0; round < 3; round++) {
        size_t cell = 0;
        for (size_t i = 0; i < CELLS; i++) {
            s->x[i] = round == 0 ? random_below(&r, 300)
                                 : random_u64(&r); /* whatever owners send */
            s->estimate[i] = random_below(&r, 300 << 10);
            s->share[0][i] = round == 2 ? 0 : random_u64(&r);
            s->share[1][i] = s->x[i] - s->share[0][i];
        }
        run_squares(s, end);
        for (size_t k = 0; k < 6; cell += sizes[k++]) {
            uint64_t sum = 0;
            for (size_t i = cell; i < cell + sizes[k]; i++) {
                const uint64_t d = s->x[i] - ((s->estimate[i] + 512) >> 10);
                sum += d * d;
            }
            assert_int_equal(s->out[0][k] + s->out[1][k], sum);
            seen[0] |= s->out[0][k];
            seen[1] |= s->out[1][k];
        }
    }
    assert_true(seen[0] == UINT64_MAX && seen[1] == UINT64_MAX);
    for (unsigned round = 0; round < 2; round++) { /* shares are fresh, the sums the same */
        run_squares(s, end);
        assert_true(s->out[0][0] != before[0] && s->out[1][0] != before[1]);
        assert_true(round == 0 || s->out[0][0] + s->out[1][0] == before[0] + before[1]);
        before[0] = s->out[0][0];
        before[1] = s->out[1][0];
    }
    assert_int_equal(s->cost.matrix, 1024 * CELLS);
    assert_int_equal(s->cost.tables, 3 * 32 + 512 * CELLS);
}

TEST(nothing_to_square_is_refused)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct pair_run *run = NULL;
    uint64_t word = 0;
    struct pair_candidate c = {0, &word, &word, 0};
    struct pair_distance d = {&c, 1, 0, 1 << 10, &word};
    OK(pair_ends_new(end));
    assert_int_equal(pair_squares_new(&run, end[0], &d), ERR_RANGE);
    d.candidates = 0;
    assert_int_equal(pair_squares_new(&run, end[0], &d), ERR_RANGE);
}
