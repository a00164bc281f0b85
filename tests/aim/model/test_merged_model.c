/*
 * A model with merged codes (aim/model/model_groups.c), against one that enumerates all
 * combinations of codes: the distribution over groups, times the shares of codes.
 */
#include "harness/cmocka.h"

#include "aim/answer/errors_file.h"
#include "aim/answer/evaluate.h"
#include "aim/model/model_file.h"
#include "aim/model/model_private.h"
#include "aim/model/model_weigh.h"
#include "aim/model/sample.h"
#include "aim/workload/tabulate.h"

#define COLUMNS 4
#define JOINT (7 * 2 * 5 * 3)
#define ROWS 1000.0
#define NEAR 1e-9
#define MEASURED 7

struct merged_model_world {
    struct domain *domain;
    struct merges merges;
    struct measurement x[MEASURED];
    double y[MEASURED][64];
    struct model *model;
    double joint[JOINT]; /* by enumeration: shares of all rows */
};

static const struct clique cliques[MEASURED] = {{1, {0}},    {1, {1}},    {1, {2}},   {1, {3}},
                                                {2, {0, 1}}, {2, {0, 2}}, {2, {2, 3}}};

/* Six numbers that may be missing, labels, five bins, labels of which the outer ones are rare. */
static struct domain *make_domain(void)
{
    static const char *const labels[] = {"a", "b", "c"};
    static const double edges[] = {0, 1, 2, 3, 5, 9};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_integer(d, "n", 0, 5, "", DOMAIN_REJECT, NULL));
    OK(domain_add_categorical(d, "l", labels, 2, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(d, "x", edges, 6, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_categorical(d, "m", labels, 3, NULL, DOMAIN_REJECT, NULL));
    return d;
}

static uint32_t code_of(const struct domain *d, size_t cell, unsigned column)
{
    for (unsigned i = COLUMNS; i-- > column + 1;)
        cell /= d->attribute[i].size;
    return (uint32_t)(cell % d->attribute[column].size);
}

/* The cell of a clique, over codes or over groups. */
static size_t cell_of(const struct merged_model_world *w, const struct clique *c, size_t joint,
                      bool grouped)
{
    size_t cell = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const uint16_t a = c->attribute[i];
        const uint32_t code = code_of(w->domain, joint, a), *group = w->merges.group[a];
        cell = cell * (grouped ? w->merges.groups[a] : w->domain->attribute[a].size) +
               (grouped && group != NULL ? group[code] : code);
    }
    return cell;
}

/* exp(sum of theta) of a combination's groups times its codes' shares, over the sum of these. */
static void enumerate(struct merged_model_world *w)
{
    const struct model *m = w->model;
    double sum = 0;
    for (size_t i = 0; i < JOINT; i++) {
        double log = 0, share = 1;
        for (size_t k = 0; k < m->potentials; k++)
            log += m->theta[m->potential[k].offset + cell_of(w, &m->potential[k].clique, i, true)];
        for (unsigned a = 0; a < COLUMNS; a++)
            if (m->share[a] != NULL)
                share *= m->share[a][code_of(w->domain, i, a)];
        sum += w->joint[i] = exp(log) * share;
    }
    for (size_t i = 0; i < JOINT; i++)
        w->joint[i] /= sum;
}

static struct merges make_merges(const struct domain *d, bool merge)
{
    static const double n[] = {300, 2, 3, 200, 100, 4, 1}, l[] = {300, 300}, m[] = {4, 500, 2},
                        x[] = {400, 2, 0, 0, 200};
    const double *const counts[] = {n, l, x, m};
    const struct merges_least least = {10, 10};
    struct merges merges;
    OK(merge ? merges_choose(&merges, d, counts, &least, NULL) : merges_none(&merges, d));
    return merges;
}

static enum err model_of(struct merged_model_world *w, struct model **m,
                         const struct workload_zeros *zero, size_t zeros)
{
    const struct model_terms t = {.domain = w->domain,
                                  .merges = &w->merges,
                                  .clique = cliques,
                                  .cliques = MEASURED,
                                  .zero = zero,
                                  .zeros = zeros,
                                  .limit_cells = 1 << 20};
    return model_new(m, &t, NULL);
}

/* One-ways over codes, the first with twice the noise; pairs over groups. */
static void world_make(struct merged_model_world *w, bool merge)
{
    *w = (struct merged_model_world){.domain = make_domain()};
    struct random r = random_of(5);
    w->merges = make_merges(w->domain, merge);
    for (size_t k = 0; k < MEASURED; k++) {
        struct measurement *x = &w->x[k];
        *x = (struct measurement){.clique = cliques[k], .sigma = k == 0 ? 20 : 10, .y = w->y[k]};
        if (cliques[k].n > 1 && merge)
            x->merges = &w->merges;
        for (uint64_t i = measurement_cells(x, w->domain); i-- > 0;)
            w->y[k][i] = -20 + 300 * random_double(&r);
    }
    OK(model_of(w, &w->model, NULL, 0));
    model_set_total(w->model, ROWS);
}

static struct model_fitted fit(struct merged_model_world *w)
{
    struct model_fitted result;
    OK(model_fit(w->model, w->x, MEASURED, 300, &result, NULL));
    enumerate(w);
    return result;
}

static void world_clear(struct merged_model_world *w)
{
    model_free(&w->model);
    merges_clear(&w->merges);
    domain_free(&w->domain);
}

TEST(the_fit_weighs_sums_of_codes_by_their_noise)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    double loss = 0;
    world_make(&w, true);
    struct model_fitted result = fit(&w);
    assert_int_equal(w.merges.groups[0], 4); /* 0, 1 to 3, 4 and 5, missing */
    assert_int_equal(w.merges.groups[2], 2);
    for (size_t k = 0; k < MEASURED; k++) {
        double y[64] = {0}, mu[64] = {0}, codes[64] = {0};
        for (uint64_t i = 0; i < JOINT; i++)
            mu[cell_of(&w, &cliques[k], i, true)] += ROWS * w.joint[i];
        for (uint64_t i = 0; i < clique_cells(&cliques[k], w.domain) && w.x[k].merges == NULL;
             i++) {
            const uint32_t *group = w.merges.group[cliques[k].attribute[0]];
            y[group != NULL ? group[i] : i] += w.y[k][i];
            codes[group != NULL ? group[i] : i]++;
        }
        for (uint64_t i = 0; i < merges_cells(&w.merges, &cliques[k]); i++) {
            const double here = w.x[k].merges != NULL ? w.y[k][i] : y[i],
                         n = w.x[k].merges != NULL ? 1 : codes[i];
            loss += 0.5 * (mu[i] - here) * (mu[i] - here) / n / w.x[k].sigma / w.x[k].sigma;
        }
    }
    assert_true(fabs(result.loss - loss) < NEAR * loss);
}

/* Codes and, later, groups of one attribute: least squares with a given sum has a closed form. */
TEST(two_measurements_count_by_their_noise)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    double codes[] = {290, 10, 60, 150, 230, 20, 40}, groups[] = {310, 160, 350, 120}, sum = 0,
           slack = 0, pooled[4] = {0}, weight[4] = {0}, counts[7];
    const struct clique c = {1, {0}};
    struct measurement x[] = {{.clique = c, .sigma = 10, .y = codes},
                              {.clique = c, .sigma = 15, .y = groups}};
    struct model_fitted result;
    world_make(&w, true);
    x[1].merges = &w.merges;
    model_set_total(w.model, ROWS);
    OK(model_fit(w.model, x, 2, 1000, &result, NULL));
    for (unsigned g = 0; g < 4; g++) {
        static const unsigned from[] = {0, 1, 4, 6, 7};
        const double n = from[g + 1] - from[g], w1 = 1 / (100 * n), w2 = 1. / 225;
        for (unsigned code = from[g]; code < from[g + 1]; code++)
            pooled[g] += w1 * codes[code];
        weight[g] = w1 + w2;
        pooled[g] = (pooled[g] + w2 * groups[g]) / weight[g];
        sum += pooled[g];
        slack += 1 / weight[g];
    }
    OK(model_marginal(w.model, &c, counts, NULL));
    assert_true(fabs(counts[0] - pooled[0] - (ROWS - sum) / slack / weight[0]) < 0.01);
    assert_true(fabs(counts[1] + counts[2] + counts[3] - pooled[1] -
                     (ROWS - sum) / slack / weight[1]) < 0.01);
}

TEST(marginals_are_those_of_all_combinations)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    world_make(&w, true);
    fit(&w);
    for (unsigned set = 1; set < 1 << COLUMNS; set++) {
        struct clique c = {0};
        double counts[JOINT], naive[JOINT] = {0};
        for (uint16_t a = 0; a < COLUMNS; a++)
            if ((set >> a & 1) != 0)
                c.attribute[c.n++] = a;
        OK(model_marginal(w.model, &c, counts, NULL));
        for (size_t i = 0; i < JOINT; i++)
            naive[cell_of(&w, &c, i, false)] += ROWS * w.joint[i];
        for (uint64_t i = clique_cells(&c, w.domain); i-- > 0;)
            assert_true(fabs(counts[i] - naive[i]) < NEAR * ROWS);
    }
}

TEST(rows_that_are_weighed_are_those_of_all_combinations)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    world_make(&w, true);
    struct random r = random_of(8);
    fit(&w);
    struct model_sums *sums CLEAN(model_sums_free) = MADE(model_sums, model_sums_new, w.model);
    for (int run = 0; run < 200; run++) {
        double of[COLUMNS][8], counts[JOINT], naive[JOINT] = {0};
        struct model_weight weight[COLUMNS];
        struct clique c = {0};
        size_t weights = 0;
        for (uint16_t a = 0; a < COLUMNS; a++) {
            for (int i = 0; i < 8; i++) /* often 0 or 1 */
                of[a][i] = fmin(1, fmax(0, 3 * random_double(&r) - 1));
            if (random_below(&r, 2) == 0)
                weight[weights++] = (struct model_weight){a, of[a]};
            if (random_below(&r, 3) == 0)
                c.attribute[c.n++] = a;
        }
        OK(model_weigh(sums, &c, weight, weights, counts, NULL));
        for (size_t i = 0; i < JOINT; i++) {
            double p = ROWS * w.joint[i];
            for (size_t k = 0; k < weights; k++)
                p *= weight[k].of[code_of(w.domain, i, weight[k].attribute)];
            naive[cell_of(&w, &c, i, false)] += p;
        }
        for (uint64_t i = clique_cells(&c, w.domain); i-- > 0;)
            assert_true(fabs(counts[i] - naive[i]) < NEAR * ROWS);
    }
}

TEST(a_merged_model_has_no_room_for_more)
{
    static const struct clique all = {4, {0, 1, 2, 3}}, one = {1, {0}};
    struct merged_model_world merged CLEAN(world_clear) = {0}, whole CLEAN(world_clear) = {0};
    world_make(&merged, true);
    world_make(&whole, false);
    assert_int_equal(model_cells_with(merged.model, &all), JOINT);
    assert_int_equal(model_cells_with(merged.model, &one), model_cells(whole.model));
    assert_true(model_cells(merged.model) < model_cells(whole.model));
}

TEST(rows_are_drawn_and_judged_by_codes)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    double likelihood, naive = 0;
    world_make(&w, true);
    fit(&w);
    struct table *t CLEAN(table_free) = MADE(table, sample_rows, w.model, 5000, 3, NULL);
    assert_ptr_equal(t->domain, w.domain);
    for (uint16_t a = 0; a < COLUMNS; a++) {
        const struct clique c = {1, {a}};
        int64_t rows[8];
        double counts[8];
        tabulate_marginal(t, &c, rows);
        OK(model_marginal(w.model, &c, counts, NULL));
        for (uint32_t i = 0; i < w.domain->attribute[a].size; i++)
            assert_true(fabs((double)rows[i] - 5 * counts[i]) < 8); /* rounded step by step */
    }
    for (size_t row = 0; row < t->rows; row++)
        naive -= log(w.joint[table_cell(t, (const uint16_t[]){0, 1, 2, 3}, COLUMNS, row)]);
    OK(evaluate_likelihood(w.model, t, &likelihood, NULL));
    assert_true(fabs(likelihood - naive / 5000) < NEAR);
}

static struct bytes written(const struct model *m)
{
    struct bytes b = {0};
    model_write(m, &b);
    OK(bytes_ok(&b));
    return b;
}

static void assert_same(const struct model *a, const struct model *b)
{
    struct bytes x CLEAN(bytes_clear) = written(a), y CLEAN(bytes_clear) = written(b);
    SAME_BYTES(&x, y.data, y.size);
}

TEST(models_and_their_errors_are_read_back)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL, *copy CLEAN(model_free) = NULL;
    struct errors *e CLEAN(errors_free) = NULL, *f CLEAN(errors_free) = NULL;
    double spread = 0;
    char folder[] = "/tmp/trefoil-merged-XXXXXX", path[64];
    world_make(&w, true);
    fit(&w);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    OK(model_save(path, w.model, NULL));
    OK(model_load(&m, &d, path, 1 << 20, NULL));
    assert_same(w.model, m);
    OK(errors_new(&e, w.model, w.x, MEASURED, NULL, NULL));
    OK(errors_save(path, e, w.model, NULL));
    OK(errors_load(&f, m, path, NULL));
    OK(model_copy(&copy, m, NULL));
    assert_same(copy, m);
    for (size_t k = 0; k < e->refits; k++) { /* shares are refitted too */
        errors_apply(f, k, m, copy);
        spread += fabs(model_share(copy, 0)[1] - model_share(m, 0)[1]);
        assert_memory_equal(e->share + k * e->shares, f->share + k * e->shares,
                            e->shares * sizeof(double));
    }
    assert_true(spread > 0.01);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(what_is_known_of_codes_is_met)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    double y[] = {250, 0, 50, 300, 0, 150, 250}, counts[7], off;
    const struct workload_zeros none = {
        .clique = {1, {0}}, .cells = 2, .cell = (const uint32_t[]){1, 4}};
    const struct measurement known = {.clique = {1, {0}}, .y = y},
                             pair = {.clique = {2, {0, 1}}, .y = y};
    world_make(&w, true);
    model_free(&w.model);
    OK(model_of(&w, &w.model, &none, 1));
    model_set_total(w.model, ROWS);
    fit(&w);
    assert_true(model_share(w.model, 0)[1] == 0); /* cannot occur, whatever was measured */
    OK(model_meet(w.model, &known, 1, &off, NULL));
    OK(model_marginal(w.model, &known.clique, counts, NULL));
    for (int i = 0; i < 7; i++)
        assert_true(fabs(counts[i] - y[i]) < 1e-5);
    assert_int_equal(model_meet(w.model, &pair, 1, &off, NULL), ERR_MISMATCH);
}

TEST(zeros_bar_what_is_merged_as_a_whole)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    static const uint32_t group[] = {2, 4, 6}, part[] = {2, 4}; /* n 1 to 3 with label a */
    const struct workload_zeros whole = {{2, {0, 1}}, 3, group}, some = {{2, {0, 1}}, 2, part};
    struct workload_zeros *zero CLEAN(memory_release);
    size_t zeros;
    double counts[14];
    struct model *m CLEAN(model_free) = NULL;
    world_make(&w, true);
    assert_int_equal(model_of(&w, &m, &some, 1), ERR_RANGE);
    OK(model_of(&w, &m, &whole, 1));
    OK(model_marginal(m, &whole.clique, counts, NULL));
    for (int i = 0; i < 14; i++)
        assert_int_equal(counts[i] > 0, i != 2 && i != 4 && i != 6);
    OK(model_zeros(m, &zero, &zeros));
    assert_int_equal(zeros, 1);
    assert_int_equal(zero->cells, 3);
    assert_memory_equal(zero->cell, group, sizeof group);
    memory_free(&zero->cell);
}

TEST(without_merges_nothing_changes)
{
    struct merged_model_world w CLEAN(world_clear) = {0};
    struct model_terms t = {
        .domain = w.domain, .clique = cliques, .cliques = MEASURED, .limit_cells = 1 << 20};
    struct model_fitted result;
    world_make(&w, false);
    t.domain = w.domain;
    fit(&w);
    struct model *m CLEAN(model_free) = MADE(model, model_new, &t, NULL);
    model_set_total(m, ROWS);
    OK(model_fit(m, w.x, MEASURED, 300, &result, NULL));
    assert_same(w.model, m);
    assert_null(model_share(m, 0));
}
