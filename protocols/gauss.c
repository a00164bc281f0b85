#include "protocols/gauss.h"

#include "mpc/convert.h"
#include "mpc/elementary.h"
#include "mpc/ring.h"
#include "mpc/root.h"
#include "mpc/truncate.h"

#include <math.h>

enum err gauss_draw(struct party *p, struct gauss_coins *coins, size_t pairs)
{
    struct bits u, sign;
    TRY(party_planes(p, &coins->e, EXPONENTIAL_DIGITS, pairs));
    TRY(party_planes(p, &coins->u, GAUSS_ANGLE_BITS, pairs));
    TRY(party_planes(p, &coins->sign, 1, 2 * pairs));
    u = planes_flat(&coins->u);
    sign = planes_flat(&coins->sign);
    TRY(exponential_sample(p, &coins->e));
    TRY(party_random_bits(p, &u));
    return party_random_bits(p, &sign);
}

/* sqrt(2E) at 45 fraction bits; plane k of 2E 2^90 is the digit of weight 2^(k - 91) of E */
static enum err radius(struct party *p, struct share128 r, const struct planes *digits)
{
    enum { WIDTH = GAUSS_RADIUS_BITS + 4, USED = EXPONENTIAL_DIGITS - 1 };
    const struct planes used = planes_view(digits, 1, USED);
    struct planes radicand, root, low, high;
    TRY(party_planes(p, &radicand, 2 * WIDTH, r.n));
    TRY(party_planes(p, &root, WIDTH, r.n));
    low = planes_view(&radicand, 0, USED);
    high = planes_view(&radicand, USED, 2 * WIDTH - USED);
    bits_copy(planes_flat(&low), planes_flat(&used));
    bits_zero(planes_flat(&high));
    TRY(root_floor(p, &root, &radicand));
    return convert_to_ring128(p, r, &root);
}

static struct share128 half(struct share128 x, unsigned which)
{
    size_t n = x.n / 2;
    return share128_view(x, which * n, n);
}

/* cos in the first half of the lanes, sin in the second, at 52 fraction bits */
static enum err circle(struct party *p, struct share128 out, const struct planes *angle)
{
    struct share128 u;
    TRY(party_share128(p, &u, out.n / 2));
    TRY(convert_to_ring128(p, u, angle));
    return elementary_circle(p, half(out, 0), half(out, 1), u);
}

/* z = z (1 - 2 b) */
static enum err apply_signs(struct party *p, struct share128 z, struct bits sign)
{
    struct share128 b;
    TRY(party_share128(p, &b, z.n));
    TRY(convert_bit128(p, b, sign));
    ring128_scale(b, b, (word128)0 - 2);
    ring128_add_public(p, b, 1);
    return ring128_multiply(p, z, z, b);
}

static enum err evaluate(struct party *p, struct share128 out, const struct gauss_coins *coins)
{
    struct share128 r;
    struct scratch_mark mark;
    TRY(party_share128(p, &r, out.n));
    mark = scratch_mark(p->scratch);
    TRY(scratch_wiped(p->scratch, mark, radius(p, half(r, 0), &coins->e)));
    ring128_copy(half(r, 1), half(r, 0));
    TRY(scratch_wiped(p->scratch, mark, circle(p, out, &coins->u)));
    TRY(ring128_multiply(p, out, out, r));
    return apply_signs(p, out, planes_plane(&coins->sign, 0));
}

enum err gauss_evaluate(struct party *p, struct share128 out, const struct gauss_coins *coins)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_wiped(p->scratch, mark, evaluate(p, out, coins));
}

enum err gauss_round(struct party *p, struct share64 out, struct share128 z)
{
    TRY(truncate_signed_ring128(p, z, z, GAUSS_PRODUCT_BITS - GAUSS_BITS));
    ring64_from128(out, z);
    return ERR_OK;
}

/* Brings partners side by side. */
static void interleave(struct share64 out, struct share64 halves)
{
    size_t pairs = out.n / 2;
    for (size_t i = 0; i < pairs; i++)
        for (size_t k = 0; k < 2; k++) {
            out.a[2 * i + k] = halves.a[k * pairs + i];
            out.b[2 * i + k] = halves.b[k * pairs + i];
        }
}

static enum err sample(struct party *p, struct share64 out)
{
    struct gauss_coins coins;
    struct share128 z;
    struct share64 halves;
    TRY(party_share128(p, &z, out.n));
    TRY(party_share64(p, &halves, out.n));
    TRY(gauss_draw(p, &coins, out.n / 2));
    TRY(gauss_evaluate(p, z, &coins));
    TRY(gauss_round(p, halves, z));
    interleave(out, halves);
    return ERR_OK;
}

enum err gauss_sample(struct party *p, struct share64 out)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    if (out.n % 2 != 0)
        return ERR_RANGE;
    return scratch_wiped(p->scratch, mark, sample(p, out));
}

double gauss_error(void)
{
    const double left_out = sqrt(2 * ldexp(1, 1 - EXPONENTIAL_LOWEST)); /* radius() drops a digit */
    const double radius = ldexp(1, -GAUSS_RADIUS_BITS) + left_out;
    const double circle = ELEMENTARY_CIRCLE_ERROR + M_PI / 2 * ldexp(1, -GAUSS_ANGLE_BITS);
    const double longest = sqrt(2 * ldexp(1, EXPONENTIAL_TOP + 1));
    return radius * (1 + circle) + longest * circle;
}

double gauss_epsilon(void)
{
    const double lattice = ldexp(1, -GAUSS_BITS);
    const double d = 2 * (2 * gauss_error()) / lattice * exp(12 * lattice);
    return 2 * (log1p(d) - log1p(-d)) * (1 + 0x1p-10); /* for rounding in what adds it up */
}
