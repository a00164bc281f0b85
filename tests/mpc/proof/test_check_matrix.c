/*
 * mpc/check/check_matrix.h: claims of matrix products against their definition in plain numbers,
 * and the errors they find.
 */
#include "harness/cmocka.h"

#include "mpc/check/check_matrix.h"
#include "mpc/check/check_private.h"
#include "tests/support/check.h"

#define SIDES 5
#define PLANS 5
#define TILES 2
#define SIZE(array) (sizeof(array) / sizeof *(array))

/* Factors come after the sides; 0 and 2 make side 1, 1 and 1 make side 3. */
#define FACTORS 3
static const size_t rows[SIDES + FACTORS] = {3, 70, 1, 4, 2, 10, 2, 7}, columns[TILES] = {128, 64};
static const struct check_made mades[] = {{0, 2, 1}, {1, 1, 3}};
static const struct check_pair plans[PLANS] = {{0, 1}, {1, 2}, {3, 0}, {4, 3}, {4, 1}};
#define CELLS (3 * 70 + 70 + 4 * 3 + 2 * 4 + 2 * 70)
#define ROWS (3 + 70 + 1 + 4 + 2 + 10 + 2 + 7)
#define WORDS (ROWS * (128 + 64))

/* Sharings of sides and of z, by component; and each server's view of them. */
struct check_matrix_scene {
    uint16_t x[3][WORDS], z[3][TILES * CELLS];
    struct party party[3];
    struct share16 side[3][TILES][SIDES + FACTORS];
    struct check_tile tile[3][TILES];
    struct check_matrices m[3];
    struct check_plans plans[3];
    struct check_folded folded[3];
    word128 claim[3][MATRIX_CLAIMS];
};

static size_t word_of(size_t tile, size_t side, size_t row, size_t column)
{
    size_t at = tile == 0 ? 0 : ROWS * columns[0];
    for (size_t k = 0; k < side; k++)
        at += rows[k] * columns[tile];
    return at + row * columns[tile] + column;
}

static uint16_t value(const struct check_matrix_scene *s, size_t at)
{
    return (uint16_t)(s->x[0][at] + s->x[1][at] + s->x[2][at]);
}

/* Sides as their factors make them; component 0 has the rest. */
static void share_made(struct check_matrix_scene *s)
{
    for (size_t k = 0; k < SIZE(mades); k++)
        for (size_t tile = 0; tile < TILES; tile++) {
            const size_t u = SIDES + mades[k].u, v = SIDES + mades[k].v;
            for (size_t i = 0; i + 1 < rows[u]; i++)
                for (size_t j = 0; j + 1 < rows[v]; j++)
                    for (size_t c = 0; c < columns[tile]; c++) {
                        const size_t at = word_of(tile, mades[k].side, i * rows[v] + j, c);
                        s->x[0][at] = (uint16_t)(1u * value(s, word_of(tile, u, i, c)) *
                                                     value(s, word_of(tile, v, j, c)) -
                                                 s->x[1][at] - s->x[2][at]);
                    }
        }
}

/* 2 sum of x y over the columns of a tile */
static uint64_t sum_of(const struct check_matrix_scene *s, const struct check_pair *pair, size_t v,
                       size_t w, size_t tile)
{
    uint64_t sum = 0;
    for (size_t c = 0; c < columns[tile]; c++)
        sum += (uint64_t)2 * value(s, word_of(tile, pair->left, v, c)) *
               value(s, word_of(tile, pair->right, w, c));
    return sum;
}

/* z as it must be, over all tiles or over each; component 0 has the rest. */
static void share_sums(struct check_matrix_scene *s, bool apart)
{
    size_t at = 0;
    for (size_t first = 0; first < (apart ? TILES : 1); first++)
        for (size_t k = 0; k < PLANS; k++)
            for (size_t v = 0; v < rows[plans[k].left]; v++)
                for (size_t w = 0; w < rows[plans[k].right]; w++, at++) {
                    uint64_t sum = 0;
                    for (size_t tile = 0; tile < TILES; tile++)
                        sum += !apart || tile == first ? sum_of(s, &plans[k], v, w, tile) : 0;
                    s->z[0][at] = (uint16_t)(sum - s->z[1][at] - s->z[2][at]);
                }
    assert_int_equal(at, apart ? TILES * CELLS : CELLS);
}

static void see(struct check_matrix_scene *s, unsigned i, bool apart)
{
    const unsigned next = (i + 1) % 3;
    for (size_t tile = 0; tile < TILES; tile++) {
        for (size_t side = 0; side < SIDES + FACTORS; side++) {
            const size_t at = word_of(tile, side, 0, 0);
            s->side[i][tile][side] = (struct share16){s->x[i] + at, s->x[next] + at,
                                                      rows[side] * columns[tile]};
        }
        s->tile[i][tile] = (struct check_tile){columns[tile], s->side[i][tile],
                                               s->side[i][tile] + SIDES};
    }
    s->plans[i] = (struct check_plans){.rows = rows,
                                       .sides = SIDES,
                                       .pair = plans,
                                       .pairs = PLANS,
                                       .factor_rows = rows + SIDES,
                                       .factors = FACTORS,
                                       .made = mades,
                                       .mades = SIZE(mades)};
    s->m[i] = (struct check_matrices){&s->plans[i],
                                      s->tile[i],
                                      TILES,
                                      {s->z[i], s->z[next], apart ? TILES * CELLS : CELLS},
                                      apart};
    s->party[i] = (struct party){.index = i, .kernel = kernel_best(NULL), .scratch = scratch_new()};
    assert_non_null(s->party[i].scratch);
}

static struct check_matrix_scene *scene_of(bool apart)
{
    struct check_matrix_scene *s = memory_array(1, sizeof *s);
    uint64_t seed = 11;
    for (unsigned k = 0; k < 3; k++) {
        for (size_t i = 0; i < WORDS; i++)
            s->x[k][i] = (uint16_t)three_random(&seed);
        for (size_t i = 0; i < TILES * CELLS; i++)
            s->z[k][i] = (uint16_t)three_random(&seed);
    }
    memset(s->x[1], 0xff, sizeof *s->x); /* the largest sums there can be */
    share_made(s);
    share_sums(s, apart);
    for (unsigned i = 0; i < 3; i++)
        see(s, i, apart);
    return s;
}

static struct check_matrix_scene *scene_new(void)
{
    return scene_of(false);
}

static void scene_free(struct check_matrix_scene **s)
{
    for (unsigned i = 0; i < 3; i++)
        scratch_free(&(*s)->party[i].scratch);
    memory_free(s);
}

typedef enum err fold_fn(struct party *p, struct check_folded *s, const struct check_matrices *m,
                         struct prg *weights);

static void claim(struct check_matrix_scene *s, fold_fn *fold)
{
    static const uint8_t key[16] = {5};
    for (unsigned i = 0; i < 3; i++) {
        struct party *p = &s->party[i];
        struct prg *weights CLEAN(prg_free);
        OK(prg_new(&weights, key));
        OK(check_plans(p, &s->plans[i]));
        OK(fold(p, &s->folded[i], &s->m[i], weights));
        check_matrix_claims(p, &s->folded[i], s->claim[i]);
    }
}

/*
 * Whether the claims are what they have to be. If not, those of either weight show it, and not by
 * the same remainders.
 */
static bool fit(struct check_matrix_scene *s, fold_fn *fold)
{
    uint32_t off[MATRIX_CLAIMS] = {0};
    bool fits[2] = {true, true};
    claim(s, fold);
    for (unsigned t = 0; t < MATRIX_CLAIMS; t++) {
        for (unsigned i = 0; i < 3; i++) {
            const uint32_t *b = s->folded[i].wanted[1], *a = s->folded[(i + 1) % 3].wanted[0];
            assert_int_equal((a[t] - b[t]) << (32 - s->folded[i].bits), 0);
            off[t] += (uint32_t)s->claim[i][t] - s->folded[i].wanted[0][t];
        }
        off[t] <<= 32 - s->folded[0].bits;
        fits[t / KERNEL_CROSS] &= off[t] == 0;
    }
    assert_int_equal(fits[0], fits[1]);
    assert_true(fits[0] == (memcmp(off, off + KERNEL_CROSS, sizeof off / 2) == 0));
    return fits[0];
}

/* --- definition ------------------------------------------------------------------------------- */

/* 2 sum of f g, from what the servers hold of f and g */
TEST(claims_are_sums_of_whole_numbers)
{
    static fold_fn *const folds[] = {check_fold_pairs, check_fold_made};
    for (unsigned fold = 0; fold < 2; fold++) {
        struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
        word128 sum[MATRIX_CLAIMS] = {0};
        claim(s, folds[fold]);
        for (size_t k = 0; k < s->folded[0].count; k++) {
            const size_t strip = KERNEL_ROWS * KERNEL_STRIP;
            for (size_t i = 0; i < s->folded[0].f[k].n; i++)
                for (size_t t = 0; t < KERNEL_HALF; t++) {
                    const size_t row = i % strip / KERNEL_STRIP, half = row / KERNEL_HALF;
                    const size_t j = i / strip * strip + (half * KERNEL_HALF + t) * KERNEL_STRIP +
                                     i % KERNEL_STRIP;
                    uint64_t f = 0, g = 0;
                    for (unsigned server = 0; server < 3; server++) {
                        f += s->folded[server].f[k].a[i];
                        g += s->folded[server].g[k].a[j];
                    }
                    sum[half * KERNEL_CROSS + row % KERNEL_HALF + t] += 2 * f * g;
                }
        }
        for (unsigned t = 0; t < MATRIX_CLAIMS; t++)
            assert_true(sum[t] == s->claim[0][t] + s->claim[1][t] + s->claim[2][t]);
    }
}

/* --- what is found ---------------------------------------------------------------------------- */

TEST(right_sums_fit)
{
    struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
    assert_true(fit(s, check_fold_pairs));
    assert_int_equal(s->plans[0].lefts, 2); /* 1 and 3: each plan has one of them */
    assert_true(fit(s, check_fold_made));
}

struct error {
    size_t cell;
    uint16_t by;
};

static void spoil(uint16_t *z, const struct error errors[4])
{
    for (size_t i = 0; i < 4; i++)
        z[errors[i].cell] = (uint16_t)(z[errors[i].cell] + errors[i].by);
}

/* Wherever they are, and when they cancel in sums of rows, of columns and of plans. */
TEST(wrong_sums_do_not)
{
    static const struct error errors[][4] = {
        {{0, 1}},
        {{CELLS - 1, 1 << 15}},
        {{209, 1 << 15}, {210, 1 << 15}},
        {{0, 1}, {1, UINT16_MAX}, {70, UINT16_MAX}, {71, 1}},
        {{5, 1 << 14}, {6, 1 << 14}, {7, 1 << 15}},
        {{280, 7}, {292, (uint16_t)-7}},
    };
    for (size_t e = 0; e < SIZE(errors); e++)
        for (unsigned k = 0; k < 3; k++) {
            struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
            spoil(s->z[k], errors[e]);
            assert_false(fit(s, check_fold_pairs));
        }
}

/* The same where each tile has sums of its own, and when they cancel in the sums of all tiles. */
TEST(wrong_sums_of_a_tile_do_not)
{
    static const struct error errors[][4] = {
        {{0, 1}},
        {{TILES * CELLS - 1, 1 << 15}},
        {{7, 1}, {CELLS + 7, UINT16_MAX}},
        {{CELLS - 1, 1 << 15}, {TILES * CELLS - 1, 1 << 15}},
        {{0, 1}, {1, UINT16_MAX}, {CELLS, UINT16_MAX}, {CELLS + 1, 1}},
    };
    struct check_matrix_scene *right CLEAN(scene_free) = scene_of(true);
    assert_true(fit(right, check_fold_pairs));
    for (size_t e = 0; e < SIZE(errors); e++)
        for (unsigned k = 0; k < 3; k++) {
            struct check_matrix_scene *s CLEAN(scene_free) = scene_of(true);
            spoil(s->z[k], errors[e]);
            assert_false(fit(s, check_fold_pairs));
        }
}

/* A side that is not the one z was made from, or not what its factors make. */
TEST(wrong_sides_do_not)
{
    for (size_t side = 0; side < SIDES; side++) {
        struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
        const size_t at = word_of(1, side, 0, 4);
        s->x[1][at] += 1;
        assert_false(fit(s, check_fold_pairs));
        assert_true(fit(s, check_fold_made) == (side != 1 && side != 3));
        s->x[1][at] += (1 << 15) - 1;
        assert_true(fit(s, check_fold_made) == (side != 1 && side != 3));
    }
}

/* Errors that cancel in sums of columns, of rows of either factor, and of sides. */
TEST(wrong_products_do_not)
{
    static const struct {
        size_t side, row, column;
    } at[][2] = {{{1, 0, 3}, {1, 0, 4}},
                 {{1, 3, 9}, {1, 4, 9}},
                 {{1, 2, 0}, {1, 9, 0}},
                 {{1, 0, 7}, {3, 0, 7}},
                 {{1, 61, 127}, {1, 61, 126}}};
    for (size_t e = 0; e < SIZE(at); e++)
        for (unsigned k = 0; k < 3; k++) {
            struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
            for (unsigned i = 0; i < 2; i++) {
                uint16_t *x = &s->x[k][word_of(0, at[e][i].side, at[e][i].row, at[e][i].column)];
                *x = (uint16_t)(*x + (i == 0 ? 9 : -9));
            }
            assert_false(fit(s, check_fold_made));
        }
}

TEST(sides_meet_once)
{
    static const struct check_pair wrong[][2] = {
        {{0, 1}, {0, 1}}, {{0, 1}, {1, 0}}, {{2, 3}, {4, 4}}, {{0, 5}, {0, 1}}};
    struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
    s->plans[0].mades = 0;
    for (size_t k = 0; k < SIZE(wrong); k++) {
        s->plans[0].pair = wrong[k];
        s->plans[0].pairs = 2;
        assert_int_equal(check_plans(&s->party[0], &s->plans[0]), ERR_MISUSE);
    }
    scene_free(&s);
    s = scene_new();
    s->plans[0].made = &(struct check_made){0, 1, 1};
    assert_int_equal(check_plans(&s->party[0], &s->plans[0]), ERR_MISUSE);
}

/* --- a flush ---------------------------------------------------------------------------------- */

static enum err prove(struct party *p, void *shared)
{
    const struct check_limits limits = {.groups = 1};
    struct check_matrix_scene *s = shared;
    p->log->file = NULL;
    TRY(check_new(p, &limits));
    check_of(p)->owed = true;
    TRY(check_plans(p, &s->plans[p->index]));
    TRY(check_matrices(p, &s->m[p->index]));
    return check_clean(p) ? ERR_OK : ERR_FORMAT;
}

TEST(a_flush_proves_sums_of_each_tile)
{
    for (unsigned k = 0; k < 4; k++) {
        struct check_matrix_scene *s CLEAN(scene_free) = scene_of(true);
        uint16_t *z = s->z[k % 3];
        z[77] = (uint16_t)(z[77] + (k < 3));
        z[CELLS + 77] = (uint16_t)(z[CELLS + 77] - (k < 3));
        assert_int_equal(three_run(3, prove, s, NULL), k == 3 ? ERR_OK : ERR_CHEAT);
    }
}

/* Errors that both holders of a component agree on: in z, in a factor, and in none. */
TEST(a_flush_proves_pairs_and_products)
{
    static const struct {
        uint16_t of_z, of_factor;
    } errors[] = {{0, 0}, {1, 0}, {1 << 15, 0}, {0, 1}, {0, 1 << 15}};
    for (size_t e = 0; e < SIZE(errors); e++)
        for (unsigned k = 0; k < 3; k++) {
            struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
            uint16_t *z = &s->z[k][77], *u = &s->x[k][word_of(1, SIDES, 4, 63)];
            *z = (uint16_t)(*z + errors[e].of_z);
            *u = (uint16_t)(*u + errors[e].of_factor);
            assert_int_equal(three_run(3, prove, s, NULL), e == 0 ? ERR_OK : ERR_CHEAT);
        }
}

static enum err prove_with_masks(struct party *p, struct check_play *play)
{
    struct check_matrix_scene *s = play->self;
    uint64_t word;
    for (size_t i = 0; i < 2 * play->n; i++)
        TRY(prg_fill(p->prg[i % 2][PRG_CHECK], &word, sizeof word));
    TRY(check_plans(p, &s->plans[p->index]));
    return check_matrices(p, &s->m[p->index]);
}

TEST(every_word_is_masked)
{
    static const struct check_limits limits;
    struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
    struct check_play play CLEAN(play_free) = {
        .job = prove_with_masks, .limits = &limits, .cheat = NOBODY, .self = s};
    struct check_play other CLEAN(play_free) = play;
    other.n = 1;
    play_run(&play);
    play_run(&other);
    for (unsigned i = 0; i < 3; i++)
        OK(play.result[i]);
    play_masked(&play, &other, 1, NET_PREV, 2, 0); /* claims */
    play_masked(&play, &other, 5, NET_NEXT, 0, 8); /* U*, V* */
}

static enum err owe(struct party *p)
{
    struct share16 x;
    TRY(party_share16(p, &x, 64));
    memset(x.a, 0, x.n * sizeof *x.a);
    memset(x.b, 0, x.n * sizeof *x.b);
    const struct move_term product = {
        .out = OPERAND(x), .x = OPERAND(x), .y = OPERAND(x), .words = x.n};
    return move_sums(p, &(const struct move_sums){RING_16, &product, 1, 1, false, true});
}

/* Matrices that do not fit their plans prove nothing, nor does a flush without them. */
static enum err misuse(struct party *p, void *shared)
{
    const struct check_limits limits = {0};
    struct check_matrix_scene *s = shared;
    struct check_matrices m = s->m[p->index];
    TRY(check_new(p, &limits));
    TRY(check_plans(p, &s->plans[p->index]));
    m.z.n--;
    if (check_matrices(p, &m) != ERR_MISUSE)
        return ERR_FORMAT;
    m = s->m[p->index];
    s->tile[p->index][TILES - 1].n--; /* not whole words of lanes */
    if (check_matrices(p, &m) != ERR_MISUSE)
        return ERR_FORMAT;
    TRY(owe(p));
    return record_prove(p) == ERR_MISUSE && !check_clean(p) ? ERR_OK : ERR_FORMAT;
}

TEST(what_matrices_owe_nothing_else_proves)
{
    struct check_matrix_scene *s CLEAN(scene_free) = scene_new();
    OK(three_run(3, misuse, s, NULL));
}

MAIN(three_each_kernel())
