#include "tests/support/trajectory.h"

#include "aim/train/slope.h"

/* Noise is what was opened, less the gradient or the counts of all rows at these weights. */
static void check_step(struct slope *rows, const json_t *step, const char *key,
                       void (*add)(struct slope *rows, const int64_t *weight, int64_t *sums),
                       size_t sums_of, double *squares)
{
    const double sigma = json_number_value(json_object_get(step, "sigma"));
    const json_t *weights = json_object_get(step, "weights"), *opened = json_object_get(step, key);
    const size_t n = features_weights(slope_features(rows));
    int64_t *weight CLEAN(memory_release) = NULL, *sums CLEAN(memory_release) = NULL;
    assert_int_equal(memory_new(&weight, n), ERR_OK);
    assert_int_equal(memory_new(&sums, sums_of), ERR_OK);
    assert_int_equal(json_array_size(weights), n);
    assert_int_equal(json_array_size(opened), sums_of);
    for (size_t k = 0; k < n; k++)
        weight[k] = json_integer_value(json_array_get(weights, k));
    add(rows, weight, sums);
    for (size_t k = 0; k < sums_of; k++) {
        const double z = (json_number_value(json_array_get(opened, k)) - (double)sums[k]) / sigma;
        assert_true(fabs(z) < 6.5);
        *squares += z * z;
    }
}

void trajectory_check(struct scene *c, const char *path, size_t steps)
{
    const struct features *f = c->s.study->features;
    struct slope *rows CLEAN(slope_free) = NULL;
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *step;
    double squares = 0, n;
    size_t k;
    assert_int_equal(slope_new(&rows, c->s.study->features, c->all), ERR_OK);
    assert_int_equal(json_array_size(json_object_get(doc, "steps")), steps);
    json_array_foreach(json_object_get(doc, "steps"), k, step)
        check_step(rows, step, "gradient", slope_sum, features_weights(f), &squares);
    n = (double)(steps * features_weights(f));
    if (f->tests) {
        check_step(rows, json_object_get(doc, "test"), "counts", slope_test, features_cells(f),
                   &squares);
        n += features_cells(f);
    }
    assert_true(fabs(squares / n - 1) < 5.8 * sqrt(2 / n) + 34 / n);
    json_decref(doc);
}
