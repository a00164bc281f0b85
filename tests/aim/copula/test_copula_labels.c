/*
 * aim/copula/nominal.h, aim/copula/copula_links.h, aim/copula/copula_order.h and what a run makes
 * of labels: shares, slopes and links against numbers drawn by hand, groups, labels that have an
 * order after all.
 */
#include "harness/cmocka.h"
#include "tests/support/copula.h"
#include "tests/support/domain.h"

#include "aim/budget/forms.h"
#include "aim/copula/copula_links.h"
#include "aim/copula/nominal.h"
#include "base/digest.h"

#define GROUPS 4
#define DRAWN 100000

static double normal(struct random *r)
{
    return ldexp((double)random_gauss(r), -RANDOM_GAUSS_BITS);
}

static size_t largest(const double *utility, const double *u)
{
    size_t best = 0;
    for (size_t g = 1; g < GROUPS; g++)
        if (utility[g] + u[g] > utility[best] + u[best])
            best = g;
    return best;
}

/* Shares follow from drawing utilities; slopes are the effect of a little more of one utility. */
TEST(utilities_give_the_shares)
{
    static const double cases[][GROUPS] = {
        {0.25, 0.25, 0.25, 0.25}, {0.9, 0.05, 0.04, 0.01}, {0.5, 0, 0.3, 0.2}};
    for (size_t k = 0; k < 3; k++) {
        double utility[GROUPS], slope[GROUPS * GROUPS], found[GROUPS] = {0}, more[GROUPS] = {0};
        OK(nominal_utilities(cases[k], GROUPS, utility, slope));
        struct random r = random_of(k);
        for (size_t i = 0; i < DRAWN; i++) {
            double u[GROUPS];
            for (size_t g = 0; g < GROUPS; g++)
                u[g] = normal(&r);
            found[largest(utility, u)] += 1.0 / DRAWN;
            u[0] += 0.1;
            more[largest(utility, u)] += 1.0 / DRAWN;
        }
        for (size_t g = 0; g < GROUPS; g++) {
            double sum = 0;
            for (size_t h = 0; h < GROUPS; h++) {
                sum += slope[g * GROUPS + h];
                assert_true(fabs(slope[g * GROUPS + h] - slope[h * GROUPS + g]) < 1e-12);
            }
            assert_true(fabs(sum) < 1e-12);
            assert_true(fabs(found[g] - cases[k][g]) < 0.008);
            assert_true(fabs((more[g] - found[g]) / 0.1 - slope[g * GROUPS]) < 0.04);
        }
    }
}

TEST(a_basis_is_orthonormal)
{
    double basis[6 * 7];
    nominal_basis(7, basis);
    for (size_t i = 0; i < 6; i++) {
        double all = 0;
        for (size_t g = 0; g < 7; g++)
            all += basis[i * 7 + g];
        assert_true(fabs(all) < 1e-12);
        for (size_t j = 0; j < 6; j++) {
            double dot = 0;
            for (size_t g = 0; g < 7; g++)
                dot += basis[i * 7 + g] * basis[j * 7 + g];
            assert_true(fabs(dot - (i == j)) < 1e-12);
        }
    }
}

/* Frequent labels are alone, the first always; the others are grouped, with no group too many. */
TEST(rare_labels_share_a_group)
{
    static const double share[] = {0.02, 0.5, 0.02, 0.3, 0.15, 0.01};
    uint16_t group[6];
    size_t groups;
    OK(nominal_groups(share, 6, 0, 64, group, &groups));
    assert_int_equal(groups, 6);
    assert_memory_equal(group, ((uint16_t[]){0, 1, 2, 3, 4, 5}), sizeof group);
    OK(nominal_groups(share, 6, 0.1, 64, group, &groups));
    assert_int_equal(groups, 4);
    assert_memory_equal(group, ((uint16_t[]){3, 0, 3, 1, 2, 3}), sizeof group);
    OK(nominal_groups(share, 6, 0, 3, group, &groups));
    assert_int_equal(groups, 3);
    assert_memory_equal(group, ((uint16_t[]){2, 0, 2, 1, 2, 2}), sizeof group);
    OK(nominal_groups(share, 6, 9, 64, group, &groups));
    assert_int_equal(groups, 2);
    OK(nominal_groups((const double[]){0.6, 0.4}, 2, 0, 2, group, &groups));
    assert_int_equal(groups, 2);
}

/* --- links ------------------------------------------------------------------------------------ */

#define FINE 64 /* codes of an ordered column */

static double below(double x)
{
    return 0.5 * erfc(-x / M_SQRT2);
}

static struct copula_column column_of(const struct column_kind *kind, uint32_t size,
                                      const double *share)
{
    const struct domain_attribute a = {.kind = kind, .size = size};
    struct copula_column c;
    OK(copula_column_new(&c, &a, 64));
    OK(copula_set_shares(&c, share, 1));
    OK(copula_set_scores(&c, 2.5));
    OK(copula_set_hermite(&c));
    assert_int_equal(c.nominal, kind == &column_labels);
    for (uint32_t v = 0; c.nominal && v < size; v++)
        c.group[v] = (uint16_t)v;
    c.groups = c.nominal ? size : 1;
    return c;
}

/* A column of labels and one of numbers, linked as if drawn by hand: the covariances come back. */
TEST(links_come_back_from_sums)
{
    static const double share[] = {0.4, 0.3, 0.2, 0.1}, link[] = {0.6, -0.3, 0.1, -0.4};
    double even[FINE], utility[GROUPS], sums[GROUPS] = {0}, found[GROUPS - 1], rest = 1;
    double basis[(GROUPS - 1) * GROUPS];
    struct copula_side a CLEAN(copula_side_clear) = {0}, b CLEAN(copula_side_clear) = {0};
    for (size_t v = 0; v < FINE; v++)
        even[v] = 1.0 / FINE;
    struct copula_column x CLEAN(copula_column_clear) = column_of(&column_labels, GROUPS, share);
    struct copula_column y CLEAN(copula_column_clear) = column_of(&column_whole, FINE, even);
    OK(nominal_utilities(share, GROUPS, utility, NULL));
    struct random r = random_of(3);
    for (size_t g = 0; g < GROUPS; g++)
        rest -= link[g] * link[g];
    for (size_t i = 0; i < 4 * DRAWN; i++) {
        double u[GROUPS], v = sqrt(rest) * normal(&r);
        for (size_t g = 0; g < GROUPS; g++)
            v += link[g] * (u[g] = normal(&r));
        sums[largest(utility, u)] += 2.5 * y.score[(size_t)(below(v) * FINE)] / (4 * DRAWN);
    }
    OK(copula_side_new(&a, &x, NULL));
    OK(copula_side_new(&b, &y, NULL));
    OK(copula_link(&a, &b, sums, 0, found, 1));
    nominal_basis(GROUPS, basis);
    for (size_t z = 0; z < GROUPS - 1; z++) {
        double expected = 0;
        for (size_t g = 0; g < GROUPS; g++)
            expected += basis[z * GROUPS + g] * link[g];
        assert_true(fabs(found[z] - expected) < 0.02);
    }
    OK(copula_link(&a, &b, sums, 10, found, 1)); /* all may be noise */
    for (size_t z = 0; z < GROUPS - 1; z++)
        assert_true(found[z] == 0);
}

/* Blocks of a column become the unit matrix again, and the whole is a matrix of correlations. */
TEST(a_repaired_matrix_keeps_columns_whole)
{
    static const size_t first[] = {0, 2, 3, 5};
    double m[25] = {0};
    for (size_t i = 0; i < 5; i++)
        m[i * 6] = 1;
    m[2] = m[10] = m[7] = m[11] = 0.9; /* the third with both of the first column: too much */
    m[4] = m[20] = -0.8;
    OK(copula_repair(m, first, 3, NULL));
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++) {
            const bool same = (i < 2 && j < 2) || (i > 2 && j > 2) || i == j;
            assert_true(m[i * 5 + j] == m[j * 5 + i]);
            assert_true(!same || m[i * 5 + j] == (i == j));
        }
    assert_true(m[2] > 0.6 && m[2] < 0.75 && fabs(m[2] - m[7]) < 0.1);
    OK(copula_root(m, 5));
}

/* --- runs ------------------------------------------------------------------------------------- */

#define ROWS 20000
#define LABELS 5

/* Two numbers, a coin, and a label that is a grade of the first number; in order or not. */
static void stage_new(struct copula_stage *s, const uint16_t *place)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e"};
    *s = (struct copula_stage){0};
    OK(domain_new(&s->domain));
    OK(domain_add_integer(s->domain, "x", 0, 15, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_categorical(s->domain, "label", labels, LABELS, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_integer(s->domain, "y", 0, 9, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_integer(s->domain, "coin", 0, 1, NULL, DOMAIN_REJECT, NULL));
    OK(workload_all(&s->pairs, s->domain, 2, NULL));
    OK(table_new(&s->table, s->domain, ROWS));
    struct random r = random_of(11);
    for (size_t i = 0; i < ROWS; i++) {
        const double z = normal(&r), own = normal(&r);
        const double grade = below(0.9 * z + sqrt(0.19) * normal(&r));
        const uint16_t codes[] = {(uint16_t)(below(z) * 16), place[(size_t)(grade * LABELS)],
                                  (uint16_t)(below(0.6 * z + 0.8 * own) * 10), z + own > 0.5};
        OK(table_append(s->table, codes));
    }
}

static void run_of(struct copula_result **result, const struct copula_stage *s,
                   const struct plaintext_noise *noise, double rho)
{
    const struct copula_options o = copula_stage_options(s, rho, 15);
    OK(copula_stage_run(result, s, &o, noise));
}

/* Half of sum |p - q| over the table of x and the label. */
static double error_of(const struct copula_stage *s, const struct copula *c)
{
    double p[16 * LABELS] = {0}, sum = 0;
    struct table *t CLEAN(table_free) = MADE(table, copula_rows, c, ROWS, 5, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        p[s->table->column[0][i] * LABELS + s->table->column[1][i]] += 1.0 / ROWS;
        p[t->column[0][i] * LABELS + t->column[1][i]] -= 1.0 / ROWS;
    }
    for (size_t k = 0; k < 16 * LABELS; k++)
        sum += fabs(p[k]);
    return sum / 2;
}

/*
 * The same table with labels in order and out of order: it is noticed, and both are near the truth.
 */
TEST(labels_are_taken_in_order_where_they_have_one)
{
    static const uint16_t in_order[] = {0, 1, 2, 3, 4}, mixed[] = {3, 0, 4, 1, 2};
    const struct plaintext_noise none = {.gauss = support_no_noise, .gumbel = support_no_noise};
    struct random random;
    for (int k = 0; k < 4; k++) {
        struct copula_stage s CLEAN(copula_stage_clear);
        struct copula_result *r CLEAN(copula_result_free) = NULL;
        const struct plaintext_noise noise = k < 2 ? none : noise_from_random(&random);
        random = random_of(1);
        stage_new(&s, k % 2 == 0 ? in_order : mixed);
        run_of(&r, &s, &noise, 0.05);
        /* opened by labels, whatever is made of the sums */
        assert_int_equal(r->groups[1], LABELS);
        assert_int_equal(r->forms, 3 + 3 * LABELS);
        assert_int_equal(r->model->groups[1], k % 2 == 0 ? 1 : LABELS);
        assert_int_equal(r->model->first[4], k % 2 == 0 ? 4 : 3 + LABELS - 1);
        double error = error_of(&s, r->model);
        assert_true(error < (k % 2 == 0 ? 0.06 : 0.3)); /* 0.6 where they are independent */
    }
}

/* Two labels that determine each other, and a number that is independent of both. */
static void pair_new(struct copula_stage *s, uint64_t seed)
{
    static const char *const labels[] = {"a", "b", "c"};
    *s = (struct copula_stage){0};
    OK(domain_new(&s->domain));
    for (unsigned k = 0; k < 2; k++)
        OK(domain_add_categorical(s->domain, k == 0 ? "one" : "other", labels, 3, NULL,
                                  DOMAIN_REJECT, NULL));
    OK(domain_add_integer(s->domain, "x", 0, 9, NULL, DOMAIN_REJECT, NULL));
    OK(workload_all(&s->pairs, s->domain, 2, NULL));
    OK(table_new(&s->table, s->domain, ROWS));
    struct random r = random_of(seed);
    for (size_t i = 0; i < ROWS; i++) {
        const uint16_t label = (uint16_t)random_below(&r, 3);
        const uint16_t codes[] = {label, (uint16_t)((label + 1) % 3),
                                  (uint16_t)random_below(&r, 10)};
        OK(table_append(s->table, codes));
    }
}

/* Three sums often look like an order, even if there is nothing but noise and chance. */
TEST(noise_gives_labels_no_order)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct copula_stage s CLEAN(copula_stage_clear);
        struct copula_result *r CLEAN(copula_result_free) = NULL;
        struct random random = random_of(seed);
        const struct plaintext_noise noise = noise_from_random(&random);
        pair_new(&s, seed);
        run_of(&r, &s, &noise, seed % 2 == 0 ? 0.05 : 10);
        assert_true(r->groups[0] == 3 && r->groups[1] == 3);
        assert_true(r->model->groups[0] == 3 && r->model->groups[1] == 3);
    }
}

/* A form of labels gives the sum of scores over the rows that have them. */
TEST(forms_of_labels_are_sums_over_their_rows)
{
    static const uint16_t mixed[] = {3, 0, 4, 1, 2};
    const struct plaintext_noise none = {.gauss = support_no_noise, .gumbel = support_no_noise};
    struct copula_stage s CLEAN(copula_stage_clear);
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    stage_new(&s, mixed);
    run_of(&r, &s, &none, 0.05);
    for (size_t k = 0; k < r->forms; k++) {
        const struct copula_form *f = &r->form[k];
        double sum = 0;
        for (size_t i = 0; i < ROWS; i++) {
            const uint16_t a = s.table->column[f->first][i], b = s.table->column[f->second][i];
            if (r->group[f->first][a] == f->of_first && r->group[f->second][b] == f->of_second)
                sum += r->score[f->first][a] * r->score[f->second][b];
        }
        assert_true(fabs(f->value - sum) < 1e-5);
    }
    /* one row moves one form per pair: as much as is paid for */
    assert_true(r->round[1].spent <= 0.05 && r->round[1].spent > 0.0495);
}

/* With groups; and without any, as in old files. */
TEST(models_of_labels_come_back)
{
    static const uint16_t mixed[] = {3, 0, 4, 1, 2};
    const struct plaintext_noise none = {.gauss = support_no_noise, .gumbel = support_no_noise};
    char folder[] = "/tmp/trefoil-labels-XXXXXX", path[64];
    struct copula_stage s CLEAN(copula_stage_clear);
    struct copula_result *r CLEAN(copula_result_free) = NULL;
    struct bytes old CLEAN(bytes_clear) = {0};
    struct domain *d;
    stage_new(&s, mixed);
    run_of(&r, &s, &none, 0.05);
    size_t n = r->model->first[4];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    OK(copula_save(path, r->model, NULL));
    struct copula *back = MADE(copula, copula_load, &d, path, NULL);
    assert_memory_equal(back->group[1], r->model->group[1], LABELS * sizeof(uint16_t));
    assert_int_equal(back->first[4], n);
    assert_memory_equal(back->correlation, r->model->correlation, n * n * sizeof(double));
    copula_free(&back);
    domain_free(&d);
    r->model->group[1][0] = LABELS; /* a group that does not exist */
    OK(copula_save(path, r->model, NULL));
    assert_int_equal(copula_load(&back, &d, path, NULL), ERR_FORMAT);
    bytes_put_text(&old, "trefoil-copula-1\n");
    domain_write(s.domain, &old);
    bytes_put_double(&old, 100);
    for (size_t i = 0; i < 4; i++)
        for (uint32_t a = 0; a < s.domain->attribute[i].size; a++)
            bytes_put_double(&old, 1.0 / s.domain->attribute[i].size);
    for (size_t i = 0; i < 6; i++)
        bytes_put_double(&old, 0.25);
    OK(digest_write(path, 0600, &old, NULL));
    assert_true(copula_is_file(path));
    OK(copula_load(&back, &d, path, NULL));
    assert_true(back->groups[1] == 1 && back->first[4] == 4 && back->correlation[7] == 0.25);
    copula_free(&back);
    domain_free(&d);
    unlink(path);
    rmdir(folder);
}

static enum err loaded_again(const char *path, const struct copula *c)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct copula *back CLEAN(copula_free) = NULL;
    OK(copula_save(path, c, NULL));
    return copula_load(&back, &d, path, NULL);
}

/* Utilities of so many groups that nobody waits for them, and rows with other shares. */
TEST(models_that_no_run_makes_are_refused)
{
    static const uint32_t sizes[] = {2, COPULA_GROUPS_MOST + 1};
    char folder[] = "/tmp/trefoil-labels-XXXXXX", path[64];
    uint16_t group[COPULA_GROUPS_MOST + 1];
    struct domain *d CLEAN(domain_free) = support_domain(sizes, 2);
    struct copula *c CLEAN(copula_free) = MADE(copula, copula_new, d);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    c->total = 10;
    c->share[0][1] = c->share[1][0] = 1;
    for (uint16_t a = 0; a < sizes[1]; a++)
        group[a] = a;
    OK(copula_set_groups(c, 1, group, sizes[1]));
    assert_int_equal(loaded_again(path, c), ERR_FORMAT);
    group[COPULA_GROUPS_MOST] = 0;
    OK(copula_set_groups(c, 1, group, COPULA_GROUPS_MOST));
    size_t n = c->first[2];
    c->correlation[1 * n] = c->correlation[(n - 1) * n] = 0.5; /* with the other attribute */
    OK(loaded_again(path, c));
    for (size_t z = 2; z < n; z += n - 3) {
        c->correlation[z * n + 1] = 0.1;
        assert_int_equal(loaded_again(path, c), ERR_FORMAT);
        c->correlation[z * n + 1] = 0;
    }
    unlink(path);
    rmdir(folder);
}
