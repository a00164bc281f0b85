/*
 * Gradients in the clear: against the formulas, how far one row can move them, by brute force,
 * finite differences, and how rows are split.
 */
#include "harness/cmocka.h"
#include "tests/support/train.h"

static void sum(struct train_scene *s, int64_t *sums)
{
    struct slope *g CLEAN(slope_free) = MADE(slope, slope_new, s->f, s->table);
    slope_sum(g, s->weight, sums);
}

static void draw_weights(struct train_scene *s, struct random *r, unsigned how)
{
    static const int64_t extremes[] = {-32767, -1, 0, 1, 32767, 31};
    for (uint32_t i = 0; i < features_weights(s->f); i++)
        s->weight[i] = how == 0   ? (int64_t)random_below(r, 65535) - 32767
                       : how == 1 ? extremes[random_below(r, 6)]
                                  : (int64_t)random_below(r, 401) - 200;
}

static void draw_rows(struct train_scene *s, struct random *r, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        train_row(s, (uint16_t)random_below(r, 16), (uint16_t)random_below(r, s->f->classes + 1),
                  (uint16_t)random_below(r, 16));
}

/* --- terms ------------------------------------------------------------------------------------ */

TEST(other_classes_of_a_row_move_no_more_than_its_own)
{
    static const struct {
        uint32_t classes;
        unsigned j;
    } cases[] = {{2, 5}, {3, 4}, {5, 4}, {6, 3}, {20, 3}, {21, 2}, {64, 2}};
    struct train_scene s CLEAN(train_end);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t k = cases[i].classes, others = (1u << cases[i].j) - 1;
        s = train_start(cases[i].classes, 0, 4);
        assert_int_equal(s.f->j, cases[i].j);
        assert_int_equal(s.f->outputs, k == 2 ? 1 : k);
        assert_int_equal(s.f->count, 5 + 4 + 1); /* a may be missing */
        assert_int_equal(s.f->r2, 3);
        assert_int_equal(s.f->q2, 961 + (k == 2 ? 0 : (k - 1) * others * others));
        train_end(&s);
    }
    s = train_start(3, 12, 16);
    assert_int_equal(s.f->count, 3);
    assert_int_equal(s.f->r2, 145);
}

static void refuses(const struct domain *d, const struct features_terms *t, const char *words)
{
    LOG_INTO(log, text, LOG_ERROR);
    struct features *f;
    GIVES(features_new(&f, d, t, &log), ERR_STUDY, text, words);
}

TEST(columns_that_a_classifier_cannot_have_are_refused)
{
    static const double edges[] = {0, 1, 2};
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_numeric(d, "bins", edges, 3, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_integer(d, "many", 0, 64, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL));
    refuses(d, &(struct features_terms){.target = 0}, "target bins is a number in bins");
    refuses(d, &(struct features_terms){.target = 1}, "has 65 values");
    refuses(d, &(struct features_terms){.target = 2, .numbers = true, .norm = 20},
            "bins is not of kind integer");
    refuses(d, &(struct features_terms){.target = 2, .numbers = true}, "norm of 1 to 240");
    domain_free(&d);
    OK(domain_new(&d));
    OK(domain_add_integer(d, "n", 0, 16, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL));
    refuses(d, &(struct features_terms){.target = 1, .numbers = true, .norm = 20},
            "n has more values");
    domain_free(&d);
    OK(domain_new(&d));
    OK(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL));
    refuses(d, &(struct features_terms){.target = 0}, "one column at least");
}

/* --- gradients -------------------------------------------------------------------------------- */

/* The formulas of aim/train/features.h, row by row. */
static void naive(const struct train_scene *s, int64_t *sums)
{
    const struct features *f = s->f;
    memset(sums, 0, features_weights(f) * sizeof *sums);
    for (size_t row = 0; row < s->table->rows; row++) {
        const uint32_t last = s->domain->attribute[1].size - 1, sent = s->table->column[1][row];
        const uint32_t y = sent < last ? sent : last;
        uint64_t squares = 0;
        int64_t u[64] = {[0] = 0};
        u[f->count - 1] = 1;
        for (size_t i = 0; i < TRAIN_COLUMNS; i++) {
            const uint16_t code = s->table->column[i][row];
            if (f->column[i].kind == FEATURES_NUMBER)
                squares += (uint64_t)((u[f->column[i].first] = code) * code);
            else if (f->column[i].kind == FEATURES_ONE_HOT)
                u[f->column[i].first +
                  (code < f->column[i].count ? code : f->column[i].count - 1)] = 1;
        }
        for (uint32_t k = 0;
             y < f->classes && squares <= (f->norm2 > 0 ? f->norm2 : 0) && k < f->outputs; k++) {
            const bool own = y == (f->classes == 2 ? 1 : k);
            const int64_t top = own || f->classes == 2 ? 31 : (1 << f->j) - 1;
            int64_t z = f->classes == 2 ? 512 : 128, p;
            for (uint32_t i = 0; i < f->count; i++)
                z += s->weight[k * f->count + i] * u[i];
            z = ((z % 65536) + 65536) % 65536;
            z = z >= 32768 ? z - 65536 : z;
            p = z < 0 ? 0 : z / 32;
            p = p > top ? top : p;
            for (uint32_t i = 0; i < f->count; i++)
                sums[k * f->count + i] += (p - (own ? 31 : 0)) * u[i];
        }
    }
}

static void compare(uint32_t classes, unsigned norm, uint32_t size, size_t rows)
{
    struct random r = random_of(classes + norm);
    struct train_scene s CLEAN(train_end) = train_start(classes, norm, size);
    int64_t *expected CLEAN(memory_release) = NULL;
    OK(memory_new(&expected, features_weights(s.f)));
    draw_rows(&s, &r, rows);
    for (unsigned how = 0; how < 3; how++) {
        draw_weights(&s, &r, how);
        sum(&s, s.sums);
        naive(&s, expected);
        assert_memory_equal(s.sums, expected, features_weights(s.f) * sizeof *expected);
    }
}

TEST(gradients_are_what_the_formulas_say)
{
    static const uint32_t classes[] = {2, 3, 10, 21};
    for (size_t i = 0; i < 4; i++) {
        compare(classes[i], 0, 10, 511); /* codes of up to 15: some are outside their column */
        compare(classes[i], 0, 16, 513);
        compare(classes[i], 17, 10, 1500);
        compare(classes[i], 240, 16, 512);
        compare(classes[i], 12, 16, 1);
    }
}

/* --- sensitivity ------------------------------------------------------------------------------ */

/* Every row, even of codes outside, at these weights: the largest |G|^2. */
static uint64_t largest(struct train_scene *s)
{
    uint64_t most = 0;
    for (uint16_t a = 0; a < 16; a++)
        for (uint16_t y = 0; y <= s->f->classes; y++)
            for (uint16_t b = 0; b < 16; b++) {
                uint64_t squares = 0;
                s->table->rows = 0;
                train_row(s, a, y, b);
                sum(s, s->sums);
                for (uint32_t i = 0; i < features_weights(s->f); i++)
                    squares += (uint64_t)(s->sums[i] * s->sums[i]);
                most = squares > most ? squares : most;
            }
    return most;
}

/* Any row of class 0 is taken for all other classes, and not for its own. */
static void worst_weights(struct train_scene *s)
{
    memset(s->weight, 0, features_weights(s->f) * sizeof *s->weight);
    for (uint32_t k = 0; k < s->f->outputs; k++)
        s->weight[(k + 1) * s->f->count - 1] = k == 0 && s->f->classes > 2 ? -32767 : 32000;
}

static void search(uint32_t classes, unsigned norm, uint32_t size, unsigned times)
{
    struct random r = random_of(7 * classes + norm);
    struct train_scene s CLEAN(train_end) = train_start(classes, norm, size);
    for (unsigned i = 0; i < times; i++) {
        draw_weights(&s, &r, i % 3);
        assert_in_range(largest(&s), 0, s.f->r2 * s.f->q2);
    }
    worst_weights(&s);
    assert_int_equal(largest(&s), s.f->r2 * s.f->q2);
}

TEST(no_row_moves_a_gradient_further_than_it_is_charged_for_and_some_row_does)
{
    search(2, 0, 4, 300);
    search(3, 0, 16, 150);
    search(6, 0, 3, 60);
    search(21, 0, 4, 20);
    search(2, 12, 16, 250);
    search(3, 15, 16, 150);
    search(6, 5, 16, 70);
}

/* --- the slope of a loss ---------------------------------------------------------------------- */

/* The integral of r over z, for z in steps of 32. */
static double loss_of(double z, double top, bool own)
{
    const double p = z / 32, cut = fmax(0, fmin(p, top));
    return 32 * (cut * cut / 2 + (p - cut) * cut - (own ? 31 * p : 0));
}

static double loss(const struct train_scene *s, const double *w)
{
    const struct features *f = s->f;
    double all = 0;
    for (size_t row = 0; row < s->table->rows; row++)
        for (uint32_t k = 0; k < f->outputs; k++) {
            const bool own = s->table->column[1][row] == features_class(f, k);
            const double *of = w + k * f->count;
            const double z = features_start(f) + of[f->count - 1] +
                             of[f->column[0].first] * s->table->column[0][row] +
                             of[f->column[2].first] * s->table->column[2][row];
            all += loss_of(z, own || f->classes == 2 ? 31 : (1 << f->j) - 1, own);
        }
    return all;
}

/* With weights of multiples of 32 nothing is rounded. */
static void slope(uint32_t classes)
{
    struct random r = random_of(classes);
    struct train_scene s CLEAN(train_end) = train_start(classes, 22, 16);
    double *w CLEAN(memory_release) = NULL;
    OK(memory_new(&w, features_weights(s.f)));
    draw_rows(&s, &r, 40);
    for (size_t i = 0; i < s.table->rows; i++)
        s.table->column[1][i] %= (uint16_t)classes;
    for (uint32_t i = 0; i < features_weights(s.f); i++)
        w[i] = (double)(s.weight[i] = 32 * ((int64_t)random_below(&r, 5) - 2));
    sum(&s, s.sums);
    for (uint32_t i = 0; i < features_weights(s.f); i++) {
        const double at = w[i], h = 1e-4;
        w[i] = at + h;
        double up = loss(&s, w);
        w[i] = at - h;
        double down = loss(&s, w);
        w[i] = at;
        assert_true(fabs((up - down) / (2 * h) - (double)s.sums[i]) < 0.05);
    }
}

/* The gradient and the test's tables, at the scene's weights. */
static void add_up(const struct train_scene *s, int64_t *sums, int64_t *cells)
{
    struct slope *g CLEAN(slope_free) = MADE(slope, slope_new, s->f, s->table);
    slope_sum(g, s->weight, sums);
    slope_test(g, s->weight, cells);
}

/* How far this row moves both. */
static void check_moves(struct train_scene *s, const int64_t *sums, const int64_t *cells,
                        uint16_t a, uint16_t y, uint16_t b, uint32_t kept, bool *tested)
{
    int64_t now[400], counts[10 * FEATURES_CELLS];
    bool moves = false;
    train_row(s, a, y, b);
    add_up(s, now, counts);
    s->table->rows--;
    *tested = (b < 16 ? b : 15) == kept && memcmp(counts, cells, features_cells(s->f) * 8) != 0;
    for (uint32_t i = 0; i < features_weights(s->f); i++)
        moves |= now[i] != sums[i];
    assert_false(moves && *tested);
    for (uint32_t k = 0; k < s->f->outputs; k++) {
        int64_t moved = 0;
        for (uint32_t i = k * FEATURES_CELLS; i < (k + 1) * FEATURES_CELLS; i++) {
            assert_in_range(counts[i] - cells[i], 0, 1);
            moved += counts[i] - cells[i];
        }
        assert_int_equal(moved, *tested); /* one cell of each table: C in all, squared */
    }
    if ((b < 16 ? b : 15) == kept)
        assert_false(moves);
}

/* Rows that are kept back move one cell of each table by 1 and no gradient; others the reverse. */
TEST(a_row_moves_a_test_or_a_gradient_and_never_both)
{
    static const uint32_t classes[] = {2, 3, 10};
    struct random r = random_of(8);
    for (unsigned i = 0; i < 6; i++) {
        const unsigned norm = i < 3 ? 0 : 12, kept = i % 2 == 0 ? 15 : 4;
        struct train_scene s CLEAN(train_end) = train_start(classes[i % 3], norm, 16);
        size_t tested = 0;
        train_keep(&s, kept);
        draw_rows(&s, &r, 30);
        for (unsigned how = 0; how < 3; how++) {
            int64_t sums[400], cells[10 * FEATURES_CELLS];
            draw_weights(&s, &r, how);
            add_up(&s, sums, cells);
            for (uint16_t row = 0; row < 20 * 20; row++)
                for (uint16_t y = 0; y < classes[i % 3] + 2; y++) {
                    bool one;
                    check_moves(&s, sums, cells, row / 20, y, row % 20, kept, &one);
                    tested += one;
                }
        }
        /* all that have a class, and are short enough */
        assert_int_equal(tested, 3 * classes[i % 3] * (kept == 15 ? 5 : 1) * (norm > 0 ? 13 : 20));
    }
}

/* r has no jumps, so that kinks of it move the quotient by O(h) only. */
TEST(a_gradient_is_the_slope_of_a_piecewise_square)
{
    slope(2);
    slope(3);
    slope(6);
}

/* --- splits ----------------------------------------------------------------------------------- */

TEST(how_rows_are_split_changes_no_bit)
{
    static const size_t parts[] = {1, 5, 20};
    struct random r = random_of(3);
    struct train_scene whole, part;
    whole = train_start(10, 15, 16);
    draw_rows(&whole, &r, 2000);
    draw_weights(&whole, &r, 2);
    sum(&whole, whole.sums);
    for (size_t k = 0; k < 3; k++) {
        int64_t *all CLEAN(memory_release) = NULL;
        OK(memory_new(&all, features_weights(whole.f)));
        for (size_t p = 0; p < parts[k]; p++) {
            part = train_start(10, 15, 16);
            memcpy(part.weight, whole.weight, features_weights(whole.f) * sizeof *part.weight);
            for (size_t i = p; i < whole.table->rows; i += parts[k])
                train_row(&part, whole.table->column[0][i], whole.table->column[1][i],
                          whole.table->column[2][i]);
            sum(&part, part.sums);
            for (uint32_t i = 0; i < features_weights(whole.f); i++)
                all[i] += part.sums[i];
            train_end(&part);
        }
        assert_memory_equal(all, whole.sums, features_weights(whole.f) * sizeof *all);
    }
    train_end(&whole);
}
