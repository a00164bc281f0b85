/*
 * parties/study/study_workload, parties/study/expect: studies made for questions, each in a folder
 * with its file of questions; the noise to expect against a sum cell by cell.
 */
#include "harness/cmocka.h"

#include "aim/answer/answer.h"
#include "harness/study.h"
#include "parties/study/expect.h"

/* age: 9 numbers; sex: 2; ward: 4 and missing; bmi: 4 bins; died: 2 (harness/study.c). */
static enum err load(struct support_study *s, const char *workload, const char *questions,
                     char *said, size_t size, struct study **study)
{
    struct study_options o = {.owners = 2};
    struct log log = {.buffer = said, .buffer_size = size, .level = LOG_ERROR};
    struct bytes text CLEAN(bytes_clear) = {0}, changed CLEAN(bytes_clear) = {0};
    *study = NULL;
    said[0] = '\0';
    OK(support_study_new(s, &o, NULL));
    if (questions != NULL)
        OK(file_write(support_path(s, "q.sql"), 0600, questions, strlen(questions), NULL));
    OK(file_read(s->path, 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, "workload:");
    assert_non_null(at);
    const char *end = strchr(at, '\n');
    bytes_put(&changed, text.data, (size_t)(at - (const char *)text.data));
    bytes_put_text(&changed, "workload: ");
    bytes_put_text(&changed, workload);
    bytes_put_text(&changed, end);
    OK(file_write(s->path, 0600, changed.data, changed.size, NULL));
    return study_load(study, s->path, &log);
}

static double weight_of(const struct study *s, uint16_t n, const uint16_t *attribute)
{
    struct clique c = {.n = n};
    memcpy(c.attribute, attribute, n * sizeof *attribute);
    for (size_t i = 0; i < s->workload->cliques; i++)
        if (clique_equal(&s->workload->clique[i], &c))
            return s->workload->clique_weight[i];
    return 0;
}
#define WEIGHT(s, ...)                                                                             \
    weight_of(s, sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), (uint16_t[]){__VA_ARGS__})

TEST(questions_make_the_workload)
{
    static const char questions[] =
        "SELECT COUNT(*), AVG(bmi) FROM t WHERE age > 3 AND sex = 'f';\n"
        "SELECT AVG(bmi) FROM t WHERE sex = 'm' OR age = 1; -- the same columns\n"
        "SELECT COUNT(*) FROM t;\n"
        "SELECT COUNT(*) FROM t GROUP BY died;";
    struct support_study s CLEAN(support_study_free);
    struct study *study CLEAN(study_free) = NULL, *other CLEAN(study_free) = NULL;
    char said[1024];
    OK(load(&s, "{queries: q.sql}", questions, said, sizeof said, &study));
    assert_int_equal(study->workload->cliques, 4);
    assert_true(WEIGHT(study, 0, 1) == 1);    /* COUNT of the first */
    assert_true(WEIGHT(study, 0, 1, 3) == 2); /* AVG of both */
    assert_true(WEIGHT(study, 4) == 1);
    assert_true(WEIGHT(study, 2) == 1); /* nobody asks about it */
    support_study_free(&s);
    /* 9 * 2 * 4 = 72 cells are too many: takes pairs; 9 * 4 are not too many */
    OK(load(&s, "{queries: q.sql, max_cells: 36}", questions, said, sizeof said, &other));
    assert_true(WEIGHT(other, 0, 1) == 3);
    assert_true(WEIGHT(other, 0, 3) == 2);
    assert_true(WEIGHT(other, 1, 3) == 2);
    assert_true(WEIGHT(other, 0, 1, 3) == 0);
}

/* The terms contain only the questions' columns and how often they are asked. */
TEST(the_terms_are_the_marginals)
{
    static const char *const texts[] = {
        "SELECT AVG(bmi) FROM t WHERE age > 3; SELECT COUNT(*) FROM t WHERE died = 'no'",
        "SELECT COUNT(*) FROM x WHERE died='yes';;\n-- others\nSELECT SUM(bmi) FROM t WHERE age=1",
        "SELECT AVG(bmi) FROM t WHERE age > 3",
    };
    struct workload *w[3];
    char said[1024];
    struct bytes bytes[3] = {{0}, {0}, {0}};
    for (size_t i = 0; i < 3; i++) {
        struct support_study s CLEAN(support_study_free);
        struct study *study CLEAN(study_free) = NULL;
        OK(load(&s, "{queries: q.sql}", texts[i], said, sizeof said, &study));
        w[i] = study->workload;
        workload_write(w[i], &bytes[i]);
    }
    SAME_BYTES(&bytes[0], bytes[1].data, bytes[1].size);
    assert_true(bytes[2].size == bytes[0].size); /* died is there all the same, */
    assert_memory_equal(bytes[2].data, bytes[0].data, bytes[0].size); /* as if asked once */
    for (size_t i = 0; i < 3; i++)
        bytes_clear(&bytes[i]);
}

TEST(mistakes_have_their_place)
{
    static const struct {
        const char *workload, *questions, *says;
        enum err code;
    } cases[] = {
        {"{queries: q.sql}", "SELECT COUNT(*) FROM t;\nSELECT AVG(bni) FROM t",
         "q.sql:2:12: there is", ERR_STUDY},
        {"{queries: q.sql}", NULL, "there is no q.sql beside the study file", ERR_STUDY},
        {"{queries: q.sql}", " ;; ", "there is no question in", ERR_STUDY},
        {"{queries: ../q.sql}", "", "should be the name of a file beside", ERR_STUDY},
        {"{queries: .q}", "", "should be the name of a file beside", ERR_STUDY},
        {"{queries: q.sql, all: 2}", "", "{queries: file}", ERR_STUDY},
        {"{all: 2, max_cells: 9}", "", "{queries: file}", ERR_STUDY},
        {"{queries: q.sql, max_cells: 1}", "", "from 2 to", ERR_STUDY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct support_study s CLEAN(support_study_free);
        struct study *study CLEAN(study_free) = NULL;
        char said[1024];
        assert_int_equal(load(&s, cases[i].workload, cases[i].questions, said, sizeof said, &study),
                         cases[i].code);
        if (strstr(said, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].workload, said);
    }
}

/* --- what to expect --------------------------------------------------------------------------- */

/* The part of a cell of all five columns that the second question selects. */
static double part(const struct densities *even, const struct study *s, const uint16_t *code)
{
    const struct domain_attribute *ages = &s->domain->attribute[0];
    bool young = ages->min + code[0] < 4;
    double heavy = density_part(even->of[3], code[3], 28, INFINITY).share;
    double both = young ? heavy : 0;
    return (young ? 1 : 0) + heavy - both;
}

TEST(noise_is_of_the_cells_that_a_condition_takes_in)
{
    static const char questions[] = "SELECT sex, COUNT(*) FROM t WHERE died = 'no' GROUP BY sex;"
                                    "-- heavy\nSELECT COUNT(*) FROM t WHERE age < 4 OR bmi >= 28;"
                                    "SELECT COUNT(*) FROM t";
    struct support_study s CLEAN(support_study_free);
    struct study *study CLEAN(study_free) = NULL;
    struct expect *list CLEAN(memory_release) = NULL;
    struct densities even CLEAN(densities_clear) = {0};
    double share = 0, squares = 0, rows, weights = 0;
    size_t count;
    char said[1024];
    OK(load(&s, "{queries: q.sql}", questions, said, sizeof said, &study));
    OK(expect_questions(&list, &count, study, 10, NULL));
    OK(densities_of(&even, study->domain, NULL, NULL));
    assert_int_equal(count, 3);
    const struct expect *grouped = strstr(list[0].text, "GROUP BY") != NULL ? &list[0] : &list[1];
    const struct expect *either = grouped == &list[0] ? &list[1] : &list[0];
    assert_string_equal(either->text, "SELECT COUNT(*) FROM t WHERE age < 4 OR bmi >= 28");
    rows = study->owner[0].max_rows + study->owner[1].max_rows;
    assert_true(grouped->together && fabs(grouped->rows - rows / 4) < 1e-9);
    assert_true(fabs(grouped->noise - 10) < 1e-9); /* a cell for each sex */
    for (uint16_t age = 0; age < 9; age++)
        for (uint16_t bmi = 0; bmi < 4; bmi++) {
            double w = part(&even, study, (uint16_t[]){age, 0, 0, bmi, 0});
            share += w / 36;
            squares += w * w;
        }
    assert_true(fabs(either->rows - rows * share) < 1e-9 * rows);
    assert_true(fabs(either->noise - 10 * sqrt(squares)) < 1e-9);
    for (size_t i = 0; i < study->domain->attributes; i++)
        weights += 1. / study->domain->attribute[i].size;
    assert_true(fabs(list[2].noise - sqrt(100 / weights)) < 1e-9); /* of all rows */
}

TEST(what_is_not_answered_well_is_said)
{
    static const char questions[] =
        "SELECT COUNT(*) FROM t WHERE sex = 'f' AND age = 3 AND bmi < 12 AND died = 'no';"
        "SELECT COUNT(*) FROM t WHERE sex = 'f' AND age > 3\n AND ward = 'a';"
        "SELECT COUNT(*) FROM t WHERE sex = 'f'";
    struct support_study s CLEAN(support_study_free);
    struct study *study CLEAN(study_free) = NULL;
    struct expect *list CLEAN(memory_release) = NULL;
    size_t count, n;
    char said[1024], *text CLEAN(memory_release) = NULL;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    OK(load(&s, "{queries: q.sql, max_cells: 100}", questions, said, sizeof said, &study));
    OK(expect_questions(&list, &count, study, 8, NULL));
    expect_summary(out, study, list, count);
    expect_table(out, study, list, count);
    fclose(out);
    EACH(support_says, text, "Questions: 3, of q.sql", "1 for which no marginal has all columns");
    assert_non_null(
        strstr(text, "    apart        SELECT COUNT(*) FROM t WHERE sex = 'f' AND age"));
    EACH(support_says, text, "age = 3 AND", "1 more have no marginal of all their columns");
}
