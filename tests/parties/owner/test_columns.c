/*
 * What owners are told about their columns before they send anything (parties/owner/columns.c), and
 * how far the reading of a table has got (parties/display/progress.c).
 */
#include "harness/cmocka.h"

#include "harness/study.h"
#include "parties/display/progress.h"
#include "parties/owner/columns.h"
#include "parties/setting/upload.h"
#include "tests/support/command.h"

#include <fcntl.h>

static const char domain[] =
    "domain:\n"
    "  - {name: sex, kind: categorical, values: [f, m, x], missing: \"\"}\n"
    "  - {name: age, kind: integer, min: 0, max: 9, missing: [\"\", \"-5\"]}\n"
    "  - {name: dose, kind: numeric, edges: [0, 1, 2.5, 30], missing: NA, outside: missing}\n"
    "  - {name: \"a column of quite a long name\", kind: categorical, values: [\"0\", \"1\"]}\n"
    "  - {name: one, kind: categorical, values: [only]}\n";

static char logged[4096];

struct columns_scene {
    struct support_study s;
    struct source source;
    struct log log;
    char *text;
};

static void scene_free(struct columns_scene *c)
{
    source_clear(&c->source);
    support_study_free(&c->s);
    free(c->text);
}

/* Loads a table of this many rows, each given by its number, and has its columns printed. */
static struct columns_scene scene_of(const char *columns, const char *header, unsigned rows,
                                     void (*put)(struct bytes *csv, unsigned row))
{
    struct bytes csv CLEAN(bytes_clear) = {0};
    struct source_options from = {.look = true};
    size_t size;
    struct columns_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_WARN}};
    logged[0] = '\0';
    c.s = STUDY(&c.log, .domain = columns);
    bytes_put_text(&csv, header);
    for (unsigned i = 0; i < rows; i++)
        put(&csv, i);
    from.csv = support_path(&c.s, "t.csv");
    OK(file_write(from.csv, 0600, csv.data, csv.size, NULL));
    OK(source_load(&c.source, c.s.study, 0, UPLOAD_RECORDS, &from, &c.log));
    logged[0] = '\0';
    FILE *out = open_memstream(&c.text, &size);
    assert_non_null(out);
    OK(columns_print(out, &c.source, c.s.study->workload, &c.log));
    assert_int_equal(fclose(out), 0);
    return c;
}

static struct columns_scene scene_new(unsigned rows, void (*put)(struct bytes *csv, unsigned row))
{
    return scene_of(domain, "sex,age,dose,a column of quite a long name,one\n", rows, put);
}

static void mixed(struct bytes *csv, unsigned row)
{
    static const char *const age[] = {"3", "-5", "12", "-2", "x", "", "3.0", "1e0"};
    static const char *const dose[] = {"NA", "0.25", "99.5", "-4", "y", "0", "0.5", "29"};
    text_put(csv, "%s,%s,%s,%u,only\n", row % 4 == 0 ? "z" : "f", age[row % 8], dose[row % 8],
             row % 2);
}

TEST(each_column_has_a_line)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(80, mixed);
    support_says(c.text, "never sent");
    support_says(
        c.text,
        "column                rows  missing  clipped  outside   unseen    least  largest\n"
        "sex                     60        0        0       20      2/3        -        -\n"
        "age                     50       20       20       10     6/10       -2       12\n"
        "dose                    40       10        0       30      1/3       -4     99.5\n"
        "a column of qu..        80        0        0        0      0/2        -        -\n"
        "one                     80        0        0        0      0/1        -        -\n");
    for (const char *line = c.text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_null(strstr(c.text, "not known"));
    support_says(logged, "t.csv: sex is 'f' in 100.0 % of the rows that have a value");
    support_says(logged, "age counts as missing in 37.5 % of the rows");
    support_says(logged, "dose counts as missing in 50.0 % of the rows");
    assert_null(strstr(logged, "sex counts"));
    assert_null(strstr(logged, "clipped"));
    assert_int_equal(c.source.doubts, 2);
}

static void odd(struct bytes *csv, unsigned row)
{
    text_put(csv, "%s,%u,%s,%u,only\n",
             row < 33       ? ""
             : row % 2 == 0 ? "f"
                            : "m",
             row + 39,
             row == 7   ? "3"
             : row < 67 ? "2.25"
                        : "NA",
             row == 0);
}

TEST(odd_columns_are_warned_of)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(100, odd);
    EACH(support_says, logged, "a column of quite a long name is '0' in 99.0 % of the rows",
         "age is clipped in 100.0 % of the rows", "age is 9 in 100.0 % of the rows");
    assert_null(strstr(logged, "sex"));
    assert_null(strstr(logged, "dose"));  /* 33 of 100 are missing; 66 of 67 are in one bin */
    assert_int_equal(c.source.doubts, 1); /* a column may well be constant */
    assert_null(strstr(logged, ": one"));
}

static void missing(struct bytes *csv, unsigned row)
{
    text_put(csv, "%s,%u,%s,0,only\n", row < 10 ? "F" : "f", row % 2, row < 49 ? "2.25" : "NA");
}

TEST(mostly_missing_columns_are_warned_of)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(100, missing);
    support_says(logged, "dose counts as missing in 51.0 % of the rows");
    assert_int_equal(c.source.doubts, 1);
    support_says(logged, "dose lies from 1 to 2.5 in 100.0 % of the rows");
    assert_null(strstr(logged, "age"));
}

static void nothing(struct bytes *csv, unsigned row)
{
}

static void comma(struct bytes *csv, unsigned row)
{
    text_put(csv, "f,%u,%s,%u,only\n", row % 9, row == 11 ? "\"0,5\"" : "0.5", row % 2);
}

/* One value with another decimal sign is enough; so is an impossible row, or none at all. */
TEST(what_seems_wrong_is_sent_only_if_accepted)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(60, comma);
    assert_int_equal(c.source.doubts, 1);
    assert_int_equal(columns_accept(&c.source, false, &c.log), ERR_DATA);
    support_says(logged, "nothing was sent: correct what the warnings above name");
    OK(columns_accept(&c.source, true, &c.log));
}

/* What an owner who types this on a terminal has sent, or not. */
static enum err answered(struct source *s, const char *keys, struct log *log)
{
    const int kept[2] = {dup(STDIN_FILENO), dup(STDERR_FILENO)};
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int owner = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(owner >= 0);
    assert_int_equal(write(terminal, keys, strlen(keys)), strlen(keys));
    assert_true(dup2(owner, STDIN_FILENO) >= 0 && dup2(owner, STDERR_FILENO) >= 0);
    enum err e = columns_accept(s, false, log);
    fflush(stdin);
    assert_true(dup2(kept[0], STDIN_FILENO) >= 0 && dup2(kept[1], STDERR_FILENO) >= 0);
    close(kept[0]);
    close(kept[1]);
    close(owner);
    close(terminal);
    return e;
}

TEST(on_a_terminal_the_owner_is_asked)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(60, comma);
    assert_int_equal(answered(&c.source, "n\n", &c.log), ERR_DATA);
    OK(answered(&c.source, "y\n", &c.log));
    assert_int_equal(answered(&c.source, "\n", &c.log), ERR_DATA);
    c.source.doubts = 0;
    OK(answered(&c.source, "n\n", &c.log));
}

static void few(struct bytes *csv, unsigned row)
{
    text_put(csv, "f,12,NA,%u,only\n", row % 2);
}

/* Of a few rows, such as those of one person, shares say nothing. */
TEST(a_few_rows_are_not_judged)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(19, few);
    assert_int_equal(c.source.doubts, 0);
    OK(columns_accept(&c.source, false, &c.log));
}

TEST(an_empty_table_is_not_warned_of_again)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(0, nothing);
    support_says(
        c.text,
        "age                      0        0        0        0    10/10        -        -\n");
    assert_string_equal(logged, "");
}

/* --- how far reading is ----------------------------------------------------------------------- */

struct heard {
    size_t calls, rows;
    double part;
};

static void tell(void *self, const char *source, size_t rows, double part)
{
    struct heard *t = self;
    support_says(source, "t.csv");
    assert_true(rows > t->rows && part >= t->part && part <= 1);
    *t = (struct heard){t->calls + 1, rows, part};
}

TEST(reading_tells_how_far_it_is)
{
    struct columns_scene c CLEAN(scene_free) = scene_new(0, nothing);
    struct heard t = {0};
    struct table_csv_options o = {.rows = {.tell = tell, .self = &t}};
    struct table *table CLEAN(table_free) = NULL;
    struct bytes csv CLEAN(bytes_clear) = {0};
    bytes_put_text(&csv, "sex,age,dose,a column of quite a long name,one\n");
    for (unsigned i = 0; i < 20000; i++)
        mixed(&csv, i);
    OK(file_write(support_path(&c.s, "t.csv"), 0600, csv.data, csv.size, NULL));
    OK(table_read_csv(&table, c.s.study->domain, support_path(&c.s, "t.csv"), &o, NULL));
    assert_int_equal(t.calls, 4);
    assert_int_equal(t.rows, 16384);
    assert_true(t.part > 0.7 && t.part < 1);
}

TEST(a_terminal_shows_how_far_reading_is)
{
    struct log log = {0};
    struct progress_reading r = {.log = &log};
    char *text CLEAN(memory_release) = NULL;
    size_t size = 0;
    r.progress = (struct progress){.out = open_memstream(&text, &size), .columns = 40};
    assert_non_null(r.progress.out);
    progress_attach(&r.progress, &log);
    progress_rows(&r, "a.csv", 4096, 0.519);
    r.progress.told = 0;
    progress_rows(&r, "a file of a name that is longer than a line", 8192, NAN);
    progress_reading_end(&r);
    assert_null(log.before);
    fclose(r.progress.out);
    assert_string_equal(text, "4096 rows, 51 %, are read of a.csv\r\033[K"
                              "8192 rows are read of a file of a name \r\033[K");
}

/* Without a terminal nothing is shown, and nobody asks. */
TEST(a_pipe_is_left_alone)
{
    struct log log = {0};
    struct progress_reading r;
    struct rows_options rows = {0};
    int kept = dup(STDERR_FILENO), pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
    progress_reading_begin(&r, &rows, &log);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    assert_null(rows.tell);
    assert_null(log.before);
    progress_reading_end(&r);
    close(kept);
    close(pipes[0]);
    close(pipes[1]);
}

static void dated(struct bytes *csv, unsigned row)
{
    text_put(csv, "%02u/03/2021,%u,f\n", row % 12 + 1, row % 2);
}

static void misdated(struct bytes *csv, unsigned row)
{
    text_put(csv, row < 2 ? "03-%02u-21,%u,m\n" : "%02u/03/2021,%u,f\n", row % 12 + 1, row % 2);
}

/* 01/03/2021 does not show which is the month, so dates are in words. */
TEST(dates_are_in_words)
{
    static const char columns[] = "domain:\n"
                                  "  - {name: seen, kind: date, from: 2021-01-01, to: 2021-12-31, "
                                  "bins: month, format: \"%d/%m/%Y\", missing: \"\"}\n"
                                  "  - {name: one, kind: integer, min: 0, max: 1}\n"
                                  "  - {name: sex, kind: categorical, values: [f, m]}\n";
    struct columns_scene c CLEAN(scene_free) = scene_of(columns, "seen,one,sex\n", 100, dated);
    support_says(c.text, "seen: from 1 March 2021 to 12 March 2021\n  01/03/2021 is 1 March 2021\n"
                         "  02/03/2021 is 2 March 2021\n  03/03/2021 is 3 March 2021\n");
    assert_null(strstr(logged, "no date of the study"));
    struct columns_scene other CLEAN(scene_free) = scene_of(columns, "seen,one,sex\n", 100,
                                                            misdated);
    support_says(logged, "seen is no date of the study in 2.0 % of the rows; does its "
                         "`format` fit how this table writes dates?");
}
