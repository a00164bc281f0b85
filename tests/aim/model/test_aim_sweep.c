/* aim/sweep: every kernel against plain loops, and the three of them against each other. */
#include "harness/cmocka.h"
#include "harness/model.h"
#include "tests/support/domain.h"

#include "aim/model/factor.h"
#include "aim/model/model_private.h"

#define CELLS 20000

static const struct sweep *kernels(int i)
{
    return i == 0 ? sweep_plain() : i == 1 ? sweep_avx2() : sweep_avx512();
}

TEST(exp_and_log_are_within_their_bound)
{
    static double in[CELLS], out[CELLS], first[CELLS];
    static const double edges[] = {0, -708, 709, -1e-300, 1e-17, -0.34657, 0.34658, 1};
    struct random r = random_of(1);
    for (int run = 0; run < 12; run++) {
        double width = run < 4 ? 708 : run < 8 ? 2 : 1e-3;
        for (int i = 0; i < CELLS; i++)
            in[i] = i < 8 ? edges[i] : (2 * random_double(&r) - 1) * width;
        for (int k = 0; k < 3; k++) {
            size_t n = CELLS - (size_t)run; /* tails of all lengths */
            if (kernels(k) == NULL)
                continue;
            memcpy(out, in, sizeof in);
            kernels(k)->exp(out, n);
            for (size_t i = 0; i < n; i++)
                assert_true(fabsl((long double)out[i] / expl(in[i]) - 1) <= 0x1p-51L);
            if (k == 0)
                memcpy(first, out, sizeof out);
            assert_memory_equal(first, out, n * sizeof *out);
            memcpy(out, first, sizeof out);
            kernels(k)->log(out, n);
            for (size_t i = 0; i < n; i++) {
                long double exact = logl(first[i]);
                assert_true(fabsl((long double)out[i] - exact) <= 0x1p-51L * fabsl(exact));
            }
        }
    }
    in[0] = -708.5;
    in[1] = -INFINITY;
    in[2] = -1e9;
    in[3] = 1000;
    sweep_best()->exp(in, 4);
    assert_true(in[0] == 0 && in[1] == 0 && in[2] == 0);
    assert_true(in[3] > 8e307 && isfinite(in[3]));
}

struct sweep_shape {
    struct domain *domain;
    struct scope whole, part;
};

static void shape_new(struct sweep_shape *s, struct random *r, unsigned attributes,
                      unsigned largest)
{
    uint32_t size[16];
    assert_true(attributes <= 16);
    *s = (struct sweep_shape){.whole.n = (uint16_t)attributes};
    for (unsigned a = 0; a < attributes; a++) {
        size[a] = 1 + (uint32_t)random_below(r, largest);
        s->whole.attribute[a] = (uint16_t)a;
        if (random_u64(r) & 1)
            s->part.attribute[s->part.n++] = (uint16_t)a;
    }
    s->domain = support_domain(size, attributes);
}

/* All chunks of one shape, on one kernel, compared with the walk. */
static void check_shape(const struct sweep_shape *s, const struct sweep *k, struct random *r)
{
    size_t cells = scope_cells(&s->whole, s->domain), parts = scope_cells(&s->part, s->domain);
    size_t chunk = projection_chunk(&s->whole, s->domain);
    double *cell CLEAN(memory_release) = memory_array(cells, sizeof *cell);
    double *part CLEAN(memory_release) = memory_array(parts, sizeof *part);
    double *sum CLEAN(memory_release) = memory_array(parts, sizeof *sum);
    double *most CLEAN(memory_release) = memory_array(parts, sizeof *most);
    double *out CLEAN(memory_release) = memory_array(cells, sizeof *out);
    double *top CLEAN(memory_release) = memory_array(parts, sizeof *top);
    struct model_projection p CLEAN(projection_clear);
    struct scope_walk w;
    assert_true(cell && part && sum && most && out && top && cells % chunk == 0);
    OK(projection_new(&p, &s->whole, chunk, &s->part, s->domain));
    for (size_t i = 0; i < cells; i++)
        cell[i] = (double)random_below(r, 1000); /* whole numbers: sums are exact */
    for (size_t i = 0; i < parts; i++)
        part[i] = (double)random_below(r, 1000);
    for (size_t c = 0; c < cells / chunk; c++) {
        double *at = out + c * chunk;
        k->spread(at, part + p.offset[c], &p.strip);
        k->spread_add(at, part + p.offset[c], &p.strip);
        k->spread_multiply(at, part + p.offset[c], &p.strip);
        k->collect(sum + p.offset[c], cell + c * chunk, &p.strip);
        k->collect_most(most + p.offset[c], cell + c * chunk, &p.strip);
    }
    scope_walk_start(&w, &s->whole, &s->part, s->domain);
    for (size_t i = 0; i < cells; i++, scope_walk_next(&w)) {
        assert_true(out[i] == 2 * part[w.place] * part[w.place]);
        sum[w.place] -= cell[i];
        top[w.place] = fmax(top[w.place], cell[i]);
    }
    for (size_t i = 0; i < parts; i++)
        assert_true(sum[i] == 0 && most[i] == top[i]);
}

TEST(strips_follow_the_walk)
{
    struct random r = random_of(2);
    for (int run = 0; run < 400; run++) {
        struct sweep_shape s;
        if (run % 3 == 0)
            shape_new(&s, &r, 1 + (unsigned)random_below(&r, 3), 60);
        else if (run % 3 == 1)
            shape_new(&s, &r, 3 + (unsigned)random_below(&r, 4), 8);
        else
            shape_new(&s, &r, 14, 2);
        for (int k = 0; k < 3; k++)
            if (kernels(k) != NULL)
                check_shape(&s, kernels(k), &r);
        domain_free(&s.domain);
    }
}

#define FLOWS 7

/* A node over a shape, with so many flows in and out, each over some of its attributes. */
struct stream {
    const struct sweep_shape *shape;
    struct model_node node;
    size_t cells[FLOWS];
    struct scope scope[FLOWS];
    struct model_projection by[FLOWS];
    double *in[FLOWS], *out[FLOWS];
};

static struct scope part_of(const struct scope *s, struct random *r)
{
    struct scope part = {0};
    for (unsigned i = 0; i < s->n; i++)
        if (random_below(r, 3) == 0)
            part.attribute[part.n++] = s->attribute[i];
    return part;
}

static void add(struct stream *s, size_t k, const struct scope *part, struct random *r)
{
    const struct sweep_shape *shape = s->shape;
    const struct scope inner = ladder_inner(&shape->whole, s->node.chunk, shape->domain);
    s->scope[k] = *part;
    s->cells[k] = scope_cells(part, shape->domain);
    s->in[k] = memory_array(s->cells[k], sizeof(double));
    s->out[k] = memory_array(s->cells[k], sizeof(double));
    OK(projection_new(&s->by[k], &shape->whole, s->node.chunk, part, shape->domain));
    for (size_t i = 0; i < s->cells[k]; i++)
        s->in[k][i] = (double)random_below(r, 1000);
    s->node.inflow[k] = (struct model_flow){
        .by = &s->by[k], .value = s->in[k], .set = ladder_set(&inner, part)};
    s->node.outflow[k] = s->node.inflow[k];
    s->node.outflow[k].value = s->out[k];
}

static void stream_new(struct stream *s, const struct sweep_shape *shape, struct random *r)
{
    *s = (struct stream){.shape = shape};
    s->node.cells = scope_cells(&shape->whole, shape->domain);
    s->node.chunk = projection_chunk(&shape->whole, shape->domain);
    s->node.inflows = s->node.outflows = FLOWS;
    s->node.inflow = memory_array(FLOWS, sizeof *s->node.inflow);
    s->node.outflow = memory_array(FLOWS, sizeof *s->node.outflow);
    add(s, 0, &shape->whole, r);
    for (size_t k = 1; k < FLOWS; k++) {
        const struct scope part = part_of(&shape->whole, r);
        add(s, k, &part, r);
    }
    OK(ladder_new(&s->node, &shape->whole, shape->domain));
}

static void stream_clear(struct stream *s)
{
    for (size_t k = 0; k < FLOWS; k++) {
        projection_clear(&s->by[k]);
        memory_free_all(&s->in[k], &s->out[k]);
    }
    memory_free_all(&s->node.inflow, &s->node.outflow);
    ladder_clear(&s->node.ladder);
}

/* Flows from `first` on reach the cells, and the cells the flows, as when walking over them. */
static void check_stream(struct stream *s, size_t first)
{
    const struct model_node *n = &s->node;
    double *cell CLEAN(memory_release) = memory_array(n->cells, sizeof *cell);
    double *sum CLEAN(memory_release) = memory_array(n->cells, sizeof *sum);
    struct scope_walk w;
    for (size_t c = 0; c < n->cells / n->chunk; c++) {
        ladder_gather(n, sweep_best(), first, c, cell + c * n->chunk);
        ladder_scatter(n, sweep_best(), c, cell + c * n->chunk);
    }
    for (size_t k = first; k < FLOWS; k++) {
        scope_walk_start(&w, &s->shape->whole, &s->scope[k], s->shape->domain);
        for (size_t i = 0; i < n->cells; i++, scope_walk_next(&w))
            sum[i] += s->in[k][w.place];
    }
    assert_memory_equal(cell, sum, n->cells * sizeof *cell);
    for (size_t k = 0; k < FLOWS; k++) {
        scope_walk_start(&w, &s->shape->whole, &s->scope[k], s->shape->domain);
        for (size_t i = 0; i < n->cells; i++, scope_walk_next(&w))
            s->out[k][w.place] -= cell[i];
        for (size_t i = 0; i < s->cells[k]; i++)
            assert_true(s->out[k][i] == 0);
    }
}

TEST(ladders_carry_flows_to_the_cells_and_back)
{
    struct random r = random_of(6);
    for (int run = 0; run < 200; run++) {
        struct sweep_shape shape;
        struct stream s;
        if (run % 2 == 0)
            shape_new(&shape, &r, 1 + (unsigned)random_below(&r, 6), 7);
        else /* several chunks */
            shape_new(&shape, &r, 3, 60);
        stream_new(&s, &shape, &r);
        check_stream(&s, 0);
        check_stream(&s, 1);
        stream_clear(&s);
        domain_free(&shape.domain);
    }
}

TEST(sums_are_the_same_on_all)
{
    static const uint64_t place[] = {5, 0, 9};
    static float a[CELLS], b[CELLS];
    static double x[CELLS], y[CELLS], z[CELLS];
    struct random r = random_of(3);
    double dot[3], off[3], square[3];
    for (int i = 0; i < CELLS; i++) {
        a[i] = (float)random_double(&r);
        b[i] = (float)random_double(&r);
        x[i] = random_double(&r);
        y[i] = random_double(&r);
    }
    for (size_t n = CELLS - 9; n < CELLS; n++)
        for (int k = 0; k < 3; k++) {
            long double exact[3] = {0};
            const struct sweep *s = kernels(k) != NULL ? kernels(k) : sweep_plain();
            dot[k] = s->dot(a, b, n);
            off[k] = s->dot_off(a, x, y, n);
            square[k] = s->square_off(x, 3, y, n);
            for (size_t i = 0; i < n; i++) {
                exact[0] += (long double)a[i] * (long double)b[i];
                exact[1] += (long double)a[i] * ((long double)x[i] - (long double)y[i]);
                exact[2] += (3 * (long double)x[i] - (long double)y[i]) *
                            (3 * (long double)x[i] - (long double)y[i]);
            }
            assert_true(fabsl(dot[k] - exact[0]) < 1e-10L && dot[k] == dot[0]);
            assert_true(fabsl(off[k] - exact[1]) < 1e-10L && off[k] == off[0]);
            assert_true(fabsl(square[k] - exact[2]) < 1e-10L && square[k] == square[0]);
            memcpy(z, x, sizeof z);
            s->add(z, 2, a, n);
            for (size_t i = 0; i < n; i++)
                assert_true(z[i] == x[i] + 2 * (double)a[i]);
            for (size_t w = SWEEP_LANES; w <= 7 * SWEEP_LANES; w += SWEEP_LANES) {
                s->combine(z, y, place, x, 3, w);
                for (size_t i = 0; i < w; i++)
                    assert_true(z[i] == y[5] * x[i] + y[0] * x[w + i] + y[9] * x[2 * w + i]);
            }
        }
}

static struct scope some_of(struct random *r, unsigned attributes)
{
    struct scope s = {0};
    for (unsigned a = 0; a < attributes; a++)
        if (random_below(r, 3) > 0)
            s.attribute[s.n++] = (uint16_t)a;
    return s;
}

static void fill(struct factor *f, const struct scope *s, const struct domain *d, struct random *r)
{
    OK(factor_new(f, s, d));
    for (uint64_t i = 0; i < f->cells; i++)
        f->value[i] = (double)random_below(r, 100); /* whole numbers: sums are exact */
}

/* The index in a table of the values `at` of all attributes. */
static uint64_t cell_of(const struct scope *s, const struct domain *d, const uint32_t *at)
{
    uint64_t cell = 0;
    for (unsigned i = 0; i < s->n; i++)
        cell = cell * d->attribute[s->attribute[i]].size + at[s->attribute[i]];
    return cell;
}

/* Adds f times g to `out` cell by cell; each pair of cells meets once for each value of others. */
static void multiply_plainly(const struct factor *f, const struct factor *g, struct factor *out,
                             const struct domain *d)
{
    const struct scope all = scope_union(&f->scope, &g->scope);
    const uint64_t cells = scope_cells(&all, d);
    for (uint64_t i = 0; i < cells; i++) {
        uint32_t at[16] = {0};
        uint64_t rest = i;
        for (unsigned k = all.n; k-- > 0;) {
            at[all.attribute[k]] = (uint32_t)(rest % d->attribute[all.attribute[k]].size);
            rest /= d->attribute[all.attribute[k]].size;
        }
        out->value[cell_of(&out->scope, d, at)] += f->value[cell_of(&f->scope, d, at)] *
                                                   g->value[cell_of(&g->scope, d, at)];
    }
}

TEST(products_of_tables_are_those_of_their_cells)
{
    struct random r = random_of(5);
    for (int run = 0; run < 300; run++) {
        struct sweep_shape s;
        struct factor f CLEAN(factor_clear), g CLEAN(factor_clear), out CLEAN(factor_clear);
        shape_new(&s, &r, 5, run % 4 == 0 ? 9 : 4);
        struct scope all = some_of(&r, 5);
        fill(&f, &all, s.domain, &r);
        all = some_of(&r, 5);
        fill(&g, &all, s.domain, &r);
        all = scope_union(&f.scope, &g.scope);
        struct scope keep = some_of(&r, 5);
        all = scope_intersect(&all, &keep);
        OK(factor_new(&out, &all, s.domain));
        multiply_plainly(&f, &g, &out, s.domain);
        OK(factor_contract(&f, &g, &keep, s.domain));
        assert_memory_equal(&f.scope, &out.scope, sizeof f.scope);
        assert_memory_equal(f.value, out.value, out.cells * sizeof *out.value);
        domain_free(&s.domain);
    }
}

/* A chain of three-ways: beliefs must be the same to the last bit on every kernel. */
TEST(beliefs_are_the_same_on_all)
{
    static const struct clique c[] = {{3, {0, 1, 2}}, {3, {1, 2, 3}}, {2, {3, 4}}, {1, {2}}};
    static const uint32_t size[] = {7, 12, 17, 22, 27};
    struct domain *d CLEAN(domain_free) = support_domain(size, 5);
    struct model *m CLEAN(model_free) = NULL;
    double *first CLEAN(memory_release) = NULL;
    OK(model_plain(&m, d, c, 4, 1 << 20, NULL));
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = (double)(i * 7919 % 1000) * 0.01;
    size_t cells = m->node[0].cells;
    first = memory_array(cells, sizeof *first);
    for (int k = 0; k < 3; k++) {
        m->sweep = kernels(k) != NULL ? kernels(k) : sweep_plain();
        model_propagate(m, true);
        if (k == 0)
            memcpy(first, m->node[0].belief, cells * sizeof *first);
        assert_memory_equal(first, m->node[0].belief, cells * sizeof *first);
    }
    /* with the shifts of the propagation before, far off and near */
    for (int k = 0; k < 2; k++) {
        for (size_t s = 0; s < m->node[1].separator_cells; s++)
            m->node[1].shift[s] += k == 0 ? 3 : -900;
        model_propagate(m, false);
        for (size_t i = 0; i < cells; i++)
            assert_true(fabs(first[i] - m->node[0].belief[i]) <= 1e-12 * first[i]);
    }
}
