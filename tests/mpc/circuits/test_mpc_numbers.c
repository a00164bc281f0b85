/* mpc/: conversions, truncation and argmax against plain arithmetic. */
#include "tests/support/call.h"

#include "mpc/circuits/argmax.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/truncate.h"
#include "mpc/move/move.h"
#include "tests/support/hooks.h"

/* --- conversions ------------------------------------------------------------------------------ */

static enum err run_to_bits(struct party *p, struct call *c)
{
    struct planes out CLEAN(planes_free) = {0};
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(planes_new(&out, c->width, c->n));
    TRY(convert_to_bits(p, &out, x));
    three_put_planes(&c->out, p, &out);
    return ERR_OK;
}

static enum err run_to_ring(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0};
    struct share64 out CLEAN(share64_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(share64_new(&out, c->n));
    TRY(convert_to_ring64(p, out, &x));
    three_put64(&c->out, p, out);
    return ERR_OK;
}

TEST(bits_and_numbers_convert_both_ways)
{
    for (unsigned width = 1; width <= 64; width += width < 4 ? 1 : 5) {
        struct call *c CLEAN(finish) = fresh(lengths[width % LENGTHS], width);
        c->width = width;
        execute(c, run_to_bits);
        assert_true(three_replicated(&c->out, width));
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint64_t)three_xor(&c->out, i) == (c->x[i] & mask_of(width)));
        execute(c, run_to_ring);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == (c->x[i] & mask_of(width)));
    }
}

static enum err run_bit(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0};
    struct share64 out CLEAN(share64_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, 1, 1));
    TRY(share64_new(&out, c->n));
    TRY(convert_bit64(p, out, planes_plane(&x, 0)));
    three_put64(&c->out, p, out);
    return ERR_OK;
}

static enum err run_bit128(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0};
    struct share128 out CLEAN(share128_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, 1, 1));
    TRY(share128_new(&out, c->n));
    TRY(convert_bit128(p, out, planes_plane(&x, 0)));
    three_put128(&c->out, p, out);
    return ERR_OK;
}

TEST(a_bit_becomes_a_number_for_four_elements)
{
    for (size_t l = 0; l < LENGTHS; l++) {
        struct call *c CLEAN(finish) = fresh(lengths[l], l);
        execute(c, run_bit);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum64(&c->out, i) == (c->x[i] & 1));
        assert_int_equal(c->costs.rounds, 1);
        assert_int_equal(c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2], 4 * 8 * c->n);
        execute(c, run_bit128);
        assert_true(three_replicated(&c->out, 128));
        for (size_t i = 0; i < c->n; i++)
            assert_true(three_sum128(&c->out, i) == (c->x[i] & 1));
    }
}

/* --- numbers that bits choose ----------------------------------------------------------------- */

#define SUMS 7

static enum err run_choose(struct party *p, struct call *c)
{
    struct planes s CLEAN(planes_free) = {0};
    struct share64 v CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    const struct party_parts parts = party_parts(p, c->n, 64);
    size_t twice = 0; /* sums with lanes both in this part and in an earlier one */
    TRY(three_share_planes(p, &s, c->y, c->n, 1, 1));
    TRY(three_share64(p, &v, c->x, c->n, 2));
    TRY(share64_new(&out, SUMS));
    TRY(move_choose(p, out, planes_plane(&s, 0), v, c->start));
    for (size_t k = 0; k < SUMS; k++)
        twice += c->start[k] < parts.j.end && c->start[k + 1] > parts.j.begin;
    c->opened[p->index][0] = twice;
    three_put64(&c->out, p, out);
    return ERR_OK;
}

TEST(numbers_that_bits_choose_add_up)
{
    static const size_t starts[][SUMS + 1] = {
        {0},
        {0, 0, 0, 1},
        {0, 1, 2, 3, 4, 5, 6, 7},
        {0, 0, 63, 64, 65, 65, 65, 300},
        {0, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
        {0, 0, 0, 0, 0, 0, 0, 1000},
        {0, 383, 384, 385, 511, 512, 513, 1000},
    };
    for (size_t l = 0; l < sizeof starts / sizeof *starts; l++) {
        size_t pairs = 0, lanes = 0;
        struct call *c CLEAN(finish) = fresh(1000, l);
        for (size_t k = 0; k <= SUMS; k++)
            lanes = c->start[k] = starts[l][k] > lanes ? starts[l][k] : lanes;
        c->n = lanes;
        c->run = run_choose;
        OK(three_result_new(&c->out, SUMS));
        OK(three_run(l, job, c, &c->costs));
        assert_true(three_replicated(&c->out, 64));
        for (size_t k = 0; k < SUMS; k++) {
            uint64_t sum = 0;
            for (size_t i = c->start[k]; i < c->start[k + 1]; i++)
                sum += c->y[i] % 2 * c->x[i];
            assert_true(three_sum64(&c->out, k) == sum);
        }
        for (int s = 0; s < 3; s++)
            pairs += c->opened[s][0];
        assert_true(pairs <= SUMS + 2);
        assert_int_equal(c->costs.rounds, 1);
        assert_int_equal(c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2],
                         (4 * lanes + 2 * pairs) * 8);
    }
}

/* --- truncation ------------------------------------------------------------------------------- */

static enum err run_truncate(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, c->start[0]));
    TRY(truncate_signed_ring64(p, x, x, c->width));
    three_put64(&c->out, p, x);
    return ERR_OK;
}

static enum err run_truncate128(struct party *p, struct call *c)
{
    struct share128 x CLEAN(share128_free) = {0};
    TRY(three_share128(p, &x, c->wide, c->n, c->start[0]));
    TRY(truncate_signed_ring128(p, x, x, c->width));
    three_put128(&c->out, p, x);
    return ERR_OK;
}

TEST(truncation_never_wraps)
{
    for (unsigned shift = 1; shift < 63; shift += 3) {
        struct call *c CLEAN(finish) = fresh(1000, shift);
        c->width = shift;
        c->start[0] = shift;
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = (uint64_t)((int64_t)(i < 9 ? edges[i] : c->x[i]) >>
                                 (1 + (i < 9 ? 0 : i % 60)));
        execute(c, run_truncate);
        assert_true(three_replicated(&c->out, 64));
        for (size_t i = 0; i < c->n; i++) {
            int64_t got = (int64_t)three_sum64(&c->out, i), floor = (int64_t)c->x[i] >> shift;
            assert_true(got == floor || got == floor + 1);
        }
        assert_int_equal(c->costs.rounds, 1);
        assert_int_equal(c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2],
                         (shift <= 32 ? 8 + 4 * 4 : 8 + 4 * 8) * c->n);
    }
}

TEST(signed_truncation_is_within_one_and_unbiased)
{
    struct call *c CLEAN(finish) = fresh(1000, 4);
    double bias = 0;
    c->width = 76;
    c->start[0] = 5;
    for (size_t i = 0; i < c->n; i++) {
        __int128 v = (__int128)c->wide[i] >> 1; /* any sign, up to 2^126 */
        c->wide[i] = (word128)v;
    }
    execute(c, run_truncate128);
    for (size_t i = 0; i < c->n; i++) {
        __int128 got = (__int128)three_sum128(&c->out, i);
        __int128 floor = (__int128)c->wide[i] >> 76;
        assert_true(got == floor || got == floor + 1);
        bias += (double)((got << 76) - (__int128)c->wide[i]) / 0x1p76;
    }
    assert_true(bias / 1000 < 0.06 && bias / 1000 > -0.06); /* deviation 0.41 / sqrt(1000) */
}

static enum err run_widen64(struct party *p, struct call *c)
{
    struct share64 x CLEAN(share64_free) = {0};
    struct share128 out CLEAN(share128_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(share128_new(&out, c->n));
    TRY(truncate_widen64(p, out, x));
    three_put128(&c->out, p, out);
    return ERR_OK;
}

TEST(widening_to_128_bits_is_exact)
{
    struct call *c CLEAN(finish) = fresh(1000, 9);
    for (size_t i = 0; i < c->n; i++)
        c->x[i] &= UINT64_MAX >> 1;
    execute(c, run_widen64);
    assert_true(three_replicated(&c->out, 128));
    for (size_t i = 0; i < c->n; i++)
        assert_true(three_sum128(&c->out, i) == c->x[i]);
    assert_int_equal(c->costs.rounds, 1);
}

/* --- argmax ----------------------------------------------------------------------------------- */

static enum err run_argmax(struct party *p, struct call *c)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(argmax_open(p, x, c->width, seed, &c->index[p->index]));
    return ERR_OK;
}

TEST(argmax_opens_the_lowest_largest_index_alone)
{
    static const size_t sizes[] = {1, 2, 3, 10, 45};
    for (size_t k = 0; k < 25; k++) {
        struct call *c CLEAN(finish) = fresh(sizes[k % 5], k);
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
    }
}

#define CANDIDATES 10

/* What is opened if the seed is there from the start, or comes with the second exchange. */
struct seeding {
    bool late;
    uint64_t opened[3][CANDIDATES];
};

struct seed {
    struct net *net;
    unsigned heard;
    uint8_t bytes[ARGMAX_SEED_SIZE];
};

static enum err wait_for_seed(void *self)
{
    struct seed *seed = self;
    if (seed->heard++ < 2)
        net_ride(seed->net, &(const struct net_rider){.heard = wait_for_seed, .self = seed});
    else
        seed->bytes[0] = 1;
    return ERR_OK;
}

static void take_opened(void *self, const void *p, size_t n)
{
    memcpy(self, p, n < sizeof(uint64_t[CANDIDATES]) ? n : sizeof(uint64_t[CANDIDATES]));
}

static void ignore(void *self, const void *p, size_t n)
{
}

static enum err seed_job(struct party *p, void *shared)
{
    struct seeding *s = shared;
    const struct hooks_watch watch = {ignore, take_opened, s->opened[p->index]};
    const uint64_t values[CANDIDATES] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
    struct seed seed = {.net = p->net, .bytes = {!s->late}};
    struct share64 x CLEAN(share64_free) = {0};
    size_t index = 0;
    enum err e = three_share64(p, &x, values, CANDIDATES, 1);
    hooks_watch(p, &watch);
    if (e == ERR_OK && s->late)
        e = wait_for_seed(&seed);
    if (e == ERR_OK)
        e = argmax_open(p, x, 12, seed.bytes, &index);
    hooks_watch(p, NULL);
    return e == ERR_OK && index != 5 ? ERR_DATA : e;
}

/* A round's seed is not known before the round is bound, at all three. */
TEST(argmax_reads_its_seed_when_pairs_are_compared)
{
    struct seeding early = {.late = false}, late = {.late = true};
    OK(three_run(3, seed_job, &early, NULL));
    OK(three_run(3, seed_job, &late, NULL));
    assert_true(early.opened[0][0] != 0);
    assert_memory_equal(early.opened, late.opened, sizeof early.opened);
}

TEST(the_field_is_a_field)
{
    uint64_t s = 1;
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

MAIN(three_each_kernel())
