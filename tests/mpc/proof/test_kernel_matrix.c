/* mpc/kernel/kernel.h: the check of matrices, under every table, against its definition. */
#include "harness/cmocka.h"

#include "base/processor.h"
#include "harness/three.h"
#include "mpc/kernel/kernel.h"

#define LENGTH ((size_t)1984)
#define ROWS 131

/* Rows of at most LENGTH words; the largest words occur, so that sums get as large as they can. */
struct kernel_matrix_room {
    uint16_t x[ROWS * LENGTH], y[KERNEL_ROWS * LENGTH], z[KERNEL_ROWS * LENGTH];
    uint64_t weight[ROWS];
};

static struct kernel_matrix_room *room_new(void)
{
    struct kernel_matrix_room *r = memory_array(1, sizeof *r);
    uint64_t seed = 3;
    memset(r, 0xff, sizeof *r);
    for (size_t i = 0; i < ROWS; i++) {
        r->weight[i] = three_random(&seed);
        for (size_t k = 0; k < LENGTH / 2; k++)
            r->x[i * LENGTH + k] = (uint16_t)three_random(&seed);
    }
    return r;
}

static void for_each_table(void (*test)(const struct kernel *k, struct kernel_matrix_room *r,
                                        size_t n))
{
    static const size_t lengths[] = {0, 64, 128, 192, LENGTH};
    struct kernel_matrix_room *r CLEAN(memory_release) = room_new();
    for (enum processor t = PROCESSOR_PORTABLE; t < PROCESSOR_SETS; t++)
        for (unsigned l = 0; l < 5 && processor_runs(t); l++)
            test(kernel_by_name(processor_name(t)), r, lengths[l]);
}

/* The place of row t in column i, in blocks. */
static size_t place(size_t t, size_t i)
{
    return (i / KERNEL_STRIP * KERNEL_ROWS + t) * KERNEL_STRIP + i % KERNEL_STRIP;
}

static void fold(const struct kernel *k, struct kernel_matrix_room *r, size_t n)
{
    for (size_t turn = 0, rows; turn < 16; turn++) {
        const bool add = turn % 2 != 0;
        rows = turn / 2 == 7 ? ROWS : turn / 2;
        for (size_t i = 0; i < KERNEL_ROWS * n; i++) {
            r->y[i] = (uint16_t)(i * 40503);
            r->z[i] = add ? r->y[i] : 0;
        }
        k->fold16(r->y, r->x, rows, r->weight, n, add);
        for (size_t v = 0; v < rows; v++)
            for (unsigned t = 0; t < KERNEL_ROWS; t++)
                for (size_t i = 0; i < n && r->weight[v] >> t & 1; i++)
                    r->z[place(t, i)] = (uint16_t)(r->z[place(t, i)] + r->x[v * n + i]);
        assert_memory_equal(r->y, r->z, KERNEL_ROWS * n * sizeof *r->y);
    }
}

TEST(folds)
{
    for_each_table(fold);
}

static void choose(const struct kernel *k, struct kernel_matrix_room *r, size_t n)
{
    static uint64_t bits[KERNEL_ROWS * LENGTH / 64];
    const uint16_t *a = r->x, *b = r->x + LENGTH + 3;
    uint64_t seed = 9;
    for (size_t i = 0; i < KERNEL_ROWS * n / 64; i++)
        bits[i] = three_random(&seed);
    for (size_t i = 0; i < KERNEL_ROWS * n; i++) {
        r->y[i] = (uint16_t)(i * 40503);
        r->z[i] = (uint16_t)(i * 30011);
    }
    k->choose16(r->y, r->z, bits, a, b, n);
    for (size_t t = 0; t < KERNEL_ROWS; t++)
        for (size_t i = 0; i < n; i++) {
            const size_t at = place(t, i), bit = bits[t * (n / 64) + i / 64] >> i % 64 & 1;
            assert_int_equal(r->y[at], (uint16_t)(at * 40503 + bit * a[i]));
            assert_int_equal(r->z[at], (uint16_t)(at * 30011 + bit * b[i]));
        }
}

TEST(chooses)
{
    for_each_table(choose);
}

static void sums_of_chosen(const struct kernel *k, struct kernel_matrix_room *r, size_t n)
{
    static uint64_t bits[KERNEL_ROWS * LENGTH / 64];
    uint64_t seed = 9;
    for (size_t i = 0; i < KERNEL_ROWS * n / 64; i++)
        bits[i] = three_random(&seed);
    for (size_t rows = 0; rows < 14; rows++) {
        for (size_t i = 0; i < KERNEL_ROWS * (rows + 1); i++)
            r->y[i] = r->z[i] = (uint16_t)(i * 40503);
        k->chosen16(r->y, r->x, rows, bits, n);
        for (size_t i = 0; i < rows * n; i++)
            for (size_t t = 0; t < KERNEL_ROWS; t++) {
                uint16_t *sum = &r->z[i / n * KERNEL_ROWS + t];
                if ((bits[t * (n / 64) + i % n / 64] >> i % 64 & 1) != 0)
                    *sum = (uint16_t)(*sum + r->x[i]);
            }
        assert_memory_equal(r->y, r->z, KERNEL_ROWS * (rows + 1) * sizeof *r->y);
    }
}

TEST(sums_of_what_bits_choose)
{
    for_each_table(sums_of_chosen);
}

/* With other rows in some places, and with the largest numbers in all of them. */
static void cross(const struct kernel *k, struct kernel_matrix_room *r, size_t n)
{
    static const int factors[3][2] = {{2, 1}, {1, 2}, {1, -1}};
    const uint16_t *xa = r->x, *xb = r->x + n, *ya = r->x + 3 * n, *yb = r->y;
    memset(r->y, 0xff, sizeof r->y);
    for (unsigned f = 0; f < 3; f++) {
        const int p = factors[f][0], q = factors[f][1];
        int64_t sums[2 * KERNEL_CROSS], twin[2 * KERNEL_CROSS];
        for (unsigned t = 0; t < 2 * KERNEL_CROSS; t++)
            sums[t] = twin[t] = t;
        for (unsigned s = 0; s < KERNEL_ROWS; s++)
            for (unsigned t = 0, half = s / KERNEL_HALF; t < KERNEL_HALF; t++)
                for (size_t i = 0; i < n; i++) {
                    const size_t x = place(s, i), y = place(half * KERNEL_HALF + t, i);
                    twin[half * KERNEL_CROSS + s % KERNEL_HALF + t] +=
                        ((int64_t)p * xa[x] + (int64_t)q * xb[x]) *
                        ((int64_t)p * ya[y] + (int64_t)q * yb[y]);
                }
        k->cross16(sums, xa, xb, ya, yb, p, q, n);
        assert_memory_equal(sums, twin, sizeof sums);
    }
}

TEST(crosses)
{
    for_each_table(cross);
}

static void value(const struct kernel *k, struct kernel_matrix_room *r, size_t n)
{
    uint64_t low[KERNEL_STRIP], high[KERNEL_STRIP], weight[KERNEL_HALF];
    const uint16_t *x = r->x + n;
    for (unsigned t = 0; t < KERNEL_HALF; t++)
        weight[t] = t < 2 ? (uint64_t)t : t < 20 ? ((uint64_t)1 << 61) - 1 : r->weight[t] >> 3;
    k->value16(low, high, x, weight);
    for (size_t i = 0; i < KERNEL_STRIP; i++) {
        word128 sum = 0;
        for (unsigned t = 0; t < KERNEL_HALF; t++)
            sum += (word128)weight[t] * x[t * KERNEL_STRIP + i];
        assert_true(sum == low[i] + ((word128)high[i] << KERNEL_VALUE_LOW));
    }
}

TEST(values)
{
    for_each_table(value);
}
