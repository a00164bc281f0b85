/* aim/table: CSV as people write it, its errors, and the way back. */
#include "harness/cmocka.h"

#include "aim/table/csv.h"
#include "aim/workload/tabulate.h"

struct table_place {
    char folder[32];
    char path[64];
};

static struct table_place place_new(const char *text, size_t n)
{
    struct table_place p = {.folder = "/tmp/trefoil-test-XXXXXX"};
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.path, sizeof p.path, "%s/t.csv", p.folder);
    FILE *f = fopen(p.path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return p;
}

static void place_free(const struct table_place *p)
{
    unlink(p->path);
    rmdir(p->folder);
}

static struct domain *three(void)
{
    static const char *const labels[] = {"red", "a, b", "say \"x\""};
    static const double edges[] = {0, 0.001, 1, 1e6};
    struct domain *d = MADE(domain, domain_new);
    assert_int_equal(domain_add_categorical(d, "colour", labels, 3, NULL, DOMAIN_REJECT, NULL), 0);
    assert_int_equal(domain_add_integer(d, "age", -1, 3, "", DOMAIN_REJECT, NULL), 0);
    assert_int_equal(domain_add_numeric(d, "dose", edges, 4, "NA", DOMAIN_REJECT, NULL), 0);
    return d;
}

static enum err read_text(struct table **t, const struct domain *d, const char *text, size_t n,
                          const struct table_csv_options *o, char *sink, size_t size)
{
    struct log log = {.buffer = sink, .buffer_size = size, .level = LOG_INFO};
    struct table_place p CLEAN(place_free) = place_new(text, n);
    sink[0] = '\0';
    return table_read_csv(t, d, p.path, o, &log);
}

TEST(nobody_has_more_rows_than_agreed)
{
    static const char text[] = "who,colour,age,dose\n" /* 1 */
                               "ann,red,1,NA\n"        /* 2 */
                               "bob,red,1,NA\n"        /* 3 */
                               "\n"                    /* 4 */
                               " ann ,red,2,NA\n"      /* 5 */
                               "\"ann\",red,3,NA\n"    /* 6 */
                               "Ann,red,1,NA\n"        /* 7 */
                               "bob,\"a, b\",1,NA\n";  /* 8 */
    static const char nobody[] = "colour,age,dose,who\nred,1,NA,ann\nred,1,NA,\n";
    static const char twice[] = "who,colour,age,dose,who\n";
    const struct {
        const char *person;
        size_t most;
        const char *said;
    } cases[] = {
        {"who", 3, NULL},
        {"who", 2, "t.csv: one person has 3 rows: lines 2, 5 and 6\n"},
        {"who", 2, "1 person has more than 2 rows"},
        {"who", 1, "one person has 2 rows: lines 3 and 8\n"},
        {"who", 1, "2 persons have more than 1 row,"},
        {"whom", 1, "t.csv:1: no column is named whom"},
        {"colour", 7, NULL},
        {"colour", 4,
         "5 rows: lines 2, 3, 5, 6 and 7\n"}, /* a column of the domain may say it too */
    };
    struct domain *d CLEAN(domain_free) = three();
    struct table *t;
    char sink[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_csv_options o = {
            .rows = {.person = cases[i].person, .per_person = cases[i].most}};
        enum err e = read_text(&t, d, text, sizeof text - 1, &o, sink, sizeof sink);
        assert_int_equal(e, cases[i].said == NULL ? ERR_OK : ERR_DATA);
        if (cases[i].said != NULL && strstr(sink, cases[i].said) == NULL)
            fail_msg("does not say \"%s\": %s", cases[i].said, sink);
        assert_null(strstr(sink, "ann")); /* nobody is named */
        assert_true(e != ERR_OK || t->rows == 6);
        table_free(&t);
    }
    {
        const struct table_csv_options o = {.rows = {.person = "who", .per_person = 9}};
        GIVES(read_text(&t, d, nobody, sizeof nobody - 1, &o, sink, sizeof sink), ERR_DATA, sink,
              "t.csv:3:4: who is empty");
        GIVES(read_text(&t, d, twice, sizeof twice - 1, &o, sink, sizeof sink), ERR_DATA, sink,
              "t.csv:1:5: column who is in the header twice");
    }
}

static size_t third(const void *row)
{
    return 3 * *(const size_t *)row;
}

static enum err give(struct rows *r, const char *const field[2], bool columns)
{
    for (size_t i = 0; i < 2; i++) {
        char text[16];
        snprintf(text, sizeof text, "%s", field[i]);
        TRY((columns ? rows_column : rows_field)(r, text, strlen(text)));
    }
    return rows_end(r);
}

/* A source other than a file numbers its rows as it likes, and may itself fail. */
TEST(rows_come_from_anywhere)
{
    static const char *const field[][2] = {
        {"who", "age"}, {"ann", " 1"}, {"bob ", "7"}, {"ann", ""}};
    const struct rows_options o = {.person = "who", .per_person = 1};
    for (int problem = 0; problem < 3; problem++) { /* with a person's rows, a value, the source */
        LOG_INTO(log, sink, LOG_INFO);
        size_t row = 0;
        const struct rows_source source = {
            .name = "view", .places = "places", .place = third, .of = &row, .correct = "the view"};
        struct table *t;
        struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
        assert_int_equal(domain_add_integer(d, "age", 0, problem == 1 ? 3 : 9, "", 0, NULL), 0);
        struct rows *r = MADE(rows, rows_begin, d, &o, &source, &log);
        OK(give(r, field[0], true));
        for (row = 1; row < 4; row++)
            OK(give(r, field[row], false));
        assert_int_equal(rows_finish(&r, problem == 2 ? ERR_SYSTEM : ERR_OK, &t),
                         problem == 2 ? ERR_SYSTEM : ERR_DATA);
        assert_null(t);
        assert_null(r);
        if (problem == 0)
            support_says(sink, "view: one person has 2 rows: places 3 and 9\n");
        if (problem == 1)
            support_says(sink, "view:6:2: age is '7'; it must be");
        assert_true(problem < 2 || sink[0] == '\0');
    }
}

TEST(files_as_people_write_them)
{
    static const char text[] = "\xef\xbb\xbf"
                               "dose,  age ,name,\"colour\",x\r\n"
                               "0.5 , -1,bob,red,1\r\n"
                               "NA,,\"Eve, the\nsecond\",\"a, b\",2\r\n"
                               "1000000,3,,\"say \"\"x\"\"\",3\r\n"
                               "\r\n\r\n\n";
    struct domain *d CLEAN(domain_free) = three();
    struct table *t CLEAN(table_free) = NULL;
    char sink[2000];
    OK(read_text(&t, d, text, sizeof text - 1, NULL, sink, sizeof sink));
    assert_int_equal(t->rows, 3);
    support_says(sink, "ignored: name, x");
    assert_int_equal(t->column[0][0], 0);
    assert_int_equal(t->column[1][0], 0);
    assert_int_equal(t->column[2][0], 1);
    assert_int_equal(t->column[0][1], 1);
    assert_int_equal(t->column[1][1], 5);
    assert_int_equal(t->column[2][1], 3);
    assert_int_equal(t->column[0][2], 2);
    assert_int_equal(t->column[1][2], 4);
    assert_int_equal(t->column[2][2], 2);
}

#define SAYS(text, error, expected)                                                                \
    do {                                                                                           \
        assert_int_equal(read_text(&t, d, text, sizeof text - 1, NULL, sink, sizeof sink), error); \
        assert_null(t);                                                                            \
        if (strstr(sink, expected) == NULL)                                                        \
            fail_msg("'%s' is not in: %s", expected, sink);                                        \
    } while (0)

TEST(errors_say_where_and_what)
{
    struct domain *d CLEAN(domain_free) = three();
    struct table *t;
    char sink[8000];
    SAYS("", ERR_DATA, "is empty");
    SAYS("colour,age\nred,1\n", ERR_DATA, "t.csv:1: no column is named dose");
    SAYS("colour,age,dose,age\n", ERR_DATA, "t.csv:1:4: column age is in the header twice");
    SAYS("colour,age,dose\nred,1,0.5\nred,1\n", ERR_DATA, "t.csv:3: the row has 2 fields");
    SAYS("colour,age,dose\nred,1,0.5,9\n", ERR_DATA, "t.csv:2: the row has 4 fields");
    SAYS("colour,age,dose\n\npink,1,0.5\n", ERR_DATA,
         "t.csv:3:1: colour is 'pink'; it must be one of 'red', 'a, b'");
    SAYS("colour,age,dose\nred,4,0.5\n", ERR_DATA,
         "t.csv:2:2: age is '4'; it must be a whole number from -1 to 3, or '' if missing");
    SAYS("colour,age,dose\nred,3,-0.5\n", ERR_DATA,
         "t.csv:2:3: dose is '-0.5'; it must be a number from 0 to 1e+06, or 'NA' if missing");
    SAYS("colour,age,dose\nred,3,1,5\nred,1.5,1\n", ERR_DATA, "t.csv:3:2: age is '1.5'");
    SAYS("colour,age,dose\nred,3,0\"5\n", ERR_DATA, "t.csv:2:3: a quote stands where");
    SAYS("colour,age,dose\nred,3,\"0.5", ERR_DATA, "t.csv:2:3: a quote stands where");
    SAYS("colour,age,dose\nred,3,0.5\n\"red,3,0.5\nred,3,0.5\n", ERR_DATA,
         "t.csv:3:1: a quote stands where none may be, or is not closed");
    SAYS("colour,age,dose\nred,3,\"0.5\nred,\"3\",0.5\n", ERR_DATA, "t.csv:2:3: a quote");
    SAYS("\xff\xfe"
         "c\0o\0",
         ERR_DATA, "UTF-16");
    SAYS("colour;age;dose\nred;3;0.5\n", ERR_DATA,
         "names none of them; add a header, or correct it or the delimiter (it seems to be ';')");
    SAYS("colour,age,dose\nred\0x,3,0.5\n", ERR_DATA, "t.csv:2:1: colour");
    SAYS("colour,age,dose\nr\xf6t,3,0.5\n", ERR_DATA, "colour is 'r?t' (not UTF-8 but Latin-1");
    SAYS("colour,age,dose\nr\x80t,3,0.5\n", ERR_DATA, "not UTF-8 but Windows-1252");
    SAYS("c\0o\0l\0o\0u\0r\0,\0", ERR_DATA, "is in UTF-16; save");
    SAYS("\xff\xfe\0\0c\0\0\0", ERR_DATA, "is in UTF-32; save");
    SAYS("PK\x03\x04rest", ERR_DATA, "is a spreadsheet or zip archive; save");
    SAYS("\x1f\x8b\x08rest", ERR_DATA, "is compressed by gzip; save");
    SAYS("colour;age;dose\n", ERR_DATA, "(it seems to be ';')");
    SAYS("colour,age,dose\nred,3,\"0,5\"\n", ERR_DATA, "(numbers have a decimal point here)");
    SAYS("colour,age,dose\nr\xc3\xb6t,3,0.5\n", ERR_DATA, "colour is 'r\xc3\xb6t'; it must");
    SAYS("colour,age,dose\n\033[2Jred,3,0.5\n", ERR_DATA, "colour is '?[2Jred'; it must");
    SAYS("colour,age,dose\n\xc2\x9b"
         "2Jred,3,0.5\n",
         ERR_DATA, "colour is '?2Jred'; it must");
    SAYS("colour,age,dose\n\xc2\xa0red,3,0.5\n", ERR_DATA, "colour is '\xc2\xa0red'; it must");
    SAYS("colour,age,dose\n"
         "0123456789012345678901234567890123456789012345678901234567890123456789"
         "0123456789012345678901234567890123456789,3,0.5\n",
         ERR_DATA, "8901...'; it must");
}

/*
 * With `clip` and `missing`, a column with a missing value takes every cell; its owner is told what
 * became of them.
 */
TEST(what_does_not_fit_is_taken_and_told)
{
    static const char *const labels[] = {"red", "blue"};
    static const double edges[] = {0, 1, 2};
    static const char text[] = "colour,age,dose,year\n"
                               "green,4,,2000\n"   /* missing, the nearest, missing, fits */
                               "red,-1,-7,1999\n"  /* fits, fits, the nearest, the nearest */
                               ",x,2.5,2001\n"     /* missing, missing, the nearest, fits */
                               "blue,99,0,2002\n"; /* fits, the nearest, fits, the nearest */
    static const uint16_t expected[4][4] = {{2, 0, 2, 1}, {4, 0, 5, 4}, {2, 0, 1, 0}, {0, 0, 1, 1}};
    char sink[2048];
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    assert_int_equal(domain_add_categorical(d, "colour", labels, 2, "?", DOMAIN_AS_MISSING, NULL),
                     0);
    assert_int_equal(domain_add_integer(d, "age", -1, 3, "?", DOMAIN_CLIP, NULL), 0);
    assert_int_equal(domain_add_numeric(d, "dose", edges, 3, "", DOMAIN_CLIP, NULL), 0);
    assert_int_equal(domain_add_integer(d, "year", 2000, 2001, NULL, DOMAIN_CLIP, NULL), 0);
    struct table *t = MADE(table, read_text, d, text, sizeof text - 1, NULL, sink, sizeof sink);
    assert_int_equal(t->rows, 4);
    for (size_t a = 0; a < 4; a++)
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(t->column[a][i], expected[a][i]);
    table_free(&t);
    EACH(support_says, sink,
         ":2:1: colour is 'green', which does not fit the study; it counts as missing (2 of 4 "
         "rows)\n",
         ":2:2: age is '4', which does not fit the study; it counts as the nearest (2 of 4 rows)\n",
         ":4:2: age is 'x', which does not fit the study; it counts as missing\n",
         ":3:3: dose is '-7', which does not fit the study; it counts as the nearest (2 of 4 "
         "rows)\n",
         ":3:4: year is '1999', which does not fit the study; it counts as the nearest (2 of 4 "
         "rows)\n");
    /* a column without a missing value has no place for what is not a number */
    GIVES(read_text(&t, d, "colour,age,dose,year\nred,1,1,x\n", 31, NULL, sink, sizeof sink),
          ERR_DATA, sink, ":2:4: year is 'x'; it must be a whole number from 2000 to 2001");
}

/* As written: clipped numbers count with the value in the file, missing ones do not count. */
TEST(numbers_are_summed_up)
{
    static const char text[] = "colour;age;dose\n"
                               "red;3;1,5\n"
                               "red;;2\n"
                               "red;-1;NA\n"
                               "red;1;0,5\n";
    struct rows_moments moments[3] = {{0}};
    struct table_csv_options o = {.delimiter = ';', .rows.decimal = ',', .rows.moments = moments};
    struct domain *d CLEAN(domain_free) = three();
    struct table *t CLEAN(table_free) = NULL;
    char sink[2000];
    OK(read_text(&t, d, text, sizeof text - 1, &o, sink, sizeof sink));
    assert_int_equal(moments[0].count, 0);
    assert_int_equal(moments[1].count, 3);
    assert_true(fabs(moments[1].mean - 1) < 1e-12);
    assert_true(fabs(moments[1].squares - 8) < 1e-12);
    assert_int_equal(moments[2].count, 3);
    assert_true(fabs(moments[2].mean - 4.0 / 3) < 1e-12);
}

/* Decimal steps, spikes and missing numbers: no digit too many, and the same codes again. */
TEST(multiples_are_written_as_people_write_them)
{
    static const double edges[] = {0, 0.3, 0.3, 1, 1.5};
    static const char *const zero[] = {"0"};
    struct table_place p CLEAN(place_free) = place_new("", 0);
    struct domain *d CLEAN(domain_free) = NULL;
    struct table *t CLEAN(table_free) = NULL, *back CLEAN(table_free) = NULL;
    char text[20], line[64];
    size_t lines = 0;
    OK(domain_new(&d));
    OK(domain_add_numeric(d, "x", edges, 5, "NA", DOMAIN_CLIP, NULL));
    OK(domain_set_missing(d, zero, 1, NULL));
    OK(domain_set_step(d, 0.1, false, NULL));
    OK(table_new(&t, d, 0));
    for (uint16_t i = 0; i < 500; i++)
        OK(table_append(t, (uint16_t[]){i % 5}));
    OK(table_write_csv(p.path, t, NULL, 7, NULL, NULL));
    OK(table_read_csv(&back, d, p.path, NULL, NULL));
    assert_memory_equal(t->column[0], back->column[0], t->rows * sizeof(uint16_t));
    FILE *f = fopen(p.path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (; fgets(line, sizeof line, f) != NULL; lines++) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, sizeof text, "%.1f", atof(line));
        assert_string_equal(line, lines % 5 == 4 ? "\"NA\"" : text);
        assert_true(lines % 5 != 1 || strcmp(line, "0.3") == 0);
        assert_true(lines % 5 != 0 || strcmp(line, "0.1") == 0 || strcmp(line, "0.2") == 0);
    }
    fclose(f);
    assert_int_equal(lines, 500);
}

TEST(only_the_first_problems_are_printed)
{
    struct domain *d CLEAN(domain_free) = three();
    struct table *t;
    char text[2000] = "colour,age,dose\n";
    char sink[8000];
    size_t lines = 0;
    for (int i = 0; i < 50; i++)
        strcat(text, "red,1\n");
    assert_int_equal(read_text(&t, d, text, strlen(text), NULL, sink, sizeof sink), ERR_DATA);
    for (const char *p = sink; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, ROWS_ERRORS_SHOWN + 1);
    support_says(sink, "30 more problems");
}

/* Values of one kind in a column have one line, however many there are. */
TEST(a_column_has_one_line_for_a_kind_of_mistake)
{
    struct domain *d CLEAN(domain_free) = three();
    struct table *t;
    char text[2000] = "colour,age,dose\nred,1,0.5\n", sink[2000];
    for (int i = 0; i < 50; i++)
        strcat(text, i % 2 == 0 ? "red,x,0.5\n" : "pink,2013-11-09,1\n");
    assert_int_equal(read_text(&t, d, text, strlen(text), NULL, sink, sizeof sink), ERR_DATA);
    assert_non_null(strstr(sink, "t.csv:4:1: colour is 'pink'; it must be one of 'red', 'a, b'"));
    support_says(sink, " (25 of 51 rows)\n");
    assert_non_null(strstr(sink,
                           "t.csv:3:2: age is 'x'; it must be a whole number from -1 to 3, or "
                           "'' if missing (50 of 51 rows)\n"));
    assert_string_equal(strchr(strchr(sink, '\n') + 1, '\n'), "\n");
}

TEST(a_header_in_another_case_is_named)
{
    static const char text[] = "Colour,AGE,dose,Patient_ID\nred,1,0.5,7\n";
    struct table_csv_options o = {.rows.per_person = 1};
    struct domain *d CLEAN(domain_free) = three();
    struct table *t;
    char sink[2000];
    assert_int_equal(read_text(&t, d, text, sizeof text - 1, &o, sink, sizeof sink), ERR_DATA);
    assert_non_null(strstr(sink, "no column is named colour; add it, or correct the header or "
                                 "delimiter (there is Colour: upper and lower case differ)"));
    support_says(sink, "(there is AGE: upper and lower case differ)");
    support_says(sink, "Patient_ID seems to say whose a row is: --person Patient_ID "
                       "checks that nobody has more than 1 row");
}

TEST(options_are_followed)
{
    static const char text[] = "colour\tage\tdose\nred\t\t1\nred\t1\t1";
    struct table_csv_options o = {.delimiter = '\t', .rows.max = 2};
    struct domain *d CLEAN(domain_free) = three();
    char sink[2000];
    struct table *t = MADE(table, read_text, d, text, sizeof text - 1, &o, sink, sizeof sink);
    assert_int_equal(t->rows, 2);
    assert_int_equal(t->column[1][0], 5);
    table_free(&t);
    o.rows.max = 1;
    assert_int_equal(read_text(&t, d, text, sizeof text - 1, &o, sink, sizeof sink), ERR_RANGE);
    assert_null(t);
}

/* --- files written at random, whose meaning is known */

static void put(char *text, size_t *n, const char *s)
{
    size_t size = strlen(s);
    memcpy(text + *n, s, size);
    *n += size;
}

/* One field: quoted or not, with spaces around it. */
static void put_field(char *text, size_t *n, const char *s, bool must, struct random *r)
{
    static const char *const space[] = {"", "", "", " ", "  ", "\t"};
    bool quoted = must || random_below(r, 4) == 0;
    put(text, n, space[random_below(r, 6)]);
    if (quoted)
        put(text, n, "\"");
    for (; *s != '\0'; s++) {
        char c[3] = {*s, *s == '"' ? '"' : '\0', '\0'};
        put(text, n, c);
    }
    if (quoted)
        put(text, n, "\"");
    put(text, n, space[random_below(r, 6)]);
}

TEST(random_files_read_as_they_were_meant)
{
    static const char *const colour[] = {"red", "a, b", "say \"x\""};
    static const char *const age[] = {"-1", "0", "1", "+2", "3.0", ""};
    static const char *const dose[] = {"0.0005", "0.5", "1e6", "NA"};
    static const char *const junk[] = {"", "x", "1,2", "two\nlines", "\"", "\xc3\xa9"};
    static const char *const name[] = {"colour", "age", "dose", "other"};
    static char text[200000];
    struct random r = random_of(4);
    for (int run = 0; run < 100; run++) {
        struct domain *d CLEAN(domain_free) = three();
        unsigned order[4] = {0, 1, 2, 3}, rows = (unsigned)random_below(&r, 200);
        const char *end = random_u64(&r) & 1 ? "\r\n" : "\n";
        uint16_t code[200][4];
        struct table *t CLEAN(table_free) = NULL;
        char sink[4000];
        size_t n = 0;
        for (unsigned i = 4; i > 1; i--) {
            unsigned k = (unsigned)random_below(&r, i), swap = order[i - 1];
            order[i - 1] = order[k];
            order[k] = swap;
        }
        if (random_u64(&r) & 1)
            put(text, &n, "\xef\xbb\xbf");
        for (unsigned i = 0; i < 4; i++) {
            put_field(text, &n, name[order[i]], false, &r);
            put(text, &n, i < 3 ? "," : end);
        }
        for (unsigned row = 0; row < rows; row++) {
            for (unsigned i = 0; i < 4; i++) {
                static const unsigned sizes[] = {3, 6, 4, 6};
                unsigned a = order[i], v = (unsigned)random_below(&r, sizes[a]);
                const char *s = a == 0 ? colour[v] : a == 1 ? age[v] : a == 2 ? dose[v] : junk[v];
                code[row][a] = (uint16_t)v;
                put_field(text, &n, s, strpbrk(s, ",\"\n") != NULL, &r);
                put(text, &n, i < 3 ? "," : row + 1 == rows && run % 3 == 0 ? "" : end);
            }
            if (random_below(&r, 20) == 0 && row + 1 < rows)
                put(text, &n, end); /* a blank line */
        }
        if (read_text(&t, d, text, n, NULL, sink, sizeof sink) != ERR_OK)
            fail_msg("run %d: %s", run, sink);
        assert_int_equal(t->rows, rows);
        for (unsigned row = 0; row < rows; row++)
            for (unsigned a = 0; a < 3; a++)
                assert_int_equal(t->column[a][row], code[row][a]);
    }
}

TEST(decimals_may_begin_with_a_comma)
{
    static const struct table_csv_options comma = {.delimiter = ';', .rows.decimal = ','};
    static const struct table_csv_options odd[] = {
        {.delimiter = 'a'}, {.delimiter = '.'}, {.delimiter = '"'}, {.rows.decimal = ';'}};
    static const char text[] = "colour;age;dose\na, b;3,0;0,0005\nred;;NA\nred;2;1e1\n";
    struct domain *d CLEAN(domain_free) = three();
    char sink[1000];
    struct table *t = MADE(table, read_text, d, text, sizeof text - 1, &comma, sink, sizeof sink);
    assert_int_equal(t->rows, 3);
    assert_int_equal(t->column[0][0], 1);
    assert_int_equal(t->column[1][0], 4);
    assert_int_equal(t->column[2][0], 0);
    assert_int_equal(t->column[1][1], 5);
    assert_int_equal(t->column[2][1], 3);
    assert_int_equal(t->column[2][2], 2);
    table_free(&t);
    assert_int_equal(
        read_text(&t, d, "colour;age;dose\nred;3;0.5\n", 27, &comma, sink, sizeof sink), ERR_DATA);
    assert_int_equal(
        read_text(&t, d, "colour;age;dose\nred;3;1,000,5\n", 31, &comma, sink, sizeof sink),
        ERR_DATA);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(read_text(&t, d, text, sizeof text - 1, &odd[i], sink, sizeof sink),
                         ERR_USAGE);
}

/* A value that is out of range is shown as the table has it, and its comma is not strange. */
TEST(a_decimal_comma_is_shown_as_it_stands)
{
    static const double edges[] = {0, 1};
    static const char out[] = "x\n1,5\n", other[] = "x\n0.5\n";
    struct rows_moments moments[1] = {{0}}, wrong[1] = {{0}};
    struct table_csv_options o = {.delimiter = ';', .rows = {.decimal = ',', .moments = moments}};
    struct domain *d CLEAN(domain_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    char sink[1000];
    OK(domain_new(&d));
    OK(domain_add_numeric(d, "x", edges, 2, "", DOMAIN_CLIP, NULL));
    OK(read_text(&t, d, out, sizeof out - 1, &o, sink, sizeof sink));
    support_says(sink, "t.csv:2:1: x is '1,5', which does not fit");
    assert_int_equal(moments[0].clipped, 1);
    assert_false(moments[0].strange);
    table_free(&t);
    o.rows.moments = wrong;
    OK(read_text(&t, d, other, sizeof other - 1, &o, sink, sizeof sink));
    support_says(sink, "t.csv:2:1: x is '0.5' (numbers have a decimal comma here)");
    assert_true(wrong[0].outside == 1 && wrong[0].strange);
}

/* Also in several pieces. */
TEST(what_is_written_reads_back)
{
    struct domain *d CLEAN(domain_free) = three();
    struct table_place p CLEAN(place_free) = place_new("", 0);
    static const struct csv_form form[] = {{',', '.', false}, {';', ',', true}};
    static const struct table_csv_options options[] = {
        {.delimiter = ','}, {.delimiter = ';', .rows = {.decimal = ','}}};
    OK(domain_add_integer(d, "a \"b\", c", 5, 5, NULL, DOMAIN_REJECT, NULL));
    struct random r = random_of(1);
    struct table *t CLEAN(table_free) = MADE(table, table_new, d, 0);
    for (int i = 0; i < 12000; i++) {
        uint16_t codes[4];
        for (int a = 0; a < 4; a++)
            codes[a] = (uint16_t)random_below(&r, d->attribute[a].size);
        OK(table_append(t, codes));
    }
    assert_int_equal(table_append(t, (uint16_t[]){3, 0, 0, 0}), ERR_DATA);
    for (int i = 0; i < 2; i++) {
        struct table *back CLEAN(table_free) = NULL;
        OK(table_write_csv(p.path, t, NULL, 7, &form[i], NULL));
        OK(table_read_csv(&back, d, p.path, &options[i], NULL));
        assert_int_equal(back->rows, t->rows);
        for (int a = 0; a < 4; a++)
            assert_memory_equal(t->column[a], back->column[a], t->rows * sizeof(uint16_t));
    }
}

TEST(a_lone_missing_value_is_not_a_blank_line)
{
    struct table_place p CLEAN(place_free) = place_new("", 0);
    struct domain *d CLEAN(domain_free) = NULL;
    struct table *t CLEAN(table_free) = NULL, *back CLEAN(table_free) = NULL;
    OK(domain_new(&d));
    OK(domain_add_integer(d, "age", 0, 3, "", DOMAIN_REJECT, NULL));
    OK(table_new(&t, d, 3));
    OK(table_append(t, (uint16_t[]){4}));
    OK(table_append(t, (uint16_t[]){0}));
    OK(table_write_csv(p.path, t, NULL, 7, NULL, NULL));
    OK(table_read_csv(&back, d, p.path, NULL, NULL));
    assert_int_equal(back->rows, 2);
    assert_int_equal(back->column[0][0], 4);
}

TEST(marginals_count_rows)
{
    static const struct clique c = {2, {0, 2}};
    struct domain *d CLEAN(domain_free) = three();
    int64_t cells[12];
    struct table *t CLEAN(table_free) = MADE(table, table_new, d, 0);
    OK(table_append(t, (uint16_t[]){1, 0, 3}));
    OK(table_append(t, (uint16_t[]){1, 5, 3}));
    OK(table_append(t, (uint16_t[]){2, 5, 0}));
    tabulate_marginal(t, &c, cells);
    for (int i = 0; i < 12; i++)
        assert_int_equal(cells[i], i == 7 ? 2 : i == 8 ? 1 : 0);
}
