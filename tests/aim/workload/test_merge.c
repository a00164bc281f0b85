/* aim/merge: codes that are measured together, against a plain loop. */
#include "harness/cmocka.h"

#include "aim/workload/merge.h"

#define CODES 64
#define LABELS 6

/* Labels; an integer of `values` values that may be missing; bins. */
static struct domain *domain_of(uint32_t values)
{
    static const char *const labels[LABELS] = {"a", "b", "c", "d", "e", "f"};
    static const double edges[] = {0, 1, 1, 2, 5, 9};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_categorical(d, "label", labels, LABELS, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_integer(d, "n", 0, values - 1, "", DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(d, "x", edges, 6, NULL, DOMAIN_REJECT, NULL));
    return d;
}

/* The rule as written: the group of each code. */
static uint32_t naive(const double *count, uint32_t codes, double least, uint32_t *group)
{
    double sum[CODES];
    uint32_t groups = codes;
    for (uint32_t i = 0; i < codes; i++) {
        sum[i] = fmax(count[i], 0);
        group[i] = i;
    }
    while (groups > 2) {
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

/* Rare labels are put together, the largest first, until they have `least`. */
static uint32_t naive_labels(const double *count, double least, uint32_t *group)
{
    uint32_t number[LABELS], groups = 0, open = 0;
    double sum = 0;
    bool taken[LABELS] = {false};
    for (uint32_t k = 0; k < LABELS; k++) {
        uint32_t best = LABELS;
        for (uint32_t i = 0; i < LABELS; i++)
            if (!taken[i] && (best == LABELS || fmax(count[i], 0) > fmax(count[best], 0)))
                best = i;
        taken[best] = true;
        if (k < 2 || sum >= least) { /* the largest stays alone: two groups at least */
            open = best;
            sum = 0;
        }
        sum += fmax(count[best], 0);
        group[best] = open;
    }
    memset(number, 0xff, sizeof number);
    for (uint32_t i = 0; i < LABELS; i++) { /* in the order of their first codes */
        if (number[group[i]] == UINT32_MAX)
            number[group[i]] = groups++;
        group[i] = number[group[i]];
    }
    return groups;
}

static void check_groups(const struct merges *m, size_t attribute, const uint32_t *group,
                         uint32_t values, uint32_t groups)
{
    assert_int_equal(m->groups[attribute], groups + (m->codes[attribute] - values));
    assert_int_equal(m->group[attribute] == NULL, groups == values);
    if (m->group[attribute] == NULL)
        return;
    for (uint32_t i = 0; i < values; i++)
        assert_int_equal(m->group[attribute][i], group[i]);
    for (uint32_t i = values; i < m->codes[attribute]; i++) /* the missing value's */
        assert_int_equal(m->group[attribute][i], groups);
    for (uint32_t from = 0, below, g = 0; from < m->codes[attribute]; from = below, g++) {
        below = merges_below(m, attribute, from);
        for (uint32_t k = from; k < below; k++) {
            assert_int_equal(m->group[attribute][m->code[attribute][k]], g);
            assert_true(k == from || m->code[attribute][k] > m->code[attribute][k - 1]);
        }
    }
}

TEST(small_groups_join_as_the_rule_says)
{
    struct random r = random_of(22);
    for (int run = 0; run < 300; run++) {
        const uint32_t values = 1 + (uint32_t)random_below(&r, CODES);
        struct domain *d CLEAN(domain_free) = domain_of(values);
        struct merges m CLEAN(merges_clear);
        double label[LABELS], n[CODES + 1], x[5];
        const double *counts[] = {label, n, x};
        uint32_t group[CODES], groups;
        for (uint32_t i = 0; i <= values; i++) /* many ties, some below 0 */
            n[i] = (double)random_below(&r, 1 + (uint64_t)run) - 3;
        for (int i = 0; i < 5; i++)
            x[i] = (double)random_below(&r, 40);
        for (int i = 0; i < LABELS; i++)
            label[i] = (double)random_below(&r, 12) - 1;
        OK(merges_choose(&m, d, counts, &(struct merges_least){10, 6}, NULL));
        groups = naive_labels(label, 6, group);
        check_groups(&m, 0, group, LABELS, groups);
        groups = naive(n, values, 10, group);
        check_groups(&m, 1, group, values, groups);
        groups = naive(x, 5, 10, group);
        check_groups(&m, 2, group, 5, groups);
    }
}

/* With labels e, b and c; 0 and 1 of n; three bins; and what is kept apart. */
static struct merges merges_made(const struct domain *d, bool keep_label, bool keep_n, bool keep_x)
{
    static const double label[LABELS] = {9, 1, -5, 9, 2, 9}, n[] = {2, 2, 40, 50, 0},
                        x[] = {50, 3, 2, 1, 44};
    const double *counts[] = {label, n, x};
    const bool keep[] = {keep_label, keep_n, keep_x};
    struct merges_alike alike CLEAN(merges_alike_clear);
    struct merges m;
    OK(merges_alike(&alike, d, NULL, 0));
    for (uint16_t a = 0; a < 3; a++)
        if (keep[a])
            OK(merges_apart(&alike, d, a));
    OK(merges_choose(&m, d, counts, &(struct merges_least){4, 4}, &alike));
    return m;
}

TEST(cells_of_a_marginal_are_those_of_groups)
{
    struct domain *d CLEAN(domain_free) = domain_of(4);
    struct merges m CLEAN(merges_clear) = merges_made(d, false, false, false), copy;
    static const uint32_t label[LABELS] = {0, 1, 1, 2, 1, 3};
    const struct clique all = {3, {0, 1, 2}}, one = {1, {0}};
    uint32_t index[LABELS * 5 * 5];
    assert_memory_equal(m.group[0], label, sizeof label);
    assert_int_equal(m.groups[1], 4);
    assert_int_equal(m.groups[2], 3);
    assert_int_equal(merges_cells(&m, &all), 4 * 4 * 3);
    assert_true(merges_any(&m) && merges_touch(&m, &all));
    merges_index(&m, &all, index);
    for (uint32_t a = 0; a < LABELS; a++)
        for (uint32_t b = 0; b < 5; b++)
            for (uint32_t c = 0; c < 5; c++)
                assert_int_equal(index[(a * 5 + b) * 5 + c],
                                 (label[a] * 4 + m.group[1][b]) * 3 + m.group[2][c]);
    OK(merges_copy(&copy, &m));
    assert_true(merges_equal(&m, &copy));
    merges_clear(&copy);
    copy = merges_made(d, true, false, false);
    assert_true(merges_touch(&copy, &all) && !merges_touch(&copy, &one));
    merges_clear(&copy);
    copy = merges_made(d, true, true, true);
    assert_false(merges_any(&copy) || merges_equal(&m, &copy));
    merges_clear(&copy);
}

/* The rows of a code's group. */
static double sum_of(const struct merges *m, uint16_t attribute, uint32_t code,
                     const double *counts)
{
    const uint32_t *group = m->group[attribute];
    double sum = 0;
    for (uint32_t i = 0; i < m->codes[attribute]; i++)
        if (i == code || (group != NULL && group[i] == group[code]))
            sum += counts[i];
    return sum;
}

/* Whether the same cells of all cliques cannot occur with two codes of an attribute. */
static bool are_alike(const struct domain *d, const struct workload_zeros *zero, size_t zeros,
                      uint16_t attribute, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < zeros; k++) {
        const uint16_t *of = zero[k].clique.attribute;
        const uint32_t sizes[] = {d->attribute[of[0]].size, d->attribute[of[1]].size};
        const unsigned own = of[1] == attribute;
        bool barred[2][CODES + 1] = {{false}};
        if (of[0] != attribute && of[1] != attribute)
            continue;
        for (size_t i = 0; i < zero[k].cells; i++) {
            const uint32_t at[] = {zero[k].cell[i] / sizes[1], zero[k].cell[i] % sizes[1]};
            if (at[own] == a || at[own] == b)
                barred[at[own] == b][at[!own]] = true;
        }
        if (memcmp(barred[0], barred[1], sizeof barred[0]) != 0)
            return false;
    }
    return true;
}

/*
 * Nobody joins codes of which one cannot occur where the other can; of the others, what is left
 * with few rows has none that it could join.
 */
TEST(codes_that_differ_in_what_cannot_occur_stay_apart)
{
    static const struct merges_least least = {10, 6};
    struct random r = random_of(24);
    unsigned merged = 0, apart = 0;
    for (int run = 0; run < 300; run++) {
        const uint32_t values = 2 + (uint32_t)random_below(&r, 9);
        struct domain *d CLEAN(domain_free) = domain_of(values);
        struct merges_alike alike CLEAN(merges_alike_clear);
        struct merges m CLEAN(merges_clear);
        uint32_t cell[2][LABELS * CODES], *group;
        struct workload_zeros zero[] = {{{2, {0, 1}}, 0, cell[0]}, {{2, {1, 2}}, 0, cell[1]}};
        double label[LABELS], n[CODES + 1], x[5];
        const double *counts[] = {label, n, x};
        for (int k = 0; k < 2; k++) /* whole blocks of codes, so that some are alike */
            for (uint32_t i = 0, width = d->attribute[k + 1].size; i < d->attribute[k].size * width;
                 i++)
                if (((i / width) / 2 + (i % width) / 3 + (uint32_t)run) % 3 == 0)
                    cell[k][zero[k].cells++] = i;
        for (uint32_t i = 0; i <= values; i++)
            n[i] = (double)random_below(&r, 12);
        for (int i = 0; i < 5; i++)
            x[i] = (double)random_below(&r, 12);
        for (int i = 0; i < LABELS; i++)
            label[i] = (double)random_below(&r, 12);
        OK(merges_alike(&alike, d, zero, 2));
        OK(merges_choose(&m, d, counts, &least, &alike));
        for (uint16_t a = 0; a < 3; a++)
            for (uint32_t i = 0; i < d->attribute[a].size; i++)
                for (uint32_t j = 0; j < i; j++) {
                    const bool same = are_alike(d, zero, 2, a, i, j);
                    group = m.group[a];
                    assert_int_equal(alike.part[a][i] == alike.part[a][j], same);
                    apart += !same;
                    if (group != NULL && group[i] == group[j]) {
                        assert_true(same);
                        merged++;
                    } else if (same && j + 1 == i && i < d->attribute[a].values && a == 1 &&
                               m.groups[a] > 3) {
                        /* neighbours that did not join have enough, or are the last two */
                        assert_true(sum_of(&m, a, i, n) >= 10 && sum_of(&m, a, j, n) >= 10);
                    }
                }
    }
    assert_true(merged > 500 && apart > 5000);
}

TEST(few_rows_are_few_of_all_and_near_the_noise)
{
    static const struct {
        double rows, sigma, neighbours, labels;
    } row[] = {{5000, 6, 50, 50}, {5000, 1, 50, 10}, {5000, 0.25, 25, 2.5}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const struct merges_least least = merges_least(row[k].rows, row[k].sigma);
        assert_true(fabs(least.neighbours - row[k].neighbours) < 1e-9);
        assert_true(fabs(least.labels - row[k].labels) < 1e-9);
    }
}

static uint32_t expect(const struct domain_attribute *a, double rows, double sigma)
{
    uint32_t groups;
    OK(merges_expect(a, NULL, rows, sigma, &groups));
    return groups;
}

/* What plans expect, and what evenly spread rows give: groups of 1 to 2 times the least. */
TEST(as_many_groups_are_expected_as_even_rows_have)
{
    const struct domain_attribute many = {.kind = &column_labels, .values = 250, .size = 250};
    struct random r = random_of(23);
    for (int run = 0; run < 200; run++) {
        const uint32_t values = 2 + (uint32_t)random_below(&r, CODES - 2);
        struct domain *d CLEAN(domain_free) = domain_of(values);
        struct merges m CLEAN(merges_clear);
        double label[LABELS], n[CODES + 1], x[5];
        const double *counts[] = {label, n, x}, least = 10 * random_double(&r);
        for (uint32_t i = 0; i <= values; i++)
            n[i] = 1000. / values;
        for (int i = 0; i < LABELS; i++)
            label[i] = 1000. / LABELS;
        for (int i = 0; i < 5; i++)
            x[i] = 200;
        OK(merges_choose(&m, d, counts, &(struct merges_least){least, least}, NULL));
        uint32_t expected = expect(&d->attribute[1], 1000, least / MERGE_NOISE);
        assert_in_range(m.groups[1], (expected + 1) / 2, expected);
        assert_int_equal(m.groups[1] == values + 1, expected == values + 1);
        assert_int_equal(expect(&d->attribute[0], 1000, least), LABELS);
        assert_int_equal(expect(&d->attribute[2], 1000, least), 5);
    }
    assert_int_equal(expect(&many, 250000, 150), 125); /* 1000 rows each: two have 1500 */
    assert_int_equal(expect(&many, 250000, 500), 84);  /* three have 1 % */
}

TEST(the_largest_group_is_parted_first)
{
    struct domain *d CLEAN(domain_free) = domain_of(4);
    struct merges m CLEAN(merges_clear) = merges_made(d, true, false, false);
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
    m = merges_made(d, false, true, true);
    assert_int_equal(merges_largest(&m, 0), 3);
}

static enum err read_back(const struct bytes *b, const struct domain *d, struct merges *m)
{
    struct reader r = reader_of(b->data, b->size);
    TRY(merges_read(m, d, &r));
    return r.left == 0 ? ERR_OK : ERR_FORMAT;
}

/* As bytes: one attribute, and the group of each code. */
static enum err read_made(const struct domain *d, uint16_t attribute, uint32_t codes,
                          const uint32_t *group)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    struct merges m CLEAN(merges_clear) = {0};
    bytes_put_u16(&b, 1);
    bytes_put_u16(&b, attribute);
    for (uint32_t code = 0; code < codes; code++)
        bytes_put_u32(&b, group[code]);
    return read_back(&b, d, &m);
}

TEST(bytes_are_read_back_and_nothing_else_is)
{
    static const struct {
        uint16_t attribute;
        uint32_t codes, group[LABELS];
        bool good;
    } row[] = {{1, 5, {0, 0, 1, 1, 2}, true},
               {1, 5, {0, 0, 1, 1, 1}, false},    /* with the missing one */
               {1, 5, {0, 1, 0, 1, 2}, false},    /* not neighbours */
               {1, 5, {0, 0, 2, 2, 3}, false},    /* nobody has 1 */
               {1, 5, {1, 1, 1, 2, 3}, false},    /* nor 0 */
               {1, 5, {0, 1, 2, 3, 4}, false},    /* not merged */
               {1, 4, {0, 0, 1, 1}, false},       /* one short */
               {1, 6, {0, 0, 1, 1, 2, 2}, false}, /* one too many */
               {0, 6, {0, 1, 0, 2, 1, 3}, true},  /* labels need not be neighbours */
               {0, 6, {0, 2, 0, 1, 1, 3}, false}, /* but are numbered in order of appearance */
               {0, 6, {0, 1, 2, 3, 4, 5}, false}, /* not merged */
               {0, 6, {0, 0, 0, 0, 0, 0}, true},  /* all */
               {0, 6, {0, 0, 0, 0, 0, 2}, false},
               {3, 6, {0, 0, 0, 0, 0, 0}, false}}; /* no such attribute */
    struct domain *d CLEAN(domain_free) = domain_of(4);
    for (int k = 0; k < 8; k++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        struct merges m CLEAN(merges_clear) = merges_made(d, (k & 4) != 0, (k & 1) != 0,
                                                          (k & 2) != 0),
                        read;
        merges_write(&m, &b);
        OK(read_back(&b, d, &read));
        assert_true(merges_equal(&m, &read));
        merges_clear(&read);
        for (; b.size > 0; b.size--) { /* cut */
            struct bytes cut = {.data = b.data, .size = b.size - 1};
            assert_int_equal(read_back(&cut, d, &read), ERR_FORMAT);
            merges_clear(&read);
        }
    }
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        if (read_made(d, row[k].attribute, row[k].codes, row[k].group) !=
            (row[k].good ? ERR_OK : ERR_FORMAT))
            fail_msg("row %zu", k);
}
