#include "mpc/pair/own_noise.h"

#include <math.h>

typedef unsigned __int128 u128;

const struct own_sigma own_sigma_whole = {RANDOM_GAUSS_BITS, 1, RANDOM_GAUSS_BITS};
const struct own_sigma own_sigma_fifth = {RANDOM_GAUSS_BITS, 5, RANDOM_GAUSS_BITS - 2};

/* True with probability exp(-a / b), for a <= b: k has passed 1 .. k - 1 when it stops. */
static bool coin_up_to_one(struct random *r, uint64_t a, uint64_t b)
{
    uint64_t k = 1;
    while (random_below(r, b) < a && random_below(r, k) == 0)
        k++;
    return k % 2 == 1;
}

static bool coin_of_one(struct random *r)
{
    uint64_t k = 1;
    while (random_below(r, k) == 0)
        k++;
    return k % 2 == 1;
}

static bool coin(struct random *r, u128 a, uint64_t b)
{
    for (; a >= b; a -= b)
        if (!coin_of_one(r))
            return false;
    return coin_up_to_one(r, (uint64_t)a, b);
}

/* P(y) in proportion to exp(-y / t), t = 2^scale. A y of 2^31 t has a probability of e^-2^31. */
static uint64_t geometric(struct random *r, unsigned scale)
{
    const uint64_t t = UINT64_C(1) << scale;
    uint64_t y;
    do
        y = random_u64(r) & (t - 1);
    while (!coin_up_to_one(r, y, t));
    while (coin_of_one(r))
        y += t;
    return y;
}

/*
 * With sigma^2 = 4^grid / q^2: (y - sigma^2 / t)^2 / (2 sigma^2) is
 * (q^2 y - 4^grid / t)^2 / (2 q^2 4^grid).
 */
static uint64_t gauss(struct random *r, const struct own_sigma *sigma)
{
    const uint64_t square = (uint64_t)sigma->divisor * sigma->divisor;
    const unsigned grid = 2 * sigma->grid;
    for (;;) {
        const uint64_t y = geometric(r, sigma->scale);
        const bool negative = random_u64(r) >> 63;
        const u128 at = (u128)square * y, middle = (u128)1 << (grid - sigma->scale);
        const u128 off = at > middle ? at - middle : middle - at;
        if ((y != 0 || !negative) && coin(r, off * off, square << (grid + 1)))
            return negative ? 0 - y : y;
    }
}

void own_gauss(struct random *r, const struct own_sigma *sigma, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = gauss(r, sigma);
}

int64_t own_gumbel_of(uint64_t high, uint64_t low)
{
    const u128 u = (u128)high << 64 | low;
    const bool small = high >> 63 == 0;
    const double least = ((double)(small ? u : ~u) + 0.5) * 0x1p-128;
    const double v = small ? -log1p(-least) : -log(least);
    return llrint(-log(v) * (1 << RANDOM_GUMBEL_BITS));
}

void own_gumbel(struct random *r, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t high = random_u64(r);
        out[i] = (uint64_t)own_gumbel_of(high, random_u64(r));
    }
}
