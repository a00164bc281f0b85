/*
 * mpc/pair/distance.c: garbled distances against integers, at the ends of all widths; what junk can
 * do; sizes of messages and numbers of ANDs.
 */
#include "harness/cmocka.h"

#include "base/array.h"
#include "mpc/pair/distance.h"
#include "mpc/pair/program.h"
#include "tests/support/pair_ends.h"

#define UNIT ((uint64_t)1 << 10)

/* A candidate's numbers in the clear and as both ends hold them. */
struct shared_tables {
    size_t candidates, cells, *size;
    uint64_t *x, *estimate, *share[2], *most, *out[2];
    unsigned bits;
    uint64_t unit;
    struct pair_candidate *candidate[2];
    struct pair_cost cost;
};

static void table_free(struct shared_tables *t)
{
    memory_free_all(&t->size, &t->x, &t->estimate, &t->most);
    for (int i = 0; i < 2; i++)
        memory_free_all(&t->share[i], &t->out[i], &t->candidate[i]);
}

static struct shared_tables table_of(const size_t *size, size_t candidates, unsigned bits,
                                     uint64_t unit)
{
    struct shared_tables t = {.candidates = candidates, .bits = bits, .unit = unit};
    for (size_t k = 0; k < candidates; k++)
        t.cells += size[k];
    OK(memory_new(&t.size, candidates));
    memcpy(t.size, size, candidates * sizeof *size);
    OK(memory_new(&t.x, t.cells));
    OK(memory_new(&t.estimate, t.cells));
    OK(memory_new(&t.most, candidates));
    for (int i = 0; i < 2; i++) {
        OK(memory_new(&t.share[i], t.cells));
        OK(memory_new(&t.out[i], candidates));
        OK(memory_new(&t.candidate[i], candidates));
    }
    for (size_t k = 0; k < candidates; k++)
        t.most[k] = (uint64_t)4 << bits; /* S_q + 2^(l+1) of one row's worth and more */
    return t;
}

/* Counts and estimates at the ends of their ranges as often as within. */
static void fill(struct shared_tables *t, struct random *r)
{
    const uint64_t most = t->unit << t->bits;
    for (size_t i = 0; i < t->cells; i++) {
        const uint64_t x = random_u64(r) >> (64 - t->bits), c = random_below(r, most + 1);
        const uint64_t last = ((uint64_t)1 << t->bits) - 1;
        t->x[i] = (const uint64_t[]){0, last, x, x}[random_below(r, 4)];
        t->estimate[i] = (const uint64_t[]){0, most, c, t->unit * t->x[i]}[random_below(r, 4)];
    }
}

static void share(struct shared_tables *t, struct random *r)
{
    size_t cell = 0;
    for (size_t i = 0; i < t->cells; i++) {
        t->share[0][i] = random_u64(r);
        t->share[1][i] = t->x[i] - t->share[0][i];
    }
    for (size_t k = 0; k < t->candidates; cell += t->size[k++])
        for (int i = 0; i < 2; i++)
            t->candidate[i][k] = (struct pair_candidate){
                t->size[k], t->share[i] + cell, i == 0 ? t->estimate + cell : NULL, t->most[k]};
}

static enum err start(struct shared_tables *t, struct pair *end[2], struct pair_run *run[2])
{
    for (int i = 0; i < 2; i++)
        TRY(pair_distance_new(
            &run[i], end[i],
            &(struct pair_distance){t->candidate[i], t->candidates, t->bits, t->unit, t->out[i]}));
    t->cost = pair_run_cost(run[0]);
    return ERR_OK;
}

static void run_table(struct shared_tables *t, struct pair *end[2], size_t tile)
{
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    OK(start(t, end, run));
    assert_int_equal(pair_run_matrix(run[1]), t->cost.matrix);
    assert_int_equal(pair_run_tables(run[1]), t->cost.tables);
    OK(pair_ends_matrix(run, tile));
    OK(pair_ends_tables(run, tile));
}

/* On the circle of 2^(l + ceil(log2 u) + 1), as the header says; of real counts |u x - c|. */
static uint64_t distance_of(const struct shared_tables *t, size_t k)
{
    unsigned width = t->bits + 1;
    uint64_t sum = 0;
    size_t cell = 0;
    while ((uint64_t)1 << (width - t->bits - 1) < t->unit)
        width++;
    for (size_t i = 0; i < k; i++)
        cell += t->size[i];
    for (size_t i = cell; i < cell + t->size[k]; i++) {
        const uint64_t d = (t->unit * t->x[i] - t->estimate[i]) << (64 - width);
        sum += (d >> 63 != 0 ? 0 - d : d) >> (64 - width);
    }
    return sum < t->unit * t->most[k] ? sum : t->unit * t->most[k];
}

static void assert_right(const struct shared_tables *t)
{
    for (size_t k = 0; k < t->candidates; k++)
        assert_int_equal(t->out[0][k] + t->out[1][k], distance_of(t, k));
}

static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31};

TEST(distances_are_those_of_integers_at_every_width)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(1);
    OK(pair_ends_new(end));
    for (unsigned bits = 1; bits <= 40; bits += bits < 12 ? 1 : 7) {
        struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), bits, UNIT);
        fill(&t, &r);
        share(&t, &r);
        run_table(&t, end, 1000);
        assert_right(&t);
        for (size_t k = 0, cell = 0; k < t.candidates; cell += t.size[k++]) {
            uint64_t sum = 0;
            for (size_t i = cell; i < cell + t.size[k]; i++)
                sum += UNIT * t.x[i] > t.estimate[i] ? UNIT * t.x[i] - t.estimate[i]
                                                     : t.estimate[i] - UNIT * t.x[i];
            assert_int_equal(distance_of(&t, k), sum < UNIT * t.most[k] ? sum : UNIT * t.most[k]);
        }
    }
}

TEST(any_unit_will_do)
{
    static const uint64_t units[] = {1, 2, 3, 32, 300, 1023, 4096, 1 << 20, 999999};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(2);
    OK(pair_ends_new(end));
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), 9, units[k]);
        fill(&t, &r);
        share(&t, &r);
        run_table(&t, end, 1 << 20);
        assert_right(&t);
    }
}

/* The farthest that counts and estimates can be apart: every |d| is 2^(B-1), every s is 1. */
TEST(the_largest_sums_do_not_wrap)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(3);
    OK(pair_ends_new(end));
    for (unsigned bits = 1; bits <= 40; bits += 13) {
        struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), bits, UNIT);
        for (size_t i = 0; i < t.cells; i++)
            t.estimate[i] = UNIT << bits;
        for (size_t k = 0; k < t.candidates; k++)
            t.most[k] = t.size[k] << bits;
        share(&t, &r);
        run_table(&t, end, 1 << 20);
        for (size_t k = 0; k < t.candidates; k++)
            assert_int_equal(t.out[0][k] + t.out[1][k], UNIT * (t.size[k] << bits));
        for (size_t k = 0; k < t.candidates; k++)
            t.most[k]--;
        share(&t, &r);
        run_table(&t, end, 1 << 20);
        assert_right(&t);
    }
}

/* Sums of 72 bits: only the cap keeps them within a word. */
TEST(sums_may_be_wider_than_a_word)
{
    static const size_t size[] = {1, 3, 1000, 2};
    static const uint64_t most[] = {UINT64_C(1) << 52, 77, 12345, (UINT64_C(1) << 53) - 1};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(12);
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(size), 52, UNIT);
    for (size_t i = 4; i < t.cells; i++)
        t.estimate[i] = UNIT << 52;
    memcpy(t.most, most, sizeof most);
    share(&t, &r);
    run_table(&t, end, 1 << 20);
    assert_int_equal(t.out[0][0] + t.out[1][0], 0);
    assert_int_equal(t.out[0][1] + t.out[1][1], 0);
    assert_int_equal(t.out[0][2] + t.out[1][2], UNIT * most[2]);
    assert_int_equal(t.out[0][3] + t.out[1][3], UNIT * most[3]);
}

/* One unit of the grid below the cap, at it, and above it, from either side. */
TEST(the_minimum_is_exact)
{
    static const size_t size[] = {1, 1, 1, 1, 1, 1, 2, 2, 2};
    static const uint64_t estimate[] = {3071, 3072, 3073, 1025, 1024, 1023,
                                        3071, 1,    3072, 1,    1,    3071};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(10);
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(size), 5, UNIT);
    memcpy(t.estimate, estimate, sizeof estimate);
    for (size_t k = 0; k < t.candidates; k++) {
        t.x[k] = k >= 3 && k < 6 ? 4 : 0;
        t.most[k] = 3;
    }
    share(&t, &r);
    run_table(&t, end, 1 << 20);
    for (size_t k = 0; k < t.candidates; k++)
        assert_int_equal(t.out[0][k] + t.out[1][k], k == 0 || k == 3 ? 3071 : 3072);
}

/* Owners may send anything. */
TEST(a_row_more_or_less_of_junk_moves_a_distance_by_at_most_one_row)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(4);
    unsigned moved = 0;
    OK(pair_ends_new(end));
    for (unsigned round = 0; round < 30; round++) {
        struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), 5, UNIT);
        struct shared_tables u CLEAN(table_free) = table_of(COUNTED(sizes), 5, UNIT);
        fill(&t, &r);
        for (size_t i = 0; i < t.cells; i++)
            t.x[i] = (const uint64_t[]){0 - UINT64_C(1), 31, 63, random_u64(&r)}[i % 4];
        memcpy(u.x, t.x, t.cells * sizeof *t.x);
        memcpy(u.estimate, t.estimate, t.cells * sizeof *t.x);
        for (size_t k = 0, cell = 0; k < t.candidates; cell += t.size[k++])
            u.x[cell + random_below(&r, t.size[k])]++;
        share(&t, &r);
        share(&u, &r);
        run_table(&t, end, 1 << 20);
        run_table(&u, end, 1 << 20);
        for (size_t k = 0; k < t.candidates; k++) {
            const uint64_t a = t.out[0][k] + t.out[1][k], b = u.out[0][k] + u.out[1][k];
            assert_true((a > b ? a - b : b - a) <= UNIT);
            assert_true(a <= UNIT * t.most[k] && b <= UNIT * t.most[k]); /* the minimum */
            moved += a != b;
        }
    }
    assert_true(moved > 100);
}

/* What the keeper gets is masked by what only the provider knows, anew each time. */
TEST(masks_are_fresh_and_cover_the_word)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(5);
    uint64_t seen[2] = {0}, before[10];
    OK(pair_ends_new(end));
    for (unsigned round = 0; round < 4; round++) {
        struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), 4, UNIT);
        share(&t, &r);
        run_table(&t, end, 1 << 20);
        for (size_t k = 0; k < t.candidates; k++) {
            assert_true(round == 0 || t.out[1][k] != before[k]);
            before[k] = t.out[1][k];
            for (int i = 0; i < 2; i++)
                seen[i] |= t.out[i][k];
        }
    }
    assert_true(seen[0] == UINT64_MAX && seen[1] == UINT64_MAX);
}

/* The key of the hash and the seed of the provider's labels begin each portion. */
TEST(keys_and_seeds_come_once)
{
    static const size_t large[] = {8192, 8192, 8192};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(11);
    uint8_t begin[6][32], *all;
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(large), 1, UNIT);
    share(&t, &r);
    for (unsigned k = 0; k < 2; k++) {
        struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
        OK(start(&t, end, run));
        OK(pair_ends_matrix(run, 1 << 20));
        OK(memory_new(&all, t.cost.tables));
        OK(pair_send_tables(run[0], 0, all, t.cost.tables));
        for (unsigned i = 0; i < 3; i++)
            memcpy(begin[3 * k + i], all + i * (t.cost.tables / 3), 32);
        memory_free(&all);
    }
    for (unsigned i = 1; i < 6; i++)
        for (unsigned j = 0; j < i; j++) {
            assert_memory_not_equal(begin[i], begin[j], 16);
            assert_memory_not_equal(begin[i] + 16, begin[j] + 16, 16);
        }
}

/* --- cost ------------------------------------------------------------------------------------- */

/* Attributes in pairs and alone, as in a workload of all pairs. */
static size_t pairs_of(const size_t *values, size_t attributes, size_t *size)
{
    size_t n = 0;
    for (size_t a = 0; a < attributes; a++) {
        size[n++] = values[a];
        for (size_t b = a + 1; b < attributes; b++)
            size[n++] = values[a] * values[b];
    }
    return n;
}

static uint64_t ands_of(const size_t *size, size_t n, unsigned bits)
{
    uint64_t ands = 0;
    unsigned widest = 0;
    for (size_t k = 0; k < n; k++) {
        unsigned levels = 0;
        for (size_t left = size[k]; left > 1; left = (left + 1) / 2, levels++)
            ands += left / 2 * (bits + 10 + levels);
        ands += size[k] * bits;
        widest = levels > widest ? levels : widest;
    }
    return ands + n * (2 * (bits + 10 + widest) + 64);
}

TEST(breast_cancer_costs_what_it_should)
{
    static const size_t values[] = {2, 6, 3, 11, 7, 3, 3, 2, 6, 2};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(6);
    size_t size[55];
    assert_int_equal(pairs_of(COUNTED(values), size), 55);
    struct shared_tables t CLEAN(table_free) = table_of(size, 55, 8, UNIT);
    assert_int_equal(t.cells, 917);
    OK(pair_ends_new(end));
    fill(&t, &r);
    share(&t, &r);
    run_table(&t, end, 4096);
    assert_right(&t);
    assert_int_equal(ands_of(size, 55, 8), 29870);
    assert_int_equal(t.cost.matrix, 16 * (917 * 9 + 67)); /* to 128 bits */
    assert_int_equal(t.cost.tables, 32 + 32 * ands_of(size, 55, 8) + 8 * 55);
    assert_int_equal(t.cost.ands, 29870);
}

/* Larger marginals than a portion, and several portions. */
TEST(portions_follow_one_another)
{
    static const size_t large[] = {4000, 4192, 1, 9000, 3, 8192, 8191, 1};
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(7);
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(large), 3, UNIT);
    fill(&t, &r);
    share(&t, &r);
    run_table(&t, end, 262144);
    assert_right(&t);
    uint64_t ands = ands_of(large, 2, 3) + ands_of(large + 2, 1, 3) + ands_of(large + 3, 1, 3) +
                    ands_of(large + 4, 1, 3) + ands_of(large + 5, 1, 3) + ands_of(large + 6, 2, 3);
    assert_int_equal(t.cost.tables, 6 * 32 + 32 * ands + 8 * 8);
    assert_int_equal(t.cost.ands, ands);
}

/* --- misuse ----------------------------------------------------------------------------------- */

TEST(what_does_not_fit_is_refused)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct pair_run *run = NULL;
    uint64_t word[1] = {0};
    struct pair_candidate c = {1, word, word, 1};
    struct pair_distance d = {&c, 1, 40, UNIT, word};
    OK(pair_ends_new(end));
    c.cells = 0;
    assert_int_equal(pair_distance_new(&run, end[0], &d), ERR_RANGE);
    c.cells = 1;
    c.most = UINT64_C(1) << 53;
    assert_int_equal(pair_distance_new(&run, end[0], &d), ERR_RANGE);
    d.candidates = 0;
    assert_int_equal(pair_distance_new(&run, end[0], &d), ERR_RANGE);
    d = (struct pair_distance){&c, 1, 53, UNIT, word};
    c.most = 1;
    assert_int_equal(pair_distance_new(&run, end[0], &d), ERR_RANGE);
    d.bits = 0;
    assert_int_equal(pair_distance_new(&run, end[0], &d), ERR_RANGE);
}

TEST(messages_pass_once_and_in_order)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(8);
    uint8_t byte[1] = {0};
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), 3, UNIT);
    share(&t, &r);
    for (unsigned fault = 0; fault < 6; fault++) {
        struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
        OK(start(&t, end, run));
        if (fault == 0) /* tables before the matrix */
            assert_int_equal(pair_send_tables(run[0], 0, byte, 1), ERR_MISUSE);
        if (fault == 1)
            assert_int_equal(pair_send_matrix(run[0], 0, byte, 1), ERR_MISUSE);
        if (fault == 2)
            assert_int_equal(pair_take_matrix(run[0], 1, byte, 1), ERR_MISUSE);
        if (fault == 3)
            assert_int_equal(pair_take_tables(run[1], 0, byte, 1), ERR_MISUSE);
        if (fault >= 4)
            OK(pair_ends_matrix(run, 999));
        if (fault == 4)
            assert_int_equal(pair_send_matrix(run[1], 0, byte, 1), ERR_MISUSE);
        if (fault == 5) {
            OK(pair_ends_tables(run, 999));
            assert_int_equal(pair_send_tables(run[0], t.cost.tables, byte, 1), ERR_MISUSE);
        }
        if (fault < 3) /* and nothing passes after it */
            assert_int_equal(pair_take_matrix(run[0], 0, byte, 1), ERR_MISUSE);
    }
}

TEST(after_half_a_matrix_the_pair_is_of_no_use)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(9);
    uint8_t byte[1];
    OK(pair_ends_new(end));
    struct shared_tables t CLEAN(table_free) = table_of(COUNTED(sizes), 3, UNIT);
    share(&t, &r);
    for (unsigned k = 0; k < 2; k++) {
        struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
        assert_int_equal(start(&t, end, run), k == 0 ? ERR_OK : ERR_MISUSE);
        if (k == 0)
            OK(pair_send_matrix(run[1], 0, byte, 1));
    }
}
