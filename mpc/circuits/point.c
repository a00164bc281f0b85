#include "mpc/circuits/point.h"

#include "mpc/kernel/share.h"

const uint64_t point_cosine[POINT_TERMS] = {
    0x4ef4f326f9177969, 0x040f07c206d6b0ed, 0x00155d3c7e3cbffa,
    0x00003c3ea0d12375, 0x00000069b47ca881, 0x000000007e74e28e,
    0x00000000006db894, 0x0000000000004832, 0x0000000000000025};

const uint64_t point_sine[POINT_TERMS] = {
    0xc90fdaa22168c235, 0x14abbce625be52bf, 0x00a335e33bad570f,
    0x000265a599cc57b1, 0x00000541e0d21fba, 0x000000078c1d3f7a,
    0x0000000007a3d0d3, 0x000000000005beb7, 0x0000000000000356};

/* floor(x y), of fractions of 2^64 */
static uint64_t product(uint64_t x, uint64_t y)
{
    return (uint64_t)((word128)x * y >> 64);
}

/* c_0 - w (c_1 - w (c_2 - ..)): no step is below 0 */
static uint64_t series(const uint64_t *c, uint64_t w)
{
    uint64_t sum = c[POINT_TERMS - 1];
    for (unsigned k = POINT_TERMS - 1; k-- > 0;)
        sum = c[k] - product(w, sum);
    return sum;
}

/* 64 fraction bits to 60, to nearest */
static uint64_t rounded(uint64_t x)
{
    return (x >> 4) + (x >> 3 & 1);
}

/* -x where `mask` has only ones, x where it has none */
static uint64_t negated(uint64_t x, uint64_t mask)
{
    return (x ^ mask) - mask;
}

struct point point_at(uint64_t turn)
{
    const uint64_t eighth = (uint64_t)1 << 61, from_eighth = turn + eighth;
    const uint64_t quarter = from_eighth >> 62, y = (from_eighth & UINT64_MAX >> 2) - eighth;
    const uint64_t below = 0 - (y >> 63); /* the angle is below the middle of its quarter */
    const uint64_t t = (2 * (y ^ below) + 1) << 2, w = product(t, t);
    const uint64_t cosine = ((uint64_t)1 << POINT_BITS) -
                            rounded(product(w, series(point_cosine, w)));
    const uint64_t sine = negated(rounded(product(t, series(point_sine, w))), below);
    const uint64_t exchanged = (cosine ^ sine) & (0 - (quarter & 1));
    const uint64_t left = (quarter ^ quarter >> 1) & 1, down = quarter >> 1;
    return (struct point){(int64_t)negated(cosine ^ exchanged, 0 - left),
                          (int64_t)negated(sine ^ exchanged, 0 - down)};
}

/* floor(x / 2^60), |x| < 2^123: two's complement */
static int64_t shifted(word128 x)
{
    return (int64_t)(uint64_t)(x >> POINT_BITS);
}

struct point point_turned(struct point x, struct point y)
{
    const word128 xx = (word128)((__int128)x.x * y.x), yy = (word128)((__int128)x.y * y.y);
    const word128 xy = (word128)((__int128)x.x * y.y), yx = (word128)((__int128)x.y * y.x);
    return (struct point){shifted(xx - yy), shifted(xy + yx)};
}
