/*
 * protocols/link.h, protocols/bitonic.h, mpc/circuits/order.h: persons joined and bounded over all
 * owners, bit for bit what a plain join and bound give; what it costs; what is opened of it.
 */
#include "harness/cmocka.h"

#include "tests/protocols/test_link.h"
#include "tests/support/check.h"

#define INNER SIZE_MAX

struct linking {
    struct link_tables t;
    size_t most; /* 0: join */
    size_t keep;
    bool checked;
    bool sorted[3][OWNERS_MAX];
    size_t rows;
    struct three_result out;
    struct three_costs costs;
};

static unsigned width_of(const struct linking *l)
{
    unsigned all = 1 + (l->most == 0 && l->keep < l->t.owners ? (unsigned)l->t.owners : 0);
    for (size_t o = 0; o < l->t.owners; o++)
        all += l->t.columns[o];
    return l->most > 0 ? 1 + l->t.columns[0] : all;
}

static void shared_free(struct planes (*table)[OWNERS_MAX])
{
    for (size_t o = 0; o < OWNERS_MAX; o++)
        planes_free(&(*table)[o]);
}

static enum err run(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct linking *l = shared;
    struct planes table[OWNERS_MAX] CLEAN(shared_free) = {0}, out CLEAN(planes_free) = {0};
    bool *sorted = l->sorted[p->index];
    if (l->checked && !party_proves(p))
        TRY(check_new(p, &limits));
    for (size_t o = 0; o < l->t.owners; o++)
        TRY(tables_share(p, &l->t, o, &table[o]));
    TRY(planes_new(&out, width_of(l), link_rows(table, l->t.owners)));
    TRY(link_sorted(p, table, l->t.owners, NULL, NULL, sorted));
    TRY(l->most > 0 ? link_bound(p, &out, table, l->t.owners, l->most, sorted)
                    : link_join(p, &out, table, l->t.owners, l->keep, sorted));
    if (party_proves(p))
        TRY(record_prove(p));
    three_put_planes(&l->out, p, &out);
    return ERR_OK;
}

static void execute(struct linking *l, size_t lanes)
{
    l->rows = 0;
    for (size_t o = 0; o < l->t.owners; o++)
        l->rows += (l->t.n[o] + 63) / 64 * 64;
    OK(three_result_new(&l->out, l->rows));
    OK(three_run_lanes(5, lanes, 64, run, l, &l->costs, NULL));
    assert_true(three_replicated(&l->out, width_of(l)));
    assert_int_equal(l->costs.opened_calls[OPEN_SORTED], 1);
    assert_int_equal(l->costs.opened_values[OPEN_SORTED], l->t.owners);
    for (unsigned i = 0; i < OPEN_REASONS; i++)
        assert_true(i == OPEN_SORTED || l->costs.opened_calls[i] == 0);
}

static void linking_free(struct linking *l)
{
    tables_free(&l->t);
    three_result_free(&l->out);
}

/* --- in clear --------------------------------------------------------------------------------- */

static bool is_sorted(const struct link_tables *t, size_t o)
{
    bool sorted = true;
    for (size_t i = 1; i < t->n[o]; i++) {
        const struct link_row *x = &t->row[o][i - 1], *y = &t->row[o][i];
        sorted = sorted && (x->valid > y->valid || (x->valid == y->valid && x->key <= y->key));
    }
    return sorted;
}

static void expect_sorted(const struct linking *l)
{
    for (size_t o = 0; o < l->t.owners; o++)
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(l->sorted[i][o], is_sorted(&l->t, o));
}

static int by_number(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* All keys that occur in the tables, each once, in ascending order. */
static size_t all_keys(const struct link_tables *t, uint64_t **keys)
{
    size_t n = 0, once = 0;
    for (size_t o = 0; o < t->owners; o++)
        n += t->n[o];
    *keys = memory_array(n, sizeof **keys);
    n = 0;
    for (size_t o = 0; o < t->owners; o++)
        for (size_t i = 0; i < t->n[o] && is_sorted(t, o); i++)
            if (t->row[o][i].valid)
                (*keys)[n++] = t->row[o][i].key;
    qsort(*keys, n, sizeof **keys, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || (*keys)[i] != (*keys)[once - 1])
            (*keys)[once++] = (*keys)[i];
    return once;
}

/* The next row of a table from *at on that is valid and has the key, or NULL. */
static const struct link_row *next_row(const struct link_tables *t, size_t o, uint64_t key,
                                       size_t *at)
{
    while (is_sorted(t, o) && *at < t->n[o]) {
        const struct link_row *r = &t->row[o][(*at)++];
        if (r->valid && r->key == key)
            return r;
    }
    return NULL;
}

/* The next valid row of the result, without that bit. */
static bool next_out(const struct linking *l, size_t *at, word128 *columns)
{
    while (*at < l->rows) {
        const word128 lane = three_xor(&l->out, (*at)++);
        *columns = lane >> 1;
        if (lane & 1)
            return true;
    }
    return false;
}

static void expect_bounded(const struct linking *l)
{
    uint64_t *keys CLEAN(memory_release) = NULL;
    const size_t n = all_keys(&l->t, &keys);
    size_t at = 0;
    word128 got = 0;
    for (size_t i = 0; i < n; i++) {
        size_t taken = 0;
        for (size_t o = 0; o < l->t.owners; o++) {
            const struct link_row *r;
            for (size_t k = 0; (r = next_row(&l->t, o, keys[i], &k)) != NULL && taken < l->most;
                 taken++) {
                assert_true(next_out(l, &at, &got));
                assert_true(got == r->columns);
            }
        }
    }
    assert_false(next_out(l, &at, &got));
}

static void expect_joined(const struct linking *l)
{
    uint64_t *keys CLEAN(memory_release) = NULL;
    const size_t n = all_keys(&l->t, &keys);
    const bool keep = l->keep < l->t.owners;
    size_t at = 0;
    word128 got = 0;
    for (size_t i = 0; i < n; i++) {
        word128 row = 0, present = 0;
        unsigned bit = 0, has = 0;
        bool kept = false;
        for (size_t o = 0; o < l->t.owners; bit += l->t.columns[o++]) {
            size_t k = 0;
            const struct link_row *r = next_row(&l->t, o, keys[i], &k);
            if (r == NULL)
                continue;
            row |= (word128)r->columns << bit;
            present |= (word128)1 << o;
            has++;
            kept = kept || o == l->keep;
        }
        if (keep ? !kept : has < l->t.owners)
            continue;
        assert_true(next_out(l, &at, &got));
        assert_true(got == (keep ? row | present << bit : row));
    }
    assert_false(next_out(l, &at, &got));
}

static void expect_right(const struct linking *l)
{
    expect_sorted(l);
    if (l->most > 0)
        expect_bounded(l);
    else
        expect_joined(l);
}

/* --- cases ------------------------------------------------------------------------------------ */

static const struct {
    size_t owners, n[OWNERS_MAX];
    uint64_t keys; /* number of possible keys */
    size_t unsorted;
    bool full; /* no row is invalid */
} cases[] = {
    {1, {100}, 30, INNER, false},
    {2, {70, 64}, 90, INNER, false},
    {2, {200, 130}, 1, INNER, false},             /* all equal */
    {2, {0, 130}, 60, INNER, false},              /* one owner empty */
    {2, {0, 0}, 60, INNER, false},                /* both */
    {2, {65, 1}, 60, INNER, false},               /* one row */
    {2, {150, 150}, 1 << 30, INNER, false},       /* none in common */
    {3, {500, 333, 129}, 300, INNER, false},      /* duplicates and absent keys */
    {3, {300, 64, 200}, 100, 1, false},           /* one that is not sorted */
    {5, {90, 10, 0, 700, 64}, 40, INNER, false},  /* an odd list out */
    {4, {128, 128, 128, 128}, 150, INNER, false}, /* whole words */
    {2, {64, 128}, 1, INNER, true},               /* with key 0, and nothing after them */
    {2, {128, 64}, 150, INNER, true},
};
#define CASES (sizeof cases / sizeof *cases)

/* In a join each owner has its own columns. */
static struct linking make_case(size_t c, bool join)
{
    uint64_t state = c + 1;
    struct linking l = {0};
    for (size_t o = 0; o < cases[c].owners; o++)
        tables_fill(&l.t, o, cases[c].n[o], join ? 1 + 5 * (unsigned)o : 20, cases[c].keys, &state);
    for (size_t o = 0; cases[c].full && o < cases[c].owners; o++) {
        for (size_t i = 0; i < l.t.n[o]; i++)
            l.t.row[o][i].valid = true;
        qsort(l.t.row[o], l.t.n[o], sizeof(struct link_row), by_key);
    }
    if (cases[c].unsorted < cases[c].owners) {
        struct link_row *r = l.t.row[cases[c].unsorted], first = r[0];
        r[0] = r[1];
        r[1] = first;
        r[0].key = r[1].key + 1;
        assert_false(is_sorted(&l.t, cases[c].unsorted));
    }
    return l;
}

static void links_right(struct linking *l, unsigned lanes)
{
    execute(l, lanes);
    expect_right(l);
}

TEST(only_the_first_rows_of_a_key_stay)
{
    static const size_t most[] = {1, 2, 3, 64, 100, 100000};
    for (size_t c = 0; c < CASES; c++) {
        struct linking l CLEAN(linking_free) = make_case(c, false);
        l.most = most[c % (sizeof most / sizeof *most)];
        links_right(&l, 1);
    }
}

TEST(rows_of_a_key_that_all_owners_have_are_joined)
{
    for (size_t c = 0; c < CASES; c++) {
        struct linking l CLEAN(linking_free) = make_case(c, true);
        l.keep = INNER;
        links_right(&l, 1);
    }
}

TEST(the_rows_of_an_owner_that_is_kept_stay)
{
    for (size_t c = 0; c < CASES; c++) {
        struct linking l CLEAN(linking_free) = make_case(c, true);
        l.keep = c % cases[c].owners;
        links_right(&l, 1);
    }
}

/* Keys that differ in one bit only, and the smallest and largest key; 0 has rows before none. */
TEST(every_bit_of_a_key_counts)
{
    for (size_t most = 0; most < 2; most++) {
        struct linking l CLEAN(linking_free) = {.most = most, .keep = INNER};
        uint64_t seed = 3;
        for (size_t o = 0; o < 2; o++) {
            tables_fill(&l.t, o, 131, 20, 1, &seed);
            for (size_t i = 0; i < 130; i++) {
                l.t.row[o][i].valid = true;
                l.t.row[o][i].key = (uint64_t)1 << i / 2 % 64;
            }
            l.t.row[o][0].key = l.t.row[o][1].key = 0;
            l.t.row[o][128].key = l.t.row[o][129].key = o == 0 ? UINT64_MAX : UINT64_MAX - 1;
            qsort(l.t.row[o], 131, sizeof(struct link_row), by_key);
        }
        links_right(&l, 1);
    }
}

/* A table that decreases once, at any row, in any bit, or whose invalid rows come first. */
TEST(tables_that_are_not_sorted_are_found)
{
    static const size_t at[] = {0, 62, 63, 64, 127, 128, 198};
    for (size_t c = 0; c < 8; c++) {
        struct linking l CLEAN(linking_free) = {.most = 1};
        uint64_t seed = c;
        tables_fill(&l.t, 0, 200, 3, 1, &seed);
        tables_fill(&l.t, 1, 200, 3, 1 << 20, &seed);
        for (size_t i = 0; i < 200; i++)
            l.t.row[0][i].valid = true;
        for (size_t i = 0; c < 7 && i <= at[c]; i++)
            l.t.row[0][i].key ^= (uint64_t)1 << (9 * c);
        if (c < 7 && l.t.row[0][0].key < l.t.row[0][199].key) /* the other way round */
            for (size_t i = 0; i < 200; i++)
                l.t.row[0][i].key = ~l.t.row[0][i].key;
        l.t.row[0][0].valid = c < 7;
        assert_false(is_sorted(&l.t, 0));
        links_right(&l, 1);
    }
}

/*
 * What is left of one person's rows does not depend on another's: if all rows of a key are removed,
 * the others' valid rows stay the same, in the same order.
 */
TEST(a_key_moves_no_rows_but_its_own)
{
    for (size_t most = 1; most <= 3; most++) {
        struct linking l CLEAN(linking_free) = make_case(7, false);
        const uint64_t gone = l.t.row[0][17].key;
        l.most = most;
        links_right(&l, 1);
        three_result_free(&l.out);
        for (size_t o = 0; o < l.t.owners; o++) {
            size_t left = 0;
            for (size_t i = 0; i < l.t.n[o]; i++)
                if (l.t.row[o][i].key != gone)
                    l.t.row[o][left++] = l.t.row[o][i];
            assert_true(o > 0 || left < l.t.n[o]);
            l.t.n[o] = left;
        }
        links_right(&l, 1);
    }
}

/* --- lanes, checks, tiles --------------------------------------------------------------------- */

TEST(lanes_and_a_check_change_nothing)
{
    for (size_t k = 0; k < 6; k++) {
        struct linking l CLEAN(linking_free) = make_case(7, k / 2 > 0);
        l.most = k / 2 == 0 ? 2 : 0;
        l.keep = k / 2 == 1 ? INNER : 1;
        l.checked = k % 2 != 0;
        links_right(&l, 3 - k % 2);
    }
}

/* --- a server that lies ----------------------------------------------------------------------- */

static enum err bound_two(struct party *p, struct check_play *play)
{
    struct link_tables t CLEAN(tables_free) = {.owners = 0};
    struct planes table[OWNERS_MAX] CLEAN(shared_free) = {0}, out CLEAN(planes_free) = {0};
    uint64_t seed = 2;
    bool sorted[2] = {false};
    for (size_t o = 0; o < 2; o++)
        tables_fill(&t, o, 60, 2, 50, &seed);
    for (size_t o = 0; o < 2; o++)
        TRY(tables_share(p, &t, o, &table[o]));
    TRY(planes_new(&out, 3, link_rows(table, 2)));
    TRY(link_sorted(p, table, 2, NULL, NULL, sorted));
    TRY(link_bound(p, &out, table, 2, 1, sorted));
    bytes_put(&play->opened[p->index], sorted, sizeof sorted);
    return play_open(p, play, &out);
}

TEST(a_server_that_lies_moves_no_row)
{
    static const struct check_limits limits;
    const struct check_play model = {.job = bound_two, .limits = &limits, .n = 60, .sparse = 145};
    play_sweep("persons bounded", &model, false);
}

/* --- costs ------------------------------------------------------------------------------------ */

static struct link_cost cost_of(const struct linking *l)
{
    struct link_cost cost;
    if (l->most > 0)
        OK(link_bound_cost(&cost, l->t.n, l->t.owners, l->t.columns[0]));
    else
        OK(link_join_cost(&cost, l->t.n, l->t.columns, l->t.owners, l->keep));
    return cost;
}

TEST(costs_are_those_of_the_formulas)
{
    static const size_t chosen[] = {2, 4, 7, 9};
    for (size_t k = 0; k < 12; k++) {
        struct linking l CLEAN(linking_free) = make_case(chosen[k / 3], k % 3 > 0);
        if (chosen[k / 3] == 4) /* whole tables of invalid rows instead of none */
            continue;
        l.most = k % 3 == 0 ? 3 : 0;
        l.keep = k % 3 == 1 ? INNER : 0;
        execute(&l, 1);
        struct link_cost cost = cost_of(&l);
        assert_int_equal(l.costs.rounds, cost.exchanges);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(l.costs.sent[i], 8 * cost.words);
    }
}

/* More rows than a tile holds, and more pairs than a layer. */
TEST(costs_of_several_tiles_are_those_of_the_formulas)
{
    struct linking l CLEAN(linking_free) = {.most = 2};
    uint64_t seed = 3;
    tables_fill(&l.t, 0, 70000, 1, 60000, &seed);
    tables_fill(&l.t, 1, 66000, 1, 60000, &seed);
    execute(&l, 1);
    struct link_cost cost = cost_of(&l);
    assert_int_equal(l.costs.rounds, cost.exchanges);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(l.costs.sent[i], 8 * cost.words);
}
