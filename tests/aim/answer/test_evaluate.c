/*
 * aim/evaluate, aim/rows_answer, aim/evaluate_answers: what `trefoil eval` reports, against twins
 * that go through rows one by one.
 */
#include "harness/cmocka.h"
#include "harness/model.h"

#include "aim/answer/evaluate.h"
#include "aim/answer/evaluate_answers.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_private.h"

#define ROWS 700

enum { WARD, AGE, DAYS, LOAD }; /* columns */

/* Labels with missing ones, whole numbers, multiples of 0.5 with a spike at 0, any numbers. */
static struct domain *make_domain(void)
{
    static const char *const wards[] = {"a", "b", "c"};
    static const double days[] = {0, 0, 2, 5, 9}, loads[] = {0, 1, 4, 10};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL));
    OK(domain_add_integer(d, "age", 20, 29, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_numeric(d, "days", days, 5, "", DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 0.5, false, NULL));
    OK(domain_add_numeric(d, "load", loads, 4, NULL, DOMAIN_CLIP, NULL));
    return d;
}

static uint16_t code_of(const struct domain_attribute *a, double x)
{
    double low = a->edges[0], high = a->edges[a->values];
    return (uint16_t)domain_bin(a, fmin(fmax(x, low), high));
}

/* Numbers depend on each other, some are missing, and some lie outside the domain. */
static struct table *make_table(const struct domain *d, size_t rows)
{
    struct random r = random_of(3);
    struct table *t = MADE(table, table_new, d, 0);
    OK(table_keep_numbers(t));
    for (size_t i = 0; i < rows; i++) {
        double age = 20 + (double)random_below(&r, 12);
        double days = i % 5 == 0 ? 0 : 0.5 * (double)random_below(&r, 18);
        double load = fmin(12, (age - 18) * random_double(&r));
        bool lacks = random_below(&r, 9) == 0;
        const uint16_t codes[] = {(uint16_t)random_below(&r, 4), (uint16_t)(fmin(age, 29) - 20),
                                  lacks ? (uint16_t)d->attribute[DAYS].values
                                        : code_of(&d->attribute[DAYS], days),
                                  code_of(&d->attribute[LOAD], load)};
        OK(table_append(t, codes));
        assert_true(isnan(t->number[AGE][i]));
        t->number[AGE][i] = age;
        t->number[LOAD][i] = load;
        if (!lacks)
            t->number[DAYS][i] = days;
    }
    return t;
}

/* --- questions -------------------------------------------------------------------------------- */

static bool any(const struct table *t, size_t i)
{
    return true;
}

static bool old_in_a(const struct table *t, size_t i)
{
    return t->column[WARD][i] == 0 && t->number[AGE][i] >= 27;
}

static bool idle_or_heavy(const struct table *t, size_t i)
{
    return t->number[DAYS][i] <= 0.5 || t->number[LOAD][i] > 6.25;
}

static bool no_days(const struct table *t, size_t i)
{
    return isnan(t->number[DAYS][i]) && t->column[WARD][i] != 3;
}

static bool not_long(const struct table *t, size_t i)
{
    return t->number[DAYS][i] < 3 || t->number[DAYS][i] > 7.5;
}

static const struct evaluate_asked {
    const char *text;
    bool (*fits)(const struct table *t, size_t row);
} asked[] = {
    {"FROM t", any},
    {"FROM t WHERE ward = 'a' AND age >= 27", old_in_a},
    {"FROM t WHERE days <= 0.5 OR load > 6.25", idle_or_heavy},
    {"FROM t WHERE days IS NULL AND ward IS NOT NULL", no_days},
    {"FROM t WHERE NOT days BETWEEN 3 AND 7.5", not_long},
    {"FROM t WHERE age > 100", NULL},
};

/* The number at this rank: found by counting how many are below. */
static double ranked(const double *x, size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            below += x[k] < x[i];
            same += x[k] == x[i];
        }
        if (rank >= below && rank < below + same)
            return x[i];
    }
    return NAN;
}

static double at_share(const double *x, size_t n, double p)
{
    double place = p * (double)(n - 1), low = floor(place);
    double first = ranked(x, n, (size_t)low);
    return place > low ? first + (place - low) * (ranked(x, n, (size_t)low + 1) - first) : first;
}

static void near(double is, double should_be)
{
    assert_true(fabs(is - should_be) <= 1e-9 * fmax(1, fabs(should_be)));
}

/* COUNT(*), then COUNT, SUM, AVG, VARIANCE, MEDIAN, PERCENTILE, MIN, RANGE of the load. */
static void check_line(const struct rows_answer *a, size_t line, const double *x, size_t n)
{
    const struct answer_value *v = a->value + line * a->question->items;
    double sum = 0, squares = 0;
    assert_int_equal(rows_answer_rows(a, line), n);
    near(v[0].number, (double)n);
    near(v[1].number, (double)n);
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    for (size_t i = 2; n == 0 && i < 9; i++)
        assert_false(v[i].known);
    if (n == 0)
        return;
    near(v[2].number, sum);
    near(v[3].number, sum / (double)n);
    near(v[4].number, squares / (double)n - sum / (double)n * sum / (double)n);
    near(v[5].number, at_share(x, n, 0.5));
    near(v[6].number, at_share(x, n, 0.9));
    near(v[7].number, ranked(x, n, 0));
    near(v[8].number, ranked(x, n, n - 1) - ranked(x, n, 0));
}

TEST(rows_answer_exactly)
{
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = make_table(d, ROWS);
    for (size_t k = 0; k < 2 * sizeof asked / sizeof *asked; k++) {
        const struct evaluate_asked *of = &asked[k / 2];
        const bool grouped = k % 2 == 1;
        struct rows_answer *a CLEAN(rows_answer_free) = NULL;
        struct question *q CLEAN(question_free) = NULL;
        char text[400];
        double x[ROWS];
        snprintf(text, sizeof text,
                 "SELECT COUNT(*), COUNT(load), SUM(load), AVG(load), VARIANCE(load), "
                 "MEDIAN(load), PERCENTILE(load, 0.9), MIN(load), RANGE(load) %s %s",
                 of->text, grouped ? "GROUP BY ward, days" : "");
        OK(question_parse(&q, d, &(struct question_text){.text = text}, NULL));
        OK(rows_answer_new(&a, t, q));
        assert_int_equal(a->lines, grouped ? 4 * d->attribute[DAYS].size : 1);
        for (size_t line = 0; line < a->lines; line++) {
            size_t n = 0;
            for (size_t i = 0; i < ROWS; i++)
                if (of->fits != NULL && of->fits(t, i) &&
                    (!grouped ||
                     line == t->column[WARD][i] * d->attribute[DAYS].size + t->column[DAYS][i]))
                    x[n++] = t->number[LOAD][i];
            check_line(a, line, x, n);
        }
    }
}

/* A column of labels, and one with missing values. */
TEST(modes_and_missing_values)
{
    static const char text[] = "SELECT MODE(ward), COUNT(ward), COUNT(days), MODE(days), "
                               "SHARE(days > 2), CORR(days, load) FROM t";
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, more = 0;
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = make_table(d, ROWS);
    struct rows_answer *a CLEAN(rows_answer_free) = NULL;
    struct question *q CLEAN(question_free) = NULL;
    size_t wards[4] = {0}, days[8] = {0}, known = 0;
    OK(question_parse(&q, d, &(struct question_text){.text = text}, NULL));
    OK(rows_answer_new(&a, t, q));
    for (size_t i = 0; i < ROWS; i++) {
        wards[t->column[WARD][i]]++;
        days[t->column[DAYS][i]]++;
        if (isnan(t->number[DAYS][i]))
            continue;
        known++;
        more += t->number[DAYS][i] > 2;
        x += t->number[DAYS][i];
        y += t->number[LOAD][i];
        xx += t->number[DAYS][i] * t->number[DAYS][i];
        yy += t->number[LOAD][i] * t->number[LOAD][i];
        xy += t->number[DAYS][i] * t->number[LOAD][i];
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(wards[(size_t)a->value[0].number] >= wards[i]);
    for (size_t i = 0; i < d->attribute[DAYS].values; i++)
        assert_true(days[(size_t)a->value[3].number] >= days[i]);
    assert_int_equal((size_t)a->value[1].number, ROWS - wards[3]);
    assert_int_equal((size_t)a->value[2].number, known);
    near(a->value[4].number, 100 * more / (double)known);
    near(a->value[5].number, ((double)known * xy - x * y) /
                                 sqrt(((double)known * xx - x * x) * ((double)known * yy - y * y)));
    assert_int_equal(rows_answer_with(a, 0, WARD, 2), wards[2]);
}

/* Two tables of three and six rows, whose errors can be worked out by hand. */
TEST(errors_are_relative)
{
    static const char text[] =
        "SELECT COUNT(*), SUM(load), AVG(load), MODE(ward), SUM(load) / COUNT(*) FROM t "
        "WHERE age < 25";
    static const double loads[2][6] = {{1, 2, 3, 4, 5, 9}, {2, 4, 9, 0, 0, 0}};
    static const uint16_t ages[2][6] = {{0, 0, 1, 1, 9, 9}, {0, 3, 9, 0, 0, 0}},
                          wards[2][6] = {{0, 0, 0, 1, 1, 1}, {1, 1, 1, 0, 0, 0}};
    static const double should_be[] = {0, 0.2, 0.2, 2.0 / 3, 0.2};
    struct domain *d CLEAN(domain_free) = make_domain();
    const double deviation[] = {0, 1, 1, 1};
    struct evaluate_answers e CLEAN(evaluate_answers_clear) = {.deviation = deviation};
    struct table *t[2];
    struct rows_answer *a[2];
    struct question *q CLEAN(question_free) = NULL;
    OK(question_parse(&q, d, &(struct question_text){.text = text}, NULL));
    for (size_t k = 0; k < 2; k++) {
        OK(table_new(&t[k], d, 0));
        OK(table_keep_numbers(t[k]));
        for (size_t i = 0; i < (k == 0 ? 6 : 3); i++) {
            const uint16_t codes[] = {wards[k][i], ages[k][i], 0, 0};
            OK(table_append(t[k], codes));
            t[k]->number[LOAD][i] = loads[k][i];
        }
        OK(rows_answer_new(&a[k], t[k], q));
    }
    OK(evaluate_answer(&e, a[0], a[1]->value, 2));
    evaluate_answers_sort(&e);
    near(e.of[AGGREGATE_COUNT][0].error[0], should_be[0]);
    near(e.of[AGGREGATE_SUM][0].error[0], should_be[1]);
    near(e.of[AGGREGATE_AVG][0].error[0], should_be[2]);
    near(e.of[AGGREGATE_MODE][0].error[0], should_be[3]);
    near(e.of[AGGREGATE_ARITHMETIC][0].error[0], should_be[4]);
    assert_int_equal(e.of[AGGREGATE_COUNT][1].count, 0);
    for (size_t k = 0; k < 2; k++) {
        rows_answer_free(&a[k]);
        table_free(&t[k]);
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The density at a number is the share of a small interval around it. */
TEST(densities_at_numbers)
{
    static const double edges[] = {0, 0, 2, 5, 9}, counts[] = {300, 200, 90, 20};
    for (int stepped = 0; stepped < 2; stepped++) {
        struct domain *d CLEAN(domain_free) = NULL;
        struct density *density CLEAN(density_free) = NULL;
        OK(domain_new(&d));
        OK(domain_add_numeric(d, "x", edges, 5, NULL, DOMAIN_CLIP, NULL));
        if (stepped)
            OK(domain_set_step(d, 0.5, false, NULL));
        OK(density_new(&density, &d->attribute[0], counts));
        for (double x = 0.5; x < 9; x += 0.5) {
            uint32_t code = domain_bin(&d->attribute[0], x);
            double wide = stepped ? 0.5 : 1e-6;
            double share = density_part(density, code, x, x + wide).share;
            assert_true(fabs(exp(density_log(density, code, x)) * wide / share - 1) < 1e-5);
            if (stepped) /* between two multiples */
                near(density_log(density, code, x + 0.2), density_log(density, code, x));
        }
        near(density_log(density, 0, 0), stepped ? -log(0.5) : 0);
    }
}

/* For a model of two columns: ln p of its cell, and the density there, for each row. */
TEST(likelihoods_of_numbers)
{
    static const struct clique c[] = {{2, {AGE, DAYS}}, {1, {WARD}}, {1, {LOAD}}};
    static const struct clique all = {4, {0, 1, 2, 3}};
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = make_table(d, 200);
    struct model *m CLEAN(model_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    double *p, sum = 0, mean, unit[4] = {0};
    OK(model_plain(&m, d, c, 3, 1 << 20, NULL));
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = (double)(i * 7 % 5) * 0.3;
    model_propagate(m, true);
    model_set_total(m, 1);
    p = calloc(clique_cells(&all, d), sizeof *p);
    assert_non_null(p);
    OK(model_marginal(m, &all, p, NULL));
    OK(model_densities(&inside, m, NULL));
    for (uint16_t a = AGE; a <= LOAD; a++) {
        double n = 0, first = 0, second = 0;
        for (size_t i = 0; i < t->rows; i++)
            if (!isnan(t->number[a][i])) {
                n++;
                first += t->number[a][i];
                second += t->number[a][i] * t->number[a][i];
            }
        unit[a] = sqrt(second / n - first / n * first / n);
        near(evaluate_column(t, a).mean, first / n);
        near(evaluate_column(t, a).deviation, unit[a]);
    }
    for (size_t i = 0; i < t->rows; i++) {
        sum += log(p[table_cell(t, all.attribute, 4, i)]);
        for (uint16_t a = AGE; a <= LOAD; a++)
            if (!isnan(t->number[a][i]))
                sum += log(unit[a]) + density_log(inside.of[a], t->column[a][i], t->number[a][i]);
    }
    OK(evaluate_likelihood(m, t, &mean, NULL));
    near(evaluate_inside(t, &inside) - mean, sum / (double)t->rows);
    free(p);
}

TEST(baselines_are_drawn_from_the_rows)
{
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table *t CLEAN(table_free) = make_table(d, ROWS);
    struct table *rows CLEAN(table_free) = NULL, *columns CLEAN(table_free) = NULL;
    double real, entropy = 0, alone, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    size_t counts[10] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        x += t->number[AGE][i] / ROWS;
        y += t->number[LOAD][i] / ROWS;
    }
    for (size_t i = 0; i < ROWS; i++) {
        xx += (t->number[AGE][i] - x) * (t->number[AGE][i] - x);
        xy += (t->number[AGE][i] - x) * (t->number[LOAD][i] - y);
        yy += (t->number[LOAD][i] - y) * (t->number[LOAD][i] - y);
        counts[t->column[AGE][i]]++;
    }
    real = evaluate_correlation(t, AGE, LOAD);
    near(real, xy / sqrt(xx * yy));
    assert_true(real > 0.3);
    OK(evaluate_draw(&rows, t, EVALUATE_ROWS, 4 * ROWS, 1));
    OK(evaluate_draw(&columns, t, EVALUATE_COLUMNS, 4 * ROWS, 1));
    assert_int_equal(rows->rows, 4 * ROWS);
    assert_true(fabs(evaluate_correlation(rows, AGE, LOAD) - real) < 0.05);
    assert_true(fabs(evaluate_correlation(columns, AGE, LOAD)) < 0.08);
    assert_true(fabs(evaluate_column(columns, LOAD).mean - y) < 0.2);
    for (size_t i = 0; i < rows->rows; i++) /* codes and numbers belong to the same row */
        assert_int_equal(rows->column[LOAD][i],
                         code_of(&d->attribute[LOAD], rows->number[LOAD][i]));
    OK(evaluate_alone(t, &alone));
    for (uint16_t a = 0; a < 4; a++)
        for (uint32_t k = 0; k < d->attribute[a].size; k++) {
            double n = 0;
            for (size_t i = 0; i < ROWS; i++)
                n += t->column[a][i] == k;
            entropy -= n > 0 ? n / ROWS * log(n / ROWS) : 0;
        }
    near(alone, entropy);
}
