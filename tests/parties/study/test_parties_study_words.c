/* parties/study: a study in words; and the demo's data. */
#include "tests/support/parse.h"

#include "aim/table/csv.h"
#include "parties/command/demo_data.h"
#include "parties/study/study_text.h"

/* --- words ------------------------------------------------------------------------------------ */

static char *description(const struct study *s, const struct public_identity *me)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    study_describe(out, s, me);
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(the_description_says_what_matters)
{
    static const char *const said[] = {
        "(1, 1e-06)-differential privacy",
        "j^2 rho",
        "charged as 4 rho",
        "Any two servers that collude",
        "(security: semi-honest). One that does\n  not could falsify results",
        "add up",
        "50 cells",
        "at most 2 rows",
        "as counts",
        "uploads 57 bytes",
    };
    struct parse_fixture *f = *state;
    char *text CLEAN(memory_release) = description(f->base, NULL);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(text, said[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", said[i], text);
    support_says(text, study_fingerprint(f->base).text);
    assert_null(strstr(text, "You are"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 100);
}

/* Steps, spikes, tails and texts of missing values in words, and the advice of check about bins. */
TEST(bins_are_described_and_judged)
{
    static const struct {
        const char *find, *replace, *says, *suggests;
    } cases[] = {
        {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3]", "0 to 3 in 2 bins;", NULL},
        {"edges: [0, 1.5, 3]", "edges: [0, 1, 2, 10]", "0 to 10 in 3 bins;",
         "  bmi: the bin from 2 to 10 is 8 times as wide as others; add edges,\n    say tail: exp"},
        {"edges: [0, 1.5, 3]", "edges: [0, 1, 2, 10]\n    tail: {typical: 3}",
         "in 3 bins; 3 on average in the last bin;", "  bmi: rows will have numbers with any"},
        {"edges: [0, 1.5, 3]", "edges: [0, 1, 2, 10]\n    tail: exponential\n    step: 0.5",
         "multiples of 0.5; an exponential tail;", NULL},
        {"edges: [0, 1.5, 3]", "edges: [0, 8, 9, 10, 12]\n    step: 1\n    spikes: [0, 12]",
         "0 to 12 in 4 bins; 0, 12 apart; multiples of 1;",
         "  bmi: the bin from 0 to 8 is 8 times as wide as others; add edges,\n    and spikes"},
        {"    max: 9", "    max: 9\n    bins: 2", "whole numbers 0 to 9 in 2 bins;", NULL},
        {"missing: \"?\"", "missing: [\"?\", NA, \"\"]",
         "or missing (\"?\"; also read: \"NA\", \"\");", NULL},
        {"values: [a, b, c]",
         "values: ["
         "a, b, c, d00, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, "
         "d12, d13, d14, d15, d16, d17, d18, d19, d20, d21, d22, d23, d24, d25, "
         "d26, d27, d28, d29, d30, d31, d32, d33, d34, d35, d36, d37, d38, d39, "
         "d40, d41, d42, d43, d44, d45, d46, d47"
         "]",
         "51 values", "ward has 51 values, of which those with few rows"},
    };
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study *s CLEAN(study_free) = NULL;
        char *text, *suggested = NULL;
        size_t n;
        FILE *out = open_memstream(&suggested, &n);
        OK(parse_edit(f, cases[i].find, cases[i].replace, &s));
        text = description(s, NULL);
        if (strstr(text, cases[i].says) == NULL)
            fail_msg("does not say \"%s\":\n%s", cases[i].says, text);
        free(text);
        OK(study_suggest(out, s));
        fclose(out);
        if (cases[i].suggests != NULL && strstr(suggested, cases[i].suggests) == NULL)
            fail_msg("does not suggest \"%s\":\n%s", cases[i].suggests, suggested);
        if (cases[i].suggests == NULL)
            assert_null(strstr(suggested, "bmi"));
        free(suggested);
    }
}

/* What the base file does not have. */
TEST(what_may_be_said_besides)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    OK(parse_edit(f, "rounds: 4\n",
                  "rounds: annealed\nscore: l2\nlate_uploads: join\n"
                  "security: abort\n"
                  "impossible: [{age: [1, 2], ward: a}]\n",
                  &s));
    char *text CLEAN(memory_release) = description(s, NULL);
    support_says(text, "Impossible, by public knowledge");
    support_says(text, "  age x ward: 2 of 40 combinations\n");
    support_says(text, "Then it chooses and\n  measures at most 64 more,");
    support_says(text, "the one with the largest sum of squared errors");
    assert_non_null(
        strstr(text, "(security: abort). If one departs\n  from the protocol, the run"));
    assert_null(strstr(text, "ranks"));
    assert_non_null(
        strstr(text, "Rows that come while a run is on are counted from its next round"));
}

TEST(a_servers_other_machines_are_described)
{
    struct study *s CLEAN(study_free) = NULL;
    OK(parse_edit(*state, "tcp://here:7100", "tcp://here:7100, ranks: [calc1, calc2]", &s));
    char *text CLEAN(memory_release) = description(s, NULL);
    support_says(text, "ranks calc1, calc2\n");
}

TEST(columns_are_described)
{
    static const char *const said[] = {
        "columns age, ward; the others at o1", "columns bmi, dose; the others at o0",
        "Each of them must have 400 rows.", "row i of one belongs to row i of the others",
        "at least 1 of these 2"};
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = edited(
        base_text, "{name: o0, max_rows: 500",
        "{name: o0, batch: x, columns: [age, ward], rows: 400, max_rows: 500");
    struct bytes c CLEAN(bytes_clear) = edited(
        (const char *)b.data, "{name: o1, max_rows: 300",
        "{name: o1, batch: x, columns: [bmi, dose], rows: 400, max_rows: 500");
    struct bytes d CLEAN(bytes_clear) = edited((const char *)c.data, "rounds: 4",
                                               "rounds: 4\nmin_owners: 1");
    struct study *s CLEAN(study_free) = MADE_LAST(study, parse_text, f, (const char *)d.data);
    char *text CLEAN(memory_release) = description(s, NULL);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(text, said[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", said[i], text);
}

TEST(the_reader_is_told_their_part)
{
    static const struct {
        int key;
        const char *said;
    } cases[] = {{1, "You are server 1, s1"},
                 {4, "You are the owner o1"},
                 {5, "You are the analyst a0"},
                 {9, "no part in this study"}};
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = description(f->base, &f->identity[cases[i].key]->public);
        support_says(text, cases[i].said);
        free(text);
    }
}

/* --- the demo's data -------------------------------------------------------------------------- */

/* The smallest study around the demo's domain. */
static struct study *demo_study(struct parse_fixture *f)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *rest = strstr(base_text, "budget:");
    struct study *s;
    bytes_put(&text, "study: demo\nworkload: {all: 2}\n", 31);
    bytes_put(&text, demo_data_domain_yaml(), strlen(demo_data_domain_yaml()));
    bytes_put(&text, rest, strlen(rest) + 1);
    if (parse_text(f, (const char *)text.data, &s) != ERR_OK)
        fail_msg("%s", f->sink);
    return s;
}

/* The domain of a hospital's columns. */
static void columns_of(const struct study *s, const struct demo_hospital *h,
                       struct domain **columns)
{
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    size_t count = 0;
    for (uint16_t a = 0; a < s->domain->attributes; a++)
        if (h->columns == NULL || strstr(h->columns, s->domain->attribute[a].name) != NULL)
            attribute[count++] = a;
    OK(domain_pick(columns, s->domain, attribute, count));
}

TEST(the_demos_data_fit_its_domain)
{
    struct parse_fixture *f = *state;
    char folder[] = "/tmp/trefoil-demo-XXXXXX";
    struct study *s CLEAN(study_free) = demo_study(f);
    assert_non_null(mkdtemp(folder));
    OK(demo_data_write(folder, DEMO_HOSPITALS, DEMO_SEED, &f->log));
    for (size_t i = 0; i < DEMO_HOSPITALS; i++) {
        const struct demo_hospital *h = &demo_hospitals[i];
        struct domain *columns CLEAN(domain_free) = NULL;
        struct table *t CLEAN(table_free) = NULL;
        char path[128];
        snprintf(path, sizeof path, "%s/%s.csv", folder, h->name);
        columns_of(s, h, &columns);
        if (table_read_csv(&t, columns, path, NULL, &f->log) != ERR_OK)
            fail_msg("%s", f->sink);
        assert_int_equal(t->rows, h->rows);
        assert_true(h->rows <= h->max_rows);
        unlink(path);
    }
    rmdir(folder);
}

TEST(the_demos_data_need_a_folder)
{
    struct parse_fixture *f = *state;
    char folder[FILE_PATH] = "/";
    GIVES(demo_data_write("/nowhere/demo", DEMO_HOSPITALS, DEMO_SEED, &f->log), ERR_SYSTEM, f->sink,
          "cannot make the folder /nowhere/demo");
    f->sink[0] = '\0';
    for (size_t i = 1; i < FILE_PATH - 6; i++)
        folder[i] = i % 2 == 1 ? '.' : '/';
    assert_int_equal(demo_data_write(folder, DEMO_HOSPITALS, DEMO_SEED, &f->log), ERR_SYSTEM);
    support_says(f->sink, "this path is too long: /./");
}

TEST(the_demos_data_hang_on_their_seed_alone)
{
    struct parse_fixture *f = *state;
    char folder[] = "/tmp/trefoil-demo-XXXXXX", path[128];
    struct bytes text[3] = {{0}};
    static const uint64_t seeds[] = {5, 5, 6};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/island.csv", folder);
    for (int i = 0; i < 3; i++) {
        OK(demo_data_write(folder, DEMO_HOSPITALS, seeds[i], &f->log));
        OK(file_read(path, 1 << 20, &text[i], &f->log));
    }
    SAME_BYTES(&text[0], text[1].data, text[1].size);
    assert_true(text[0].size != text[2].size ||
                memcmp(text[0].data, text[2].data, text[0].size) != 0);
    for (int i = 0; i < 3; i++)
        bytes_clear(&text[i]);
    for (size_t i = 0; i < DEMO_HOSPITALS; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, demo_hospitals[i].name);
        unlink(path);
    }
    rmdir(folder);
}

MAIN(support_run_tests(setup, teardown))
