/*
 * aim/model/legendre.h - Legendre polynomials on 0 to 1 with norm 1: each has a mean square of 1.
 */
#pragma once

#include <math.h>

/* The first n (at least 2) at u. */
static inline void legendre(double u, double *p, unsigned n)
{
    const double x = 2 * u - 1;
    p[0] = 1;
    p[1] = x;
    for (unsigned k = 2; k < n; k++)
        p[k] = ((2 * k - 1) * x * p[k - 1] - (k - 1) * p[k - 2]) / k;
    for (unsigned k = 0; k < n; k++)
        p[k] *= sqrt(2 * k + 1);
}
