/*
 * aim/table/derive: columns that follow from others. Of 10^6 rows none breaks what it follows from,
 * numbers have the distribution that rejection gives them, and owners' rows are computed as an
 * oracle says. Planted: draw_tie() that draws each column alone fails.
 */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/table/csv.h"
#include "aim/table/derive.h"

#define ROWS 1000000

/* --- a domain of each kind of expression ------------------------------------------------------ */

static struct derive *add(struct derive_list *list, const char *name, enum derive_op op,
                          const char *one, const char *other, int sign)
{
    OK(memory_extend(&list->of, list->count + 1));
    struct derive *e = &list->of[list->count++];
    *e = (struct derive){.name = memory_string(name), .text = memory_string("as it is"), .op = op};
    for (const char *const *c = (const char *const[]){one, other, NULL}; *c != NULL; c++) {
        e->sign[e->columns] = (int8_t)(e->columns == 0 ? 1 : sign);
        e->column[e->columns++] = memory_string(*c);
    }
    return e;
}

static void add_book(struct derive *e, const char *const (*book)[2], size_t rows)
{
    OK(memory_new(&e->key, rows));
    OK(memory_new(&e->value, rows));
    for (; e->keys < rows; e->keys++) {
        e->key[e->keys] = memory_string(book[e->keys][0]);
        e->value[e->keys] = memory_string(book[e->keys][1]);
    }
}

static const char *const places[][2] = {
    {"bonn", "west"}, {"kiel", "north"}, {"essen", "west"}, {"emden", "north"}};
static const char *const countries[][2] = {{"west", "w"}, {"north", "n"}};

static void add_columns(struct domain *d)
{
    static const char *const cities[] = {"bonn", "kiel", "essen", "ulm"};
    static const char *const regions[] = {"north", "west"};
    static const struct calendar hours = {.unit = CALENDAR_HOUR};
    double months[8], stays[] = {0, 1, 3, 7, 40}, parts[] = {0, 6, 12, 23};
    int64_t at = 24 * 18628;
    for (size_t i = 0; i < 7; i++, at = calendar_next(at, CALENDAR_HOUR, CALENDAR_MONTH))
        months[i] = (double)at;
    months[7] = months[6] + 13 * 24 - 1; /* half a month */
#define MISSING "", DOMAIN_AS_MISSING, NULL
    OK(domain_add_date(d, "in", &hours, months, 8, "?", DOMAIN_CLIP, NULL));
    OK(domain_add_date(d, "out", &hours, months, 8, "", DOMAIN_CLIP, NULL));
    OK(domain_add_integer(d, "weekday", 1, 6, MISSING)); /* a Sunday counts as missing */
    OK(domain_add_numeric(d, "hour", parts, 4, MISSING));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_categorical(d, "city", cities, 4, MISSING));
    OK(domain_add_categorical(d, "region", regions, 2, MISSING));
    OK(domain_add_numeric(d, "stay", stays, 5, MISSING));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_integer(d, "age", 0, 20, MISSING));
}

static struct domain *make_domain(void)
{
    const struct derive *bad;
    struct domain *d = MADE(domain, domain_new);
    add_columns(d);
    OK(memory_new(&d->derived, 1));
    add(&d->derived->from, "weekday", DERIVE_PART, "in", NULL, 1)->part = CALENDAR_WEEK;
    add(&d->derived->from, "hour", DERIVE_PART, "in", NULL, 1)->part = CALENDAR_OF_HOUR;
    add_book(add(&d->derived->from, "region", DERIVE_LOOKUP, "city", NULL, 1), places, 4);
    add(&d->derived->from, "stay", DERIVE_SUM, "left", "came", -1);
    add(&d->derived->from, "age", DERIVE_AGE, "born", "in", 1);
    add(&d->derived->read, "came", DERIVE_READ, NULL, NULL, 1)->type = DERIVE_DATE;
    add(&d->derived->read, "left", DERIVE_READ, NULL, NULL, 1)->type = DERIVE_DATE;
    struct derive *e = add(&d->derived->read, "born", DERIVE_READ, NULL, NULL, 1);
    e->type = DERIVE_DATE;
    e->calendar = (struct calendar){.formats = 1, .format = {"%d.%m.%Y"}};
    add(&d->derived->read, "leaves", DERIVE_READ, NULL, NULL, 1)->type = DERIVE_TEXT; /* theirs */
    add(&d->derived->computed, "leaves", DERIVE_SUM, "in", "stay", 1)->constant = 5;
    add(&d->derived->computed, "year", DERIVE_PART, "leaves", NULL, 1)->part = CALENDAR_YEAR;
    add_book(add(&d->derived->computed, "land", DERIVE_LOOKUP, "region", NULL, 1), countries, 2);
    OK(derive_check(d, &bad, NULL));
    return d;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const char *look(const char *const (*book)[2], size_t rows, const char *key)
{
    for (size_t i = 0; i < rows; i++)
        if (strcmp(book[i][0], key) == 0)
            return book[i][1];
    return "";
}

/* Whether a line of a file, taken apart by commas, breaks nothing. */
static bool holds(char *line)
{
    char *field[12], expected[CALENDAR_FORMAT] = "", year[8] = "";
    const struct calendar hours = {.unit = CALENDAR_HOUR};
    int64_t in = 0, high;
    for (size_t i = 0; i < 11; i++) {
        field[i] = strsep(&line, ",\n");
        if (field[i] == NULL)
            return false;
        if (field[i][0] == '"') /* a missing value */
            field[i][0] = '\0';
    }
    if (strcmp(field[5], look(places, 3, field[4])) != 0 ||
        strcmp(field[10], look(countries, 2, field[5])) != 0)
        return false;
    if (strcmp(field[0], "?") == 0)
        return field[2][0] == '\0' && field[3][0] == '\0' && field[8][0] == '\0';
    if (!calendar_read(field[0], CALENDAR_HOUR, true, &in, &high))
        return false;
    if (field[6][0] != '\0') {
        calendar_print(&hours, in + strtol(field[6], NULL, 10) + 5, expected);
        memcpy(year, expected, 4);
    }
    return strtol(field[2], NULL, 10) == ((in / 24 + 3) % 7 + 1) % 7 &&
           strtol(field[3], NULL, 10) == in % 24 && strcmp(field[8], expected) == 0 &&
           strcmp(field[9], year) == 0;
}

struct codes_seen {
    size_t n, room;
    uint32_t (*cell)[3]; /* of in, weekday, hour */
};

static void keep(void *to, const uint32_t *code)
{
    struct codes_seen *s = to;
    for (size_t i = 0; i < s->n; i++)
        if (memcmp(s->cell[i], code, sizeof *s->cell) == 0)
            return;
    OK(memory_room(&s->cell, &s->room, s->n + 1));
    memcpy(s->cell[s->n++], code, sizeof *s->cell);
}

/* Random codes, of which the tied ones are in cells that have values. */
static struct table *random_rows(const struct domain *d, size_t rows)
{
    struct codes_seen seen = {0};
    struct random r = random_of(5);
    struct derive_plan *p CLEAN(derive_free) = MADE(derive_plan, derive_new, d);
    assert_int_equal(derive_ties(p), 2); /* in with weekday and hour; city with region */
    OK(derive_cells(p, 0, keep, &seen, NULL));
    assert_int_equal(seen.n, 7 * 7 * 3 + 1); /* a week and more in each bin, and missing ones */
    struct table *t = MADE(table, table_new, d, rows);
    for (size_t i = 0; i < rows; i++) {
        static const uint16_t region[] = {1, 0, 1, 2, 2}; /* ulm has none, nor has a missing city */
        const uint32_t *cell = seen.cell[random_below(&r, seen.n)];
        const uint16_t city = (uint16_t)random_below(&r, 5);
        const uint16_t row[] = {(uint16_t)cell[0],
                                (uint16_t)random_below(&r, 8),
                                (uint16_t)cell[1],
                                (uint16_t)cell[2],
                                city,
                                region[city],
                                (uint16_t)random_below(&r, 5),
                                (uint16_t)random_below(&r, 22)};
        OK(table_append(t, row));
    }
    memory_free(&seen.cell);
    return t;
}

TEST(no_row_breaks_what_it_follows_from)
{
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = random_rows(d, ROWS), *back CLEAN(table_free) = NULL;
    const struct table_csv_options written = {.rows = {.as_written = true}};
    char path[] = "/tmp/derive-XXXXXX", line[400];
    const int fd = mkstemp(path);
    size_t rows = 0, broken = 0;
    assert_true(fd >= 0 && close(fd) == 0);
    OK(table_write_csv(path, t, NULL, 1, NULL, NULL));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "in,out,weekday,hour,city,region,stay,age,leaves,year,land\n");
    for (; fgets(line, sizeof line, file) != NULL; rows++)
        broken += !holds(line);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rows, ROWS);
    assert_int_equal(broken, 0);
    /* and each value is in the bin that it was drawn for */
    OK(table_read_csv(&back, d, path, &written, NULL));
    for (size_t a = 0; a < d->attributes; a++)
        assert_memory_equal(back->column[a], t->column[a], ROWS * sizeof **t->column);
    unlink(path);
}

/* In a cell, numbers are as likely to each other as the bin's density says: chi-square. */
TEST(numbers_keep_the_density_of_their_bin)
{
    struct domain *d CLEAN(domain_free) = make_domain();
    struct derive_plan *p CLEAN(derive_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    const double counts[8] = {8000, 3000, 900, 300, 200, 100, 50, 10};
    const uint16_t row[] = {1, 0, 2, 1, 0, 1, 0, 0}; /* Wednesdays in February, 6 to 11 */
    struct random r = random_of(9);
    double seen[28 * 24] = {0}, sum = 0, chi = 0;
    size_t solutions = 0;
    OK(densities_of(&inside, d, NULL, NULL));
    density_free(&inside.of[0]);
    OK(density_new(&inside.of[0], &d->attribute[0], counts));
    assert_true(fabs(density_tilt(inside.of[0], 1)) > 0.3);
    OK(derive_new(&p, d));
    for (int i = 0; i < 40000; i++) {
        int64_t x, high;
        OK(derive_draw(p, row, NULL, true, &inside, &r));
        assert_true(calendar_read(derive_text(p, 0), CALENDAR_HOUR, true, &x, &high));
        seen[x - (int64_t)d->attribute[0].edges[1]]++;
    }
    for (int i = 0; i < 28 * 24; i++) {
        const int64_t x = (int64_t)d->attribute[0].edges[1] + i;
        if ((x / 24 + 3) % 7 + 1 == 3 && x % 24 >= 6 && x % 24 < 12)
            sum += exp(density_log(inside.of[0], 1, (double)x));
        else
            assert_true(seen[i] == 0);
    }
    for (int i = 0; i < 28 * 24; i++) {
        const int64_t x = (int64_t)d->attribute[0].edges[1] + i;
        const double expected = 40000 * exp(density_log(inside.of[0], 1, (double)x)) / sum;
        if ((x / 24 + 3) % 7 + 1 != 3 || x % 24 < 6 || x % 24 >= 12)
            continue;
        solutions++;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    assert_int_equal(solutions, 4 * 6);
    assert_true(chi < 23 + 5 * sqrt(2 * 23.0));
    const double must[] = {d->attribute[0].edges[1] + 55, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    OK(derive_draw(p, row, must, false, &inside, &r)); /* the one of 24 that a row has */
}

/* --- owners' rows ----------------------------------------------------------------------------- */

TEST(rows_are_computed_as_they_are_read)
{
    static const char text[] =
        "born,in,out,came,left,city,weekday,hour\n"
        "28.02.2010,2021-02-27 05:59,,2021-02-27,2021-03-01,bonn,x,x\n"  /* a Saturday, age 10 */
        "28.02.2010,2021-02-28 06:00,,2021-02-27,2021-02-26,ulm,x,x\n"   /* 11; a stay of -1 */
        "29.02.2008,2021-02-28 12:00,,,2021-02-26,none,x,x\n"            /* 12; none missing */
        "x,?,,2021-01-01,2021-05-01,emden,x,x\n"                         /* no age, a stay of 120 */
        "01.01.2020,2022-03-05 01:00,,2021-01-01,2021-01-01,kiel,x,x\n"; /* late: it is clipped */
    static const uint16_t expected[][8] = {
        {1, 7, 5, 0, 0, 1, 1, 10}, {1, 7, 6, 1, 3, 2, 4, 11}, {1, 7, 6, 2, 4, 2, 4, 12},
        {7, 7, 6, 3, 4, 2, 4, 21}, {6, 7, 1, 2, 1, 0, 0, 2},
    };
    struct domain *d CLEAN(domain_free) = make_domain();
    char path[] = "/tmp/derive-XXXXXX", words[4000] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_INFO};
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    assert_int_equal(close(fd), 0);
    struct table *t CLEAN(table_free) = MADE(table, table_read_csv, d, path, NULL, &log);
    assert_int_equal(t->rows, 5);
    for (size_t row = 0; row < 5; row++)
        for (size_t a = 0; a < 8; a++)
            if (t->column[a][row] != expected[row][a])
                fail_msg("row %zu: %s is code %u, not %u", row, d->attribute[a].name,
                         t->column[a][row], expected[row][a]);
    assert_non_null(strstr(words, "columns not in the study are ignored: weekday, hour"));
    assert_non_null(strstr(words, "stay is '-1', which does not fit the study"));
    unlink(path);
}

/* In columns that are read for others, too; what is computed from them has a point. */
TEST(what_others_follow_from_may_have_a_decimal_comma)
{
    static const char text[] = "x\n1,5\n0,25\n1.5\n";
    static const uint16_t expected[] = {2, 0, 3};
    static const double edges[] = {0, 0.5, 1, 2};
    const struct table_csv_options o = {.delimiter = ';', .rows.decimal = ','};
    const struct derive *bad;
    char path[] = "/tmp/derive-XXXXXX";
    const int fd = mkstemp(path);
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_numeric(d, "y", edges, 4, MISSING));
    OK(memory_new(&d->derived, 1));
    add(&d->derived->from, "y", DERIVE_SUM, "x", NULL, 1);
    add(&d->derived->read, "x", DERIVE_READ, NULL, NULL, 1);
    OK(derive_check(d, &bad, NULL));
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    assert_int_equal(close(fd), 0);
    struct table *t CLEAN(table_free) = MADE(table, table_read_csv, d, path, &o, NULL);
    unlink(path);
    assert_memory_equal(t->column[0], expected, sizeof expected);
}

TEST(tables_need_what_others_follow_from)
{
    static const char text[] = "in,out,came,left,city,weekday,hour\n";
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = NULL;
    char path[] = "/tmp/derive-XXXXXX", words[4000] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    assert_int_equal(close(fd), 0);
    assert_int_equal(table_read_csv(&t, d, path, NULL, &log), ERR_DATA);
    assert_non_null(strstr(words, "no column is named born"));
    assert_null(strstr(words, "no column is named stay"));
    unlink(path);
}

/* --- two measured dates ----------------------------------------------------------------------- */

static void mark(void *to, const uint32_t *code)
{
    bool *seen = to;
    seen[(code[0] * 4 + code[1]) * 4 + code[2]] = true;
}

/* Cells are possible exactly where some pair of days has the difference; rows have it. */
TEST(a_difference_of_two_measured_dates_holds)
{
    static const double months[] = {18628, 18659, 18687, 18700}, stays[] = {0, 1, 3, 20};
    static const struct calendar days = {.unit = CALENDAR_DAY};
    struct domain *d CLEAN(domain_free) = NULL;
    struct derive_plan *p CLEAN(derive_free) = NULL;
    struct densities even CLEAN(densities_clear) = {0};
    struct random r = random_of(2);
    const struct derive *bad;
    bool seen[4 * 4 * 4] = {false}, naive[4 * 4 * 4] = {false};
    OK(domain_new(&d));
    OK(domain_add_date(d, "a", &days, months, 4, "", DOMAIN_CLIP, NULL));
    OK(domain_add_date(d, "b", &days, months, 4, "", DOMAIN_CLIP, NULL));
    OK(domain_add_numeric(d, "stay", stays, 4, MISSING));
    OK(domain_set_step(d, 1, true, NULL));
    OK(memory_new(&d->derived, 1));
    add(&d->derived->from, "stay", DERIVE_SUM, "b", "a", -1);
    OK(derive_check(d, &bad, NULL));
    OK(derive_new(&p, d));
    OK(derive_cells(p, 0, mark, seen, NULL));
    for (int a = 18628; a <= 18701; a++)
        for (int b = 18628; b <= 18701; b++) {
            const int i = a > 18700 ? 3 : (a >= 18659) + (a >= 18687);
            const int k = b > 18700 ? 3 : (b >= 18659) + (b >= 18687), n = b - a;
            const int stay = i == 3 || k == 3 || n < 0 || n > 20 ? 3 : (n >= 1) + (n >= 3);
            naive[(i * 4 + k) * 4 + stay] = true;
        }
    assert_memory_equal(seen, naive, sizeof seen);
    OK(densities_of(&even, d, NULL, NULL));
    for (int i = 0; i < 20000; i++) {
        uint16_t row[3] = {(uint16_t)random_below(&r, 4), (uint16_t)random_below(&r, 4),
                           (uint16_t)random_below(&r, 4)};
        int64_t a, b, high;
        if (!seen[(row[0] * 4 + row[1]) * 4 + row[2]])
            continue;
        OK(derive_draw(p, row, NULL, true, &even, &r));
        if (row[2] == 3)
            continue;
        assert_true(calendar_read(derive_text(p, 0), CALENDAR_DAY, true, &a, &high));
        assert_true(calendar_read(derive_text(p, 1), CALENDAR_DAY, true, &b, &high));
        assert_int_equal(strtol(derive_text(p, 2), NULL, 10), b - a);
        assert_int_equal(domain_code(&d->attribute[0], derive_text(p, 0)), row[0]);
    }
}

static void mark_two(void *to, const uint32_t *code)
{
    bool *seen = to;
    seen[code[0] * 4 + code[1]] = true;
}

/* By the number as it counts, in whatever way it is written. */
TEST(a_lookup_may_be_of_a_number_in_bins)
{
    static const char *const sizes[] = {"small", "big", "huge"};
    static const char *const book[][2] = {{"0", "small"}, {"1", "small"}, {"2", "small"},
                                          {"3", "big"},   {"4", "big"},   {"9", "huge"}};
    static const char *const rows[][2] = {{"1", "small"}, {"03", "big"}, {"9", "big"}};
    static const double edges[] = {0, 2, 4};
    static const uint16_t row[] = {1, 1};
    struct domain *d CLEAN(domain_free) = NULL;
    struct derive_plan *p CLEAN(derive_free) = NULL;
    struct densities even CLEAN(densities_clear) = {0};
    static const bool possible[8] = {[0] = true, [4] = true, [5] = true}; /* 0 and 1; 2; 3 and 4 */
    bool seen[8] = {false};
    struct random r = random_of(3);
    const struct derive *bad;
    OK(domain_new(&d));
    OK(domain_add_numeric(d, "n", edges, 3, NULL, DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_categorical(d, "size", sizes, 3, MISSING));
    OK(memory_new(&d->derived, 1));
    add_book(add(&d->derived->from, "size", DERIVE_LOOKUP, "n", NULL, 1), book, 6);
    OK(derive_check(d, &bad, NULL));
    OK(derive_new(&p, d));
    OK(derive_cells(p, 0, mark_two, seen, NULL));
    assert_memory_equal(seen, possible, sizeof seen);
    for (size_t i = 0; i < 3; i++) {
        derive_begin(p);
        OK(derive_set(p, 0, domain_code(&d->attribute[0], rows[i][0]), rows[i][0]));
        assert_string_equal(derive_from(p, 0), rows[i][1]);
    }
    OK(densities_of(&even, d, NULL, NULL));
    for (int i = 0; i < 40; i++) {
        OK(derive_draw(p, row, NULL, true, &even, &r));
        assert_true(*derive_text(p, 0) == '3' || *derive_text(p, 0) == '4');
        assert_string_equal(derive_text(p, 1), "big");
    }
}

/* A file may say anything: cells that no word can count. */
TEST(ties_of_too_many_cells_are_not_drawn)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct derive_plan *p CLEAN(derive_free) = NULL;
    struct densities even CLEAN(densities_clear) = {0};
    struct random r = random_of(3);
    const uint16_t row[7] = {0};
    const struct derive *bad;
    OK(domain_new(&d));
    OK(domain_add_integer(d, "n", 0, 1, NULL, DOMAIN_CLIP, NULL));
    OK(memory_new(&d->derived, 1));
    for (int i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        OK(domain_add_integer(d, name, 0, (1 << 15) - 2, MISSING));
        add(&d->derived->from, name, DERIVE_SUM, "n", NULL, 1);
    }
    OK(derive_check(d, &bad, NULL));
    OK(derive_new(&p, d));
    OK(densities_of(&even, d, NULL, NULL));
    assert_int_equal(derive_draw(p, row, NULL, true, &even, &r), ERR_NOMEM);
}

/* --- bytes ------------------------------------------------------------------------------------ */

TEST(a_domain_keeps_what_follows_from_what)
{
    struct domain *d CLEAN(domain_free) = make_domain(), *part CLEAN(domain_free) = NULL;
    struct bytes bytes CLEAN(bytes_clear) = {0};
    struct domain *back CLEAN(domain_free) = support_read_back(d, &bytes);
    for (size_t n = 0; n < bytes.size; n++) { /* whatever is altered, reading ends well */
        struct domain *altered = NULL;
        struct derive_plan *p = NULL;
        bytes.data[n] ^= 0x15;
        struct reader r = reader_of(bytes.data, bytes.size);
        if (domain_read(&altered, &r, NULL) == ERR_OK && altered->derived != NULL)
            (void)!derive_new(&p, altered);
        derive_free(&p);
        domain_free(&altered);
        bytes.data[n] ^= 0x15;
    }
    OK(domain_pick(&part, d, (const uint16_t[]){4, 5}, 2));
    assert_int_equal(part->derived->from.count, 1);
    assert_string_equal(part->derived->from.of[0].name, "region");
    domain_free(&part);
    OK(domain_pick(&part, d, (const uint16_t[]){0, 1}, 2));
    assert_null(part->derived);
}
