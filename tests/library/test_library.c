/* libtrefoil.so through its header alone: what it gives, and what it refuses. */
#include "harness/cmocka.h"

#include "library/trefoil.h"

#include <pthread.h>
#include <stdbool.h>

static char folder[] = "/tmp/trefoil-library-XXXXXX";

static const char *in(const char *name)
{
    static _Thread_local char path[8][200];
    static _Thread_local unsigned next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static struct trefoil *opened(const char *name)
{
    struct trefoil_error error;
    struct trefoil *t;
    if (trefoil_open(&t, in(name), &error) != TREFOIL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(error.status, TREFOIL_OK);
    assert_string_equal(error.text, "");
    return t;
}

static struct trefoil_answers *asked(struct trefoil *t, const char *sql, double level)
{
    struct trefoil_error error;
    struct trefoil_answers *a;
    if (trefoil_query(t, sql, level, &a, &error) != TREFOIL_OK)
        fail_msg("%s", error.text);
    return a;
}

static struct trefoil_counts *counted(struct trefoil *t, const char *const *names, uint32_t n)
{
    struct trefoil_error error;
    struct trefoil_counts *c;
    if (trefoil_marginal(t, names, n, &c, &error) != TREFOIL_OK)
        fail_msg("%s", error.text);
    return c;
}

static void refused(enum trefoil_status status, enum trefoil_status expected,
                    const struct trefoil_error *error, const char *words)
{
    if (status != expected || strstr(error->text, words) == NULL)
        fail_msg("status %d, not %d: %s", (int)status, (int)expected, error->text);
    assert_int_equal(error->status, (int)expected);
    assert_null(strstr(error->text, "error: "));
    assert_int_not_equal(error->text[strlen(error->text) - 1], '\n');
}

TEST(columns_are_the_studys)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    assert_int_equal(trefoil_kind(t), TREFOIL_TREE);
    assert_true(fabs(trefoil_total(t) - 1500) < 100);
    assert_int_equal(trefoil_columns(t), 4);
    const struct trefoil_column *c = trefoil_column(t, 0);
    assert_string_equal(c->name, "age");
    assert_int_equal(c->kind, TREFOIL_WHOLE);
    assert_true(c->min == 0 && c->max == 19 && c->codes == 20 && c->missing == NULL);
    c = trefoil_column(t, trefoil_find(t, "ward"));
    assert_int_equal(c->kind, TREFOIL_LABELS);
    assert_true(c->codes == 4 && c->values == 3);
    assert_string_equal(c->labels[2], "lung");
    assert_string_equal(c->missing, "?");
    c = trefoil_column(t, 3);
    assert_int_equal(c->kind, TREFOIL_BINS);
    assert_true(c->edges[0] == 10 && c->edges[4] == 60 && c->step == 0.1);
    assert_null(trefoil_column(t, 4));
    assert_int_equal(trefoil_find(t, "Ward"), TREFOIL_NONE);
    trefoil_close(&t);
    assert_null(t);
}

TEST(answers_have_values_intervals_and_groups)
{
    struct trefoil *t = opened("tree/model");
    struct trefoil_answers *a = asked(t,
                                      "SELECT sex, AVG(age), MODE(ward), MAX(bmi) FROM t GROUP BY "
                                      "sex; SELECT AVG(bmi) FROM t WHERE age < 0",
                                      0.9);
    const struct trefoil_answer *x = a->answer[0];
    trefoil_close(&t); /* results stay */
    assert_int_equal(a->count, 2);
    assert_string_equal(x->question,
                        "SELECT sex, AVG(age), MODE(ward), MAX(bmi) FROM t GROUP BY sex");
    assert_true(x->level == 0.9 && x->groups == 1 && x->group[0] == 1 && x->items == 3);
    assert_string_equal(x->item[0], "AVG(age)");
    assert_true(x->label_column[0] == TREFOIL_NONE && x->label_column[1] == 2 &&
                x->label_column[2] == TREFOIL_NONE);
    assert_true(x->approximate[0] == 0 && x->approximate[2] == 1);
    assert_true(x->lines == 2 && x->left_out == 0);
    for (size_t line = 0; line < 2; line++) {
        const size_t at = line * 3;
        assert_int_equal(x->code[line], line);
        assert_true(x->count[line] > 300);
        assert_true(x->low[at] < x->value[at] && x->value[at] < x->high[at]);
        assert_true(x->value[at] > 8 && x->value[at] < 11);
        assert_true(isnan(x->agreed[at]) && x->agreed[at + 1] > 0 && x->agreed[at + 1] <= 1);
        assert_true(isnan(x->low[at + 1]));
        assert_true(x->rows[at + 1] < x->count[line]); /* wards that are missing */
    }
    x = a->answer[1];
    assert_true(x->lines == 1 && x->groups == 0 && isnan(x->value[0]) && isnan(x->low[0]));
    trefoil_answers_free(&a);
    assert_null(a);
    trefoil_answers_free(&a);
}

TEST(without_a_level_there_are_no_intervals)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    struct trefoil *c CLEAN(trefoil_close) = opened("copula");
    struct trefoil_answers *a CLEAN(trefoil_answers_free) = asked(t, "SELECT COUNT(*) FROM t", 0);
    struct trefoil_answers *b = asked(c, "SELECT AVG(age), CORR(age, bmi) FROM t GROUP BY sex",
                                      0.95);
    assert_true(a->answer[0]->level == 0 && isnan(a->answer[0]->low[0]));
    assert_true(fabs(a->answer[0]->value[0] - trefoil_total(t)) < 1e-6);
    assert_true(b->answer[0]->level == 0 && isnan(b->answer[0]->high[0]));
    assert_true(fabs(b->answer[0]->value[1]) > 0 && fabs(b->answer[0]->value[1]) < 1);
    assert_true(a->answer[0]->together && !b->answer[0]->together);
    trefoil_answers_free(&b);
}

/* A copula measured each column alone. */
TEST(each_item_says_whether_it_rests_on_independence)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("copula");
    struct trefoil_answers *a = asked(t,
                                      "SELECT AVG(age), AVG(bmi) FROM t WHERE age > 8;"
                                      "SELECT AVG(age), COUNT(*) FROM t WHERE age > 8",
                                      0);
    const struct trefoil_answer *mixed = a->answer[0], *alone = a->answer[1];
    assert_true(!mixed->together && !mixed->apart[0] && mixed->apart[1]);
    assert_true(alone->together && !alone->apart[0] && !alone->apart[1]);
    trefoil_answers_free(&a);
}

/*
 * Groups of less than half a row are left out and counted, except those that the condition
 * excludes.
 */
TEST(lines_and_what_is_left_out_are_all_groups_of_the_condition)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    struct trefoil_answers *a = asked(t,
                                      "SELECT COUNT(*) FROM t WHERE ward = 'lung' AND sex = 'm' "
                                      "AND bmi BETWEEN 10 AND 10.1 GROUP BY age, bmi",
                                      0);
    const struct trefoil_answer *x = a->answer[0];
    assert_true(x->left_out > 0 && x->left_out_rows >= 0);
    assert_int_equal(x->lines + x->left_out, 20 * 1);
    for (size_t line = 0; line < x->lines; line++)
        assert_true(x->count[line] >= 0.5);
    trefoil_answers_free(&a);
}

TEST(a_marginal_is_in_the_order_asked_for)
{
    static const char *const one[] = {"ward", "age", "sex"}, *const other[] = {"sex", "age",
                                                                               "ward"};
    const char *const kinds[] = {"tree", "copula"};
    for (size_t k = 0; k < 2; k++) {
        struct trefoil *t CLEAN(trefoil_close) = opened(kinds[k]);
        struct trefoil_counts *a CLEAN(trefoil_counts_free) = counted(t, one, 3);
        struct trefoil_counts *b CLEAN(trefoil_counts_free) = counted(t, other, 3);
        double sum = 0;
        assert_true(a->columns == 3 && a->column[0] == 2 && a->codes[0] == 4 && a->codes[1] == 20);
        assert_int_equal(a->cells, 160);
        for (size_t w = 0; w < 4; w++)
            for (size_t age = 0; age < 20; age++)
                for (size_t sex = 0; sex < 2; sex++) {
                    const double count = a->count[(w * 20 + age) * 2 + sex];
                    assert_true(count == b->count[(sex * 20 + age) * 4 + w]);
                    sum += count;
                }
        assert_true(fabs(sum - trefoil_total(t)) < 1e-6 * sum);
    }
}

/* Before anything else has been asked. */
TEST(a_marginal_may_be_of_one_column)
{
    static const char *const one[] = {"ward"};
    const char *const kinds[] = {"tree", "copula"};
    for (size_t k = 0; k < 2; k++) {
        struct trefoil *t CLEAN(trefoil_close) = opened(kinds[k]);
        struct trefoil_counts *c CLEAN(trefoil_counts_free) = counted(t, one, 1);
        assert_true(c->cells == 4 && c->columns == 1 && c->column[0] == 2);
        const double sum = c->count[0] + c->count[1] + c->count[2] + c->count[3];
        assert_true(fabs(sum - trefoil_total(t)) < 1e-6 * sum);
    }
}

static void check_rows(const struct trefoil *t, const struct trefoil_rows *r)
{
    const struct trefoil_column *bmi = trefoil_column(t, 3);
    assert_int_equal(r->columns, 4);
    assert_null(r->number[2]);
    for (size_t row = 0; row < r->rows; row++) {
        const uint16_t code = r->code[3][row];
        const double x = r->number[3][row];
        assert_true(r->code[2][row] < 4 && r->number[0][row] == r->code[0][row]);
        if (code == bmi->values)
            assert_true(isnan(x));
        else
            assert_true(x >= bmi->edges[code] && x <= bmi->edges[code + 1] &&
                        fabs(10 * x - round(10 * x)) < 1e-9);
    }
}

TEST(rows_are_drawn_again_by_their_seed)
{
    const char *const kinds[] = {"tree", "copula"};
    for (size_t k = 0; k < 2; k++) {
        struct trefoil *t CLEAN(trefoil_close) = opened(kinds[k]);
        struct trefoil_rows *a CLEAN(trefoil_rows_free) = NULL, *b CLEAN(trefoil_rows_free) = NULL;
        struct trefoil_rows *c CLEAN(trefoil_rows_free) = NULL;
        assert_int_equal(trefoil_sample(t, 200, 5, TREFOIL_USUAL, &a, NULL), TREFOIL_OK);
        assert_int_equal(trefoil_sample(t, 200, 5, TREFOIL_USUAL, &b, NULL), TREFOIL_OK);
        assert_int_equal(trefoil_sample(t, 0, 6, TREFOIL_INDEPENDENT, &c, NULL), TREFOIL_OK);
        check_rows(t, a);
        check_rows(t, c);
        assert_int_equal(a->rows, 200);
        assert_true(fabs((double)c->rows - trefoil_total(t)) <= 0.5);
        for (size_t i = 0; i < 4; i++) {
            assert_memory_equal(a->code[i], b->code[i], 200 * sizeof(uint16_t));
            assert_true(memcmp(a->code[i], c->code[i], 200 * sizeof(uint16_t)) != 0);
        }
        assert_memory_equal(a->number[3], b->number[3], 200 * sizeof(double));
    }
}

TEST(rows_meet_a_condition_and_have_what_was_given)
{
    const char *const ages[] = {"3", NULL}, *const wards[] = {NULL, "?"};
    const char *const *const text[] = {ages, NULL, wards, NULL};
    const char *const wrong[] = {"3", "x"}, *const *const bad[] = {wrong, NULL, NULL, NULL};
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    struct trefoil *dates CLEAN(trefoil_close) = opened("dates");
    struct trefoil_error e;
    struct trefoil_rows *r CLEAN(trefoil_rows_free) = NULL;
    assert_int_equal(trefoil_sample_where(t, "age > 7 AND bmi < 20", 100, 1, &r, &e), TREFOIL_OK);
    check_rows(t, r);
    assert_true(r->rows == 100 && r->computed == 0);
    for (size_t i = 0; i < 100; i++)
        assert_true(r->number[0][i] > 7 && r->number[3][i] < 20);
    trefoil_rows_free(&r);
    assert_int_equal(trefoil_complete(t, text, 2, 1, &r, &e), TREFOIL_OK);
    check_rows(t, r);
    assert_true(r->rows == 2 && r->number[0][0] == 3 && r->code[2][1] == 3);
    trefoil_rows_free(&r);
    refused(trefoil_complete(t, bad, 2, 1, &r, &e), TREFOIL_USAGE, &e, "row 1: age is 'x'");
    refused(trefoil_sample_where(t, "age > 99", 1, 1, &r, &e), TREFOIL_QUESTION, &e, "half a row");
    refused(trefoil_sample_where(t, "agee > 9", 1, 1, &r, &e), TREFOIL_QUESTION, &e, "^");
    assert_int_equal(trefoil_sample(dates, 50, 1, TREFOIL_USUAL, &r, &e), TREFOIL_OK);
    assert_true(r->computed == 3 && r->computed_unit[0] == 86400 && r->computed_unit[1] == 0);
    assert_string_equal(r->computed_name[2], "title");
    assert_true(r->computed_text[0] == NULL && r->computed_number[2] == NULL);
    for (size_t i = 0; i < 50; i++) {
        assert_true(isnan(r->number[1][i]) ? isnan(r->computed_number[0][i])
                                           : r->computed_number[0][i] == r->number[1][i] + 30);
        assert_true(r->computed_number[1][i] == 2026);
        assert_string_equal(r->computed_text[2][i], r->code[0][i] == 0 ? "Mr" : "");
    }
}

/* A consumer may take a column out and drop the rest first. */
TEST(rows_and_answers_are_given_as_arrow)
{
    struct trefoil *model CLEAN(trefoil_close) = opened("tree");
    struct trefoil_rows *rows CLEAN(trefoil_rows_free) = NULL;
    struct trefoil_answers *answers CLEAN(trefoil_answers_free) = NULL;
    struct trefoil_error error;
    struct ArrowSchema schema;
    struct ArrowArray array, column;
    assert_int_equal(trefoil_sample(model, 500, 3, TREFOIL_USUAL, &rows, &error), TREFOIL_OK);
    assert_int_equal(trefoil_rows_arrow(model, rows, &schema, &array, &error), TREFOIL_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(array.length, 500);
    assert_int_equal(array.n_children, trefoil_columns(model));
    for (uint32_t c = 0; c < trefoil_columns(model); c++) {
        const struct trefoil_column *of = trefoil_column(model, c);
        const struct ArrowArray *x = array.children[c];
        const uint8_t *valid = x->buffers[0];
        int64_t missing = 0;
        assert_string_equal(schema.children[c]->name, of->name);
        for (size_t i = 0; i < 500; i++) {
            const bool here = valid == NULL || (valid[i / 8] >> i % 8 & 1) != 0;
            assert_int_equal(here, rows->code[c][i] < of->values);
            missing += !here;
            if (here && of->kind == TREFOIL_LABELS)
                assert_int_equal(((const int32_t *)x->buffers[1])[i], rows->code[c][i]);
            else if (here && schema.children[c]->format[0] == 'l')
                assert_true(((const int64_t *)x->buffers[1])[i] == (int64_t)rows->number[c][i]);
            else if (here)
                assert_true(((const double *)x->buffers[1])[i] == rows->number[c][i]);
        }
        assert_int_equal(x->null_count, missing);
        if (of->kind == TREFOIL_LABELS) {
            const int32_t *end = x->dictionary->buffers[1];
            assert_int_equal(x->dictionary->length, of->values);
            for (uint32_t v = 0; v < of->values; v++)
                assert_memory_equal((const char *)x->dictionary->buffers[2] + end[v], of->labels[v],
                                    (size_t)(end[v + 1] - end[v]));
        }
    }
    column = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    schema.release(&schema);
    assert_true(array.release == NULL && schema.release == NULL);
    assert_int_equal(column.length, 500);
    assert_non_null(column.buffers[1]);
    column.release(&column);

    assert_int_equal(
        trefoil_query(model, "SELECT COUNT(*) FROM t GROUP BY sex", 0, &answers, &error),
        TREFOIL_OK);
    assert_int_equal(trefoil_answer_arrow(model, answers->answer[0], &schema, &array, &error),
                     TREFOIL_OK);
    assert_int_equal(array.n_children, 3);
    const struct ArrowArray *words = array.children[0]->dictionary;
    assert_int_equal(words->length, trefoil_column(model, trefoil_find(model, "sex"))->values);
    assert_string_equal(schema.children[1]->name, answers->answer[0]->item[0]);
    for (size_t i = 0; i < answers->answer[0]->lines; i++)
        assert_true(((const double *)array.children[1]->buffers[1])[i] ==
                    answers->answer[0]->value[i]);
    array.release(&array);
    schema.release(&schema);
}

TEST(measurements_are_those_of_the_file)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    struct trefoil_error error;
    struct trefoil_measurements *m CLEAN(trefoil_measurements_free) = NULL;
    assert_int_equal(trefoil_measurements(t, &m, &error), TREFOIL_OK);
    assert_true(m->epsilon == 20 && m->delta == 1e-6 && m->rho > 0 && m->rows_per_person == 1);
    assert_true(m->count == 4 + 5 && m->knowns == 0);
    for (size_t i = 0; i < m->count; i++) {
        const struct trefoil_measurement *x = m->measurement[i];
        double sum = 0;
        size_t cells = 1;
        for (uint32_t c = 0; c < x->columns; c++)
            cells *= trefoil_column(t, x->column[c])->codes;
        assert_int_equal(x->cells, cells);
        for (size_t cell = 0; cell < cells; cell++)
            sum += x->count[cell];
        assert_true(x->sigma > 0 && fabs(sum - 1500) < 10 * x->sigma * sqrt((double)cells));
    }
}

TEST(what_is_wrong_is_said)
{
    static const char *const names[] = {"age", "colour", "sex", "age"};
    struct trefoil *t = opened("tree"), *none;
    struct trefoil_error e;
    struct trefoil_answers *a;
    struct trefoil_counts *c;
    struct trefoil_rows *r;
    refused(trefoil_open(&none, in("nothing"), &e), TREFOIL_SYSTEM, &e, "No such file");
    assert_null(none);
    refused(trefoil_open(&none, in("rows.csv"), &e), TREFOIL_FORMAT, &e, "rows.csv is no model");
    refused(trefoil_query(t, "SELECT AVG(aeg) FROM t", 0, &a, &e), TREFOIL_QUESTION, &e, "\n");
    support_says(e.text, "^");
    assert_null(a);
    refused(trefoil_query(t, " ", 0, &a, &e), TREFOIL_QUESTION, &e, "no question");
    refused(trefoil_query(t, "SELECT COUNT(*) FROM t", 1, &a, &e), TREFOIL_USAGE, &e, "0.9999");
    refused(trefoil_query(t, "SELECT COUNT(*) FROM t", NAN, &a, &e), TREFOIL_USAGE, &e, "0.9999");
    refused(trefoil_marginal(t, names, 2, &c, &e), TREFOIL_QUESTION, &e, "colour");
    refused(trefoil_marginal(t, names + 2, 0, &c, &e), TREFOIL_RANGE, &e, "one to 8");
    refused(trefoil_marginal(t, (const char *const[]){"age", "sex", "age"}, 3, &c, &e),
            TREFOIL_QUESTION, &e, "twice");
    assert_null(c);
    refused(trefoil_sample(t, 1, 1, (enum trefoil_sampling)3, &r, &e), TREFOIL_USAGE, &e, "3");
    refused(trefoil_sample(t, SIZE_MAX, 1, TREFOIL_USUAL, &r, &e), TREFOIL_RANGE, &e, "fewer");
    assert_null(r);
    assert_int_equal(trefoil_query(t, "SELECT", 0, &a, NULL), TREFOIL_QUESTION);
    trefoil_close(&t);
}

/* Before memory is taken or time spent. */
TEST(what_is_too_much_at_once_is_refused)
{
    static const char question[] =
        "SELECT COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),"
        "COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*),COUNT(*)FROM t GROUP BY age,bmi;";
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    const size_t size = strlen(question),
                 lines = trefoil_column(t, 0)->codes * trefoil_column(t, 3)->codes;
    size_t n = TREFOIL_VALUES_MAX / (16 * lines) + 1;
    char *text = calloc(TREFOIL_QUESTIONS_MAX + 2, 1);
    struct trefoil_error e;
    struct trefoil_answers *a;
    struct trefoil_rows *r;
    assert_non_null(text);
    assert_true(n * size < TREFOIL_QUESTIONS_MAX);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * size, question, size);
    refused(trefoil_query(t, text, 0, &a, &e), TREFOIL_RANGE, &e,
            "have more than 8388608 values; ask in parts");
    assert_null(a);
    memset(text, ' ', TREFOIL_QUESTIONS_MAX + 1);
    refused(trefoil_query(t, text, 0, &a, &e), TREFOIL_RANGE, &e, "more than 1048576 bytes");
    free(text);
    refused(trefoil_sample(t, (size_t)1 << 40, 1, TREFOIL_USUAL, &r, &e), TREFOIL_RANGE, &e,
            "1099511627776 rows are too many; ask for fewer, at most 67108864 of this model");
    refused(trefoil_sample(t, TREFOIL_DRAWN_MAX / 4 + 1, 1, TREFOIL_USUAL, &r, &e), TREFOIL_RANGE,
            &e, "fewer");
    assert_null(r);
}

TEST(a_copula_has_no_rounded_rows_and_no_file_that_is_not_there)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("copula");
    struct trefoil_error e;
    struct trefoil_rows *r;
    struct trefoil_measurements *m;
    assert_int_equal(trefoil_kind(t), TREFOIL_COPULA);
    refused(trefoil_sample(t, 9, 1, TREFOIL_ROUNDED, &r, &e), TREFOIL_USAGE, &e, "copula");
    assert_int_equal(trefoil_measurements(t, &m, &e), TREFOIL_OK);
    assert_int_equal(m->count, 4);
    trefoil_measurements_free(&m);
    trefoil_close(&t);
    assert_int_equal(rename(in("tree/measurements.json"), in("away")), 0);
    t = opened("tree");
    refused(trefoil_measurements(t, &m, &e), TREFOIL_SYSTEM, &e, "measurements.json");
    assert_int_equal(rename(in("away"), in("tree/measurements.json")), 0);
}

/* --- memory that runs out --------------------------------------------------------------------- */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static _Atomic long left = -1; /* allocations that work before all fail; -1: all work */

static bool fails(void)
{
    return left == 0 || (left > 0 && left-- == 0);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

/* Whether all went well. */
static bool go_through(long allocations)
{
    static const char *const names[] = {"sex", "age"};
    const char *path = in("tree");
    struct trefoil *t CLEAN(trefoil_close) = NULL;
    struct trefoil_answers *a CLEAN(trefoil_answers_free) = NULL;
    struct trefoil_rows *r CLEAN(trefoil_rows_free) = NULL;
    struct trefoil_counts *c CLEAN(trefoil_counts_free) = NULL;
    struct trefoil_measurements *m CLEAN(trefoil_measurements_free) = NULL;
    struct trefoil_error e;
    left = allocations;
    if (trefoil_open(&t, path, &e) == TREFOIL_OK &&
        trefoil_query(t, "SELECT AVG(bmi) FROM t GROUP BY sex", 0.9, &a, &e) == TREFOIL_OK &&
        trefoil_sample(t, 50, 1, TREFOIL_USUAL, &r, &e) == TREFOIL_OK &&
        trefoil_marginal(t, names, 2, &c, &e) == TREFOIL_OK)
        (void)trefoil_measurements(t, &m, &e);
    left = -1;
    if (e.status != TREFOIL_OK)
        refused((enum trefoil_status)e.status, TREFOIL_MEMORY, &e, "memory");
    assert_true((m != NULL) == (e.status == TREFOIL_OK));
    return e.status == TREFOIL_OK;
}

TEST(no_memory_is_an_error_wherever_it_runs_out)
{
    long n = 0;
    void *volatile none; /* so that a compiler does not optimise it away */
    left = 0;
    none = calloc(1, 1);
    left = -1;
    free(none);
    if (none != NULL)
        skip(); /* valgrind has its own allocator */
    while (!go_through(n))
        n += 1 + n / 12;
    assert_true(n > 100);
}
#endif

/* Errors of another model do not belong to this one. */
TEST(a_file_of_errors_that_is_altered_is_refused)
{
    struct trefoil *t CLEAN(trefoil_close) = opened("tree");
    struct trefoil_error e;
    struct trefoil_answers *a CLEAN(trefoil_answers_free) = NULL;
    FILE *f = fopen(in("tree/errors"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 100, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, 100, SEEK_SET), 0);
    fputc(byte ^ 1, f);
    fclose(f);
    refused(trefoil_query(t, "SELECT COUNT(*) FROM t", 0.95, &a, &e), TREFOIL_FORMAT, &e, "errors");
    a = asked(t, "SELECT COUNT(*) FROM t", 0);
}

struct library_worker {
    pthread_t thread;
    const char *kind;
    double sum;
};

static void *work(void *self)
{
    struct library_worker *w = self;
    for (int i = 0; i < 5; i++) {
        struct trefoil *t CLEAN(trefoil_close) = opened(w->kind);
        struct trefoil_answers *a CLEAN(trefoil_answers_free) = asked(
            t, "SELECT AVG(bmi) FROM t WHERE age < 10", 0);
        struct trefoil_rows *r CLEAN(trefoil_rows_free) = NULL;
        assert_int_equal(trefoil_sample(t, 100, 1, TREFOIL_USUAL, &r, NULL), TREFOIL_OK);
        w->sum += a->answer[0]->value[0] + r->number[0][99];
    }
    return NULL;
}

TEST(threads_with_models_of_their_own_do_not_meet)
{
    struct library_worker w[4] = {
        {.kind = "tree"}, {.kind = "tree"}, {.kind = "tree"}, {.kind = "tree"}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
    for (size_t i = 1; i < 4; i++)
        assert_true(w[i].sum == w[0].sum);
}

static int setup(void **state)
{
    char command[300];
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(command, sizeof command, "tests/scripts/support_results.sh %s", folder);
    return system(command);
}

static int teardown(void **state)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

MAIN(support_run_tests(setup, teardown))
