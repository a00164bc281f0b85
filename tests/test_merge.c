/* aim/merge: neighbours that are measured together, against a plain loop. */
#include "tests/support_cmocka.h"

#include "aim/merge.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define CODES 64

/* Labels; an integer of `values` values that may be missing; bins. */
static struct domain *domain_of(uint32_t values)
{
    static const char *const labels[] = {"a", "b", "c"};
    static const double edges[] = {0, 1, 1, 2, 5, 9};
    struct domain *d;
    assert_int_equal(domain_new(&d), ERR_OK);
    assert_int_equal(domain_add_categorical(d, "label", labels, 3, NULL, DOMAIN_REJECT, NULL),
                     ERR_OK);
    assert_int_equal(domain_add_integer(d, "n", 0, values - 1, "", DOMAIN_REJECT, NULL), ERR_OK);
    assert_int_equal(domain_add_numeric(d, "x", edges, 6, NULL, DOMAIN_REJECT, NULL), ERR_OK);
    return d;
}

/* The rule as it reads: of each code its group. */
static uint32_t naive(const double *count, uint32_t codes, double least, uint32_t *group)
{
    double sum[CODES];
    uint32_t groups = codes;
    for (uint32_t i = 0; i < codes; i++) {
        sum[i] = fmax(count[i], 0);
        group[i] = i;
    }
    while (groups > 1) {
        uint32_t at = 0, to;
        for (uint32_t i = 1; i < groups; i++)
            if (sum[i] < sum[at])
                at = i;
        if (sum[at] >= least)
            break;
        to = at == 0 ? 1 : at + 1 == groups || sum[at - 1] <= sum[at + 1] ? at - 1 : at + 1;
        to = to < at ? to : at; /* the left one of the two stays */
        sum[to] += sum[to + 1];
        memmove(sum + to + 1, sum + to + 2, (groups - to - 2) * sizeof *sum);
        groups--;
        for (uint32_t i = 0; i < codes; i++)
            group[i] -= group[i] > to;
    }
    return groups;
}

TEST(small_groups_join_as_the_rule_says)
{
    struct random r;
    random_seed_u64(&r, 22);
    for (int run = 0; run < 300; run++) {
        const uint32_t values = 1 + (uint32_t)random_below(&r, CODES);
        struct domain *d = domain_of(values);
        struct merges m;
        double label[3] = {0, 0, 0}, n[CODES + 1], x[5];
        const double *counts[] = {label, n, x};
        uint32_t group[CODES], groups;
        for (uint32_t i = 0; i <= values; i++) /* ties are frequent, some are below 0 */
            n[i] = (double)random_below(&r, 1 + (uint64_t)run) - 3;
        for (int i = 0; i < 5; i++)
            x[i] = (double)random_below(&r, 40);
        assert_int_equal(merges_choose(&m, d, counts, 10, NULL), ERR_OK);
        groups = naive(n, values, 10, group);
        assert_null(m.group[0]);
        assert_int_equal(m.groups[1], groups + 1); /* the missing value's */
        assert_int_equal(m.group[1] == NULL, groups == values);
        for (uint32_t i = 0; m.group[1] != NULL && i < values; i++)
            assert_int_equal(m.group[1][i], group[i]);
        if (m.group[1] != NULL)
            assert_int_equal(m.group[1][values], groups);
        groups = naive(x, 5, 10, group);
        assert_int_equal(m.groups[2], groups);
        merges_clear(&m);
        domain_free(&d);
    }
}

/* 0 and 1 of n, and what is kept apart. */
static struct merges merges_made(const struct domain *d, bool keep_n, bool keep_x)
{
    static const double label[3] = {0}, n[] = {2, 2, 40, 50, 0}, x[] = {50, 3, 2, 1, 44};
    const double *counts[] = {label, n, x};
    const bool keep[] = {false, keep_n, keep_x};
    struct merges m;
    assert_int_equal(merges_choose(&m, d, counts, 4, keep), ERR_OK);
    return m;
}

TEST(cells_of_a_marginal_are_those_of_groups)
{
    struct domain *d = domain_of(4);
    struct merges m = merges_made(d, false, false), copy;
    const struct clique all = {3, {0, 1, 2}}, label = {1, {0}};
    uint32_t index[3 * 5 * 5];
    assert_int_equal(m.groups[1], 4);
    assert_int_equal(m.groups[2], 3);
    assert_int_equal(merges_cells(&m, &all), 3 * 4 * 3);
    assert_true(merges_any(&m) && merges_touch(&m, &all) && !merges_touch(&m, &label));
    merges_index(&m, &all, index);
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 0; b < 5; b++)
            for (uint32_t c = 0; c < 5; c++)
                assert_int_equal(index[(a * 5 + b) * 5 + c],
                                 (a * 4 + m.group[1][b]) * 3 + m.group[2][c]);
    assert_int_equal(merges_copy(&copy, &m), ERR_OK);
    assert_true(merges_equal(&m, &copy));
    merges_clear(&copy);
    copy = merges_made(d, true, true);
    assert_false(merges_any(&copy) || merges_equal(&m, &copy));
    merges_clear(&copy);
    merges_clear(&m);
    domain_free(&d);
}

TEST(few_rows_are_few_of_all_and_near_the_noise)
{
    assert_true(fabs(merges_least(5000, 1) - 50) < 1e-9);
    assert_true(fabs(merges_least(5000, 0.25) - 25) < 1e-9);
}

/* What plans reckon with, and what comes of rows that are spread evenly: groups of 1 to 2 times. */
TEST(as_many_groups_are_expected_as_even_rows_have)
{
    struct random r;
    random_seed_u64(&r, 23);
    for (int run = 0; run < 200; run++) {
        const uint32_t values = 2 + (uint32_t)random_below(&r, CODES - 2);
        struct domain *d = domain_of(values);
        struct merges m;
        double label[3], n[CODES + 1], x[5];
        const double *counts[] = {label, n, x}, least = 10 * random_double(&r);
        uint32_t expected;
        for (uint32_t i = 0; i <= values; i++)
            n[i] = 1000. / values;
        for (int i = 0; i < 5; i++)
            x[i] = label[i % 3] = 200;
        assert_int_equal(merges_choose(&m, d, counts, least, NULL), ERR_OK);
        expected = merges_expect(&d->attribute[1], 1000, least / MERGE_NOISE);
        assert_in_range(m.groups[1], (expected + 1) / 2, expected);
        assert_int_equal(m.groups[1] == values + 1, expected == values + 1);
        assert_int_equal(merges_expect(&d->attribute[0], 1000, least), 3);
        assert_int_equal(merges_expect(&d->attribute[2], 1000, least), 5);
        merges_clear(&m);
        domain_free(&d);
    }
    assert_int_equal(merges_least(1000, 1), 10);
    assert_int_equal(merges_least(1000, 0.05), 5);
}

TEST(the_largest_group_is_parted_first)
{
    struct domain *d = domain_of(4);
    struct merges m = merges_made(d, false, false);
    assert_int_equal(merges_largest(&m, 0), 1);
    assert_int_equal(merges_largest(&m, 1), 2);
    assert_int_equal(merges_largest(&m, 2), 3);
    merges_part(&m);
    assert_true(m.group[1] != NULL && m.group[2] == NULL && m.groups[2] == 5);
    assert_int_equal(merges_largest(&m, 2), 1);
    merges_part(&m);
    assert_false(merges_any(&m));
    assert_int_equal(m.groups[1], 5);
    merges_clear(&m);
    domain_free(&d);
}

static enum err read_back(const struct bytes *b, const struct domain *d, struct merges *m)
{
    struct reader r = reader_of(b->data, b->size);
    TRY(merges_read(m, d, &r));
    return r.left == 0 ? ERR_OK : ERR_FORMAT;
}

/* As bytes: one attribute, and the first codes of its groups but the first. */
static enum err read_made(const struct domain *d, uint16_t attribute, uint32_t groups,
                          const uint32_t *first)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    struct merges m = {0};
    enum err e;
    bytes_put_u16(&b, 1);
    bytes_put_u16(&b, attribute);
    bytes_put_u32(&b, groups);
    for (uint32_t i = 1; i < groups; i++)
        bytes_put_u32(&b, first[i - 1]);
    e = read_back(&b, d, &m);
    merges_clear(&m);
    return e;
}

TEST(bytes_are_read_back_and_nothing_else_is)
{
    struct domain *d = domain_of(4);
    for (int k = 0; k < 4; k++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        struct merges m = merges_made(d, (k & 1) != 0, (k & 2) != 0), read;
        merges_write(&m, &b);
        assert_int_equal(read_back(&b, d, &read), ERR_OK);
        assert_true(merges_equal(&m, &read));
        merges_clear(&read);
        for (; b.size > 0; b.size--) { /* cut */
            struct bytes cut = {.data = b.data, .size = b.size - 1};
            assert_int_equal(read_back(&cut, d, &read), ERR_FORMAT);
            assert_null(read.group);
        }
        merges_clear(&m);
    }
    assert_int_equal(read_made(d, 1, 3, (uint32_t[]){2, 4}), ERR_OK);
    assert_int_equal(read_made(d, 1, 3, (uint32_t[]){2, 3}), ERR_FORMAT); /* with the missing one */
    assert_int_equal(read_made(d, 1, 3, (uint32_t[]){4, 2}), ERR_FORMAT);
    assert_int_equal(read_made(d, 1, 3, (uint32_t[]){0, 4}), ERR_FORMAT);
    assert_int_equal(read_made(d, 1, 3, (uint32_t[]){4, 5}), ERR_FORMAT);
    assert_int_equal(read_made(d, 1, 5, (uint32_t[]){1, 2, 3, 4}), ERR_FORMAT); /* not merged */
    assert_int_equal(read_made(d, 1, 0, NULL), ERR_FORMAT);
    assert_int_equal(read_made(d, 0, 2, (uint32_t[]){1}), ERR_FORMAT); /* labels */
    assert_int_equal(read_made(d, 3, 2, (uint32_t[]){1}), ERR_FORMAT);
    domain_free(&d);
}
