/*
 * protocols/records.h: counts from shared records against plain counts, honest and hostile; with rows at several
 * owners, and with rows and columns at several.
 */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "base/secret.h"
#include "protocols/records.h"
#include "tests/support_three.h"

#include <string.h>

#define ATTRIBUTES 5
#define BATCHES 3
#define PARTS_MAX 3
#define QUERIES 9
#define CELLS_MAX 400

static const uint32_t sizes[ATTRIBUTES] = {5, 1, 8, 3, 2};
static const struct records_shape shape = {ATTRIBUTES, sizes};

static const struct {
    size_t n;
    uint16_t attribute[RECORDS_ORDER_MAX];
} asked[QUERIES] = {{1, {0}},       {1, {1}},          {2, {0, 2}},
                    {2, {1, 4}},    {3, {0, 2, 3}},    {3, {0, 3, 4}},
                    {3, {2, 3, 4}}, {4, {0, 2, 3, 4}}, {4, {0, 1, 2, 4}}};

/* Which part of each batch holds each attribute. */
typedef unsigned split_of[BATCHES][ATTRIBUTES];
static const split_of whole_rows = {{0}};
static const split_of rows_and_columns = {{0, 0, 0, 0, 0}, {0, 1, 1, 0, 1}, {2, 1, 0, 1, 2}};

/* An owner's part of a batch: how many of its first rows it says are valid, and what it sends. */
struct sent {
    size_t rows, attributes, bytes;
    uint16_t attribute[ATTRIBUTES];
    uint8_t seed[2][ANSWERS_SEED_SIZE];
    uint8_t *vector;
};

struct scene {
    size_t rows[BATCHES], records[BATCHES], parts[BATCHES];
    uint16_t *column[BATCHES][ATTRIBUTES];
    struct sent part[BATCHES][PARTS_MAX];
    struct three_result out[QUERIES];
    struct three_costs costs;
};

static size_t cells_of(size_t q)
{
    size_t cells = 1;
    for (size_t k = 0; k < asked[q].n; k++)
        cells *= sizes[asked[q].attribute[k]];
    return cells;
}

static enum err count_them(struct party *p, void *shared)
{
    struct scene *s = shared;
    struct records_part parts[BATCHES][PARTS_MAX] = {0};
    struct records_batch batches[BATCHES];
    struct records_query queries[QUERIES];
    enum err e;
    for (size_t i = 0; i < BATCHES; i++) {
        batches[i] = (struct records_batch){s->records[i], s->parts[i], parts[i]};
        for (size_t k = 0; k < s->parts[i]; k++) {
            const struct sent *from = &s->part[i][k];
            parts[i][k] = (struct records_part){.attributes = from->attributes,
                                                .attribute = from->attribute,
                                                .vector = from->vector};
            for (unsigned slot = 0; slot < 2; slot++)
                if ((p->index + slot) % 3 < 2)
                    parts[i][k].seed[slot] = from->seed[(p->index + slot) % 3];
        }
    }
    for (size_t q = 0; q < QUERIES; q++) {
        queries[q].n = asked[q].n;
        memcpy(queries[q].attribute, asked[q].attribute, sizeof queries[q].attribute);
        TRY(share64_new(&queries[q].out, cells_of(q)));
    }
    e = records_count(p, &shape, batches, BATCHES, queries, QUERIES);
    for (size_t q = 0; q < QUERIES; q++) {
        three_put64(&s->out[q], p, queries[q].out);
        share64_free(&queries[q].out);
    }
    return e;
}

static void mask(struct sent *part)
{
    assert_int_equal(
        answers_mask((const uint8_t(*)[ANSWERS_SEED_SIZE])part->seed, part->vector, part->bytes),
        ERR_OK);
}

/* What an honest owner sends of its columns. */
static void share_part(struct scene *s, size_t i, size_t k)
{
    struct sent *part = &s->part[i][k];
    uint32_t size[ATTRIBUTES];
    uint16_t *column[ATTRIBUTES];
    const struct records_shape own = {part->attributes, size};
    for (size_t a = 0; a < part->attributes; a++) {
        size[a] = sizes[part->attribute[a]];
        column[a] = s->column[i][part->attribute[a]];
    }
    part->bytes = records_bytes(&own, s->records[i]);
    if (part->vector == NULL)
        part->vector = memory_array(part->bytes, 1);
    assert_int_equal(records_pack(&own, column, part->rows, s->records[i], part->vector), ERR_OK);
    mask(part);
}

static void share_rows(struct scene *s, size_t i)
{
    for (size_t k = 0; k < s->parts[i]; k++)
        share_part(s, i, k);
}

static void scene_new(struct scene *s, const size_t rows[BATCHES], const size_t records[BATCHES],
                      const split_of split)
{
    uint64_t state = rows[0];
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < BATCHES; i++) {
        s->rows[i] = rows[i];
        s->records[i] = records[i];
        for (uint16_t a = 0; a < ATTRIBUTES; a++) {
            struct sent *part = &s->part[i][split[i][a]];
            s->column[i][a] = memory_array(rows[i], sizeof(uint16_t));
            for (size_t r = 0; r < rows[i]; r++)
                s->column[i][a][r] = (uint16_t)(three_random(&state) % sizes[a]);
            part->attribute[part->attributes++] = a;
            s->parts[i] = split[i][a] >= s->parts[i] ? split[i][a] + 1 : s->parts[i];
        }
        for (size_t k = 0; k < s->parts[i]; k++) {
            s->part[i][k].rows = rows[i];
            secret_random(s->part[i][k].seed, sizeof s->part[i][k].seed);
        }
        share_rows(s, i);
    }
    for (size_t q = 0; q < QUERIES; q++)
        assert_int_equal(three_result_new(&s->out[q], cells_of(q)), ERR_OK);
}

static void scene_free(struct scene *s)
{
    for (size_t i = 0; i < BATCHES; i++) {
        for (size_t k = 0; k < s->parts[i]; k++)
            memory_free(&s->part[i][k].vector);
        for (size_t a = 0; a < ATTRIBUTES; a++)
            memory_free(&s->column[i][a]);
    }
    for (size_t q = 0; q < QUERIES; q++)
        three_result_free(&s->out[q]);
}

/* Of the rows that every part of their batch says are valid. */
static uint64_t plain_count(const struct scene *s, size_t q, size_t cell)
{
    uint64_t count = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        size_t valid = s->rows[i];
        for (size_t k = 0; k < s->parts[i]; k++)
            valid = s->part[i][k].rows < valid ? s->part[i][k].rows : valid;
        for (size_t r = 0; r < valid; r++) {
            size_t at = 0;
            for (size_t k = 0; k < asked[q].n; k++)
                at = at * sizes[asked[q].attribute[k]] + s->column[i][asked[q].attribute[k]][r];
            count += at == cell;
        }
    }
    return count;
}

static void expect_plain_counts(struct scene *s)
{
    assert_int_equal(three_run(3, count_them, s, &s->costs), ERR_OK);
    for (size_t q = 0; q < QUERIES; q++) {
        assert_true(three_replicated(&s->out[q], 64));
        for (size_t c = 0; c < cells_of(q); c++)
            assert_int_equal(three_sum64(&s->out[q], c), plain_count(s, q, c));
    }
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(s->costs.opened_calls[r], 0);
}

static void counts_equal_plain_counts(void **state)
{
    static const size_t rows[][BATCHES] = {{0, 1, 63}, {64, 65, 1000}, {2048, 2049, 5000}};
    static const size_t records[][BATCHES] = {{1, 1, 64}, {64, 70, 2047}, {2048, 4095, 5001}};
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int columns = 0; columns < 2; columns++) {
            struct scene s;
            scene_new(&s, rows[k], records[k], columns ? rows_and_columns : whole_rows);
            expect_plain_counts(&s);
            scene_free(&s);
        }
}

/*
 * Three batches of at most 64 records share a tile of 192. Two parts: one AND for each of its records;
 * three: two, in two rounds.
 */
static void columns_apart_cost_an_and_for_each_part_more(void **state)
{
    static const size_t rows[BATCHES] = {10, 20, 30}, records[BATCHES] = {10, 20, 30};
    struct scene whole, apart;
    (void)state;
    scene_new(&whole, rows, records, whole_rows);
    scene_new(&apart, rows, records, rows_and_columns);
    expect_plain_counts(&whole);
    expect_plain_counts(&apart);
    assert_int_equal(apart.costs.rounds - whole.costs.rounds, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(apart.costs.sent[i] - whole.costs.sent[i], 2 * 192 / 8);
    scene_free(&whole);
    scene_free(&apart);
}

/* Rounds are those of tiles and groups of tiles: neither of owners nor, but for pairs, of marginals. */
static void rounds_are_of_tiles(void **state)
{
    static const size_t few[BATCHES] = {10, 20, 30}, many[BATCHES] = {500, 600, 700};
    struct scene a, b;
    (void)state;
    scene_new(&a, few, few, whole_rows);
    scene_new(&b, many, many, whole_rows);
    expect_plain_counts(&a);
    expect_plain_counts(&b);
    assert_int_equal(a.costs.rounds, b.costs.rounds);
    /* three levels of trees, their leaves as numbers, pairs of columns, and a sum shared and widened */
    assert_int_equal(a.costs.rounds, 3 + 1 + 5 + 3);
    scene_free(&a);
    scene_free(&b);
}

/* What one owner of a batch lacks, or says that it lacks, counts nowhere; the other batches are as they were. */
static void a_record_counts_where_all_owners_of_its_batch_hold_it(void **state)
{
    static const size_t rows[BATCHES] = {40, 50, 70}, records[BATCHES] = {64, 64, 80};
    struct scene s;
    (void)state;
    scene_new(&s, rows, records, rows_and_columns);
    s.part[1][1].rows = 31;
    s.part[2][0].rows = 69;
    s.part[2][2].rows = 8;
    share_rows(&s, 1);
    share_rows(&s, 2);
    expect_plain_counts(&s);
    scene_free(&s);
}

/* More records than one group of 16-bit sums holds. */
static void large_counts_do_not_wrap(void **state)
{
    static const size_t rows[BATCHES] = {40000, 30000, 1}, records[BATCHES] = {40000, 30720, 1};
    struct scene s;
    (void)state;
    scene_new(&s, rows, records, whole_rows);
    for (size_t i = 0; i < BATCHES; i++) { /* all alike: one cell gets everything */
        for (size_t a = 0; a < ATTRIBUTES; a++)
            for (size_t r = 0; r < rows[i]; r++)
                s.column[i][a][r] = (uint16_t)(sizes[a] - 1);
        share_rows(&s, i);
    }
    assert_int_equal(three_run(9, count_them, &s, NULL), ERR_OK);
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t c = 0; c < cells_of(q); c++)
            assert_int_equal(three_sum64(&s.out[q], c), c + 1 == cells_of(q) ? 70001 : 0);
    scene_free(&s);
}

/*
 * An owner that sets every bit of what it uploads, then one that sends noise: a record counts at most once in
 * a marginal, and not at all where its code is out of range. An owner of columns moves records only of its batch
 * and only those which the batch's others hold, and no count of a marginal that has none of its columns goes up.
 */
static void a_hostile_owner_moves_no_more_than_its_records(void **state)
{
    static const size_t rows[BATCHES] = {10, 20, 30}, records[BATCHES] = {200, 200, 30};
    (void)state;
    for (size_t batch = 0; batch < 2; batch++)
        for (int noise = 0; noise < 2; noise++) {
            const size_t most = batch == 0 ? records[0] : rows[1];
            struct scene s;
            struct sent *part;
            uint64_t seed = 5;
            scene_new(&s, rows, records, rows_and_columns);
            part = &s.part[batch][batch];
            for (size_t i = 0; i < part->bytes; i++)
                part->vector[i] = noise ? (uint8_t)three_random(&seed) : 0xff;
            mask(part);
            part->rows = 0; /* so that plain_count leaves the batch out */
            assert_int_equal(three_run(9, count_them, &s, NULL), ERR_OK);
            for (size_t q = 0; q < QUERIES; q++) {
                uint64_t more = 0;
                bool mine = false;
                for (size_t k = 0; k < asked[q].n; k++)
                    mine = mine || rows_and_columns[batch][asked[q].attribute[k]] == batch;
                for (size_t c = 0; c < cells_of(q); c++) {
                    uint64_t got = three_sum64(&s.out[q], c), others = plain_count(&s, q, c);
                    assert_in_range(got, others, others + most);
                    more += got - others;
                    if (!mine) {
                        part->rows = s.rows[batch];
                        assert_true(got <= plain_count(&s, q, c));
                        part->rows = 0;
                    }
                }
                assert_true(more <= most);
                if (!noise && batch == 0 && asked[q].attribute[0] == 0)
                    assert_int_equal(more, 0); /* the code 7 of an attribute of five values */
            }
            scene_free(&s);
        }
}

static enum err count_wrongly_split(struct party *p, void *shared)
{
    static const uint16_t twice[] = {0, 1, 2, 3, 3}, most[] = {0, 1, 2, 3};
    const uint8_t *seed = shared;
    const struct records_part parts[] = {{5, twice, {seed, seed}, seed},
                                         {4, most, {seed, seed}, seed}};
    bool right = true;
    for (size_t i = 0; i < 2; i++) {
        const struct records_batch batch = {8, 1, &parts[i]};
        struct records_query query = {.n = 1};
        TRY(share64_new(&query.out, sizes[0]));
        right = right && records_count(p, &shape, &batch, 1, &query, 1) == ERR_RANGE;
        share64_free(&query.out);
    }
    return right ? ERR_OK : ERR_MISUSE;
}

static void a_batch_holds_each_attribute_once(void **state)
{
    uint8_t seed[64] = {0};
    (void)state;
    assert_int_equal(three_run(1, count_wrongly_split, seed, NULL), ERR_OK);
}

static void an_owner_cannot_share_what_does_not_fit(void **state)
{
    uint16_t codes[1] = {5}, zero[1] = {0};
    uint16_t *column[ATTRIBUTES] = {codes, zero, zero, zero, zero};
    uint8_t vector[64];
    (void)state;
    assert_int_equal(records_bits(&shape), 1 + 3 + 0 + 3 + 2 + 1);
    assert_int_equal(records_bytes(&shape, 9), 20);
    assert_int_equal(records_pack(&shape, column, 1, 9, vector), ERR_DATA);
    codes[0] = 4;
    assert_int_equal(records_pack(&shape, column, 1, 0, vector), ERR_DATA);
    assert_int_equal(records_pack(&shape, column, 1, 1, vector), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_plain_counts),
        cmocka_unit_test(columns_apart_cost_an_and_for_each_part_more),
        cmocka_unit_test(rounds_are_of_tiles),
        cmocka_unit_test(a_record_counts_where_all_owners_of_its_batch_hold_it),
        cmocka_unit_test(a_batch_holds_each_attribute_once),
        cmocka_unit_test(large_counts_do_not_wrap),
        cmocka_unit_test(a_hostile_owner_moves_no_more_than_its_records),
        cmocka_unit_test(an_owner_cannot_share_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
