/* aim/errors: refits show the noise of a model, held-back marginals and bins show the rest. */
#include "harness/cmocka.h"
#include "harness/model.h"

#include "aim/answer/errors_file.h"
#include "aim/answer/errors_private.h"
#include "aim/model/model_private.h"
#include "base/digest.h"

#define SIGMA 20.0
#define SIZE 4
#define CELLS (SIZE * SIZE)

struct errors_world {
    struct domain *domain;
    struct model *model;
    struct random random;
    size_t n;
    struct measurement x[8];
    double y[8][CELLS];
};

static void world_new(struct errors_world *w, size_t columns)
{
    *w = (struct errors_world){.n = 0};
    w->random = random_of(5);
    OK(domain_new(&w->domain));
    for (size_t i = 0; i < columns; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        OK(domain_add_integer(w->domain, name, 0, SIZE - 1, NULL, DOMAIN_REJECT, NULL));
    }
}

static void world_free(struct errors_world *w)
{
    model_free(&w->model);
    domain_free(&w->domain);
}

static double noise(struct errors_world *w)
{
    return SIGMA * ldexp((double)random_gauss(&w->random), -RANDOM_GAUSS_BITS);
}

static void measure(struct errors_world *w, struct clique c, const double *counts)
{
    struct measurement *x = &w->x[w->n];
    *x = (struct measurement){.clique = c, .sigma = SIGMA, .y = w->y[w->n]};
    for (uint64_t i = 0; i < clique_cells(&c, w->domain); i++)
        x->y[i] = counts[i] + noise(w);
    w->n++;
}

static void fit(struct errors_world *w)
{
    struct clique c[8];
    struct model_fitted result;
    for (size_t i = 0; i < w->n; i++)
        c[i] = w->x[i].clique;
    OK(model_plain(&w->model, w->domain, c, w->n, 1 << 20, NULL));
    model_set_total(w->model, model_estimate_total(w->domain, w->x, w->n));
    OK(model_fit(w->model, w->x, w->n, 1000, &result, NULL));
}

/* One pair of columns, with counts far above the noise. */
static void one_pair(struct errors_world *w)
{
    double counts[CELLS];
    world_new(w, 2);
    for (int i = 0; i < CELLS; i++)
        counts[i] = 1000 + 100 * i;
    measure(w, (struct clique){.n = 2, .attribute = {0, 1}}, counts);
    fit(w);
}

static void make(struct errors **e, const struct errors_world *w)
{
    OK(errors_new(e, w->model, w->x, w->n, NULL, NULL));
    assert_non_null(*e);
}

/* --- refits ----------------------------------------------------------------------------------- */

/* Where a marginal is measured once, its counts are as uncertain as its noise. */
TEST(refits_differ_by_the_noise)
{
    const struct clique pair = {.n = 2, .attribute = {0, 1}};
    struct errors_world w CLEAN(world_free);
    struct errors *e CLEAN(errors_free) = NULL;
    double counts[CELLS], again[CELLS], square = 0;
    one_pair(&w);
    make(&e, &w);
    assert_int_equal(e->refits, ERRORS_REFITS);
    struct model *copy CLEAN(model_free) = MADE(model, model_copy, w.model, NULL);
    OK(model_marginal(w.model, &pair, counts, NULL));
    for (size_t r = 0; r < e->refits; r++) {
        errors_apply(e, r, w.model, copy);
        OK(model_marginal(copy, &pair, again, NULL));
        for (int i = 0; i < CELLS; i++)
            square += (again[i] - counts[i]) * (again[i] - counts[i]);
    }
    square = sqrt(square / CELLS / (double)e->refits);
    assert_true(square > 0.9 * SIGMA && square < 1.1 * SIGMA);
}

TEST(fewer_refits_where_there_are_many_parameters)
{
    assert_int_equal(errors_refits(1), ERRORS_REFITS);
    assert_int_equal(errors_refits(ERRORS_FILE_MAX / 2 / 2 / 20), 20);
    assert_int_equal(errors_refits(ERRORS_FILE_MAX), 0);
    assert_true(errors_bytes(1 << 20) <= ERRORS_FILE_MAX);
}

/* --- gaps ------------------------------------------------------------------------------------- */

TEST(links_are_counted)
{
    const struct scope all = {.n = 4, .attribute = {0, 1, 2, 3}},
                       far = {.n = 2, .attribute = {0, 2}}, near = {.n = 2, .attribute = {1, 2}},
                       none = {.n = 0};
    const struct clique c[] = {
        {.n = 2, .attribute = {0, 1}}, {.n = 2, .attribute = {1, 2}}, {.n = 1, .attribute = {3}}};
    const bool without[] = {false, true, false};
    struct errors_world w CLEAN(world_free);
    world_new(&w, 4);
    OK(model_plain(&w.model, w.domain, c, 3, 1 << 20, NULL));
    assert_int_equal(errors_links(w.model, &none), 0);
    assert_int_equal(errors_links(w.model, &near), 0);
    assert_int_equal(errors_links(w.model, &far), 1);
    assert_int_equal(errors_links(w.model, &all), 2);
    assert_int_equal(errors_links_without(w.model, &far, without), 0); /* nothing covers column 2 */
}

/* Four pairs around a ring, dependent or not: the held-back pair tells. */
static void ring(struct errors_world *w, double dependence)
{
    double counts[CELLS], one[SIZE];
    world_new(w, 4);
    for (int i = 0; i < CELLS; i++)
        counts[i] = 10000 * (i / SIZE == i % SIZE ? 1 + 3 * dependence : 1 - dependence);
    for (int i = 0; i < SIZE; i++)
        one[i] = 10000 * SIZE;
    for (uint16_t i = 0; i < 4; i++)
        measure(w, (struct clique){.n = 1, .attribute = {i}}, one);
    for (uint16_t i = 0; i < 2; i++) /* a-b and c-d: nothing else says anything about either */
        measure(w, (struct clique){.n = 2, .attribute = {(uint16_t)(2 * i), (uint16_t)(2 * i + 1)}},
                counts);
    fit(w);
}

TEST(dependence_is_learned)
{
    for (int dependent = 0; dependent < 2; dependent++) {
        struct errors_world w CLEAN(world_free);
        struct errors *e CLEAN(errors_free) = NULL;
        ring(&w, dependent ? 0.3 : 0);
        make(&e, &w);
        assert_true(e->learned);
        double variance = e->apart[0].common + e->apart[0].small / 10000;
        if (dependent) /* cells are 1.9 and 0.7 times what independence gives */
            assert_true(variance > 0.05 && variance < 1);
        else
            assert_true(variance < 1e-4);
    }
}

TEST(without_pairs_nothing_is_learned)
{
    const double one[SIZE] = {1000, 1000, 1000, 1000};
    struct errors_world w CLEAN(world_free);
    struct errors *e CLEAN(errors_free) = NULL;
    world_new(&w, 2);
    measure(&w, (struct clique){.n = 1, .attribute = {0}}, one);
    measure(&w, (struct clique){.n = 1, .attribute = {1}}, one);
    fit(&w);
    make(&e, &w);
    assert_false(e->learned);
}

/* Bins that fall off evenly follow the density; bins that go up and down do not. */
TEST(bins_tell_of_what_is_inside)
{
    double inside[2];
    for (int rough = 0; rough < 2; rough++) {
        double edges[13], y[12];
        const struct clique c = {.n = 1, .attribute = {0}};
        const struct measurement x = {.clique = c, .sigma = 1, .y = y};
        struct model_fitted result;
        for (int i = 0; i < 12; i++) {
            edges[i] = i;
            y[i] = 10000 * pow(0.8, i) * (rough && i % 3 == 0 ? 3 : 1);
        }
        edges[12] = 12;
        struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
        OK(domain_add_numeric(d, "n", edges, 13, NULL, DOMAIN_REJECT, NULL));
        struct model *m CLEAN(model_free) = MADE(model, model_plain, d, &c, 1, 1 << 20, NULL);
        model_set_total(m, model_estimate_total(d, &x, 1));
        OK(model_fit(m, &x, 1, 1000, &result, NULL));
        OK(errors_inside(&inside[rough], m, &x, 1, NULL));
    }
    assert_true(inside[0] < 0.05);
    assert_true(inside[1] > 0.3 && inside[1] <= 1);
}

/* A size that is seen well is found; where noise hides all, none is as good as ruled out. */
TEST(what_noise_hides_is_not_taken_for_nothing)
{
    struct errors_seen seen[400], hidden[100];
    struct errors_list much = {.n = 400, .one = seen}, little = {.n = 100, .one = hidden};
    struct random r = random_of(8);
    double z[500];
    random_normals(&r, z, 500);
    for (int i = 0; i < 400; i++)
        seen[i] = (struct errors_seen){
            .rows = 1000, .factor = 1, .square = 0.02 * z[i] * z[i], .noise = 1e-5};
    for (int i = 0; i < 100; i++) /* less than the noise itself would show */
        hidden[i] = (struct errors_seen){
            .rows = 50, .factor = 0.8, .square = 0.4 * z[400 + i] * z[400 + i], .noise = 0.5};
    struct errors_size size = errors_likely(&much, 1, 0);
    assert_true(size.common + size.small / 1000 > 0.014);
    assert_true(size.common + size.small / 1000 < 0.028);
    size = errors_likely(&little, 1, 0);
    assert_true(size.common > 0.005 && size.common < 0.1);
    size = errors_likely(&little, 1, 1); /* of which nothing was seen */
    assert_true(size.common > 0.1);
}

/* --- the file --------------------------------------------------------------------------------- */

#define PATH "/tmp/trefoil-test-errors"

static void read_back(struct bytes *b)
{
    OK(file_read(PATH, ERRORS_FILE_MAX, b, NULL));
}

TEST(a_file_reads_back_to_the_same_bytes)
{
    struct errors_world w CLEAN(world_free);
    struct errors *e CLEAN(errors_free) = NULL, *same CLEAN(errors_free) = NULL,
                     *loaded CLEAN(errors_free) = NULL;
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    ring(&w, 0.2);
    make(&e, &w);
    make(&same, &w);
    OK(errors_save(PATH, e, w.model, NULL));
    read_back(&first);
    OK(errors_save(PATH, same, w.model, NULL));
    read_back(&second);
    SAME_BYTES(&first, second.data, second.size);
    OK(errors_load(&loaded, w.model, PATH, NULL));
    OK(errors_save(PATH, loaded, w.model, NULL));
    read_back(&second);
    assert_memory_equal(first.data, second.data, first.size);
    unlink(PATH);
}

/* Files of version 1 end with the bins: they have no counts, and intervals of refits alone. */
TEST(a_file_without_counts_is_still_read)
{
    struct errors_world w CLEAN(world_free);
    struct errors *e CLEAN(errors_free) = NULL, *loaded CLEAN(errors_free) = NULL;
    struct bytes all CLEAN(bytes_clear) = {0}, older CLEAN(bytes_clear) = {0};
    size_t counts = 4 + 2 + 2 * 2 + 1 + 8 + 8 * CELLS;
    one_pair(&w);
    make(&e, &w);
    OK(errors_save(PATH, e, w.model, NULL));
    OK(errors_load(&loaded, w.model, PATH, NULL));
    assert_int_equal(loaded->counts, 1);
    assert_true(loaded->count[0].sigma == SIGMA && loaded->count[0].y[3] == w.y[0][3]);
    errors_free(&loaded);
    read_back(&all);
    bytes_put(&older, all.data, all.size - DIGEST_SIZE - counts);
    memcpy(strchr((char *)older.data, '3'), "1", 1);
    OK(digest_write(PATH, 0600, &older, NULL));
    OK(errors_load(&loaded, w.model, PATH, NULL));
    assert_true(loaded->counts == 0 && loaded->refits == e->refits);
    assert_true(loaded->inside[1] == e->inside[1]);
    unlink(PATH);
}

TEST(a_file_that_is_damaged_or_of_another_model_is_refused)
{
    struct errors_world w CLEAN(world_free);
    struct errors *e CLEAN(errors_free) = NULL, *loaded = NULL;
    struct bytes b CLEAN(bytes_clear) = {0};
    one_pair(&w);
    make(&e, &w);
    OK(errors_save(PATH, e, w.model, NULL));
    read_back(&b);
    for (size_t i = 0; i < b.size; i += b.size / 50) {
        b.data[i] ^= 4;
        OK(file_write(PATH, 0600, b.data, b.size, NULL));
        assert_int_equal(errors_load(&loaded, w.model, PATH, NULL), ERR_FORMAT);
        b.data[i] ^= 4;
        OK(file_write(PATH, 0600, b.data, i, NULL));
        assert_int_equal(errors_load(&loaded, w.model, PATH, NULL), ERR_FORMAT);
    }
    OK(file_write(PATH, 0600, b.data, b.size, NULL));
    w.model->theta[0] += 1;
    assert_int_equal(errors_load(&loaded, w.model, PATH, NULL), ERR_FORMAT);
    w.model->theta[0] -= 1;
    OK(errors_load(&loaded, w.model, PATH, NULL));
    errors_free(&loaded);
    unlink(PATH);
}
