/*
 * Rows on condition and rows that are completed (aim/answer/rows_given.h), against a filter of many
 * rows: chi-square of the quarters of bins of each pair of columns. Conditions have OR, cut bins,
 * split merged groups, and are about columns that follow from each other.
 */
#include "harness/cmocka.h"

#include "aim/answer/rows_given.h"
#include "aim/copula/copula_model.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_private.h"
#include "aim/model/sample.h"
#include "aim/table/derive.h"
#include "aim/table/rows.h"

#define COLUMNS 6
#define MANY 400000 /* rows that are filtered */
#define SOME 40000  /* rows on condition */
#define FEATURES 64

enum { AGE, CITY, WEIGHT, CAME, WENT, STAY };

struct rows_world {
    struct released r;
    struct derive_plan *plan;
};

static void mark(void *to, const uint32_t *code)
{
    bool *seen = to;
    seen[(code[0] * 4 + code[1]) * 4 + code[2]] = true;
}

static const char *const books[][2] = {
    {"a", "west"}, {"b", "north"}, {"c", "west"}, {"d", "north"}, {"f", "east"}};

/* region is the book's, month that of `went`. */
static void add_computed(struct derive_list *list)
{
    OK(memory_new(&list->of, 2));
    list->count = 2;
    struct derive *e = &list->of[0];
    *e = (struct derive){.name = memory_string("region"),
                         .text = memory_string("lookup"),
                         .op = DERIVE_LOOKUP,
                         .columns = 1,
                         .column = {memory_string("city")}};
    OK(memory_new(&e->key, 5));
    OK(memory_new(&e->value, 5));
    for (; e->keys < 5; e->keys++) {
        e->key[e->keys] = memory_string(books[e->keys][0]);
        e->value[e->keys] = memory_string(books[e->keys][1]);
    }
    list->of[1] = (struct derive){.name = memory_string("month"),
                                  .text = memory_string("month(went)"),
                                  .op = DERIVE_PART,
                                  .part = CALENDAR_MONTH,
                                  .columns = 1,
                                  .column = {memory_string("went")}};
}

static void add_stay(struct domain *d)
{
    const struct derive *bad;
    struct derive e = {.name = memory_string("stay"),
                       .text = memory_string("went - came"),
                       .op = DERIVE_SUM,
                       .columns = 2,
                       .column = {memory_string("went"), memory_string("came")},
                       .sign = {1, -1}};
    OK(memory_new(&d->derived, 1));
    OK(memory_new(&d->derived->from.of, 1));
    d->derived->from.of[d->derived->from.count++] = e;
    add_computed(&d->derived->computed);
    OK(derive_check(d, &bad, NULL));
}

static struct domain *make_domain(void)
{
    static const char *const cities[] = {"a", "b", "c", "d", "e", "f"};
    static const double ages[] = {0, 20, 30, 40, 70}, weights[] = {0, 2.5, 2.5, 10, 50};
    static const double months[] = {18628, 18659, 18687, 18700}, stays[] = {0, 1, 3, 20};
    static const struct calendar days = {.unit = CALENDAR_DAY};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_numeric(d, "age", ages, 5, "", DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    OK(domain_add_categorical(d, "city", cities, 6, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(d, "weight", weights, 5, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_date(d, "came", &days, months, 4, "", DOMAIN_CLIP, NULL));
    OK(domain_add_date(d, "went", &days, months, 4, "", DOMAIN_CLIP, NULL));
    OK(domain_add_numeric(d, "stay", stays, 4, "", DOMAIN_AS_MISSING, NULL));
    OK(domain_set_step(d, 1, true, NULL));
    add_stay(d);
    return d;
}

static void world_free(struct rows_world *w)
{
    derive_free(&w->plan);
    released_clear(&w->r);
}

static void world_new(struct rows_world *w)
{
    static const struct clique c[] = {{2, {AGE, CITY}},
                                      {2, {CITY, WEIGHT}},
                                      {2, {AGE, CAME}},
                                      {3, {CAME, WENT, STAY}},
                                      {2, {WEIGHT, STAY}}};
    static const double counts[] = {40, 5, 3, 20, 1, 0};
    static const uint32_t group[] = {0, 1, 1, 0, 1, 1};
    bool seen[64] = {false};
    uint32_t cell[64];
    struct workload_zeros zero = {.clique = c[3], .cell = cell};
    struct merges merges CLEAN(merges_clear) = {0};
    struct model_terms t = {.merges = &merges,
                            .clique = c,
                            .cliques = 5,
                            .zero = &zero,
                            .zeros = 1,
                            .limit_cells = 10000};
    struct random r = random_of(8);
    t.domain = w->r.domain = make_domain();
    OK(derive_new(&w->plan, t.domain));
    OK(derive_cells(w->plan, 0, mark, seen, NULL));
    for (uint32_t i = 0; i < 64; i++)
        if (!seen[i])
            cell[zero.cells++] = i;
    OK(merges_none(&merges, t.domain));
    OK(memory_new(&merges.group[CITY], 6));
    memcpy(merges.group[CITY], group, sizeof group);
    merges.groups[CITY] = 2;
    OK(merges_sort(&merges, CITY));
    OK(model_new(&w->r.model, &t, NULL));
    groups_share(w->r.model, CITY, counts);
    for (size_t i = 0; i < w->r.model->parameters; i++)
        w->r.model->theta[i] = 2 * random_double(&r);
    model_propagate(w->r.model, true);
    model_set_total(w->r.model, 50000);
    OK(model_densities(&w->r.inside, w->r.model, NULL));
}

/* --- rows with their numbers ------------------------------------------------------------------ */

struct rows_row {
    uint16_t code[COLUMNS];
    double x[COLUMNS]; /* numbers of bins; NAN: missing */
};

/* As they are written. */
static struct rows_row *rows_of(const struct rows_world *w, const struct table *t)
{
    struct rows_row *row = memory_array(t->rows, sizeof *row);
    struct random r = random_of(3);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t a = 0; a < COLUMNS; a++) {
            row[i].code[a] = t->column[a][i];
            row[i].x[a] = table_number(t, a, i);
        }
        OK(derive_draw(w->plan, row[i].code, row[i].x, true, &w->r.inside, &r));
        for (size_t a = 0; a < COLUMNS; a++)
            row[i].x[a] = derive_number(w->plan, a);
    }
    return row;
}

static size_t feature(const struct rows_world *w, const struct rows_row *row, size_t a)
{
    const struct domain_attribute *d = &w->r.domain->attribute[a];
    const uint32_t code = row->code[a];
    if (!domain_has_bins(d) || code >= d->values)
        return code * 4;
    double low = d->edges[code];
    double width = d->edges[code + 1] - low;
    return code * 4 + (width > 0 ? (size_t)fmin(3, 4 * (row->x[a] - low) / width) : 0);
}

/* The largest chi-square of a pair of columns in two samples, in deviations above its mean. */
static double compare(const struct rows_world *w, const struct rows_row *one, size_t ones,
                      const struct rows_row *other, size_t others)
{
    const double n = (double)ones, m = (double)others;
    double worst = -INFINITY;
    for (size_t a = 0; a < COLUMNS; a++)
        for (size_t b = 0; b < a; b++) {
            double *x = memory_array(2 * FEATURES * FEATURES, sizeof *x), chi = 0, cells = 0;
            double *y = x + FEATURES * FEATURES;
            for (size_t i = 0; i < ones; i++)
                x[feature(w, &one[i], a) * FEATURES + feature(w, &one[i], b)]++;
            for (size_t i = 0; i < others; i++)
                y[feature(w, &other[i], a) * FEATURES + feature(w, &other[i], b)]++;
            for (size_t i = 0; i < FEATURES * FEATURES; i++) {
                const double off = sqrt(m / n) * x[i] - sqrt(n / m) * y[i];
                if (x[i] + y[i] > 0)
                    chi += off * off / (x[i] + y[i]);
                cells += x[i] + y[i] > 0;
            }
            worst = fmax(worst, (chi - cells + 1) / sqrt(2 * cells));
            free(x);
        }
    return worst;
}

/* --- conditions ------------------------------------------------------------------------------- */

static bool in_bins(const struct rows_row *r)
{
    return (r->x[AGE] >= 25 && r->x[AGE] < 37) && r->x[WEIGHT] > 7.25;
}

static bool overlapping(const struct rows_row *r)
{
    return r->x[AGE] >= 33 || r->code[CITY] == 1 || r->code[CITY] == 3 || r->code[AGE] == 4;
}

static bool tied(const struct rows_row *r)
{
    return r->x[CAME] >= 18628 + 19 && r->x[STAY] == 2;
}

static bool tied_or_not(const struct rows_row *r)
{
    return r->x[WENT] < 18659 + 2 || (r->code[STAY] == 3 && r->code[AGE] < 4 && r->x[AGE] != 20) ||
           r->x[WEIGHT] < 1;
}

static bool part_and_book(const struct rows_row *r)
{
    const bool weekend = r->code[CAME] < 3 && fmod(r->x[CAME] + 3, 7) >= 5;
    return weekend && (r->code[CITY] == 1 || r->code[CITY] == 3 || r->code[CITY] == 5);
}

static bool computed_part(const struct rows_row *r)
{
    return (r->x[WENT] >= 18659 && r->x[WENT] < 18687 && !(r->x[AGE] > 30) && r->code[AGE] < 4) ||
           r->code[CITY] == 4;
}

static const struct {
    const char *text;
    bool (*holds)(const struct rows_row *r);
} conditions[] = {
    {"age BETWEEN 25 AND 36 AND weight > 7.25", in_bins},
    {"age >= 33 OR city IN ('b', 'd') OR age IS NULL", overlapping},
    {"came >= '2021-01-20' AND stay = 2", tied},
    {"went < '2021-02-03' OR stay IS NULL AND age <> 20 OR weight < 1", tied_or_not},
    {"WEEKDAY(came) IN (6, 7) AND region <> 'west'", part_and_book},
    {"month = 2 AND NOT age > 30 OR region IS NULL", computed_part},
};

TEST(rows_on_condition_are_like_filtered_ones)
{
    struct rows_world w CLEAN(world_free) = {0};
    world_new(&w);
    struct table *all CLEAN(table_free) = MADE(table, sample_independent, w.r.model, MANY, 1, NULL);
    struct rows_row *many = rows_of(&w, all);
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
        struct table *t CLEAN(table_free) = NULL, *whole CLEAN(table_free) = NULL;
        struct rows_row *some, *left = memory_array(MANY, sizeof *left);
        size_t n = 0;
        for (size_t i = 0; i < MANY; i++)
            if (conditions[k].holds(&many[i]))
                left[n++] = many[i];
        OK(rows_where(&t, &w.r, conditions[k].text, SOME, 2, NULL));
        some = rows_of(&w, t);
        for (size_t i = 0; i < SOME; i++)
            assert_true(conditions[k].holds(&some[i]));
        assert_true(compare(&w, some, SOME, left, n) < 4.5);
        /* planted: rows of another condition, and a tenth of them */
        memcpy(some, many, SOME / 10 * sizeof *some);
        assert_true(compare(&w, some, SOME, left, n) > 5.5);
        /* as many as there are */
        OK(rows_where(&whole, &w.r, conditions[k].text, 0, 2, NULL));
        assert_true(fabs((double)whole->rows - 50000.0 / MANY * (double)n) <
                    0.02 * (double)whole->rows + 5 * sqrt((double)n) * 50000 / MANY);
        free(some);
        free(left);
    }
    free(many);
}

/* A copula's, of columns in single bins: their sum is drawn with them, and may not fit. */
TEST(rows_of_a_copula_meet_conditions_on_what_follows)
{
    static const char *const name[] = {"a", "b", "sum"};
    static const double parts[] = {0, 10}, sums[] = {0, 20};
    struct released r CLEAN(released_clear) = {0};
    struct table *t CLEAN(table_free) = NULL;
    struct derive e = {.name = memory_string("sum"),
                       .text = memory_string("a + b"),
                       .op = DERIVE_SUM,
                       .columns = 2,
                       .column = {memory_string("a"), memory_string("b")},
                       .sign = {1, 1}};
    const struct derive *bad;
    OK(domain_new(&r.domain));
    for (size_t a = 0; a < 3; a++) {
        OK(domain_add_numeric(r.domain, name[a], a < 2 ? parts : sums, 2, a < 2 ? NULL : "",
                              a < 2 ? DOMAIN_CLIP : DOMAIN_AS_MISSING, NULL));
        OK(domain_set_step(r.domain, 1, true, NULL));
    }
    OK(memory_new(&r.domain->derived, 1));
    OK(memory_new(&r.domain->derived->from.of, 1));
    r.domain->derived->from.of[r.domain->derived->from.count++] = e;
    OK(derive_check(r.domain, &bad, NULL));
    OK(copula_new(&r.copula, r.domain));
    r.copula->total = 1000;
    for (size_t a = 0; a < 3; a++)
        r.copula->share[a][0] = r.copula->correlation[a * 3 + a] = 1;
    OK(copula_densities(&r.inside, r.copula));
    OK(rows_where(&t, &r, "sum < 9", 500, 2, NULL));
    for (size_t i = 0; i < t->rows; i++)
        assert_true(t->number[2][i] < 9 && t->number[0][i] + t->number[1][i] == t->number[2][i]);
}

/* Keys that are whole numbers; some values say nothing. */
TEST(conditions_on_books_of_numbers_are_sets)
{
    static const char *const book[][2] = {
        {"3", "north"}, {"5", "south"}, {"6", "north"}, {"7", ""}};
    struct domain *d CLEAN(domain_free) = NULL;
    struct question *a CLEAN(question_free) = NULL, *b CLEAN(question_free) = NULL;
    const struct derive *bad;
    OK(domain_new(&d));
    OK(domain_add_integer(d, "ward", 2, 8, NULL, DOMAIN_CLIP, NULL));
    OK(memory_new(&d->derived, 1));
    OK(memory_new(&d->derived->computed.of, 1));
    struct derive *e = &d->derived->computed.of[d->derived->computed.count++];
    *e = (struct derive){.name = memory_string("wing"),
                         .text = memory_string("lookup"),
                         .op = DERIVE_LOOKUP,
                         .columns = 1,
                         .column = {memory_string("ward")}};
    OK(memory_new(&e->key, 4));
    OK(memory_new(&e->value, 4));
    for (; e->keys < 4; e->keys++) {
        e->key[e->keys] = memory_string(book[e->keys][0]);
        e->value[e->keys] = memory_string(book[e->keys][1]);
    }
    OK(derive_check(d, &bad, NULL));
    OK(question_condition(&a, d, "wing = 'north' OR wing IS NULL", NULL));
    OK(question_condition(&b, d, "NOT ward = 5", NULL));
    assert_true(a->where.n == 1 && b->where.n == 1);
    assert_int_equal(a->where.one[0].part[0].values.spans, 2);
    assert_memory_equal(a->pool.span + a->where.one[0].part[0].values.first,
                        b->pool.span + b->where.one[0].part[0].values.first,
                        2 * sizeof(struct values_span));
}

/* Lines by a book have the codes of which it says the same; what it does not know is missing. */
TEST(lines_are_by_what_a_book_says)
{
    static const uint32_t first[] = {0, 1, 0, 1, 4, 5};
    static const char *const label[] = {"west", "north", "west", "north", NULL, "east"};
    static const char *const wrong[][2] = {
        {"SELECT land, COUNT(*) FROM t GROUP BY land", "land"},
        {"SELECT city, COUNT(*) FROM t GROUP BY region", "must be in GROUP BY"},
        {"SELECT AVG(region) FROM t", "region"},
        {"SELECT COUNT(*) FROM t GROUP BY region ORDER BY city", "ORDER BY takes aggregates"}};
    struct domain *d CLEAN(domain_free) = make_domain();
    struct question_text text = {
        .text = "SELECT Region, COUNT(*) FROM t GROUP BY region ORDER BY region DESC;"
                "SELECT COUNT(*) FROM t GROUP BY month"};
    struct question *q CLEAN(question_free) = NULL, *by CLEAN(question_free) = NULL;
    char words[1000], name[QUESTION_ITEM_NAME];
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    OK(question_parse(&q, d, &text, NULL));
    assert_int_equal(q->groups, 1);
    for (uint32_t code = 0; code < 6; code++) {
        assert_int_equal(question_group_code(&q->group[0], code), first[code]);
        if (label[code] != NULL)
            assert_string_equal(q->group[0].label[code], label[code]);
        else
            assert_null(q->group[0].label[code]);
    }
    question_group_name(q, 0, name, sizeof name);
    assert_string_equal(name, "region");
    assert_true(q->orders == 1 && q->order[0].group && q->order[0].down);
    OK(question_parse(&by, d, &text, NULL));
    assert_true(by->group[0].part != NULL && by->group[0].part->value == CALENDAR_MONTH);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct question *none = NULL;
        words[0] = '\0';
        text = (struct question_text){.text = wrong[i][0]};
        assert_int_equal(question_parse(&none, d, &text, &log), ERR_QUESTION);
        assert_non_null(strstr(words, wrong[i][1]));
    }
}

/* A computed column, or a part of dates, is a set of the values that it follows from. */
TEST(conditions_on_what_follows_are_sets)
{
    static const char *const same[][2] = {
        {"region = 'west'", "city IN ('a', 'c')"},
        {"NOT region IN ('west', 'east')", "city IN ('b', 'd')"},
        {"region IS NULL", "city = 'e'"},
        {"YEAR(came) = 2021", "came IS NOT NULL"},
        {"YEAR(came) IS NULL", "came IS NULL"},
        {"month < 2", "went < '2021-02-01'"},
        {"QUARTER(came) > 1", "came < '2000-01-01'"},
    };
    static const char *const wrong[][2] = {{"region = 'wets'", "did you mean 'west'"},
                                           {"region < 'west'", "labels have no order"},
                                           {"month = 'May'", "write one without quotes"},
                                           {"YEAR(city) = 1", "city has no dates"}};
    struct domain *d CLEAN(domain_free) = make_domain();
    LOG_INTO(log, words, LOG_ERROR);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct question *a CLEAN(question_free) = NULL, *b CLEAN(question_free) = NULL;
        OK(question_condition(&a, d, same[i][0], NULL));
        OK(question_condition(&b, d, same[i][1], NULL));
        assert_int_equal(a->where.n, b->where.n);
        for (unsigned k = 0; k < a->where.n; k++) {
            const struct values x = a->where.one[k].part[0].values;
            const struct values y = b->where.one[k].part[0].values;
            assert_true(x.missing == y.missing && x.spans == y.spans);
            assert_memory_equal(a->pool.span + x.first, b->pool.span + y.first,
                                x.spans * sizeof(struct values_span));
        }
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct question *q;
        words[0] = '\0';
        assert_int_equal(question_condition(&q, d, wrong[i][0], &log), ERR_QUESTION);
        assert_non_null(strstr(words, wrong[i][1]));
    }
}

/* --- rows that are completed ------------------------------------------------------------------ */

/* Half of the rows say so, with a day and a town; nothing is known of the others. */
static bool of_the_day(const struct rows_row *r)
{
    return r->x[CAME] == 18628 + 40 && r->code[CITY] == 1;
}

TEST(completed_rows_are_like_filtered_ones)
{
    struct rows_world w CLEAN(world_free) = {0};
    struct table *all CLEAN(table_free) = NULL, *known CLEAN(table_free) = NULL;
    struct rows_row *many, *left = memory_array(MANY, sizeof *left), *some;
    const uint16_t zeros[COLUMNS] = {0};
    size_t n = 0, never;
    world_new(&w);
    OK(sample_independent(&all, w.r.model, MANY, 1, NULL));
    many = rows_of(&w, all);
    OK(table_new(&known, w.r.domain, SOME));
    OK(table_keep_numbers(known));
    for (size_t i = 0; i < SOME; i++) {
        OK(table_append(known, zeros));
        for (size_t a = 0; a < COLUMNS; a++)
            known->column[a][i] = ROWS_ANY;
        if (i >= SOME / 2)
            continue;
        known->column[CITY][i] = 1;
        known->column[CAME][i] = 1;
        known->number[CAME][i] = 18628 + 40;
    }
    for (size_t i = 0; i < MANY; i++)
        if (of_the_day(&many[i]))
            left[n++] = many[i];
    struct table *t CLEAN(table_free) = MADE(table, rows_complete, &w.r, known, 3, &never, NULL);
    some = rows_of(&w, t);
    for (size_t i = 0; i < SOME / 2; i++)
        assert_true(of_the_day(&some[i]));
    assert_true(compare(&w, some, SOME / 2, left, n) < 4.5);
    assert_true(compare(&w, some + SOME / 2, SOME / 2, many, MANY) < 4.5);
    assert_true(compare(&w, some, SOME / 2, many, MANY) > 5.5);
    table_free(&t);
    known->column[CAME][SOME - 1] = 2;
    known->number[CAME][SOME - 1] = 18750; /* after the last one */
    OK(rows_complete(&t, &w.r, known, 3, &never, NULL));
    assert_true(t->number[CAME][SOME - 1] == 18700);
    table_free(&t);
    known->column[WENT][7] = 0; /* the month before */
    OK(rows_complete(&t, &w.r, known, 3, &never, NULL));
    table_free(&t);
    known->column[STAY][7] = 1; /* and went a day or two later */
    assert_int_equal(rows_complete(&t, &w.r, known, 3, &never, NULL), ERR_DATA);
    assert_int_equal(never, 7);
    free(many);
    free(left);
    free(some);
}
