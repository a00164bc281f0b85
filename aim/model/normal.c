/* The quantile is algorithm AS 241 (Wichura 1988), PPND16. */
#include "aim/model/normal.h"

#include <math.h>

double normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

double normal_below(double x)
{
    return 0.5 * erfc(-x / M_SQRT2);
}

/* The ratio of two polynomials of degree 7; both have their highest coefficient first. */
static double ratio(const double above[8], const double below[8], double r)
{
    double a = above[0], b = below[0];
    for (int k = 1; k < 8; k++) {
        a = a * r + above[k];
        b = b * r + below[k];
    }
    return a / b;
}

static double middle(double q)
{
    static const double above[] = {2.5090809287301226727e3, 3.3430575583588128105e4,
                                   6.7265770927008700853e4, 4.5921953931549871457e4,
                                   1.3731693765509461125e4, 1.9715909503065514427e3,
                                   1.3314166789178437745e2, 3.3871328727963666080e0};
    static const double below[] = {5.2264952788528545610e3, 2.8729085735721942674e4,
                                   3.9307895800092710610e4, 2.1213794301586595867e4,
                                   5.3941960214247511077e3, 6.8718700749205790830e2,
                                   4.2313330701600911252e1, 1};
    return q * ratio(above, below, 0.180625 - q * q);
}

/* A function of r = sqrt(-ln of the smaller tail). */
static double tail(double r)
{
    static const double near_above[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                        2.41780725177450611770e-1, 1.27045825245236838258e0,
                                        3.64784832476320460504e0,  5.76949722146069140550e0,
                                        4.63033784615654529590e0,  1.42343711074968357734e0};
    static const double near_below[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                        1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                        6.89767334985100004550e-1, 1.67638483018380384940e0,
                                        2.05319162663775882187e0,  1};
    static const double far_above[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                       1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                       2.96560571828504891230e-1, 1.78482653991729133580e0,
                                       5.46378491116411436990e0,  6.65790464350110377720e0};
    static const double far_below[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                       1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                       1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                       5.99832206555887937690e-1,  1};
    return r <= 5 ? ratio(near_above, near_below, r - 1.6) : ratio(far_above, far_below, r - 5);
}

double normal_quantile(double p)
{
    const double q = p - 0.5;
    if (!(p > 0))
        return -INFINITY;
    if (!(p < 1))
        return INFINITY;
    if (fabs(q) <= 0.425)
        return middle(q);
    return copysign(tail(sqrt(-log(q < 0 ? p : 1 - p))), q);
}
