/* mpc/: rings, openings, bits and comparisons against plain arithmetic, with bytes and rounds. */
#include "tests/support/call.h"

#include "mpc/circuits/compare.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"

/* --- ring ------------------------------------------------------------------------------------- */

static enum err run_multiply(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0}, y CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(three_share64(p, &y, c->y, c->n, 2));
    TRY(ring64_multiply(p, x, x, y));
    three_put64(&c->out, p, x);
    return ERR_OK;
}

TEST(multiply_is_multiplication)
{
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c CLEAN(finish) = fresh(lengths[l], l);
        execute(c, run_multiply);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == c->x[i] * c->y[i]);
        assert_int_equal(c->costs.rounds, 1);
        for (int s = 0; s < 3; s++)
            assert_int_equal(c->costs.sent[s], 8 * c->n);
    }
}

static enum err run_multiply128(struct party *p, struct call *c)
{
    struct share128 x CLEAN(share128_free) = {0};
    TRY(three_share128(p, &x, c->wide, c->n, 1));
    TRY(ring128_multiply(p, x, x, x));
    three_put128(&c->out, p, x);
    return ERR_OK;
}

TEST(multiply128_is_multiplication)
{
    struct call *c CLEAN(finish) = fresh(200, 3);
    execute(c, run_multiply128);
    assert_true(three_replicated(&c->out, 128));
    for (size_t i = 0; i < c->n; i++)
        assert_true(three_sum128(&c->out, i) == c->wide[i] * c->wide[i]);
    assert_int_equal(c->costs.sent[1], 16 * c->n);
}

static enum err run_inner(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0}, y CLEAN(share64_free) = {0};
    struct share64 sums CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->start[4], 1));
    TRY(three_share64(p, &y, c->y, c->start[4], 2));
    TRY(share64_new(&sums, 4));
    TRY(ring64_inner(p, sums, x, y, c->start));
    three_put64(&c->out, p, sums);
    return ERR_OK;
}

TEST(inner_costs_its_output)
{
    struct call *c CLEAN(finish) = fresh(4, 5);
    const size_t start[] = {0, 0, 1, 700, 1000};
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
}

static enum err run_open(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0};
    struct planes b CLEAN(planes_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(three_share_planes(p, &b, c->y, c->n, 1, 2));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, x, c->opened[p->index]));
    TRY(open_bits(p, OPEN_REJECT_BIT, planes_plane(&b, 0), c->opened[p->index] + c->n));
    return ERR_OK;
}

TEST(open_gives_all_three_the_value_and_counts)
{
    struct call *c CLEAN(finish) = fresh(70, 9);
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
}

static enum err refuse(void *self, enum party_reason reason, size_t values)
{
    return ERR_BUDGET;
}

static enum err run_refused(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    p->audit = refuse;
    enum err e = open_ring64(p, OPEN_NOISY_MARGINAL, x, c->opened[p->index]);
    return e == ERR_BUDGET && c->opened[p->index][0] == 0 ? ERR_OK : ERR_MISUSE;
}

TEST(the_audit_hook_can_stop_an_opening)
{
    struct call *c CLEAN(finish) = fresh(5, 9);
    execute(c, run_refused);
    assert_int_equal(c->costs.sent[0], 0);
}

/* --- bits ------------------------------------------------------------------------------------- */

TEST(slicing_is_undone_by_unslicing)
{
    for (size_t l = 0; l < LENGTHS; l++)
        for (unsigned width = 1; width <= 128; width += width < 8 ? 1 : 7) {
            struct call *c CLEAN(finish) = fresh(lengths[l], l);
            uint64_t *planes CLEAN(memory_release) = memory_words(bits_words(c->n) * width, 8);
            uint64_t *back CLEAN(memory_release) = memory_words(c->n, 8);
            word128 *wide CLEAN(memory_release) = memory_words(c->n, 16);
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
            three_unslice128(planes, bits_words(c->n), c->n, width, wide);
            for (size_t i = 0; i < c->n; i++)
                assert_true(wide[i] == (width == 128 ? c->wide[i]
                                                     : (c->wide[i] & (((word128)1 << width) - 1))));
        }
}

static enum err run_and(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, 64, 1));
    TRY(three_share_planes(p, &y, c->y, c->n, 64, 2));
    TRY(bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&y)));
    bits_not(p, planes_flat(&x), planes_flat(&x));
    three_put_planes(&c->out, p, &x);
    return ERR_OK;
}

TEST(and_costs_one_bit)
{
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c CLEAN(finish) = fresh(lengths[l], l);
        execute(c, run_and);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) == ~(c->x[i] & c->y[i]));
        assert_int_equal(c->costs.sent[0], 64 * 8 * bits_words(c->n));
        assert_int_equal(c->costs.rounds, 1);
    }
}

static enum err run_and_all(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0}, out CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(planes_new(&out, 1, c->n));
    TRY(bits_and_all(p, planes_plane(&out, 0), &x));
    three_put_planes(&c->out, p, &out);
    return ERR_OK;
}

TEST(and_all_is_one_only_for_all_ones)
{
    for (unsigned width = 1; width <= 9; width++) {
        struct call *c CLEAN(finish) = fresh(1 << width, 1);
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = i;
        c->width = width;
        execute(c, run_and_all);
        for (size_t i = 0; i < c->n; i++)
            assert_int_equal((uint64_t)three_xor(&c->out, i), i + 1 == c->n);
    }
}

static enum err run_add(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    struct planes out CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(three_share_planes(p, &y, c->y, c->n, c->width, 2));
    TRY(planes_new(&out, c->width, c->n));
    TRY(adder_add(p, out, &x, &y, c->start[0] != 0));
    three_put_planes(&c->out, p, &out);
    return ERR_OK;
}

TEST(add_adds_at_every_width)
{
    for (unsigned width = 1; width <= 64; width++) {
        struct call *c CLEAN(finish) = fresh(100, width);
        c->width = width;
        c->start[0] = width % 2;
        execute(c, run_add);
        assert_true(three_replicated(&c->out, width));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) ==
                        ((c->x[i] + c->y[i] + width % 2) & mask_of(width)));
        assert_int_equal(c->costs.rounds, width == 1 ? 0 : 1 + log2_ceil(width - 1));
    }
}

/* --- comparisons ------------------------------------------------------------------------------ */

static enum err top_bits(struct party *p, struct three_result *result, const uint64_t *clear,
                         size_t n, unsigned width)
{
    struct planes out CLEAN(planes_free) = {0};
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, clear, n, 1));
    TRY(planes_new(&out, 1, n));
    TRY(compare_top_bit(p, planes_plane(&out, 0), x, width));
    three_put_planes(result, p, &out);
    return ERR_OK;
}

static enum err run_top_bit(struct party *p, struct call *c)
{
    return top_bits(p, &c->out, c->x, c->n, c->width);
}

/* The cost of comparing this many lanes: bits a lane over all servers, and rounds. */
static void expect_top_bit_costs(const struct three_costs *costs, unsigned width, size_t lanes)
{
    const unsigned low = width - 1, few = (low + 7) / 8;
    const unsigned wide = lanes <= 8192 && few <= 6 ? few : (low + 15) / 16;
    const unsigned digits = (low + wide - 1) / wide;
    unsigned rows = 1;
    for (unsigned k = 0; k < digits; k++)
        rows += (1u << (low / digits + (k < low % digits))) - 1;
    const unsigned ands = 2 * (digits - 1) - log2_ceil(digits);
    assert_true(digits <= (lanes <= 8192 && low <= 48 ? 8 : 16));
    assert_int_equal(costs->rounds, 1 + log2_ceil(digits));
    assert_int_equal(costs->sent[0] + costs->sent[1] + costs->sent[2],
                     8 * bits_words(lanes) * (2 * rows + 2 * (2 * digits - 1) + 3 * ands));
}

TEST(top_bit_at_every_width_and_length)
{
    for (unsigned width = 1; width <= 64; width++) {
        struct call *c CLEAN(finish) = fresh(lengths[width % LENGTHS], width);
        c->width = width;
        execute(c, run_top_bit);
        assert_true(three_replicated(&c->out, 1));
        for (size_t i = 0; i < c->n; i++)
            assert_int_equal((uint64_t)three_xor(&c->out, i), c->x[i] >> (width - 1) & 1);
        if (width == 1)
            assert_int_equal(c->costs.rounds, 0);
        else
            expect_top_bit_costs(&c->costs, width, c->n);
    }
}

struct many {
    size_t n;
    unsigned width;
    uint64_t *x;
    struct three_result out;
};

static enum err compare_many(struct party *p, void *shared)
{
    struct many *c = shared;
    return top_bits(p, &c->out, c->x, c->n, c->width);
}

/* With few lanes digits are wide; otherwise there are more of them. */
TEST(top_bits_of_few_and_of_many)
{
    static const unsigned widths[] = {2, 17, 41, 46, 49, 50, 64};
    static const size_t lanes[] = {8192, 8193};
    for (size_t k = 0; k < 2 * (sizeof widths / sizeof *widths); k++) {
        struct many c = {.n = lanes[k % 2], .width = widths[k / 2]};
        struct three_costs costs;
        uint64_t seed = k;
        c.x = memory_array(c.n, sizeof *c.x);
        for (size_t i = 0; i < c.n; i++) /* long runs of ones and of zeros too */
            c.x[i] = i % 3 == 0 ? three_random(&seed) : ((uint64_t)1 << i % 64) - (i % 3 == 1);
        OK(three_result_new(&c.out, c.n));
        OK(three_run(k, compare_many, &c, &costs));
        assert_true(three_replicated(&c.out, 1));
        for (size_t i = 0; i < c.n; i++)
            if ((uint64_t)three_xor(&c.out, i) != (c.x[i] >> (c.width - 1) & 1))
                fail_msg("lane %zu of width %u", i, c.width);
        expect_top_bit_costs(&costs, c.width, c.n);
        three_result_free(&c.out);
        memory_free(&c.x);
    }
}

MAIN(three_each_kernel())
