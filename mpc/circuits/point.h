/*
 * mpc/circuits/point.h - points of the unit circle, at angles that a server knows.
 *
 * The circle has 2^64 arcs; coordinates have 60 fraction bits. Only integers, no tables: no branch
 * and no index depends on an angle, though whoever calls this knows it.
 *
 *   turn    = a quarter q and y in [-2^61, 2^61) of it; t = |y + 1/2| / 2^61, below 1
 *   cos, sin of t pi / 4 by nine terms of their series each, at 64 fraction bits; then q says which
 *   of the two is x, which is y, and their signs
 */
#pragma once

#include <stdint.h>

#define POINT_BITS 60
#define POINT_TERMS 9

struct point {
    int64_t x, y;
};

/*
 * The middle of an arc: (cos, sin)(2 pi (turn + 1/2) / 2^64). Either coordinate is off by less than
 * POINT_ERROR: in units of 2^-64, 0.5 (last coefficient) + 8 * 1.5 (others; floors) + 0.34 (the
 * floor of t^2) + 1 (the floor of the product with t) + 1.6 (the series ends), and 8 for rounding.
 */
#define POINT_ERROR (1.5 * 0x1p-60)
struct point point_at(uint64_t turn);

/* x turned by y, their product as complex numbers: the floors of its coordinates. */
struct point point_turned(struct point x, struct point y);

/* round(2^64 (pi/4)^k / k!) for k = 2, 4 .. 18, and for k = 1, 3 .. 17. */
extern const uint64_t point_cosine[POINT_TERMS], point_sine[POINT_TERMS];
