/* aim/table/domain, number, aim/workload: codes, refusals, closure against brute force. */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/table/number.h"
#include "aim/workload/workload.h"

#include <locale.h>

TEST(numbers_parse_strictly)
{
    static const char *const bad[] = {"",    "+",  ".",  "e5",  "1e",    "nan", "inf", "0x10",
                                      "1,5", "1 ", " 1", "--1", "1.2.3", "1e+", "12a"};
    static const char *const good[] = {"0",
                                       "-0",
                                       "1.5",
                                       ".5",
                                       "5.",
                                       "1e3",
                                       "-1.25E-2",
                                       "0.1",
                                       "123456789012345678901234567890",
                                       "17.28125",
                                       "2.2250738585072014e-308",
                                       "1e22",
                                       "1e23"};
    double v;
    int64_t i;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_false(number_double(bad[k], &v));
        assert_false(number_integer(bad[k], &i));
    }
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_true(number_double(good[k], &v));
        assert_true(v == strtod(good[k], NULL));
    }
    assert_false(number_double("1e999", &v));
    assert_true(number_integer("39.0", &i) && i == 39);
    assert_true(number_integer("-1e3", &i) && i == -1000);
    assert_true(number_integer("0e9", &i) && i == 0);
    assert_true(number_integer("0.000", &i) && i == 0);
    assert_true(number_integer("123456789012345678", &i) && i == 123456789012345678);
    assert_true(number_integer("99999999999999999999", &i) && i == INT64_MAX);
    assert_true(number_integer("-1e999", &i) && i == INT64_MIN);
    assert_false(number_integer("1.5", &i));
    assert_false(number_integer("1e-3", &i));
}

TEST(numbers_have_as_few_digits_as_give_them_back)
{
    static const char *const shortest[] = {"0.1", "0.3333333333333333", "0.30000000000000004"};
    static const double x[] = {0.1, 1.0 / 3, 0.1 + 0.2};
    char text[40];
    for (size_t i = 0; i < 3; i++) {
        number_shortest(text, sizeof text, x[i]);
        assert_string_equal(text, shortest[i]);
    }
}

/* As in a host of the library, where its locale can be made. glibc leaks a LOCPATH. */
TEST(numbers_have_a_point_where_others_have_a_comma)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#else
    char folder[] = "/tmp/locale-XXXXXX", command[100], text[40];
    double x;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    bool made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
                setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (!made)
        skip();
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5");
    number_shortest(text, sizeof text, 1.0 / 3);
    assert_string_equal(text, "0.3333333333333333");
    number_round(text, sizeof text, 2.5e-7, 6);
    assert_string_equal(text, "2.5e-07");
    number_print(text, sizeof text, 0.25, 1);
    assert_string_equal(text, "0.2");
    assert_true(number_double("0.30000000000000004", &x) && x == 0.1 + 0.2);
    assert_non_null(setlocale(LC_NUMERIC, "C"));
#endif
}

static struct domain *four_attributes(void)
{
    static const char *const colours[] = {"red", "green", "blue"};
    static const double edges[] = {0, 1, 2.5, 10};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_categorical(d, "colour", colours, 3, "?", DOMAIN_AS_MISSING, NULL));
    OK(domain_add_integer(d, "age", -2, 2, "", DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(d, "dose", edges, 4, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_integer(d, "year", 2000, 2001, NULL, DOMAIN_CLIP, NULL));
    return d;
}

TEST(codes_follow_the_manual)
{
    struct domain *d CLEAN(domain_free) = four_attributes();
    const struct domain_attribute *a = d->attribute;
    assert_int_equal(domain_find(d, "dose"), 2);
    assert_int_equal(domain_find(d, "none"), DOMAIN_NO_CODE);
    HAS_CODES(&a[0], {"green", 1}, {"?", 3}, {"pink", 3});
    HAS_CODES(&a[1], {"-2", 0}, {"2.0", 4}, {"", 5}, {"3", DOMAIN_NO_CODE});
    HAS_CODES(&a[2], {"0", 0}, {"0.999", 0}, {"1", 1}, {"2.5", 2}, {"10", 2}, {"11", 2}, {"-1", 0},
              {"x", DOMAIN_NO_CODE});
    assert_int_equal(domain_code(&a[3], "1e30"), 1);
    assert_int_equal(a[0].size, 4);
    assert_int_equal(a[2].size, 3);
    domain_free(&d);
    assert_null(d);
}

TEST(mistakes_in_a_domain_are_refused)
{
    static const char *const twice[] = {"a", "b", "a"};
    static const char *const spaced[] = {"a", "b "};
    static const char *const empty[] = {"a", ""};
    static const double flat[] = {0, 1, 1, 1};
    static const double nan_edge[] = {0, NAN};
    struct domain *d CLEAN(domain_free) = four_attributes();
#define REFUSED(call) assert_int_equal(call, ERR_STUDY)
    REFUSED(domain_add_integer(d, "age", 0, 1, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "", 0, 1, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 2, 1, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 0, 65535, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", INT64_MIN, INT64_MAX, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 1, 65535, "", DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 0, 1, NULL, DOMAIN_AS_MISSING, NULL));
    REFUSED(domain_add_categorical(d, "x", twice, 3, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_categorical(d, "x", empty, 2, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_categorical(d, "x", twice, 2, "b", DOMAIN_REJECT, NULL));
    REFUSED(domain_add_categorical(d, "x", twice, 2, NULL, DOMAIN_CLIP, NULL));
    REFUSED(domain_add_categorical(d, "x", twice, 0, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_numeric(d, "x", flat, 4, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_numeric(d, "x", nan_edge, 2, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_numeric(d, "x", flat, 1, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_numeric(d, "x", flat, 0, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_categorical(d, "x", spaced, 2, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, " x", 0, 1, NULL, DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 0, 1, "?\t", DOMAIN_REJECT, NULL));
    REFUSED(domain_add_integer(d, "x", 0, 9, "9.0", DOMAIN_CLIP, NULL));
    REFUSED(domain_add_numeric(d, "x", flat, 3, "1.0", DOMAIN_REJECT, NULL)); /* a spike */
    assert_int_equal(d->attributes, 4);
    OK(domain_add_integer(d, "y", 0, 9, "99", DOMAIN_CLIP, NULL));
    HAS_CODES(&d->attribute[4], {"99", 10}, {"98", 9});
    OK(domain_add_integer(d, "x", 1, 65535, NULL, DOMAIN_REJECT, NULL));
}

/* Several texts mean a missing value; numbers do too, however they are written. */
TEST(missing_values_have_several_texts)
{
    static const double edges[] = {-1, 0, 10, 20};
    static const char *const more[] = {"", "0", "-9"};
    struct domain *d CLEAN(domain_free) = NULL;
    struct bytes bytes CLEAN(bytes_clear) = {0};
    uint64_t count;
    OK(domain_new(&d));
    assert_int_equal(domain_add_categorical(d, "t", more + 2, 1, "NA", DOMAIN_REJECT, NULL), 0);
    OK(domain_set_missing(d, more, 2, NULL));
    assert_int_equal(domain_set_missing(d, more, 1, NULL), ERR_STUDY);     /* twice */
    assert_int_equal(domain_set_missing(d, more + 2, 1, NULL), ERR_STUDY); /* a label */
    OK(domain_add_numeric(d, "x", edges, 4, "NA", DOMAIN_CLIP, NULL));
    OK(domain_set_missing(d, more, 3, NULL));
    OK(domain_set_step(d, 1, false, NULL));
    const struct domain_attribute *a = &d->attribute[1];
    HAS_CODES(a, {"NA", 3}, {"", 3}, {"0.00", 3}, {"-0", 3}, {"-9.0", 3}, {"-8", 0}, {"1", 1},
              {"0.5", 1});
    assert_int_equal(domain_code(&d->attribute[0], "0.0"), DOMAIN_NO_CODE); /* a text */
    assert_int_equal(domain_code(&d->attribute[0], "0"), 1);
    assert_int_equal(domain_multiples(a, 1, &count), 1); /* 0 is not a value */
    assert_int_equal(count, 9);
    struct domain *back CLEAN(domain_free) = support_read_back(d, &bytes);
    assert_int_equal(domain_code(&back->attribute[1], "0.0"), 3);
    OK(domain_add_numeric(d, "y", edges, 4, "5", DOMAIN_CLIP, NULL));
    assert_int_equal(domain_set_step(d, 1, false, NULL), ERR_STUDY); /* in the middle of a bin */
    OK(domain_add_integer(d, "z", 0, 9, "10", DOMAIN_CLIP, NULL));
    HAS_CODES(&d->attribute[3], {"10.0", 10}, {"11", 9});
    assert_int_equal(domain_set_missing(d, more + 1, 1, NULL), ERR_STUDY);
    OK(domain_add_integer(d, "w", 0, 9, NULL, DOMAIN_CLIP, NULL));
    assert_int_equal(domain_set_missing(d, more, 1, NULL), ERR_STUDY);
}

TEST(canonical_bytes_tell_domains_apart)
{
    struct domain *a CLEAN(domain_free) = four_attributes();
    struct domain *b CLEAN(domain_free) = four_attributes();
    bool same = false;
    OK(domain_compare(a, b, &same));
    assert_true(same);
    b->attribute[3].policy = DOMAIN_REJECT;
    OK(domain_compare(a, b, &same));
    assert_false(same);
    OK(domain_add_integer(a, "x", 0, 1, NULL, DOMAIN_REJECT, NULL));
    OK(domain_compare(a, b, &same));
    assert_false(same);
}

static unsigned mask_of(const struct clique *c)
{
    unsigned m = 0;
    for (unsigned i = 0; i < c->n; i++)
        m |= 1u << c->attribute[i];
    return m;
}

TEST(canonical_bytes_read_back)
{
    static const double edges[] = {0, 0, 5, 99};
    static const char *const more[] = {"", "0"};
    struct domain *d CLEAN(domain_free) = four_attributes(), *again;
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    OK(domain_add_numeric(d, "gain", edges, 4, "-1", DOMAIN_CLIP, NULL));
    OK(domain_set_missing(d, more, 1, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_set_tail(d, DOMAIN_TAIL_TYPICAL, 20, NULL));
    OK(domain_add_integer(d, "n", 1, 2, "?", DOMAIN_CLIP, NULL));
    OK(domain_set_missing(d, more, 2, NULL));
    domain_write(d, &first);
    struct reader r = reader_of(first.data, first.size);
    OK(domain_read(&again, &r, NULL));
    OK(reader_done(&r));
    domain_write(again, &second);
    SAME_BYTES(&first, second.data, second.size);
    domain_free(&again);
    for (size_t n = 0; n < first.size; n++) { /* cut anywhere, then altered anywhere */
        r = reader_of(first.data, n);
        assert_int_not_equal(domain_read(&again, &r, NULL), ERR_OK);
        assert_null(again);
        for (unsigned flip = 1; flip < 256; flip *= 4) {
            first.data[n] ^= (uint8_t)flip;
            r = reader_of(first.data, first.size);
            if (domain_read(&again, &r, NULL) == ERR_OK)
                domain_free(&again);
            first.data[n] ^= (uint8_t)flip;
        }
    }
}

/* A model comes from others, and its names are printed on terminals. */
TEST(names_that_steer_are_not_read)
{
    static const char *const value[] = {"yes", "no"}, *const steers[] = {"yes", "no\x1b[2J"};
    for (unsigned k = 0; k < 3; k++) {
        struct domain *d CLEAN(domain_free) = NULL, *again CLEAN(domain_free) = NULL;
        struct bytes b CLEAN(bytes_clear) = {0};
        OK(domain_new(&d));
        OK(domain_add_categorical(d, k == 1 ? "sex\xff" : "sex", k == 2 ? steers : value, 2, NULL,
                                  DOMAIN_REJECT, NULL));
        domain_write(d, &b);
        struct reader r = reader_of(b.data, b.size);
        assert_int_equal(domain_read(&again, &r, NULL), k == 0 ? ERR_OK : ERR_FORMAT);
    }
}

/* Every subset of 6 attributes, compared with the definition. */
TEST(the_closure_matches_its_definition)
{
    static const uint32_t size[] = {2, 3, 4, 5, 2, 3};
    static const struct clique given[] = {
        {3, {0, 1, 2}}, {2, {1, 3}}, {2, {0, 1}}, {3, {1, 2, 3}}, {2, {4, 5}}};
    static const double weight[] = {1, 0.5, 2, 1, 3};
    struct domain *d CLEAN(domain_free) = support_domain(size, 6);
    struct workload *w CLEAN(workload_free) = NULL;
    size_t seen = 0;
    uint64_t offset = 0;
    OK(workload_new(&w, d, given, weight, 5, NULL));
    for (size_t i = 0; i < w->queries; i++) {
        assert_int_equal(w->query[i].offset, offset);
        offset += w->query[i].cells;
        assert_int_equal(workload_find(w, &w->query[i].clique), i);
    }
    assert_int_equal(offset, w->cells);
    assert_int_equal(w->one_ways, 6);
    for (unsigned m = 1; m < 64; m++) {
        struct clique c = {0};
        bool in = false, maximal = true;
        double total = 0;
        for (unsigned a = 0; a < 6; a++)
            if (m >> a & 1)
                c.attribute[c.n++] = (uint16_t)a;
        for (size_t g = 0; g < 5; g++) {
            unsigned r = mask_of(&given[g]);
            in |= (m & r) == m;
            maximal &= !((m & r) == m && m != r);
            total += weight[g] * __builtin_popcount(m & r);
        }
        uint32_t found = workload_find(w, &c);
        assert_int_equal(found != UINT32_MAX, in);
        if (!in)
            continue;
        seen++;
        assert_true(fabs(w->query[found].weight - total) < 1e-12);
        assert_int_equal(w->query[found].maximal, maximal);
        assert_true(clique_contains(&w->query[w->query[found].parent].clique, &c));
        assert_true(w->query[w->query[found].parent].maximal);
    }
    assert_int_equal(seen, w->queries);
    assert_int_equal(w->maximal_cells, 24 + 60 + 6);
}

TEST(order_does_not_change_the_digest)
{
    static const uint32_t size[] = {2, 3, 4};
    static const struct clique one[] = {{2, {0, 1}}, {2, {1, 2}}};
    static const struct clique two[] = {{2, {1, 2}}, {2, {0, 1}}};
    struct domain *d CLEAN(domain_free) = support_domain(size, 3);
    struct workload *a CLEAN(workload_free) = NULL, *b CLEAN(workload_free) = NULL;
    struct bytes x CLEAN(bytes_clear) = {0}, y CLEAN(bytes_clear) = {0};
    OK(workload_new(&a, d, one, NULL, 2, NULL));
    OK(workload_new(&b, d, two, NULL, 2, NULL));
    workload_write(a, &x);
    workload_write(b, &y);
    SAME_BYTES(&x, y.data, y.size);
}

TEST(mistakes_in_a_workload_are_refused)
{
    static const uint32_t size[] = {60000, 60000, 4};
    static const struct clique huge[] = {{2, {0, 1}}, {1, {2}}};
    static const struct clique lacks[] = {{2, {0, 2}}};
    static const struct clique twice[] = {{2, {0, 2}}, {1, {1}}, {2, {0, 2}}};
    static const struct clique back[] = {{3, {0, 2, 1}}};
    static const double weight[] = {1, -1};
    struct domain *d CLEAN(domain_free) = support_domain(size, 3);
    struct workload *w;
    LOG_INTO(log, sink, LOG_ERROR);
    REFUSED(workload_new(&w, d, lacks, NULL, 1, &log));
    support_says(sink, "attribute a1 is in no marginal");
    REFUSED(workload_new(&w, d, twice, NULL, 3, NULL));
    REFUSED(workload_new(&w, d, back, NULL, 1, NULL));
    REFUSED(workload_new(&w, d, huge, weight, 2, NULL));
    REFUSED(workload_new(&w, d, huge, NULL, 0, NULL));
    OK(workload_new(&w, d, huge, NULL, 2, NULL)); /* 3.6e9 < 2^32 */
    workload_free(&w);
    REFUSED(workload_all(&w, d, 3, NULL)); /* 1.4e10 cells */
    REFUSED(workload_all(&w, d, 4, NULL));
    REFUSED(workload_all(&w, d, 0, NULL));
    assert_null(w);
}

TEST(all_k_ways_are_all_there)
{
    static const uint32_t size[] = {2, 3, 2, 2, 3};
    struct domain *d CLEAN(domain_free) = support_domain(size, 5);
    for (unsigned k = 1; k <= 5; k++) {
        static const size_t expected[] = {0, 5, 10, 10, 5, 1};
        struct workload *w CLEAN(workload_free) = MADE(workload, workload_all, d, k, NULL);
        assert_int_equal(w->cliques, expected[k]);
    }
}

TEST(random_workloads_cover_and_repeat)
{
    static const uint32_t size[] = {2, 2, 2, 2, 2, 2};
    struct domain *d CLEAN(domain_free) = support_domain(size, 6);
    struct workload *w, *again;
    unsigned seen[20] = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        OK(workload_random(&w, d, 3, 5, seed, NULL));
        assert_int_equal(w->cliques, 5);
        assert_int_equal(w->one_ways, 6);
        for (size_t i = 0; i < 5; i++) { /* which of the 20, by its place among all */
            const uint16_t *a = w->clique[i].attribute;
            unsigned at = 0;
            assert_int_equal(w->clique[i].n, 3);
            for (unsigned x = 0; x < 6; x++)
                for (unsigned y = x + 1; y < 6; y++)
                    for (unsigned z = y + 1; z < 6; z++, at++)
                        seen[at] += x == a[0] && y == a[1] && z == a[2];
        }
        OK(workload_random(&again, d, 3, 5, seed, NULL));
        for (size_t i = 0; i < 5; i++)
            assert_true(clique_equal(&w->clique[i], &again->clique[i]));
        workload_free(&again);
        workload_free(&w);
    }
    for (int i = 0; i < 20; i++) /* 500 each, by symmetry; deviation below 20 */
        assert_in_range(seen[i], 400, 600);
    OK(workload_random(&w, d, 3, 20, 1, NULL));
    workload_free(&w);
    assert_int_equal(workload_random(&w, d, 3, 21, 1, NULL), ERR_STUDY);
    assert_int_equal(workload_random(&w, d, 3, 1, 1, NULL), ERR_STUDY); /* cannot cover */
    assert_int_equal(workload_random(&w, d, 3, 0, 1, NULL), ERR_STUDY);
    assert_int_equal(workload_random(&w, d, 7, 1, 1, NULL), ERR_STUDY);
}

TEST(projection_agrees_with_arithmetic)
{
    static const uint32_t size[] = {3, 4, 5};
    static const struct clique whole = {3, {0, 1, 2}};
    static const struct clique part = {2, {0, 2}};
    struct domain *d CLEAN(domain_free) = support_domain(size, 3);
    uint32_t index[60];
    clique_project(&whole, &part, d, index);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(index[i], i / 20 * 5 + i % 5);
}
