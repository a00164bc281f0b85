/*
 * mpc/check_matrix.h: claims of matrix products against their definition in plain numbers, and what
 * they find.
 */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/check_matrix.h"
#include "tests/support_three.h"

#include <string.h>

#define SIDES 5
#define PLANS 5
#define TILES 2
#define SIZE(array) (sizeof(array) / sizeof *(array))

static const size_t rows[SIDES] = {3, 70, 1, 4, 2}, columns[TILES] = {67, 5};
static const struct check_pair plans[PLANS] = {{0, 1}, {1, 2}, {3, 0}, {4, 3}, {4, 1}};
#define CELLS (3 * 70 + 70 + 4 * 3 + 2 * 4 + 2 * 70)
#define WORDS ((3 + 70 + 1 + 4 + 2) * (67 + 5))

/* Sharings of sides and of z, by component; and how each server sees them. */
struct scene {
    uint16_t x[3][WORDS], z[3][CELLS];
    struct party party[3];
    struct share16 side[3][TILES][SIDES];
    struct check_tile tile[3][TILES];
    struct check_matrices m[3];
    struct check_plans plans[3];
    struct check_folded sums[3];
    word128 claim[3][MATRIX_CLAIMS];
    uint16_t wanted[3][2][MATRIX_CLAIMS];
};

static size_t word_of(size_t tile, size_t side, size_t row, size_t column)
{
    size_t at = tile == 0 ? 0 : WORDS / 72 * 67;
    for (size_t k = 0; k < side; k++)
        at += rows[k] * columns[tile];
    return at + row * columns[tile] + column;
}

static uint16_t value(const struct scene *s, size_t at)
{
    return (uint16_t)(s->x[0][at] + s->x[1][at] + s->x[2][at]);
}

/* z as it must be, in component 0 what the others leave. */
static void share_sums(struct scene *s)
{
    size_t at = 0;
    for (size_t k = 0; k < PLANS; k++)
        for (size_t v = 0; v < rows[plans[k].left]; v++)
            for (size_t w = 0; w < rows[plans[k].right]; w++, at++) {
                uint64_t sum = 0;
                for (size_t tile = 0; tile < TILES; tile++)
                    for (size_t c = 0; c < columns[tile]; c++)
                        sum += (uint64_t)2 * value(s, word_of(tile, plans[k].left, v, c)) *
                               value(s, word_of(tile, plans[k].right, w, c));
                s->z[0][at] = (uint16_t)(sum - s->z[1][at] - s->z[2][at]);
            }
    assert_int_equal(at, CELLS);
}

static void see(struct scene *s, unsigned i)
{
    const unsigned next = (i + 1) % 3;
    for (size_t tile = 0; tile < TILES; tile++) {
        for (size_t side = 0; side < SIDES; side++) {
            const size_t at = word_of(tile, side, 0, 0);
            s->side[i][tile][side] = (struct share16){s->x[i] + at, s->x[next] + at,
                                                      rows[side] * columns[tile]};
        }
        s->tile[i][tile] = (struct check_tile){columns[tile], s->side[i][tile]};
    }
    s->plans[i] = (struct check_plans){.rows = rows, .sides = SIDES, .pair = plans, .pairs = PLANS};
    s->m[i] = (struct check_matrices){
        &s->plans[i], s->tile[i], TILES, {s->z[i], s->z[next], CELLS}};
    s->party[i] = (struct party){.index = i, .kernel = kernel_best(NULL), .scratch = scratch_new()};
    assert_non_null(s->party[i].scratch);
}

static struct scene *scene_new(void)
{
    struct scene *s = memory_array(1, sizeof *s);
    uint64_t seed = 11;
    assert_non_null(s);
    for (unsigned k = 0; k < 3; k++) {
        for (size_t i = 0; i < WORDS; i++)
            s->x[k][i] = (uint16_t)three_random(&seed);
        for (size_t i = 0; i < CELLS; i++)
            s->z[k][i] = (uint16_t)three_random(&seed);
    }
    memset(s->x[1], 0xff, sizeof *s->x); /* the largest sums there can be */
    share_sums(s);
    for (unsigned i = 0; i < 3; i++)
        see(s, i);
    return s;
}

static void scene_free(struct scene **s)
{
    for (unsigned i = 0; i < 3; i++)
        scratch_free(&(*s)->party[i].scratch);
    memory_free(s);
}

static void claim(struct scene *s)
{
    static const uint8_t key[16] = {5};
    for (unsigned i = 0; i < 3; i++) {
        struct party *p = &s->party[i];
        struct prg *weights;
        assert_int_equal(prg_new(&weights, key), ERR_OK);
        assert_int_equal(check_plans(p, &s->plans[i]), ERR_OK);
        assert_int_equal(check_matrix_weigh(p, &s->sums[i], &s->m[i], weights), ERR_OK);
        assert_int_equal(check_matrix_claims(p, &s->sums[i], s->claim[i]), ERR_OK);
        assert_int_equal(check_matrix_wanted(p, &s->sums[i], s->wanted[i]), ERR_OK);
        prg_free(&weights);
    }
}

/* Whether the claims are, modulo 2^16, what they have to be. */
static bool fit(struct scene *s)
{
    bool all = true;
    claim(s);
    for (unsigned t = 0; t < MATRIX_CLAIMS; t++) {
        uint16_t off = 0;
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(s->wanted[i][1][t], s->wanted[(i + 1) % 3][0][t]);
            off = (uint16_t)(off + s->claim[i][t] - s->wanted[i][0][t]);
        }
        all = all && off == 0;
    }
    return all;
}

/* --- definition ------------------------------------------------------------------------------- */

/* Coefficient t of the weighed sum of a component of rows, of the sides that `chosen` has. */
static uint16_t folded(const struct scene *s, const bool chosen[SIDES], unsigned k, size_t tile,
                       size_t column, unsigned t)
{
    uint16_t sum = 0;
    for (size_t side = 0; side < SIDES; side++)
        for (size_t v = 0; chosen[side] && v < rows[side]; v++)
            if (s->sums[0].weight[side][v] >> t & 1)
                sum = (uint16_t)(sum + s->x[k][word_of(tile, side, v, column)]);
    return sum;
}

/* The sides that meet a left one. */
static void meet(const struct check_plans *m, size_t left, bool met[SIDES])
{
    memset(met, 0, SIDES * sizeof *met);
    for (size_t k = 0; k < PLANS; k++)
        if (m->from[k] == left)
            met[m->to[k]] = true;
}

static void add_column(const struct scene *s, const bool is_left[SIDES], const bool met[SIDES],
                       size_t tile, size_t column, word128 sum[MATRIX_CLAIMS])
{
    uint64_t f[KERNEL_ROWS] = {0}, g[KERNEL_ROWS] = {0};
    for (unsigned t = 0; t < KERNEL_ROWS; t++)
        for (unsigned k = 0; k < 3; k++) {
            f[t] += folded(s, is_left, k, tile, column, t);
            g[t] += folded(s, met, k, tile, column, t);
        }
    for (unsigned t = 0; t < KERNEL_ROWS; t++)
        for (unsigned u = 0; u < KERNEL_ROWS; u++)
            sum[t + u] += (word128)(2 * f[t] * g[u]);
}

static void claims_are_sums_of_whole_numbers(void **state)
{
    struct scene *s = scene_new();
    word128 sum[MATRIX_CLAIMS] = {0};
    (void)state;
    claim(s);
    for (size_t l = 0; l < s->plans[0].lefts; l++) {
        bool is_left[SIDES] = {false}, met[SIDES];
        is_left[s->plans[0].left[l]] = true;
        meet(&s->plans[0], l, met);
        for (size_t tile = 0; tile < TILES; tile++)
            for (size_t c = 0; c < columns[tile]; c++)
                add_column(s, is_left, met, tile, c, sum);
    }
    for (unsigned t = 0; t < MATRIX_CLAIMS; t++)
        assert_true(sum[t] == s->claim[0][t] + s->claim[1][t] + s->claim[2][t]);
    scene_free(&s);
}

/* --- what is found ---------------------------------------------------------------------------- */

static void right_sums_fit(void **state)
{
    struct scene *s = scene_new();
    (void)state;
    assert_true(fit(s));
    assert_int_equal(s->plans[0].lefts, 2); /* 1 and 3: each plan has one of them */
    scene_free(&s);
}

struct error {
    size_t cell;
    uint16_t by;
};

/* Wherever they stand, and where they cancel out in sums of rows, of columns and of plans. */
static void wrong_sums_do_not(void **state)
{
    static const struct error errors[][4] = {
        {{0, 1}},
        {{CELLS - 1, 1 << 15}},
        {{209, 1 << 15}, {210, 1 << 15}},
        {{0, 1}, {1, UINT16_MAX}, {70, UINT16_MAX}, {71, 1}},
        {{5, 1 << 14}, {6, 1 << 14}, {7, 1 << 15}},
        {{280, 7}, {292, (uint16_t)-7}},
    };
    (void)state;
    for (size_t e = 0; e < SIZE(errors); e++)
        for (unsigned k = 0; k < 3; k++) {
            struct scene *s = scene_new();
            for (size_t i = 0; i < SIZE(errors[e]); i++)
                s->z[k][errors[e][i].cell] = (uint16_t)(s->z[k][errors[e][i].cell] +
                                                        errors[e][i].by);
            assert_false(fit(s));
            scene_free(&s);
        }
}

/* A component of a side that one of its holders has altered after the sums were made. */
static void wrong_sides_do_not(void **state)
{
    (void)state;
    for (size_t side = 0; side < SIDES; side++) {
        struct scene *s = scene_new();
        s->x[1][word_of(1, side, rows[side] - 1, 4)] += 1;
        assert_false(fit(s));
        scene_free(&s);
    }
}

static void sides_meet_once(void **state)
{
    static const struct check_pair wrong[][2] = {
        {{0, 1}, {0, 1}}, {{0, 1}, {1, 0}}, {{2, 3}, {4, 4}}, {{0, 5}, {0, 1}}};
    struct scene *s = scene_new();
    (void)state;
    for (size_t k = 0; k < SIZE(wrong); k++) {
        s->plans[0].pair = wrong[k];
        s->plans[0].pairs = 2;
        assert_int_equal(check_plans(&s->party[0], &s->plans[0]), ERR_MISUSE);
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_sums_of_whole_numbers),
        cmocka_unit_test(right_sums_fit),
        cmocka_unit_test(wrong_sums_do_not),
        cmocka_unit_test(wrong_sides_do_not),
        cmocka_unit_test(sides_meet_once),
    };
    return THREE_EACH_KERNEL(tests);
}
