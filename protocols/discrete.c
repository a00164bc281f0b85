#include "protocols/discrete.h"

#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/move/open.h"
#include "protocols/coin.h"
#include "protocols/exponential.h"

#include <math.h>
#include <string.h>

#define DEVIATION ((uint64_t)1 << 20)
#define LOWEST_DIGIT 42 /* of weight 2^-20 among the coins of an exponential variable */

const uint64_t discrete_coin[DISCRETE_SQUARE_BITS] = {
    0xffffffffff800000, 0xffffffffff000000, 0xfffffffffe000000, 0xfffffffffc000000,
    0xfffffffff8000000, 0xfffffffff0000000, 0xffffffffe0000000, 0xffffffffc0000000,
    0xffffffff80000000, 0xffffffff00000000, 0xfffffffe00000002, 0xfffffffc00000008,
    0xfffffff800000020, 0xfffffff000000080, 0xffffffe000000200, 0xffffffc000000800,
    0xffffff8000002000, 0xffffff0000008000, 0xfffffe0000020000, 0xfffffc0000080000,
    0xfffff80000200000, 0xfffff000007ffffd, 0xffffe00001ffffeb, 0xffffc00007ffff55,
    0xffff80001ffffaab, 0xffff00007fffd555, 0xfffe0001fffeaaab, 0xfffc0007fff55560,
    0xfff8001fffaaab55, 0xfff0007ffd556000, 0xffe001ffeaab5551, 0xffc007ff555fff77,
    0xff801ffaab554446, 0xff007fd55ffdde39, 0xfe01feab551127cc, 0xfc07f55ff77d2494,
    0xf81fab5445aebc8a, 0xf07d5fde38151e73, 0xe1eb51276c110c3c, 0xc75f7cf564105743,
    0x9b4597e37cb04ff4, 0x5e2d58d8b3bcdf1b, 0x22a555477f039740, 0x04b0556e084f3d1e,
    0x0015fc21041027ad, 0x000001e355bbaee8, 0x000000000003908d, 0x0000000000000000,
    0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000,
};

/* Candidates: their values, and what judges them. */
struct candidates {
    struct planes coins, digits, square; /* coins: of digits, then of the square */
    struct bits sign;
    struct share64 value, squared;
};

static enum err take_candidates(struct party *p, struct candidates *c, size_t n)
{
    TRY(party_planes(p, &c->coins, DISCRETE_DIGITS + DISCRETE_SQUARE_COINS, n));
    TRY(party_planes(p, &c->square, DISCRETE_SQUARE_BITS, n));
    TRY(party_bits(p, &c->sign, n));
    TRY(party_share64(p, &c->value, n));
    TRY(party_share64(p, &c->squared, n));
    c->digits = planes_view(&c->coins, 0, DISCRETE_DIGITS);
    return ERR_OK;
}

/* value = |Y|, square = the bits of (|Y| - s)^2, sign = a fair bit; and the coins of the square */
static enum err draw(struct party *p, struct candidates *c)
{
    uint64_t coins[DISCRETE_DIGITS + DISCRETE_SQUARE_COINS];
    memcpy(coins, exponential_coin + LOWEST_DIGIT, DISCRETE_DIGITS * sizeof *coins);
    memcpy(coins + DISCRETE_DIGITS, discrete_coin, DISCRETE_SQUARE_COINS * sizeof *coins);
    TRY(coin_flip(p, &c->coins, coins));
    TRY(party_random_bits(p, &c->sign));
    TRY(convert_to_ring64(p, c->value, &c->digits));
    ring64_copy(c->squared, c->value);
    ring64_add_public(p, c->squared, 0 - DEVIATION);
    TRY(ring64_multiply(p, c->squared, c->squared, c->squared));
    return convert_to_bits(p, &c->square, c->squared);
}

/* --- whether a candidate is accepted ---------------------------------------------------------- */

/* The products of neighbours among `count` planes, one layer of a tree; they then come first. */
static size_t pair_up(struct move_term *terms, const struct planes *x, unsigned count)
{
    for (unsigned i = 0; i < count / 2; i++)
        terms[i] = bits_product(planes_plane(x, i), planes_plane(x, 2 * i),
                                planes_plane(x, 2 * i + 1));
    return count / 2;
}

static unsigned paired(const struct planes *x, unsigned count)
{
    if (count % 2 != 0)
        bits_copy(planes_plane(x, count / 2), planes_plane(x, count - 1));
    return (count + 1) / 2;
}

#define TOPS (DISCRETE_SQUARE_BITS - DISCRETE_SQUARE_COINS) /* bits of the square without a coin */
#define ZEROS (TOPS + DISCRETE_DIGITS + 1)

/*
 * Two trees in the exchanges of one. `keep` holds whether the coin of each bit of the square lets
 * it pass; `zero` holds the complements of the bits without a coin and of the digits, and the sign.
 * So the first four of zero, T, have met in node 0 after two layers, and all of it, T and a second
 * zero, after five. Their difference joins `keep`: T, and no second zero.
 */
static enum err climb(struct party *p, struct planes *keep, struct planes *zero,
                      const struct planes *square)
{
    struct move_term terms[DISCRETE_SQUARE_COINS + ZEROS / 2];
    struct bits tops;
    unsigned kept = DISCRETE_SQUARE_COINS, zeros = ZEROS;
    TRY(party_bits(p, &tops, square->n));
    for (unsigned layer = 0; layer == 0 || kept > 1; layer++) {
        size_t count = 0;
        if (layer > 0)
            count = pair_up(terms, keep, kept);
        for (; layer == 0 && count < kept; count++)
            terms[count] = bits_product(planes_plane(keep, (unsigned)count),
                                        planes_plane(keep, (unsigned)count),
                                        planes_plane(square, (unsigned)count));
        count += pair_up(terms + count, zero, zeros);
        TRY(bits_and_layer(p, terms, count));
        if (layer > 0)
            kept = paired(keep, kept);
        else /* it fails where the bit is set and its coin is not */
            bits_not(p, planes_flat(keep), planes_flat(keep));
        zeros = paired(zero, zeros);
        if (layer == 1)
            bits_copy(tops, planes_plane(zero, 0));
        if (layer == 4)
            bits_xor(planes_plane(keep, kept++), tops, planes_plane(zero, 0));
    }
    return ERR_OK;
}

enum err discrete_judge(struct party *p, struct bits accept, const struct planes *coins,
                        const struct planes *digits, struct bits sign, const struct planes *square)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const struct planes tops = planes_view(square, DISCRETE_SQUARE_COINS, TOPS);
    struct planes keep, zero, complements;
    TRY(party_planes(p, &keep, DISCRETE_SQUARE_COINS, accept.n));
    TRY(party_planes(p, &zero, ZEROS, accept.n));
    bits_not(p, planes_flat(&keep), planes_flat(coins));
    complements = planes_view(&zero, 0, TOPS);
    bits_not(p, planes_flat(&complements), planes_flat(&tops));
    complements = planes_view(&zero, TOPS, DISCRETE_DIGITS);
    bits_not(p, planes_flat(&complements), planes_flat(digits));
    bits_copy(planes_plane(&zero, ZEROS - 1), sign);
    TRY(climb(p, &keep, &zero, square));
    bits_copy(accept, planes_plane(&keep, 0));
    return ERR_OK;
}

/* out = (1 - 2 sign) value */
static enum err apply_signs(struct party *p, struct share64 out, struct share64 value,
                            struct bits sign)
{
    size_t *start;
    TRY(scratch_array(p->scratch, &start, out.n + 1));
    for (size_t i = 0; i <= out.n; i++)
        start[i] = i;
    TRY(move_choose(p, out, sign, value, start));
    ring64_scale(out, out, (uint64_t)0 - 2);
    ring64_add(out, out, value);
    return ERR_OK;
}

/* --- candidates until there are enough -------------------------------------------------------- */

/* Candidates that lanes draw side by side, in parts of whole words. */
struct discrete_drawing {
    struct share64 value;
    struct bits accept;
    size_t part;
};

static enum err draw_part(void *self, struct party *lane, size_t part)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(lane->scratch);
    const struct discrete_drawing *d = self;
    const size_t from = part * d->part, left = d->value.n - from,
                 n = left < d->part ? left : d->part;
    const struct bits accept = {d->accept.a + from / 64, d->accept.b + from / 64, n};
    struct candidates c;
    TRY(take_candidates(lane, &c, n));
    TRY(draw(lane, &c));
    const struct planes coins = planes_view(&c.coins, DISCRETE_DIGITS, DISCRETE_SQUARE_COINS);
    TRY(discrete_judge(lane, accept, &coins, &c.digits, c.sign, &c.square));
    return apply_signs(lane, share64_view(d->value, from, n), c.value, c.sign);
}

/* Appends the accepted ones of n candidates to out from *made on, until it is full. */
static enum err sample_some(struct party *p, struct share64 out, size_t *made, size_t n)
{
    struct discrete_drawing d = {.part = crew_tile(p, n, n, 64)};
    uint64_t *accepted;
    TRY(scratch_array(p->scratch, &accepted, bits_words(n)));
    TRY(party_share64(p, &d.value, n));
    TRY(party_bits(p, &d.accept, n));
    TRY(crew_run(p, (n + d.part - 1) / d.part, draw_part, &d));
    TRY(open_bits(p, OPEN_REJECT_BIT, d.accept, accepted));
    for (size_t i = 0; i < n && *made < out.n; i++)
        if (accepted[i / 64] >> (i % 64) & 1) {
            ring64_copy(share64_view(out, *made, 1), share64_view(d.value, i, 1));
            ++*made;
        }
    return ERR_OK;
}

enum err discrete_sample(struct party *p, struct share64 out)
{
    size_t made = 0;
    while (made < out.n) {
        /* 4/3 of what is missing and a few more: usually enough */
        const size_t missing = out.n - made, n = (missing + missing / 3 + 127) / 64 * 64;
        const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
        TRY(sample_some(p, out, &made, n));
    }
    return ERR_OK;
}

/* From this bit of the square on nothing passes: the probability is below 2^-92. */
#define BITS_THAT_PASS 47

double discrete_ratio(void)
{
    /* |Y| < s + 2^23.5 < 2^24: its digits from weight 2^4 s on are 0 */
    double one = exponential_ratio(3);
    for (int i = 0; i < BITS_THAT_PASS; i++)
        one -= log1p(-COIN_TAU / exp(-ldexp(1, i - 41)));
    return 2 * one * (1 + 0x1p-20);
}

double discrete_tail(void)
{
    const double t = 1 + sqrt(ldexp(1, BITS_THAT_PASS)) / (double)DEVIATION;
    return 2 * exp(-t * t / 2);
}

double discrete_tau(void)
{
    const double s = (double)DEVIATION, accepted = sqrt(M_PI / 2) * exp(-0.5) * s * -expm1(-1 / s);
    const double tail = exp(-ldexp(1, DISCRETE_DIGITS) / s);
    return ((DISCRETE_DIGITS + DISCRETE_SQUARE_BITS) * COIN_TAU + tail) * 2 / accepted;
}
