/*
 * Training in the clear: gradients against the formulas, how far one row can move them, by brute
 * force, finite differences, how rows are split, the ledger, and the file of a classifier.
 */
#include "harness/cmocka.h"

#include "aim/budget/budget.h"
#include "aim/run/plaintext.h"
#include "aim/run/train_run.h"
#include "aim/run/trajectory.h"
#include "aim/train/classifier.h"
#include "aim/train/distill.h"
#include "aim/train/shrink.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 3

/* A target of K classes that may be missing, and columns of numbers or of codes. */
struct scene {
    struct domain *domain;
    struct features *f;
    struct table *table;
    int64_t *weight, *sums;
    size_t attributes;
};

static void start(struct scene *s, uint32_t classes, unsigned norm, uint32_t size)
{
    const struct features_terms terms = {.target = 1, .numbers = norm > 0, .norm = norm};
    const char *missing = norm > 0 ? NULL : "";
    *s = (struct scene){.attributes = COLUMNS};
    assert_int_equal(domain_new(&s->domain), ERR_OK);
    assert_int_equal(domain_add_integer(s->domain, "a", 0, size - 1, missing, DOMAIN_CLIP, NULL),
                     ERR_OK);
    assert_int_equal(domain_add_integer(s->domain, "y", 0, classes - 1, "?", DOMAIN_CLIP, NULL),
                     ERR_OK);
    assert_int_equal(domain_add_integer(s->domain, "b", 5, 4 + size, NULL, DOMAIN_CLIP, NULL),
                     ERR_OK);
    assert_int_equal(features_new(&s->f, s->domain, &terms, NULL), ERR_OK);
    assert_int_equal(table_new(&s->table, s->domain, 0), ERR_OK);
    assert_int_equal(memory_new(&s->weight, features_weights(s->f)), ERR_OK);
    assert_int_equal(memory_new(&s->sums, features_weights(s->f)), ERR_OK);
}

static void end(struct scene *s)
{
    memory_free(&s->sums);
    memory_free(&s->weight);
    table_free(&s->table);
    features_free(&s->f);
    domain_free(&s->domain);
}

/* Codes that no honest owner sends are put in afterwards. */
static void add_row(struct scene *s, uint16_t a, uint16_t y, uint16_t b)
{
    const uint16_t zero[COLUMNS] = {0};
    const size_t row = s->table->rows;
    assert_int_equal(table_append(s->table, zero), ERR_OK);
    s->table->column[0][row] = a;
    s->table->column[1][row] = y;
    s->table->column[2][row] = b;
}

static void sum(struct scene *s, int64_t *sums)
{
    struct slope *g;
    assert_int_equal(slope_new(&g, s->f, s->table), ERR_OK);
    slope_sum(g, s->weight, sums);
    slope_free(&g);
}

static void draw_weights(struct scene *s, struct random *r, unsigned how)
{
    static const int64_t extremes[] = {-32767, -1, 0, 1, 32767, 31};
    for (uint32_t i = 0; i < features_weights(s->f); i++)
        s->weight[i] = how == 0   ? (int64_t)random_below(r, 65535) - 32767
                       : how == 1 ? extremes[random_below(r, 6)]
                                  : (int64_t)random_below(r, 401) - 200;
}

static void draw_rows(struct scene *s, struct random *r, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        add_row(s, (uint16_t)random_below(r, 16), (uint16_t)random_below(r, s->f->classes + 1),
                (uint16_t)random_below(r, 16));
}

/* --- terms ------------------------------------------------------------------------------------ */

TEST(other_classes_of_a_row_move_no_more_than_its_own)
{
    static const struct {
        uint32_t classes;
        unsigned j;
    } cases[] = {{2, 5}, {3, 4}, {5, 4}, {6, 3}, {20, 3}, {21, 2}, {64, 2}};
    struct scene s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t k = cases[i].classes, others = (1u << cases[i].j) - 1;
        start(&s, cases[i].classes, 0, 4);
        assert_int_equal(s.f->j, cases[i].j);
        assert_int_equal(s.f->outputs, k == 2 ? 1 : k);
        assert_int_equal(s.f->count, 5 + 4 + 1); /* a may be missing */
        assert_int_equal(s.f->r2, 3);
        assert_int_equal(s.f->q2, 961 + (k == 2 ? 0 : (k - 1) * others * others));
        end(&s);
    }
    start(&s, 3, 12, 16);
    assert_int_equal(s.f->count, 3);
    assert_int_equal(s.f->r2, 145);
    end(&s);
}

static void refuses(const struct domain *d, const struct features_terms *t, const char *words)
{
    char text[512] = "";
    struct log log = {.buffer = text, .buffer_size = sizeof text, .level = LOG_ERROR};
    struct features *f;
    assert_int_equal(features_new(&f, d, t, &log), ERR_STUDY);
    support_says(text, words);
}

TEST(columns_that_a_classifier_cannot_have_are_refused)
{
    static const double edges[] = {0, 1, 2};
    struct domain *d;
    assert_int_equal(domain_new(&d), ERR_OK);
    assert_int_equal(domain_add_numeric(d, "bins", edges, 3, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    assert_int_equal(domain_add_integer(d, "many", 0, 64, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    assert_int_equal(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    refuses(d, &(struct features_terms){.target = 0}, "target bins is a number in bins");
    refuses(d, &(struct features_terms){.target = 1}, "has 65 values");
    refuses(d, &(struct features_terms){2, true, 20}, "bins is not of kind integer");
    refuses(d, &(struct features_terms){2, true, 0}, "norm of 1 to 240");
    domain_free(&d);
    assert_int_equal(domain_new(&d), ERR_OK);
    assert_int_equal(domain_add_integer(d, "n", 0, 16, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    assert_int_equal(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    refuses(d, &(struct features_terms){1, true, 20}, "n has more values");
    domain_free(&d);
    assert_int_equal(domain_new(&d), ERR_OK);
    assert_int_equal(domain_add_integer(d, "y", 0, 1, NULL, DOMAIN_CLIP, NULL), ERR_OK);
    refuses(d, &(struct features_terms){.target = 0}, "one column at least");
    domain_free(&d);
}

/* --- gradients -------------------------------------------------------------------------------- */

/* The formulas of aim/train/features.h, row by row. */
static void naive(const struct scene *s, int64_t *sums)
{
    const struct features *f = s->f;
    memset(sums, 0, features_weights(f) * sizeof *sums);
    for (size_t row = 0; row < s->table->rows; row++) {
        const uint32_t last = s->domain->attribute[1].size - 1, sent = s->table->column[1][row];
        const uint32_t y = sent < last ? sent : last;
        uint64_t squares = 0;
        int64_t u[64] = {[0] = 0};
        u[f->count - 1] = 1;
        for (size_t i = 0; i < COLUMNS; i++) {
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
    struct scene s;
    int64_t *expected;
    start(&s, classes, norm, size);
    assert_int_equal(memory_new(&expected, features_weights(s.f)), ERR_OK);
    draw_rows(&s, &r, rows);
    for (unsigned how = 0; how < 3; how++) {
        draw_weights(&s, &r, how);
        sum(&s, s.sums);
        naive(&s, expected);
        assert_memory_equal(s.sums, expected, features_weights(s.f) * sizeof *expected);
    }
    memory_free(&expected);
    end(&s);
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
static uint64_t largest(struct scene *s)
{
    uint64_t most = 0;
    for (uint16_t a = 0; a < 16; a++)
        for (uint16_t y = 0; y <= s->f->classes; y++)
            for (uint16_t b = 0; b < 16; b++) {
                uint64_t squares = 0;
                s->table->rows = 0;
                add_row(s, a, y, b);
                sum(s, s->sums);
                for (uint32_t i = 0; i < features_weights(s->f); i++)
                    squares += (uint64_t)(s->sums[i] * s->sums[i]);
                most = squares > most ? squares : most;
            }
    return most;
}

/* Any row of class 0 is taken for all other classes, and not for its own. */
static void worst_weights(struct scene *s)
{
    memset(s->weight, 0, features_weights(s->f) * sizeof *s->weight);
    for (uint32_t k = 0; k < s->f->outputs; k++)
        s->weight[(k + 1) * s->f->count - 1] = k == 0 && s->f->classes > 2 ? -32767 : 32000;
}

static void search(uint32_t classes, unsigned norm, uint32_t size, unsigned times)
{
    struct random r = random_of(7 * classes + norm);
    struct scene s;
    start(&s, classes, norm, size);
    for (unsigned i = 0; i < times; i++) {
        draw_weights(&s, &r, i % 3);
        assert_in_range(largest(&s), 0, s.f->r2 * s.f->q2);
    }
    worst_weights(&s);
    assert_int_equal(largest(&s), s.f->r2 * s.f->q2);
    end(&s);
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

static double loss(const struct scene *s, const double *w)
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
    struct scene s;
    double *w;
    start(&s, classes, 22, 16);
    assert_int_equal(memory_new(&w, features_weights(s.f)), ERR_OK);
    draw_rows(&s, &r, 40);
    for (size_t i = 0; i < s.table->rows; i++)
        s.table->column[1][i] %= (uint16_t)classes;
    for (uint32_t i = 0; i < features_weights(s.f); i++)
        w[i] = (double)(s.weight[i] = 32 * ((int64_t)random_below(&r, 5) - 2));
    sum(&s, s.sums);
    for (uint32_t i = 0; i < features_weights(s.f); i++) {
        const double at = w[i], h = 1e-4;
        double up, down;
        w[i] = at + h;
        up = loss(&s, w);
        w[i] = at - h;
        down = loss(&s, w);
        w[i] = at;
        assert_true(fabs((up - down) / (2 * h) - (double)s.sums[i]) < 0.05);
    }
    memory_free(&w);
    end(&s);
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
    struct scene whole, part;
    start(&whole, 10, 15, 16);
    draw_rows(&whole, &r, 2000);
    draw_weights(&whole, &r, 2);
    sum(&whole, whole.sums);
    for (size_t k = 0; k < 3; k++) {
        int64_t *all;
        assert_int_equal(memory_new(&all, features_weights(whole.f)), ERR_OK);
        for (size_t p = 0; p < parts[k]; p++) {
            start(&part, 10, 15, 16);
            memcpy(part.weight, whole.weight, features_weights(whole.f) * sizeof *part.weight);
            for (size_t i = p; i < whole.table->rows; i += parts[k])
                add_row(&part, whole.table->column[0][i], whole.table->column[1][i],
                        whole.table->column[2][i]);
            sum(&part, part.sums);
            for (uint32_t i = 0; i < features_weights(whole.f); i++)
                all[i] += part.sums[i];
            end(&part);
        }
        assert_memory_equal(all, whole.sums, features_weights(whole.f) * sizeof *all);
        memory_free(&all);
    }
    end(&whole);
}

/* --- a run ------------------------------------------------------------------------------------ */

struct lossy {
    struct aim_backend of;
    unsigned lost; /* this step never arrives */
};

static enum err ask_lossy(void *self, const struct ask *a, struct ask_told *told)
{
    struct lossy *l = self;
    if (a->kind != ASK_GRADIENT || a->round != l->lost)
        return l->of.ask(l->of.self, a, told);
    told->lost = 1;
    return ERR_OK;
}

static struct train_result *run(struct scene *s, struct train_options *o, unsigned lost)
{
    struct random r = random_of(11);
    const struct plaintext_noise noise = noise_from_random(&r);
    struct workload *w;
    struct plaintext *p;
    struct slope *g;
    struct train_result *result;
    struct lossy lossy;
    assert_int_equal(workload_all(&w, s->domain, 1, NULL), ERR_OK);
    assert_int_equal(plaintext_new(&p, w, s->table, &noise, NULL), ERR_OK);
    assert_int_equal(slope_new(&g, s->f, s->table), ERR_OK);
    plaintext_train(p, g);
    lossy = (struct lossy){plaintext_backend(p), lost};
    o->features = s->f;
    o->workload = w;
    o->bounds = (struct score_bounds){.bits = 20};
    assert_int_equal(
        train_run(&result, o, &(struct aim_backend){.self = &lossy, .ask = ask_lossy}, NULL),
        ERR_OK);
    slope_free(&g);
    plaintext_free(&p);
    workload_free(&w);
    return result;
}

/* The second class has a + b > 15. */
static void draw_sums(struct scene *s, size_t rows)
{
    struct random r = random_of(5);
    for (size_t i = 0; i < rows; i++) {
        const uint16_t a = (uint16_t)random_below(&r, 16), b = (uint16_t)random_below(&r, 16);
        add_row(s, a, a + b > 15, b);
    }
}

/* Debits the counts and the steps of a run; then one step more. */
static void check_ledger(const struct scene *s, const struct train_result *r,
                         const struct ledger_limits *limits)
{
    struct ledger *l;
    mpq_t cost, all;
    mpz_t moves;
    mpq_inits(cost, all, (mpq_ptr)NULL);
    mpz_init(moves);
    assert_int_equal(ledger_new(&l, limits, NULL), ERR_OK);
    ledger_measure_cost(cost, (uint64_t)llround(0x1p20 / r->sigma), 1);
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_OK);
    assert_true(mpq_get_d(cost) == r->counts_cost);
    for (unsigned t = 0; t < r->steps; t++) {
        const uint64_t m = r->step[t].multiplier;
        mpz_set_ui(moves, m * m);
        mpz_mul_ui(moves, moves, s->f->r2 * s->f->q2);
        mpq_set_z(cost, moves);
        mpq_div_2exp(cost, cost, 41);
        assert_int_equal(ledger_debit(l, cost, NULL), ERR_OK);
        assert_true(ledger_spent(l) == r->step[t].spent);
    }
    assert_int_equal(ledger_debit(l, cost, NULL), ERR_BUDGET);
    assert_true(ledger_remaining(l) < 1e-3 * limits->rho);
    ledger_free(&l);
    mpz_clear(moves);
    mpq_clears(cost, all, (mpq_ptr)NULL);
}

TEST(a_run_spends_the_ledger_and_no_more_even_if_a_step_is_lost)
{
    struct train_options o = {.limits = {.rho = 0.5, .epsilon_slack = 1}, .steps = 12};
    struct scene s;
    struct train_result *r;
    start(&s, 2, 22, 16);
    draw_sums(&s, 3000);
    r = run(&s, &o, 7);
    assert_int_equal(r->steps, 12);
    assert_true(r->step[6].lost && r->step[6].value == NULL && train_length(r, 6) == 0);
    assert_memory_equal(r->step[7].weight, r->step[6].weight, r->weights * sizeof(int16_t));
    assert_true(r->step[7].value != NULL && r->step[6].cost > 0);
    check_ledger(&s, r, &o.limits);
    train_result_free(&r);
    end(&s);
}

/* The same answers give the same bits; the order of rows is no part of them. */
TEST(a_run_learns_and_the_order_of_rows_changes_no_bit)
{
    struct train_options o = {.limits = {.rho = 1, .epsilon_slack = 1}, .steps = 40};
    struct scene s;
    struct train_result *r, *again;
    struct classifier *c;
    struct classifier_check check;
    start(&s, 2, 22, 16);
    draw_sums(&s, 3000);
    r = run(&s, &o, UINT32_MAX);
    for (size_t i = 0, k = s.table->rows - 1; i < k; i++, k--)
        for (size_t a = 0; a < COLUMNS; a++) {
            const uint16_t code = s.table->column[a][i];
            s.table->column[a][i] = s.table->column[a][k];
            s.table->column[a][k] = code;
        }
    again = run(&s, &o, UINT32_MAX);
    assert_memory_equal(r->weight, again->weight, r->weights * sizeof *r->weight);
    assert_int_equal(classifier_new(&c, s.f, r->weight), ERR_OK);
    assert_int_equal(classifier_check(&check, c, s.table), ERR_OK);
    assert_true(check.auc > 0.99 && (double)check.right > 0.85 * (double)check.rows);
    assert_int_equal(check.confused[0] + check.confused[3], check.right);
    classifier_check_clear(&check);
    classifier_free(&c);
    train_result_free(&again);
    train_result_free(&r);
    end(&s);
}

TEST(a_budget_that_buys_no_step_is_refused)
{
    struct scene s;
    start(&s, 2, 240, 16);
    assert_int_equal(train_multiplier(s.f, 60, 1e-6), 0);
    assert_true(train_multiplier(s.f, 60, 1e-2) > 0);
    end(&s);
}

TEST(a_request_with_other_weights_is_refused)
{
    struct scene s;
    start(&s, 3, 0, 4);
    assert_int_equal(features_check(s.f, 1, s.weight, 30, 1000, NULL), ERR_OK);
    assert_int_equal(features_check(s.f, 1, s.weight, 29, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 0, s.weight, 30, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 1 << 30, s.weight, 30, 1000, NULL), ERR_REFUSED);
    assert_int_equal(features_check(s.f, 1 << 29, s.weight, 30, UINT32_MAX, NULL), ERR_REFUSED);
    s.weight[4] = -32768;
    assert_int_equal(features_check(s.f, 1, s.weight, 30, 1000, NULL), ERR_REFUSED);
    end(&s);
}

/* --- shrinking and distilling ----------------------------------------------------------------- */

TEST(rows_above_the_norm_are_shrunk_as_little_as_fits)
{
    struct scene s;
    start(&s, 2, 10, 16);
    add_row(&s, 6, 0, 8);  /* fits: 100 */
    add_row(&s, 15, 1, 0); /* shrinks to 10 */
    add_row(&s, 9, 1, 9);  /* 162: to 7 and 7, at .99^19 */
    assert_int_equal(shrink_rows(s.table, s.f), 2);
    assert_int_equal(s.table->column[0][0], 6);
    assert_int_equal(s.table->column[2][0], 8);
    assert_int_equal(s.table->column[0][1], 10);
    assert_int_equal(s.table->column[0][2], 7);
    assert_int_equal(s.table->column[2][2], 7);
    assert_int_equal(s.table->column[1][2], 1);
    assert_int_equal(shrink_rows(s.table, s.f), 0);
    end(&s);
}

/* Weights and gradients of a made-up step. */
static void distill_at(uint32_t classes)
{
    struct random r = random_of(classes);
    struct scene s;
    double w[64], g[64], rows[9 * 8], slope[9 * 8] = {0}, none[9 * 8];
    double *weight = w, *gradient = g, loss = 0;
    uint32_t label[9];
    struct distill_terms t;
    size_t n;
    start(&s, classes, 22, 16);
    n = 9 * s.f->count;
    t = (struct distill_terms){
        .features = s.f, .steps = 1, .weight = &weight, .gradient = &gradient};
    for (uint32_t i = 0; i < features_weights(s.f); i++) {
        w[i] = 40 * random_double(&r) - 20;
        g[i] = 1000 * random_double(&r) - 500;
    }
    for (size_t i = 0; i < n; i++)
        rows[i] = random_double(&r) - 0.5;
    for (uint32_t i = 0; i < 9; i++)
        label[i] = i % classes;
    assert_int_equal(distill_slope(&t, 0, rows, label, 9, slope, &loss), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        const double at = rows[i], h = 1e-6;
        double up = 0, down = 0;
        rows[i] = at + h;
        assert_int_equal(distill_slope(&t, 0, rows, label, 9, none, &up), ERR_OK);
        rows[i] = at - h;
        assert_int_equal(distill_slope(&t, 0, rows, label, 9, none, &down), ERR_OK);
        rows[i] = at;
        assert_true(fabs((up - down) / (2 * h) - slope[i]) < 1e-4 * fmax(1, fabs(slope[i])));
    }
    end(&s);
}

TEST(distilling_goes_down_its_loss)
{
    distill_at(2);
    distill_at(3);
    distill_at(6);
}

/* A run's files lead to rows whose gradients are those that it opened. */
TEST(rows_are_distilled_from_a_trajectory)
{
    char path[] = "/tmp/test_train_XXXXXX", said[512] = "";
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    struct train_options o = {.limits = {.rho = 1, .epsilon_slack = 1}, .steps = 12};
    struct scene s;
    struct train_result *r;
    struct trajectory t;
    struct distilled d;
    close(mkstemp(path));
    start(&s, 2, 22, 16);
    draw_sums(&s, 3000);
    r = run(&s, &o, 7);
    assert_int_equal(trajectory_save(path, r, s.f, NULL), ERR_OK);
    assert_int_equal(trajectory_load(&t, path, s.f, NULL), ERR_OK);
    assert_int_equal(t.steps, 11); /* one was lost */
    assert_true(t.rows == r->rows && t.weight[3][1] == r->step[3].weight[1]);
    assert_true(fabs(t.gradient[6][0] * r->rows * (double)r->step[7].multiplier -
                     (double)r->step[7].value[0]) < 1);
    assert_int_equal(distill(&d, &(struct distill_terms){.features = s.f,
                                                         .steps = t.steps,
                                                         .weight = t.weight,
                                                         .gradient = t.gradient,
                                                         .per_class = 5,
                                                         .iterations = 3000,
                                                         .seed = 1}),
                     ERR_OK);
    assert_int_equal(d.rows, 10);
    assert_int_equal(d.count, 2);
    assert_int_equal(d.label[4] + 10 * d.label[5], 10);
    assert_true(d.loss < 0.05);
    distilled_clear(&d);
    trajectory_clear(&t);
    assert_int_equal(file_write(path, 0600, "{\"format\":\"x\"}", 14, NULL), ERR_OK);
    assert_int_equal(trajectory_load(&t, path, s.f, &log), ERR_FORMAT);
    support_says(said, "format must be");
    train_result_free(&r);
    end(&s);
    remove(path);
}

/* --- classifier.json -------------------------------------------------------------------------- */

static void damaged(const char *path, const char *from, const char *to, const char *words)
{
    struct bytes text = {0}, other = {0};
    char said[512] = "";
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    struct classifier *c;
    const char *at;
    assert_int_equal(file_read(path, 1 << 20, &text, NULL), ERR_OK);
    bytes_put_u8(&text, 0);
    at = strstr((const char *)text.data, from);
    assert_non_null(at);
    bytes_put(&other, text.data, (size_t)(at - (const char *)text.data));
    bytes_put_text(&other, to);
    bytes_put_text(&other, at + strlen(from));
    assert_int_equal(file_write(path, 0600, other.data, other.size, NULL), ERR_OK);
    assert_int_equal(classifier_load(&c, path, &log), ERR_FORMAT);
    support_says(said, words);
    assert_int_equal(file_write(path, 0600, text.data, text.size - 1, NULL), ERR_OK);
    bytes_clear(&text);
    bytes_clear(&other);
}

TEST(a_classifier_is_read_back_and_a_damaged_one_is_refused)
{
    char path[] = "/tmp/test_train_XXXXXX";
    struct random r = random_of(9);
    struct scene s;
    struct classifier *c, *back;
    double *w;
    close(mkstemp(path));
    start(&s, 3, 0, 4);
    assert_int_equal(memory_new(&w, features_weights(s.f)), ERR_OK);
    for (uint32_t i = 0; i < features_weights(s.f); i++)
        w[i] = 1000 * random_double(&r) / 3;
    assert_int_equal(classifier_new(&c, s.f, w), ERR_OK);
    c->epsilon = 1;
    c->sigma = 1.0 / 3;
    assert_int_equal(classifier_save(path, c, NULL), ERR_OK);
    assert_int_equal(classifier_load(&back, path, NULL), ERR_OK);
    assert_memory_equal(c->coef, back->coef, features_weights(s.f) * sizeof *w);
    assert_int_equal(back->features->target, 1);
    assert_true(back->sigma == c->sigma && back->epsilon == 1);
    damaged(path, "trefoil-classifier-1", "trefoil-classifier-2", "format");
    damaged(path, "\"target\":\"y\"", "\"target\":\"z\"", "target must be");
    damaged(path, "\"epsilon\":1", "\"epsilon\":-1", "epsilon must be");
    damaged(path, "\"norm\":0", "\"norm\":241", "norm must be");
    damaged(path, "\"norm\":0", "\"norm\":20", "domain has columns");
    damaged(path, "\"coef\":[[", "\"coef\":[[1,", "coef has another length");
    damaged(path, "\"intercept\":[", "\"intercept\":[\"x\",", "intercept has another length");
    damaged(path, "\"domain\":\"", "\"domain\":\"0", "domain must be");
    damaged(path, "\"domain\":\"", "\"domain\":\"00", "domain is cut");
    memory_free(&w);
    classifier_free(&back);
    classifier_free(&c);
    end(&s);
    remove(path);
}
