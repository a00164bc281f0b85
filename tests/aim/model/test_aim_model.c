/*
 * aim/junction, aim/model: every answer against the full joint distribution of a small domain, and
 * mirror descent against a twin that works on that joint.
 */
#include "harness/cmocka.h"
#include "harness/model.h"
#include "tests/support/domain.h"

#include "aim/model/model_file.h"
#include "aim/model/model_private.h"

#define ATTRIBUTES 6
#define JOINT_MAX 4096
#define CLIQUES 7

struct model_world {
    struct domain *domain;
    struct clique all;
    size_t joint; /* cells of the full table */
    size_t cliques;
    struct clique clique[CLIQUES];
    uint32_t index[CLIQUES][JOINT_MAX]; /* from joint cell to clique cell */
};

static struct clique random_clique(struct random *r, unsigned n)
{
    struct clique c = {0};
    while (c.n != n) {
        unsigned mask = (unsigned)random_below(r, 1u << ATTRIBUTES);
        c.n = 0;
        for (unsigned a = 0; a < ATTRIBUTES; a++)
            if (mask >> a & 1 && c.n < CLIQUE_MAX)
                c.attribute[c.n++] = (uint16_t)a;
    }
    return c;
}

/* Different cliques of one to three attributes over attributes of two to four values. */
static struct model_world world_new(struct random *r)
{
    uint32_t size[ATTRIBUTES];
    struct model_world w = {.joint = 1, .all = {.n = ATTRIBUTES}};
    for (unsigned a = 0; a < ATTRIBUTES; a++) {
        size[a] = 2 + (uint32_t)random_below(r, 3);
        w.joint *= size[a];
        w.all.attribute[a] = (uint16_t)a;
    }
    w.domain = support_domain(size, ATTRIBUTES);
    while (w.cliques < CLIQUES) {
        struct clique c = random_clique(r, 1 + (unsigned)random_below(r, 3));
        bool again = false;
        for (size_t i = 0; i < w.cliques; i++)
            again |= clique_equal(&c, &w.clique[i]);
        if (again)
            continue;
        clique_project(&w.all, &c, w.domain, w.index[w.cliques]);
        w.clique[w.cliques++] = c;
    }
    return w;
}

static void world_free(struct model_world *w)
{
    domain_free(&w->domain);
}

static struct model *model_of(const struct model_world *w)
{
    struct model *m = MADE(model, model_plain, w->domain, w->clique, w->cliques, 1 << 20, NULL);
    return m;
}

/* p over the joint from the model's theta. */
static void joint_of(const struct model_world *w, const struct model *m, double *p)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < w->joint; i++) {
        p[i] = 0;
        for (size_t k = 0; k < w->cliques; k++)
            p[i] += m->theta[m->potential[k].offset + w->index[k][i]];
        most = fmax(most, p[i]);
    }
    for (size_t i = 0; i < w->joint; i++)
        sum += p[i] = exp(p[i] - most);
    for (size_t i = 0; i < w->joint; i++)
        p[i] /= sum;
}

TEST(running_intersection_holds)
{
    struct random r = random_of(1);
    for (int run = 0; run < 200; run++) {
        struct model_world w CLEAN(world_free) = world_new(&r);
        struct junction *j CLEAN(junction_free);
        OK(junction_new(&j, w.domain, w.clique, w.cliques));
        assert_true(j->cells == junction_cells(w.domain, w.domain, w.clique, w.cliques, NULL));
        for (size_t k = 0; k < w.cliques; k++) {
            struct scope s = scope_of(&w.clique[k]);
            assert_true(junction_find(j, w.domain, &s) != UINT32_MAX);
        }
        for (uint16_t a = 0; a < ATTRIBUTES; a++) {
            /* connected: all cliques with a but one have it in their separator */
            int with = 0, separators = 0;
            for (size_t i = 0; i < j->cliques; i++) {
                with += scope_has(&j->clique[i].scope, a);
                separators += scope_has(&j->clique[i].separator, a);
                assert_true(i == 0 || j->clique[i].parent < i);
            }
            assert_int_equal(with, separators + 1);
        }
    }
}

TEST(beliefs_and_marginals_match_the_joint)
{
    static double p[JOINT_MAX], expected[JOINT_MAX], counts[JOINT_MAX], alone[JOINT_MAX];
    static uint32_t index[JOINT_MAX];
    struct random r = random_of(2);
    for (int run = 0; run < 60; run++) {
        struct model_world w CLEAN(world_free) = world_new(&r);
        struct model_memo *memo CLEAN(model_memo_free) = NULL;
        struct model *m CLEAN(model_free) = model_of(&w);
        OK(model_memo_new(&memo, m));
        model_set_total(m, 1000);
        for (size_t i = 0; i < m->parameters; i++) /* some runs with very sharp potentials */
            m->theta[i] = (run % 3 == 0 ? 400 : 3) * (random_double(&r) - 0.5);
        model_propagate(m, true);
        joint_of(&w, m, p);
        for (int ask = 0; ask < 30; ask++) {
            struct clique c = random_clique(&r, 1 + (unsigned)random_below(&r, ATTRIBUTES));
            uint64_t cells = clique_cells(&c, w.domain);
            clique_project(&w.all, &c, w.domain, index);
            memset(expected, 0, sizeof expected);
            for (size_t i = 0; i < w.joint; i++)
                expected[index[i]] += 1000 * p[i];
            assert_true(model_marginal_cells(m, &c) >= cells);
            OK(model_memo_marginal(memo, &c, false, counts, NULL));
            for (uint64_t i = 0; i < cells; i++)
                assert_true(fabs(counts[i] - expected[i]) < 1e-8);
            OK(model_marginal(m, &c, alone, NULL));
            assert_memory_equal(counts, alone, cells * sizeof *counts);
        }
    }
}

struct case_of_fit {
    struct measurement measurement[CLIQUES];
    double y[CLIQUES][64];
};

static void measure(struct case_of_fit *f, const struct model_world *w, struct random *r)
{
    for (size_t k = 0; k < w->cliques; k++) {
        uint64_t cells = clique_cells(&w->clique[k], w->domain);
        f->measurement[k] = (struct measurement){
            .clique = w->clique[k], .sigma = 1 + 5 * random_double(r), .y = f->y[k]};
        for (uint64_t i = 0; i < cells; i++)
            f->y[k][i] = 500.0 / (double)cells * 2 * random_double(r);
    }
}

/* The joint's own mirror descent, without a tree: a cell's gradient is the sum over cliques. */
struct model_twin {
    const struct model_world *world;
    const struct case_of_fit *fit;
    double total;
    double theta[JOINT_MAX], trial[JOINT_MAX], p[JOINT_MAX], new_p[JOINT_MAX];
    double gradient[JOINT_MAX], new_gradient[JOINT_MAX];
};

static double twin_loss(struct model_twin *t, const double *theta, double *p, double *gradient)
{
    double most = -INFINITY, sum = 0, loss = 0;
    size_t n = t->world->joint;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, theta[i]);
    for (size_t i = 0; i < n; i++)
        sum += p[i] = exp(theta[i] - most);
    memset(gradient, 0, n * sizeof *gradient);
    for (size_t i = 0; i < n; i++)
        p[i] *= t->total / sum;
    for (size_t k = 0; k < t->world->cliques; k++) {
        const struct measurement *x = &t->fit->measurement[k];
        double mu[64] = {0};
        for (size_t i = 0; i < n; i++)
            mu[t->world->index[k][i]] += p[i];
        for (size_t i = 0; i < clique_cells(&x->clique, t->world->domain); i++)
            loss += 0.5 * (mu[i] - x->y[i]) * (mu[i] - x->y[i]) / (x->sigma * x->sigma);
        for (size_t i = 0; i < n; i++) {
            uint32_t c = t->world->index[k][i];
            gradient[i] += (mu[c] - x->y[c]) / (x->sigma * x->sigma);
        }
    }
    return loss;
}

static double twin_fit(struct model_twin *t, unsigned iterations)
{
    size_t n = t->world->joint;
    double step = 1 / (t->total * t->total), loss;
    memset(t->theta, 0, sizeof t->theta);
    loss = twin_loss(t, t->theta, t->p, t->gradient);
    for (unsigned k = 0; k < iterations; k++) {
        step *= 2;
        for (int halvings = 0; halvings < 25; halvings++, step *= 0.5) {
            double decrease = 0, trial;
            for (size_t i = 0; i < n; i++)
                t->trial[i] = t->theta[i] - step * t->gradient[i];
            trial = twin_loss(t, t->trial, t->new_p, t->new_gradient);
            for (size_t i = 0; i < n; i++)
                decrease += t->gradient[i] * (t->p[i] - t->new_p[i]);
            if (loss - trial >= 0.5 * step * decrease) {
                loss = trial;
                break;
            }
        }
        memcpy(t->theta, t->trial, n * sizeof(double));
        memcpy(t->p, t->new_p, n * sizeof(double));
        memcpy(t->gradient, t->new_gradient, n * sizeof(double));
    }
    return loss;
}

TEST(mirror_descent_follows_its_twin)
{
    static struct model_twin t;
    static struct case_of_fit f;
    struct random r = random_of(3);
    for (int run = 0; run < 6; run++) {
        struct model_fitted result;
        struct model_world w CLEAN(world_free) = world_new(&r);
        measure(&f, &w, &r);
        struct model *m CLEAN(model_free) = model_of(&w);
        model_set_total(m, model_estimate_total(w.domain, f.measurement, w.cliques));
        t.world = &w;
        t.fit = &f;
        t.total = model_total(m);
        double loss = twin_fit(&t, 60);
        OK(mirror_fit(m, f.measurement, w.cliques, 60, &result));
        assert_int_equal(result.iterations, 60);
        assert_true(fabs(result.loss - loss) < 1e-6 * loss);
        for (size_t k = 0; k < w.cliques; k++) {
            double mu[64] = {0};
            for (size_t i = 0; i < w.joint; i++)
                mu[w.index[k][i]] += t.p[i];
            for (size_t i = 0; i < m->potential[k].cells; i++)
                assert_true(fabs(mu[i] - m->total * m->potential[k].mu[i]) < 1e-3);
        }
    }
}

TEST(a_perfect_fit_stops_without_harm)
{
    static const struct clique c = {1, {0}};
    double y[2] = {50, 50};
    struct measurement x = {.clique = c, .sigma = 1, .y = y};
    struct model_fitted result;
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_integer(d, "a", 0, 1, NULL, DOMAIN_REJECT, NULL));
    struct model *m CLEAN(model_free) = MADE(model, model_plain, d, &c, 1, 100, NULL);
    model_set_total(m, 100);
    OK(model_fit(m, &x, 1, 1000, &result, NULL));
    assert_true(result.loss < 1e-20);
    y[0] = 120;
    y[1] = -20;
    OK(model_fit(m, &x, 1, 1000, &result, NULL));
    assert_true(fabs(result.loss - 400) < 4); /* the boundary: (100, 0) */
    x.sigma = 0;
    assert_int_equal(model_fit(m, &x, 1, 1000, &result, NULL), ERR_RANGE);
}

TEST(a_warm_start_keeps_the_distribution)
{
    static double before[JOINT_MAX], after[JOINT_MAX];
    struct random r = random_of(4);
    for (int run = 0; run < 30; run++) {
        struct model_world w CLEAN(world_free) = world_new(&r);
        struct clique larger[CLIQUES];
        struct model *m CLEAN(model_free) = NULL, *next CLEAN(model_free) = NULL;
        m = model_of(&w);
        for (size_t i = 0; i < m->parameters; i++)
            m->theta[i] = random_double(&r);
        model_propagate(m, true);
        memcpy(larger, w.clique, sizeof larger);
        if (larger[0].n == 1) { /* grow the first clique by an attribute */
            larger[0].n = 2;
            larger[0].attribute[1] = larger[0].attribute[0] > 0 ? larger[0].attribute[0] : 1;
            larger[0].attribute[0] = larger[0].attribute[0] > 0 ? 0 : larger[0].attribute[0];
        }
        OK(model_new(&next,
                     &(struct model_terms){.domain = w.domain,
                                           .clique = larger,
                                           .cliques = CLIQUES,
                                           .limit_cells = 1 << 20,
                                           .warm = m},
                     NULL));
        uint64_t cells = clique_cells(&w.all, w.domain);
        OK(model_marginal(m, &w.all, before, NULL));
        OK(model_marginal(next, &w.all, after, NULL));
        for (uint64_t i = 0; i < cells; i++)
            assert_true(fabs(before[i] - after[i]) < 1e-9);
    }
}

TEST(totals_weigh_by_inverse_variance)
{
    static const uint32_t size[] = {2, 4};
    double y[2][4] = {{60, 40}, {30, 30, 30, 40}};
    struct measurement x[] = {{.clique = {1, {0}}, .sigma = 1, .y = y[0]},
                              {.clique = {1, {1}}, .sigma = 2, .y = y[1]}};
    struct model_fitted result;
    static const struct clique c[] = {{1, {0}}, {1, {1}}};
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    assert_int_equal(domain_add_integer(d, "a", 0, size[0] - 1, NULL, DOMAIN_REJECT, NULL), 0);
    assert_int_equal(domain_add_integer(d, "b", 0, size[1] - 1, NULL, DOMAIN_REJECT, NULL), 0);
    /* variances 2 and 16: (100 / 2 + 130 / 16) / (1 / 2 + 1 / 16) */
    assert_true(fabs(model_estimate_total(d, x, 2) - (50 + 8.125) / 0.5625) < 1e-9);
    y[0][0] = -1000;
    assert_true(fabs(model_estimate_total(d, x, 2) - 1) < 1e-12);
    /* the second was measured when the population was 65: half of the model's 130 */
    y[0][0] = 90;
    x[1].total = 65;
    assert_true(fabs(model_estimate_total(d, x, 2) - 130) < 1e-9);
    y[1][0] = y[1][1] = y[1][2] = 15;
    y[1][3] = 20;
    struct model *m CLEAN(model_free) = MADE(model, model_plain, d, c, 2, 100, NULL);
    model_set_total(m, 130);
    OK(model_fit(m, x, 2, 300, &result, NULL));
    assert_true(result.loss < 1e-6);
    assert_true(fabs(m->total * m->potential[1].mu[3] - 40) < 1e-2);
}

TEST(sizes_are_refused_by_name)
{
    static const struct clique pairs[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}};
    static const struct clique ends = {2, {0, 3}}, across = {3, {0, 1, 3}}, inside = {2, {1, 2}};
    LOG_INTO(log, sink, LOG_ERROR);
    struct model_fitted result;
    struct measurement x = {.clique = ends, .sigma = 1};
    static const uint32_t size[] = {10, 10, 10, 10};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct model *m CLEAN(model_free) = NULL;
    double counts[10000];
    assert_int_equal(model_plain(&m, d, pairs, 3, 299, &log), ERR_RANGE);
    assert_null(m);
    support_says(sink, "a0 x a1");
    OK(model_plain(&m, d, pairs, 3, 300, NULL));
    assert_int_equal(model_cells(m), 300);
    assert_int_equal(model_cells_with(m, &inside), 300);
    assert_int_equal(model_cells_with(m, &ends), 2000); /* a ring of four: two triangles */
    assert_true(model_covers(m, &inside) && !model_covers(m, &ends));
    assert_int_equal(model_marginal(m, &ends, counts, NULL),
                     model_marginal_cells(m, &ends) > 300 ? ERR_RANGE : ERR_OK);
    sink[0] = '\0';
    GIVES(model_marginal(m, &across, counts, &log), ERR_RANGE, sink, "a0 x a1 x a3");
    assert_int_equal(model_fit(m, &x, 1, 1, &result, NULL), ERR_MISMATCH);
}

TEST(structural_zeros_are_exact)
{
    static double p[JOINT_MAX], expected[JOINT_MAX], counts[JOINT_MAX];
    static uint32_t index[JOINT_MAX], zero_index[JOINT_MAX];
    struct random r = random_of(6);
    for (int run = 0; run < 40; run++) {
        struct model_world w CLEAN(world_free) = world_new(&r);
        uint32_t cell[2];
        struct workload_zeros zeros = {.cells = 2, .cell = cell};
        struct model_terms t = {.zero = &zeros, .zeros = 1, .limit_cells = 1 << 20};
        double sum = 0;
        zeros.clique = random_clique(&r, 2); /* one of the measured ones or not */
        cell[0] = (uint32_t)random_below(&r, clique_cells(&zeros.clique, w.domain));
        cell[1] = (uint32_t)random_below(&r, clique_cells(&zeros.clique, w.domain));
        t.domain = w.domain;
        t.clique = w.clique;
        t.cliques = w.cliques;
        struct model *m CLEAN(model_free) = MADE(model, model_new, &t, NULL);
        for (size_t i = 0; i < m->parameters; i++)
            m->theta[i] = (run % 3 == 0 ? 400 : 3) * (random_double(&r) - 0.5);
        model_propagate(m, run % 2 == 0);
        joint_of(&w, m, p);
        clique_project(&w.all, &zeros.clique, w.domain, zero_index);
        for (size_t i = 0; i < w.joint; i++) {
            p[i] *= zero_index[i] != cell[0] && zero_index[i] != cell[1];
            sum += p[i];
        }
        for (int ask = 0; ask < 20 && sum > 1e-6; ask++) {
            struct clique c = random_clique(&r, 1 + (unsigned)random_below(&r, ATTRIBUTES));
            uint64_t cells = clique_cells(&c, w.domain);
            clique_project(&w.all, &c, w.domain, index);
            memset(expected, 0, sizeof expected);
            for (size_t i = 0; i < w.joint; i++)
                expected[index[i]] += p[i] / sum;
            OK(model_marginal(m, &c, counts, NULL));
            for (uint64_t i = 0; i < cells; i++)
                assert_true(fabs(counts[i] - expected[i]) < 1e-9);
        }
        OK(model_marginal(m, &zeros.clique, counts, NULL));
        assert_true(counts[cell[0]] == 0 && counts[cell[1]] == 0);
    }
}

TEST(impossible_zeros_are_refused)
{
    static const uint32_t both[] = {0, 1}, outside[] = {2};
    struct workload_zeros zeros = {.clique = {1, {0}}, .cells = 2, .cell = both};
    static const struct clique c = {1, {0}};
    struct model_terms t = {
        .clique = &c, .cliques = 1, .zero = &zeros, .zeros = 1, .limit_cells = 100};
    struct model *m;
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_integer(d, "a", 0, 1, NULL, DOMAIN_REJECT, NULL));
    t.domain = d;
    assert_int_equal(model_new(&m, &t, NULL), ERR_RANGE);
    zeros = (struct workload_zeros){.clique = {1, {0}}, .cells = 1, .cell = outside};
    assert_int_equal(model_new(&m, &t, NULL), ERR_RANGE);
}

/* The fit ends where plain mirror descent does, on the measured cliques and everywhere else. */
TEST(the_fit_agrees_with_plain_descent)
{
    static struct case_of_fit f;
    static double x[JOINT_MAX], y[JOINT_MAX];
    struct random r = random_of(7);
    for (int run = 0; run < 12; run++) {
        struct model_fitted a, b;
        struct model_world w CLEAN(world_free) = world_new(&r);
        measure(&f, &w, &r);
        struct model *m CLEAN(model_free) = model_of(&w);
        struct model *n CLEAN(model_free) = model_of(&w);
        model_set_total(m, model_estimate_total(w.domain, f.measurement, w.cliques));
        model_set_total(n, model_total(m));
        OK(mirror_fit(m, f.measurement, w.cliques, 20000, &a));
        OK(model_fit(n, f.measurement, w.cliques, 10000, &b, NULL));
        assert_true(b.loss < a.loss * (1 + 1e-6) && b.trials < a.trials / 4);
        OK(model_marginal(m, &w.all, x, NULL));
        OK(model_marginal(n, &w.all, y, NULL));
        for (size_t i = 0; i < w.joint; i++)
            assert_true(fabs(x[i] - y[i]) < 1e-3 * model_total(m));
    }
}

TEST(files_keep_models_to_the_last_bit)
{
    static const uint32_t cell[] = {1};
    struct workload_zeros zeros = {.clique = {1, {2}}, .cells = 1, .cell = cell};
    char folder[] = "/tmp/trefoil-test-XXXXXX", path[64];
    struct random r = random_of(8);
    struct bytes text CLEAN(bytes_clear) = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    for (int run = 0; run < 10; run++) {
        static double x[JOINT_MAX], y[JOINT_MAX];
        struct model_terms t = {.zero = &zeros, .zeros = run % 2 == 1, .limit_cells = 1 << 20};
        struct model_world w CLEAN(world_free) = world_new(&r);
        struct domain *d;
        struct model *m CLEAN(model_free) = NULL, *again;
        t.domain = w.domain;
        t.clique = w.clique;
        t.cliques = w.cliques;
        OK(model_new(&m, &t, NULL));
        for (size_t i = 0; i < m->parameters; i++)
            m->theta[i] = random_double(&r);
        model_propagate(m, true);
        model_set_total(m, 123.25);
        OK(model_save(path, m, NULL));
        OK(model_load(&again, &d, path, 1 << 20, NULL));
        assert_true(model_total(again) == 123.25);
        OK(model_marginal(m, &w.all, x, NULL));
        OK(model_marginal(again, &w.all, y, NULL));
        assert_memory_equal(x, y, w.joint * sizeof *x);
        model_free(&again);
        domain_free(&d);
        assert_int_equal(model_load(&again, &d, path, 3, NULL), ERR_RANGE);
        assert_null(again);
        assert_null(d);
        model_set_total(m, 1e300); /* nobody draws so many rows from it, and 0 is not an answer */
        if (run == 0)
            OK(model_save(path, m, NULL));
        assert_true(run != 0 || model_load(&again, &d, path, 1 << 20, NULL) == ERR_FORMAT);
    }
    OK(file_read(path, 1 << 20, &text, NULL));
    for (size_t i = 0; i < text.size; i += 7) {
        struct domain *d;
        struct model *m;
        text.data[i] ^= 1;
        OK(file_write(path, 0600, text.data, i % 2 ? i : text.size, NULL));
        assert_int_equal(model_load(&m, &d, path, 1 << 20, NULL), ERR_FORMAT);
        text.data[i] ^= 1;
    }
    unlink(path);
    rmdir(folder);
}
