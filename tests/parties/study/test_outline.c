/* parties/study/outline: columns from codebooks, headers, public rows and the words of a schema. */
#include "harness/cmocka.h"

#include "parties/study/outline.h"
#include "parties/study/study_text.h"

struct fixture {
    char folder[40], path[80], said[2048];
    struct log log;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return 1;
    strcpy(f->folder, "/tmp/trefoil-outline-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return 1;
    snprintf(f->path, sizeof f->path, "%s/t.csv", f->folder);
    f->log = (struct log){.buffer = f->said, .buffer_size = sizeof f->said, .level = LOG_WARN};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char study[80];
    snprintf(study, sizeof study, "%s/study.yaml", f->folder);
    unlink(study);
    unlink(f->path);
    if (rmdir(f->folder) != 0)
        return 1;
    free(f);
    return 0;
}

typedef enum err outline_reader(struct outline *o, const char *path, struct log *log);

/* The domain that is written, from its first column on. */
static void expect(struct fixture *f, outline_reader *read, const char *csv, const char *from,
                   const char *columns)
{
    struct outline o CLEAN(outline_clear) = {0};
    struct bytes out CLEAN(bytes_clear) = {0};
    OK(file_write(f->path, 0600, csv, strlen(csv), NULL));
    OK(read(&o, f->path, &f->log));
    assert_string_equal(o.from, from);
    outline_write(&o, &out);
    bytes_put_u8(&out, 0);
    const char *domain = strstr((const char *)out.data, "domain:\n");
    assert_non_null(domain);
    assert_string_equal(domain + strlen("domain:\n"), columns);
}

TEST(a_codebook_gives_columns)
{
    expect(*state, outline_codebook,
           "Name,Kind,Values or range,Missing,Label,Bins,Step\n"
           "patient,ID,,,,,\n"
           "age,integer,0-110,,Age in years,,\n"
           "few,integer,-3 to 3,,,,\n"
           "sex,,1=male|2=female,9,Sex,,\n"
           "bmi,Numeric,\"[10, 60.5]\",empty|NA,,6,0.1\n"
           "ward,factor,\"surgery|the \"\"old\"\", big ward|a\",none,,,\n"
           "icd,,file: icd10.txt,?,,,\n"
           "seen,date,2021-01-01 to 2021-12-31,,,,\nleft,datetime,,,,,\n"
           "weight,float,200-3,,,,\n"
           "group,categorical,,,,,\n"
           "odd,hyperreal,,,,,\n"
           "smoker,yesno,,,,,\n"
           "died,yesno,yes|no,,,,\n",
           "the codebook t.csv",
           "  # left out: patient, it says whose a row is (the key person in docs/study.md)\n"
           "  - name: age\n    # Age in years\n    kind: integer\n    min: 0\n    max: 110\n"
           "    bins: 10\n"
           "  - name: few\n    kind: integer\n    min: -3\n    max: 3\n"
           "  - name: sex\n    # Sex: 1=male|2=female\n    kind: categorical\n"
           "    values: [\"1\", \"2\"]\n    missing: [\"9\"]\n"
           "  - name: bmi\n    kind: numeric\n    min: 10\n    max: 60.5\n    bins: 6\n"
           "    step: 0.1\n    missing: [\"\", NA]\n"
           "  - name: ward\n    kind: categorical\n"
           "    values: [surgery, \"the \\\"old\\\", big ward\", a]\n"
           "  - name: icd\n    kind: categorical\n    values: {file: \"icd10.txt\"}\n"
           "    missing: [\"?\"]\n"
           "  - name: seen\n    kind: date\n    from: 2021-01-01\n    to: 2021-12-31\n"
           "    bins: month\n  - name: left\n    kind: date\n    from: FILL-IN\n    to: FILL-IN\n"
           "    bins: month\n"
           "  - name: weight\n    kind: numeric\n    min: FILL-IN\n    max: FILL-IN\n"
           "    bins: 10\n  - name: group\n    kind: categorical\n    values: FILL-IN\n"
           "  - name: odd\n    kind: FILL-IN\n"
           "  - name: smoker\n    # if rows have other words for yes and no, write those\n"
           "    kind: categorical\n    values: [\"1\", \"0\"]\n"
           "  - name: died\n    kind: categorical\n    values: [yes, no]\n\n");
}

TEST(a_data_dictionary_of_redcap_gives_columns)
{
    expect(*state, outline_codebook,
           "\"Variable / Field Name\",\"Form Name\",\"Field Type\",\"Field Label\",\"Choices, "
           "Calculations, OR Slider Labels\",\"Text Validation Type OR Show Slider Number\",\"Text "
           "Validation Min\",\"Text Validation Max\",Identifier?,\"Required Field?\"\n"
           "record_id,a,text,Id,,,,,,\n"
           "born,a,text,Born,,date_ymd,,,y,\n"
           "age,a,text,Age,,integer,0,18,,y\n"
           "sex,a,radio,Sex,\"1, Female | 2, Male, or other\",,,,,\n"
           "drug,a,checkbox,Drugs,\"1, Aspirin | -B, Statin\",,,,,\n"
           "bmi,a,calc,BMI,\"round([w]/[h]^2,1)\",,,,,\n"
           "pain,a,slider,,0 | 10,,,,,\n"
           "smokes,a,yesno,,,,,,,\n",
           "the REDCap data dictionary t.csv",
           "  # left out: record_id, free text\n"
           "  # left out: born, an identifier\n"
           "  - name: age\n    # Age\n    kind: integer\n    min: 0\n    max: 18\n"
           "  - name: sex\n    # Sex: 1, Female | 2, Male, or other\n    kind: categorical\n"
           "    values: [\"1\", \"2\"]\n    missing: [\"\"]\n"
           "  - name: drug___1\n    kind: categorical\n    values: [\"1\", \"0\"]\n"
           "  - name: drug____b\n    kind: categorical\n    values: [\"1\", \"0\"]\n"
           "  - name: bmi\n    # BMI\n    kind: numeric\n    min: FILL-IN\n    max: FILL-IN\n"
           "    bins: 10\n    missing: [\"\"]\n  - name: pain\n    kind: integer\n    min: 0\n"
           "    max: 100\n    bins: 10\n    missing: [\"\"]\n"
           "  - name: smokes\n    kind: categorical\n    values: [\"1\", \"0\"]\n"
           "    missing: [\"\"]\n\n");
}

/* Rows behind the header are not even CSV, and nothing of them is read. */
TEST(a_header_gives_names_alone)
{
    expect(*state, outline_header, "age,\"the sex\"\nsecret\"x,1\n",
           "no rows; only names and their order from the header of t.csv",
           "  - name: age\n    kind: FILL-IN\n  - name: \"the sex\"\n    kind: FILL-IN\n\n");
}

TEST(public_rows_give_kinds_and_values)
{
    struct bytes csv CLEAN(bytes_clear) = {0};
    char line[80];
    bytes_put_text(&csv, "age,sex,dose,grade,name\n");
    for (int i = 0; i < 60; i++) {
        snprintf(line, sizeof line, "%d,%s,%d.%d,%d,n%d\n", 20 + i, i % 7 == 0 ? "NA" : "f", i / 9,
                 i % 10, i % 3 - 1, i);
        bytes_put_text(&csv, line);
    }
    bytes_put_u8(&csv, 0);
    expect(*state, outline_rows, (const char *)csv.data, "published or invented rows, in t.csv",
           "  - name: age\n    kind: integer\n    min: 20\n    max: 79\n    bins: 10\n"
           "  - name: sex\n    kind: categorical\n    values: [f]\n    missing: [NA]\n"
           "  - name: dose\n    kind: numeric\n    min: 0\n    max: 7\n    bins: 10\n"
           "    step: 0.1\n"
           "  - name: grade\n    kind: integer\n    min: -1\n    max: 1\n"
           "  # left out: name, more than 50 different texts\n\n");
}

TEST(what_is_none_of_these_is_refused)
{
    static const struct {
        outline_reader *read;
        const char *csv, *words;
    } cases[] = {
        {outline_codebook, "age,sex\n1,f\n", "t.csv:1: the first line of a codebook names"},
        {outline_codebook, "name,kind\n", "t.csv names no column"},
        {outline_codebook, "", "t.csv names no column"},
        {outline_header, "", "t.csv is empty"},
        {outline_rows, "a,b\n1,2,3\n", "t.csv:2: the row has more fields than the header"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outline o CLEAN(outline_clear) = {0};
        f->said[0] = '\0';
        OK(file_write(f->path, 0600, cases[i].csv, strlen(cases[i].csv), NULL));
        assert_int_equal(cases[i].read(&o, f->path, &f->log), ERR_DATA);
        assert_non_null(strstr(f->said, cases[i].words));
    }
}

TEST(ranges_are_read)
{
    static const char *const none[] = {"",      "5",     "a-b",       "1,2",   "2013-01-01",
                                       "5-1",   "1|2|3", "[1, 2",     "1 to",  "-",
                                       "1-2-3", "1..",   "1-5 and 9", "[2, 1]"};
    static const struct {
        const char *text;
        double min, max;
    } some[] = {{"0-120", 0, 120},
                {"-5-10", -5, 10},
                {"-10 - -5", -10, -5},
                {"0..1.5", 0, 1.5},
                {"1 to 9", 1, 9},
                {"[0, 7]", 0, 7},
                {"1e2-1e3", 100, 1000},
                {"3\xe2\x80\x93"
                 "4",
                 3, 4}};
    double min, max;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(outline_range(none[i], false, &min, &max));
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        assert_true(outline_range(some[i].text, false, &min, &max));
        assert_true(min == some[i].min);
        assert_true(max == some[i].max);
    }
}

/* What a constraint says about whole numbers `a`, numbers `x` and texts `t`, as one line. */
static void clause_says(const char *clause, const char *expected)
{
    static const char *const names[] = {"a", "x", "t"};
    static const enum outline_kind kinds[] = {OUTLINE_WHOLE, OUTLINE_NUMBER, OUTLINE_UNKNOWN};
    struct outline o CLEAN(outline_clear) = {0};
    char said[256] = "";
    for (size_t i = 0; i < 3; i++) {
        struct outline_column *c = MADE_LAST(outline_column, outline_next, &o, names[i]);
        c->kind = kinds[i];
        outline_add(&c->missing, "");
    }
    outline_clause(&o, clause);
    for (size_t i = 0; i < 3; i++) {
        const struct outline_column *c = &o.column[i];
        const char *at = (const char *)c->values.text.data;
        size_t n = strlen(said);
        if (c->min == c->min || c->max == c->max)
            n += (size_t)snprintf(said + n, sizeof said - n, "%s %g %g;", c->name, c->min, c->max);
        for (size_t k = 0; k < c->values.count; k++, at += strlen(at) + 1)
            n += (size_t)snprintf(said + n, sizeof said - n, "%s=%s;", c->name, at);
        if (c->missing.count == 0)
            n += (size_t)snprintf(said + n, sizeof said - n, "%s!;", c->name);
        if (c->note[0] != '\0')
            snprintf(said + n, sizeof said - n, "%s:%s;", c->name, c->note);
    }
    assert_string_equal(said, expected);
}

TEST(constraints_are_read_as_engines_write_them)
{
    /* PostgreSQL */
    clause_says("CHECK (((a >= 0) AND (a < 111)))", "a 0 110;");
    clause_says("CHECK (((x > ('-1'::integer)::numeric) AND (x <= 2.5)))", "x -1 2.5;");
    clause_says("CHECK (((t)::text = ANY ((ARRAY['f'::character varying, 'm'::character "
                "varying])::text[])))",
                "t=f;t=m;");
    clause_says("CHECK ((a = ANY (ARRAY[1, 2, 5])))", "a=1;a=2;a=5;");
    clause_says("t NOT NULL", "t!;");
    clause_says("t IN ('it''s', 'b')", "t=it's;t=b;");
    clause_says("FOREIGN KEY (t) REFERENCES clinic.wards(code)", "t:wards(code);");
    clause_says("CHECK ((t <> ''::text))", "");
    clause_says("CHECK ((a < x))", "");
    /* SQLite and MariaDB */
    clause_says("\"t\" TEXT NOT NULL CHECK (t in ('a', 'b'))", "t=a;t=b;t!;");
    clause_says("`t` enum('a','b') NOT NULL DEFAULT 'a'", "t=a;t=b;t!;");
    clause_says("[x] real check (x between -1 and 60.5)", "x -1 60.5;");
    clause_says("a integer check (a = 1 or a = 2)", "a=1;a=2;");
    clause_says("a integer check (a not in (8, 9) and a > 0)", "a 1 nan;");
    clause_says("a integer primary key", "a:a primary key;");
    clause_says("PRIMARY KEY (a, t)", "a:a primary key;t:a primary key;");
    clause_says("t text REFERENCES wards", "t:wards(t);");
    clause_says("", "");
    clause_says("'", "");
    clause_says("a >=", "");
}

TEST(a_definition_is_taken_apart)
{
    struct outline o CLEAN(outline_clear) = {0};
    char text[] = "CREATE TABLE \"v, (w)\" (a integer, t text CHECK (t IN ('x, y', 'z)')), "
                  "CONSTRAINT n CHECK (a > 0 AND a <= 5))";
    struct outline_column *c = MADE_LAST(outline_column, outline_next, &o, "a");
    OK(outline_next(&o, "t", &c));
    o.column[0].kind = OUTLINE_WHOLE;
    outline_definition(&o, text);
    assert_true(o.column[0].min == 1);
    assert_true(o.column[0].max == 5);
    assert_true(outline_has(&o.column[1].values, "x, y"));
    assert_true(outline_has(&o.column[1].values, "z)"));
    assert_int_equal(o.column[1].values.count, 2);
}

/* From a codebook to a study without a key, which says where its columns came from. */
static void written_from_a_codebook(struct fixture *f, bool provider)
{
    static const char csv[] = "name,kind,values\nage,integer,0-99\nsex,,f|m\n";
    struct outline o CLEAN(outline_clear) = {0};
    char path[80];
    snprintf(path, sizeof path, "%s/study.yaml", f->folder);
    OK(file_write(f->path, 0600, csv, strlen(csv), NULL));
    OK(outline_codebook(&o, f->path, &f->log));
    OK(study_write_template(path, &o, provider, true, &f->log));
    struct study *s CLEAN(study_free) = MADE(study, study_load_draft, path, &f->log);
    assert_string_equal(s->columns_from, "the codebook t.csv");
    assert_int_equal(s->domain->attributes, 2);
    assert_int_equal(s->domain->attribute[0].values, 10);
    assert_int_equal(s->servers, provider ? 2 : 3);
    assert_int_equal(s->keyless, s->servers + 3);
}

TEST(a_study_is_written_from_a_codebook)
{
    written_from_a_codebook(*state, false);
    written_from_a_codebook(*state, true);
}

/* A study whose wards are these, from a file or listed. */
static enum err wards(struct fixture *f, const char *values, struct study **s)
{
    char path[80], text[400];
    snprintf(path, sizeof path, "%s/study.yaml", f->folder);
    snprintf(text, sizeof text,
             "study: x\ndomain:\n  - {name: ward, kind: categorical, values: %s}\n"
             "workload: {all: 1}\nbudget: {epsilon: 1, delta: 1e-6}\nrounds: 1\nservers:\n"
             "  - {name: a, endpoint: \"tcp://a:7100\"}\n  - {name: b, endpoint: "
             "\"tcp://b:7100\"}\n  - {name: c, endpoint: \"tcp://c:7100\"}\n"
             "owners: [{max_rows: 9}]\nanalysts: [{name: d}]\n",
             values);
    OK(file_write(path, 0600, text, strlen(text), NULL));
    f->said[0] = '\0';
    return study_load_draft(s, path, &f->log);
}

/* The lines of a file are values as if they were listed: the terms hold each of them. */
TEST(values_come_from_a_file)
{
    static const char lines[] = "surgery\r\n\n the ward \nA00";
    struct fixture *f = *state;
    struct study *listed CLEAN(study_free) = NULL, *read CLEAN(study_free) = NULL,
                         *other CLEAN(study_free) = NULL;
    OK(wards(f, "[surgery, the ward, A00]", &listed));
    OK(file_write(f->path, 0600, lines, strlen(lines), NULL));
    OK(wards(f, "{file: t.csv}", &read));
    assert_memory_equal(read->terms.digest, listed->terms.digest, 32);
    OK(file_write(f->path, 0600, "surgery\nthe ward\nA01", 20, NULL));
    OK(wards(f, "{file: t.csv}", &other));
    assert_memory_not_equal(other->terms.digest, listed->terms.digest, 32);
    study_free(&other);
    OK(file_write(f->path, 0600, "\n \n", 3, NULL));
    assert_int_equal(wards(f, "{file: t.csv}", &other), ERR_STUDY);
    assert_non_null(strstr(f->said, "t.csv has no value"));
    OK(file_write(f->path, 0600, "a\n\xff\n", 4, NULL));
    assert_int_equal(wards(f, "{file: t.csv}", &other), ERR_STUDY);
    assert_non_null(strstr(f->said, "line 2 of"));
    OK(file_write(f->path, 0600, "a\na\n", 4, NULL));
    assert_int_equal(wards(f, "{file: t.csv}", &other), ERR_STUDY);
    assert_non_null(strstr(f->said, "label 'a' is listed twice"));
}

int main(void)
{
    return support_run_each(setup, teardown);
}
