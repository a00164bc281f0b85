#include "aim/copula_noise.h"

#include "aim/eigen.h"
#include "aim/nominal.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* --- clip ------------------------------------------------------------------------------------- */

#define CLIPS 9 /* from the study's on, each half the square of the one before */
#define WEIGHTLESS 1e-12

/* What a column's scores bring to a pair: max |t|^2, 1 / h^2 and v / h^2; 0s of one code alone. */
struct weight {
    double most, noise, rows;
};

static struct weight weight_of(const struct copula_column *c)
{
    struct weight w = {0};
    double square = 0;
    const double h = c->hermite[0];
    for (uint32_t a = 0; a < c->size; a++) {
        w.most = fmax(w.most, c->score[a] * c->score[a]);
        square += c->share[a] * c->score[a] * c->score[a];
    }
    if (h > WEIGHTLESS) {
        w.noise = 1 / (h * h);
        w.rows = square * w.noise;
    }
    return w;
}

/* The errors that are expected of d columns' correlations. */
static double errors_of(const struct weight *w, size_t d, double rho, double total)
{
    double squares = 0, sum = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            squares += w[i].most * w[j].most;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            const double e = squares / (2 * rho * total * total) * w[i].noise * w[j].noise +
                             w[i].rows * w[j].rows / total;
            sum += e / (1 + e);
        }
    return sum;
}

static enum err set_clip(struct copula_column *column, size_t d, double clip)
{
    for (size_t i = 0; i < d; i++) {
        TRY(copula_set_scores(&column[i], clip));
        TRY(copula_set_hermite(&column[i]));
    }
    return ERR_OK;
}

enum err copula_noise_clip(struct copula_column *column, size_t d, double rho, double total,
                           double most, double *clip)
{
    struct weight *w CLEAN(memory_release) = NULL;
    double least = INFINITY;
    TRY(memory_new(&w, d));
    *clip = most;
    for (int k = 0; k < CLIPS; k++) {
        const double tried = most * pow(2, -k / 2.0);
        double errors;
        TRY(set_clip(column, d, tried));
        for (size_t i = 0; i < d; i++)
            w[i] = weight_of(&column[i]);
        errors = errors_of(w, d, rho, total);
        if (errors < least) {
            least = errors;
            *clip = tried;
        }
    }
    return set_clip(column, d, *clip);
}

/* --- labels ----------------------------------------------------------------------------------- */

enum err copula_noise_groups(struct copula_column *column, size_t d, double rho, double total,
                             size_t most)
{
    double squares = 0, before = 0, sigma;
    for (size_t i = 0; i < d; i++) {
        const double square = weight_of(&column[i]).most;
        squares += square * before;
        before += square;
    }
    sigma = sqrt(squares / (2 * rho));
    for (size_t i = 0; i < d; i++) {
        struct copula_column *c = &column[i];
        if (c->nominal)
            TRY(nominal_groups(c->share, c->size,
                               sigma / (total * c->score[0] * COPULA_LABEL_ERROR), most, c->group,
                               &c->groups));
    }
    return ERR_OK;
}

/* --- shrinkage -------------------------------------------------------------------------------- */

#define THRESHOLDS 16 /* of a quarter of a deviation each */

struct shrinking {
    const double *a;
    size_t d;
    double s;
    double *v, *value, *shrunk; /* eigenvectors, row by row; eigenvalues; and what they become */
    double *b;                  /* that matrix */
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

/* New eigenvalues; returns the sum of their derivatives, each by its own. */
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

/* The derivatives of what stands beside the diagonal, nearly all of those of the matrix. */
static double divergence(const struct shrinking *c, double slope)
{
    for (size_t i = 0; i < c->d; i++)
        for (size_t j = 0; j < i; j++) {
            const double x = c->value[i] - c->value[j];
            slope += x > 1e-9 * c->s ? (c->shrunk[i] - c->shrunk[j]) / x : 1;
        }
    return slope * (double)(c->d - 1) / (double)(c->d + 1);
}

/* b = v' diag(shrunk) v, but for the diagonal. Returns its risk. */
static enum err shrink_spectrum(struct shrinking *c, double *risk, struct log *log)
{
    const size_t d = c->d;
    double distance = 0, slope;
    memcpy(c->v, c->a, d * d * sizeof *c->v);
    TRY(eigen_symmetric(c->v, c->value, d, log));
    slope = shrink_values(c);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < i; j++)
                c->b[i * d + j] += c->v[k * d + i] * c->shrunk[k] * c->v[k * d + j];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            const double x = c->b[i * d + j] - c->a[i * d + j];
            c->b[j * d + i] = c->b[i * d + j];
            distance += x * x;
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

enum err copula_noise_shrink(double *matrix, size_t d, double s, struct log *log)
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
