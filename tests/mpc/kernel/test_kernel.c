/* mpc/kernel/kernel.h: every function of every table against its naive twin, at awkward lengths. */
#include "harness/cmocka.h"

#include "base/processor.h"
#include "harness/three.h"
#include "mpc/kernel/kernel.h"

#define ROOM 4500 /* words of each input */

static const size_t lengths[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,   17,   31,   32,
                                 33, 63, 64, 65, 127, 128, 129, 511, 1000, 1023, 1024, 4099};
#define LENGTHS (sizeof lengths / sizeof *lengths)

static const struct kernel *table(size_t i)
{
    return kernel_by_name(processor_name((enum processor)i));
}

/* Five inputs and two outputs, each starting at an odd byte when `odd`. */
struct kernel_room {
    uint8_t *memory;
    void *in[5], *out, *twin;
};

static struct kernel_room room_new(uint64_t seed, bool odd)
{
    const size_t bytes = 8 * ROOM;
    struct kernel_room r = {.memory = memory_array(7 * (bytes + 64), 1)};
    assert_non_null(r.memory);
    for (size_t i = 0; i < 7; i++) {
        uint8_t *p = r.memory + i * (bytes + 64) + (odd ? 1 + i : 0);
        for (size_t k = 0; k < ROOM; k++) {
            uint64_t w = three_random(&seed);
            memcpy(p + 8 * k, &w, 8);
        }
        if (i < 5)
            r.in[i] = p;
        else if (i == 5)
            r.out = p;
        else
            r.twin = p;
    }
    memcpy(r.twin, r.out, bytes);
    return r;
}

#define EACH_CASE(...)                                                                             \
    for (size_t t = 0; t < PROCESSOR_SETS; t++)                                                    \
        for (size_t l = 0; l < LENGTHS && table(t) != NULL; l++)                                   \
            for (int odd = 0; odd < 2; odd++) {                                                    \
                const struct kernel *k = table(t);                                                 \
                const size_t n = lengths[l];                                                       \
                struct kernel_room r = room_new(l + 100 * t, odd != 0);                            \
                __VA_ARGS__ assert_memory_equal(r.out, r.twin, 8 * (size_t)ROOM);                  \
                memory_free(&r.memory);                                                            \
            }

#define GET(word, p, i)                                                                            \
    ({                                                                                             \
        word got;                                                                                  \
        memcpy(&got, (const char *)(p) + (i) * sizeof(word), sizeof got);                          \
        got;                                                                                       \
    })
#define SET(word, p, i, value)                                                                     \
    do {                                                                                           \
        word put = (word)(value);                                                                  \
        memcpy((char *)(p) + (i) * sizeof(word), &put, sizeof put);                                \
    } while (0)
#define IN(word, k) GET(word, r.in[k], i)

TEST(gates){EACH_CASE({
    for (size_t i = 0; i < n; i++) {
        uint64_t x = IN(uint64_t, 0), y = IN(uint64_t, 2);
        uint64_t z = (x & (y ^ IN(uint64_t, 3))) ^ (IN(uint64_t, 1) & y);
        SET(uint64_t, r.twin, i, odd ? z ^ IN(uint64_t, 4) : z);
    }
    k->gate(r.out, r.in[0], r.in[1], r.in[2], r.in[3], odd ? r.in[4] : NULL, n);
}) EACH_CASE({
    for (size_t i = 0; i < n; i++)
        SET(uint64_t, r.twin, i, IN(uint64_t, 0) ^ IN(uint64_t, 1));
    k->xor_bits(r.out, r.in[0], r.in[1], n);
}) EACH_CASE({
    for (size_t i = 0; i < n; i++)
        SET(uint64_t, r.twin, i, IN(uint64_t, 0));
    k->stream(r.out, r.in[0], n);
}) EACH_CASE({
    for (size_t i = 0; i < n; i++)
        SET(uint64_t, r.twin, i, IN(uint64_t, 0) ^ IN(uint64_t, 1) ^ IN(uint64_t, 2));
    k->join_bits(r.out, r.in[2], r.in[0], r.in[1], n);
})}

#define BIT(p, i) (GET(uint64_t, p, (i) / 64) >> (i) % 64 & 1)

#define PRODUCTS(bits)                                                                             \
    TEST(products##bits)                                                                           \
    {                                                                                              \
        EACH_CASE({                                                                                \
            for (size_t i = 0; i < n; i++) {                                                       \
                uint64_t a = IN(uint##bits##_t, 0), b = IN(uint##bits##_t, 1);                     \
                uint64_t c = IN(uint##bits##_t, 2), d = IN(uint##bits##_t, 3);                     \
                SET(uint##bits##_t, r.twin, i,                                                     \
                    (uint64_t)GET(uint##bits##_t, r.twin, i) - IN(uint##bits##_t, 4) +             \
                        a * (c + d) + b * c);                                                      \
            }                                                                                      \
            k->multiply##bits(r.out, r.in[4], r.in[0], r.in[1], r.in[2], r.in[3], n);              \
        })                                                                                         \
        EACH_CASE({                                                                                \
            for (size_t i = 0; i < n; i++)                                                         \
                SET(uint##bits##_t, r.twin, i,                                                     \
                    (BIT(r.in[0], i) ? 0 - (uint64_t)IN(uint##bits##_t, 1)                         \
                                     : (uint64_t)IN(uint##bits##_t, 1)) +                          \
                        IN(uint##bits##_t, 2));                                                    \
            k->bit_sign##bits(r.out, r.in[0], r.in[1], r.in[2], n);                                \
        })                                                                                         \
    }

#define KNOWN(bits)                                                                                \
    TEST(known##bits)                                                                              \
    {                                                                                              \
        EACH_CASE({                                                                                \
            for (size_t i = 0; i < n; i++)                                                         \
                SET(uint##bits##_t, r.twin, i,                                                     \
                    BIT(r.in[0], i) - IN(uint##bits##_t, 1) - IN(uint##bits##_t, 2));              \
            k->bit_less##bits(r.out, r.in[0], r.in[1], r.in[2], n);                                \
        })                                                                                         \
        EACH_CASE({                                                                                \
            for (size_t i = 0; i < n; i++)                                                         \
                SET(uint##bits##_t, r.twin, i,                                                     \
                    BIT(r.in[0], i) * IN(uint##bits##_t, 1) + IN(uint##bits##_t, 2));              \
            k->bit_times##bits(r.out, r.in[0], r.in[1], r.in[2], n);                               \
        })                                                                                         \
    }

PRODUCTS(16) PRODUCTS(64) KNOWN(16) KNOWN(32) KNOWN(64)

    TEST(sums_and_openings){EACH_CASE({
        uint64_t inner = 0, dot = 0, sum = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t a = IN(uint64_t, 0), b = IN(uint64_t, 1), c = IN(uint64_t, 2);
            inner += a * (c + IN(uint64_t, 3)) + b * c;
            dot += a * b;
            sum += a;
        }
        SET(uint64_t, r.twin, 0, inner);
        SET(uint64_t, r.twin, 1, dot);
        SET(uint64_t, r.twin, 2, sum);
        SET(uint64_t, r.out, 0, k->inner64(r.in[0], r.in[1], r.in[2], r.in[3], n));
        SET(uint64_t, r.out, 1, k->dot64(r.in[0], r.in[1], n));
        SET(uint64_t, r.out, 2, k->sum64(r.in[0], n));
    }) EACH_CASE({
        for (size_t i = 0; i < n; i++)
            SET(uint64_t, r.twin, i, IN(uint64_t, 2) + IN(uint64_t, 0) + IN(uint64_t, 1));
        k->join64(r.out, r.in[2], r.in[0], r.in[1], n);
    })}

TEST(transposition)
{
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t count = 0; count < 12 && table(t) != NULL; count++) {
            struct kernel_room r = room_new(count, false);
            for (size_t g = 0; g < count; g++)
                for (size_t i = 0; i < 64; i++) {
                    uint64_t row = 0;
                    for (size_t j = 0; j < 64; j++)
                        row |= (GET(uint64_t, r.out, 64 * g + j) >> i & 1) << j;
                    SET(uint64_t, r.twin, 64 * g + i, row);
                }
            table(t)->transpose(r.out, count);
            assert_memory_equal(r.out, r.twin, 8 * (size_t)ROOM);
            memory_free(&r.memory);
        }
}

TEST(field_products){EACH_CASE({
    for (size_t i = 0; i < n; i++)
        SET(uint64_t, r.twin, i,
            GET(uint64_t, r.twin, i) ^ three_field_product(IN(uint64_t, 0), IN(uint64_t, 1)));
    k->field(r.out, r.in[0], r.in[1], n);
})}

/* Runs of ones of any length at any place, and every other, third or fourth: sums carry most. */
TEST(field_products_of_many_ones)
{
    uint64_t x[600], y[600];
    size_t n = 0;
    for (unsigned from = 0; from < 64; from += 3)
        for (unsigned length = 1; length <= 64; length += 7)
            x[n++] = UINT64_MAX >> (64 - length) << from;
    for (unsigned place = 0; place < 4; place++) {
        x[n++] = (uint64_t)0x1111111111111111 << place;
        x[n++] = 0x9249249249249249 << place;
        x[n++] = (uint64_t)0x5555555555555555 << place;
        x[n++] = UINT64_MAX >> place;
    }
    for (size_t shift = 0; shift < n; shift++)
        for (size_t t = 0; t < PROCESSOR_SETS; t++) {
            uint64_t z[600] = {0};
            for (size_t i = 0; i < n; i++)
                y[i] = x[(i + shift) % n];
            if (table(t) != NULL)
                table(t)->field(z, x, y, n);
            for (size_t i = 0; i < n && table(t) != NULL; i++) {
                assert_true(z[i] == three_field_product(x[i], y[i]));
                assert_true(t > 0 || kernel_field_product(x[i], y[i]) == z[i]);
            }
        }
}

static const size_t sides[][3] = {{0, 4, 3},     {1, 1, 1},    {3, 2, 0},    {4, 128, 256},
                                  {5, 129, 257}, {7, 3, 300},  {9, 33, 17},  {4, 64, 1},
                                  {3, 127, 255}, {6, 5, 8300}, {64, 64, 64}, {65, 31, 63}};

TEST(matrix16_products)
{
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides && table(t) != NULL; s++) {
            const size_t m = sides[s][0], n = sides[s][1], k = sides[s][2];
            uint16_t *a CLEAN(memory_release) = memory_array(m * k, sizeof *a);
            uint16_t *b CLEAN(memory_release) = memory_array(k * n, sizeof *b);
            uint16_t *c CLEAN(memory_release) = memory_array(2 * m * n, sizeof *c),
                        *twin = c + m * n;
            uint64_t seed = s;
            const uint16_t factor = s % 3 == 0 ? UINT16_MAX - 1 : (uint16_t)s;
            for (size_t i = 0; i < m * k; i++)
                a[i] = (uint16_t)three_random(&seed);
            for (size_t i = 0; i < k * n; i++)
                b[i] = (uint16_t)three_random(&seed);
            for (size_t i = 0; i < m * n; i++) {
                uint64_t sum = 0;
                c[i] = (uint16_t)three_random(&seed);
                for (size_t d = 0; d < k; d++)
                    sum += (uint64_t)a[i / n * k + d] * b[i % n * k + d];
                twin[i] = (uint16_t)(c[i] + factor * sum);
            }
            table(t)->matrix16(c, factor, a, b, m, n, k);
            assert_memory_equal(c, twin, m * n * sizeof *c);
        }
}

TEST(linear16_combinations)
{
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t n = 0; n < 130 && table(t) != NULL; n++) {
            uint16_t x[130], y[130], out[130];
            uint64_t seed = n;
            const uint16_t p = (uint16_t)three_random(&seed), q = (uint16_t)three_random(&seed);
            for (size_t i = 0; i < n; i++) {
                x[i] = (uint16_t)three_random(&seed);
                y[i] = (uint16_t)three_random(&seed);
            }
            table(t)->linear16(out, p, x, q, y, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(out[i], (uint16_t)((uint64_t)p * x[i] + (uint64_t)q * y[i]));
            table(t)->linear16(x, p, x, q, y, n); /* in place */
            assert_memory_equal(x, out, n * sizeof *x);
        }
}

/* Lengths of no vector, of a few, and of a few more; rows apart; what is past the end stays. */
TEST(axpy16_sums)
{
    static const size_t n[] = {0, 1, 7, 8, 63, 64, 127, 128, 129, 200, 512};
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t l = 0; l < sizeof n / sizeof *n && table(t) != NULL; l++)
            for (size_t rows = 0; rows < 6; rows++) {
                uint16_t z[513], twin[513], w[6], x[6 * 520];
                uint64_t seed = n[l];
                for (size_t i = 0; i < 513; i++)
                    z[i] = twin[i] = (uint16_t)three_random(&seed);
                for (size_t v = 0; v < rows; v++)
                    w[v] = (uint16_t)three_random(&seed);
                for (size_t i = 0; i < sizeof x / sizeof *x; i++)
                    x[i] = (uint16_t)three_random(&seed);
                for (size_t i = 0; i < n[l]; i++)
                    for (size_t v = 0; v < rows; v++)
                        twin[i] = (uint16_t)(twin[i] + (uint64_t)w[v] * x[v * 520 + i]);
                table(t)->axpy16(z, w, x, rows, 520, n[l]);
                assert_memory_equal(z, twin, sizeof z);
            }
}

TEST(compressions_and_appendices)
{
    static const uint64_t masks[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, 0xff00ff00ff00ff01};
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (uint64_t round = 0; round < 40 && table(t) != NULL; round++) {
            uint64_t seed = round, mask = round < 5 ? masks[round] : three_random(&seed);
            uint64_t in[64], wide[64], wide_twin[64], planes[3 * 4] = {0}, row[3];
            unsigned used = 0, at = (unsigned)round % 64;
            for (size_t i = 0; i < 64; i++) {
                in[i] = three_random(&seed);
                wide[i] = wide_twin[i] = i;
            }
            for (size_t i = 0; i < 64; i++)
                if (mask >> i & 1)
                    wide_twin[used++] = in[i];
            assert_int_equal(table(t)->compress64(wide, in, mask), used);
            assert_memory_equal(wide, wide_twin, sizeof wide);
            for (size_t k = 0; k < 3; k++)
                row[k] = in[k];
            table(t)->append(planes, 4, at, row, 1, 3, mask);
            table(t)->append(planes, 4, at + used, row, 1, 3, UINT64_MAX);
            for (size_t k = 0; k < 3; k++)
                for (unsigned i = 0, chosen = at; i < 128; i++)
                    if (i >= 64 || mask >> i & 1) {
                        assert_int_equal(planes[4 * k + chosen / 64] >> chosen % 64 & 1,
                                         row[k] >> i % 64 & 1);
                        chosen++;
                    }
        }
}

/* What a digit chooses, lane by lane. */
TEST(digits)
{
    const size_t stride = 11;
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t words = 1; words <= 9 && table(t) != NULL; words++)
            for (unsigned width = 1; width <= KERNEL_DIGIT; width++) {
                struct kernel_room r = room_new(words, words % 2 != 0);
                const uint64_t *y = r.in[0], *bits = r.in[1];
                const uint64_t last = words / 2 % 2, all = 1u << width;
                uint64_t *g = r.in[2], *p = r.in[3];
                table(t)->digit(g, p, y, stride, width, bits, stride + 1, words, last != 0);
                for (size_t i = 0; i < 64 * words; i++) {
                    uint64_t v = 0, low, next;
                    for (unsigned b = 0; b < width; b++)
                        v |= BIT(bits + b * (stride + 1), i) << b;
                    low = v == 0 ? 0 : BIT(y + (v - 1) * stride, i);
                    next = v + 1 == all ? last : BIT(y + v * stride, i);
                    assert_int_equal(BIT(g, i), low);
                    assert_int_equal(BIT(p, i), low ^ next);
                }
                memory_free(&r.memory);
            }
}

TEST(slices)
{
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        for (size_t l = 0; l < LENGTHS - 1 && table(t) != NULL; l++)
            for (unsigned width = 1; width <= 128; width += width < 4 ? 1 : 15) {
                const size_t n = lengths[l], words = bits_words(n);
                struct kernel_room r = room_new(l, false);
                uint64_t *planes = memory_words(words * 128, 8), *v = r.in[0], *back = r.in[1];
                word128 *wide = memory_words(n, 16), *wide_back = memory_words(n, 16);
                for (size_t i = 0; i < n; i++)
                    wide[i] = (word128)v[i] << 64 | v[i + 1];
                if (width <= 64) {
                    kernel_slice64(table(t), v, n, width, planes, words);
                    for (size_t i = 0; i < 64 * words * width; i++) {
                        size_t lane = i % (64 * words), plane = i / (64 * words);
                        assert_int_equal(BIT(planes, i), lane < n ? v[lane] >> plane & 1 : 0);
                    }
                    kernel_unslice64(table(t), planes, words, n, width, back);
                    for (size_t i = 0; i < n; i++)
                        assert_true(back[i] == v[i] << (64 - width) >> (64 - width));
                }
                kernel_slice128(table(t), wide, n, width, planes, words);
                three_unslice128(planes, words, n, width, wide_back);
                for (size_t i = 0; i < n; i++)
                    assert_true(wide_back[i] == wide[i] << (128 - width) >> (128 - width));
                memory_free_all(&planes, &wide, &wide_back, &r.memory);
            }
}

TEST(the_environment_chooses)
{
    const char *problem = "";
    const char *before = getenv("TREFOIL_KERNEL");
    char kept[64] = "";
    if (before != NULL)
        snprintf(kept, sizeof kept, "%s", before);
    unsetenv("TREFOIL_KERNEL");
    assert_string_equal(kernel_best(&problem)->name, processor_name(processor_best(NULL)));
    assert_null(problem);
    for (size_t t = 0; t < PROCESSOR_SETS; t++)
        if (table(t) != NULL) {
            setenv("TREFOIL_KERNEL", table(t)->name, 1);
            assert_ptr_equal(kernel_best(&problem), table(t));
            assert_null(problem);
        }
    setenv("TREFOIL_KERNEL", "abacus", 1);
    assert_non_null(kernel_best(&problem));
    assert_non_null(problem);
    if (before != NULL)
        setenv("TREFOIL_KERNEL", kept, 1);
    else
        unsetenv("TREFOIL_KERNEL");
    assert_null(kernel_by_name("abacus"));
}

TEST(which_tables_ran)
{
    if (!processor_runs(PROCESSOR_AVX512) && !processor_runs(PROCESSOR_NEON)) {
        print_message("this processor runs %s alone\n", kernel_best(NULL)->name);
        skip();
    }
}
