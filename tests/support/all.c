#include "tests/support/all.h"

#include "base/memory.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/below.h"
#include "mpc/circuits/cached.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/fixed.h"
#include "mpc/circuits/leading.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"
#include "mpc/move/open.h"
#include "protocols/link.h"
#include "protocols/measure.h"
#include "protocols/records.h"
#include "protocols/train_gradient.h"

#include <string.h>

#define ALL_CELLS 60           /* of the marginal that these forms use */
#define ALL_ROWS ((size_t)200) /* of a table, at most */

void secrets_free(struct all_secrets *s)
{
    share64_free(&s->x);
    share64_free(&s->y);
    share64_free(&s->out);
    share128_free(&s->wide);
    share32_free(&s->x32);
    share32_free(&s->out32);
    share16_free(&s->x16);
    share16_free(&s->y16);
    share16_free(&s->out16);
    planes_free(&s->bits);
    planes_free(&s->more);
    memory_free(&s->values);
}

enum err secrets_new(const struct party *p, struct all_secrets *s, const uint64_t *values, size_t n,
                     uint64_t seed)
{
    s->n = n;
    s->values = memory_array(n, sizeof *s->values);
    if (s->values == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        s->values[i] = ~values[i] % (1 << ALL_BITS);
    TRY(three_share64(p, &s->y, s->values, n, seed + 1));
    TRY(three_share_planes(p, &s->more, s->values, n, ALL_BITS, seed + 2));
    for (size_t i = 0; i < n; i++)
        s->values[i] = values[i] % (1 << ALL_BITS);
    TRY(three_share64(p, &s->x, s->values, n, seed + 3));
    TRY(three_share_planes(p, &s->bits, s->values, n, ALL_BITS, seed + 4));
    TRY(share64_new(&s->out, n));
    TRY(share128_new(&s->wide, n));
    TRY(share32_new(&s->x32, n));
    TRY(share32_new(&s->out32, n));
    TRY(share16_new(&s->x16, n));
    TRY(share16_new(&s->y16, n));
    TRY(share16_new(&s->out16, n));
    for (size_t i = 0; i < n; i++) {
        s->x32.a[i] = (uint32_t)s->x.a[i];
        s->x32.b[i] = (uint32_t)s->x.b[i];
        s->x16.a[i] = (uint16_t)s->x.a[i];
        s->x16.b[i] = (uint16_t)s->x.b[i];
        s->y16.a[i] = (uint16_t)s->y.a[i];
        s->y16.b[i] = (uint16_t)s->y.b[i];
        s->wide.a[i] = s->x.a[i];
        s->wide.b[i] = s->x.b[i];
    }
    return ERR_OK;
}

static enum err all_multiply(struct party *p, struct all_secrets *s)
{
    const struct move_term product = {
        .out = OPERAND(s->out16), .x = OPERAND(s->x16), .y = OPERAND(s->y16), .words = s->n};
    TRY(move_sums(p, &(struct move_sums){RING_16, &product, 1, 1, false, false}));
    TRY(ring64_multiply(p, s->out, s->x, s->y));
    TRY(ring128_multiply(p, s->wide, s->wide, s->wide));
    return ring64_multiply(p, s->x, s->x, s->y); /* in place */
}

static enum err all_inner(struct party *p, struct all_secrets *s)
{
    size_t *start CLEAN(memory_release) = memory_array(s->n + 1, sizeof *start);
    enum err e = start == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i <= s->n; i++)
        start[i] = i;
    if (e == ERR_OK)
        e = ring64_inner(p, s->out, s->x, s->y, start);
    TRY(e);
    memset(s->out16.a, 0, s->n * sizeof *s->out16.a);
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share16 sides;
    TRY(party_share16(p, &sides, s->n));
    move_part_side(p, sides.a, s->x16);
    move_part_side(p, sides.b, s->y16);
    for (int k = 0; k < 2; k++) /* the sum of two matrix products */
        move_part_matrix(p, s->out16.a, sides.a, sides.b, s->n / 8, 8, 8);
    return move_settle(p, RING_16, OPERAND(s->out16), s->out16.a, s->n, NULL);
}

static enum err all_choose(struct party *p, struct all_secrets *s)
{
    const size_t start[] = {0, 3, 3, s->n}, each = s->n;
    TRY(move_choose(p, share64_view(s->out, 0, 3), planes_plane(&s->bits, 0), s->x, start));
    return each < 4 ? ERR_OK
                    : move_choose(p, share64_view(s->out, 3, 1), planes_plane(&s->bits, 1), s->y,
                                  (const size_t[]){0, each});
}

enum err all_and(struct party *p, struct all_secrets *s)
{
    struct planes half = planes_view(&s->bits, 0, ALL_BITS / 2);
    TRY(bits_and(p, planes_flat(&s->more), planes_flat(&s->more), planes_flat(&s->bits)));
    TRY(bits_and_all(p, planes_plane(&s->more, 0), &half));
    return adder_add(p, s->more, &s->bits, &s->more, false);
}

enum err all_compare(struct party *p, struct all_secrets *s)
{
    static const uint64_t constant = 0xabd; /* its lowest bit is 1: all positions are tried */
    struct planes one = planes_view(&s->more, 0, 1);
    struct bits out = planes_plane(&s->more, 0);
    TRY(below_constants(p, &one, &s->bits, ALL_BITS, &constant));
    TRY(compare_top_bit(p, out, s->x, 64));
    return compare_top_bit(p, out, s->y, 33);
}

static enum err all_convert(struct party *p, struct all_secrets *s)
{
    TRY(convert_to_bits(p, &s->more, s->x));
    return convert_to_ring64(p, s->out, &s->bits);
}

static enum err all_bits_to_numbers(struct party *p, struct all_secrets *s)
{
    struct bits bit = planes_plane(&s->bits, 0);
    TRY(convert_bit16(p, s->out16, bit));
    TRY(convert_bit64(p, s->out, bit));
    return convert_bit128(p, s->wide, bit);
}

static enum err all_truncate(struct party *p, struct all_secrets *s)
{
    static const int64_t c[] = {1, 2, 3};
    TRY(truncate_signed_ring64(p, s->out, s->x, 5));
    TRY(truncate_signed_ring128(p, s->wide, s->wide, 7));
    TRY(truncate_widen16(p, s->out32, s->x16));
    TRY(truncate_half32(p, s->out, s->x32));
    TRY(truncate_widen64(p, s->wide, s->x));
    return fixed_polynomial64(p, s->out, s->x, 12, c, 2);
}

static enum err all_elementary(struct party *p, struct all_secrets *s)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct planes segment = planes_view(&s->bits, 0, 3);
    struct planes place, below = planes_view(&s->more, 0, ALL_BITS / 2);
    struct share128 sine;
    TRY(party_planes(p, &place, ALL_BITS + 1, s->n));
    TRY(party_share128(p, &sine, s->n));
    TRY(leading_places(p, &place, &s->bits));
    TRY(leading_digits(p, &below, &place, &s->bits));
    TRY(elementary_circle(p, s->wide, sine, s->x));
    TRY(elementary_logarithm(p, s->out, s->x));
    return elementary_root(p, sine, s->wide, &segment);
}

static enum err all_cached(struct party *p, struct all_secrets *s)
{
    struct cached *cached CLEAN(cached_free) = NULL;
    uint64_t *c CLEAN(memory_release) = memory_array(s->n, sizeof *c);
    enum err e = c == NULL ? ERR_NOMEM : cached_new(p, &cached, s->x, &s->bits);
    for (size_t i = 0; e == ERR_OK && i < s->n; i++)
        c[i] = i % 4000 << CACHED_GRID;
    if (e == ERR_OK) {
        const struct cached_span span = {0, s->n, c};
        e = cached_distance(p, share64_view(s->out, 0, 1), cached, &span, 1 << CACHED_GRID);
    }
    return e;
}

enum err all_argmax(struct party *p, struct all_secrets *s)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    size_t index;
    return argmax_open(p, share64_view(s->x, 0, 60), 40, seed, &index);
}

void support_weigh(struct share64 sums, size_t k, struct share64 x, const int64_t *weight)
{
    for (size_t i = 0; i < x.n; i++) {
        sums.a[k] += (uint64_t)weight[i] * x.a[i];
        sums.b[k] += (uint64_t)weight[i] * x.b[i];
    }
}

/* Many forms of the first lanes of x. Noise is a fresh random share, like that from a tape. */
static enum err forms_of(struct party *p, struct all_secrets *s, struct tape *tape)
{
    const size_t forms = s->n - s->n % 2;
    int64_t weight[ALL_CELLS + 7];
    struct share64 noise CLEAN(share64_free) = {0}, sums CLEAN(share64_free) = {0};
    TRY(share64_new(&noise, forms));
    TRY(share64_new(&sums, forms));
    TRY(party_random64(p, &noise));
    TRY(tape_append(tape, NOISE_GAUSS, noise));
    for (int i = 0; i < ALL_CELLS + 7; i++)
        weight[i] = i % 7 - 3;
    for (size_t k = 0; k < forms; k++)
        support_weigh(sums, k, share64_view(s->x, 0, ALL_CELLS), weight + k % 7);
    return measure_open_sums(p, OPEN_NOISY_FORM, sums, tape, 1, (int64_t *)s->values);
}

static enum err all_forms(struct party *p, struct all_secrets *s)
{
    static const uint8_t id[TAPE_ID_SIZE];
    struct tape tape CLEAN(tape_free);
    tape_start(&tape, id, NOISE_BOX_MULLER);
    return forms_of(p, s, &tape);
}

/* A table made from some of x: valid rows; a key is a public place above secret bits, so sorted. */
static enum err all_table(struct party *p, const struct all_secrets *s, struct planes *table)
{
    const size_t n = s->n < ALL_ROWS ? s->n : ALL_ROWS;
    TRY(party_planes(p, table, LINK_FRONT + ALL_BITS / 2, n));
    bits_zero(planes_flat(table));
    for (unsigned k = 0; k < ALL_BITS; k++)
        bits_copy(planes_plane(table, k < ALL_BITS / 2 ? 1 + k : LINK_FRONT + k - ALL_BITS / 2),
                  planes_plane(&s->bits, k));
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < LINK_FRONT; k++) {
            const struct bits x = planes_plane(table, k);
            const uint64_t bit = k == 0 || (k > 30 && i >> (k - 31) & 1);
            x.a[i / 64] |= p->index == 0 ? bit << i % 64 : 0;
            x.b[i / 64] |= p->index == 2 ? bit << i % 64 : 0;
        }
    return ERR_OK;
}

/* Two tables, of which the second owner's rows stay, then at most one row a key. */
static enum err all_link(struct party *p, struct all_secrets *s)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes table[3], out;
    struct bits to = planes_plane(&s->bits, 0);
    bool sorted[3];
    for (size_t o = 0; o < 3; o++)
        TRY(all_table(p, s, &table[o]));
    TRY(party_planes(p, &out, 1 + 3 * (ALL_BITS / 2 + 1), link_rows(table, 3)));
    TRY(link_sorted(p, table, 3, NULL, NULL, sorted));
    TRY(link_join(p, &out, table, 3, 1, sorted));
    out.width = 1 + ALL_BITS / 2;
    TRY(link_sorted(p, table, 3, NULL, NULL, sorted));
    TRY(link_bound(p, &out, table, 3, 1, sorted));
    to.n = out.n < to.n ? out.n : to.n;
    bits_copy(to, planes_plane(&out, 1));
    return ERR_OK;
}

/* A part whose vectors have any components. */
static struct records_part any_part(const struct party *p, const struct all_secrets *s,
                                    size_t attributes)
{
    static const uint16_t attribute[] = {0, 1, 2, 3};
    struct records_part part = {.attributes = attributes, .attribute = attribute};
    if (p->index == 1)
        part.vector = (const uint8_t *)s->x16.b;
    if (p->index == 2)
        part.vector = (const uint8_t *)s->x16.a;
    part.seed[0] = p->index == 2 ? NULL : (const uint8_t *)s->x.a;
    part.seed[1] = p->index == 1 ? NULL : (const uint8_t *)s->x.b;
    return part;
}

/* For n records. */
static enum err all_moments(struct party *p, struct all_secrets *s)
{
    static const uint32_t size[] = {5, 2, 16, 3};
    static const int64_t of_five[] = {-9, -2, 1, 4, 7}, of_two[] = {-8, 3},
                         of_more[16] = {-3, -2, -2, -1, 0, 0, 1, 2, 3}, of_three[] = {-90, 1, 80};
    static const int64_t *const score[] = {of_five, of_two, of_more, of_three};
    const struct records_shape shape = {4, size};
    const struct records_part part = any_part(p, s, 4);
    const struct records_batch batch = {.records = s->n, .parts = 1, .part = &part};
    return records_moments(p, &shape, &batch, 1, score, NULL, share64_view(s->out, 0, 6));
}

/* Of two numbers, for eight classes. */
enum err all_gradient(struct party *p, struct all_secrets *s)
{
    static const uint32_t size[] = {16, 11, 8};
    static const uint16_t column[] = {0, 1};
    static const int64_t weight[8 * 3] = {40, -7, 300, 20, -32767, 5, 32767};
    const struct train_shape shape = {.records = {3, size},
                                      .target = 2,
                                      .classes = 8,
                                      .column = column,
                                      .columns = 2,
                                      .norm2 = 200,
                                      .bits = 3};
    const struct records_part part = any_part(p, s, 3);
    const struct records_batch batch = {.records = s->n, .parts = 1, .part = &part};
    struct train_rows rows CLEAN(train_rows_free);
    train_rows_start(&rows, &shape);
    TRY(train_rows_add(p, &rows, &batch, 1));
    TRY(train_rows_end(p, &rows));
    return train_gradient(p, &rows, weight, share64_view(s->out, 0, 8 * 3));
}

/* Of two columns, for two classes; the last column says which rows are kept back. */
static enum err all_test(struct party *p, struct all_secrets *s)
{
    static const uint32_t size[] = {16, 11, 2, 2};
    static const uint16_t column[] = {0, 1};
    static const int64_t weight[16 + 11 + 1] = {40, -700, 300, 20, -3276, 5, 327, 900, -90, 9};
    const struct train_shape shape = {.records = {4, size},
                                      .target = 2,
                                      .classes = 2,
                                      .column = column,
                                      .columns = 2,
                                      .bits = 5,
                                      .tests = true,
                                      .test = 3,
                                      .test_code = 1};
    const struct records_part part = any_part(p, s, 4);
    const struct records_batch batch = {.records = s->n, .parts = 1, .part = &part};
    struct train_rows rows CLEAN(train_rows_free);
    train_rows_start(&rows, &shape);
    TRY(train_rows_add(p, &rows, &batch, 1));
    TRY(train_rows_end(p, &rows));
    return train_test(p, &rows, weight, share64_view(s->out, 0, TRAIN_CELLS_TEST));
}

const struct all_protocol all_protocols[] = {
    {"multiply", all_multiply},
    {"AND, adder", all_and},
    {"inner and matrix products", all_inner},
    {"comparisons", all_compare},
    {"numbers and bits", all_convert},
    {"bits to numbers", all_bits_to_numbers},
    {"numbers that bits choose", all_choose},
    {"truncation, widening, polynomial", all_truncate},
    {"leading one, elementary functions", all_elementary},
    {"kept bits", all_cached},
    {"argmax", all_argmax},
    {"forms", all_forms},
    {"persons linked and bounded", all_link},
    {"moments", all_moments},
    {"gradient", all_gradient},
    {"test", all_test},
};
const size_t all_protocols_count = sizeof all_protocols / sizeof *all_protocols;
