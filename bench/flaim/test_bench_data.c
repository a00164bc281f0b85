/* bench/: how rows are dealt to clients; invented tables; trees. */
#include "bench/flaim/stage.h"
#include "harness/cmocka.h"

#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "bench/flaim/trees.h"
#include "bench/generated.h"

#include <math.h>

/* --- data ------------------------------------------------------------------------------------ */

TEST(splits_deal_every_row_once)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    size_t rows = 0;
    assert_int_equal(s->split.test->rows, ROWS / 10);
    assert_int_equal(s->split.train->rows, ROWS - ROWS / 10);
    for (uint32_t q = 0; q < s->workload->queries; q++) {
        const struct workload_query *query = &s->workload->query[q];
        int64_t all[CELLS_MOST], part[CELLS_MOST], sum[CELLS_MOST] = {0};
        tabulate_marginal(s->table, &query->clique, all);
        tabulate_marginal(s->split.test, &query->clique, sum);
        for (size_t k = 0; k < CLIENTS; k++) {
            tabulate_marginal(s->split.client[k], &query->clique, part);
            for (uint64_t i = 0; i < query->cells; i++)
                sum[i] += part[i];
        }
        assert_memory_equal(all, sum, query->cells * sizeof *all);
    }
    for (size_t k = 0; k < CLIENTS; k++)
        rows += s->split.client[k]->rows;
    assert_int_equal(rows, s->split.train->rows);
}

static size_t largest(const uint32_t *to, size_t rows, size_t clients, size_t *least)
{
    size_t most = 0;
    *least = rows;
    for (uint32_t k = 0; k < clients; k++) {
        size_t n = 0;
        for (size_t i = 0; i < rows; i++)
            n += to[i] == k;
        most = n > most ? n : most;
        *least = n < *least ? n : *least;
    }
    return most;
}

TEST(assignments_are_as_even_as_asked)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    uint32_t to[ROWS];
    size_t least, most;
    struct random r = random_of(1);
    assign_evenly(to, ROWS, 30, &r);
    most = largest(to, ROWS, 30, &least);
    assert_true(most - least <= 1);
    OK(assign_by_label(to, s->table, 3, 30, 1000, &r));
    most = largest(to, ROWS, 30, &least);
    assert_true(most < 45 && least > 8);
    OK(assign_by_label(to, s->table, 3, 30, 0.02, &r));
    most = largest(to, ROWS, 30, &least);
    assert_true(most > 150 && least >= 1);
}

TEST(gamma_has_its_mean_and_variance)
{
    struct random r = random_of(2);
    for (int i = 0; i < 3; i++) {
        const double shape = (const double[]){0.3, 1, 7.5}[i];
        double sum = 0, square = 0;
        for (int k = 0; k < 40000; k++) {
            double x = draw_gamma(&r, shape);
            assert_true(x >= 0);
            sum += x / 40000;
            square += x * x / 40000;
        }
        assert_true(fabs(sum - shape) < 6 * sqrt(shape / 40000));
        assert_true(fabs(square - sum * sum - shape) < 0.12 * (shape + 0.5));
    }
}

TEST(synthfs_clients_have_features_of_their_own)
{
    struct bench_data d CLEAN(bench_data_clear);
    uint32_t *to CLEAN(memory_release) = NULL;
    double within = 0, all = 0;
    OK(synthfs_new(&d, &to, 1, NULL));
    assert_int_equal(d.table->rows, SYNTHFS_ROWS);
    assert_int_equal(d.domain->attributes, 10);
    assert_int_equal(d.workload->cliques, 64);
    for (size_t i = 0; i + 1 < SYNTHFS_ROWS; i++) {
        double step = d.table->column[0][i + 1] - (double)d.table->column[0][i];
        double far = d.table->column[0][(i + SYNTHFS_ROWS / 2) % SYNTHFS_ROWS] -
                     (double)d.table->column[0][i];
        within += to[i] == to[i + 1] ? step * step : 0;
        all += far * far;
    }
    assert_true(within < 0.1 * all);
}

/* A label that follows another column can be learned; a random one cannot. */
/* How far the target is from even within the other columns' cells, from 0 to 1.5. */
static double shown(const struct bench_data *c, const struct clique *q)
{
    const uint64_t cells = clique_cells(q, c->domain);
    int64_t *count CLEAN(memory_release) = memory_array(cells, sizeof *count);
    double off = 0;
    tabulate_marginal(c->table, q, count);
    for (uint64_t i = 0; i < cells; i += 4) {
        const double all = (double)(count[i] + count[i + 1] + count[i + 2] + count[i + 3]);
        for (uint64_t k = i; k < i + 4; k++)
            off += fabs((double)count[k] - all / 4);
    }
    return off / (double)c->table->rows;
}

TEST(a_target_of_three_columns_shows_in_no_two_of_them)
{
    static const struct clique whole = {4, {2, 5, 9, 12}},
                               parts[] = {{3, {2, 5, 12}}, {3, {2, 9, 12}}, {3, {5, 9, 12}}};
    struct bench_data c CLEAN(bench_data_clear) = {0}, none CLEAN(bench_data_clear) = {0};
    OK(generated_make(&c, "parity", GENERATED_ROWS, NULL));
    assert_true(shown(&c, &whole) > 1.4);
    for (size_t i = 0; i < 3; i++)
        assert_true(shown(&c, &parts[i]) < 0.3);
    assert_int_equal(generated_make(&none, "nursery", GENERATED_ROWS, NULL), ERR_RANGE);
}

TEST(trees_learn_what_can_be_learned)
{
    const char *reason;
    struct stage *s CLEAN(stage_free) = NULL;
    struct table *t[2];
    struct random r;
    double auc;
    const bool present = trees_present(&reason);
    support_needs(present, reason);
    s = stage_new();
    r = random_of(3);
    for (int k = 0; k < 2; k++) {
        OK(table_new(&t[k], s->domain, 2000));
        for (int i = 0; i < 2000; i++) {
            uint16_t c[4] = {(uint16_t)random_below(&r, 3), (uint16_t)random_below(&r, 4), 0, 0};
            c[2] = c[1] >= 2;                     /* two values, from b */
            c[3] = (uint16_t)random_below(&r, 3); /* three, from nothing */
            OK(table_append(t[k], c));
        }
    }
    OK(trees_auc(t[0], t[1], 2, &auc, NULL));
    assert_true(auc > 0.999);
    OK(trees_auc(t[0], t[1], 3, &auc, NULL));
    assert_true(fabs(auc - 0.5) < 0.05);
    table_free(&t[0]);
    table_free(&t[1]);
}
