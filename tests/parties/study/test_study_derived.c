/*
 * parties/study/study_derive, study_book: what a study says of columns that follow from others, and
 * every mistake in it.
 */
#include "harness/cmocka.h"

#include "aim/table/derive.h"
#include "parties/study/study.h"

static const char places[] =
    "city,region,\"long name\"\nbonn,west,Bonn\nkiel,north,\"Kiel, Ost\"\n";

static const char good[] =
    "study: derived\n"
    "domain:\n"
    "  - {name: admitted, kind: date, from: 2021-01-01, to: 2021-03-31, bins: month}\n"
    "  - {name: weekday, kind: integer, min: 1, max: 7, missing: \"\", from: weekday(admitted)}\n"
    "  - {name: stay, kind: integer, edges: [0, 1, 7, 30], missing: \"\", from: left - admitted}\n"
    "  - {name: city, kind: categorical, values: {file: places.csv, column: city}, missing: NA}\n"
    "  - {name: region, kind: categorical, values: [north, west], missing: \"\",\n"
    "     from: 'lookup(city, \"places.csv\", region)'}\n"
    "  - {name: age, kind: integer, min: 0, max: 99, missing: NA, from: 'age(born, admitted)'}\n"
    "read:\n"
    "  - {name: born, kind: date, format: \"%d.%m.%Y\"}\n"
    "computed:\n"
    "  - {name: left, as: admitted + stay}\n"
    "  - {name: full, as: 'lookup(city, \"places.csv\", \"long name\")'}\n"
    "workload: {all: 2}\n"
    "budget: {epsilon: 1, delta: 1e-6}\n"
    "rounds: 3\n"
    "servers:\n"
    "  - {name: a, endpoint: \"tcp://a.example:7100\"}\n"
    "  - {name: b, endpoint: \"tcp://b.example:7100\"}\n"
    "  - {name: c, endpoint: \"tcp://c.example:7100\"}\n"
    "owners:\n"
    "  - {name: o, max_rows: 500}\n"
    "  - {name: p, max_rows: 500}\n"
    "analysts: [{name: z}]\n";

/* The study with `find` replaced, in a folder with this book; what it says if it is refused. */
static enum err load(const char *find, const char *replace, const char *book, struct study **study,
                     char words[2000])
{
    struct log log = {.buffer = words, .buffer_size = 2000, .level = LOG_ERROR};
    char folder[] = "/tmp/derived-XXXXXX", path[64], other[64];
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *at = strstr(good, find);
    words[0] = '\0';
    assert_non_null(mkdtemp(folder));
    assert_non_null(at);
    bytes_put(&text, good, (size_t)(at - good));
    bytes_put_text(&text, replace);
    bytes_put_text(&text, at + strlen(find));
    snprintf(path, sizeof path, "%s/study.yaml", folder);
    snprintf(other, sizeof other, "%s/places.csv", folder);
    OK(file_write(path, 0600, text.data, text.size, NULL));
    OK(file_write(other, 0600, book, strlen(book), NULL));
    enum err e = study_load_draft(study, path, &log);
    unlink(path);
    unlink(other);
    rmdir(folder);
    return e;
}

TEST(a_study_says_what_follows_from_what)
{
    struct study *s CLEAN(study_free) = NULL;
    char words[2000];
    /* a table with a Sunday would be refused: no cell has one */
    if (load("max: 7, missing", "max: 6, outside: error, missing", places, &s, words) != ERR_OK)
        fail_msg("%s", words);
    const struct derives *d = s->domain->derived;
    assert_int_equal(d->from.count, 4);
    assert_int_equal(d->computed.count, 2);
    assert_int_equal(d->read.count, 2); /* born, and left as it is computed */
    assert_string_equal(d->read.of[1].name, "left");
    assert_int_equal(d->read.of[1].type, DERIVE_DATE);
    assert_int_equal(d->from.of[2].keys, 2);
    assert_string_equal(d->computed.of[1].value[1], "Kiel, Ost");
    assert_int_equal(s->domain->attribute[3].values, 2);
    assert_int_equal(s->zeros, 2); /* stay and age follow from columns that are not measured */
    for (size_t k = 0; k < 2; k++) {
        const struct workload_zeros *z = &s->zero[k];
        if (z->clique.attribute[0] == 0)
            assert_int_equal(z->cells, 3); /* no month without a weekday */
        else
            assert_int_equal(z->cells, 3 * 3 - 3); /* bonn west, kiel north, none none */
    }
}

/* Only the columns that are used matter, in the file's order; comments and others do not. */
TEST(terms_have_what_is_used_of_a_book)
{
    static const char other[] = "city,region,\"long name\",more\n"
                                "bonn,west,Bonn,1\nkiel,north,\"Kiel, Ost\",2\n";
    static const char turned[] = "city,region,\"long name\"\nkiel,north,\"Kiel, Ost\"\n"
                                 "bonn,west,Bonn\n";
    static const char moved[] = "city,region,\"long name\"\nbonn,west,Bonn\n"
                                "kiel,west,\"Kiel, Ost\"\n";
    const char *const books[] = {other, turned, moved};
    for (size_t i = 0; i < 3; i++) {
        struct study *s CLEAN(study_free) = NULL, *t CLEAN(study_free) = NULL;
        char words[2000];
        bool same;
        OK(load("study: derived", "study: derived", places, &s, words));
        OK(load("study: derived", "study: derived", books[i], &t, words));
        OK(domain_compare(s->domain, t->domain, &same));
        assert_int_equal(same, i == 0);
    }
}

#define AGE "from: 'age(born, admitted)'"
#define LEFT "as: admitted + stay"
static const struct {
    const char *find, *replace, *words;
} mistakes[] = {
    {AGE, "from: age(born, admitted", "the key is no mapping"},
    {AGE, "from: \"age(born)\"", ", should stand before or after"},
    {AGE, "from: \"age(city, admitted)\"", "age: city has no dates"},
    {AGE, "from: \"days(born)\"", "there are year, quarter, month"},
    {AGE, "from: \"hour(born)\"", "born has days, without hours"},
    {AGE, "from: \"admitted - birth\"", "there is no column birth; name one of the domain"},
    {AGE, "from: admitted + born", "dates can be subtracted"},
    {AGE, "from: admitted + 3", "age would be a date"},
    {AGE, "from: city - 3", "city has texts"},
    {AGE, "from: admitted - 1.5", "should be whole"},
    {AGE, "from: admitted - - 3", "name a column here"},
    {AGE, "from: stay - 1125899906842624 - 1", "more than 2^50"},
    {AGE, "from: admitted * 2", "should end before that"},
    {AGE, "from: stay - stay - stay - stay - stay", "more than 4 columns"},
    {AGE, "from: age - 1", "there is no column age"},
    {AGE, "from: 'lookup(city, \"no.csv\", region)'", "there is no no.csv beside the study file"},
    {AGE, "from: 'lookup(city, \"places.csv\", state)'", "places.csv has no column state"},
    {AGE, "from: 'lookup(city, places.csv, region)'", "name in quotes"},
    {"from: weekday(admitted)", "from: age - 3", "age follows from others, too; list it before"},
    {"missing: \"\", from: weekday(admitted)", "from: weekday(admitted)", "add \"missing\""},
    {LEFT, "as: admitted - born", "there is no column born, in the domain or computed"},
    {LEFT, "as: full", "there is no column full"},
    {"name: full", "name: left", "there is a column left already"},
    {"name: full", "name: city", "there is a column city already"},
    {"{name: born, kind: date", "{name: born, kind: integer", "for dates alone"},
    {"{name: born, kind: date", "{name: city, kind: date", "is in the domain, and read anyway"},
    {"rounds: 3", "method: copula", "cannot keep columns of which one follows from the other"},
    {"column: city}", "column: town}", "places.csv has no column town"},
};

TEST(every_mistake_is_told)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct study *s CLEAN(study_free) = NULL;
        char words[2000];
        const enum err e = load(mistakes[i].find, mistakes[i].replace, places, &s, words);
        if (i == 0 ? e == ERR_STUDY : e == ERR_STUDY && strstr(words, mistakes[i].words) != NULL)
            continue;
        print_error("%s: %s\n", mistakes[i].replace, words);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

TEST(books_have_each_key_once)
{
    static const char *const books[][2] = {
        {"city,region,\"long name\"\nbonn,west,Bonn\nbonn,north,B\n", "twice"},
        {"city,region,\"long name\"\nbonn,west\n", "field too few"},
        {"city,region,\"long name\"\n", "no rows"},
    };
    for (size_t i = 0; i < 3; i++) {
        struct study *s CLEAN(study_free) = NULL;
        char words[2000];
        assert_int_equal(load("study: derived", "study: derived", books[i][0], &s, words),
                         ERR_STUDY);
        if (strstr(words, books[i][1]) == NULL)
            fail_msg("%s", words);
    }
}

/* A batch's owners: what a column follows from is where it is. */
TEST(an_owner_of_a_batch_holds_both)
{
    static const char owners[] = "  - {name: o, max_rows: 500}\n  - {name: p, max_rows: 500}\n";
    struct study *s CLEAN(study_free) = NULL;
    char words[2000];
    assert_int_equal(load(owners,
                          "  - {name: o, max_rows: 500, batch: x, columns: [admitted, weekday, "
                          "stay, city]}\n"
                          "  - {name: p, max_rows: 500, batch: x, columns: [region, age]}\n",
                          places, &s, words),
                     ERR_STUDY);
    assert_non_null(strstr(words, "region follows from city, so one owner of a batch must hold"));
    if (load(owners,
             "  - {name: o, max_rows: 500, batch: x, columns: [admitted, weekday, stay, age]}\n"
             "  - {name: p, max_rows: 500, batch: x, columns: [region, city]}\n",
             places, &s, words) != ERR_OK)
        fail_msg("%s", words);
}
