/*
 * protocols/train_rows.h and train_gradient.h: the clamp for every z, and gradients and the tables
 * of a test against their definition in plain numbers, whatever owners send.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check.h"
#include "protocols/mask.h"
#include "protocols/train_gradient.h"

#define SIZE(array) (sizeof(array) / sizeof *(array))

/* --- the clamp -------------------------------------------------------------------------------- */

/* Every z, in rows that take no part, that are of another class, and of this one. */
#define CLAMP_ROWS 3
#define CLAMP_LANES ((size_t)CLAMP_ROWS << 16)

struct clamp_scene {
    unsigned j;
    uint64_t *z, *own;
    struct three_result out;
};

static enum err clamp_all(struct party *p, void *shared)
{
    struct clamp_scene *s = shared;
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes e, z CLEAN(planes_free) = {0}, own CLEAN(planes_free) = {0};
    enum err er = three_share_planes(p, &z, s->z, CLAMP_LANES, TRAIN_BITS, 1);
    TRY(er);
    er = three_share_planes(p, &own, s->own, CLAMP_LANES, 2, 2);
    if (er == ERR_OK)
        er = party_planes(p, &e, TRAIN_PLANES, CLAMP_LANES);
    if (er == ERR_OK)
        er = train_clamp(p, &e, &z, planes_plane(&own, 0), planes_plane(&own, 1), s->j);
    if (er == ERR_OK)
        three_put_planes(&s->out, p, &e);
    return er;
}

static unsigned clamped(int z, int top)
{
    const int p = z < 0 ? 0 : z / 32;
    return (unsigned)(p > top ? top : p);
}

TEST(the_clamp_is_right_for_every_z)
{
    static const unsigned ands[] = {[2] = 21, [3] = 20, [4] = 19, [5] = 16};
    for (unsigned j = 2; j <= 5; j++) {
        struct clamp_scene s = {.j = j};
        struct three_costs costs;
        OK(memory_new(&s.z, CLAMP_LANES));
        OK(memory_new(&s.own, CLAMP_LANES));
        OK(three_result_new(&s.out, CLAMP_LANES));
        for (size_t i = 0; i < CLAMP_LANES; i++) {
            s.z[i] = i & 0xffff;
            s.own[i] = i >> 16 == 0 ? 0 : i >> 16 == 1 ? 1 : 3;
        }
        OK(three_run(2, clamp_all, &s, &costs));
        assert_true(three_replicated(&s.out, TRAIN_PLANES));
        for (size_t i = 0; i < CLAMP_LANES; i++) {
            const int z = (int16_t)(uint16_t)i, top = i >> 16 == 2 ? 31 : (1 << j) - 1;
            assert_int_equal((unsigned)three_xor(&s.out, i), i >> 16 == 0 ? 0 : clamped(z, top));
        }
        assert_int_equal(costs.rounds, 4);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(costs.sent[i], ands[j] * CLAMP_LANES / 8);
        three_result_free(&s.out);
        memory_free_all(&s.z, &s.own);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

#define COLUMNS 6
#define BATCHES 3
#define PARTS 2

/* Columns and the target, whose last code may be missing; records of each batch, in parts. */
struct gradient_kind {
    uint32_t size[COLUMNS];
    size_t columns;
    uint16_t target;
    uint32_t classes, norm2;
    unsigned bits;
    uint16_t test; /* the column of a test, but not the first; 0: none */
    uint32_t code;
};

static const struct gradient_kind kinds[] = {
    {{2, 5, 9}, 3, 0, 2, 0, 5, 0, 0},
    {{4, 3, 1, 2}, 4, 1, 2, 0, 5, 3, 1}, /* the target may be missing */
    {{7, 3, 10}, 3, 1, 3, 0, 4, 0, 0},
    {{16, 10, 16, 13, 3, 1}, 6, 1, 10, 400, 3, 4, 1},
    {{16, 16, 22, 7}, 4, 2, 21, 300, 2, 0, 0},
    {{16, 2, 3}, 3, 1, 2, 100, 5, 0, 0},
};

struct gradient_scene {
    const struct gradient_kind *kind;
    struct records_shape records;
    uint16_t column[COLUMNS];
    struct train_shape shape;
    size_t count[BATCHES], parts;
    uint8_t seed[BATCHES][PARTS][2][MASK_SEED_SIZE];
    uint8_t *vector[BATCHES][PARTS], *plain[BATCHES][PARTS];
    int64_t *weight, *expected;
    size_t weights, took, rows, many;
    uint64_t table[10 * TRAIN_CELLS_TEST]; /* of a test */
    struct three_result out, cells;
    struct three_costs costs;
    uint64_t before, sent; /* exchanges of making the rows; bytes, of all servers, the test's too */
    uint64_t tested;       /* exchanges of the test */
    size_t lanes, blocks;
    bool proved;
};

/* Columns before `half` are in the first part, if there are two. */
static const uint16_t all_columns[COLUMNS] = {0, 1, 2, 3, 4, 5};

static size_t part_columns(const struct gradient_scene *s, size_t part, size_t *first)
{
    const size_t half = s->parts == 1 ? s->kind->columns : s->kind->columns / 2;
    *first = part == 0 ? 0 : half;
    return part == 0 ? half : s->kind->columns - half;
}

static size_t part_bytes(const struct gradient_scene *s, size_t batch, size_t part)
{
    size_t first, count = part_columns(s, part, &first), planes = 1;
    for (size_t a = first; a < first + count; a++)
        planes += records_code_bits(s->kind->size[a]);
    return planes * records_plane_bytes(s->count[batch]);
}

/* Any bits: about half of the records are valid, and codes are as they come. */
static void fill(struct gradient_scene *s, uint64_t seed)
{
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t k = 0; k < s->parts; k++) {
            const size_t bytes = part_bytes(s, i, k);
            s->vector[i][k] = memory_array(bytes, 1);
            s->plain[i][k] = memory_array(bytes, 1);
            for (size_t b = 0; b < bytes; b++)
                s->plain[i][k][b] = (uint8_t)three_random(&seed);
            memcpy(s->vector[i][k], s->plain[i][k], bytes);
            secret_random(s->seed[i][k], sizeof s->seed[i][k]);
            OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])s->seed[i][k], s->vector[i][k],
                           bytes));
        }
}

static unsigned plane_bit(const struct gradient_scene *s, size_t batch, size_t part, size_t plane,
                          size_t row)
{
    const uint8_t *at = s->plain[batch][part] + plane * records_plane_bytes(s->count[batch]);
    return at[row / 8] >> row % 8 & 1;
}

/* Whether all parts call a record valid; its codes as they were sent. */
static bool read_row(const struct gradient_scene *s, size_t batch, size_t row, uint32_t *code)
{
    bool valid = true;
    for (size_t k = 0; k < s->parts; k++) {
        size_t first, count = part_columns(s, k, &first), plane = 1;
        valid = valid && plane_bit(s, batch, k, 0, row);
        for (size_t a = first; a < first + count; a++) {
            code[a] = 0;
            for (unsigned b = 0; b < records_code_bits(s->kind->size[a]); b++)
                code[a] = 2 * code[a] + plane_bit(s, batch, k, plane++, row);
        }
    }
    return valid;
}

/* --- the definition --------------------------------------------------------------------------- */

static uint32_t in_range(uint32_t code, uint32_t size)
{
    return code < size ? code : size - 1;
}

/* The features of a row. */
static void features_of(const struct gradient_scene *s, const uint32_t *code, int64_t *u)
{
    size_t at = 0;
    for (size_t k = 0; k < s->shape.columns; k++) {
        const uint16_t a = s->column[k];
        if (s->kind->norm2 > 0) {
            u[at++] = code[a];
            continue;
        }
        for (uint32_t v = 0; v < s->kind->size[a]; v++)
            u[at++] = in_range(code[a], s->kind->size[a]) == v;
    }
    u[at] = 1;
}

static bool is_kept(const struct gradient_scene *s, const uint32_t *code)
{
    const uint16_t a = s->kind->test;
    return s->shape.tests && in_range(code[a], s->kind->size[a]) == s->kind->code;
}

static void add_row(struct gradient_scene *s, const uint32_t *code)
{
    const size_t features = train_features(&s->shape);
    const uint32_t classes = s->kind->classes,
                   y = in_range(code[s->kind->target], s->kind->size[s->kind->target]);
    int64_t u[64], n2 = 0;
    features_of(s, code, u);
    for (size_t f = 0; f + 1 < features; f++)
        n2 += u[f] * u[f];
    s->many += y < classes && s->kind->norm2 > 0 && n2 > s->kind->norm2;
    if (y >= classes || (s->kind->norm2 > 0 && n2 > s->kind->norm2))
        return;
    s->took += !s->shape.tests || !is_kept(s, code);
    for (size_t k = 0; k < train_outputs(&s->shape); k++) {
        const bool own = y == (classes == 2 ? 1 : k);
        int64_t z = classes == 2 ? 512 : 128, r;
        for (size_t f = 0; f < features; f++)
            z += s->weight[k * features + f] * u[f];
        if (is_kept(s, code)) {
            s->table[k * TRAIN_CELLS_TEST + clamped((int16_t)(uint16_t)z, 31) / 4 * 2 + own]++;
            continue;
        }
        r = clamped((int16_t)(uint16_t)z,
                    own || classes == 2 ? TRAIN_TOP : (1 << s->kind->bits) - 1);
        for (size_t f = 0; f < features; f++)
            s->expected[k * features + f] += (r - (own ? TRAIN_TOP : 0)) * u[f];
    }
}

/* --- runs ------------------------------------------------------------------------------------- */

static void scene_new(struct gradient_scene *s, const struct gradient_kind *kind,
                      const size_t count[BATCHES], size_t parts, int64_t most)
{
    uint64_t seed = count[0] + kind->classes;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->parts = parts;
    s->records = (struct records_shape){kind->columns, kind->size};
    s->shape = (struct train_shape){.records = s->records,
                                    .target = kind->target,
                                    .classes = kind->classes,
                                    .column = s->column,
                                    .norm2 = kind->norm2,
                                    .bits = kind->bits,
                                    .tests = kind->test > 0,
                                    .test = kind->test,
                                    .test_code = kind->code};
    for (uint16_t a = 0; a < kind->columns; a++)
        if (a != kind->target && (a == 0 || a != kind->test))
            s->column[s->shape.columns++] = a;
    memcpy(s->count, count, sizeof s->count);
    fill(s, seed);
    s->weights = train_outputs(&s->shape) * train_features(&s->shape);
    OK(memory_new(&s->weight, s->weights));
    OK(memory_new(&s->expected, s->weights));
    for (size_t k = 0; k < s->weights; k++)
        s->weight[k] = (int64_t)(three_random(&seed) % (uint64_t)(2 * most + 1)) - most;
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t r = 0; r < count[i]; r++) {
            uint32_t code[COLUMNS];
            s->rows++;
            if (read_row(s, i, r, code))
                add_row(s, code);
        }
    OK(three_result_new(&s->out, s->weights));
    OK(three_result_new(&s->cells, SIZE(s->table)));
}

static void scene_free(struct gradient_scene *s)
{
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t k = 0; k < s->parts; k++)
            memory_free_all(&s->vector[i][k], &s->plain[i][k]);
    memory_free_all(&s->weight, &s->expected);
    three_result_free(&s->out);
    three_result_free(&s->cells);
}

static enum err make_rows(struct party *p, struct gradient_scene *s, struct train_rows *rows)
{
    struct records_part part[BATCHES][PARTS];
    struct records_batch batch[BATCHES];
    for (size_t i = 0; i < BATCHES; i++) {
        batch[i] = (struct records_batch){
            .records = s->count[i], .parts = s->parts, .part = part[i]};
        for (size_t k = 0; k < s->parts; k++) {
            size_t first, count = part_columns(s, k, &first);
            part[i][k] = (struct records_part){
                .attributes = count, .attribute = all_columns + first, .vector = s->vector[i][k]};
            for (unsigned slot = 0; slot < 2; slot++)
                if ((p->index + slot) % 3 < 2)
                    part[i][k].seed[slot] = s->seed[i][k][(p->index + slot) % 3];
        }
    }
    TRY(train_rows_add(p, rows, batch, 1));
    TRY(train_rows_add(p, rows, batch + 1, BATCHES - 1));
    return train_rows_end(p, rows);
}

static enum err count_test(struct party *p, struct gradient_scene *s, const struct train_rows *rows)
{
    struct share64 cells CLEAN(share64_free) = {0};
    const struct net_counters before = net_total(p->net);
    TRY(share64_new(&cells, rows->outputs * TRAIN_CELLS_TEST));
    TRY(train_test(p, rows, s->weight, cells));
    three_put64(&s->cells, p, cells);
    __atomic_fetch_add(&s->sent, net_total(p->net).payload_sent - before.payload_sent,
                       __ATOMIC_RELAXED);
    if (p->index == 0)
        s->tested = net_total(p->net).exchanges - before.exchanges;
    return ERR_OK;
}

static enum err sum_gradient(struct party *p, void *shared)
{
    struct gradient_scene *s = shared;
    struct train_rows rows CLEAN(train_rows_free);
    struct share64 out CLEAN(share64_free) = {0};
    const struct check_limits limits = {0};
    train_rows_start(&rows, &s->shape);
    if (s->proved)
        TRY(check_new(p, &limits));
    TRY(share64_new(&out, s->weights));
    TRY(make_rows(p, s, &rows));
    __atomic_fetch_add(&s->sent, net_total(p->net).payload_sent, __ATOMIC_RELAXED);
    if (p->index == 0) {
        s->before = net_total(p->net).exchanges;
        s->lanes = rows.lanes;
        s->blocks = rows.blocks;
    }
    TRY(train_gradient(p, &rows, s->weight, out));
    three_put64(&s->out, p, out);
    if (s->shape.tests)
        TRY(count_test(p, s, &rows));
    return record_prove(p);
}

/* On so many lanes, all but `near` of which do only jobs; 0: all do everything. */
static void expect_dealt(struct gradient_scene *s, size_t lanes, size_t near)
{
    OK(three_run_dealt(4, lanes, near, sum_gradient, s, &s->costs, NULL));
    assert_true(three_replicated(&s->out, 64));
    for (size_t k = 0; k < s->weights; k++)
        if ((int64_t)three_sum64(&s->out, k) != s->expected[k])
            fail_msg("number %zu is %ld, not %ld", k, (long)three_sum64(&s->out, k),
                     (long)s->expected[k]);
    for (size_t k = 0; s->shape.tests && k < train_outputs(&s->shape) * TRAIN_CELLS_TEST; k++)
        if (three_sum64(&s->cells, k) != s->table[k])
            fail_msg("cell %zu is %lu, not %lu", k, (unsigned long)three_sum64(&s->cells, k),
                     (unsigned long)s->table[k]);
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(s->costs.opened_calls[r], 0);
}

static void expect_gradient(struct gradient_scene *s, size_t lanes)
{
    expect_dealt(s, lanes, 0);
}

TEST(gradients_are_what_they_are_defined_as)
{
    static const size_t counts[][BATCHES] = {{1, 64, 65}, {700, 5, 130}};
    static const int64_t most[] = {90, 3000, 32767}; /* the last ones wrap */
    for (size_t k = 0; k < SIZE(kinds); k++)
        for (size_t c = 0; c < SIZE(counts); c++)
            for (size_t m = 0; m < SIZE(most); m++) {
                struct gradient_scene s CLEAN(scene_free);
                scene_new(&s, &kinds[k], counts[c], 1 + (k + c) % 2, most[m]);
                assert_true(c == 0 || (s.took > 10 && s.took < s.rows));
                assert_true(c == 0 || kinds[k].norm2 == 0 || s.many > 5);
                expect_gradient(&s, 1 + 2 * (m % 2));
            }
}

/* Blocks on three lanes, and on two of five, with a check and without. */
TEST(lanes_change_nothing)
{
    static const size_t counts[BATCHES] = {700, 2200, 130};
    for (unsigned k = 0; k < 8; k++) {
        struct gradient_scene s CLEAN(scene_free);
        scene_new(&s, &kinds[k % 4 < 2 ? 3 : 2], counts, 2, 400);
        s.proved = k % 2 == 1;
        if (k < 4)
            expect_gradient(&s, 3);
        else
            expect_dealt(&s, 5, 2);
    }
}

/*
 * All codes are 15 and every p is 31, in blocks that are full, twice and once more; no sum wraps.
 */
TEST(the_largest_sums_do_not_wrap)
{
    static const struct gradient_kind largest[] = {{{16, 2, 9}, 3, 1, 2, 450, 5, 0, 0},
                                                   {{16, 2, 9}, 3, 1, 2, 0, 5, 0, 0}};
    static const size_t counts[][BATCHES] = {{1088, 1088, 1087}, {16320, 70, 1}};
    for (size_t k = 0; k < SIZE(largest); k++) {
        struct gradient_scene s CLEAN(scene_free);
        scene_new(&s, &largest[k], counts[k], 1, 0);
        for (size_t i = 0; i < BATCHES; i++) {
            const size_t bytes = part_bytes(&s, i, 0);
            for (size_t b = 0; b < bytes; b++) {
                const size_t plane = b / records_plane_bytes(counts[k][i]);
                const uint8_t now = plane == 5 ? 0 : 0xff; /* the target is its first class */
                s.vector[i][0][b] ^= s.plain[i][0][b] ^ now;
                s.plain[i][0][b] = now;
            }
        }
        memset(s.expected, 0, s.weights * sizeof *s.expected);
        s.weight[s.weights - 1] = 512; /* z is 1024 */
        s.took = 0;
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t r = 0; r < counts[k][i]; r++) {
                uint32_t code[COLUMNS];
                assert_true(read_row(&s, i, r, code));
                add_row(&s, code);
            }
        assert_int_equal(s.took, s.rows);
        assert_int_equal(s.expected[s.weights - 1], 31 * s.rows);
        expect_gradient(&s, 1);
    }
}

/*
 * Exchanges are those of one block: 6 for the bits of z, 4, 1, and 3 for sums. Bytes, over all
 * servers: of a lane 16 bits that are known, 57 ANDs of an adder of 16 bits, those of the clamp,
 * and 5 numbers; of a cell and block its sum, 2 bytes at each, and that in 32 bits; then in 64.
 */
TEST(bytes_and_exchanges_follow_from_the_sizes)
{
    static const size_t counts[][BATCHES] = {{64, 128, 192}, {1088, 1088, 3 * 1088}};
    static const uint64_t ands[] = {[2] = 21, [3] = 20, [4] = 19, [5] = 16};
    for (size_t k = 0; k < SIZE(kinds); k++)
        for (size_t c = 0; c < SIZE(counts); c++) {
            struct gradient_scene s CLEAN(scene_free);
            scene_new(&s, &kinds[k], counts[c], 1, 500);
            expect_gradient(&s, 1);
            const uint64_t lanes = s.lanes * train_outputs(&s.shape), cells = 5 * s.weights,
                           bytes = lanes / 8 * (16 + 3 * (57 + ands[kinds[k].bits])) +
                                   lanes * 5 * 8 + s.blocks * cells * (6 + 12) + cells * 40;
            assert_int_equal(s.blocks, kinds[k].norm2 > 0 && c == 1 ? 5 : 2);
            assert_int_equal(s.costs.rounds - s.before - s.tested, 6 + 4 + 1 + 3);
            assert_int_equal(s.tested, kinds[k].test > 0 ? 6 + 4 + 7 * train_outputs(&s.shape) : 0);
            assert_int_equal(s.costs.sent[0] + s.costs.sent[1] + s.costs.sent[2] - s.sent, bytes);
        }
}

static enum err make_wrongly(struct party *p, void *shared)
{
    struct gradient_scene *s = shared;
    struct train_rows rows CLEAN(train_rows_free);
    struct share64 out CLEAN(share64_free) = {0};
    train_rows_start(&rows, &s->shape);
    TRY(share64_new(&out, s->weights));
    if (train_gradient(p, &rows, s->weight, out) != ERR_MISUSE) /* before they are complete */
        return ERR_FORMAT;
    return make_rows(p, s, &rows) == ERR_RANGE ? ERR_OK : ERR_FORMAT;
}

/* A number of 5 bits could make a sum wrap. */
TEST(what_does_not_fit_is_refused)
{
    static const struct gradient_kind wide = {{17, 2}, 2, 1, 2, 100, 5, 0, 0};
    static const size_t counts[BATCHES] = {8, 8, 8};
    struct gradient_scene s CLEAN(scene_free);
    scene_new(&s, &wide, counts, 1, 1);
    OK(three_run(4, make_wrongly, &s, NULL));
}
