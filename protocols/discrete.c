#include "protocols/discrete.h"

#include "mpc/convert.h"
#include "mpc/crew.h"
#include "mpc/open.h"
#include "mpc/ring.h"
#include "protocols/coin.h"
#include "protocols/exponential.h"

#include <math.h>

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

/* Candidates: their values, and whether each is accepted. */
struct candidates {
    struct planes digits, sign, square, keep;
    struct share64 value, squared, bit;
};

static enum err take_candidates(struct party *p, struct candidates *c, size_t n)
{
    TRY(party_planes(p, &c->digits, DISCRETE_DIGITS, n));
    TRY(party_planes(p, &c->sign, 1, n));
    TRY(party_planes(p, &c->square, DISCRETE_SQUARE_BITS, n));
    /* a plane for each bit of the square, then one against a second zero */
    TRY(party_planes(p, &c->keep, DISCRETE_SQUARE_BITS + 1, n));
    TRY(party_share64(p, &c->value, n));
    TRY(party_share64(p, &c->squared, n));
    return party_share64(p, &c->bit, n);
}

/* value = |Y|, square = the bits of (|Y| - s)^2, sign = a fair bit */
static enum err draw(struct party *p, struct candidates *c)
{
    struct bits sign = planes_flat(&c->sign);
    TRY(coin_flip(p, &c->digits, exponential_coin + LOWEST_DIGIT));
    TRY(party_random_bits(p, &sign));
    TRY(convert_to_ring64(p, c->value, &c->digits));
    ring64_copy(c->squared, c->value);
    ring64_add_public(p, c->squared, 0 - DEVIATION);
    TRY(ring64_multiply(p, c->squared, c->squared, c->squared));
    return convert_to_bits(p, &c->square, c->squared);
}

/* keep = for all bits of the square: not the bit, or its coin; and not (sign and |Y| = 0) */
static enum err judge(struct party *p, struct candidates *c, struct bits accept)
{
    struct planes coins = planes_view(&c->keep, 0, DISCRETE_SQUARE_BITS);
    struct bits fails = planes_flat(&coins), second_zero = planes_plane(&c->keep, coins.width);
    TRY(coin_flip(p, &coins, discrete_coin));
    bits_not(p, fails, fails);
    TRY(bits_and(p, fails, fails, planes_flat(&c->square)));
    bits_not(p, planes_flat(&c->digits), planes_flat(&c->digits));
    TRY(bits_and_all(p, second_zero, &c->digits));
    TRY(bits_and(p, second_zero, second_zero, planes_plane(&c->sign, 0)));
    bits_not(p, planes_flat(&c->keep), planes_flat(&c->keep));
    return bits_and_all(p, accept, &c->keep);
}

static enum err apply_signs(struct party *p, struct candidates *c)
{
    TRY(convert_bit64(p, c->bit, planes_plane(&c->sign, 0)));
    ring64_scale(c->bit, c->bit, (uint64_t)0 - 2);
    ring64_add_public(p, c->bit, 1);
    return ring64_multiply(p, c->value, c->value, c->bit);
}

/* Candidates that lanes draw side by side, in parts of whole words. */
struct drawing {
    struct share64 value;
    struct bits accept;
    size_t part;
};

static enum err draw_candidates(struct party *p, struct share64 value, struct bits accept)
{
    struct candidates c;
    TRY(take_candidates(p, &c, value.n));
    TRY(draw(p, &c));
    TRY(judge(p, &c, accept));
    TRY(apply_signs(p, &c));
    ring64_copy(value, c.value);
    return ERR_OK;
}

static enum err draw_part(void *self, struct party *lane, size_t part)
{
    const struct scratch_mark mark = scratch_mark(lane->scratch);
    const struct drawing *d = self;
    const size_t from = part * d->part, left = d->value.n - from,
                 n = left < d->part ? left : d->part;
    const struct bits accept = {d->accept.a + from / 64, d->accept.b + from / 64, n};
    return scratch_wiped(lane->scratch, mark,
                         draw_candidates(lane, share64_view(d->value, from, n), accept));
}

/* Appends the accepted ones of n candidates to out from *made on, until it is full. */
static enum err sample_some(struct party *p, struct share64 out, size_t *made, size_t n)
{
    struct drawing d = {.part = crew_tile(p, n, n, 64)};
    uint64_t *accepted = scratch_take(p->scratch, bits_words(n), sizeof *accepted);
    if (accepted == NULL)
        return ERR_NOMEM;
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
        /* 4/3 of what is missing, and some: most often enough */
        const size_t missing = out.n - made, n = (missing + missing / 3 + 127) / 64 * 64;
        const struct scratch_mark mark = scratch_mark(p->scratch);
        TRY(scratch_wiped(p->scratch, mark, sample_some(p, out, &made, n)));
    }
    return ERR_OK;
}

/* Bits of the square from here on have no coin: its probability is below 2^-92. */
#define SQUARE_COINS 47

double discrete_ratio(void)
{
    /* |Y| < s + 2^23.5 < 2^24: its digits from weight 2^4 s on are 0 */
    double one = exponential_ratio(3);
    for (int i = 0; i < SQUARE_COINS; i++)
        one -= log1p(-COIN_TAU / exp(-ldexp(1, i - 41)));
    return 2 * one * (1 + 0x1p-20);
}

double discrete_tail(void)
{
    const double t = 1 + sqrt(ldexp(1, SQUARE_COINS)) / (double)DEVIATION;
    return 2 * exp(-t * t / 2);
}

double discrete_tau(void)
{
    const double s = (double)DEVIATION, accepted = sqrt(M_PI / 2) * exp(-0.5) * s * -expm1(-1 / s);
    const double tail = exp(-ldexp(1, DISCRETE_DIGITS) / s);
    return ((DISCRETE_DIGITS + DISCRETE_SQUARE_BITS) * COIN_TAU + tail) * 2 / accepted;
}
