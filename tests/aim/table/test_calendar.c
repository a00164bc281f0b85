/* aim/table/calendar: dates as numbers and as texts, columns of them, and questions about them. */
#include "harness/cmocka.h"
#include "harness/model.h"
#include "tests/support/domain.h"

#include "aim/answer/answer.h"
#include "aim/answer/rows_answer.h"
#include "aim/model/model_file.h"
#include "aim/table/csv.h"

#define FIRST (-719162)
#define DAYS 3652059 /* in the years 1 to 9999 */

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* Counts through the calendar, one day after the other, from Monday, 1 January of the year 1. */
TEST(every_day_goes_there_and_back)
{
    static const struct calendar written = {
        .unit = CALENDAR_DAY, .formats = 2, .format = {"%d.%m.%Y", "%Y%m%d"}};
    struct calendar_time t = {1, 1, 1, 0, 0, 0};
    int64_t n = FIRST, month = FIRST, year = FIRST;
    for (; t.year < 10000; n++) {
        const int length = month_days(t.year, t.month);
        const struct calendar_time back = calendar_time(n, CALENDAR_DAY);
        char text[CALENDAR_FORMAT];
        int64_t low, high;
        if (calendar_number(&t, CALENDAR_DAY) != n || memcmp(&back, &t, sizeof t) != 0)
            fail_msg("%d-%d-%d", t.year, t.month, t.day);
        snprintf(text, sizeof text, "%04d-%02d-%02d", t.year, t.month, t.day);
        assert_true(calendar_read(text, CALENDAR_DAY, true, &low, &high) && low == n && high == n);
        calendar_print(&written, n, text);
        assert_true(calendar_parse(&written, text, &low) && low == n);
        assert_int_equal(calendar_value(n, CALENDAR_DAY, CALENDAR_WEEK), (n - FIRST) % 7 + 1);
        assert_int_equal(calendar_next(n, CALENDAR_DAY, CALENDAR_WEEK), n + 7 - (n - FIRST) % 7);
        assert_int_equal(calendar_next(month, CALENDAR_DAY, CALENDAR_MONTH), month + length);
        if (t.day++ < length)
            continue;
        t.day = 1;
        month = n + 1;
        if (t.month++ < 12)
            continue;
        t.month = 1;
        t.year++;
        assert_int_equal(calendar_next(year, CALENDAR_DAY, CALENDAR_YEAR), n + 1);
        year = n + 1;
    }
    assert_int_equal(n, FIRST + DAYS);
    assert_true(calendar_is_number(FIRST, CALENDAR_DAY) &&
                calendar_is_number(FIRST + DAYS - 1, CALENDAR_DAY));
    assert_false(calendar_is_number(FIRST - 1, CALENDAR_DAY) ||
                 calendar_is_number(FIRST + DAYS, CALENDAR_DAY));
}

TEST(units_round_down_before_1970_too)
{
    static const struct {
        const char *text;
        enum calendar_unit unit;
        int64_t low, high;
    } good[] = {
        {"1970-01-01", CALENDAR_DAY, 0, 0},
        {"1970-01-01", CALENDAR_HOUR, 0, 23},
        {"1969-12-31", CALENDAR_SECOND, -86400, -1},
        {"1969-12-31 23:59", CALENDAR_HOUR, -1, -1},
        {"1969-12-31T23:59", CALENDAR_SECOND, -60, -1},
        {"1969-12-31 23:59:59.999", CALENDAR_MINUTE, -1, -1},
        {"1969-12-31 23:59:59.999", CALENDAR_DAY, -1, -1},
        {"1970-01-02 01:00:00", CALENDAR_SECOND, 90000, 90000},
    };
    static const char *const bad[] = {
        "",
        "2023-02-29",
        "2021-13-01",
        "2021-00-01",
        "2021-04-31",
        "0000-01-01",
        "2021-4-31",
        "21-04-30",
        "2021-04-30 24:00",
        "2021-04-30 12:60",
        "2021-04-30 12:00:60",
        "2021-04-30 12",
        "2021-04-30Z",
        "2021-04-30 12:00+01",
        "2021-04-30 12:00:00.",
        "2021-04-30 ",
        "12021-04-30",
        "2021-04-301",
        "2021/04/30",
        "+021-04-30",
    };
    int64_t low, high;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(calendar_read(good[i].text, good[i].unit, false, &low, &high));
        assert_int_equal(low, good[i].low);
        assert_int_equal(high, good[i].high);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (calendar_read(bad[i], CALENDAR_SECOND, false, &low, &high))
            fail_msg("%s", bad[i]);
    assert_false(calendar_read("2021-04-30 00:00", CALENDAR_DAY, true, &low, &high));
    assert_false(calendar_read("2021-04-30 12:30", CALENDAR_HOUR, true, &low, &high));
    assert_true(calendar_read("2021-04-30 12:00:00", CALENDAR_HOUR, true, &low, &high));
    assert_true(calendar_read("2021-04-30 12:30:00", CALENDAR_MINUTE, true, &low, &high));
}

/* --- formats ---------------------------------------------------------------------------------- */

/* What is said about formats, or NULL if they are good. */
static const char *refusal(enum calendar_unit unit, const char *const *format)
{
    static char words[500];
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    struct calendar c = {.unit = unit};
    uint32_t bad;
    for (; *format != NULL; format++)
        snprintf(c.format[c.formats++], CALENDAR_FORMAT, "%s", *format);
    words[0] = '\0';
    return calendar_check(&c, "d", &bad, &log) == ERR_OK ? NULL : words;
}

#define REFUSAL(unit, ...) refusal(unit, (const char *const[]){__VA_ARGS__, NULL})

TEST(formats_that_read_a_text_in_two_ways_are_refused)
{
    const char *words = REFUSAL(CALENDAR_DAY, "%d/%m/%Y", "%m/%d/%Y");
    assert_non_null(words);
    assert_non_null(strstr(words, "'04/03/2021' would be 4 March 2021 in the format '%d/%m/%Y', "
                                  "but 3 April 2021 in '%m/%d/%Y'"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%Y-%m-%d", "%d.%m.%Y", "%Y-%d-%m"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%Y%m%d", "%d%m%Y"));
    assert_non_null(REFUSAL(CALENDAR_HOUR, "%Y-%m-%d %H:%M", "%Y-%m-%d %M:%H"));
    assert_null(REFUSAL(CALENDAR_DAY, "%Y-%m-%d %H:%M", "%Y-%m-%d %M:%H"));
    assert_null(REFUSAL(CALENDAR_DAY, "%d/%m/%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y%m%d", "%d%m/%Y"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%d.%m.%y"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%m.%Y"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%d.%m.%Y %"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%d.%m.%Y%d"));
    assert_non_null(REFUSAL(CALENDAR_DAY, "%d.%m.20%Y"));
    assert_non_null(REFUSAL(CALENDAR_DAY, " %d.%m.%Y"));
    assert_non_null(REFUSAL(CALENDAR_MINUTE, "%d.%m.%Y %Hh"));
    assert_null(REFUSAL(CALENDAR_HOUR, "%d.%m.%Y %Hh", "%d.%m.%Y"));
}

/*
 * No text of all those that random formats write is read otherwise by another one that calendar_
 * check() allows beside it.
 */
TEST(lists_of_formats_read_each_text_in_one_way)
{
    static const char *const parts[] = {"%Y", "%m", "%d", "%H", "%M", ".", "/", "", "-"};
    struct random r = random_of(7);
    size_t allowed = 0;
    for (int trial = 0; trial < 20000; trial++) {
        struct calendar c = {.unit = (enum calendar_unit)random_below(&r, 3), .formats = 2};
        uint32_t bad;
        for (int k = 0; k < 2; k++) {
            int order[5] = {0, 1, 2, 3, 4}, n = random_below(&r, 2) == 0 ? 3 : 5;
            for (int i = n - 1; i > 0; i--) {
                const int j = (int)random_below(&r, (uint64_t)i + 1), x = order[i];
                order[i] = order[j];
                order[j] = x;
            }
            for (int i = 0; i < n; i++) {
                strcat(c.format[k], parts[order[i]]);
                if (i + 1 < n)
                    strcat(c.format[k], parts[5 + random_below(&r, 4)]);
            }
        }
        if (calendar_check(&c, "d", &bad, NULL) != ERR_OK)
            continue;
        allowed++;
        for (int i = 0; i < 20; i++) {
            const struct calendar other = {.unit = c.unit, .formats = 1};
            struct calendar first = other, second = other;
            struct calendar_time t = {(int)random_below(&r, 9999) + 1,
                                      (int)random_below(&r, 12) + 1,
                                      (int)random_below(&r, 12) + 1,
                                      (int)random_below(&r, 12),
                                      30,
                                      0};
            char text[CALENDAR_FORMAT];
            int64_t one, two;
            strcpy(first.format[0], c.format[i % 2]);
            strcpy(second.format[0], c.format[1 - i % 2]);
            t.minute = (int)random_below(&r, 24);
            calendar_print(&first, calendar_number(&t, c.unit), text);
            assert_true(calendar_parse(&first, text, &one));
            if (calendar_parse(&second, text, &two) && one != two)
                fail_msg("%s: %s, %s", text, c.format[0], c.format[1]);
        }
    }
    assert_true(allowed > 1000);
}

/* --- columns ---------------------------------------------------------------------------------- */

static const double edges[] = {18628, 18659, 18687, 18718, 18748, 18992, 18992}; /* of 2021 */
#define EDGES (sizeof edges / sizeof *edges)

/* `d` by days of 2021 in bins, or the same as numbers; and labels. */
static struct domain *domain_of(bool dates)
{
    static const char *const labels[] = {"a", "b"};
    static const struct calendar c = {
        .unit = CALENDAR_DAY, .formats = 2, .format = {"%d.%m.%Y", "%Y-%m-%d"}};
    struct domain *d = MADE(domain, domain_new);
    if (dates)
        OK(domain_add_date(d, "d", &c, edges, EDGES, "", DOMAIN_CLIP, NULL));
    else
        OK(domain_add_numeric(d, "d", edges, EDGES, "", DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_categorical(d, "l", labels, 2, NULL, DOMAIN_REJECT, NULL));
    return d;
}

TEST(texts_have_the_codes_of_their_days)
{
    static const char *const none[] = {"1899-12-31", "31.12.1899"};
    struct domain *d CLEAN(domain_free) = domain_of(true);
    const struct domain_attribute *a = d->attribute;
    struct bytes bytes CLEAN(bytes_clear) = {0};
    HAS_CODES(a, {"01.01.2021", 0}, {"2021-01-31", 0}, {"1.2.2021", 1}, {"30.12.2021", 4},
              {"31.12.2021", 5}, {"1.1.2022", 5});
    assert_false(domain_fits(a, "1.1.2022"));
    HAS_CODES(a, {"2020", 6}, {"", 6});
    struct domain *back CLEAN(domain_free) = support_read_back(d, &bytes);
    domain_free(&back);
    OK(domain_pick(&back, d, (const uint16_t[]){0}, 1));
    OK(domain_set_missing(back, none, 1, NULL));
    assert_int_equal(domain_code(back->attribute, "31.12.1899"), 6); /* the same day */
    assert_int_not_equal(domain_set_missing(back, none, 1, NULL), ERR_OK);
}

/* A model of random counts. */
static struct model *model_of(const struct domain *d)
{
    const struct clique pair = {2, {0, 1}};
    double y[14];
    struct measurement x = {.clique = pair, .y = y, .sigma = 1};
    struct model_fitted fitted;
    for (int i = 0; i < 14; i++)
        y[i] = i == 5 ? 0 : 20 + 37 * i % 90;
    struct model *m = MADE(model, model_plain, d, &pair, 1, 1000, NULL);
    model_set_total(m, 600);
    OK(model_fit(m, &x, 1, 500, &fitted, NULL));
    return m;
}

struct calendar_asked {
    struct domain *domain;
    struct model *model;
    struct model_sums *sums;
    struct densities inside;
};

static struct calendar_asked ask_of(bool dates)
{
    struct calendar_asked w = {.domain = domain_of(dates)};
    w.model = model_of(w.domain);
    OK(densities_of(&w.inside, w.domain, NULL, NULL));
    OK(model_sums_new(&w.sums, w.model));
    return w;
}

static void forget(struct calendar_asked *w)
{
    model_sums_free(&w->sums);
    densities_clear(&w->inside);
    model_free(&w->model);
    domain_free(&w->domain);
}

static struct question *parse(const struct domain *d, const char *text)
{
    LOG_INTO(log, words, LOG_ERROR);
    struct question_text from = {.text = text};
    struct question *q;
    if (question_parse(&q, d, &from, &log) != ERR_OK)
        fail_msg("%s: %s", text, words);
    return q;
}

/* Every question to the dates, and the same to their numbers. */
TEST(questions_equal_those_on_the_numbers)
{
    static const char *const asked[][2] = {
        {"SELECT COUNT(*), AVG(d), MEDIAN(d), STDDEV(d), MIN(d), MAX(d) FROM t", NULL},
        {"SELECT COUNT(*), AVG(d) FROM t WHERE d <= '2021-02-14'",
         "SELECT COUNT(*), AVG(d) FROM t WHERE d <= 18672"},
        {"SELECT COUNT(*) FROM t WHERE d < DATE '2021-02-14'",
         "SELECT COUNT(*) FROM t WHERE d < 18672"},
        {"SELECT COUNT(*) FROM t WHERE d > '2021-02-14' AND l = 'a'",
         "SELECT COUNT(*) FROM t WHERE d > 18672 AND l = 'a'"},
        {"SELECT AVG(d) FROM t WHERE d BETWEEN '2021-01-10' AND '2021-03-10' GROUP BY l",
         "SELECT AVG(d) FROM t WHERE d BETWEEN 18637 AND 18696 GROUP BY l"},
        {"SELECT COUNT(*) FROM t WHERE d IN ('2021-12-31', '2021-01-01') OR d IS NULL",
         "SELECT COUNT(*) FROM t WHERE d IN (18992, 18628) OR d IS NULL"},
        {"SELECT AVG(d) AS a FROM t GROUP BY l HAVING a > '2021-01-31'",
         "SELECT AVG(d) AS a FROM t GROUP BY l HAVING a > 18658"},
    };
    struct calendar_asked dates CLEAN(forget) = ask_of(true), numbers CLEAN(forget) = ask_of(false);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct question *p CLEAN(question_free) = parse(dates.domain, asked[i][0]);
        struct question *q CLEAN(question_free) = parse(numbers.domain,
                                                        asked[i][asked[i][1] != NULL]);
        struct answer *a CLEAN(answer_free) = NULL, *b CLEAN(answer_free) = NULL;
        size_t *of_a CLEAN(memory_release) = NULL, *of_b CLEAN(memory_release) = NULL, n, m;
        OK(answer_new(&a, dates.sums, &dates.inside, p, NULL));
        OK(answer_new(&b, numbers.sums, &numbers.inside, q, NULL));
        OK(answer_shown(a, &of_a, &n));
        OK(answer_shown(b, &of_b, &m));
        assert_int_equal(n, m);
        if (n == 0)
            fail_msg("%s has no line", asked[i][0]);
        for (size_t k = 0; k < n; k++)
            for (size_t item = 0; item < p->items; item++)
                assert_true(answer_value_at(a, of_a[k], item)->number ==
                            answer_value_at(b, of_b[k], item)->number);
    }
}

/* Groups by a part are sums of the column's own lines; medians are of the rows of all. */
TEST(parts_of_dates_have_the_rows_of_their_bins)
{
    struct calendar_asked w CLEAN(forget) = ask_of(true);
    struct question *whole CLEAN(question_free) = parse(
        w.domain, "SELECT COUNT(*) FROM t WHERE l = 'a' GROUP BY d");
    struct question *year CLEAN(question_free) = parse(
        w.domain, "SELECT year(d), COUNT(*), AVG(d), MEDIAN(d) FROM t WHERE l = 'a' GROUP BY "
                  "YEAR(d) ORDER BY year(d)");
    struct question *known CLEAN(question_free) = parse(
        w.domain, "SELECT AVG(d), MEDIAN(d) FROM t WHERE l = 'a' AND d IS NOT NULL");
    struct answer *a CLEAN(answer_free) = NULL, *b CLEAN(answer_free) = NULL,
                     *c CLEAN(answer_free) = NULL;
    char name[QUESTION_ITEM_NAME];
    double rows = 0;
    OK(answer_new(&a, w.sums, &w.inside, whole, NULL));
    OK(answer_new(&b, w.sums, &w.inside, year, NULL));
    OK(answer_new(&c, w.sums, &w.inside, known, NULL));
    for (uint32_t code = 0; code < 6; code++)
        rows += a->rows[code];
    assert_true(fabs(b->rows[0] - rows) < 1e-9 * rows);
    assert_true(b->rows[1] == 0 && b->rows[5] == 0 && b->rows[6] == a->rows[6]);
    assert_true(fabs(answer_value_at(b, 0, 0)->number - rows) < 1e-9 * rows);
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(answer_value_at(b, 0, 1 + i)->number - answer_value_at(c, 0, i)->number) <
                    1e-6);
    question_group_name(year, 0, name, sizeof name);
    assert_string_equal(name, "YEAR(d)");
    assert_int_equal(question_group_number(year, 0, 0), 2021);
}

/* The bin behind a spike begins a day after its edge. */
TEST(a_part_is_that_of_the_dates_in_the_bin)
{
    static const struct calendar days = {.unit = CALENDAR_DAY};
    static const double bins[] = {18444, 18627, 18627, 18809}; /* a spike on 2020-12-31 */
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_date(d, "d", &days, bins, 4, NULL, DOMAIN_REJECT, NULL));
    struct question *q CLEAN(question_free) = parse(d, "SELECT COUNT(*) FROM t GROUP BY YEAR(d)");
    assert_int_equal(question_group_code(&q->group[0], 1), 0);
    assert_int_equal(question_group_code(&q->group[0], 2), 2);
    assert_int_equal(question_group_number(q, 0, 0), 2020);
    assert_int_equal(question_group_number(q, 0, 2), 2021);
}

TEST(parts_that_cut_a_bin_are_refused)
{
    static const char *const bad[][2] = {
        {"SELECT COUNT(*) FROM t GROUP BY month(d)",
         "the bin of d from 01.05.2021 to 30.12.2021 lies in more than one MONTH"},
        {"SELECT COUNT(*) FROM t GROUP BY year(l)", "l has no dates"},
        {"SELECT COUNT(*) FROM t WHERE hour(d) < 6", "d has days, without hours"},
        {"SELECT year(d), COUNT(*) FROM t GROUP BY d", "must be in GROUP BY"},
        {"SELECT SUM(d) FROM t", "a sum of dates means nothing"},
        {"SELECT COUNT(*) FROM t WHERE d = 5", "write one in single quotes"},
        {"SELECT COUNT(*) FROM t WHERE d = '5.6.2021'", "is no date here"},
        {"SELECT COUNT(*) FROM t WHERE d = '2021-05-06 12:00'", "is no date here"},
    };
    struct domain *d CLEAN(domain_free) = domain_of(true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        LOG_INTO(log, words, LOG_ERROR);
        struct question_text from = {.text = bad[i][0]};
        struct question *q;
        assert_int_equal(question_parse(&q, d, &from, &log), ERR_QUESTION);
        if (strstr(words, bad[i][1]) == NULL)
            fail_msg("%s: %s", bad[i][0], words);
    }
}

/* Rows as written are dates of their bins in the first format; a model is one of version 3. */
TEST(files_have_dates)
{
    struct calendar_asked w CLEAN(forget) = ask_of(true);
    char path[] = "/tmp/calendar-XXXXXX", start[17] = "";
    struct domain *d CLEAN(domain_free) = NULL;
    struct table *t CLEAN(table_free) = NULL, *back CLEAN(table_free) = NULL;
    struct random r = random_of(3);
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    OK(table_new(&t, w.domain, 0));
    for (int i = 0; i < 2000; i++)
        OK(table_append(t, (const uint16_t[]){(uint16_t)random_below(&r, 7), 0}));
    OK(table_write_csv(path, t, NULL, 1, NULL, NULL));
    OK(table_read_csv(&back, w.domain, path, NULL, NULL));
    assert_memory_equal(back->column[0], t->column[0], 2000 * sizeof **t->column);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(start, sizeof start, file));
    assert_non_null(fgets(start, 14, file));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(start[2], '.');
    assert_int_equal(start[5], '.');
    OK(model_save(path, w.model, NULL));
    struct model *m CLEAN(model_free) = MADE(model, model_load, &d, path, 1000, NULL);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(start, 1, 16, file), 16);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(start, "trefoil-model-3\n", 16);
    unlink(path);
}
