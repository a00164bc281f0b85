/*
 * mpc/circuits/below.c: comparisons with public constants against plain ones, at every width, for
 * the constants of the coins, for runs of digits and random ones; their cost, and how it compares
 * with comparisons that know nothing of constants.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/circuits/below.h"
#include "protocols/discrete.h"
#include "protocols/exponential.h"

#define LANES 200
#define CONSTANTS_MAX 80

struct below {
    unsigned width, constants;
    uint64_t constant[CONSTANTS_MAX];
    uint64_t u[CONSTANTS_MAX][LANES];
    struct three_result out[CONSTANTS_MAX];
    struct three_costs costs;
};

static enum err run(struct party *p, void *shared)
{
    struct below *b = shared;
    struct planes digits CLEAN(planes_free) = {0}, out CLEAN(planes_free) = {0};
    unsigned positions = 0, at = 0;
    for (unsigned c = 0; c < b->constants; c++)
        positions += below_positions(b->constant[c], b->width);
    TRY(planes_new(&digits, positions, LANES));
    TRY(planes_new(&out, b->constants, LANES));
    for (unsigned c = 0; c < b->constants; c++) {
        const unsigned seen = below_positions(b->constant[c], b->width);
        struct planes u, to = planes_view(&digits, at, seen), from;
        TRY(three_share_planes(p, &u, b->u[c], LANES, b->width, c));
        from = planes_view(&u, b->width - seen, seen);
        bits_not(p, planes_flat(&to), planes_flat(&from));
        at += seen;
        planes_free(&u);
    }
    TRY(below_constants(p, &out, &digits, b->width, b->constant));
    for (unsigned c = 0; c < b->constants; c++) {
        const struct planes one = planes_view(&out, c, 1);
        three_put_planes(&b->out[c], p, &one);
    }
    return ERR_OK;
}

/* Lanes near the constant first, then random ones. */
static void choose_lanes(struct below *b, unsigned c, uint64_t *state)
{
    const uint64_t mask = b->width < 64 ? ((uint64_t)1 << b->width) - 1 : UINT64_MAX;
    for (size_t i = 0; i < LANES; i++) {
        uint64_t r = three_random(state);
        if (i < 5)
            b->u[c][i] = b->constant[c] + i - 2;
        else if (i < 100) /* differs in one digit, or in the bits below it */
            b->u[c][i] = b->constant[c] ^ (r >> 6 >> (r % 64)) ^ ((uint64_t)1 << (i % b->width));
        else
            b->u[c][i] = r;
        b->u[c][i] &= mask;
    }
}

static void check(struct below *b)
{
    uint64_t state = b->width, ands = 0, rounds = 0;
    for (unsigned c = 0; c < b->constants; c++) {
        choose_lanes(b, c, &state);
        OK(three_result_new(&b->out[c], LANES));
        ands += below_ands(b->constant[c], b->width);
        if (log2_ceil(below_positions(b->constant[c], b->width)) > rounds)
            rounds = log2_ceil(below_positions(b->constant[c], b->width));
    }
    OK(three_run(b->width, run, b, &b->costs));
    for (unsigned c = 0; c < b->constants; c++) {
        assert_true(three_replicated(&b->out[c], 1));
        for (size_t i = 0; i < LANES; i++)
            assert_int_equal((uint64_t)three_xor(&b->out[c], i), b->u[c][i] < b->constant[c]);
        three_result_free(&b->out[c]);
    }
    assert_int_equal(b->costs.rounds, rounds);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(b->costs.sent[i], ands * bits_words(LANES) * 8);
}

TEST(constants_of_every_width_are_compared)
{
    struct below *b CLEAN(memory_release) = memory_array(1, sizeof *b);
    for (unsigned width = 1; width <= 64; width++) {
        const uint64_t mask = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
        uint64_t r = width;
        b->width = width;
        b->constants = 24;
        for (unsigned c = 0; c < b->constants; c++) {
            const unsigned k = c % width;
            const uint64_t some[] = {c,         (uint64_t)1 << k,        mask >> k,
                                     mask << k, mask ^ (uint64_t)1 << k, three_random(&r)};
            b->constant[c] = some[c % 6] & mask;
        }
        check(b);
    }
}

TEST(coins_are_compared_for_half_the_cost)
{
    static const struct {
        const uint64_t *constant;
        unsigned constants, ands;
    } coins[] = {{exponential_coin, EXPONENTIAL_COINS, EXPONENTIAL_ANDS},
                 {discrete_coin, DISCRETE_SQUARE_BITS, DISCRETE_ACCEPT_ANDS}};
    struct below *b CLEAN(memory_release) = memory_array(1, sizeof *b);
    for (size_t k = 0; k < sizeof coins / sizeof *coins; k++) {
        uint64_t ands = 0;
        b->width = 64;
        b->constants = coins[k].constants;
        memcpy(b->constant, coins[k].constant, b->constants * sizeof *b->constant);
        check(b);
        for (unsigned c = 0; c < b->constants; c++)
            ands += below_ands(b->constant[c], 64);
        assert_int_equal(ands, coins[k].ands);
        assert_true(2 * ands < 120 * b->constants); /* a carry takes 120 each */
    }
}
