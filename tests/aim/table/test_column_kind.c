/* aim/table/kind: a kind that the tree does not know, days, is a struct and nothing else. */
#include "harness/cmocka.h"

#include "aim/question/question.h"
#include "aim/table/csv.h"
#include "aim/table/domain_private.h"
#include "aim/workload/merge.h"
#include "base/date.h"

static uint32_t day_code(const struct domain_attribute *a, const char *text)
{
    uint32_t day;
    if (!date_parse_day(text, &day))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        day = day < a->min ? (uint32_t)a->min : day > a->max ? (uint32_t)a->max : day;
    return day < a->min || day > a->max ? DOMAIN_NO_CODE : day - (uint32_t)a->min;
}

static double day_number(const struct domain_attribute *a, uint32_t code)
{
    return (double)a->min + code;
}

static const char *day_text(const struct domain_attribute *a, uint32_t code, int digits,
                            char room[COLUMN_TEXT])
{
    snprintf(room, COLUMN_TEXT, "%s", date_day_text((uint32_t)a->min + code).text);
    return room;
}

static const char *day_print(const struct domain_attribute *a, double number, int digits,
                             char room[COLUMN_TEXT])
{
    (void)a;
    (void)digits;
    snprintf(room, COLUMN_TEXT, "%s", date_day_text((uint32_t)number).text);
    return room;
}

static const char *day_spell(const struct domain_attribute *a, double number,
                             char room[COLUMN_TEXT])
{
    return day_print(a, number, 0, room);
}

static bool day_spelt(const struct domain_attribute *a, const char *text, double *low, double *high)
{
    uint32_t day;
    (void)a;
    if (!date_parse_day(text, &day))
        return false;
    *low = *high = day;
    return true;
}

static const struct column_kind days = {.byte = COLUMN_KINDS,
                                        .word = "day",
                                        .noun = "day",
                                        .order = true,
                                        .print = day_print,
                                        .spell = day_spell,
                                        .spelt = day_spelt,
                                        .code = day_code,
                                        .number = day_number,
                                        .text = day_text};

/* 2024-02-27 to 2024-03-02; other days count as the nearest. */
static struct domain *five_days(void)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = &days,
                                                               .policy = DOMAIN_CLIP};
    uint32_t day;
    assert_true(date_parse_day("2024-02-27", &day));
    a.min = day;
    a.max = day + 4;
    struct domain *d = MADE(domain, domain_new);
    OK(domain_check_new(d, &a, "seen", "never", NULL));
    OK(domain_append(d, &a, 5, "seen", "never", NULL));
    return d;
}

TEST(texts_have_codes_and_codes_texts)
{
    struct domain *d CLEAN(domain_free) = five_days();
    const struct domain_attribute *a = d->attribute;
    char room[DOMAIN_RANGE], allowed[100];
    assert_int_equal(domain_code(a, "2024-02-29"), 2);
    assert_int_equal(domain_code(a, "2025-01-01"), 4);
    assert_int_equal(domain_code(a, "never"), 5);
    assert_int_equal(domain_code(a, "soon"), 5);
    assert_false(domain_fits(a, "2025-01-01"));
    assert_string_equal(domain_text(a, 3, 0, room), "2024-03-01");
    assert_string_equal(domain_range(a, 6, room), "2024-02-27 to 2024-03-02");
    rows_allowed(a, allowed, sizeof allowed);
    assert_string_equal(allowed, "a day from 2024-02-27 to 2024-03-02, or 'never' if missing");
}

TEST(neighbours_merge_and_ranges_are_sets)
{
    struct domain *d CLEAN(domain_free) = five_days();
    const double counts[] = {100, 1, 1, 100, 100, 0}, *const all[] = {counts};
    const struct merges_least least = {.neighbours = 50, .labels = 50};
    struct values_pool pool CLEAN(pool_clear) = {0};
    struct merges m CLEAN(merges_clear) = {0};
    struct densities even CLEAN(densities_clear) = {0};
    OK(merges_choose(&m, d, all, &least, NULL));
    assert_int_equal(m.groups[0], 4); /* the rare two join each other, then the day before */
    assert_int_equal(m.group[0][1], m.group[0][2]);
    struct values known = values_known(&pool, d->attribute);
    assert_int_equal(known.spans, 1);
    assert_true(pool.span[known.first].from == domain_number(d->attribute, 0) - 0.5);
    assert_true(pool.span[known.first].below == domain_last(d->attribute) + 0.5);
    OK(densities_of(&even, d, NULL, NULL));
    assert_true(density_whole(even.of[0], 2).mean == domain_number(d->attribute, 2));
}

TEST(questions_quote_days)
{
    static const char *const bad[][2] = {
        {"SELECT SUM(seen) FROM t", "a sum of days means nothing"},
        {"SELECT AVG(seen) / 2 FROM t", "not with AVG of days"},
        {"SELECT COUNT(*) FROM t WHERE seen = 5",
         "seen has days: write one in single quotes, such as '2024-02-27'"},
        {"SELECT COUNT(*) FROM t WHERE seen = 'soon'", "'soon' is no day here; write one such as"}};
    struct domain *d CLEAN(domain_free) = five_days();
    struct question_text from = {.text = "SELECT AVG(seen), COUNT(seen) FROM t "
                                         "WHERE seen >= DAY '2024-02-29' HAVING "
                                         "AVG(seen) > '2024-03-01'"};
    const double first = domain_number(d->attribute, 0);
    struct question *q CLEAN(question_free) = MADE(question, question_parse, d, &from, NULL);
    assert_true(question_item_is_quoted(q, 0) && !question_item_is_quoted(q, 1));
    assert_true(q->having[0].value == first + 3);
    const struct values *known = case_values(&q->where.one[0], 0);
    assert_int_equal(known->spans, 1);
    assert_true(q->pool.span[known->first].from == first + 1.5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        LOG_INTO(log, words, LOG_ERROR);
        struct question *refused;
        struct question_text asked = {.text = bad[i][0]};
        assert_int_equal(question_parse(&refused, d, &asked, &log), ERR_QUESTION);
        if (strstr(words, bad[i][1]) == NULL)
            fail_msg("%s: %s", bad[i][0], words);
    }
}

/* A program before version 0.3 does not know them. */
TEST(model_files_have_the_version_of_later_kinds)
{
    struct domain *d CLEAN(domain_free) = five_days();
    assert_true(domain_needs_version_3(d));
}

TEST(files_give_back_the_same_days)
{
    static const char text[] = "seen\n2024-02-29\nnever\n2024-03-02\n2024-02-27\n";
    char path[] = "/tmp/kind-XXXXXX", back[2 * sizeof text] = "";
    struct domain *d CLEAN(domain_free) = five_days();
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    assert_int_equal(close(fd), 0);
    struct table *t CLEAN(table_free) = MADE(table, table_read_csv, d, path, NULL, NULL);
    assert_int_equal(t->rows, 4);
    OK(table_write_csv(path, t, NULL, 1, NULL, NULL));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(back, 1, sizeof back, file),
                     sizeof text - 1 + 2); /* "never" in quotes */
    assert_int_equal(fclose(file), 0);
    unlink(path);
    assert_memory_equal(back, "seen\n2024-02-29\n\"never\"\n", 24);
}
