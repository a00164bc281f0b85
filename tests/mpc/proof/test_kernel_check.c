/* mpc/kernel/kernel.h: the check of relations, under every table, against its definition. */
#include "harness/cmocka.h"

#include "base/processor.h"
#include "harness/three.h"
#include "mpc/kernel/kernel.h"

#define GROUPS 3
#define PRODUCTS 3
#define WORDS (4 * KERNEL_GROUP * PRODUCTS * GROUPS)

struct kernel_check_room {
    uint64_t x[WORDS], out[WORDS], twin[WORDS], weight[64];
};

static struct kernel_check_room *room_new(uint64_t seed)
{
    struct kernel_check_room *r = calloc(1, sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < WORDS; i++) {
        r->x[i] = three_random(&seed);
        r->out[i] = r->twin[i] = three_random(&seed);
    }
    for (size_t i = 0; i < 64; i++)
        r->weight[i] = three_random(&seed);
    return r;
}

static void for_each_table(void (*test)(const struct kernel *k, struct kernel_check_room *r))
{
    for (enum processor t = PROCESSOR_PORTABLE; t <= PROCESSOR_SETS; t++) {
        const enum processor set = t < PROCESSOR_SETS ? t : PROCESSOR_AVX2;
        const struct kernel *k = kernel_by_name(processor_name(set));
#if defined(__x86_64__)
        if (t == PROCESSOR_SETS && k == &kernel_avx2_wide) /* which stands for this one */
            k = &kernel_avx2;
#endif
        struct kernel_check_room *r = room_new(5);
        if (k != NULL) {
            test(k, r);
            assert_memory_equal(r->out, r->twin, sizeof r->out);
        }
        free(r);
    }
}

static bool in_point(unsigned c, unsigned a)
{
    for (unsigned v = 0; v < 6; v++, c /= 3)
        if (c % 3 < 2 && c % 3 != (a >> v & 1))
            return false;
    return true;
}

/* A point of one column in a group. */
static uint64_t point(const uint64_t *group, unsigned c, unsigned column)
{
    uint64_t sum = 0;
    for (unsigned a = 0; a < KERNEL_ROWS; a++)
        if (in_point(c, a))
            sum ^= group[a * KERNEL_COLUMNS + column];
    return sum;
}

struct four {
    uint64_t xa, xb, ya, yb;
};

static struct four four_points(const uint64_t *product, unsigned c, unsigned column)
{
    return (struct four){point(product, c, column), point(product + KERNEL_GROUP, c, column),
                         point(product + 2 * KERNEL_GROUP, c, column),
                         point(product + 3 * KERNEL_GROUP, c, column)};
}

static void points_of_bits(const struct kernel *k, struct kernel_check_room *r)
{
    for (unsigned products = 1; products <= PRODUCTS; products++) {
        for (unsigned c = 0; c < KERNEL_POINTS; c += c < 100 ? 1 : 7)
            for (unsigned q = 0; q < GROUPS * KERNEL_COLUMNS; q++) {
                uint64_t t = 0;
                for (unsigned l = 0; l < products; l++) {
                    const size_t product = q / KERNEL_COLUMNS * products + l;
                    struct four v = four_points(r->x + 4 * KERNEL_GROUP * product, c, q % 8);
                    t ^= (v.xa & (v.ya ^ v.yb)) ^ (v.xb & v.ya);
                }
                r->twin[c] ^= three_field_product(t, r->weight[q]);
            }
        k->bits_points(r->out, r->x, products, GROUPS, r->weight);
        for (unsigned c = 100; c < KERNEL_POINTS; c++)
            if ((c - 100) % 7 != 0)
                r->out[c] = r->twin[c];
    }
}

static void points_of_elements(const struct kernel *k, struct kernel_check_room *r)
{
    for (unsigned c = 0; c < KERNEL_POINTS; c++)
        for (unsigned q = 0; q < GROUPS * KERNEL_COLUMNS; q++) {
            const uint64_t *x = r->x + 2 * KERNEL_GROUP * (q / KERNEL_COLUMNS);
            r->twin[c] ^= three_field_product(point(x, c, q % 8),
                                              point(x + KERNEL_GROUP, c, q % 8));
        }
    k->field_points(r->out, r->x, GROUPS);
}

/* The summands of three servers, one product of sides each, give the product of what they share. */
static void sides(const struct kernel *k, struct kernel_check_room *r)
{
    enum { N = 77 };
    const uint64_t *x = r->x, *y = r->x + 3 * N;
    memset(r->twin, 0, N * sizeof *r->twin);
    memset(r->out, 0, 3 * N * sizeof *r->out);
    for (unsigned i = 0; i < N; i++)
        r->twin[i] = three_field_product(x[i] ^ x[N + i] ^ x[2 * N + i],
                                         y[i] ^ y[N + i] ^ y[2 * N + i]);
    for (unsigned s = 0; s < 3; s++) {
        uint64_t *u = r->out + N, *v = r->out + 2 * N;
        k->field_side(u, x + s * N, x + (s + 1) % 3 * N, N, s);
        k->field_side(v, y + s * N, y + (s + 1) % 3 * N, N, s);
        for (unsigned i = 0; i < N; i++)
            r->out[i] ^= three_field_product(three_field_product(u[i], v[i]), kernel_side[s]);
    }
    memcpy(r->twin + N, r->out + N, 2 * N * sizeof *r->twin);
}

static void rows(const struct kernel *k, struct kernel_check_room *r)
{
    memset(r->twin, 0, 2 * KERNEL_GROUP * sizeof *r->twin);
    for (size_t i = 0; i < 2 * KERNEL_GROUP; i++)
        for (unsigned b = 0; b < 64; b++)
            if (r->x[i] >> b & 1)
                r->twin[i / KERNEL_GROUP * KERNEL_GROUP + b * KERNEL_COLUMNS + i % 8] ^=
                    r->weight[i % KERNEL_GROUP / KERNEL_COLUMNS];
    memcpy(r->out, r->x, KERNEL_GROUP * sizeof *r->out);
    k->bits_rows(r->out, r->out, 1, r->weight);
    k->bits_rows(r->out + KERNEL_GROUP, r->x + KERNEL_GROUP, 1, r->weight);
}

static void rows_and_columns_of_elements(const struct kernel *k, struct kernel_check_room *r)
{
    uint64_t *out = r->out + KERNEL_GROUP, *twin = r->twin + KERNEL_GROUP;
    memset(r->twin, 0, KERNEL_COLUMNS * sizeof *r->twin);
    for (size_t i = 0; i < KERNEL_GROUP; i++)
        r->twin[i % 8] ^= three_field_product(r->x[i], r->weight[i / KERNEL_COLUMNS]);
    k->field_rows(r->out, r->x, r->weight);
    for (size_t i = 0; i < 2 * KERNEL_GROUP; i++)
        twin[i % KERNEL_GROUP / KERNEL_COLUMNS] ^= three_field_product(
            r->x[i], r->weight[i / KERNEL_GROUP * 8 + i % 8]);
    k->field_columns(out, r->x, r->weight, 2);
    out += KERNEL_GROUP;
    twin += KERNEL_GROUP;
    for (size_t i = 0; i < KERNEL_GROUP; i++)
        twin[i] = three_field_product(twin[i], r->weight[i % 8]);
    k->field_scale(out, r->weight);
}

/* Buckets that are already full; lines of all lengths, some of which share a bucket. */
static void lines(const struct kernel *k, struct kernel_check_room *r)
{
    for (size_t words = 1; words <= 8; words += words == 1 ? 3 : 4) {
        const uint64_t *line = r->x + words, *digit = r->weight;
        const size_t n = 64;
        for (size_t i = 0; i < n * words * 8; i++) {
            const size_t at = i / words / 8, d = i / words % 8;
            const size_t bucket = d << 8 | (digit[at] >> 8 * d & 255);
            r->twin[bucket * words + i % words] += line[at * words + i % words];
        }
        k->add_lines(r->out, digit, line, words, n / 2);
        k->add_lines(r->out, digit + n / 2, line + n / 2 * words, words, n / 2);
        k->add_lines(r->out, digit, line, words, 0);
    }
}

/* The largest prime and the smallest, and one between. */
static const uint64_t primes[] = {0x7ffffffffffffc9, 0x400000000000045, 0x555555555555555};

/* Words on either side of each multiple of p, and any. */
static void sides_modulo(const struct kernel *k, struct kernel_check_room *r)
{
    uint64_t *a = r->x, *b = r->x + 512;
    for (size_t i = 0; i < 300; i++) {
        a[i] = i < 128 ? i / 4 * primes[0] + i % 4 - 2 : a[i];
        b[i] = i % 3 == 0 ? UINT64_MAX : i % 3 == 1 ? 0 : b[i];
    }
    for (size_t at = 0; at < 9; at++) {
        const uint64_t p = primes[at % 3], inverse = (uint64_t)(((word128)1 << 90) / p);
        uint64_t *out = r->out + 512 * at, *twin = r->twin + 512 * at;
        for (size_t i = 0; i < 300; i++) {
            const word128 x = a[i] % p, y = b[i] % p;
            twin[i] = (uint64_t)((at < 3 ? 2 * x + y : at < 6 ? x + 2 * y : x + p - y) % p);
        }
        k->number_side(out, a, b, 300, (unsigned)at / 3, p, inverse);
    }
}

/* At infinity, the value at 1 minus the value at 0. */
static uint64_t point_modulo(const uint64_t *x, unsigned point, unsigned column, uint64_t p)
{
    __int128 sum = 0;
    for (unsigned a = 0; a < 16; a++) {
        int sign = 1;
        for (unsigned v = 0, c = point; v < 4; v++, c /= 3)
            sign *= c % 3 == 2 ? ((a >> v & 1) != 0 ? 1 : -1) : c % 3 == (a >> v & 1);
        sum += sign * (__int128)x[4 * a + column];
    }
    return (uint64_t)((sum + 16 * (__int128)p) % p);
}

static void add_modulo(struct kernel_check_room *r, const uint64_t *x, const uint64_t *y,
                       uint64_t p)
{
    for (unsigned c = 0; c < 81; c++)
        for (unsigned s = 0; s < 4; s++) {
            const word128 product = (word128)point_modulo(x, c, s, p) * point_modulo(y, c, s, p);
            const word128 low = ((word128)r->twin[3 * c + 1] << 64 | r->twin[3 * c]) + product;
            r->twin[3 * c] = (uint64_t)low;
            r->twin[3 * c + 1] = (uint64_t)(low >> 64);
            r->twin[3 * c + 2] += low < product;
        }
}

/* The largest words, some of them next to the smallest: limbs and sums are as large as they get. */
static void points_modulo(const struct kernel *k, struct kernel_check_room *r)
{
    static const size_t blocks[] = {0, 1, 2, 33, 35};
    static uint64_t x[35 * 64], y[35 * 64];
    for (unsigned which = 0; which < sizeof primes / sizeof *primes; which++)
        for (unsigned l = 0; l < sizeof blocks / sizeof *blocks; l++) {
            const uint64_t p = primes[which];
            uint64_t seed = which;
            for (size_t i = 0; i < 64 * blocks[l]; i++) {
                const bool most = l % 2 == 0 || (__builtin_popcount((unsigned)i / 4 % 16) & 1) != 0;
                x[i] = most ? p - 1 : 0;
                y[i] = l % 2 != 0 ? p - 1 - i % 2 : l == 4 ? p - 1 : three_random(&seed) % p;
            }
            for (size_t b = 0; b < blocks[l]; b++)
                add_modulo(r, x + 64 * b, y + 64 * b, p);
            k->number_points(r->out, x, y, blocks[l], p);
        }
}

TEST(sums_modulo_a_prime)
{
    for_each_table(sides_modulo);
    for_each_table(points_modulo);
}

TEST(sums_by_digits)
{
    for_each_table(lines);
}

TEST(sums_at_points)
{
    for_each_table(points_of_bits);
    for_each_table(points_of_elements);
    for_each_table(sides);
}

TEST(folds)
{
    for_each_table(rows);
    for_each_table(rows_and_columns_of_elements);
}

TEST(reduction)
{
    uint64_t seed = 3;
    for (unsigned i = 0; i < 200; i++) { /* low + high X^64, X^64 = 0x1b */
        const uint64_t low = three_random(&seed), high = three_random(&seed);
        assert_int_equal(kernel_field_reduce(low, high), low ^ three_field_product(high, 0x1b));
    }
}
