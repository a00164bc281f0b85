/* mpc/: every protocol against plain arithmetic, on edge values and odd lengths, with its cost. */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "mpc/argmax.h"
#include "mpc/compare.h"
#include "mpc/convert.h"
#include "mpc/elementary.h"
#include "mpc/open.h"
#include "mpc/ring.h"
#include "mpc/root.h"
#include "mpc/truncate.h"
#include "tests/support_three.h"

#include <math.h>
#include <string.h>

/* One protocol call: inputs in the clear, which every party shares out, and the shares that come
 * back. */
struct call {
    enum err (*run)(struct party *p, struct call *c);
    size_t n;
    unsigned width;
    uint64_t x[1100], y[1100];
    word128 wide[1100];
    size_t start[8];
    uint64_t opened[3][1100];
    size_t index[3];
    struct three_result out;
    struct three_costs costs;
};

static enum err job(struct party *p, void *shared)
{
    struct call *c = shared;
    return c->run(p, c);
}

static void execute(struct call *c, enum err (*run)(struct party *, struct call *))
{
    c->run = run;
    three_result_free(&c->out);
    memset(&c->out, 0, sizeof c->out);
    assert_int_equal(three_result_new(&c->out, c->n), ERR_OK);
    assert_int_equal(three_run(c->n + 1, job, c, &c->costs), ERR_OK);
}

static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 129, 1000};
#define LENGTHS (sizeof lengths / sizeof *lengths)

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 UINT64_MAX,
                                 UINT64_MAX - 1,
                                 (uint64_t)1 << 63,
                                 ((uint64_t)1 << 63) - 1,
                                 ((uint64_t)1 << 32) - 1,
                                 (uint64_t)1 << 32};

static struct call *fresh(size_t n, uint64_t seed)
{
    struct call *c = memory_array(1, sizeof *c);
    uint64_t state = seed;
    assert_non_null(c);
    c->n = n;
    for (size_t i = 0; i < 1100; i++) {
        c->x[i] = i < 9 ? edges[i] : three_random(&state);
        c->y[i] = i < 81 ? edges[i / 9] : three_random(&state);
        c->wide[i] = (word128)c->x[i] << 64 | c->y[i];
    }
    return c;
}

static void finish(struct call *c)
{
    three_result_free(&c->out);
    memory_free(&c);
}

static uint64_t mask_of(unsigned width)
{
    return width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
}

/* --- ring --------------------------------------------------------------------------------------
 */

static enum err run_multiply(struct party *p, struct call *c)
{
    struct share64 x, y;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(three_share64(p, &y, c->y, c->n, 2));
    TRY(ring64_multiply(p, x, x, y));
    three_put64(&c->out, p, x);
    share64_free(&x);
    share64_free(&y);
    return ERR_OK;
}

static void multiply_is_multiplication(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c = fresh(lengths[l], l);
        execute(c, run_multiply);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == c->x[i] * c->y[i]);
        assert_int_equal(c->costs.rounds, 1);
        for (int s = 0; s < 3; s++)
            assert_int_equal(c->costs.sent[s], 8 * c->n);
        finish(c);
    }
}

static enum err run_multiply128(struct party *p, struct call *c)
{
    struct share128 x;
    TRY(three_share128(p, &x, c->wide, c->n, 1));
    TRY(ring128_multiply(p, x, x, x));
    three_put128(&c->out, p, x);
    share128_free(&x);
    return ERR_OK;
}

static void multiply128_is_multiplication(void **state)
{
    struct call *c = fresh(200, 3);
    (void)state;
    execute(c, run_multiply128);
    assert_true(three_replicated(&c->out, 128));
    for (size_t i = 0; i < c->n; i++)
        assert_true(three_sum128(&c->out, i) == c->wide[i] * c->wide[i]);
    assert_int_equal(c->costs.sent[1], 16 * c->n);
    finish(c);
}

static enum err run_inner(struct party *p, struct call *c)
{
    struct share64 x, y, sums;
    TRY(three_share64(p, &x, c->x, c->start[4], 1));
    TRY(three_share64(p, &y, c->y, c->start[4], 2));
    TRY(share64_new(&sums, 4));
    TRY(ring64_inner(p, sums, x, y, c->start));
    three_put64(&c->out, p, sums);
    share64_free(&x);
    share64_free(&y);
    share64_free(&sums);
    return ERR_OK;
}

static void inner_costs_its_output(void **state)
{
    struct call *c = fresh(4, 5);
    const size_t start[] = {0, 0, 1, 700, 1000};
    (void)state;
    memcpy(c->start, start, sizeof start);
    execute(c, run_inner);
    for (size_t s = 0; s < 4; s++) {
        uint64_t sum = 0;
        for (size_t k = start[s]; k < start[s + 1]; k++)
            sum += c->x[k] * c->y[k];
        assert_true(three_sum64(&c->out, s) == sum);
    }
    assert_int_equal(c->costs.rounds, 1);
    assert_int_equal(c->costs.sent[2], 4 * 8);
    finish(c);
}

static enum err run_input(struct party *p, struct call *c)
{
    struct share64 x;
    TRY(share64_new(&x, c->n));
    TRY(ring64_input(p, x, c->width, p->index == c->width ? c->x : NULL));
    three_put64(&c->out, p, x);
    share64_free(&x);
    return ERR_OK;
}

static void input_shares_a_value_of_one_server(void **state)
{
    (void)state;
    for (unsigned owner = 0; owner < 3; owner++) {
        struct call *c = fresh(65, owner);
        c->width = owner;
        execute(c, run_input);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == c->x[i]);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(c->costs.sent[s], s == owner ? 8 * c->n : 0);
        finish(c);
    }
}

static enum err run_open(struct party *p, struct call *c)
{
    struct share64 x;
    struct planes b;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(three_share_planes(p, &b, c->y, c->n, 1, 2));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, x, c->opened[p->index]));
    TRY(open_bits(p, OPEN_REJECT_BIT, planes_plane(&b, 0), c->opened[p->index] + c->n));
    share64_free(&x);
    planes_free(&b);
    return ERR_OK;
}

static void open_gives_all_three_the_value_and_counts(void **state)
{
    struct call *c = fresh(70, 9);
    (void)state;
    execute(c, run_open);
    for (int s = 0; s < 3; s++)
        for (size_t i = 0; i < c->n; i++) {
            assert_true(c->opened[s][i] == c->x[i]);
            assert_int_equal(c->opened[s][c->n + i / 64] >> (i % 64) & 1, c->y[i] & 1);
        }
    assert_int_equal(c->opened[0][c->n + 1] >> 6, 0); /* nothing past the end */
    assert_int_equal(c->costs.opened_calls[OPEN_NOISY_MARGINAL], 1);
    assert_int_equal(c->costs.opened_values[OPEN_NOISY_MARGINAL], 70);
    assert_int_equal(c->costs.opened_values[OPEN_REJECT_BIT], 70);
    assert_int_equal(c->costs.sent[0], 70 * 8 + 2 * 8);
    finish(c);
}

static enum err refuse(void *self, enum open_reason reason, size_t values)
{
    (void)self;
    (void)reason;
    (void)values;
    return ERR_BUDGET;
}

static enum err run_refused(struct party *p, struct call *c)
{
    struct share64 x;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    p->audit = refuse;
    enum err e = open_ring64(p, OPEN_NOISY_MARGINAL, x, c->opened[p->index]);
    share64_free(&x);
    return e == ERR_BUDGET && c->opened[p->index][0] == 0 ? ERR_OK : ERR_MISUSE;
}

static void the_audit_hook_can_stop_an_opening(void **state)
{
    struct call *c = fresh(5, 9);
    (void)state;
    execute(c, run_refused);
    assert_int_equal(c->costs.sent[0], 0);
    finish(c);
}

/* --- bits --------------------------------------------------------------------------------------
 */

static void slicing_is_undone_by_unslicing(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS; l++)
        for (unsigned width = 1; width <= 128; width += width < 8 ? 1 : 7) {
            struct call *c = fresh(lengths[l], l);
            uint64_t *planes = memory_words(bits_words(c->n) * width, 8);
            uint64_t *back = memory_words(c->n, 8);
            word128 *wide = memory_words(c->n, 16);
            if (width <= 64) {
                kernel_slice64(&kernel_portable, c->x, c->n, width, planes, bits_words(c->n));
                for (size_t i = 0; i < c->n; i++)
                    for (unsigned k = 0; k < width; k++)
                        assert_int_equal(planes[k * bits_words(c->n) + i / 64] >> (i % 64) & 1,
                                         c->x[i] >> k & 1);
                kernel_unslice64(&kernel_portable, planes, bits_words(c->n), c->n, width, back);
                for (size_t i = 0; i < c->n; i++)
                    assert_true(back[i] == (c->x[i] & mask_of(width)));
            }
            kernel_slice128(&kernel_portable, c->wide, c->n, width, planes, bits_words(c->n));
            kernel_unslice128(&kernel_portable, planes, bits_words(c->n), c->n, width, wide);
            for (size_t i = 0; i < c->n; i++)
                assert_true(wide[i] == (width == 128 ? c->wide[i]
                                                     : (c->wide[i] & (((word128)1 << width) - 1))));
            memory_free(&planes);
            memory_free(&back);
            memory_free(&wide);
            finish(c);
        }
}

static enum err run_and(struct party *p, struct call *c)
{
    struct planes x, y;
    TRY(three_share_planes(p, &x, c->x, c->n, 64, 1));
    TRY(three_share_planes(p, &y, c->y, c->n, 64, 2));
    TRY(bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&y)));
    bits_not(p, planes_flat(&x), planes_flat(&x));
    three_put_planes(&c->out, p, &x);
    planes_free(&x);
    planes_free(&y);
    return ERR_OK;
}

static void and_costs_one_bit(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c = fresh(lengths[l], l);
        execute(c, run_and);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) == ~(c->x[i] & c->y[i]));
        assert_int_equal(c->costs.sent[0], 64 * 8 * bits_words(c->n));
        assert_int_equal(c->costs.rounds, 1);
        finish(c);
    }
}

static enum err run_and_all(struct party *p, struct call *c)
{
    struct planes x, out;
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(planes_new(&out, 1, c->n));
    TRY(bits_and_all(p, planes_plane(&out, 0), &x));
    three_put_planes(&c->out, p, &out);
    planes_free(&x);
    planes_free(&out);
    return ERR_OK;
}

static void and_all_is_one_only_for_all_ones(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 9; width++) {
        struct call *c = fresh(1 << width, 1);
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = i;
        c->width = width;
        execute(c, run_and_all);
        for (size_t i = 0; i < c->n; i++)
            assert_int_equal((uint64_t)three_xor(&c->out, i), i + 1 == c->n);
        finish(c);
    }
}

static unsigned log2_ceil(unsigned n)
{
    unsigned k = 0;
    while ((1u << k) < n)
        k++;
    return k;
}

static enum err run_add(struct party *p, struct call *c)
{
    struct planes x, y, out;
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(three_share_planes(p, &y, c->y, c->n, c->width, 2));
    TRY(planes_new(&out, c->width, c->n));
    TRY(adder_add(p, out, &x, &y, c->start[0] != 0));
    three_put_planes(&c->out, p, &out);
    planes_free(&x);
    planes_free(&y);
    planes_free(&out);
    return ERR_OK;
}

static void add_adds_at_every_width(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 64; width++) {
        struct call *c = fresh(100, width);
        c->width = width;
        c->start[0] = width % 2;
        execute(c, run_add);
        assert_true(three_replicated(&c->out, width));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) ==
                        ((c->x[i] + c->y[i] + width % 2) & mask_of(width)));
        assert_int_equal(c->costs.rounds, width == 1 ? 0 : 1 + log2_ceil(width - 1));
        finish(c);
    }
}

/* --- comparisons -------------------------------------------------------------------------------
 */

static enum err run_compare_public(struct party *p, struct call *c)
{
    struct planes x, out;
    uint64_t *planes = memory_words(bits_words(c->n) * c->width, 8);
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(planes_new(&out, 1, c->n));
    kernel_slice64(&kernel_portable, c->y, c->n, c->width, planes, bits_words(c->n));
    TRY(compare_public(p, planes_plane(&out, 0), &x, planes));
    three_put_planes(&c->out, p, &out);
    planes_free(&x);
    planes_free(&out);
    memory_free(&planes);
    return ERR_OK;
}

static void compare_public_compares_at_every_width(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 64; width++) {
        struct call *c = fresh(256, width);
        uint64_t ands = 2 * (width - 1) - log2_ceil(width);
        c->width = width;
        if (width <= 4) /* all pairs */
            for (size_t i = 0; i < 256; i++) {
                c->x[i] = i % 16;
                c->y[i] = i / 16;
            }
        for (size_t i = 90; i < 120; i++)
            c->y[i] = c->x[i] + i % 3 - 1;
        execute(c, run_compare_public);
        assert_true(three_replicated(&c->out, 1));
        for (size_t i = 0; i < c->n; i++)
            assert_int_equal((uint64_t)three_xor(&c->out, i),
                             (c->x[i] & mask_of(width)) < (c->y[i] & mask_of(width)));
        assert_int_equal(c->costs.rounds, log2_ceil(width));
        assert_int_equal(c->costs.sent[0], ands * bits_words(c->n) * 8);
        finish(c);
    }
}

static enum err run_top_bit(struct party *p, struct call *c)
{
    struct planes out;
    struct share64 x;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(planes_new(&out, 1, c->n));
    TRY(compare_top_bit(p, planes_plane(&out, 0), x, c->width));
    three_put_planes(&c->out, p, &out);
    planes_free(&out);
    share64_free(&x);
    return ERR_OK;
}

static void top_bit_at_every_width_and_length(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 64; width++) {
        struct call *c = fresh(lengths[width % LENGTHS], width);
        c->width = width;
        execute(c, run_top_bit);
        assert_true(three_replicated(&c->out, 1));
        for (size_t i = 0; i < c->n; i++)
            assert_int_equal((uint64_t)three_xor(&c->out, i), c->x[i] >> (width - 1) & 1);
        if (width == 1) {
            assert_int_equal(c->costs.rounds, 1);
        } else {
            /* the low positions in groups of two, of which all but the lowest and a single last one take two ANDs */
            const unsigned groups = width / 2, pairs = (width - 1) / 2;
            const uint64_t words = bits_words(c->n);
            const uint64_t ands = groups + pairs - (pairs > 0) + 2 * (groups - 1) -
                                  log2_ceil(groups);
            const uint64_t sent = c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2];
            assert_int_equal(c->costs.rounds, 2 + log2_ceil(groups));
            assert_int_equal(sent, 8 * words * (3 * ands + width + pairs));
        }
        finish(c);
    }
}

/* --- conversions -------------------------------------------------------------------------------
 */

static enum err run_to_bits(struct party *p, struct call *c)
{
    struct planes out;
    struct share64 x;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(planes_new(&out, c->width, c->n));
    TRY(convert_to_bits(p, &out, x));
    three_put_planes(&c->out, p, &out);
    planes_free(&out);
    share64_free(&x);
    return ERR_OK;
}

static enum err run_to_ring(struct party *p, struct call *c)
{
    struct planes x;
    struct share64 out;
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(share64_new(&out, c->n));
    TRY(convert_to_ring64(p, out, &x));
    three_put64(&c->out, p, out);
    planes_free(&x);
    share64_free(&out);
    return ERR_OK;
}

static enum err run_to_ring128(struct party *p, struct call *c)
{
    struct planes x;
    struct share128 out;
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(share128_new(&out, c->n));
    TRY(convert_to_ring128(p, out, &x));
    three_put128(&c->out, p, out);
    planes_free(&x);
    share128_free(&out);
    return ERR_OK;
}

static void bits_and_numbers_convert_both_ways(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 64; width += width < 4 ? 1 : 5) {
        struct call *c = fresh(lengths[width % LENGTHS], width);
        c->width = width;
        execute(c, run_to_bits);
        assert_true(three_replicated(&c->out, width));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) == (c->x[i] & mask_of(width)));
        execute(c, run_to_ring);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == (c->x[i] & mask_of(width)));
        execute(c, run_to_ring128);
        assert_true(three_replicated(&c->out, 128));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum128(&c->out, i) == (c->x[i] & mask_of(width)));
        finish(c);
    }
}

static enum err run_bit(struct party *p, struct call *c)
{
    struct planes x;
    struct share64 out;
    TRY(three_share_planes(p, &x, c->x, c->n, 1, 1));
    TRY(share64_new(&out, c->n));
    TRY(convert_bit64(p, out, planes_plane(&x, 0)));
    three_put64(&c->out, p, out);
    planes_free(&x);
    share64_free(&out);
    return ERR_OK;
}

static enum err run_bit128(struct party *p, struct call *c)
{
    struct planes x;
    struct share128 out;
    TRY(three_share_planes(p, &x, c->x, c->n, 1, 1));
    TRY(share128_new(&out, c->n));
    TRY(convert_bit128(p, out, planes_plane(&x, 0)));
    three_put128(&c->out, p, out);
    planes_free(&x);
    share128_free(&out);
    return ERR_OK;
}

static void a_bit_becomes_a_number_for_three_elements(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c = fresh(lengths[l], l);
        execute(c, run_bit);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == (c->x[i] & 1));
        assert_int_equal(c->costs.rounds, 2);
        assert_int_equal(c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2], 3 * 8 * c->n);
        execute(c, run_bit128);
        assert_true(three_replicated(&c->out, 128));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum128(&c->out, i) == (c->x[i] & 1));
        finish(c);
    }
}

/* --- truncation --------------------------------------------------------------------------------
 */

static enum err run_truncate(struct party *p, struct call *c)
{
    struct share64 x;
    TRY(three_share64(p, &x, c->x, c->n, c->start[0]));
    TRY(truncate_ring64(p, x, x, c->width));
    three_put64(&c->out, p, x);
    share64_free(&x);
    return ERR_OK;
}

static enum err run_truncate128(struct party *p, struct call *c)
{
    struct share128 x;
    TRY(three_share128(p, &x, c->wide, c->n, c->start[0]));
    TRY(truncate_signed_ring128(p, x, x, c->width));
    three_put128(&c->out, p, x);
    share128_free(&x);
    return ERR_OK;
}

static void truncation_never_wraps(void **state)
{
    (void)state;
    for (unsigned shift = 1; shift < 63; shift += 3) {
        struct call *c = fresh(1000, shift);
        c->width = shift;
        c->start[0] = shift;
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = i < 9 ? edges[i] >> 1 : c->x[i] >> (1 + i % 60);
        execute(c, run_truncate);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++) {
            int64_t got = (int64_t)three_sum64(&c->out, i), floor = (int64_t)(c->x[i] >> shift);
            assert_true(got == floor || got == floor + 1);
        }
        assert_int_equal(c->costs.rounds, 2);
        assert_int_equal(c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2], 4 * 8 * c->n);
        finish(c);
    }
}

static void signed_truncation_is_within_one_and_unbiased(void **state)
{
    struct call *c = fresh(1000, 4);
    double bias = 0;
    (void)state;
    c->width = 76;
    c->start[0] = 5;
    for (size_t i = 0; i < c->n; i++) {
        __int128 v = (__int128)c->wide[i] >> 3; /* any sign, below 2^124 */
        c->wide[i] = (word128)v;
    }
    execute(c, run_truncate128);
    for (size_t i = 0; i < c->n; i++) {
        __int128 got = (__int128)three_sum128(&c->out, i);
        __int128 error = (got << 76) - (__int128)c->wide[i];
        assert_true(error > -((__int128)1 << 76) && error <= (__int128)1 << 76);
        bias += (double)error / 0x1p76;
    }
    assert_true(bias / 1000 < 0.06 && bias / 1000 > -0.06); /* deviation 0.41 / sqrt(1000) */
    finish(c);
}

/* --- root --------------------------------------------------------------------------------------
 */

static enum err run_root(struct party *p, struct call *c)
{
    struct planes x, out;
    TRY(three_share_planes(p, &x, c->x, c->n, 2 * c->width, 1));
    TRY(planes_new(&out, c->width, c->n));
    TRY(root_floor(p, &out, &x));
    three_put_planes(&c->out, p, &out);
    planes_free(&x);
    planes_free(&out);
    return ERR_OK;
}

static void root_is_the_exact_floor(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 32; width += width < 5 ? 1 : 9) {
        struct call *c = fresh(width <= 4 ? (size_t)1 << (2 * width) : 300, width);
        c->width = width;
        for (size_t i = 0; i < c->n; i++) {
            uint64_t r = c->y[i] & mask_of(width);
            c->x[i] = width <= 4 ? i : i % 3 == 0 ? r * r : i % 3 == 1 ? r * r - 1 : c->x[i];
            c->x[i] &= mask_of(2 * width);
        }
        execute(c, run_root);
        for (size_t i = 0; i < c->n; i++) {
            word128 r = three_xor(&c->out, i);
            assert_true(r * r <= c->x[i] && (r + 1) * (r + 1) > c->x[i]);
        }
        finish(c);
    }
}

/* --- elementary functions ------------------------------------------------------------------------- */

static enum err run_circle(struct party *p, struct call *c)
{
    struct share128 u, cosine, sine;
    TRY(three_share128(p, &u, c->wide, c->n, 1));
    TRY(share128_new(&cosine, c->n));
    TRY(share128_new(&sine, c->n));
    TRY(elementary_circle(p, cosine, sine, u));
    three_put128(&c->out, p, c->width == 0 ? cosine : sine);
    share128_free(&u);
    share128_free(&cosine);
    share128_free(&sine);
    return ERR_OK;
}

static void a_quarter_turn_is_right_to_its_stated_error(void **state)
{
    const long double half_pi = acosl(0.0L), unit = 0x1p-52L;
    (void)state;
    for (unsigned which = 0; which < 2; which++) {
        struct call *c = fresh(1000, 6);
        long double worst = 0;
        c->width = which;
        for (size_t i = 0; i < c->n; i++) /* 0, 1, the smallest steps beside them, and anything */
            c->wide[i] = i < 2   ? (word128)i << 52
                         : i < 4 ? (i == 2 ? 1 : ((word128)1 << 52) - 1)
                                 : c->x[i] >> 12;
        execute(c, run_circle);
        for (size_t i = 0; i < c->n; i++) {
            long double angle = half_pi * (long double)c->wide[i] * unit;
            long double exact = which == 0 ? cosl(angle) : sinl(angle);
            long double got = (long double)(__int128)three_sum128(&c->out, i) * unit;
            worst = fmaxl(worst, fabsl(got - exact));
        }
        assert_true(worst <= ELEMENTARY_CIRCLE_ERROR);
        finish(c);
    }
}

static enum err run_logarithm(struct party *p, struct call *c)
{
    struct share64 t, out;
    TRY(three_share64(p, &t, c->x, c->n, 1));
    TRY(share64_new(&out, c->n));
    TRY(elementary_logarithm(p, out, t));
    three_put64(&c->out, p, out);
    share64_free(&t);
    share64_free(&out);
    return ERR_OK;
}

static void a_logarithm_is_right_to_its_stated_error(void **state)
{
    struct call *c = fresh(1000, 7);
    long double worst = 0;
    (void)state;
    for (size_t i = 0; i < c->n; i++)
        c->x[i] = i < 2 ? i : i == 2 ? (1 << 30) - 1 : c->x[i] >> 34;
    execute(c, run_logarithm);
    for (size_t i = 0; i < c->n; i++) {
        long double exact = log1pl((long double)c->x[i] * 0x1p-30L);
        long double got = (long double)(int64_t)three_sum64(&c->out, i) * 0x1p-36L;
        worst = fmaxl(worst, fabsl(got - exact));
    }
    assert_true(worst <= ELEMENTARY_LOGARITHM_ERROR);
    finish(c);
}

/* --- argmax ------------------------------------------------------------------------------------
 */

static enum err run_argmax(struct party *p, struct call *c)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    struct share64 x;
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(argmax_open(p, x, c->width, seed, &c->index[p->index]));
    share64_free(&x);
    return ERR_OK;
}

static void argmax_opens_the_lowest_largest_index_alone(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 10, 45};
    (void)state;
    for (size_t k = 0; k < 25; k++) {
        struct call *c = fresh(sizes[k % 5], k);
        size_t best = 0;
        c->width = k < 15 ? 64 : 12;
        for (size_t i = 0; i < c->n; i++) { /* signed, with ties in the later rounds */
            c->x[i] = k < 15 ? (uint64_t)((int64_t)c->x[i] >> 1) : (c->x[i] & 7) - 4;
            if ((int64_t)c->x[i] > (int64_t)c->x[best])
                best = i;
        }
        execute(c, run_argmax);
        for (int s = 0; s < 3; s++)
            assert_int_equal(c->index[s], best);
        assert_true(c->costs.rounds <= 10);
        assert_int_equal(c->costs.opened_calls[OPEN_SELECTED_INDEX], 1);
        assert_int_equal(c->costs.opened_values[OPEN_SELECTED_INDEX], c->n);
        for (unsigned r = 0; r < OPEN_REASONS; r++)
            if (r != OPEN_SELECTED_INDEX)
                assert_int_equal(c->costs.opened_calls[r], 0);
        finish(c);
    }
}

static void the_field_is_a_field(void **state)
{
    uint64_t s = 1;
    (void)state;
    assert_true(kernel_field_product(2, (uint64_t)1 << 63) == 0x1b);
    for (int i = 0; i < 1000; i++) {
        uint64_t a = three_random(&s), b = three_random(&s), c = three_random(&s), power = a;
        assert_true(kernel_field_product(a, b) == kernel_field_product(b, a));
        assert_true(kernel_field_product(a, b ^ c) ==
                    (kernel_field_product(a, b) ^ kernel_field_product(a, c)));
        assert_true(kernel_field_product(kernel_field_product(a, b), c) ==
                    kernel_field_product(a, kernel_field_product(b, c)));
        for (int k = 0; k < 64; k++) /* a^(2^64) = a */
            power = kernel_field_product(power, power);
        assert_true(power == a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiply_is_multiplication),
        cmocka_unit_test(multiply128_is_multiplication),
        cmocka_unit_test(inner_costs_its_output),
        cmocka_unit_test(input_shares_a_value_of_one_server),
        cmocka_unit_test(open_gives_all_three_the_value_and_counts),
        cmocka_unit_test(the_audit_hook_can_stop_an_opening),
        cmocka_unit_test(slicing_is_undone_by_unslicing),
        cmocka_unit_test(and_costs_one_bit),
        cmocka_unit_test(and_all_is_one_only_for_all_ones),
        cmocka_unit_test(add_adds_at_every_width),
        cmocka_unit_test(compare_public_compares_at_every_width),
        cmocka_unit_test(top_bit_at_every_width_and_length),
        cmocka_unit_test(bits_and_numbers_convert_both_ways),
        cmocka_unit_test(a_bit_becomes_a_number_for_three_elements),
        cmocka_unit_test(truncation_never_wraps),
        cmocka_unit_test(signed_truncation_is_within_one_and_unbiased),
        cmocka_unit_test(a_quarter_turn_is_right_to_its_stated_error),
        cmocka_unit_test(a_logarithm_is_right_to_its_stated_error),
        cmocka_unit_test(root_is_the_exact_floor),
        cmocka_unit_test(argmax_opens_the_lowest_largest_index_alone),
        cmocka_unit_test(the_field_is_a_field),
    };
    return THREE_EACH_KERNEL(tests);
}
