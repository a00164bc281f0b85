/* protocols/records.c: counts from shared records against plain counts, honest and hostile. */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "base/secret.h"
#include "protocols/records.h"
#include "tests/support_three.h"

#include <string.h>

#define ATTRIBUTES 5
#define UPLOADS 3
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

struct scene {
    size_t rows[UPLOADS], records[UPLOADS];
    uint16_t *column[UPLOADS][ATTRIBUTES];
    uint8_t seed[UPLOADS][2][ANSWERS_SEED_SIZE];
    uint8_t *vector[UPLOADS];
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
    struct records_upload uploads[UPLOADS];
    struct records_query queries[QUERIES];
    enum err e;
    for (size_t i = 0; i < UPLOADS; i++) {
        uploads[i] = (struct records_upload){.records = s->records[i], .vector = s->vector[i]};
        for (unsigned slot = 0; slot < 2; slot++)
            if ((p->index + slot) % 3 < 2)
                uploads[i].seed[slot] = s->seed[i][(p->index + slot) % 3];
    }
    for (size_t q = 0; q < QUERIES; q++) {
        queries[q].n = asked[q].n;
        memcpy(queries[q].attribute, asked[q].attribute, sizeof queries[q].attribute);
        TRY(share64_new(&queries[q].out, cells_of(q)));
    }
    e = records_count(p, &shape, uploads, UPLOADS, queries, QUERIES);
    for (size_t q = 0; q < QUERIES; q++) {
        three_put64(&s->out[q], p, queries[q].out);
        share64_free(&queries[q].out);
    }
    return e;
}

static void share_rows(struct scene *s, size_t i)
{
    assert_int_equal(records_pack(&shape, s->column[i], s->rows[i], s->records[i], s->vector[i]),
                     ERR_OK);
    assert_int_equal(answers_mask((const uint8_t(*)[ANSWERS_SEED_SIZE])s->seed[i], s->vector[i],
                                  records_bytes(&shape, s->records[i])),
                     ERR_OK);
}

static void scene_new(struct scene *s, const size_t rows[UPLOADS], const size_t records[UPLOADS])
{
    uint64_t state = rows[0];
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < UPLOADS; i++) {
        s->rows[i] = rows[i];
        s->records[i] = records[i];
        s->vector[i] = memory_array(records_bytes(&shape, records[i]), 1);
        for (size_t a = 0; a < ATTRIBUTES; a++) {
            s->column[i][a] = memory_array(rows[i], sizeof(uint16_t));
            for (size_t r = 0; r < rows[i]; r++)
                s->column[i][a][r] = (uint16_t)(three_random(&state) % sizes[a]);
        }
        secret_random(s->seed[i], sizeof s->seed[i]);
        share_rows(s, i);
    }
    for (size_t q = 0; q < QUERIES; q++)
        assert_int_equal(three_result_new(&s->out[q], cells_of(q)), ERR_OK);
}

static void scene_free(struct scene *s)
{
    for (size_t i = 0; i < UPLOADS; i++) {
        memory_free(&s->vector[i]);
        for (size_t a = 0; a < ATTRIBUTES; a++)
            memory_free(&s->column[i][a]);
    }
    for (size_t q = 0; q < QUERIES; q++)
        three_result_free(&s->out[q]);
}

static uint64_t plain_count(const struct scene *s, size_t q, size_t cell)
{
    uint64_t count = 0;
    for (size_t i = 0; i < UPLOADS; i++)
        for (size_t r = 0; r < s->rows[i]; r++) {
            size_t at = 0;
            for (size_t k = 0; k < asked[q].n; k++)
                at = at * sizes[asked[q].attribute[k]] + s->column[i][asked[q].attribute[k]][r];
            count += at == cell;
        }
    return count;
}

static void counts_equal_plain_counts(void **state)
{
    static const size_t rows[][UPLOADS] = {{0, 1, 63}, {64, 65, 1000}, {2048, 2049, 5000}};
    static const size_t records[][UPLOADS] = {{1, 1, 64}, {64, 70, 2047}, {2048, 4095, 5001}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct scene s;
        scene_new(&s, rows[k], records[k]);
        assert_int_equal(three_run(k, count_them, &s, &s.costs), ERR_OK);
        for (size_t q = 0; q < QUERIES; q++) {
            assert_true(three_replicated(&s.out[q], 64));
            for (size_t c = 0; c < cells_of(q); c++)
                assert_int_equal(three_sum64(&s.out[q], c), plain_count(&s, q, c));
        }
        for (unsigned r = 0; r < OPEN_REASONS; r++)
            assert_int_equal(s.costs.opened_calls[r], 0);
        scene_free(&s);
    }
}

/* More records than one group of 16-bit sums holds. */
static void large_counts_do_not_wrap(void **state)
{
    static const size_t rows[UPLOADS] = {40000, 30000, 1}, records[UPLOADS] = {40000, 30720, 1};
    struct scene s;
    (void)state;
    scene_new(&s, rows, records);
    for (size_t i = 0; i < UPLOADS; i++) { /* all alike: one cell gets everything */
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
 * a marginal, and not at all where its code is out of range.
 */
static void a_hostile_owner_moves_no_more_than_its_records(void **state)
{
    static const size_t rows[UPLOADS] = {10, 20, 30}, records[UPLOADS] = {200, 20, 30};
    (void)state;
    for (int noise = 0; noise < 2; noise++) {
        struct scene s;
        uint64_t seed = 5;
        size_t bytes = records_bytes(&shape, records[0]);
        uint8_t *plain = memory_array(bytes, 1);
        scene_new(&s, rows, records);
        for (size_t i = 0; i < bytes; i++)
            plain[i] = noise ? (uint8_t)three_random(&seed) : 0xff;
        memcpy(s.vector[0], plain, bytes);
        assert_int_equal(
            answers_mask((const uint8_t(*)[ANSWERS_SEED_SIZE])s.seed[0], s.vector[0], bytes),
            ERR_OK);
        s.rows[0] = 0; /* so that plain_count leaves it out */
        assert_int_equal(three_run(9, count_them, &s, NULL), ERR_OK);
        for (size_t q = 0; q < QUERIES; q++) {
            uint64_t more = 0;
            for (size_t c = 0; c < cells_of(q); c++) {
                uint64_t got = three_sum64(&s.out[q], c), honest = plain_count(&s, q, c);
                assert_true(got >= honest && got <= honest + records[0]);
                more += got - honest;
            }
            assert_true(more <= records[0]);
            if (!noise && asked[q].attribute[0] == 0)
                assert_int_equal(more, 0); /* the code 7 of an attribute of five values */
        }
        memory_free(&plain);
        scene_free(&s);
    }
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
        cmocka_unit_test(large_counts_do_not_wrap),
        cmocka_unit_test(a_hostile_owner_moves_no_more_than_its_records),
        cmocka_unit_test(an_owner_cannot_share_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
