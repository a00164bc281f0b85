/* aim/question: what is a question, and what is said about text that is none, with the place. */
#include "harness/cmocka.h"

#include "aim/question/question.h"

static int make_domain(void **state)
{
    static const char *const labels[] = {"female", "male"}, *const codes[] = {"1", "2"};
    static const double edges[] = {0, 10, 20};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_categorical(d, "sex", labels, 2, "NA", DOMAIN_AS_MISSING, NULL));
    OK(domain_add_integer(d, "Age", 0, 99, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_numeric(d, "PM2.5", edges, 3, "", DOMAIN_CLIP, NULL));
    OK(domain_add_categorical(d, "code", codes, 2, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_integer(d, "Group", 0, 9, NULL, DOMAIN_CLIP, NULL));
    *state = d;
    return 0;
}

static int free_domain(void **state)
{
    struct domain *d CLEAN(domain_free) = *state;
    return 0;
}

static enum err parse(const struct domain *d, const char *text, struct question **q, char *said)
{
    struct log log = {.buffer = said, .buffer_size = 1024, .level = LOG_WARN};
    said[0] = '\0';
    return question_parse(q, d, &(struct question_text){.text = text}, &log);
}

/* Wrong questions; the ! marks the place, and is taken out. */
static const struct question_wrong {
    const char *text, *says;
} wrong[] = {
    {"!UPDATE t", "SELECT should stand here"},
    {"SELECT !* FROM t", "a model gives no rows"},
    {"SELECT !FROM t", "a column should stand here"},
    {"SELECT !AVERAGE(Age) FROM t", "there is no aggregate AVERAGE"},
    {"SELECT !medain(Age) FROM t", "did you mean MEDIAN?"},
    {"SELECT AVG(!Agee) FROM t", "there is no column \"Agee\"; did you mean \"Age\"?"},
    {"SELECT AVG(!pm2.5) FROM t", "no column \"pm2\"; if PM2.5 is meant, put it in double quotes"},
    {"SELECT AVG(!\"age\") FROM t", "did you mean \"Age\"?"},
    {"SELECT AVG(!'Age') FROM t", "put columns in double quotes"},
    {"SELECT AVG(!sex) FROM t", "sex has labels: only COUNT and MODE"},
    {"SELECT COUNT(!DISTINCT sex) FROM t", "DISTINCT is not answered"},
    {"SELECT AVG(Age) + 1 !+ 1 FROM t", "arithmetic is not done here"},
    {"SELECT AVG(Age) + !Age FROM t", "a number or an aggregate should stand here"},
    {"SELECT 3 !FROM t", "a number alone is no item"},
    {"SELECT 3 - !MIN(Age) FROM t", "not with MIN"},
    {"SELECT AVG(Age !* 2) FROM t", "arithmetic is not done here"},
    {"SELECT PERCENTILE(Age!) FROM t", ", should stand here"},
    {"SELECT PERCENTILE(Age, !95) FROM t", "0.95 for 95 %"},
    {"SELECT !sex, COUNT(*) FROM t", "must be in GROUP BY"},
    {"SELECT sex FROM t GROUP BY sex!", "the question has no aggregate"},
    {"SELECT COUNT(*)!", "FROM should stand here"},
    {"SELECT COUNT(*) FROM !", "the name of a table"},
    {"SELECT COUNT(*) FROM t GROUP BY sex ORDER BY !Age", "columns of GROUP BY"},
    {"SELECT COUNT(*) FROM t ORDER BY !AVG(Age)", "not among those after SELECT; add it"},
    {"SELECT COUNT(*) FROM t ORDER !COUNT(*)", "BY should stand here"},
    {"SELECT COUNT(*) FROM t GROUP BY sex HAVING !sex = 'male'",
     "conditions on rows go into WHERE"},
    {"SELECT MODE(Age) FROM t GROUP BY sex HAVING !MODE(Age) > 3", "HAVING compares an aggregate"},
    {"SELECT COUNT(*) FROM t HAVING COUNT(*) !IN (3)", "a comparison with a number"},
    {"SELECT COUNT(*) FROM t HAVING COUNT(*) > !'3'", "a number should stand here"},
    {"SELECT COUNT(*) FROM t HAVING COUNT(*) > 3 !OR COUNT(*) < 1", "by AND alone"},
    {"SELECT COUNT(*) FROM t LIMIT !0", "a whole number of lines, at least 1"},
    {"SELECT COUNT(*) FROM t LIMIT !2.5", "a whole number of lines"},
    {"SELECT COUNT(*) FROM t LIMIT 2 !OFFSET 1", "OFFSET is not answered here"},
    {"SELECT COUNT(*) AS !3 FROM t", "should stand after AS"},
    {"SELECT sex !AS s, COUNT(*) FROM t GROUP BY sex", "leave AS out"},
    {"SELECT !CASE WHEN sex = 'male' THEN 1 END FROM t", "CASE is not answered"},
    {"SELECT COUNT(*) FROM t!, u", "the question should end here"},
    {"SELECT COUNT(*) FROM t GROUP !sex", "BY should stand here"},
    {"SELECT COUNT(*) FROM t GROUP BY sex, !sex", "has this column already"},
    {"SELECT COUNT(*) FROM t GROUP BY sex, Age, !sex", "has this column already"},
    {"SELECT COUNT(*) FROM t GROUP BY sex, Age, code, !\"PM2.5\"", "at most 3 columns"},
    {"SELECT COUNT(*) FROM t GROUP BY sex ORDER BY !2", "a place after SELECT, from 1 to 1"},
    {"SELECT COUNT(*) FROM t GROUP BY sex ORDER BY !1.5", "a place after SELECT, from 1 to 1"},
    {"SELECT CORR(Age!) FROM t", ", should stand here"},
    {"SELECT CORR(Age, !sex) FROM t", "sex has labels: CORR is of two columns of numbers"},
    {"SELECT CORR(Age, !age) FROM t", "correlation with itself"},
    {"SELECT CORR(Age, \"Group\") FROM t GROUP BY Age!", "Age is in GROUP BY"},
    {"SELECT CORR(Age, \"Group\") FROM t GROUP BY sex, code, \"PM2.5\"!", "at most 2 columns"},
    {"SELECT SHARE(!*) FROM t", "a column should stand here"},
    {"SELECT SHARE(sex!) FROM t", "a comparison should stand here"},
    {"SELECT SHARE(sex = 'male'), SHARE(Age > 1) FROM t ORDER BY !SHARE(Age > 2)", "add it there"},
    {"SELECT SHARE(sex='male' OR \"PM2.5\"<3 OR Age>3) FROM t\nWHERE code=1 OR \"Group\"<3 OR "
     "Age<50!",
     "and WHERE together split into more than 8 cases"},
    {"SELECT COUNT(*) FROM t WHERE sex = !'femal'", "did you mean 'female'?"},
    {"SELECT COUNT(*) FROM t WHERE sex = !'NA'", "write sex IS NULL"},
    {"SELECT COUNT(*) FROM t WHERE sex = !NULL", "nothing equals NULL"},
    {"SELECT COUNT(*) FROM t WHERE sex = !\"male\"", "labels stand in single quotes"},
    {"SELECT COUNT(*) FROM t WHERE sex = !3", "sex has labels, no numbers"},
    {"SELECT COUNT(*) FROM t WHERE !group = 3", "if Group is meant, put it in double quotes"},
    {"SELECT COUNT(*) FROM t WHERE sex !< 'male'", "labels have no order"},
    {"SELECT COUNT(*) FROM t WHERE sex !BETWEEN 'a' AND 'b'", "labels have no order"},
    {"SELECT COUNT(*) FROM t WHERE Age = !'34'", "Age has numbers"},
    {"SELECT COUNT(*) FROM t WHERE Age = !sex", "a number should stand here"},
    {"SELECT COUNT(*) FROM t WHERE Age !== 3", "written with a single ="},
    {"SELECT COUNT(*) FROM t WHERE !3 < Age", "write it before what it is compared to"},
    {"SELECT COUNT(*) FROM t WHERE Age > 3 !+ 4", "arithmetic is not done here"},
    {"SELECT COUNT(*) FROM t WHERE Age !NEAR 3", "a comparison should stand here"},
    {"SELECT COUNT(*) FROM t WHERE sex !LIKE 'm%'", "LIKE is not answered: list the labels of sex"},
    {"SELECT COUNT(*) FROM t WHERE Age NOT != 3", "comes BETWEEN or IN"},
    {"SELECT COUNT(*) FROM t WHERE Age BETWEEN 3 !OR 4", "AND should stand here"},
    {"SELECT COUNT(*) FROM t WHERE (Age = 3!", ") should stand here"},
    {"SELECT COUNT(*) FROM t WHERE Age IN !3", "( should stand here"},
    {"SELECT COUNT(*) FROM t WHERE Age IS !3", "NULL should stand here"},
    {"SELECT COUNT(*) FROM t WHERE sex = !'fem", "these quotes do not end"},
    {"SELECT COUNT(*) FROM t WHERE Age = !3x", "begin with a digit"},
    {"SELECT COUNT(*) FROM !`t`", "this character means nothing here"},
    {"SELECT COUNT(*)\nFROM t\nWHERE Age > !x", "line 3 of the question: a number"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    const struct domain *d = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256], said[1024], mark[300];
        const char *place = strchr(wrong[i].text, '!'), *line;
        struct question *q;
        snprintf(text, sizeof text, "%.*s%s", (int)(place - wrong[i].text), wrong[i].text,
                 place + 1);
        line = place;
        while (line > wrong[i].text && line[-1] != '\n')
            line--;
        snprintf(mark, sizeof mark, "\n    %*s^", (int)(place - line), "");
        if (parse(d, text, &q, said) != ERR_QUESTION)
            fail_msg("accepted: %s", text);
        assert_null(q);
        if (strstr(said, wrong[i].says) == NULL || strstr(said, mark) == NULL)
            fail_msg("of \"%s\" is said: %s", text, said);
    }
}

static const char *const right[] = {
    "SELECT COUNT(*) FROM t",
    "select avg(age) from \"any table\";",
    "SELECT sex, COUNT(*), MODE(sex) FROM t GROUP BY sex, \"PM2.5\"",
    "SELECT COUNT(*) -- of all\nFROM t WHERE Age > -1.5e0 AND Age < +3",
    "/* a; b */ SELECT COUNT(*) FROM/**/t -- c /*\nWHERE Age > 3 /* d\n-- */ AND code = 1",
    "SELECT COUNT(*) FROM t WHERE code = 1 OR code = '2'",
    "SELECT COUNT(*) FROM t WHERE NOT (NOT sex <> 'male' AND Age != 3)",
    "SELECT COUNT(*) FROM t WHERE Age NOT BETWEEN 3 AND 4 AND sex NOT IN ('male')",
    "SELECT COUNT(*) AS n, AVG(Age) AS \"mean age\" FROM t GROUP BY sex, Age, code HAVING n > 2 "
    "AND AVG(age) <= -1.5 ORDER BY N DESC, sex, \"mean age\" ASC LIMIT 10;",
    "SELECT COUNT(*) FROM t WHERE sex IS NOT NULL OR \"PM2.5\" IS NULL",
    "SELECT CORR(Age, \"PM2.5\") FROM t WHERE sex = 'male' GROUP BY sex, code HAVING "
    "corr(Age, \"PM2.5\") < -.5",
    "SELECT SHARE( sex = 'male' ), share(Age > 3) AS old, SUM(Age) / COUNT(*) FROM t WHERE "
    "code = 1 GROUP BY sex HAVING SUM(Age) / COUNT(*) > 3 ORDER BY SHARE(sex = 'male'), old",
};

TEST(questions_are_taken)
{
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char said[1024];
        struct question *q CLEAN(question_free) = NULL;
        if (parse(*state, right[i], &q, said) != ERR_OK)
            fail_msg("%s: %s", right[i], said);
        assert_non_null(q);
        assert_string_equal(said, "");
    }
}

TEST(lines_are_ordered_by_places_after_select)
{
    char said[1024];
    struct question *q CLEAN(question_free) = NULL;
    OK(parse(*state,
             "SELECT code, COUNT(*), sex, AVG(Age) FROM t GROUP BY sex, code "
             "ORDER BY 4 DESC, 3, 1, 2",
             &q, said));
    assert_int_equal(q->orders, 4);
    assert_true(!q->order[0].group && q->order[0].index == 1 && q->order[0].down);
    assert_true(q->order[1].group && q->order[1].index == 0 && !q->order[1].down);
    assert_true(q->order[2].group && q->order[2].index == 1);
    assert_true(!q->order[3].group && q->order[3].index == 0);
}

TEST(several_questions_stand_in_one_text)
{
    struct question_text from = {.text = ";; SELECT COUNT(*) FROM t; ;SELECT AVG(Age) FROM t\n;\n"};
    struct question *q = MADE(question, question_parse, *state, &from, NULL);
    assert_true(q->item[0].rows);
    question_free(&q);
    OK(question_parse(&q, *state, &from, NULL));
    assert_int_equal(q->item[0].aggregate, AGGREGATE_AVG);
    question_free(&q);
    OK(question_parse(&q, *state, &from, NULL));
    assert_null(q);
}

/* Conditions in few cases: overlapping parts are cut, adjacent ones are joined. */
static const struct {
    const char *condition;
    unsigned cases;
} shapes[] = {
    {"Age > 3", 1},
    {"Age > 200", 0},
    {"Age < 3 OR Age > 7 OR Age = 5", 1},
    {"sex = 'male' AND sex = 'female'", 0},
    {"sex = 'male' OR Age > 3", 2},
    {"sex = 'male' OR NOT sex = 'male' OR sex IS NULL", 1},
    {"sex = 'male' AND Age > 3 OR sex = 'male' AND Age <= 3", 1},
    {"sex = 'male' OR Age > 3 OR code = 1 OR \"PM2.5\" < 3", 4},
    {"NOT (sex = 'male' AND Age > 3 AND code = 1)", 3},
    {"(sex = 'male' OR Age > 3) AND (code = 1 OR \"PM2.5\" < 3)", 4},
};

TEST(conditions_fall_into_few_cases)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[256], said[1024];
        struct question *q CLEAN(question_free) = NULL;
        snprintf(text, sizeof text, "SELECT COUNT(*) FROM t WHERE %s", shapes[i].condition);
        OK(parse(*state, text, &q, said));
        if (q->where.n != shapes[i].cases)
            fail_msg("%s: %u cases", text, q->where.n);
    }
}

TEST(too_many_cases_are_refused)
{
    char text[1024] = "SELECT COUNT(*) FROM t WHERE ", said[1024];
    struct question *q;
    for (int i = 1; i <= 9; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%sAge = %d AND \"PM2.5\" < %d", i > 1 ? " OR " : "", i,
                 i);
    }
    assert_int_equal(parse(*state, text, &q, said), ERR_QUESTION);
    support_says(said, "9 cases that do not overlap, and at most 8 are allowed");
}

/* As many items as a list may have, none of them adjacent, and three such lists. */
TEST(long_lists_are_taken)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct question *q CLEAN(question_free) = NULL;
    char said[1024];
    text_put(&text, "SELECT COUNT(*) FROM t WHERE");
    for (int list = 0; list < 3; list++) {
        text_put(&text, "%s \"PM2.5\" IN (%d", list > 0 ? " OR" : "", list);
        for (int i = 1; i < 1000; i++)
            text_put(&text, ", %g", list + i / 1000.0);
        text_put(&text, ")");
    }
    bytes_put_u8(&text, 0);
    if (parse(*state, (const char *)text.data, &q, said) != ERR_OK)
        fail_msg("%.200s", said);
    assert_int_equal(q->where.n, 1);
    assert_int_equal(q->where.one[0].part[0].values.spans, 3000);
}

TEST(deep_parentheses_are_refused)
{
    char text[4096] = "SELECT COUNT(*) FROM t WHERE ", said[1024];
    struct question *q;
    memset(text + strlen(text), '(', 1000);
    GIVES(parse(*state, text, &q, said), ERR_QUESTION, said, "are nested");
}

/* In a column without a step a single number has no rows: people should be told. */
TEST(a_single_number_without_a_step_is_warned_of)
{
    char said[1024];
    struct question *q CLEAN(question_free) = NULL;
    OK(parse(*state, "SELECT COUNT(*) FROM t WHERE \"PM2.5\" = 3", &q, said));
    support_says(said, "`step`");
    question_free(&q);
    OK(parse(*state, "SELECT COUNT(*) FROM t WHERE \"PM2.5\" IN (3, 4)", &q, said));
    support_says(said, "`step`");
    assert_null(strstr(strstr(said, "`step`") + 1, "`step`")); /* once */
}

MAIN(support_run_tests(make_domain, free_domain))
