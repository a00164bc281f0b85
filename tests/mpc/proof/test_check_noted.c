/*
 * Everything that a protocol notes under a check holds, relation by relation, in the clear; and as
 * many relations are noted as a naive count says.
 */
#include "harness/cmocka.h"

#include "mpc/check/check_private.h"
#include "mpc/circuits/cached.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/truncate.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "tests/support/check.h"

#define N 200
#define RELATIONS 300000

/* This server's part of a relation's error. */
struct found {
    enum err (*job)(struct party *p, const struct share64 *x, const struct planes *bits);
    const struct hooks_tamper *cheat[3];
    bool next; /* z is read from whoever holds it as b: the cheat has not altered its own a */
    word128 *off[3][NUMBERS_RINGS];    /* bits come first */
    size_t count[NUMBERS_RINGS];       /* at server 0, as at all of them */
    size_t words[RECORD_PRODUCTS + 1]; /* of relations of bits, by list */
};

static word128 word_of(enum share_ring ring, const void *v, size_t i)
{
    word128 w = 0;
    if (v != NULL)
        memcpy(&w, (const uint8_t *)v + i * ring_size(ring), ring_size(ring));
    return w;
}

static void read_numbers(const struct check_numbers *log, word128 *const off[NUMBERS_RINGS])
{
    struct check_place at = {0, 0};
    struct check_record r;
    while (check_numbers_next(log, &at, &r))
        for (size_t i = 0; i < r.words; i++) {
            word128 *to = &off[r.ring][r.relation + (r.one ? 0 : i)];
            for (unsigned l = 0; l < r.products; l++) {
                word128 x[2], y[2], factor;
                for (unsigned k = 0; k < 2; k++)
                    factor = play_factors(&r, l, k, i, &x[k], &y[k]);
                *to += factor * (x[0] * (y[0] + y[1]) + x[1] * y[0]);
            }
            if (r.has_z)
                *to += word_of(r.ring, r.minus_z[0], i);
        }
}

/* Words of 64 relations each. */
static size_t read_bits(struct check_bit_log *log, bool next, word128 *off)
{
    size_t count = 0;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++) {
        check_bit_log_groups(log, l);
        for (size_t k = 0; k < log->list[l].chunks; k++) {
            const struct check_part part = check_bit_log_part(log, l, k);
            for (size_t g = 0; g < part.groups; g++)
                for (size_t w = 0; w < KERNEL_GROUP; w++, count++) {
                    uint64_t sum = part.z[(2 * g + next) * KERNEL_GROUP + w];
                    for (unsigned i = 0; i < l; i++) {
                        const uint64_t *x = part.products + 4 * (g * l + i) * KERNEL_GROUP + w;
                        const uint64_t *y = x + 2 * KERNEL_GROUP;
                        sum ^= (x[0] & (y[0] ^ y[KERNEL_GROUP])) ^ (x[KERNEL_GROUP] & y[0]);
                    }
                    assert_true(count < RELATIONS);
                    off[count] = sum;
                }
        }
    }
    return count;
}

static void count_all(struct found *f, const struct check *c, size_t bits)
{
    f->count[RING_BITS] = bits;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        f->words[l] = c->bits.list[l].words;
    for (unsigned ring = RING_16; ring < NUMBERS_RINGS; ring++)
        f->count[ring] = c->numbers.relations[ring];
}

static enum err sit(struct party *p, void *shared)
{
    static const struct check_limits limits = {.log = (size_t)1 << 40};
    struct found *f = shared;
    uint64_t values[N], seed = 3;
    struct share64 x CLEAN(share64_free) = {0};
    struct planes bits CLEAN(planes_free) = {0};
    enum err e = check_new(p, &limits);
    hooks_tamper(p, f->cheat[p->index]);
    for (size_t i = 0; i < N; i++)
        values[i] = three_random(&seed) >> (2 + i % 61);
    if (e == ERR_OK)
        e = three_share64(p, &x, values, N, 5);
    if (e == ERR_OK)
        e = three_share_planes(p, &bits, values, N, 20, 6);
    if (e == ERR_OK)
        e = f->job(p, &x, &bits);
    if (e == ERR_OK) {
        OK(record_agree(p));
        read_numbers(&check_of(p)->numbers, f->off[p->index]);
        size_t count = read_bits(&check_of(p)->bits, f->next, f->off[p->index][RING_BITS]);
        if (p->index == 0)
            count_all(f, check_of(p), count);
    }
    check_bit_log_clear(&check_of(p)->bits);
    check_numbers_clear(&check_of(p)->numbers);
    return e;
}

static void run(struct found *f)
{
    for (unsigned k = 0; k < 3 * NUMBERS_RINGS; k++)
        assert_non_null(f->off[k % 3][k / 3] = memory_array(RELATIONS, sizeof(word128)));
    OK(three_run(7, sit, f, NULL));
}

static void forget(struct found *f)
{
    for (unsigned k = 0; k < 3 * NUMBERS_RINGS; k++)
        memory_free(&f->off[k % 3][k / 3]);
}

static struct found all_hold(enum err (*job)(struct party *p, const struct share64 *x,
                                             const struct planes *bits))
{
    struct found f = {.job = job};
    size_t all = 0;
    run(&f);
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++)
        for (size_t q = 0; q < f.count[ring]; q++, all++) {
            word128 sum = 0;
            for (unsigned s = 0; s < 3; s++)
                sum = ring == RING_BITS ? sum ^ f.off[s][ring][q] : sum + f.off[s][ring][q];
            sum = word_of((enum share_ring)ring, &sum, 0);
            if (sum != 0)
                fail_msg("ring %u, relation %zu of %zu is off by %llx", ring, q, f.count[ring],
                         (unsigned long long)sum);
        }
    assert_true(all > 0);
    forget(&f);
    return f;
}

/* --- protocols -------------------------------------------------------------------------------- */

static enum err bits_to_numbers(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 narrow;
    struct share128 wide;
    TRY(party_share64(p, &narrow, N));
    TRY(party_share128(p, &wide, N));
    TRY(convert_bit64(p, narrow, planes_plane(bits, 0)));
    TRY(convert_bit128(p, wide, planes_plane(bits, 1)));
    return convert_bit16(p, (struct share16){(uint16_t *)narrow.a, (uint16_t *)narrow.b, N},
                         planes_plane(bits, 1));
}

static enum err truncations(struct party *p, const struct share64 *x, const struct planes *bits)
{
    static const unsigned shift[] = {1, 7, 32, 33, 62};
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 narrow;
    struct share128 wide;
    TRY(party_share64(p, &narrow, N));
    TRY(party_share128(p, &wide, N));
    for (size_t k = 0; k < sizeof shift / sizeof *shift; k++)
        TRY(truncate_signed_ring64(p, narrow, *x, shift[k]));
    TRY(truncate_widen64(p, wide, *x));
    for (size_t k = 0; k < sizeof shift / sizeof *shift; k++)
        TRY(truncate_signed_ring128(p, wide, wide, 2 * shift[k]));
    return ERR_OK;
}

/* Sums of no lanes, of one, within parts and across them. */
static enum err choices(struct party *p, const struct share64 *x, const struct planes *bits)
{
    static const size_t start[] = {0, 0, 1, 5, 70, 190, 190, N, N};
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 sums;
    TRY(party_share64(p, &sums, sizeof start / sizeof *start - 1));
    return move_choose(p, sums, planes_plane(bits, 0), *x, start);
}

/* Noise of each kind whose circuit opens nothing. */
static enum err gaussians(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 out;
    TRY(party_share64(p, &out, 6));
    return gauss_sample(p, out);
}

static enum err gumbels(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 out;
    TRY(party_share64(p, &out, 3));
    return gumbel_sample(p, out);
}

/* Counts of 20 bits, distances, and the largest: all of a selection except its opening. */
static enum err scores(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    uint64_t c[N];
    const struct cached_span spans[] = {{0, 100, c}, {128, 72, c + 100}};
    struct share64 numbers, out;
    struct planes planes;
    struct cached *kept CLEAN(cached_free) = NULL;
    for (size_t i = 0; i < N; i++)
        c[i] = (i * 77777) % ((uint64_t)1 << 30);
    TRY(party_share64(p, &numbers, N));
    TRY(party_share64(p, &out, 2));
    TRY(party_planes(p, &planes, 20, N));
    TRY(convert_to_ring64(p, numbers, bits));
    TRY(convert_to_bits(p, &planes, *x));
    TRY(cached_new(p, &kept, numbers, &planes));
    TRY(cached_distance(p, out, kept, spans, 1 << CACHED_GRID));
    for (unsigned width = 1; width <= 64; width += 9)
        TRY(compare_top_bit(p, planes_plane(&planes, 0), *x, width));
    return ERR_OK;
}

static enum err top_bit(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return compare_top_bit(p, planes_plane(bits, 0), *x, 46);
}

/* Five digits of 6 bits and three of 5. None of the relations can be left out. */
TEST(a_top_bit_notes_what_its_digits_need)
{
    const size_t words = bits_words(N);
    const struct found f = all_hold(top_bit);
    const size_t carries = 1 + 45, values = 5 * (63 - 6) + 3 * (31 - 5), ands = 2 * 7 - 3;
    assert_int_equal(f.words[1], (carries + values + ands) * words);
    assert_int_equal(f.words[64], (5 + 4) * words);
    assert_int_equal(f.words[32], (3 + 3) * words);
}

TEST(bits_become_numbers)
{
    const struct found f = all_hold(bits_to_numbers);
    assert_int_equal(f.count[RING_16], 2 * N); /* T and the number */
    assert_int_equal(f.count[RING_64], 2 * N);
    assert_int_equal(f.count[RING_128], 2 * N);
}

TEST(numbers_are_truncated)
{
    const struct found f = all_hold(truncations);
    assert_int_equal(f.words[1], (5 * 64 + 64 + 5 * 128) * bits_words(N)); /* carries */
    assert_int_equal(f.count[RING_32], 3 * N);                             /* narrow T */
    assert_int_equal(f.count[RING_64], (2 + 5 + 1 + 3) * N);
    assert_int_equal(f.count[RING_128], (1 + 2 + 5) * N);
}

TEST(bits_choose_numbers)
{
    const struct found f = all_hold(choices);
    assert_int_equal(f.count[RING_64], 2 * N + 8 + 2); /* two sums are cut where parts meet */
}

TEST(noise_is_made)
{
    all_hold(gaussians);
    all_hold(gumbels);
}

TEST(scores_are_compared)
{
    all_hold(scores);
}

/* --- whatever a server makes of a digit ------------------------------------------------------- */

#define DIGITS 8 /* of 3 bits, and the top bit: y(1) .. y(7) of each, then the top bit's row */
#define WIDTH (3 * DIGITS + 1)
#define SUMS (2 * DIGITS - 1)   /* g of each, p of all but the lowest */
#define LANES ((size_t)8192)    /* so a list has full groups */
#define LIES ((size_t)16 * 128) /* lanes of server 0's part, in whole blocks of 8 words */

/* For a lane: which digit is altered, its value, and which of its y are altered. */
static unsigned digit_of(size_t lane)
{
    return lane / 1024 == 0 ? 0 : DIGITS - 1;
}

static unsigned value_of(size_t lane)
{
    return lane / 128 % 8;
}

static unsigned flips_of(size_t lane)
{
    return lane % 128;
}

/* Component k, so that server 0 knows a number all of whose digits are the lane's. */
static uint64_t component(unsigned k, size_t lane)
{
    uint64_t seed = lane + 1, all = 0;
    const uint64_t first = three_random(&seed), last = three_random(&seed);
    for (unsigned d = 0; d < DIGITS; d++)
        all |= (uint64_t)value_of(lane) << 3 * d;
    return k == 0 ? all - first : k == 1 ? first : last;
}

static enum err many_top_bits(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 all;
    struct bits out;
    TRY(party_share64(p, &all, LANES));
    TRY(party_bits(p, &out, LANES));
    for (size_t i = 0; i < LANES; i++) {
        all.a[i] = component(p->index, i);
        all.b[i] = component((p->index + 1) % 3, i);
    }
    return compare_top_bit(p, out, all, WIDTH);
}

/* Row and first lane of a word in a message of rows of 8 words, block after block. */
static size_t row_of(const struct hooks_sent *at, size_t k, size_t rows, size_t *lane)
{
    const size_t place = at->offset / sizeof(uint64_t) + k;
    *lane = 64 * (place / 8 / rows * 8 + place % 8);
    return place / 8 % rows;
}

static enum err alter_y(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    uint64_t *words = p;
    for (size_t k = 0, lane; at->exchange == 0 && at->message == 0 && k < n / sizeof *words; k++) {
        const size_t row = row_of(at, k, 7 * DIGITS + 1, &lane);
        for (size_t b = 0; lane < LIES && row / 7 == digit_of(lane) && b < 64; b++)
            words[k] ^= (uint64_t)(flips_of(lane + b) >> row % 7 & 1) << b;
    }
    return ERR_OK;
}

/* One sum of each lane, or none. */
static enum err alter_sum(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    const enum net_peer *to = self;
    uint64_t *words = p;
    const bool here = at->exchange == 0 && at->message == 1 && at->to == *to;
    for (size_t k = 0, lane; here && k < n / sizeof *words; k++) {
        const size_t row = row_of(at, k, SUMS, &lane);
        for (size_t b = 0; lane < LIES && b < 64; b++)
            words[k] ^= (uint64_t)(row == (lane + b) % (SUMS + 1)) << b;
    }
    return ERR_OK;
}

/* Whether a relation of bits, from one on, is off in a lane: each takes LANES of its list. */
static bool is_off(const struct found *f, size_t from, size_t lane)
{
    for (size_t at = from + lane / 64; at < f->count[RING_BITS]; at += LANES / 64) {
        const word128 sum = f->off[0][RING_BITS][at] ^ f->off[1][RING_BITS][at] ^
                            f->off[2][RING_BITS][at];
        if (sum >> lane % 64 & 1)
            return true;
    }
    return false;
}

/* Everything that a digit could be claimed to be: only for the right one is no relation off. */
TEST(no_other_digit_fits)
{
    const struct hooks_tamper cheat = {.alter = alter_y};
    struct found f = {.job = many_top_bits, .cheat = {&cheat}};
    run(&f);
    for (size_t lane = 0; lane < LANES; lane++)
        if (is_off(&f, 0, lane) != (lane < LIES && flips_of(lane) != 0))
            fail_msg("digit %u is %u, rows %x are altered: off %d", digit_of(lane), value_of(lane),
                     flips_of(lane), is_off(&f, 0, lane));
    forget(&f);
}

/* What the others make of it for server 0: sums of several products, with the honest one's z. */
TEST(no_other_carry_fits)
{
    enum net_peer to[3] = {[1] = NET_PREV, [2] = NET_NEXT};
    for (unsigned server = 1; server < 3; server++) {
        const struct hooks_tamper cheat = {.alter = alter_sum, .self = &to[server]};
        struct found f = {.job = many_top_bits, .next = server == 1};
        f.cheat[server] = &cheat;
        run(&f);
        assert_int_equal(f.words[1] % KERNEL_GROUP, 0);
        for (size_t lane = 0; lane < LANES; lane++)
            if (is_off(&f, f.words[1], lane) != (lane < LIES && lane % (SUMS + 1) < SUMS))
                fail_msg("server %u, sum %zu: off %d", server, lane % (SUMS + 1),
                         is_off(&f, f.words[1], lane));
        forget(&f);
    }
}
