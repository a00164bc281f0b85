/* mpc/kernel.h: what the check of matrices computes, under every table, against its definition. */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/kernel.h"
#include "tests/support_three.h"

#include <string.h>

#define LENGTH 2500
#define ROWS 131

/* Rows of LENGTH words at most; the largest words are there, so that sums get as large. */
struct room {
    uint16_t x[ROWS * LENGTH], y[KERNEL_ROWS * LENGTH], z[KERNEL_ROWS * LENGTH];
    uint64_t weight[ROWS];
};

static struct room *room_new(void)
{
    struct room *r = memory_array(1, sizeof *r);
    uint64_t seed = 3;
    assert_non_null(r);
    memset(r, 0xff, sizeof *r);
    for (size_t i = 0; i < ROWS; i++) {
        r->weight[i] = three_random(&seed);
        for (size_t k = 0; k < LENGTH / 2; k++)
            r->x[i * LENGTH + k] = (uint16_t)three_random(&seed);
    }
    return r;
}

static void for_each_table(void (*test)(const struct kernel *k, struct room *r, size_t n))
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    static const size_t lengths[] = {0, 1, 7, 32, 63, 65, 200, LENGTH};
    struct room *r = room_new();
    for (unsigned t = 0; t < 3; t++)
        for (unsigned l = 0; l < 8 && kernel_by_name(names[t]) != NULL; l++)
            test(kernel_by_name(names[t]), r, lengths[l]);
    memory_free(&r);
}

static void fold(const struct kernel *k, struct room *r, size_t n)
{
    for (size_t rows = 0; rows <= ROWS; rows += rows == 6 ? 125 : 1) {
        for (size_t i = 0; i < KERNEL_ROWS * n; i++)
            r->y[i] = r->z[i] = (uint16_t)(i * 40503);
        k->fold16(r->y, r->x, rows, r->weight, n);
        for (size_t v = 0; v < rows; v++)
            for (unsigned t = 0; t < KERNEL_ROWS; t++)
                for (size_t i = 0; i < n && r->weight[v] >> t & 1; i++)
                    r->z[t * n + i] = (uint16_t)(r->z[t * n + i] + r->x[v * n + i]);
        assert_memory_equal(r->y, r->z, KERNEL_ROWS * n * sizeof *r->y);
    }
}

static void folds(void **state)
{
    (void)state;
    for_each_table(fold);
}

/* With other rows in places, and in all of them the largest numbers. */
static void cross(const struct kernel *k, struct room *r, size_t n)
{
    static const int factors[3][2] = {{2, 1}, {1, 2}, {1, -1}};
    const uint16_t *xa = r->x, *xb = r->x + n, *ya = r->x + 3 * n, *yb = r->y;
    memset(r->y, 0xff, sizeof r->y);
    for (unsigned f = 0; f < 3; f++) {
        const int p = factors[f][0], q = factors[f][1];
        int64_t sums[2 * KERNEL_ROWS - 1], twin[2 * KERNEL_ROWS - 1];
        for (unsigned t = 0; t < 2 * KERNEL_ROWS - 1; t++)
            sums[t] = twin[t] = t;
        for (unsigned s = 0; s < KERNEL_ROWS; s++)
            for (unsigned t = 0; t < KERNEL_ROWS; t++)
                for (size_t i = 0; i < n; i++)
                    twin[s + t] += ((int64_t)p * xa[s * n + i] + (int64_t)q * xb[s * n + i]) *
                                   ((int64_t)p * ya[t * n + i] + (int64_t)q * yb[t * n + i]);
        k->cross16(sums, xa, xb, ya, yb, p, q, n);
        assert_memory_equal(sums, twin, sizeof sums);
    }
}

static void crosses(void **state)
{
    (void)state;
    for_each_table(cross);
}

static void value(const struct kernel *k, struct room *r, size_t n)
{
    static uint64_t low[LENGTH], high[LENGTH];
    uint64_t weight[KERNEL_ROWS];
    for (unsigned t = 0; t < KERNEL_ROWS; t++)
        weight[t] = t < 2 ? (uint64_t)t : t < 40 ? ((uint64_t)1 << 61) - 1 : r->weight[t] >> 3;
    k->value16(low, high, r->x + LENGTH / 2, n + 3, weight, n);
    for (size_t i = 0; i < n; i++) {
        word128 sum = 0;
        for (unsigned t = 0; t < KERNEL_ROWS; t++)
            sum += (word128)weight[t] * r->x[LENGTH / 2 + t * (n + 3) + i];
        assert_true(sum == low[i] + ((word128)high[i] << KERNEL_VALUE_LOW));
    }
}

static void values(void **state)
{
    (void)state;
    for_each_table(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds),
        cmocka_unit_test(crosses),
        cmocka_unit_test(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
