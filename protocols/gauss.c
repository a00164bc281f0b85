#include "protocols/gauss.h"

#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/leading.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"

#include <math.h>

#define SEGMENT_BITS 3
#define REST_BITS (GAUSS_FRACTION_BITS - SEGMENT_BITS)
#define SCALE_PLANES 62 /* scales are at most 2^3, at 58 fraction bits */

/* round(2^60 sqrt(2)) */
const uint64_t gauss_root_of_two = 0x16a09e667f3bcc91;

enum err gauss_draw(struct party *p, struct gauss_coins *coins, size_t pairs)
{
    TRY(party_planes(p, &coins->e, EXPONENTIAL_DIGITS, pairs));
    TRY(party_share64(p, &coins->u, pairs));
    TRY(exponential_sample(p, &coins->e));
    return party_random64(p, &coins->u);
}

/* --- the radius ------------------------------------------------------------------------------- */

/* 2^(e/2) at GAUSS_RADIUS_BITS, where E's leading digit is plane i's, so e = i - 91; 0 for none. */
static uint64_t scale_of(unsigned i)
{
    const unsigned twice = i + 1 + 2 * GAUSS_RADIUS_BITS - EXPONENTIAL_LOWEST;
    if (i == EXPONENTIAL_DIGITS)
        return 0;
    return twice % 2 == 0 ? (uint64_t)1 << twice / 2 : gauss_root_of_two >> (60 - twice / 2);
}

/* 2 E = 2^e (1 + f): the planes of f, cut, and of the scale 2^(e/2). */
static enum err take_apart(struct party *p, struct planes *f, struct planes *scale,
                           const struct planes *e)
{
    uint64_t scales[EXPONENTIAL_DIGITS + 1];
    struct planes place;
    TRY(party_planes(p, &place, EXPONENTIAL_DIGITS + 1, e->n));
    TRY(leading_places(p, &place, e));
    for (unsigned i = 0; i <= EXPONENTIAL_DIGITS; i++)
        scales[i] = scale_of(i);
    leading_choose(scale, &place, scales);
    return leading_digits(p, f, &place, e);
}

/* f's rest below the segment, and the scale, as numbers of Z_2^128: rest in half[0]. */
static enum err to_ring(struct party *p, struct share128 half[2], const struct planes *rest,
                        const struct planes *scale)
{
    const size_t n = rest->n, lanes = 64 * bits_words(n);
    struct share64 narrow;
    struct share128 wide;
    TRY(party_share64(p, &narrow, 2 * lanes));
    TRY(party_share128(p, &wide, 2 * lanes));
    TRY(convert_two_to_ring64(p, narrow, rest, scale));
    TRY(truncate_widen64(p, wide, narrow));
    half[0] = share128_view(wide, 0, n);
    half[1] = share128_view(wide, lanes, n);
    return ERR_OK;
}

/* sqrt(2E), not truncated: at GAUSS_RADIUS_BITS + ELEMENTARY_ROOT_BITS */
static enum err radius(struct party *p, struct share128 r, const struct planes *e)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct planes f, scale, rest, segment;
    struct share128 half[2];
    TRY(party_planes(p, &f, GAUSS_FRACTION_BITS, r.n));
    TRY(party_planes(p, &scale, SCALE_PLANES, r.n));
    TRY(take_apart(p, &f, &scale, e));
    rest = planes_view(&f, 0, REST_BITS);
    segment = planes_view(&f, REST_BITS, SEGMENT_BITS);
    TRY(to_ring(p, half, &rest, &scale));
    /* the middle of what is cut off, from the middle of the segment */
    ring128_scale(half[0], half[0], (word128)1 << (ELEMENTARY_ROOT_BITS - GAUSS_FRACTION_BITS));
    ring128_add_public(p, half[0],
                       ((word128)1 << (ELEMENTARY_ROOT_BITS - GAUSS_FRACTION_BITS - 1)) -
                           ((word128)1 << (ELEMENTARY_ROOT_BITS - SEGMENT_BITS - 1)));
    TRY(elementary_root(p, r, half[0], &segment));
    return ring128_multiply(p, r, r, half[1]);
}

/* --- a pair ----------------------------------------------------------------------------------- */

/* The radius, cosine and sine are truncated together. */
enum err gauss_evaluate(struct party *p, struct share128 out, const struct gauss_coins *coins)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const size_t n = out.n / 2;
    struct share128 all, r, circle, both;
    TRY(party_share128(p, &all, 4 * n));
    both = share128_view(all, 0, 2 * n); /* the radius, twice in the end */
    r = share128_view(all, n, n);
    circle = share128_view(all, 2 * n, 2 * n);
    TRY(radius(p, r, &coins->e));
    TRY(elementary_circle(p, share128_view(circle, 0, n), share128_view(circle, n, n), coins->u));
    TRY(truncate_signed_ring128(p, share128_view(all, n, 3 * n), share128_view(all, n, 3 * n),
                                ELEMENTARY_ROOT_BITS));
    ring128_copy(share128_view(both, 0, n), r);
    return ring128_multiply(p, out, circle, both);
}

enum err gauss_round(struct party *p, struct share64 out, struct share128 z)
{
    TRY(truncate_signed_ring128(p, z, z, GAUSS_PRODUCT_BITS - GAUSS_BITS));
    ring64_from128(out, z);
    return ERR_OK;
}

/* Puts partners side by side. */
static void interleave(struct share64 out, struct share64 halves)
{
    size_t pairs = out.n / 2;
    for (size_t i = 0; i < pairs; i++)
        for (size_t k = 0; k < 2; k++) {
            out.a[2 * i + k] = halves.a[k * pairs + i];
            out.b[2 * i + k] = halves.b[k * pairs + i];
        }
}

enum err gauss_sample(struct party *p, struct share64 out)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct gauss_coins coins;
    struct share128 z;
    struct share64 halves;
    if (out.n % 2 != 0)
        return ERR_RANGE;
    TRY(party_share128(p, &z, out.n));
    TRY(party_share64(p, &halves, out.n));
    TRY(gauss_draw(p, &coins, out.n / 2));
    TRY(gauss_evaluate(p, z, &coins));
    TRY(gauss_round(p, halves, z));
    interleave(out, halves);
    return ERR_OK;
}

/* --- its error -------------------------------------------------------------------------------- */

double gauss_error(void)
{
    const double longest = sqrt(2 * ldexp(1, EXPONENTIAL_TOP + 1));
    const double largest_scale = ldexp(1, (EXPONENTIAL_TOP + 1) / 2);
    /* the slope of sqrt(1 + f) is at most 1/2; half a unit of what is cut off f */
    const double cut = ldexp(1, -GAUSS_FRACTION_BITS - 1) / 2;
    /* scales and the radius are floors, the radius is off by one unit at most */
    const double scale = sqrt(2) * ldexp(1.01, -GAUSS_RADIUS_BITS);
    const double radius = sqrt(2 * ldexp(1, -EXPONENTIAL_LOWEST)) +
                          largest_scale * (ELEMENTARY_ROOT_ERROR + cut) + scale +
                          ldexp(1, -GAUSS_RADIUS_BITS);
    /* before its truncation; one unit; and half an arc */
    const double circle = ELEMENTARY_CIRCLE_ERROR + ldexp(1, -ELEMENTARY_ROOT_BITS) +
                          M_PI * 0x1p-64;
    return radius * (1 + circle) + longest * circle;
}

double gauss_epsilon(void)
{
    const double lattice = ldexp(1, -GAUSS_BITS);
    const double d = 2 * (2 * gauss_error()) / lattice * exp(12 * lattice);
    return 2 * (log1p(d) - log1p(-d)) * (1 + 0x1p-10); /* for rounding in what adds it up */
}
