#include "aim/copula/copula_shrink.h"

#include "aim/copula/eigen.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define THRESHOLDS 16 /* of a quarter of a deviation each */

struct shrinking {
    const double *a;
    size_t d;
    double s;
    double *v, *value, *shrunk; /* eigenvectors, row by row; eigenvalues; shrunk eigenvalues */
    double *b;                  /* the matrix with those */
};

static double cells_of(const struct shrinking *c)
{
    return (double)c->d * (double)(c->d - 1) / 2;
}

static double risk_of_soft(const struct shrinking *c, double t)
{
    double sum = c->s * c->s * cells_of(c);
    for (size_t i = 0; i < c->d; i++)
        for (size_t j = 0; j < i; j++) {
            const double x = fabs(c->a[i * c->d + j]);
            sum += x <= t ? x * x - 2 * c->s * c->s : t * t;
        }
    return sum;
}

/* Shrinks the eigenvalues; returns the sum of each one's derivative by its old value. */
static double shrink_values(const struct shrinking *c)
{
    const double q = c->s * c->s;
    double slope = 0;
    for (size_t i = 0; i < c->d; i++) {
        double pull = 0;
        slope += 1;
        for (size_t j = 0; j < c->d; j++) {
            const double x = c->value[i] - c->value[j], y = x * x + q;
            pull += x / y;
            slope -= j == i ? 0 : 2 * q * (q - x * x) / (y * y);
        }
        c->shrunk[i] = c->value[i] - 2 * q * pull;
    }
    return slope;
}

/* The derivatives of the entries off the diagonal, which are nearly all of the matrix's. */
static double divergence(const struct shrinking *c, double slope)
{
    for (size_t i = 0; i < c->d; i++)
        for (size_t j = 0; j < i; j++) {
            const double x = c->value[i] - c->value[j];
            slope += x > 1e-9 * c->s ? (c->shrunk[i] - c->shrunk[j]) / x : 1;
        }
    return slope * (double)(c->d - 1) / (double)(c->d + 1);
}

/* b = v' diag(shrunk) v with a diagonal of 0. Returns its risk. */
static enum err shrink_spectrum(struct shrinking *c, double *risk, struct log *log)
{
    const size_t d = c->d;
    double distance = 0, slope;
    memcpy(c->v, c->a, d * d * sizeof *c->v);
    TRY(eigen_symmetric(c->v, c->value, d, log));
    slope = shrink_values(c);
    eigen_compose(c->b, c->v, c->shrunk, d);
    for (size_t i = 0; i < d; i++) {
        c->b[i * d + i] = 0;
        for (size_t j = 0; j < i; j++) {
            const double x = c->b[i * d + j] - c->a[i * d + j];
            distance += x * x;
        }
    }
    *risk = distance + 2 * c->s * c->s * divergence(c, slope) - c->s * c->s * cells_of(c);
    return ERR_OK;
}

static void soften(double *matrix, size_t n, double t)
{
    for (size_t i = 0; i < n; i++)
        matrix[i] = copysign(fmax(fabs(matrix[i]) - t, 0), matrix[i]);
}

static enum err choose(struct shrinking *c, double *matrix, struct log *log)
{
    double least = c->s * c->s * cells_of(c), threshold = 0, risk;
    for (int k = 1; k <= THRESHOLDS; k++) {
        const double t = c->s * k / 4;
        if ((risk = risk_of_soft(c, t)) < least) {
            least = risk;
            threshold = t;
        }
    }
    TRY(shrink_spectrum(c, &risk, log));
    if (risk < least)
        memcpy(matrix, c->b, c->d * c->d * sizeof *matrix);
    else
        soften(matrix, c->d * c->d, threshold);
    return ERR_OK;
}

enum err copula_shrink(double *matrix, size_t d, double s, struct log *log)
{
    struct shrinking c = {.a = matrix, .d = d, .s = s};
    double *v CLEAN(memory_release) = NULL, *value CLEAN(memory_release) = NULL,
              *shrunk CLEAN(memory_release) = NULL, *b CLEAN(memory_release) = NULL;
    if (!(s > 0) || d < 3)
        return ERR_OK;
    TRY(memory_new(&v, d * d));
    TRY(memory_new(&value, d));
    TRY(memory_new(&shrunk, d));
    TRY(memory_new(&b, d * d));
    c.v = v;
    c.value = value;
    c.shrunk = shrunk;
    c.b = b;
    return choose(&c, matrix, log);
}
