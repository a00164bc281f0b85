/*
 * Rows of which some columns are known (aim/model/given.h), against all cells of a small model, by
 * chi-square; and that the chi-square finds evidence that is left out.
 */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/model/given.h"
#include "aim/model/model_private.h"

#define COLUMNS 6
#define CELLS (3 * 4 * 5 * 4 * 2 * 3)
#define ROWS 60000
#define ANY GIVEN_ANY

static const struct clique everything = {COLUMNS, {0, 1, 2, 3, 4, 5}};
static const uint32_t sizes[COLUMNS] = {3, 4, 5, 4, 2, 3};

struct given_world {
    struct domain *domain;
    struct model *model;
    struct given *given;
    double p[CELLS];
};

/* A chain with a branch and a column by itself; one cell is impossible, and codes are merged. */
static void world_new(struct given_world *w)
{
    static const struct clique c[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}, {2, {1, 4}}, {1, {5}}};
    static uint32_t never[] = {7};
    static const struct workload_zeros zero = {{2, {1, 4}}, 1, never};
    static const double counts[] = {5, 1, 2, 7, 0};
    struct merges merges CLEAN(merges_clear) = {0};
    struct model_terms t = {.merges = &merges,
                            .clique = c,
                            .cliques = 5,
                            .zero = &zero,
                            .zeros = 1,
                            .limit_cells = 1000};
    struct random r = random_of(4);
    t.domain = w->domain = support_domain(sizes, COLUMNS);
    OK(merges_none(&merges, w->domain));
    OK(memory_new(&merges.group[2], 5));
    for (uint32_t i = 0; i < 5; i++) /* codes 0, 2 and 4; 1 and 3 */
        merges.group[2][i] = i % 2;
    merges.groups[2] = 2;
    OK(merges_sort(&merges, 2));
    OK(model_new(&w->model, &t, NULL));
    groups_share(w->model, 2, counts);
    for (size_t i = 0; i < w->model->parameters; i++)
        w->model->theta[i] = 3 * random_double(&r);
    model_propagate(w->model, true);
    model_set_total(w->model, 1);
    OK(model_marginal(w->model, &everything, w->p, NULL));
    OK(given_new(&w->given, w->model));
}

static void world_free(struct given_world *w)
{
    given_free(&w->given);
    model_free(&w->model);
    domain_free(&w->domain);
}

static uint32_t code_of(size_t cell, unsigned column)
{
    for (unsigned i = COLUMNS; i-- > column + 1;)
        cell /= sizes[i];
    return (uint32_t)(cell % sizes[column]);
}

/* How likely the evidence, of one code for each column, makes a cell. */
static double factor(const uint32_t *code, const double *const *weight, size_t cell)
{
    double f = 1;
    for (unsigned a = 0; a < COLUMNS; a++) {
        const uint32_t c = code_of(cell, a);
        if (code[a] == ANY)
            continue;
        f *= code[a] < sizes[a] ? code[a] == c : weight[a][(code[a] - sizes[a]) * sizes[a] + c];
    }
    return f;
}

/*
 * The standard deviations by which chi-square over all cells is too large, of rows drawn with
 * `told` as evidence and judged by `code`. Rows of other evidence lie between them.
 */
static double judge(const struct given_world *w, const uint32_t *told, const uint32_t *code,
                    const double *const *weight)
{
    static const uint32_t other[COLUMNS] = {1, ANY, 3, ANY, ANY, ANY};
    double p[CELLS], all = 0, chi = 0, cells = 0, *chance = memory_array(ROWS, sizeof *chance);
    uint32_t *column = memory_array(COLUMNS * ROWS, sizeof *column);
    struct given_column known[COLUMNS];
    struct table *t CLEAN(table_free) = NULL;
    size_t *seen = memory_array(CELLS, sizeof *seen), rows = 0;
    for (size_t i = 0; i < COLUMNS * ROWS; i++)
        column[i] = (i % ROWS % 3 == 0 ? other : told)[i / ROWS];
    for (uint16_t a = 0; a < COLUMNS; a++)
        known[a] = (struct given_column){a, column + a * ROWS, weight[a]};
    OK(given_rows(&t, w->given, known, COLUMNS, ROWS, 5, chance, NULL));
    for (size_t i = 0; i < CELLS; i++)
        all += p[i] = w->p[i] * factor(code, weight, i);
    for (size_t row = 0; row < ROWS; row++) {
        if (row % 3 == 0) {
            assert_int_equal(t->column[0][row], 1);
            assert_int_equal(t->column[2][row], 3);
            continue;
        }
        if (told == code)
            assert_true(fabs(chance[row] - log(all)) < 1e-9);
        rows++;
        seen[table_cell(t, everything.attribute, COLUMNS, row)]++;
    }
    for (size_t i = 0; i < CELLS; i++) {
        const double expected = (double)rows * p[i] / all;
        if (!(expected > 0) && told == code)
            assert_int_equal(seen[i], 0);
        if (!(expected > 1))
            continue;
        chi += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
        cells++;
    }
    free(chance);
    free(column);
    free(seen);
    return cells > 1 ? (chi - cells) / sqrt(2 * cells) : 0;
}

TEST(rows_follow_what_is_known)
{
    static const double of[] = {1, 0.1, 0, 2, 0.5, 0, 1, 1, 0, 3}, one[] = {0.2, 7, 1, 0};
    static const double *const weight[COLUMNS] = {NULL, one, of, NULL, NULL, NULL};
    static const uint32_t evidence[][COLUMNS] = {
        {ANY, ANY, ANY, ANY, ANY, ANY}, {2, ANY, ANY, 1, ANY, ANY}, {ANY, 1, ANY, ANY, ANY, 2},
        {ANY, ANY, 2, ANY, 1, ANY},     {ANY, ANY, 5, 3, ANY, ANY}, {0, ANY, 6, ANY, ANY, ANY},
        {ANY, 4, 6, ANY, 0, 1},         {1, 2, 3, 2, 1, 0},
    };
    struct given_world w CLEAN(world_free) = {0};
    world_new(&w);
    for (size_t i = 0; i < sizeof evidence / sizeof *evidence; i++)
        assert_true(judge(&w, evidence[i], evidence[i], weight) < 4.5);
    /* planted: what is known two cliques away is not told; weights are not */
    assert_true(judge(&w, evidence[0], evidence[1], weight) > 10);
    assert_true(judge(&w, evidence[3], evidence[6], weight) > 10);
}

TEST(what_cannot_occur_is_told_row_by_row)
{
    static const uint32_t a1[] = {3, 3, 0, ANY}, a4[] = {1, 0, 1, ANY}, a2[] = {0, 0, 4, 1};
    const struct given_column known[] = {{1, a1, NULL}, {4, a4, NULL}, {2, a2, NULL}};
    struct given_world w CLEAN(world_free) = {0};
    struct table *t CLEAN(table_free) = NULL;
    double chance[4];
    world_new(&w);
    OK(given_rows(&t, w.given, known, 3, 4, 1, chance, NULL));
    assert_true(chance[0] == -INFINITY && isfinite(chance[1])); /* the structural zero */
    assert_true(chance[2] == -INFINITY && isfinite(chance[3])); /* a code without a share */
    assert_int_equal(t->column[1][1], 3);
    assert_int_equal(t->column[2][3], 1);
}

/* 250 known columns, each as unlikely as 1e-4: together less likely than any double. */
TEST(much_evidence_does_not_underflow)
{
    enum { MANY = 250 };
    struct domain *d CLEAN(domain_free) = NULL;
    uint32_t size[MANY], one = 1;
    struct clique *c = memory_array(MANY, sizeof *c);
    struct given_column *known = memory_array(MANY, sizeof *known);
    struct model *m CLEAN(model_free) = NULL;
    struct given *g CLEAN(given_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct model_terms terms = {.clique = c, .cliques = MANY - 1, .limit_cells = 100000};
    double chance, expected = 0;
    for (uint16_t a = 0; a < MANY; a++)
        size[a] = a == 0 ? 3 : 2;
    for (uint16_t a = 1; a < MANY; a++) {
        c[a - 1] = (struct clique){2, {0, a}};
        known[a - 1] = (struct given_column){a, &one, NULL};
    }
    terms.domain = d = support_domain(size, MANY);
    OK(model_new(&m, &terms, NULL));
    for (size_t k = 0; k < m->potentials; k++)
        for (size_t i = 0; i < 6; i++) /* p(1 | a0) is .001, .0001 or .0003 */
            m->theta[m->potential[k].offset + i] = log(
                (const double[]){0.999, 0.001, 0.9999, 0.0001, 0.9997, 0.0003}[i]);
    model_propagate(m, true);
    OK(given_new(&g, m));
    OK(given_rows(&t, g, known, MANY - 1, 1, 1, &chance, NULL));
    expected = log(1.0 / 3) + (MANY - 1) * log(0.001);
    assert_true(fabs(chance - expected) < 1e-6);
    assert_int_equal(t->column[0][0], 0);
    free(c);
    free(known);
}
