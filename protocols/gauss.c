#include "protocols/gauss.h"

#include "mpc/convert.h"
#include "mpc/elementary.h"
#include "mpc/ring.h"
#include "mpc/root.h"
#include "mpc/truncate.h"

#include <math.h>

enum err gauss_coins_new(struct party *p, struct gauss_coins *coins, size_t pairs)
{
    enum err e;
    *coins = (struct gauss_coins){0};
    e = planes_new(&coins->e, EXPONENTIAL_DIGITS, pairs);
    if (e == ERR_OK)
        e = planes_new(&coins->u, GAUSS_ANGLE_BITS, pairs);
    if (e == ERR_OK)
        e = planes_new(&coins->sign, 1, 2 * pairs);
    if (e == ERR_OK)
        e = exponential_sample(p, &coins->e);
    if (e == ERR_OK) {
        struct bits u = planes_flat(&coins->u), sign = planes_flat(&coins->sign);
        e = party_random_bits(p, &u);
        if (e == ERR_OK)
            e = party_random_bits(p, &sign);
    }
    if (e != ERR_OK)
        gauss_coins_free(coins);
    return e;
}

void gauss_coins_free(struct gauss_coins *coins)
{
    planes_free(&coins->e);
    planes_free(&coins->u);
    planes_free(&coins->sign);
}

/* sqrt(2E) at 45 fraction bits; plane k of 2E 2^90 is the digit of weight 2^(k - 91) of E */
static enum err radius(struct party *p, struct share128 r, const struct planes *digits)
{
    enum { WIDTH = GAUSS_RADIUS_BITS + 4 };
    const struct planes used = planes_view(digits, 1, EXPONENTIAL_DIGITS - 1);
    struct planes radicand = {0}, root = {0};
    enum err e = planes_new(&radicand, 2 * WIDTH, r.n);
    if (e == ERR_OK)
        e = planes_new(&root, WIDTH, r.n);
    if (e == ERR_OK) {
        const struct planes low = planes_view(&radicand, 0, EXPONENTIAL_DIGITS - 1);
        bits_copy(planes_flat(&low), planes_flat(&used));
        e = root_floor(p, &root, &radicand);
    }
    if (e == ERR_OK)
        e = convert_to_ring128(p, r, &root);
    planes_free(&radicand);
    planes_free(&root);
    return e;
}

static struct share128 half(struct share128 x, unsigned which)
{
    size_t n = x.n / 2;
    return share128_view(x, which * n, n);
}

/* cos in the first half of the lanes, sin in the second, at 52 fraction bits */
static enum err circle(struct party *p, struct share128 out, const struct planes *angle)
{
    struct share128 u = {0};
    enum err e = share128_new(&u, out.n / 2);
    if (e == ERR_OK)
        e = convert_to_ring128(p, u, angle);
    if (e == ERR_OK)
        e = elementary_circle(p, half(out, 0), half(out, 1), u);
    share128_free(&u);
    return e;
}

/* z = z (1 - 2 b) */
static enum err apply_signs(struct party *p, struct share128 z, struct bits sign)
{
    struct share128 b = {0};
    enum err e = share128_new(&b, z.n);
    if (e == ERR_OK)
        e = convert_bit128(p, b, sign);
    if (e == ERR_OK) {
        ring128_scale(b, b, (word128)0 - 2);
        ring128_add_public(p, b, 1);
        e = ring128_multiply(p, z, z, b);
    }
    share128_free(&b);
    return e;
}

enum err gauss_evaluate(struct party *p, struct share128 out, const struct gauss_coins *coins)
{
    struct share128 r = {0};
    enum err e = share128_new(&r, out.n);
    if (e == ERR_OK)
        e = radius(p, half(r, 0), &coins->e);
    if (e == ERR_OK) {
        ring128_copy(half(r, 1), half(r, 0));
        e = circle(p, out, &coins->u);
    }
    if (e == ERR_OK)
        e = ring128_multiply(p, out, out, r);
    if (e == ERR_OK)
        e = apply_signs(p, out, planes_plane(&coins->sign, 0));
    share128_free(&r);
    return e;
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

enum err gauss_sample(struct party *p, struct share64 out)
{
    struct gauss_coins coins = {0};
    struct share128 z = {0};
    struct share64 halves = {0};
    enum err e = out.n % 2 != 0 ? ERR_RANGE : share128_new(&z, out.n);
    if (e == ERR_OK)
        e = share64_new(&halves, out.n);
    if (e == ERR_OK)
        e = gauss_coins_new(p, &coins, out.n / 2);
    if (e == ERR_OK)
        e = gauss_evaluate(p, z, &coins);
    if (e == ERR_OK)
        e = gauss_round(p, halves, z);
    if (e == ERR_OK)
        interleave(out, halves);
    gauss_coins_free(&coins);
    share128_free(&z);
    share64_free(&halves);
    return e;
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
