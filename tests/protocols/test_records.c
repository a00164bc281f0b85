/*
 * protocols/records.h: counts from shared records against plain counts, honest and hostile; with
 * rows at several owners, and with rows and columns at several.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "protocols/mask.h"
#include "protocols/records.h"
#include "tests/support/hooks.h"

#define ATTRIBUTES_MAX 11
#define BATCHES 3
#define PARTS_MAX 3
#define QUERIES_MAX 9
#define SIZE(array) (sizeof(array) / sizeof *(array))

struct records_asked {
    size_t n;
    uint16_t attribute[RECORDS_ORDER_MAX];
};

/* Which part of each batch holds each attribute. */
typedef unsigned split_of[BATCHES][ATTRIBUTES_MAX];

/* What is counted, over which attributes. */
struct records_kind {
    struct records_shape shape;
    size_t queries;
    const struct records_asked *asked;
    const split_of *whole_rows, *rows_and_columns;
};

static const split_of whole_rows = {{0}};

static const uint32_t few_sizes[] = {5, 1, 8, 3, 2};
static const struct records_asked few_asked[] = {
    {1, {0}},       {1, {1}},       {2, {0, 2}},       {2, {1, 4}},      {3, {0, 2, 3}},
    {3, {0, 3, 4}}, {3, {2, 3, 4}}, {4, {0, 2, 3, 4}}, {4, {0, 1, 2, 4}}};
static const split_of few_split = {{0, 0, 0, 0, 0}, {0, 1, 1, 0, 1}, {2, 1, 0, 1, 2}};
static const struct records_kind few = {
    {SIZE(few_sizes), few_sizes}, SIZE(few_asked), few_asked, &whole_rows, &few_split};

/* Attributes of one value, and sides of several digits and in several tiles. */
static const uint32_t many_sizes[] = {1, 2, 3, 5, 9, 31, 32, 42, 85, 99, 100};
static const struct records_asked many_asked[] = {
    {1, {0}},       {1, {10}},       {2, {0, 9}},    {2, {8, 10}},     {3, {1, 2, 5}},
    {3, {6, 7, 8}}, {3, {0, 3, 10}}, {3, {4, 7, 9}}, {4, {1, 2, 3, 9}}};
static const split_of many_split = {
    {0}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}, {2, 2, 0, 0, 0, 1, 1, 2, 1, 0, 2}};
static const struct records_kind many = {
    {SIZE(many_sizes), many_sizes}, SIZE(many_asked), many_asked, &whole_rows, &many_split};

/* An owner's part of a batch: how many of its first rows it declares valid, and what it sends. */
struct sent {
    size_t rows, attributes, bytes;
    uint16_t attribute[ATTRIBUTES_MAX];
    uint8_t seed[2][MASK_SEED_SIZE];
    uint8_t *vector;
};

struct records_scene {
    const struct records_kind *kind;
    size_t rows[BATCHES], records[BATCHES], parts[BATCHES];
    uint16_t *column[BATCHES][ATTRIBUTES_MAX];
    struct sent part[BATCHES][PARTS_MAX];
    struct three_result out[QUERIES_MAX];
    struct three_costs costs;
    struct hooks_watch watch[3];
    uint64_t received[3][256]; /* how many bytes of each value */
};

static size_t cells_of(const struct records_scene *s, size_t q)
{
    const struct records_asked *asked = &s->kind->asked[q];
    size_t cells = 1;
    for (size_t k = 0; k < asked->n; k++)
        cells *= s->kind->shape.size[asked->attribute[k]];
    return cells;
}

static void count_bytes(void *self, const void *p, size_t n)
{
    uint64_t *values = self;
    for (size_t i = 0; i < n; i++)
        values[((const uint8_t *)p)[i]]++;
}

struct records_held {
    struct records_part part[BATCHES][PARTS_MAX];
    struct records_batch batch[BATCHES];
};

/* What a server holds of a scene. */
static void hold(struct records_held *h, const struct records_scene *s, unsigned index)
{
    memset(h, 0, sizeof *h);
    for (size_t i = 0; i < BATCHES; i++) {
        h->batch[i] = (struct records_batch){
            .records = s->records[i], .parts = s->parts[i], .part = h->part[i]};
        for (size_t k = 0; k < s->parts[i]; k++) {
            const struct sent *from = &s->part[i][k];
            h->part[i][k] = (struct records_part){.attributes = from->attributes,
                                                  .attribute = from->attribute,
                                                  .vector = from->vector};
            for (unsigned slot = 0; slot < 2; slot++)
                if ((index + slot) % 3 < 2)
                    h->part[i][k].seed[slot] = from->seed[(index + slot) % 3];
        }
    }
}

static enum err count_them(struct party *p, void *shared)
{
    struct records_scene *s = shared;
    struct records_held h;
    struct records_query queries[QUERIES_MAX];
    hold(&h, s, p->index);
    for (size_t q = 0; q < s->kind->queries; q++) {
        queries[q].n = s->kind->asked[q].n;
        memcpy(queries[q].attribute, s->kind->asked[q].attribute, sizeof queries[q].attribute);
        TRY(share64_new(&queries[q].out, cells_of(s, q)));
    }
    s->watch[p->index] = (struct hooks_watch){count_bytes, count_bytes, s->received[p->index]};
    hooks_watch(p, &s->watch[p->index]);
    enum err e = records_count(p, &s->kind->shape, h.batch, BATCHES, queries, s->kind->queries);
    for (size_t q = 0; q < s->kind->queries; q++) {
        three_put64(&s->out[q], p, queries[q].out);
        share64_free(&queries[q].out);
    }
    return e;
}

static void mask(struct sent *part)
{
    OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])part->seed, part->vector, part->bytes));
}

/*
 * An owner's upload of its columns. Codes take as many values as they have bits for, so they may be
 * out of range.
 */
static void share_part(struct records_scene *s, size_t i, size_t k)
{
    struct sent *part = &s->part[i][k];
    uint32_t size[ATTRIBUTES_MAX];
    uint16_t *column[ATTRIBUTES_MAX];
    const struct records_shape own = {part->attributes, size};
    for (size_t a = 0; a < part->attributes; a++) {
        for (size[a] = 1; size[a] < s->kind->shape.size[part->attribute[a]];)
            size[a] *= 2;
        column[a] = s->column[i][part->attribute[a]];
    }
    part->bytes = records_bytes(&own, s->records[i]);
    if (part->vector == NULL)
        part->vector = memory_array(part->bytes, 1);
    OK(records_pack(&own, column, part->rows, s->records[i], part->vector));
    mask(part);
}

static void share_rows(struct records_scene *s, size_t i)
{
    for (size_t k = 0; k < s->parts[i]; k++)
        share_part(s, i, k);
}

/* Codes are below a multiple of the sizes, as far as their bits allow. */
static struct records_scene scene_of(const struct records_kind *kind, const size_t rows[BATCHES],
                                     const size_t records[BATCHES], bool columns, unsigned multiple)
{
    const unsigned(*split)[ATTRIBUTES_MAX] = columns ? *kind->rows_and_columns : *kind->whole_rows;
    uint64_t state = rows[0];
    struct records_scene s = {0};
    s.kind = kind;
    for (size_t i = 0; i < BATCHES; i++) {
        s.rows[i] = rows[i];
        s.records[i] = records[i];
        for (uint16_t a = 0; a < kind->shape.attributes; a++) {
            struct sent *part = &s.part[i][split[i][a]];
            uint32_t codes = 1, size = kind->shape.size[a];
            while (codes < size)
                codes *= 2;
            codes = codes < multiple * size ? codes : multiple * size;
            s.column[i][a] = memory_array(rows[i], sizeof(uint16_t));
            for (size_t r = 0; r < rows[i]; r++)
                s.column[i][a][r] = (uint16_t)(three_random(&state) % codes);
            part->attribute[part->attributes++] = a;
            s.parts[i] = split[i][a] >= s.parts[i] ? split[i][a] + 1 : s.parts[i];
        }
        for (size_t k = 0; k < s.parts[i]; k++) {
            s.part[i][k].rows = rows[i];
            secret_random(s.part[i][k].seed, sizeof s.part[i][k].seed);
        }
        share_rows(&s, i);
    }
    for (size_t q = 0; q < kind->queries; q++)
        OK(three_result_new(&s.out[q], cells_of(&s, q)));
    return s;
}

static struct records_scene scene_new(const size_t rows[BATCHES], const size_t records[BATCHES],
                                      bool columns)
{
    return scene_of(&few, rows, records, columns, 1);
}

static void scene_free(struct records_scene *s)
{
    for (size_t i = 0; i < BATCHES; i++) {
        for (size_t k = 0; k < s->parts[i]; k++)
            memory_free(&s->part[i][k].vector);
        for (size_t a = 0; a < s->kind->shape.attributes; a++)
            memory_free(&s->column[i][a]);
    }
    for (size_t q = 0; q < s->kind->queries; q++)
        three_result_free(&s->out[q]);
}

/* The rows of a batch that every part of it declares valid. */
static size_t valid_rows(const struct records_scene *s, size_t i)
{
    size_t valid = s->rows[i];
    for (size_t k = 0; k < s->parts[i]; k++)
        valid = s->part[i][k].rows < valid ? s->part[i][k].rows : valid;
    return valid;
}

/* Counts of a marginal of the valid rows. A code out of range is the last value. */
static uint64_t *plain_counts(const struct records_scene *s, size_t q)
{
    const struct records_asked *asked = &s->kind->asked[q];
    uint64_t *counts = memory_array(cells_of(s, q), sizeof *counts);
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t r = 0; r < valid_rows(s, i); r++) {
            size_t at = 0;
            for (size_t k = 0; k < asked->n; k++) {
                const uint32_t size = s->kind->shape.size[asked->attribute[k]];
                const uint16_t code = s->column[i][asked->attribute[k]][r];
                at = at * size + (code < size ? code : size - 1);
            }
            counts[at]++;
        }
    return counts;
}

static void expect_plain_counts(struct records_scene *s)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < BATCHES; i++)
        rows += valid_rows(s, i);
    OK(three_run(3, count_them, s, &s->costs));
    for (size_t q = 0; q < s->kind->queries; q++) {
        uint64_t *plain CLEAN(memory_release) = plain_counts(s, q), all = 0;
        assert_true(three_replicated(&s->out[q], 64));
        for (size_t c = 0; c < cells_of(s, q); c++) {
            if (three_sum64(&s->out[q], c) != plain[c])
                fail_msg("query %zu counts %lu, not %lu, in cell %zu", q,
                         (unsigned long)three_sum64(&s->out[q], c), (unsigned long)plain[c], c);
            all += plain[c];
        }
        assert_int_equal(all, rows); /* in all marginals */
    }
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(s->costs.opened_calls[r], 0);
}

TEST(counts_equal_plain_counts)
{
    static const size_t rows[][BATCHES] = {{0, 1, 63}, {64, 65, 1000}, {2048, 2049, 5000}};
    static const size_t records[][BATCHES] = {{1, 1, 64}, {64, 70, 2047}, {2048, 4095, 5001}};
    for (size_t k = 0; k < 3; k++)
        for (int columns = 0; columns < 2; columns++) {
            struct records_scene s CLEAN(scene_free) = scene_new(rows[k], records[k], columns);
            expect_plain_counts(&s);
        }
}

/* Attributes of all sorts of sizes, in three tiles, and in one that batches share. */
TEST(counts_of_many_values_equal_plain_counts)
{
    static const size_t rows[][BATCHES] = {{40, 70, 100}, {2048, 1, 2500}};
    static const size_t records[][BATCHES] = {{45, 70, 101}, {2050, 70, 2500}};
    for (unsigned k = 0; k < 2; k++) {
        struct records_scene s CLEAN(scene_free) = scene_of(&many, rows[k], records[k], k == 0, 1);
        if (k == 0) {
            s.part[1][0].rows = 31;
            share_rows(&s, 1);
        }
        expect_plain_counts(&s);
    }
}

/* So many cells that they are widened in steps, one of which begins within a marginal. */
TEST(cells_are_widened_in_steps)
{
    static const uint32_t sizes[] = {1024, 1025};
    static const struct records_asked asked[] = {{1, {0}}, {1, {1}}, {2, {0, 1}}};
    static const size_t rows[BATCHES] = {60, 1, 3};
    const struct records_kind wide = {{2, sizes}, SIZE(asked), asked, &whole_rows, &whole_rows};
    struct records_scene s CLEAN(scene_free) = scene_of(&wide, rows, rows, false, 1);
    for (size_t a = 0; a < 2; a++)
        s.column[1][a][0] = (uint16_t)(sizes[a] - 1);
    share_rows(&s, 1);
    expect_plain_counts(&s);
}

/*
 * What owners cannot send with our program: a code out of range counts as the last value, if it is
 * valid.
 */
TEST(codes_out_of_range_are_the_last_value)
{
    static const size_t rows[BATCHES] = {300, 200, 100}, records[BATCHES] = {300, 210, 100};
    for (unsigned k = 0; k < 4; k++) {
        struct records_scene s CLEAN(scene_free) = scene_of(k < 2 ? &few : &many, rows, records,
                                                            k % 2 == 1, 2);
        if (s.parts[2] > 1) {
            s.part[2][1].rows = 50;
            share_rows(&s, 2);
        }
        expect_plain_counts(&s);
    }
}

/*
 * Three batches of at most 64 records share a tile of 192. With two parts: one AND for each record;
 * with three: two, in two rounds.
 */
TEST(columns_apart_cost_an_and_for_each_part_more)
{
    static const size_t rows[BATCHES] = {10, 20, 30}, records[BATCHES] = {10, 20, 30};
    struct records_scene whole CLEAN(scene_free) = scene_new(rows, records, false);
    struct records_scene apart CLEAN(scene_free) = scene_new(rows, records, true);
    expect_plain_counts(&whole);
    expect_plain_counts(&apart);
    assert_int_equal(apart.costs.rounds - whole.costs.rounds, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(apart.costs.sent[i] - whole.costs.sent[i], 2 * 192 / 8);
}

/*
 * 216 records in lanes of 64: three levels of trees, their leaves as numbers, all products of
 * pairs, sums shared and widened twice. `made` is what test_records_plan.c expects of plans.
 * All are sums over all servers.
 */
TEST(bytes_and_rounds_follow_from_the_sizes)
{
    static const size_t records[BATCHES] = {60, 60, 96};
    const size_t lanes = 4 * 64, gates = 4 + 0 + 7 + 2 + 1, planes = 1 + 4 + 0 + 7 + 2 + 1,
                 made = 15;
    size_t cells = 0;
    struct records_scene s CLEAN(scene_free) = scene_new(records, records, false);
    for (size_t q = 0; q < few.queries; q++)
        cells += cells_of(&s, q);
    expect_plain_counts(&s);
    assert_int_equal(s.costs.sent[0] + s.costs.sent[1] + s.costs.sent[2],
                     lanes / 8 * (3 * gates + 8 * (4 * 2 * planes + 3 * 2 * made)) +
                         cells * (3 * 2 + 4 + 4 * 2 + 5 * 8));
    assert_int_equal(s.costs.rounds, 3 + 1 + 1 + 1 + 1 + 1);
}

/* Rounds depend on tiles and blocks, not on owners or marginals. 7 levels for 100 values. */
TEST(rounds_are_of_tiles)
{
    static const size_t small[BATCHES] = {10, 20, 30}, large[BATCHES] = {2048, 2000, 2500};
    const struct records_kind one = {many.shape, 1, &many_asked[5], &whole_rows, &many_split};
    struct records_scene s CLEAN(scene_free) = scene_of(&many, small, small, false, 1);
    expect_plain_counts(&s);
    assert_int_equal(s.costs.rounds, 7 + 1 + 1 + 3);
    scene_free(&s);
    s = scene_of(&one, small, small, false, 1);
    expect_plain_counts(&s);
    assert_int_equal(s.costs.rounds, 7 + 1 + 1 + 3);
    scene_free(&s);
    s = scene_of(&many, large, large, false, 1);
    expect_plain_counts(&s);
    assert_int_equal(s.costs.rounds, 7 + 1 + 4 + 3);
}

/*
 * Chi-square of 255 degrees of freedom on the bytes that each server receives, if all records are
 * the same.
 */
TEST(what_servers_receive_is_uniform)
{
    static const size_t rows[BATCHES] = {2000, 2000, 2000};
    for (unsigned multiple = 0; multiple < 2; multiple++) {
        struct records_scene s CLEAN(scene_free) = scene_new(rows, rows, false);
        for (size_t i = 0; i < BATCHES; i++) {
            for (size_t a = 0; a < few.shape.attributes; a++)
                memset(s.column[i][a], 0, multiple == 0 ? rows[i] * sizeof(uint16_t) : 0);
            share_rows(&s, i);
        }
        expect_plain_counts(&s);
        for (unsigned i = 0; i < 3; i++) {
            double all = 0, chi = 0;
            for (size_t v = 0; v < 256; v++)
                all += (double)s.received[i][v];
            for (size_t v = 0; v < 256; v++)
                chi += ((double)s.received[i][v] - all / 256) *
                       ((double)s.received[i][v] - all / 256) / (all / 256);
            assert_true(chi > 140 && chi < 400);
        }
    }
}

/*
 * Records that one owner of a batch lacks, or says that it lacks, count nowhere; the other batches
 * do not change.
 */
TEST(a_record_counts_where_all_owners_of_its_batch_hold_it)
{
    static const size_t rows[BATCHES] = {40, 50, 70}, records[BATCHES] = {64, 64, 80};
    struct records_scene s CLEAN(scene_free) = scene_new(rows, records, true);
    s.part[1][1].rows = 31;
    s.part[2][0].rows = 69;
    s.part[2][2].rows = 8;
    share_rows(&s, 1);
    share_rows(&s, 2);
    expect_plain_counts(&s);
}

/*
 * As many records as a block holds, one more, and many blocks: all in one cell, and in random ones.
 */
TEST(large_counts_do_not_wrap)
{
    static const size_t rows[][BATCHES] = {{16383, 1, 0}, {16384, 16383, 40001}, {20001, 5, 16390}};
    for (size_t k = 0; k < 3; k++) {
        struct records_scene s CLEAN(scene_free) = scene_new(rows[k], rows[k], false);
        for (size_t i = 0; k < 2 && i < BATCHES; i++) {
            for (size_t a = 0; a < few.shape.attributes; a++)
                for (size_t r = 0; r < rows[k][i]; r++)
                    s.column[i][a][r] = (uint16_t)(few_sizes[a] - 1);
            share_rows(&s, i);
        }
        expect_plain_counts(&s);
    }
}

/*
 * An owner that sets every bit of its upload, also beyond its records; then one that sends noise. A
 * record counts at most once in a marginal. An owner of columns moves only records of its batch
 * that the others in the batch hold, and no count of a marginal without any of its columns goes up.
 */
TEST(a_hostile_owner_moves_no_more_than_its_records)
{
    static const size_t rows[BATCHES] = {10, 20, 30}, records[BATCHES] = {203, 200, 30};
    for (size_t batch = 0; batch < 2; batch++)
        for (int noise = 0; noise < 2; noise++) {
            const size_t most = batch == 0 ? records[0] : rows[1];
            struct records_scene s CLEAN(scene_free) = scene_new(rows, records, true);
            uint64_t seed = 5;
            struct sent *part = &s.part[batch][batch];
            for (size_t i = 0; i < part->bytes; i++)
                part->vector[i] = noise ? (uint8_t)three_random(&seed) : 0xff;
            mask(part);
            OK(three_run(9, count_them, &s, NULL));
            for (size_t q = 0; q < few.queries; q++) {
                uint64_t more = 0, *honest CLEAN(memory_release) = plain_counts(&s, q);
                const size_t last = cells_of(&s, q) - 1;
                bool mine = false;
                part->rows = 0; /* so that the batch is left out */
                uint64_t *others CLEAN(memory_release) = plain_counts(&s, q);
                part->rows = rows[batch];
                for (size_t k = 0; k < few_asked[q].n; k++)
                    mine = mine || few_split[batch][few_asked[q].attribute[k]] == batch;
                for (size_t c = 0; c <= last; c++) {
                    const uint64_t got = three_sum64(&s.out[q], c);
                    assert_in_range(got, others[c], others[c] + most);
                    more += got - others[c];
                    assert_true(mine || got <= honest[c]);
                }
                assert_true(more <= most);
                if (!noise && batch == 0) /* a record of ones is one of the last values */
                    assert_int_equal(three_sum64(&s.out[q], last) - others[last], most);
            }
        }
}

static enum err count_wrongly_split(struct party *p, void *shared)
{
    static const uint16_t twice[] = {0, 1, 2, 3, 3}, most[] = {0, 1, 2, 3};
    const uint8_t *seed = shared;
    const struct records_part parts[] = {
        {.attributes = 5, .attribute = twice, .seed = {seed, seed}, .vector = seed},
        {.attributes = 4, .attribute = most, .seed = {seed, seed}, .vector = seed}};
    bool right = true;
    for (size_t i = 0; i < 2; i++) {
        const struct records_batch batch = {.records = 8, .parts = 1, .part = &parts[i]};
        struct records_query query = {.n = 1};
        TRY(share64_new(&query.out, few_sizes[0]));
        right = right && records_count(p, &few.shape, &batch, 1, &query, 1) == ERR_RANGE;
        share64_free(&query.out);
    }
    return right ? ERR_OK : ERR_MISUSE;
}

TEST(a_batch_holds_each_attribute_once)
{
    uint8_t seed[64] = {0};
    OK(three_run(1, count_wrongly_split, seed, NULL));
}

TEST(an_owner_cannot_share_what_does_not_fit)
{
    uint16_t codes[1] = {5}, zero[1] = {0};
    uint16_t *column[] = {codes, zero, zero, zero, zero};
    uint8_t vector[64];
    assert_int_equal(records_bits(&few.shape), 1 + 3 + 0 + 3 + 2 + 1);
    assert_int_equal(records_bytes(&few.shape, 9), 20);
    assert_int_equal(records_pack(&few.shape, column, 1, 9, vector), ERR_DATA);
    codes[0] = 4;
    assert_int_equal(records_pack(&few.shape, column, 1, 0, vector), ERR_DATA);
    OK(records_pack(&few.shape, column, 1, 1, vector));
}

/* --- moments ---------------------------------------------------------------------------------- */

#define VALUES 128
#define GROUPS 6

struct records_moments {
    struct records_scene *scene;
    int64_t score[ATTRIBUTES_MAX][VALUES], group[ATTRIBUTES_MAX][VALUES];
    size_t groups[ATTRIBUTES_MAX];
    bool grouped;
    enum err expected;
    struct three_result out;
    struct three_costs costs;
};

static enum err sum_moments(struct party *p, void *shared)
{
    struct records_moments *m = shared;
    const int64_t *score[ATTRIBUTES_MAX], *group[ATTRIBUTES_MAX];
    struct share64 out CLEAN(share64_free) = {0};
    struct records_held h;
    hold(&h, m->scene, p->index);
    for (size_t a = 0; a < ATTRIBUTES_MAX; a++) {
        score[a] = m->score[a];
        group[a] = m->group[a];
    }
    TRY(share64_new(&out, m->out.n));
    if (p->index == 0) /* adds to what is there */
        out.a[0] = 5;
    if (p->index == 2)
        out.b[0] = 5;
    if (records_moments(p, &m->scene->kind->shape, h.batch, BATCHES, score,
                        m->grouped ? group : NULL, out) != m->expected)
        return ERR_MISUSE;
    three_put64(&m->out, p, out);
    return ERR_OK;
}

/*
 * Up to `groups` groups of an attribute; for every second one all values of a group score the same.
 */
static void moments_new(struct records_moments *m, struct records_scene *s, size_t groups)
{
    const size_t d = s->kind->shape.attributes;
    size_t sums = 0, before = 0;
    memset(m, 0, sizeof *m);
    m->scene = s;
    m->grouped = groups > 1;
    for (size_t a = 0; a < d; a++) {
        const uint32_t size = s->kind->shape.size[a];
        m->groups[a] = size < groups ? size : groups;
        for (uint32_t v = 0; v < size; v++)
            m->group[a][v] = (int64_t)((size - 1 - v) % m->groups[a]);
        sums += before * m->groups[a];
        before += m->groups[a];
    }
    OK(three_result_new(&m->out, sums));
}

/* Scores up to `most` in size. */
static void draw_scores(struct records_moments *m, int64_t most, uint64_t seed)
{
    for (size_t a = 0; a < ATTRIBUTES_MAX; a++)
        for (size_t v = 0; v < VALUES; v++)
            m->score[a][v] = (int64_t)(three_random(&seed) % (2 * (uint64_t)most + 1)) - most;
    for (size_t a = 0; m->grouped && a < ATTRIBUTES_MAX; a += 2)
        for (size_t v = 0; v < VALUES; v++)
            m->score[a][v] = m->score[a][m->group[a][v]];
}

static uint32_t value_of(const struct records_moments *m, size_t batch, size_t row, size_t a)
{
    const uint32_t size = m->scene->kind->shape.size[a];
    const uint16_t code = m->scene->column[batch][a][row];
    return code < size ? code : size - 1;
}

/* Adds a row to the sums of a pair of attributes. */
static void add_row(const struct records_moments *m, size_t i, size_t r, size_t a, size_t b,
                    int64_t *sum)
{
    const uint32_t v = value_of(m, i, r, a), w = value_of(m, i, r, b);
    sum[(size_t)m->group[a][v] * m->groups[b] + (size_t)m->group[b][w]] += m->score[a][v] *
                                                                           m->score[b][w];
}

static void expect_plain_moments(struct records_moments *m)
{
    const size_t d = m->scene->kind->shape.attributes;
    size_t at = 0;
    OK(three_run(4, sum_moments, m, &m->costs));
    assert_true(three_replicated(&m->out, 64));
    for (size_t a = 0; a < d; a++)
        for (size_t b = a + 1; b < d; b++) {
            int64_t sum[GROUPS * GROUPS] = {at == 0 ? 5 : 0};
            for (size_t i = 0; i < BATCHES; i++)
                for (size_t r = 0; r < valid_rows(m->scene, i); r++)
                    add_row(m, i, r, a, b, sum);
            for (size_t k = 0; k < m->groups[a] * m->groups[b]; k++)
                assert_int_equal((int64_t)three_sum64(&m->out, at++), sum[k]);
        }
    assert_int_equal(at, m->out.n);
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(m->costs.opened_calls[r], 0);
}

/* Few rows of planes and many, scores narrow and wide, groups; codes out of range; many blocks. */
TEST(moments_equal_plain_sums)
{
    static const struct {
        size_t rows[BATCHES], records[BATCHES];
        const struct records_kind *kind;
        int64_t most;
        bool columns;
        unsigned multiple;
        size_t groups;
    } cases[] = {
        {{0, 1, 63}, {1, 1, 64}, &few, 1, false, 1, 1},
        {{64, 65, 900}, {64, 70, 2047}, &few, 100, true, 2, 1},
        {{64, 65, 900}, {64, 70, 2047}, &few, 9, true, 2, 3},
        {{40, 70, 100}, {45, 70, 101}, &many, 31, true, 2, 1},
        {{40, 70, 100}, {45, 70, 101}, &many, 1000, false, 1, GROUPS},
        {{40, 2048, 2500}, {45, 2049, 2500}, &many, RECORDS_SCORE_MAX, false, 1, 1},
        {{20001, 5, 16390}, {20001, 5, 16390}, &few, 4000, false, 1, 2},
    };
    for (size_t k = 0; k < SIZE(cases); k++) {
        struct records_scene s CLEAN(scene_free) = scene_of(
            cases[k].kind, cases[k].rows, cases[k].records, cases[k].columns, cases[k].multiple);
        struct records_moments m;
        moments_new(&m, &s, cases[k].groups);
        draw_scores(&m, cases[k].most, k);
        expect_plain_moments(&m);
        three_result_free(&m.out);
    }
}

TEST(scores_may_be_zero_but_not_too_large)
{
    static const size_t rows[BATCHES] = {10, 20, 30};
    struct records_scene s CLEAN(scene_free) = scene_new(rows, rows, false);
    struct records_moments m;
    moments_new(&m, &s, 1);
    expect_plain_moments(&m);
    assert_int_equal(m.costs.rounds, 0);
    m.score[2][7] = 3; /* of one attribute alone */
    expect_plain_moments(&m);
    m.score[2][7] = -RECORDS_SCORE_MAX - 1;
    m.expected = ERR_RANGE;
    OK(three_run(4, sum_moments, &m, NULL));
    m.score[2][7] = 3;
    m.grouped = true;
    m.group[2][7] = 8; /* of 8 values */
    OK(three_run(4, sum_moments, &m, NULL));
    three_result_free(&m.out);
}

/*
 * Like counting: 216 records in lanes of 64, three levels of trees; then planes of scores as
 * numbers, and their product with itself. Attributes of 5, 1, 8, 3 and 2 values have scores up to
 * 5: with 4 bits, or one plane a value. All are sums over all servers.
 */
TEST(moments_cost_what_their_planes_do)
{
    static const size_t records[BATCHES] = {60, 60, 96};
    const size_t lanes = 4 * 64, gates = 4 + 0 + 7 + 2 + 1, planes = 4 + 1 + 4 + 3 + 2;
    struct records_scene s CLEAN(scene_free) = scene_new(records, records, false);
    struct records_moments m;
    moments_new(&m, &s, 1);
    for (size_t a = 0; a < ATTRIBUTES_MAX; a++)
        for (size_t v = 0; v < VALUES; v++)
            m.score[a][v] = 5 - (int64_t)v;
    expect_plain_moments(&m);
    assert_int_equal(m.costs.sent[0] + m.costs.sent[1] + m.costs.sent[2],
                     lanes / 8 * (3 * gates + 8 * 4 * 2 * planes) +
                         planes * planes * (3 * 2 + 4 + 4 * 2 + 5 * 8));
    assert_int_equal(m.costs.rounds, 3 + 1 + 1 + 1 + 1);
    three_result_free(&m.out);
}
