/*
 * aim/: forms and how far one row can move them; the copula's numbers against integrals, and its
 * rows; trefoil aim with method: copula.
 */
#include "harness/cmocka.h"
#include "tests/support/command.h"
#include "tests/support/copula.h"
#include "tests/support/domain.h"

#include "aim/budget/budget.h"
#include "aim/budget/forms.h"
#include "aim/copula/copula.h"
#include "aim/copula/copula_noise.h"
#include "aim/copula/copula_shrink.h"
#include "aim/model/model_weigh.h"
#include "aim/model/normal.h"
#include "harness/study.h"
#include "parties/command/command.h"
#include "parties/study/method_advice.h"

/* --- forms ------------------------------------------------------------------------------------ */

#define COLUMNS 4
static const uint32_t sizes[COLUMNS] = {3, 2, 4, 1};

static uint64_t cell_of(const struct clique *c, const uint16_t *codes)
{
    uint64_t cell = 0;
    for (unsigned i = 0; i < c->n; i++)
        cell = cell * sizes[c->attribute[i]] + codes[c->attribute[i]];
    return cell;
}

struct some_forms {
    struct domain *domain;
    struct workload *workload;
};

static void some_clear(struct some_forms *s)
{
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static struct some_forms some_new(unsigned ways)
{
    struct some_forms s = {.domain = support_domain(sizes, COLUMNS)};
    OK(workload_all(&s.workload, s.domain, ways, NULL));
    return s;
}

#define CODES_OF_ALL (3 + 2 + 4 + 1)

/* Adds a row to the forms of a pair, which begin at `form`; returns how many there are. */
static size_t add_by_hand(const struct forms *p, const uint16_t *codes, size_t i, size_t j,
                          int64_t *form)
{
    const struct workload_query *q = p->workload->query;
    const size_t a = (size_t)q[i].offset + codes[i], b = (size_t)q[j].offset + codes[j];
    const size_t groups = forms_groups(p, j);
    form[(size_t)p->group[a] * groups + (size_t)p->group[b]] += p->factor[a] * p->factor[b];
    return forms_groups(p, i) * groups;
}

/* All forms of a row, and the sum of their squares. */
static double row_by_hand(const struct forms *p, const uint16_t *codes, int64_t *form)
{
    int64_t one[COLUMNS * 4 * COLUMNS * 4] = {0};
    double squares = 0;
    size_t at = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t j = i + 1; j < COLUMNS; j++)
            at += add_by_hand(p, codes, i, j, one + at);
    assert_int_equal(at, forms_count(p));
    for (size_t k = 0; k < at; k++) {
        squares += (double)one[k] * (double)one[k];
        form[k] += one[k];
    }
    return squares;
}

/*
 * Products of factors, of codes in groups: the forms of the counts are the sums of the forms of
 * their rows, and the sensitivity is exactly what the worst row moves.
 */
TEST(products_of_pairs_are_exact)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct some_forms s CLEAN(some_clear) = some_new(2);
        int64_t u[CODES_OF_ALL], group[CODES_OF_ALL] = {0};
        int64_t expected[COLUMNS * 4 * COLUMNS * 4] = {0}, found[COLUMNS * 4 * COLUMNS * 4] = {0};
        uint64_t counts[200] = {0};
        size_t start[16];
        double most = 0;
        mpz_t squared;
        struct forms p = {s.workload, u, group};
        struct random r = random_of(seed);
        assert_int_equal(workload_one_way_cells(s.workload), CODES_OF_ALL);
        for (size_t a = 0; a < CODES_OF_ALL; a++)
            u[a] = (int64_t)random_below(&r, 401) - 200;
        for (size_t i = 0; seed > 0 && i < COLUMNS; i++)
            for (size_t a = 0; a < sizes[i]; a++)
                group[s.workload->query[i].offset + a] = (int64_t)random_below(&r, sizes[i]);
        assert_true(seed > 0 || forms_count(&p) == forms_pairs(COLUMNS));
        for (size_t q = 0; q < s.workload->queries; q++)
            start[q] = (size_t)s.workload->query[q].offset + 3 * q;
        for (uint32_t k = 0; k < 3 * 2 * 4; k++) {
            const uint16_t codes[COLUMNS] = {(uint16_t)(k % 3), (uint16_t)(k / 3 % 2),
                                             (uint16_t)(k / 6), 0};
            most = fmax(most, row_by_hand(&p, codes, expected));
            for (size_t q = 0; q < s.workload->queries; q++)
                counts[start[q] + cell_of(&s.workload->query[q].clique, codes)]++;
        }
        OK(forms_add(&p, counts, start, (uint64_t *)found));
        assert_memory_equal(found, expected, sizeof found);
        mpz_init(squared);
        forms_sensitivity(squared, &p);
        assert_true(mpz_get_d(squared) == most);
        mpz_clear(squared);
    }
}

static enum err check_products(const struct some_forms *s, const int64_t *u, uint64_t total)
{
    const uint64_t totals[16] = {1, total, 1};
    const struct score_bounds bounds = {.bits = 1, .total = totals};
    static const int64_t one[CODES_OF_ALL];
    return forms_check(&(struct forms){s->workload, u, one}, s->domain, &bounds, NULL);
}

TEST(groups_that_are_not_there_are_refused)
{
    static const int64_t bad[] = {-1, 4, INT64_MAX, INT64_MIN};
    const uint64_t totals[16] = {1, 1, 1};
    const struct score_bounds bounds = {.bits = 1, .total = totals};
    struct some_forms s CLEAN(some_clear) = some_new(2);
    int64_t u[CODES_OF_ALL] = {0}, group[CODES_OF_ALL] = {0};
    struct forms of = {NULL, u, group};
    of.workload = s.workload;
    group[5] = 3; /* the column of four codes */
    u[5] = 7;
    u[0] = 5; /* beside two codes of 0, in the one group of its column */
    OK(forms_check(&of, s.domain, &bounds, NULL));
    assert_int_equal(forms_count(&of), 1 + 4 + 1 + 4 + 1 + 4);
    u[8] = 1; /* of two others, in the first group, it is 0 */
    assert_int_equal(forms_check(&of, s.domain, &bounds, NULL), ERR_REFUSED);
    u[8] = 0;
    for (size_t k = 0; k < 4; k++) {
        group[5] = bad[k];
        assert_int_equal(forms_check(&of, s.domain, &bounds, NULL), ERR_REFUSED);
    }
}

TEST(products_that_could_wrap_are_refused)
{
    const uint64_t most = INT64_MAX - FORMS_NOISE;
    struct some_forms s CLEAN(some_clear) = some_new(2);
    int64_t u[CODES_OF_ALL] = {0, 1000, 0, -2000};
    OK(check_products(&s, u, most / 2000000));
    assert_int_equal(check_products(&s, u, most / 2000000 + 1), ERR_REFUSED);
    u[9] = -FORMS_FACTOR_MAX; /* of the last column; now -2000 is the second largest */
    OK(check_products(&s, u, (most >> 24) / 2000));
    assert_int_equal(check_products(&s, u, (most >> 24) / 2000 + 1), ERR_REFUSED);
    u[9]--;
    assert_int_equal(check_products(&s, u, 1), ERR_REFUSED);
    u[9] = INT64_MIN;
    assert_int_equal(check_products(&s, u, 1), ERR_REFUSED);
    s.workload->one_ways = 1;
    assert_int_equal(check_products(&s, u, 1), ERR_REFUSED);
    s.workload->one_ways = COLUMNS;
}

/* --- the copula's numbers --------------------------------------------------------------------- */

static double below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

TEST(quantiles_are_quantiles)
{
    assert_true(normal_quantile(0) == -INFINITY && normal_quantile(1) == INFINITY);
    assert_true(normal_quantile(0.5) == 0);
    for (double p = 1e-9; p < 1; p += 0.00137) {
        const double back = below(normal_quantile(p));
        assert_true(fabs(back - p) <= 1e-14 * fmax(1, 1 / (1 - p)) * p);
    }
    for (double e = 1; e < 300; e += 7)
        assert_true(fabs(below(normal_quantile(pow(10, -e))) / pow(10, -e) - 1) < 1e-12);
}

#define CODES 5
#define STEPS 800 /* of the integrals from -8 to 8 */

static double at(int i)
{
    return -8 + 16.0 / STEPS * (i + 0.5);
}

static uint32_t code_at(const struct copula_column *c, double z)
{
    double sum = 0;
    for (uint32_t a = 0; a + 1 < c->size; a++)
        if (below(z) < (sum += c->share[a]))
            return a;
    return c->size - 1;
}

/* E[t_i t_j] of two normals of correlation r, by a sum over a grid. */
static double mean_product(const struct copula_column *x, const struct copula_column *y, double r)
{
    double sum = 0, all = 0, tx[STEPS], ty[STEPS];
    for (int i = 0; i < STEPS; i++) {
        tx[i] = x->score[code_at(x, at(i))];
        ty[i] = y->score[code_at(y, at(i))];
    }
    for (int i = 0; i < STEPS; i++)
        for (int j = 0; j < STEPS; j++) {
            const double a = at(i), b = at(j);
            const double density = exp(-(a * a - 2 * r * a * b + b * b) / (2 * (1 - r * r)));
            sum += density * tx[i] * ty[j];
            all += density;
        }
    return sum / all;
}

static enum err ordered_new(struct copula_column *c, uint32_t size)
{
    const struct domain_attribute a = {.kind = &column_whole, .size = size};
    return copula_column_new(c, &a, 64);
}

static struct copula_column column_of(const double *counts, uint32_t size)
{
    struct copula_column c;
    double total = 0;
    for (uint32_t a = 0; a < size; a++)
        total += counts[a];
    OK(ordered_new(&c, size));
    OK(copula_set_shares(&c, counts, total));
    OK(copula_set_scores(&c, 2.5));
    OK(copula_set_hermite(&c));
    return c;
}

/* Scores as they are, and off centre because of rounding: the mean is taken into account. */
TEST(correlations_come_back_from_integrals)
{
    static const double counts[2][CODES] = {{10, 20, 5, 40, 25}, {60, 0, 10, 29, 1}};
    static const double r[] = {-0.85, -0.3, 0, 0.6};
    for (int off = 0; off < 2; off++) {
        struct copula_column x CLEAN(copula_column_clear) = column_of(counts[0], CODES);
        struct copula_column y CLEAN(copula_column_clear) = column_of(counts[1], CODES);
        for (uint32_t a = 0; off && a < CODES; a++) {
            x.score[a] = ceil(10 * x.score[a]) / 10;
            y.score[a] = ceil(10 * y.score[a]) / 10;
        }
        OK(copula_set_hermite(&x));
        OK(copula_set_hermite(&y));
        assert_true(!off || (x.mean > 0.02 && y.mean > 0.02));
        for (size_t k = 0; k < sizeof r / sizeof *r; k++) {
            const double back = copula_correlation(&x, &y,
                                                   mean_product(&x, &y, r[k]) - x.mean * y.mean);
            assert_true(fabs(back - r[k]) < 0.004);
        }
    }
}

/* Two fair coins: t = +-sqrt(2 / pi), and E[t t'] is (2 / pi) (2 / pi) asin(r). */
TEST(two_coins_have_the_arcsine)
{
    static const double counts[] = {50, 50};
    struct copula_column x CLEAN(copula_column_clear) = column_of(counts, 2);
    assert_true(fabs(x.score[1] - sqrt(2 / M_PI)) < 1e-12);
    for (double r = -0.9; r <= 0.9; r += 0.1)
        assert_true(fabs(copula_correlation(&x, &x, 4 / (M_PI * M_PI) * asin(r)) - r) < 0.002);
    assert_true(copula_correlation(&x, &x, 2) == COPULA_CORRELATION_MOST);
    assert_true(copula_correlation(&x, &x, -2) == -COPULA_CORRELATION_MOST);
}

/*
 * The series of two rare codes turns back near -1 and ends above 0: no correlation is found where
 * there is none, a small one is small, and a larger one is larger.
 */
TEST(rare_codes_are_not_opposites)
{
    static const double rare[][2] = {{0.995, 0.005}, {0.99, 0.01}, {0.998, 0.002}, {0.9999, 1e-4}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j <= i; j++) {
            struct copula_column x CLEAN(copula_column_clear) = column_of(rare[i], 2);
            struct copula_column y CLEAN(copula_column_clear) = column_of(rare[j], 2);
            /* what a linear series gives at correlation 1 */
            const double most = x.hermite[0] * y.hermite[0];
            double before = -1;
            assert_true(fabs(copula_correlation(&x, &y, 0)) < 1e-9);
            assert_true(fabs(copula_correlation(&x, &y, most * 1e-3) - 1e-3) < 1e-4);
            assert_true(fabs(copula_correlation(&x, &y, most * -1e-3) + 1e-3) < 1e-4);
            for (int k = -20; k <= 20; k++) {
                const double r = copula_correlation(&x, &y, most * k / 20);
                assert_true(r >= before && fabs(r) <= COPULA_CORRELATION_MOST);
                before = r;
            }
        }
}

TEST(shares_are_the_nearest_that_there_are)
{
    static const double counts[] = {60, -10, 30, 2, 8}, one[] = {0, 100, 0}, all[] = {1e-14, 100};
    static const double nearest[] = {0.5625, 0, 0.2625, 0, 0.0425}; /* each less by 3.75; 2 to 0 */
    struct copula_column x CLEAN(copula_column_clear);
    struct copula_column y CLEAN(copula_column_clear) = column_of(one, 3);
    struct copula_column z CLEAN(copula_column_clear) = column_of(all, 2);
    OK(ordered_new(&x, CODES));
    OK(copula_set_shares(&x, counts, 86.75));
    for (size_t a = 0; a < CODES; a++)
        assert_true(fabs(x.share[a] * 86.75 - 100 * nearest[a]) < 1e-9);
    /* codes without rows get the ends of their intervals */
    assert_true(y.score[0] == -2.5 && y.score[1] == 0 && y.score[2] == 2.5);
    assert_true(copula_correlation(&y, &x, 0.3) == 0);
    /* no more than rounding can cause */
    assert_true(copula_correlation(&x, &z, 0.3) == 0 && copula_correlation(&z, &x, -0.3) == 0);
}

/* A model with a share above 1, which rounding can cause, could not be read again. */
TEST(no_share_is_above_1)
{
    struct copula_column x CLEAN(copula_column_clear);
    OK(ordered_new(&x, 1));
    for (double total = 1; total < 1000; total += 0.37) {
        const double count = total + 13.77;
        OK(copula_set_shares(&x, &count, total));
        assert_true(x.share[0] <= 1 && x.share[0] > 1 - 1e-12);
    }
}

/* A matrix with a negative eigenvalue is repaired; a correct one stays. */
TEST(a_repaired_matrix_is_one_of_correlations)
{
    static const size_t each[] = {0, 1, 2, 3};
    double bad[9] = {1, 0.9, -0.9, 0.9, 1, 0.9, -0.9, 0.9, 1}, root[9];
    double good[9] = {1, 0.5, 0.2, 0.5, 1, -0.3, 0.2, -0.3, 1}, same[9];
    memcpy(root, bad, sizeof bad);
    assert_int_equal(copula_root(root, 3), ERR_RANGE);
    OK(copula_repair(bad, each, 3, NULL));
    /* eigenvalues 1.9, 1.9, -0.8: the last becomes 0.001, and the diagonal 3.801 / 3 */
    assert_true(fabs(bad[1] - (1.9 - 0.001) / 3 / (3.801 / 3)) < 1e-12);
    assert_true(bad[1] == bad[3] && fabs(bad[1] + bad[2]) < 1e-12 && bad[4] == 1);
    OK(copula_root(bad, 3));
    bad[3] = NAN;
    assert_int_equal(copula_repair(bad, each, 3, NULL), ERR_RANGE);
    memcpy(same, good, sizeof good);
    OK(copula_repair(good, each, 3, NULL));
    for (size_t i = 0; i < 9; i++)
        assert_true(fabs(good[i] - same[i]) < 1e-12);
    OK(copula_root(good, 3));
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            double sum = 0;
            for (size_t k = 0; k < 3; k++)
                sum += good[3 * i + k] * good[3 * j + k];
            assert_true(fabs(sum - same[3 * i + j]) < 1e-12);
        }
}

/* --- noise ------------------------------------------------------------------------------------ */

#define MANY 60
#define CELLS_OF_MANY (MANY * MANY)

/* Correlations: a factor that all share, with different weights; blocks; neighbours; none. */
enum copula_kind { FACTOR, BLOCKS, NEIGHBOURS, NONE };

static double truth(enum copula_kind kind, size_t i, size_t j)
{
    switch (kind) {
    case FACTOR:
        return (0.2 + 0.6 * (double)i / MANY) * (0.8 - 0.6 * (double)j / MANY);
    case BLOCKS:
        return i / 4 == j / 4 ? 0.7 : 0;
    case NEIGHBOURS:
        return pow(0.8, fabs((double)i - (double)j));
    case NONE:
        break;
    }
    return 0;
}

/* The mean error of a matrix with noise of deviation s, before and after shrinking. */
static void errors_of(enum copula_kind kind, double s, double *noisy, double *shrunk)
{
    double m[CELLS_OF_MANY] = {0}, t[CELLS_OF_MANY] = {0};
    struct random random = random_of(3);
    *noisy = *shrunk = 0;
    for (size_t i = 0; i < MANY; i++)
        for (size_t j = 0; j < i; j++) {
            t[i * MANY + j] = truth(kind, i, j);
            m[i * MANY + j] = m[j * MANY + i] = t[i * MANY + j] +
                                                s * ldexp((double)random_gauss(&random),
                                                          -RANDOM_GAUSS_BITS);
            *noisy += fabs(m[i * MANY + j] - t[i * MANY + j]) / (CELLS_OF_MANY / 2);
        }
    OK(copula_shrink(m, MANY, s, NULL));
    for (size_t i = 0; i < MANY; i++) {
        assert_true(m[i * MANY + i] == 0);
        for (size_t j = 0; j < i; j++) {
            *shrunk += fabs(m[i * MANY + j] - t[i * MANY + j]) / (CELLS_OF_MANY / 2);
            assert_true(m[i * MANY + j] == m[j * MANY + i]);
        }
    }
}

/* Whatever the structure, and more where there is more of it; without noise nothing changes. */
TEST(noise_is_shrunk_and_what_is_there_stays)
{
    static const double left[] = {0.4, 0.25, 0.7, 0.05};
    for (enum copula_kind kind = FACTOR; kind <= NONE; kind++) {
        double noisy, shrunk;
        errors_of(kind, 0.1, &noisy, &shrunk);
        assert_true(fabs(noisy - 0.078) < 0.004);
        assert_true(shrunk < left[kind] * noisy);
        errors_of(kind, 1e-4, &noisy, &shrunk);
        assert_true(shrunk < 1.02 * noisy);
        errors_of(kind, 0, &noisy, &shrunk);
        assert_true(shrunk == 0);
    }
}

/* The study's clip where there is little noise, as low as noise requires where there is much. */
TEST(the_clip_follows_from_noise)
{
    static const double counts[] = {5, 10, 30, 50, 50, 30, 10, 5};
    static const double rho[] = {1e6, 3, 1e-3};
    struct copula_column c[MANY];
    double clip, before = 3;
    for (size_t i = 0; i < MANY; i++)
        c[i] = column_of(counts, 8);
    for (size_t k = 0; k < 3; k++) {
        OK(copula_noise_clip(c, MANY, rho[k], 1e4, 2.5, &clip));
        assert_true(k == 0 ? clip == 2.5 : clip < before);
        assert_true(fabs(c[7].score[7] - fmin(clip, 2.3)) < 0.1);
        before = clip;
    }
    for (size_t i = 0; i < MANY; i++)
        copula_column_clear(&c[i]);
}

/* --- a run ------------------------------------------------------------------------------------ */

#define WIDE 5
#define ROWS 4000
static const uint32_t wide_sizes[WIDE] = {12, 2, 9, 30, 5};

/*
 * Each column is a step function of one normal that all share and one of its own; all are linked.
 */
static struct table *linked_rows(const struct domain *d, uint64_t seed)
{
    struct random r = random_of(seed);
    struct table *t = MADE(table, table_new, d, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        uint16_t codes[WIDE];
        const double shared = ldexp((double)random_gauss(&r), -RANDOM_GAUSS_BITS);
        for (size_t a = 0; a < WIDE; a++) {
            const double own = ldexp((double)random_gauss(&r), -RANDOM_GAUSS_BITS);
            const double z = (a % 2 == 0 ? shared : -shared) * 0.8 + own * 0.6;
            codes[a] = (uint16_t)(below(z) * wide_sizes[a]);
        }
        OK(table_append(t, codes));
    }
    return t;
}

static struct copula_stage stage_new(void)
{
    struct copula_stage s = {.domain = support_domain(wide_sizes, WIDE)};
    OK(workload_all(&s.pairs, s.domain, 2, NULL));
    s.table = linked_rows(s.domain, 1);
    return s;
}

/* Without noise: shares, sums of scores and correlations, all counted by hand. */
TEST(without_noise_the_numbers_are_the_tables)
{
    const struct plaintext_noise none = {.gauss = support_no_noise, .gumbel = support_no_noise};
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    struct copula_options o = copula_stage_options(&s, 0.05, 13);
    OK(copula_stage_run(&r, &s, &o, &none));
    assert_true(fabs(r->model->total - ROWS) < 1e-6);
    for (size_t a = 0; a < WIDE; a++) {
        double counts[30] = {0};
        for (size_t i = 0; i < ROWS; i++)
            counts[s.table->column[a][i]]++;
        for (uint32_t c = 0; c < wide_sizes[a]; c++)
            assert_true(fabs(r->model->share[a][c] - counts[c] / ROWS) < 1e-9);
    }
    assert_int_equal(r->forms, WIDE * (WIDE - 1) / 2);
    for (size_t k = 0; k < r->forms; k++) {
        const struct copula_form *f = &r->form[k];
        double sum = 0;
        for (size_t i = 0; i < ROWS; i++)
            sum += r->score[f->first][s.table->column[f->first][i]] *
                   r->score[f->second][s.table->column[f->second][i]];
        assert_true(fabs(f->value - sum) < 1e-6);
        /* between the normals of the columns: 0.64; between even columns and odd ones: -0.64 */
        assert_true(fabs(r->model->correlation[f->first * WIDE + f->second] -
                         ((f->first + f->second) % 2 == 0 ? 0.64 : -0.64)) < 0.05);
    }
}

/*
 * A run spends what one row can move: for the one-ways m^2 d; for the forms the largest sum of
 * squares of products of scores, with every pair of codes tried. All k rows of a person: k^2.
 */
TEST(a_run_pays_for_what_a_row_can_move)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct plaintext_noise noise;
    struct random random;
    for (unsigned k = 1; k <= 2; k++) {
        struct copula_result *r CLEAN(copula_result_free) = NULL;
        struct copula_options o = copula_stage_options(&s, 0.05, 13);
        double squares = 0, m, cost;
        o.limits.rows_per_person = k;
        random = random_of(k);
        noise = noise_from_random(&random);
        OK(copula_stage_run(&r, &s, &o, &noise));
        for (size_t f = 0; f < r->forms; f++) {
            double most = 0;
            for (uint32_t a = 0; a < wide_sizes[r->form[f].first]; a++)
                for (uint32_t b = 0; b < wide_sizes[r->form[f].second]; b++)
                    most = fmax(
                        most, fabs(r->score[r->form[f].first][a] * r->score[r->form[f].second][b]));
            squares += most * most;
        }
        m = 1 / r->measurement[0].sigma;
        cost = k * k * (WIDE * m * m / 2 + squares / (r->sigma * r->sigma) / 2);
        assert_true(fabs(r->round[1].spent / cost - 1) < 1e-9);
        assert_true(r->round[1].spent <= 0.05 && r->round[1].spent > 0.0495);
    }
}

static double spread(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return sqrt(squares / (double)n - sum / (double)n * (sum / (double)n));
}

#define RUNS 40
#define PAIRS (WIDE * (WIDE - 1) / 2)

/* The forms have noise, as much as the result says. */
TEST(forms_have_the_noise_that_they_say)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct random random;
    const struct plaintext_noise noise = noise_from_random(&random);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct ask ask CLEAN(ask_clear) = {.kind = ASK_FORMS};
    double opened[RUNS * PAIRS];
    random = random_of(7);
    ask.weights = 2 * workload_one_way_cells(s.pairs);
    OK(memory_new(&ask.weight, ask.weights));
    ask.weight[3] = 5;
    OK(plaintext_new(&p, s.pairs, s.table, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    for (size_t i = 0; i < RUNS; i++) {
        struct ask_told told CLEAN(told_clear) = {0};
        OK(backend.ask(backend.self, &ask, &told));
        assert_int_equal(told.values, PAIRS);
        for (size_t k = 0; k < PAIRS; k++)
            opened[i * PAIRS + k] = (double)told.value[k] * 0x1p-20;
    }
    assert_true(fabs(spread(opened, RUNS * PAIRS) - 1) < 0.1);
}

TEST(the_same_noise_gives_the_same_copula)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct copula_result *r[3];
    struct copula_options o = copula_stage_options(&s, 0.05, 13);
    for (uint64_t i = 0; i < 3; i++) {
        struct random random = random_of(i / 2);
        const struct plaintext_noise noise = noise_from_random(&random);
        OK(copula_stage_run(&r[i], &s, &o, &noise));
    }
    assert_memory_equal(r[0]->model->correlation, r[1]->model->correlation,
                        WIDE * WIDE * sizeof(double));
    assert_memory_not_equal(r[0]->model->correlation, r[2]->model->correlation,
                            WIDE * WIDE * sizeof(double));
    for (size_t i = 0; i < 3; i++)
        copula_result_free(&r[i]);
}

TEST(a_budget_that_is_too_small_is_refused)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct random random;
    const struct plaintext_noise noise = noise_from_random(&random);
    struct copula_result *r = NULL;
    random = random_of(1);
    struct copula_options o = copula_stage_options(&s, 1e-6, 13);
    o.share = 0.999; /* enough for the one-ways */
    assert_int_equal(copula_stage_run(&r, &s, &o, &noise), ERR_RANGE);
    assert_null(r);
}

/* --- files and rows --------------------------------------------------------------------------- */

static struct copula *fitted(const struct copula_stage *s, struct copula_result **keep)
{
    const struct plaintext_noise none = {.gauss = support_no_noise, .gumbel = support_no_noise};
    const struct copula_options o = copula_stage_options(s, 0.05, 13);
    OK(copula_stage_run(keep, s, &o, &none));
    return (*keep)->model;
}

TEST(a_copula_comes_back_from_its_file)
{
    char folder[] = "/tmp/trefoil-copula-XXXXXX", path[64];
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    struct copula *m, *back;
    struct domain *d;
    m = fitted(&s, &r);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    OK(copula_save(path, m, NULL));
    assert_true(copula_is_file(path));
    OK(copula_load(&back, &d, path, NULL));
    assert_true(back->total == m->total);
    assert_memory_equal(back->correlation, m->correlation, WIDE * WIDE * sizeof(double));
    for (size_t i = 0; i < WIDE; i++)
        assert_memory_equal(back->share[i], m->share[i], wide_sizes[i] * sizeof(double));
    copula_free(&back);
    domain_free(&d);
    OK(file_read(path, 1 << 20, &text, NULL));
    for (size_t i = 0; i < text.size; i += 149) {
        text.data[i] ^= 1;
        OK(file_write(path, 0600, text.data, text.size, NULL));
        assert_int_equal(copula_load(&back, &d, path, NULL), ERR_FORMAT);
        assert_null(back);
        assert_null(d);
        text.data[i] ^= 1;
    }
    m->total = 1e300; /* nobody draws so many rows from it, and 0 is not an answer */
    OK(copula_save(path, m, NULL));
    assert_int_equal(copula_load(&back, &d, path, NULL), ERR_FORMAT);
    unlink(path);
    assert_false(copula_is_file(path));
    rmdir(folder);
}

/* A program that does not know dates says that the file is of a later one. */
TEST(a_copula_with_dates_is_of_a_version_of_its_own)
{
    static const double days[] = {18628, 18659, 18687};
    static const struct calendar calendar = {.unit = CALENDAR_DAY};
    char path[] = "/tmp/trefoil-copula-XXXXXX";
    struct domain *d CLEAN(domain_free) = NULL, *also CLEAN(domain_free) = NULL;
    struct copula *c CLEAN(copula_free) = NULL, *back CLEAN(copula_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    OK(domain_new(&d));
    OK(domain_add_date(d, "day", &calendar, days, 3, NULL, DOMAIN_CLIP, NULL));
    OK(copula_new(&c, d));
    c->total = 10;
    c->share[0][0] = 1;
    OK(copula_save(path, c, NULL));
    OK(file_read(path, 1 << 20, &text, NULL));
    assert_memory_equal(text.data, "trefoil-copula-3\n", 17);
    OK(copula_load(&back, &also, path, NULL));
    assert_true(back->share[0][0] == 1);
    unlink(path);
}

/* Rows have the model's shares and correlations; the same seed gives the same rows. */
TEST(rows_follow_the_copula)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    struct table *t CLEAN(table_free) = NULL, *same CLEAN(table_free) = NULL;
    double share = 0, agree = 0, disagree = 0;
    const size_t n = 20000;
    struct copula *m = fitted(&s, &r);
    OK(copula_rows(&t, m, n, 5, NULL));
    OK(copula_rows(&same, m, n, 5, NULL));
    assert_int_equal(t->rows, n);
    for (size_t i = 0; i < n; i++) {
        const bool low = t->column[0][i] < 6, other = t->column[2][i] < 5;
        for (size_t a = 0; a < WIDE; a++)
            assert_int_equal(t->column[a][i], same->column[a][i]);
        share += t->column[3][i] < 3;
        agree += low == other;
        disagree += low != other;
    }
    assert_true(fabs(share / (double)n - (m->share[3][0] + m->share[3][1] + m->share[3][2])) <
                0.01);
    /* for normals of correlation 0.64, cut at 1/2 and 5/9: 0.717 on the same side */
    assert_true(fabs(agree / (double)n - 0.717) < 0.02);
    assert_true(agree > 2 * disagree);
}

/* Answers are those of the copula's own shares, as closely as drawn rows can give them. */
TEST(a_copula_is_asked)
{
    struct copula_stage s CLEAN(copula_stage_clear) = stage_new();
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    struct model_sums *sums CLEAN(model_sums_free) = NULL;
    const struct clique asked = {.n = 1, .attribute = {3}};
    double *half CLEAN(memory_release) = NULL, *counts CLEAN(memory_release) = NULL, rows = 0;
    const struct copula *m = fitted(&s, &r);
    const struct domain_attribute *a = m->domain->attribute;
    OK(copula_sums(&sums, m, NULL));
    OK(memory_new(&half, a[0].size));
    OK(memory_new(&counts, a[3].size));
    for (uint32_t code = 0; code < a[0].size; code++)
        half[code] = 0.5;
    OK(model_weigh(sums, &asked, &(struct model_weight){0, half}, 1, counts, NULL));
    for (uint32_t code = 0; code < a[3].size; code++) {
        assert_true(fabs(counts[code] / m->total - m->share[3][code] / 2) < 0.002);
        rows += counts[code];
    }
    assert_true(fabs(rows - m->total / 2) < 1e-6 * m->total);
}

/* Tables of two attributes are what drawn rows give; those of one are the shares. */
TEST(tables_of_two_follow_the_copula)
{
    static const uint32_t coins[] = {2, 2, 3};
    static const uint16_t pair[] = {0, 1}, skew[] = {0, 2};
    struct domain *d CLEAN(domain_free) = support_domain(coins, 3);
    struct copula *c CLEAN(copula_free) = MADE(copula, copula_new, d);
    c->total = 1000;
    for (size_t i = 0; i < 3; i++)
        c->correlation[i * 3 + i] = 1;
    c->share[0][0] = c->share[0][1] = c->share[1][0] = c->share[1][1] = 0.5;
    c->share[2][0] = 0.1; /* and nobody has the second value */
    c->share[2][2] = 0.9;
    for (double r = -0.9; r <= 0.95; r += 0.3) {
        double both[4], other[6];
        c->correlation[1] = c->correlation[3] = c->correlation[2] = c->correlation[6] = r;
        OK(copula_marginal(c, NULL, pair, 2, both));
        assert_true(fabs(both[0] / 1000 - (0.25 + asin(r) / (2 * M_PI))) < 1e-9);
        assert_true(fabs(both[1] / 1000 - (0.25 - asin(r) / (2 * M_PI))) < 1e-9);
        assert_true(fabs(both[0] - both[3]) < 1e-6 && fabs(both[1] - both[2]) < 1e-6);
        OK(copula_marginal(c, NULL, skew, 2, other));
        assert_true(fabs(other[0] + other[3] - 100) < 1e-6);
        assert_true(fabs(other[1]) < 1e-6 && fabs(other[4]) < 1e-6);
        assert_true(fabs(other[0] + other[2] - 500) < 1e-6);
        assert_true(r * (other[0] - other[3]) >= 0);
    }
}

/* --- the command ------------------------------------------------------------------------------ */

#define TREFOIL(code, ...)                                                                         \
    support_ends(code, &o, support_path(&s, "out"), support_path(&s, "err"),                       \
                 (const char *const[]){__VA_ARGS__, NULL})

static void copula_study(struct support_study *s, const char *lines)
{
    OK(support_study_new(s, &(struct study_options){.owners = 1, .copula = lines}, NULL));
    OK(support_csv(support_path(s, "rows.csv"), s->study->domain, 900, 1));
}

TEST(trefoil_aim_makes_a_copula)
{
    struct support_study s CLEAN(support_study_free);
    struct command_outcome o;
    static const char *const files[] = {"model", "measurements.json", "synthetic.csv", NULL};
    copula_study(&s, "method: copula\ncopula: {clip: 3, share: 0.4}\n");
    TREFOIL(EXIT_OK, "aim", s.path, support_path(&s, "rows.csv"), "--out",
            support_path(&s, "result"));
    EACH(support_says, o.out, "5 single attributes", "10 pairs");
    TREFOIL(EXIT_OK, "synth", support_path(&s, "result/model"), "--out",
            support_path(&s, "more.csv"), "--rows", "77", "--sampling", "independent");
    support_says(o.out, "wrote 77 rows of 5 attributes");
    TREFOIL(EXIT_OK, "eval", s.path, support_path(&s, "rows.csv"),
            support_path(&s, "result/synthetic.csv"));
    TREFOIL(EXIT_USAGE, "synth", support_path(&s, "result/model"), "--out",
            support_path(&s, "more.csv"), "--sampling", "rounded");
    TREFOIL(EXIT_OK, "query", support_path(&s, "result"),
            "SELECT COUNT(*) FROM t WHERE age < 4 OR bmi < 20");
    support_says(o.err, "no intervals");
    support_says(o.out, "by correlations alone");
    TREFOIL(EXIT_OK, "eval", s.path, support_path(&s, "rows.csv"), support_path(&s, "result"));
    support_says(o.err, "the likelihood of rows is left out");
    TREFOIL(EXIT_BAD_DATA, "refit", support_path(&s, "result"), "--out", support_path(&s, "other"));
    TREFOIL(EXIT_BAD_DATA, "refit", support_path(&s, "result"), "--out", support_path(&s, "again"));
    support_says(o.err, "nothing to fit again");
    assert_int_not_equal(access(support_path(&s, "again"), F_OK), 0);
    TREFOIL(EXIT_OK, "check", s.path);
    support_says(o.out, "a Gaussian copula");
    unlink(support_path(&s, "more.csv"));
    file_drop_folder(support_path(&s, "result"), files);
}

TEST(a_copula_is_planned)
{
    struct support_study s CLEAN(support_study_free);
    struct command_outcome o;
    copula_study(&s, "method: copula\n");
    TREFOIL(EXIT_OK, "plan", s.path);
    support_says(o.out, "a number for each of 10 pairs");
    support_says(o.out, "method: copula; for tables of columns expected to be better: aim");
    support_says(o.out, "sigma of a pair's sum and of its correlation");
}

/* --- which method ----------------------------------------------------------------------------- */

/* Columns of body and of adult, as in the measurements. */
static const uint32_t body[] = {45, 2, 50, 64, 40, 40, 48, 40, 45, 50, 40, 4};
static const uint32_t adult[] = {32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2};

static const struct {
    const char *name;
    const uint32_t *size;
    size_t columns;
    double finer; /* how many times the bins of numeric columns */
    double epsilon, delta, rows;
    enum study_method better; /* as measured */
} measured[] = {
    /* a random forest's accuracy on real rows: docs/results.md */
    {"body", body, 12, 1, 1, 1e-4, 10715, STUDY_AIM},
    {"body, epsilon 10", body, 12, 1, 10, 1e-4, 10715, STUDY_AIM},
    {"body, epsilon 0.1", body, 12, 1, 0.1, 1e-4, 10715, STUDY_COPULA},
    {"body, coarse", body, 12, 0.25, 1, 1e-4, 10715, STUDY_AIM},
    {"body, coarse, epsilon 0.1", body, 12, 0.25, 0.1, 1e-4, 10715, STUDY_AIM},
    {"body, fine", body, 12, 4, 1, 1e-4, 10715, STUDY_AIM},
    {"body, few rows", body, 12, 1, 1, 1e-4, 1000, STUDY_COPULA},
    {"body, coarse, few rows", body, 12, 0.25, 1, 1e-4, 1000, STUDY_AIM},
    /* the error of marginals */
    {"adult", adult, 15, 1, 1, 1e-5, 48842, STUDY_AIM},
    {"60 columns of a factor", NULL, 60, 1, 1, 1e-5, 20000, STUDY_COPULA},
};

static enum study_method advised(size_t i)
{
    const struct budget_terms terms = {.epsilon = measured[i].epsilon,
                                       .delta = measured[i].delta,
                                       .rows_per_person = 1,
                                       .marginals = 1};
    struct study study = {.rows_per_person = 1};
    uint32_t size[60];
    struct budget_plan budget;
    struct method_advice advice;
    for (size_t a = 0; a < measured[i].columns; a++) {
        size[a] = measured[i].size != NULL ? measured[i].size[a] : 8;
        if (size[a] > 4)
            size[a] = (uint32_t)ceil(size[a] * measured[i].finer);
    }
    study.domain = support_domain(size, measured[i].columns);
    OK(budget_plan(&terms, &budget, NULL));
    OK(method_advise(&advice, &study, measured[i].rows, budget.limits.rho));
    domain_free(&study.domain);
    return advice.better;
}

/* Nine of the ten that were measured; in the tenth (body, fine) AIM is better by .012. */
TEST(the_better_method_is_advised)
{
    const size_t all = sizeof measured / sizeof *measured;
    size_t right = 0;
    for (size_t i = 0; i < all; i++) {
        right += advised(i) == measured[i].better;
        if (advised(i) != measured[i].better)
            printf("# %s: wrong\n", measured[i].name);
    }
    assert_int_equal(all, 10);
    assert_in_range(right, 9, all);
}

/*
 * Advice is about cells as a run merges them: values of which each has another that it never goes
 * with have nothing alike to be merged with, and stay fine.
 */
TEST(advice_merges_what_a_run_does)
{
    static const uint32_t size[] = {200, 200, 2}, missing[] = {1};
    uint32_t cell[200];
    const struct workload_zeros zero[] = {{{2, {0, 1}}, 200, cell}, {{1, {2}}, 1, missing}};
    struct study study = {.rows_per_person = 1, .domain = support_domain(size, 3)};
    struct method_advice merged, apart;
    for (uint32_t k = 0; k < 200; k++)
        cell[k] = 201 * k;
    OK(method_advise(&merged, &study, 1000, 0.1));
    study.zero = memory_array(2, sizeof *study.zero);
    memcpy(study.zero, zero, sizeof zero);
    study.zeros = 2;
    OK(method_advise(&apart, &study, 1000, 0.1));
    assert_true(merged.merged && fabs(merged.cells - (100 * 100 + 2 * 100 * 2) / 3.) < 1e-9);
    assert_false(apart.merged);
    assert_true(fabs(apart.cells - (200 * 200 + 2 * 200 * 2) / 3.) < 1e-9);
    memory_free(&study.zero);
    domain_free(&study.domain);
}
