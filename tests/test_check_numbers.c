/*
 * mpc/check_numbers.h: what is noted of numbers is there again, relation by relation, however it
 * was cut into records.
 */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/check_numbers.h"
#include "tests/support_three.h"

#include <string.h>

static const unsigned sizes[] = {[RING_16] = 2, [RING_32] = 4, [RING_64] = 8, [RING_128] = 16};

static word128 word_of(enum ring ring, const void *v, size_t i)
{
    word128 w = 0;
    if (v != NULL)
        memcpy(&w, (const uint8_t *)v + i * sizes[ring], sizes[ring]);
    return w;
}

/* Two numbers that say which relation it is: what is summed, and z. */
struct relation {
    word128 sum, z;
};

static word128 summand(enum ring ring, const void *const x[2], const void *const y[2], size_t i)
{
    return word_of(ring, x[0], i) * (word_of(ring, y[0], i) + 5 * word_of(ring, y[1], i)) +
           7 * word_of(ring, x[1], i) * word_of(ring, y[0], i);
}

static void read_back(const struct check_numbers *log, enum ring ring, struct relation *out)
{
    struct check_place at = {0, 0};
    struct check_record r;
    while (check_numbers_next(log, &at, &r)) {
        if (r.ring != ring)
            continue;
        for (size_t i = 0; i < r.words; i++) {
            struct relation *q = &out[r.relation + (r.one ? 0 : i)];
            for (unsigned l = 0; l < r.products; l++)
                q->sum += summand(ring, r.x[l], r.y[l], i);
            if (r.has_z)
                q->z += word_of(ring, r.z[0], i) + 3 * word_of(ring, r.z[1], i);
        }
    }
}

static word128 shortened(enum ring ring, word128 w)
{
    return word_of(ring, &w, 0);
}

/* Some of the vectors are missing; x weighs as its factor says. */
#define PRODUCTS 11

struct call {
    enum ring ring;
    size_t n;
    unsigned products;
    const size_t *start;
};

static void fill_randomly(void *v, size_t bytes, uint64_t *seed)
{
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t w = three_random(seed);
        memcpy((uint8_t *)v + i, &w, bytes - i < 8 ? bytes - i : 8);
    }
}

static void note(struct check_numbers *log, const struct call *c, struct relation *out)
{
    const size_t words = c->start == NULL ? c->n : c->start[c->n], bytes = words * sizes[c->ring];
    struct check_product products[PRODUCTS];
    struct check_place place;
    uint8_t *v[4 * PRODUCTS + 2];
    uint64_t seed = c->n + c->products;
    for (unsigned k = 0; k < 4 * c->products + 2; k++) {
        v[k] = k % 5 == 4 ? NULL : memory_array(bytes + c->n * 16 + 1, 1);
        if (v[k] != NULL)
            fill_randomly(v[k], bytes + c->n * 16, &seed);
    }
    for (unsigned l = 0; l < c->products; l++)
        products[l] = (struct check_product){{v[4 * l], v[4 * l + 1]},
                                             {v[4 * l + 2], v[4 * l + 3]},
                                             l % 3 == 0 ? 1 : 40 - (int64_t)l * 1000000007};
    const struct operand z = {v[4 * c->products], v[4 * c->products + 1]};
    assert_int_equal(check_numbers_add(log, c->ring, products, c->products, c->start, c->n, &place),
                     ERR_OK);
    check_numbers_fill(log, &place, z, c->n);
    for (size_t q = 0; q < c->n; q++) {
        const size_t from = c->start == NULL ? q : c->start[q];
        const size_t to = c->start == NULL ? q + 1 : c->start[q + 1];
        out[q].z = word_of(c->ring, z.a, q) + 3 * word_of(c->ring, z.b, q);
        for (size_t i = from; i < to; i++)
            for (unsigned l = 0; l < c->products; l++) {
                const void *x[2] = {products[l].x.a, products[l].x.b};
                const void *y[2] = {products[l].y.a, products[l].y.b};
                out[q].sum += (word128)products[l].c * summand(c->ring, x, y, i);
            }
    }
    for (unsigned k = 0; k < 4 * c->products + 2; k++)
        memory_free(&v[k]);
}

TEST(what_is_noted_is_there_again)
{
    static const size_t spans[] = {0, 0, 3, 3, 500, 501, 70000}, none[] = {0, 0, 0};
    const struct call calls[] = {
        {RING_64, 1, 1, NULL},   {RING_64, 60000, 1, NULL}, {RING_16, 3, 2, NULL},
        {RING_64, 6, 2, spans},  {RING_64, 500, 11, NULL},  {RING_128, 40000, 3, NULL},
        {RING_64, 5, 0, NULL},   {RING_32, 1000, 1, NULL},  {RING_16, 50000, 5, NULL},
        {RING_128, 6, 9, spans}, {RING_64, 2, 1, none},     {RING_64, 0, 1, NULL},
        {RING_16, 6, 3, spans},  {RING_32, 6, 11, spans},   {RING_16, 200000, 1, NULL},
    };
    static struct relation noted[NUMBERS_RINGS][300000], found[300000];
    struct check_numbers log = {0};
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        size_t count[NUMBERS_RINGS] = {0};
        memset(noted, 0, sizeof noted);
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            note(&log, &calls[k], &noted[calls[k].ring][count[calls[k].ring]]);
            count[calls[k].ring] += calls[k].n;
        }
        for (unsigned ring = RING_16; ring < NUMBERS_RINGS; ring++) {
            assert_int_equal(log.relations[ring], count[ring]);
            memset(found, 0, sizeof found);
            read_back(&log, ring, found);
            for (size_t q = 0; q < count[ring]; q++)
                assert_true(shortened(ring, found[q].sum) == shortened(ring, noted[ring][q].sum) &&
                            shortened(ring, found[q].z) == shortened(ring, noted[ring][q].z));
        }
        check_numbers_clear(&log);
        assert_true(check_numbers_empty(&log));
    }
    check_numbers_free(&log);
}

/* Claims have room for so many products, whatever their words. */
TEST(too_many_products_are_refused)
{
    struct check_numbers log = {0};
    struct check_place place;
    const struct check_product zeros[4] = {{.c = 1}, {.c = 1}, {.c = 1}, {.c = 1}};
    const size_t spans[] = {0, NUMBERS_MOST / 4, NUMBERS_MOST / 4 + 1};
    (void)state;
    assert_int_equal(check_numbers_add(&log, RING_64, zeros, 4, spans, 2, &place), ERR_RANGE);
    assert_int_equal(check_numbers_add(&log, RING_64, zeros, 4, spans, 1, &place), ERR_OK);
    assert_int_equal(check_numbers_add(&log, RING_16, zeros, 1, NULL, 1, &place), ERR_RANGE);
    assert_int_equal(check_numbers_add(&log, RING_16, NULL, 0, NULL, 1, &place), ERR_OK);
    assert_int_equal(check_numbers_add(&log, RING_BITS, NULL, 0, NULL, 1, &place), ERR_MISUSE);
    check_numbers_free(&log);
}
