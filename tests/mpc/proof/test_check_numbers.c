/*
 * mpc/check/check_numbers.h: what is noted of numbers comes back, relation by relation, however it
 * was cut into records.
 */
#include "harness/cmocka.h"

#include "mpc/check/check_private.h"
#include "tests/support/check.h"

static const unsigned sizes[] = {[RING_16] = 2, [RING_32] = 4, [RING_64] = 8, [RING_128] = 16};

static word128 word_of(enum share_ring ring, const void *v, size_t i)
{
    word128 w = 0;
    if (v != NULL)
        memcpy(&w, (const uint8_t *)v + i * sizes[ring], sizes[ring]);
    return w;
}

/* Two numbers that identify the relation: what is summed, and z. */
struct check_numbers_relation {
    word128 sum, z;
};

static word128 summand(const word128 x[2], const word128 y[2])
{
    return x[0] * (y[0] + 5 * y[1]) + 7 * x[1] * y[0];
}

static word128 read_product(const struct check_record *r, unsigned l, size_t i)
{
    word128 x[2], y[2], factor;
    for (unsigned k = 0; k < 2; k++)
        factor = play_factors(r, l, k, i, &x[k], &y[k]);
    return factor * summand(x, y);
}

static void read_back(const struct check_numbers *log, enum share_ring ring,
                      struct check_numbers_relation *out)
{
    struct check_place at = {0, 0};
    struct check_record r;
    while (check_numbers_next(log, &at, &r)) {
        if (r.ring != ring)
            continue;
        for (size_t i = 0; i < r.words; i++) {
            struct check_numbers_relation *q = &out[r.relation + (r.one ? 0 : i)];
            for (unsigned l = 0; l < r.products; l++)
                q->sum += read_product(&r, l, i);
            if (r.has_z)
                q->z -= word_of(ring, r.minus_z[0], i) + 3 * word_of(ring, r.minus_z[1], i);
        }
    }
}

static word128 shortened(enum share_ring ring, word128 w)
{
    return word_of(ring, &w, 0);
}

/* Some of the vectors are missing; x weighs as its factor says. */
#define PRODUCTS 11

struct check_numbers_call {
    enum share_ring ring;
    size_t n;
    unsigned products;
    const size_t *start;
};

static word128 factor_of(const struct record_product *product, enum share_ring ring, const void *v,
                         bool is_y, size_t i)
{
    if (product->form == RECORD_WORDS)
        return word_of(ring, v, i);
    if (product->form == RECORD_CHOICE && is_y)
        return word_of(product->narrow, v, i);
    return v == NULL ? 0 : ((const uint64_t *)v)[i / 64] >> i % 64 & 1;
}

static word128 product_of(const struct record_product *product, enum share_ring ring, size_t i)
{
    const word128 x[2] = {factor_of(product, ring, product->x.a, false, i),
                          factor_of(product, ring, product->x.b, false, i)};
    const word128 y[2] = {factor_of(product, ring, product->y.a, true, i),
                          factor_of(product, ring, product->y.b, true, i)};
    return ((word128)product->c << product->shift) * summand(x, y);
}

static void fill_randomly(void *v, size_t bytes, uint64_t *seed)
{
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t w = three_random(seed);
        memcpy((uint8_t *)v + i, &w, bytes - i < 8 ? bytes - i : 8);
    }
}

static void note(struct check_numbers *log, const struct check_numbers_call *c, bool bits,
                 struct check_numbers_relation *out)
{
    const size_t words = c->start == NULL ? c->n : c->start[c->n], bytes = words * sizes[c->ring];
    struct record_product products[PRODUCTS];
    struct check_place place;
    uint8_t *v[4 * PRODUCTS + 2];
    uint64_t seed = c->n + c->products;
    for (unsigned k = 0; k < 4 * c->products + 2; k++) {
        v[k] = k % 5 == 4 ? NULL : memory_array(bytes + c->n * 16 + 1, 1);
        if (v[k] != NULL)
            fill_randomly(v[k], bytes + c->n * 16, &seed);
    }
    for (unsigned l = 0; l < c->products; l++)
        products[l] = (struct record_product){{v[4 * l], v[4 * l + 1]},
                                              {v[4 * l + 2], v[4 * l + 3]},
                                              l % 3 == 0 ? 1 : 40 - (int64_t)l * 1000000007,
                                              bits ? (enum record_form)(l % 3) : RECORD_WORDS,
                                              bits && l % 3 != 0 ? 5 * l : 0,
                                              (enum share_ring)(l % 2 == 0 ? c->ring : RING_16)};
    const struct move_operand z = {v[4 * c->products], v[4 * c->products + 1]};
    OK(check_numbers_add(log, c->ring, products, c->products, c->start, c->n, &place));
    check_numbers_fill(log, &place, z, c->n);
    for (size_t q = 0; q < c->n; q++) {
        const size_t from = c->start == NULL ? q : c->start[q];
        const size_t to = c->start == NULL ? q + 1 : c->start[q + 1];
        out[q].z = word_of(c->ring, z.a, q) + 3 * word_of(c->ring, z.b, q);
        for (size_t i = from; i < to; i++)
            for (unsigned l = 0; l < c->products; l++)
                out[q].sum += product_of(&products[l], c->ring, i);
    }
    for (unsigned k = 0; k < 4 * c->products + 2; k++)
        memory_free(&v[k]);
}

TEST(what_is_noted_is_there_again)
{
    static const size_t spans[] = {0, 0, 3, 3, 500, 501, 70000}, none[] = {0, 0, 0};
    const struct check_numbers_call calls[] = {
        {RING_64, 1, 1, NULL},   {RING_64, 60000, 1, NULL}, {RING_16, 3, 2, NULL},
        {RING_64, 6, 2, spans},  {RING_64, 500, 11, NULL},  {RING_128, 40000, 3, NULL},
        {RING_64, 5, 0, NULL},   {RING_32, 1000, 1, NULL},  {RING_16, 50000, 5, NULL},
        {RING_128, 6, 9, spans}, {RING_64, 2, 1, none},     {RING_64, 0, 1, NULL},
        {RING_16, 6, 3, spans},  {RING_32, 6, 11, spans},   {RING_16, 200000, 1, NULL},
    };
    static struct check_numbers_relation noted[NUMBERS_RINGS][300000], found[300000];
    struct check_chunks chunks CLEAN(check_chunks_free) = {0};
    struct check_numbers log CLEAN(check_numbers_free) = {.from = &chunks,
                                                          .kernel = kernel_best(NULL)};
    for (unsigned round = 0; round < 2; round++) {
        size_t count[NUMBERS_RINGS] = {0};
        memset(noted, 0, sizeof noted);
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            note(&log, &calls[k], round > 0 && calls[k].start == NULL,
                 &noted[calls[k].ring][count[calls[k].ring]]);
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
}

/* Claims have room for this many products, whatever their words. */
TEST(too_many_products_are_refused)
{
    struct check_chunks chunks CLEAN(check_chunks_free) = {0};
    struct check_numbers log CLEAN(check_numbers_free) = {.from = &chunks,
                                                          .kernel = kernel_best(NULL)};
    struct check_place place;
    const struct record_product zeros[4] = {{.c = 1}, {.c = 1}, {.c = 1}, {.c = 1}};
    const struct record_product bits = {.form = RECORD_BOTH};
    const struct record_product wide = {.form = RECORD_CHOICE, .narrow = RING_128};
    const size_t spans[] = {0, NUMBERS_MOST / 4, NUMBERS_MOST / 4 + 1};
    assert_int_equal(check_numbers_add(&log, RING_64, zeros, 4, spans, 2, &place), ERR_RANGE);
    OK(check_numbers_add(&log, RING_64, zeros, 4, spans, 1, &place));
    assert_int_equal(check_numbers_add(&log, RING_16, zeros, 1, NULL, 1, &place), ERR_RANGE);
    OK(check_numbers_add(&log, RING_16, NULL, 0, NULL, 1, &place));
    assert_int_equal(check_numbers_add(&log, RING_16, NULL, 0, NULL, NUMBERS_MOST, &place),
                     ERR_RANGE);
    assert_int_equal(check_numbers_add(&log, RING_BITS, NULL, 0, NULL, 1, &place), ERR_MISUSE);
    assert_int_equal(check_numbers_add(&log, RING_64, &bits, 1, spans, 0, &place), ERR_MISUSE);
    assert_int_equal(check_numbers_add(&log, RING_64, &wide, 1, NULL, 0, &place), ERR_MISUSE);
}

/* A log that has outgrown the room for claims. */
static enum err flush_too_many(struct party *p, struct check_play *play)
{
    static uint64_t zero;
    const struct move_operand z = {&zero, &zero};
    const struct record_product product = {z, z, .c = 1};
    TRY(record_numbers(p, RING_64, &(struct record_sums){.products = &product, .count = 1}, z, 1));
    check_of(p)->numbers.products = 2 * NUMBERS_MOST + 1;
    enum err e = record_prove(p);
    check_numbers_clear(&check_of(p)->numbers);
    return e == ERR_RANGE ? ERR_OK : ERR_FORMAT;
}

TEST(a_flush_refuses_too_many)
{
    static const struct check_limits limits;
    struct check_play play CLEAN(play_free) = {
        .job = flush_too_many, .limits = &limits, .cheat = NOBODY};
    play_run(&play);
}
